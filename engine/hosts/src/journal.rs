//! The journal of changed settings, in a file on the machine that outlives every process: it has each setting with
//! its old value. An entry is on the disk before its setting is changed, so that the setting can be restored from
//! the file, whatever ends nettrial or the machine.
//!
//! An entry leaves the journal only when it was carried out, or when the user discards it.

use crate::error::{Context, Error, Result};
use crate::settings::{Change, Setting};
use crate::state;
use nettrial_admission::one_line;
use nettrial_scenario::chain;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// The name of the journal's file.
const NAME: &str = "journal";
/// The number of bytes of an entry's hash that are its key.
const KEY_BYTES: usize = 6;

/// The journal.
pub struct Journal {
    path: PathBuf,
    known: HashSet<Setting>,
}

impl Journal {
    /// Opens the journal in `directory`, which has only entries that could not be carried out: see [`restore`].
    ///
    /// # Errors
    /// Fails if it can't be read.
    pub fn open(directory: &Path) -> Result<Self> {
        let path = directory.join(NAME);
        let entries = entries(&state::read(&path)?.unwrap_or_default());
        let known = entries.into_iter().filter_map(|entry| Some(entry.change.ok()?.setting)).collect();
        Ok(Self { path, known })
    }

    /// Notes the value of a setting before the setting is changed, unless it was noted before. The note is on the
    /// disk when this returns.
    ///
    /// # Errors
    /// Fails if the journal can't be written; the setting must not be changed then.
    pub fn note(&mut self, setting: &Setting) -> Result<()> {
        if self.known.contains(setting) {
            return Ok(());
        }
        let change = Change { setting: setting.clone(), value: setting.read()? };
        let mut all = state::read(&self.path)?.unwrap_or_default();
        all.extend(serde_json::to_vec(&change)?);
        all.push(b'\n');
        state::replace(&self.path, &all)
            .with_context(|| format!("writing to the journal {}", self.path.display()))?;
        self.known.insert(setting.clone());
        Ok(())
    }
}

/// The result of restoring.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Restored {
    /// The settings that have their old value again, in words.
    pub restored: Vec<String>,
    /// The entries that could not be carried out, which stay in the journal.
    pub kept: Vec<Kept>,
    /// The entries that were discarded, in words.
    pub forgotten: Vec<String>,
}

/// An entry that could not be carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Kept {
    /// The name of the entry, by which [`crate::forget`] discards it.
    pub key: String,
    /// The setting and its old value in words, or the line if it is not understood.
    pub entry: String,
    /// The reason.
    pub why: String,
    /// True if the setting's interface does not exist, so that nothing on the machine differs from the old value.
    pub is_absent: bool,
}

impl Restored {
    /// Returns the entries that keep other sessions from this machine: those whose setting may still be changed.
    /// `None` if there are none.
    pub fn blocking(&self) -> Option<String> {
        in_words(self.kept.iter().filter(|kept| !kept.is_absent))
    }

    /// Returns all entries that could not be carried out; `None` if there are none.
    pub fn failed(&self) -> Option<String> {
        in_words(self.kept.iter())
    }
}

fn in_words<'a>(kept: impl Iterator<Item = &'a Kept>) -> Option<String> {
    let descriptions: Vec<String> = kept.map(|kept| format!("{}: {}", kept.entry, kept.why)).collect();
    (!descriptions.is_empty()).then(|| descriptions.join("; "))
}

/// A line of the journal.
struct Entry {
    line: Vec<u8>,
    /// The change that restores the setting, or the reason why the line is not understood.
    change: serde_json::Result<Change>,
}

/// The reason why a change could not be carried out.
struct Obstacle {
    why: String,
    is_absent: bool,
}

/// Restores every setting in the journal of `directory`, and discards the entries with these `keys` that could not
/// be carried out. The caller holds the [`Lock`](crate::lock::Lock).
///
/// # Errors
/// Fails if the journal can't be read or written.
pub fn restore(directory: &Path, keys: &[String]) -> Result<Restored> {
    let path = directory.join(NAME);
    let entries = entries(&take_over(&path)?);
    let (mut outcome, mut obstacles, mut has_changed) = (Restored::default(), HashMap::new(), false);
    for change in oldest(&entries).iter().rev() {
        match carry_out(change) {
            Ok(changed) => {
                has_changed |= changed;
                outcome.restored.push(format!("{}: {}", change.setting.in_words(), change.value));
            }
            Err(obstacle) => drop(obstacles.insert(change.setting.clone(), obstacle)),
        }
    }
    let mut left = Vec::new();
    for entry in &entries {
        let Some(kept) = entry.kept(&obstacles) else { continue };
        if keys.contains(&kept.key) {
            outcome.forgotten.push(kept.entry);
        } else {
            outcome.kept.push(kept);
            left.extend_from_slice(&entry.line);
            left.push(b'\n');
        }
    }
    if outcome.kept.len() < entries.len() {
        match state::replace(&path, &left) {
            // Every setting has its old value already, and a user with more privileges can remove the entries.
            Err(error) if state::is_refused(&error) && !has_changed && keys.is_empty() => {}
            written => written.with_context(|| format!("writing the journal {}", path.display()))?,
        }
    }
    Ok(outcome)
}

/// Returns the content of the journal at `path`. The entries of a journal in the place of earlier versions become
/// its first entries.
fn take_over(path: &Path) -> Result<Vec<u8>> {
    let current = state::read(path)?.unwrap_or_default();
    let Some((former, mut all)) = former()?.filter(|(former, _)| former != path) else { return Ok(current) };
    all.extend(current);
    let moving = || format!("moving the entries of {} to {}", former.display(), path.display());
    if !all.is_empty() {
        state::replace(path, &all).with_context(moving)?;
    }
    fs::remove_file(&former).with_context(moving)?;
    Ok(all)
}

/// Returns the path and the lines of a journal in the place of earlier versions, if this user can read one.
///
/// # Errors
/// Fails if it is not a file of root or of this user.
pub fn former() -> Result<Option<(PathBuf, Vec<u8>)>> {
    let Some(path) = state::former_directory().map(|directory| directory.join(NAME)) else { return Ok(None) };
    if File::open(&path).is_err_and(|error| state::is_refused(&error)) {
        return Ok(None);
    }
    let hint = || format!("move {} away if it is not a journal of nettrial", path.display());
    let Some(mut lines) = state::read(&path).with_context(hint)? else { return Ok(None) };
    // Earlier versions appended. If a power cut left a line incomplete, its setting was not changed.
    lines.truncate(lines.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1));
    Ok(Some((path, lines)))
}

fn entries(journal: &[u8]) -> Vec<Entry> {
    let lines = journal.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| Entry { line: line.to_vec(), change: serde_json::from_slice(line) }).collect()
}

/// Reads `journal` as a journal, of which nothing is carried out.
#[cfg(fuzzing)]
pub fn fuzz(journal: &[u8]) {
    let entries = entries(journal);
    let why = || Obstacle { why: "it is not carried out".into(), is_absent: true };
    let obstacles = oldest(&entries).into_iter().map(|change| (change.setting.clone(), why())).collect();
    let kept = entries.iter().filter_map(|entry| entry.kept(&obstacles)).count();
    assert_eq!(kept, journal.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count());
}

/// Returns the changes that restore the settings. Two sessions may leave several entries for one setting, of which
/// the first has the oldest value.
fn oldest(entries: &[Entry]) -> Vec<&Change> {
    let mut seen = HashSet::new();
    let changes = entries.iter().filter_map(|entry| entry.change.as_ref().ok());
    changes.filter(|change| seen.insert(&change.setting)).collect()
}

/// Restores a setting. Returns true if it had another value.
fn carry_out(change: &Change) -> Result<bool, Obstacle> {
    let Change { setting, value } = change;
    // A setting that can't be read, for example because it was changed only in part, is written.
    if setting.read().is_ok_and(|now| now == *value) {
        return Ok(false);
    }
    let obstacle = |error: Error| Obstacle { why: chain(&error), is_absent: setting.is_absent() };
    setting.write(value).map(|()| true).map_err(obstacle)
}

impl Entry {
    /// Returns the entry as one that stays; `None` if it was carried out.
    fn kept(&self, obstacles: &HashMap<Setting, Obstacle>) -> Option<Kept> {
        let key =
            Sha256::digest(&self.line).iter().take(KEY_BYTES).map(|byte| format!("{byte:02x}")).collect();
        match &self.change {
            Ok(Change { setting, value }) => {
                let Obstacle { why, is_absent } = obstacles.get(setting)?;
                let entry = format!("{}, which was {value}", setting.in_words());
                Some(Kept { key, entry: one_line(&entry), why: one_line(why), is_absent: *is_absent })
            }
            Err(error) => {
                let entry = one_line(&format!("the line {}", String::from_utf8_lossy(&self.line)));
                let why = format!("nettrial {} does not understand it: {error}", env!("CARGO_PKG_VERSION"));
                Some(Kept { key, entry, why, is_absent: false })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_has_its_own_entry_and_key() {
        let journal =
            b"{\"setting\":\"icmp\",\"value\":\"answered\"}\n\xff\n{\"setting\":\"icmp\",\"value\":\"x\"}";
        let found = entries(journal);
        let kinds: Vec<bool> = found.iter().map(|entry| entry.change.is_ok()).collect();
        assert_eq!(kinds, [true, false, true]);
        assert_eq!(oldest(&found).len(), 1);
        assert_eq!(oldest(&found)[0].value, "answered");
        let obstacles = HashMap::from([(Setting::Icmp, Obstacle { why: "no".into(), is_absent: false })]);
        let kept: Vec<Kept> = found.iter().map(|entry| entry.kept(&obstacles).unwrap()).collect();
        assert_eq!(kept[0].entry, "the ICMP messages of the machine, which was answered");
        assert!(kept[1].why.contains("does not understand it"), "{kept:?}");
        assert_eq!(kept.iter().map(|kept| &kept.key).collect::<HashSet<_>>().len(), 3);
        assert_eq!(found[0].kept(&HashMap::new()), None);
    }
}
