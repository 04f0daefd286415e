//! The secret that two nettrials share.

use crate::error::{Context, Error, Result};
use sha2::{Digest, Sha256};
use std::path::Path;

/// The environment variable that may hold the token.
pub const VARIABLE: &str = "NETTRIAL_TOKEN";
/// The shortest token, characters. Someone who records a handshake can try tokens offline.
const SHORTEST: usize = 20;
/// The longest token, characters.
const LONGEST: usize = 1000;
/// The largest size of a file with a token, bytes.
const MOST_BYTES: u64 = 4096;
/// The characters of a token that is made here; they hold 160 bits.
const MADE: usize = 32;

/// The secret that two nettrials share. Only the side that made it prints it.
pub struct Token(String);

impl Token {
    /// Finds the token in `file`, or else in [`VARIABLE`], if there is one.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or its content is not a token.
    pub fn find(file: Option<&Path>) -> Result<Option<Self>> {
        if let Some(file) = file {
            let text = read(file).with_context(|| format!("reading the token in {}", file.display()))?;
            return Self::of(&text).with_context(|| format!("the token in {}", file.display())).map(Some);
        }
        match std::env::var(VARIABLE) {
            Ok(text) => Self::of(&text).with_context(|| format!("the token in {VARIABLE}")).map(Some),
            Err(std::env::VarError::NotPresent) => Ok(None),
            Err(error) => Err(Error::Variable(VARIABLE, error)),
        }
    }

    /// Creates a random token.
    pub fn random() -> Self {
        const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
        let letter = |byte: u8| char::from(LETTERS[usize::from(byte) % LETTERS.len()]);
        Self(rand::random::<[u8; MADE]>().into_iter().map(letter).collect())
    }

    fn of(text: &str) -> Result<Self> {
        let token = text.trim();
        let fits = (SHORTEST..=LONGEST).contains(&token.len());
        if !(fits && token.bytes().all(|byte| byte.is_ascii_graphic())) {
            let content =
                if fits { "spaces or other signs".into() } else { format!("{} characters", token.len()) };
            return Err(Error::Token(format!(
                "it has {content}; expected are {SHORTEST} to {LONGEST} letters, digits and ASCII signs, as \
                 `openssl rand -hex 20` makes them"
            )));
        }
        Ok(Self(token.to_owned()))
    }

    /// Returns the key with which a handshake is sealed.
    pub(crate) fn key(&self) -> [u8; 32] {
        let mut hash = Sha256::new_with_prefix(b"nettrial 2 token\0");
        hash.update(self.0.as_bytes());
        hash.finalize().into()
    }

    /// Returns the token as text, for a person to copy.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

/// Returns the text of a file that holds a secret.
fn read(file: &Path) -> Result<String> {
    let status = std::fs::metadata(file)?;
    if !status.is_file() {
        return Err(Error::Token("it is not a regular file".into()));
    }
    if status.len() > MOST_BYTES {
        return Err(Error::Token(format!("it has more than {MOST_BYTES} bytes")));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let all_can_write = status.permissions().mode() & 0o002 != 0;
        if all_can_write {
            return Err(Error::Token(
                "every user of this machine can write it: `chmod o-w` changes that".into(),
            ));
        }
    }
    Ok(std::fs::read_to_string(file)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(unix)]
    use nettrial_scenario::chain;

    #[cfg(unix)]
    #[test]
    fn a_file_that_all_can_write_or_that_is_none_has_no_token() {
        use std::os::unix::fs::PermissionsExt;
        let file = std::env::temp_dir().join(format!("nettrial-token-{}", std::process::id()));
        std::fs::write(&file, "0123456789abcdefghij\n").unwrap();
        let find = |mode| {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
            Token::find(Some(&file)).map(|token| token.unwrap().reveal().to_owned())
        };
        assert_eq!(find(0o644).unwrap(), "0123456789abcdefghij");
        assert!(chain(&find(0o646).unwrap_err()).contains("chmod o-w"));
        std::fs::remove_file(&file).unwrap();
        let error = Token::find(Some(Path::new("/dev/zero"))).err().unwrap();
        assert!(chain(&error).ends_with("it is not a regular file"));
    }

    #[test]
    fn tokens_are_long_words() {
        assert_eq!(Token::of(" 0123456789abcdefghij\n").unwrap().reveal(), "0123456789abcdefghij");
        for wrong in
            ["", "short", "two words are not a token", &"x".repeat(1001), "mit-Umläuten-geht-es-nicht"]
        {
            let message = Token::of(wrong).err().expect(wrong).to_string();
            assert!(wrong.is_empty() || !message.contains(wrong), "an error shows no token");
        }
        let (one, other) = (Token::random(), Token::random());
        assert!(Token::of(one.reveal()).is_ok() && one.reveal() != other.reveal());
    }

    #[test]
    fn a_text_that_is_no_token_is_refused_with_the_reason() {
        let refused = |text: &str| Token::of(text).err().unwrap().to_string();
        assert!(refused("\n").contains("it has 0 characters; expected are 20 to 1000 letters"));
        assert!(refused("twenty letters and more").contains("it has spaces or other signs"));
    }
}
