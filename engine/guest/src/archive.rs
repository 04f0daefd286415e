//! Creates the initial RAM disk of guests: concatenated archives in the format newc of cpio (the kernel's
//! Documentation/driver-api/early-userspace/buffer-format.rst).

use crate::elf;
use crate::error::{Context, Error, Result};
use std::collections::BTreeSet;
use std::ffi::CStr;
use std::fs;
use std::path::{Path, PathBuf};

/// The path of the engine in a guest.
pub const INIT: &str = "/nettrial-engine";
/// The directory of the engine's libraries in a guest.
pub const LIBRARIES: &str = "/lib";
/// The directory of the kernel's modules, which are loaded in the order of their names.
pub const MODULES: &str = "/modules";
/// The directories at which init mounts the kernel's file systems.
pub const MOUNTS: [&str; 4] = ["/dev", "/proc", "/sys", "/tmp"];

/// The mode of a directory in the archive.
const DIRECTORY: u32 = 0o40_755;
/// The mode of a program in the archive.
const PROGRAM: u32 = 0o100_755;
/// The mode of a file that is no program in the archive.
const FILE: u32 = 0o100_644;
/// The mode of a device of characters in the archive.
const DEVICE: u32 = 0o020_666;
/// The numbers of the device that discards everything (Documentation/admin-guide/devices.txt).
const NULL: [u32; 2] = [1, 3];

/// Returns the initial RAM disk for a kernel with this archive of modules: the modules, and this very program with
/// its libraries, so that the agent has the same version on both sides and nothing has to be installed for guests.
///
/// # Errors
/// Fails if one of these files can't be read.
pub fn initial_ram_disk(modules: &Path) -> Result<Vec<u8>> {
    let mut archive = read(modules)?;
    add_program(&mut archive)?;
    end(&mut archive);
    Ok(archive)
}

/// Returns an archive without an end of this very program with its libraries, of the directories [`MOUNTS`], and of
/// the device without which a program of Rust's does not start.
///
/// # Errors
/// Fails if one of these files can't be read.
pub fn program() -> Result<Vec<u8>> {
    let mut archive = Vec::new();
    add_program(&mut archive)?;
    node(&mut archive, "/dev/null", DEVICE, NULL);
    Ok(archive)
}

/// Returns the rest of an archive: a file, and the end.
pub fn last_file(path: &str, contents: &[u8]) -> Vec<u8> {
    let mut archive = Vec::new();
    entry(&mut archive, path, FILE, contents);
    end(&mut archive);
    archive
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("reading {}", path.display()))
}

fn end(archive: &mut Vec<u8>) {
    entry(archive, "TRAILER!!!", 0, &[]);
}

/// Adds this program, its libraries and the directories.
fn add_program(archive: &mut Vec<u8>) -> Result<()> {
    let program = read(Path::new("/proc/self/exe"))?;
    let interpreter = elf::interpreter(&program);
    let mut files = vec![(INIT.to_owned(), elf::loaded(program))];
    for library in libraries() {
        let name = library.file_name().ok_or(Error::NoName)?.to_string_lossy().into_owned();
        files.push((format!("{LIBRARIES}/{name}"), read(&library)?));
    }
    if let Some(path) = interpreter {
        let contents = read(Path::new(&path))?;
        files.push((path, contents));
    }
    let directories = MOUNTS.iter().map(|path| (*path).to_owned());
    let parents = files.iter().flat_map(|(path, _)| parents(path));
    let directories: BTreeSet<String> = directories.chain(parents).collect();
    for path in directories {
        entry(archive, &path, DIRECTORY, &[]);
    }
    for (path, contents) in files {
        entry(archive, &path, PROGRAM, &contents);
    }
    Ok(())
}

/// Returns the directories above `path`.
fn parents(path: &str) -> Vec<String> {
    let above = Path::new(path).ancestors().skip(1).map(|path| path.to_string_lossy().into_owned());
    above.filter(|path| path.len() > 1).collect()
}

/// Adds a file or a directory to an archive.
fn entry(archive: &mut Vec<u8>, path: &str, mode: u32, contents: &[u8]) {
    header(archive, path, mode, contents.len(), [0, 0]);
    archive.extend(contents);
    pad(archive);
}

/// Adds a device with these numbers, the major one first, to an archive.
fn node(archive: &mut Vec<u8>, path: &str, mode: u32, numbers: [u32; 2]) {
    header(archive, path, mode, 0, numbers);
}

fn header(archive: &mut Vec<u8>, path: &str, mode: u32, size: usize, [major, minor]: [u32; 2]) {
    let name = path.strip_prefix('/').unwrap_or(path);
    let number = u32::try_from(archive.len()).unwrap_or(u32::MAX);
    let size = u32::try_from(size).unwrap_or(u32::MAX);
    let length = u32::try_from(name.len() + 1).unwrap_or(u32::MAX);
    // The fields are inode, mode, user, group, links, time, size, the device of the file system and of
    // the node (two numbers each), length of the name, and
    // checksum (unused).
    let fields = [number, mode, 0, 0, 1, 0, size, 0, 0, major, minor, length, 0];
    archive.extend(b"070701");
    archive.extend(fields.iter().flat_map(|field| format!("{field:08X}").into_bytes()));
    archive.extend(name.as_bytes());
    archive.push(0);
    pad(archive);
}

fn pad(archive: &mut Vec<u8>) {
    archive.resize(archive.len().next_multiple_of(4), 0);
}

/// Returns the paths of the libraries that this program has loaded; empty if it has none.
fn libraries() -> Vec<PathBuf> {
    unsafe extern "C" fn note(
        information: *mut libc::dl_phdr_info,
        _: libc::size_t,
        paths: *mut libc::c_void,
    ) -> libc::c_int {
        // SAFETY: `dl_iterate_phdr` passes a valid structure, whose name is null or a string that ends with a
        // zero, and the pointer given below, to a vector that nobody else accesses during the call.
        unsafe {
            let (name, paths) = ((*information).dlpi_name, &mut *paths.cast::<Vec<PathBuf>>());
            if !name.is_null() {
                paths.push(PathBuf::from(CStr::from_ptr(name).to_string_lossy().into_owned()));
            }
        }
        0
    }
    let mut paths: Vec<PathBuf> = Vec::new();
    // SAFETY: the function and the vector that it fills outlive the call.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut paths).cast()) };
    // The program itself has no name, and the object that the kernel maps (vdso) has no file.
    paths.retain(|path| path.is_absolute() && path.is_file());
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_disk_has_modules_program_and_libraries() {
        let directory = std::env::temp_dir().join(format!("nettrial-archive-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("modules"), b"0707 of modules.").unwrap();
        let disk = initial_ram_disk(&directory.join("modules")).unwrap();
        fs::remove_dir_all(directory).unwrap();
        assert!(disk.starts_with(b"0707 of modules.070701"));
        let has = |text: &[u8]| disk.windows(text.len()).any(|window| window == text);
        assert!(has(b"nettrial-engine\0") && has(b"TRAILER!!!\0") && has(b"proc\0"));
        for library in libraries() {
            let name = format!("lib/{}\0", library.file_name().unwrap().to_string_lossy());
            assert!(has(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn a_file_has_a_header_of_110_bytes_and_is_padded() {
        let mut archive = Vec::new();
        entry(&mut archive, "/abc", PROGRAM, b"12345");
        assert_eq!(archive.len(), 110 + 4 + 2 + 8 - 2 + 2);
        assert_eq!(&archive[..14], b"07070100000000");
        assert_eq!(&archive[54..62], b"00000005");
        assert_eq!(parents("/lib64/a/ld.so"), ["/lib64/a", "/lib64"]);
    }
}
