//! The journal of changed settings, in a file on the machine that outlives every process: it has each setting with
//! its old value. A line is on the disk before its setting is changed, so that the setting can be restored from
//! the file, whatever ends nettrial or the machine.

use crate::settings::{Change, Setting};
use anyhow::{Context, Result};
use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::PathBuf;

pub use crate::lock::Lock;

/// Returns the directory of the journal: `nettrial` below LOCALAPPDATA on Windows, elsewhere below XDG_STATE_HOME
/// (the XDG Base Directory Specification) or below `~/.local/state`.
///
/// # Errors
/// Fails if the environment names no such directory.
pub fn directory() -> Result<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if cfg!(windows) {
        let local = variable("LOCALAPPDATA");
        return Ok(local
            .context("LOCALAPPDATA is not set, so there is no place for the journal")?
            .join("nettrial"));
    }
    let state = variable("XDG_STATE_HOME").filter(|path| path.is_absolute());
    let state = state.or_else(|| Some(variable("HOME")?.join(".local").join("state")));
    Ok(state
        .context("neither HOME nor XDG_STATE_HOME is set, so there is no place for the journal")?
        .join("nettrial"))
}

/// The journal.
pub struct Journal {
    path: PathBuf,
    file: Option<File>,
    known: HashSet<Setting>,
}

impl Journal {
    /// Opens the journal of this machine and user, which must be empty: see [`restore`].
    ///
    /// # Errors
    /// Fails if [`directory`] fails.
    pub fn open() -> Result<Self> {
        Ok(Self { path: directory()?.join("journal"), file: None, known: HashSet::new() })
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
        let line = format!("{}\n", serde_json::to_string(&change)?);
        let writing = || format!("writing to the journal {}", self.path.display());
        if self.file.is_none() {
            let file = OpenOptions::new().create(true).append(true).open(&self.path).with_context(writing)?;
            // The file's name must be on the disk, too.
            let directory = self.path.parent().context("the journal has no directory")?;
            // Windows writes names itself, and does not open directories as files.
            if cfg!(unix) {
                File::open(directory).and_then(|directory| directory.sync_all()).with_context(writing)?;
            }
            self.file = Some(file);
        }
        if let Some(file) = &mut self.file {
            file.write_all(line.as_bytes()).and_then(|()| file.sync_all()).with_context(writing)?;
        }
        self.known.insert(setting.clone());
        Ok(())
    }
}

/// The result of restoring.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Restored {
    /// The settings that have their old value again, in words.
    pub restored: Vec<String>,
    /// The settings that could not be restored, each with the reason; they stay in the journal.
    pub failed: Vec<String>,
}

/// Restores every setting in the journal, and removes the journal. The caller holds the [`Lock`].
///
/// # Errors
/// Fails if the journal can't be read or written.
pub fn restore() -> Result<Restored> {
    let path = directory()?.join("journal");
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Restored::default()),
        Err(error) => return Err(error).with_context(|| format!("reading {}", path.display())),
    };
    let mut outcome = Restored::default();
    // If a power cut left a line incomplete, its setting was not changed.
    let lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    let mut seen = HashSet::new();
    // Two sessions may leave several lines for one setting; the first one has the oldest value.
    let changes: Vec<Change> = lines.filter_map(|line| serde_json::from_str::<Change>(line).ok()).collect();
    let changes: Vec<Change> =
        changes.into_iter().filter(|change| seen.insert(change.setting.clone())).collect();
    let mut left = String::new();
    for change in changes.iter().rev() {
        let Change { setting, value } = change;
        // A setting that can't be read, for example because it was changed only in part, is written.
        let is_there = setting.read().is_ok_and(|now| now == *value);
        let done = if is_there { Ok(()) } else { setting.write(value) };
        match done {
            Ok(()) => outcome.restored.push(format!("{}: {value}", setting.in_words())),
            Err(error) => {
                outcome.failed.push(format!("{}: {error:#}", setting.in_words()));
                left.insert_str(0, &format!("{}\n", serde_json::to_string(change)?));
            }
        }
    }
    if left.is_empty() {
        fs::remove_file(&path).with_context(|| format!("removing {}", path.display()))?;
    } else {
        let next = path.with_extension("next");
        fs::write(&next, left)
            .and_then(|()| fs::rename(&next, &path))
            .with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(outcome)
}
