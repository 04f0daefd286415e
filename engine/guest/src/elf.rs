//! Reads programs as the kernel does (elf(5)): the part of a file that is needed to run it, and its interpreter.

use std::ops::Range;

const PT_LOAD: u32 = 1;
const PT_INTERP: u32 = 3;
/// The offsets in the header of a 64-bit file, in this order: the offsets of its program headers and section
/// headers, the size and number of its program headers, and the size, number and names of its sections.
const PROGRAM_HEADERS: usize = 0x20;
const SECTION_HEADERS: Range<usize> = 0x28..0x30;
const PROGRAM_HEADER_BYTES: usize = 0x36;
const PROGRAM_HEADER_COUNT: usize = 0x38;
const SECTIONS: Range<usize> = 0x3c..0x40;

/// Returns the part of a program's file that is needed to run it, without sections that are not loaded, such as
/// those for debuggers, which are most of the file. A file of another format is returned whole.
pub fn loaded(mut file: Vec<u8>) -> Vec<u8> {
    let segments = segments(&file);
    let end = segments.iter().filter(|(kind, _)| *kind == PT_LOAD).map(|(_, part)| part.end).max();
    if let Some(end) = end.filter(|end| *end <= file.len() && *end >= SECTIONS.end) {
        file.truncate(end);
        file[SECTION_HEADERS].fill(0);
        file[SECTIONS].fill(0);
    }
    file
}

/// Returns the path of a program's interpreter, which loads its libraries.
pub fn interpreter(file: &[u8]) -> Option<String> {
    let (_, part) = segments(file).into_iter().find(|(kind, _)| *kind == PT_INTERP)?;
    let text = file.get(part)?.split(|byte| *byte == 0).next()?;
    String::from_utf8(text.to_vec()).ok()
}

/// Returns the kind and the place in the file of each segment of a 64-bit little-endian program.
fn segments(file: &[u8]) -> Vec<(u32, Range<usize>)> {
    let short = |at: usize| Some(usize::from(u16::from_le_bytes(*file.get(at..)?.first_chunk()?)));
    let long = |at: usize| usize::try_from(u64::from_le_bytes(*file.get(at..)?.first_chunk()?)).ok();
    let read = || -> Option<Vec<(u32, Range<usize>)>> {
        // The class is 64 bits, and the byte order is little-endian.
        file.strip_prefix(b"\x7fELF\x02\x01")?;
        let (start, bytes) = (long(PROGRAM_HEADERS)?, short(PROGRAM_HEADER_BYTES)?);
        let header = |number: usize| -> Option<(u32, Range<usize>)> {
            let at = start.checked_add(number.checked_mul(bytes)?)?;
            let kind = u32::from_le_bytes(*file.get(at..)?.first_chunk()?);
            let (offset, length) = (long(at.checked_add(8)?)?, long(at.checked_add(32)?)?);
            Some((kind, offset..offset.checked_add(length)?))
        };
        (0..short(PROGRAM_HEADER_COUNT)?).map(header).collect()
    };
    read().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_program_runs_without_what_is_not_loaded() {
        let whole = std::fs::read("/proc/self/exe").unwrap();
        let length = whole.len();
        let part = loaded(whole);
        assert!(part.len() < length, "tests have debugging information");
        assert!(interpreter(&part).is_none_or(|path| path.contains("ld")));
        let file = std::env::temp_dir().join(format!("nettrial-elf-{}", std::process::id()));
        std::fs::write(&file, part).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        let done = std::process::Command::new(&file).arg("--list").output().unwrap();
        std::fs::remove_file(&file).unwrap();
        assert!(String::from_utf8_lossy(&done.stdout).contains("a_program_runs_without"), "{done:?}");
    }

    #[test]
    fn what_is_no_program_stays_as_it_is() {
        assert_eq!(loaded(b"#!/bin/sh\n".to_vec()), b"#!/bin/sh\n");
        assert_eq!(interpreter(b"\x7fELF\x02\x01"), None);
    }
}
