//! The states of guests that have just booted, in the cache: a guest that is restored is ready sooner than one that boots.

use super::Key;
use super::carried::machine_in_words;
use anyhow::{Context, Result};
use nettrial_guest::{Boot, Guest, System};
use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The beginning of their files' names (`nettrial/guests/catalogue.py`).
const PREFIX: &str = "state-";
/// States that are kept: each has some 140 MB.
const KEPT: usize = 4;

/// The place of the state of a guest, or of none: an installed system has a disk, whose state would be another matter.
pub fn place(directory: Option<&Path>, system: &System, key: &Key) -> Option<PathBuf> {
    let Boot::Kernel { image, modules, .. } = &system.boot else { return None };
    let engine = fs::metadata("/proc/self/exe").ok()?;
    let mut hasher = DefaultHasher::new();
    (machine_in_words(), image, modules, key.hardware, key.devices).hash(&mut hasher);
    (engine.ino(), engine.len(), engine.mtime(), engine.mtime_nsec()).hash(&mut hasher);
    Some(directory?.join(format!("{PREFIX}{:016x}", hasher.finish())))
}

/// Saves the state of a guest in a file of that name. The file is there when it is whole, whatever happens.
pub fn save(place: &Path, guest: &Guest) -> Result<()> {
    let directory = place.parent().context("a place without a directory")?;
    let mut options = OpenOptions::new();
    let file = options.write(true).custom_flags(libc::O_TMPFILE).mode(0o600).open(directory);
    let file = file.with_context(|| format!("making a file in {}", directory.display()))?;
    guest.save(&file)?;
    forget_old(directory);
    let from = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    let to = CString::new(place.as_os_str().as_bytes())?;
    // SAFETY: both are strings that end with a zero and outlive the call.
    let status = unsafe {
        libc::linkat(libc::AT_FDCWD, from.as_ptr(), libc::AT_FDCWD, to.as_ptr(), libc::AT_SYMLINK_FOLLOW)
    };
    // Another engine may have been sooner.
    if status == 0 || place.exists() {
        Ok(())
    } else {
        Err(std::io::Error::last_os_error()).with_context(|| format!("making {}", place.display()))
    }
}

/// Opens the state at that place, if it is there.
pub fn open(place: &Path) -> Option<File> {
    let file = File::open(place).ok()?;
    // What is used stays.
    let _ = OpenOptions::new().append(true).open(place).and_then(|file| file.set_modified(SystemTime::now()));
    Some(file)
}

/// Removes the states that were not used for longest, so that there is room for another one.
fn forget_old(directory: &Path) {
    let entries = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
    let states = entries.filter(|entry| entry.file_name().as_bytes().starts_with(PREFIX.as_bytes()));
    let mut states: Vec<(SystemTime, PathBuf)> =
        states.filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path()))).collect();
    states.sort();
    for (_, path) in states.iter().rev().skip(KEPT - 1) {
        let _ = fs::remove_file(path);
    }
}
