//! The state that nettrial keeps on a machine, the journal and its lock: one directory of the machine, whoever runs
//! nettrial there, and whatever the environment contains.

use crate::error::{Context, Error, Result};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// The largest size of a journal, in bytes.
const MOST_BYTES: u64 = 1 << 20;

/// Returns the directory: for persistent state in the Filesystem Hierarchy Standard 3.0 (section 5.8), in hier(7)
/// on macOS and FreeBSD, and of all users on Windows.
#[cfg(target_os = "linux")]
pub fn directory() -> PathBuf {
    "/var/lib/nettrial".into()
}
#[cfg(all(unix, not(target_os = "linux")))]
pub fn directory() -> PathBuf {
    "/var/db/nettrial".into()
}
#[cfg(windows)]
pub fn directory() -> PathBuf {
    let folder = std::env::var_os("ProgramData").filter(|folder| !folder.is_empty());
    folder.map_or_else(|| r"C:\ProgramData".into(), PathBuf::from).join("nettrial")
}

/// Returns the directory that earlier versions used: `nettrial` below LOCALAPPDATA on Windows, elsewhere below
/// XDG_STATE_HOME (the XDG Base Directory Specification) or below `~/.local/state`. `None` if the environment names
/// none.
pub fn former_directory() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = if cfg!(windows) {
        variable("LOCALAPPDATA")
    } else {
        let state = variable("XDG_STATE_HOME").filter(|path| path.is_absolute());
        state.or_else(|| Some(variable("HOME")?.join(".local").join("state")))
    };
    Some(folder?.join("nettrial"))
}

/// Creates `directory` unless it exists. Returns false if there is none and this user can't create it.
///
/// # Errors
/// Fails if it can't be created for another reason, or if somebody else could change its files.
pub fn prepare(directory: &Path) -> Result<bool> {
    match create(directory) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) if is_refused(&error) => return Ok(false),
        Err(error) => return Err(error).with_context(|| format!("creating {}", directory.display())),
    }
    own::directory(directory).with_context(|| format!("using the directory {}", directory.display()))?;
    Ok(true)
}

/// Returns true if the operation needs privileges that this user does not have.
pub fn is_refused(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
}

fn create(directory: &Path) -> io::Result<()> {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "only Unix has modes"))]
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o755);
    if let Some(parent) = directory.parent().filter(|parent| !parent.exists()) {
        fs::create_dir_all(parent)?;
    }
    builder.create(directory)
}

/// Returns the content of the file at `path`; `None` if there is none.
///
/// # Errors
/// Fails if it can't be read, is not a regular file of root or of this user, or is too large.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    let reading = || format!("reading {}", path.display());
    let file = match own::file(path, OpenOptions::new().read(true)) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error).with_context(reading),
    };
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).with_context(reading)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(Error::Journal(format!("{}: it has more than {MOST_BYTES} bytes", reading())));
    }
    Ok(Some(bytes))
}

/// Replaces the content of the file at `path`, or removes the file if the content is empty. Whenever the machine
/// stops, the file has either content; the new one is on the disk when this returns.
///
/// # Errors
/// Fails if it can't be written; the file is unchanged then.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if bytes.is_empty() {
        fs::remove_file(path)?;
    } else {
        let next = path.with_extension("next");
        let written = own::file(&next, OpenOptions::new().write(true).create(true).truncate(true))
            .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()));
        if let Err(error) = written.and_then(|()| fs::rename(&next, path)) {
            let _ = fs::remove_file(&next);
            return Err(error);
        }
    }
    // The name must be on the disk, too. Windows writes names itself, and does not open directories as files.
    match path.parent() {
        Some(directory) if cfg!(unix) => File::open(directory)?.sync_all(),
        _ => Ok(()),
    }
}

/// Files and directories that nobody but root and this user can have made or can change.
#[cfg(unix)]
pub mod own {
    use nix::fcntl::OFlag;
    use nix::unistd::geteuid;
    use std::fs::{File, Metadata, OpenOptions};
    use std::io::{self, Error};
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
    use std::path::Path;

    /// The permissions with which others can write (`S_IWGRP | S_IWOTH`).
    const OTHERS_WRITE: u32 = 0o022;

    /// Checks a directory.
    ///
    /// # Errors
    /// Fails if it is not a directory of root or of this user, or if others can write to it.
    pub fn directory(path: &Path) -> io::Result<()> {
        let metadata = path.symlink_metadata()?;
        if !metadata.is_dir() {
            return Err(Error::other("it is not a directory"));
        }
        check(&metadata)
    }

    /// Opens a regular file, without following a symbolic link and without waiting for a FIFO's other end. Others
    /// can read a file that this creates.
    ///
    /// # Errors
    /// Fails as open(2) does, and if it is not a regular file of root or of this user, or if others can write to
    /// it.
    pub fn file(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
        let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
        let file = options.mode(0o644).custom_flags(flags.bits()).open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() || metadata.nlink() > 1 {
            return Err(Error::other("it is not a regular file with one name"));
        }
        check(&metadata)?;
        Ok(file)
    }

    fn check(metadata: &Metadata) -> io::Result<()> {
        let (owner, user) = (metadata.uid(), geteuid().as_raw());
        if owner != 0 && owner != user {
            return Err(Error::other(format!(
                "it belongs to user {owner}, and not to root or to user {user}"
            )));
        }
        if metadata.mode() & OTHERS_WRITE != 0 {
            return Err(Error::other(format!(
                "other users can write to it (mode {:o})",
                metadata.mode() & 0o7777
            )));
        }
        Ok(())
    }
}

/// Files and directories of Windows, whose owners are not checked.
#[cfg(windows)]
pub mod own {
    use std::fs::{File, OpenOptions};
    use std::io;
    use std::path::Path;

    /// Checks nothing.
    #[expect(clippy::unnecessary_wraps, reason = "it fails on other systems")]
    pub fn directory(_path: &Path) -> io::Result<()> {
        Ok(())
    }

    /// Opens a file.
    ///
    /// # Errors
    /// Fails if it can't be opened.
    pub fn file(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
        options.open(path)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("nettrial-place-{}-{name}", std::process::id()));
            fs::create_dir(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn error_of<T>(result: Result<T>) -> String {
        result.map(|_| ()).map_err(|error| nettrial_scenario::chain(&error)).unwrap_err()
    }

    #[test]
    fn a_file_is_replaced_whole_and_removed_when_empty() {
        let folder = Folder::new("replace");
        let path = folder.0.join("journal");
        assert_eq!(read(&path).unwrap(), None);
        replace(&path, b"one\n").unwrap();
        replace(&path, b"two\n").unwrap();
        assert_eq!(read(&path).unwrap().unwrap(), b"two\n");
        replace(&path, b"").unwrap();
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 0);
    }

    #[test]
    fn links_pipes_and_what_others_can_write_are_refused() {
        let folder = Folder::new("refused");
        let (target, link, fifo) = (folder.0.join("target"), folder.0.join("link"), folder.0.join("fifo"));
        fs::write(&target, "x").unwrap();
        symlink(&target, &link).unwrap();
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(error_of(read(&link)).contains("reading"));
        assert!(error_of(read(&fifo)).contains("not a regular file"));
        fs::set_permissions(&target, fs::Permissions::from_mode(0o646)).unwrap();
        assert!(error_of(read(&target)).contains("other users can write to it (mode 646)"));
        fs::set_permissions(&target, fs::Permissions::from_mode(0o644)).unwrap();
        fs::hard_link(&target, folder.0.join("second")).unwrap();
        assert!(error_of(read(&target)).contains("one name"));
        // A link in the place of the next content is not followed.
        symlink(&target, folder.0.join("journal.next")).unwrap();
        assert!(replace(&folder.0.join("journal"), b"entry\n").is_err());
        assert_eq!(fs::read(&target).unwrap(), b"x");
    }

    #[test]
    fn a_directory_that_others_can_write_to_or_that_is_a_link_is_refused() {
        let folder = Folder::new("directory");
        let (own, link) = (folder.0.join("own"), folder.0.join("link"));
        assert!(prepare(&own).unwrap());
        assert!(prepare(&own).unwrap());
        fs::set_permissions(&own, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(error_of(prepare(&own)).contains("other users can write to it (mode 777)"));
        fs::set_permissions(&own, fs::Permissions::from_mode(0o755)).unwrap();
        symlink(&own, &link).unwrap();
        assert!(error_of(prepare(&link)).contains("not a directory"));
    }

    #[test]
    fn a_journal_without_end_is_not_read() {
        let folder = Folder::new("endless");
        let path = folder.0.join("journal");
        File::create(&path).unwrap().set_len(MOST_BYTES + 1).unwrap();
        assert!(error_of(read(&path)).contains("more than 1048576 bytes"));
    }
}
