//! The entry points for fuzzing (`fuzz/README.md`).

use crate::lines::{Order, Report};
use crate::{disk, elf};
use nix::sys::memfd::{MFdFlags, memfd_create};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Reads `input` as the lines of a guest and of the process that started it, and as a program.
pub fn read(input: &[u8]) {
    for line in String::from_utf8_lossy(input).lines() {
        if let Some(report) = Report::decode(line) {
            assert_eq!(Report::decode(report.encode().trim_end_matches('\n')), Some(report));
        }
        if let Some(order) = Order::decode(line) {
            assert_eq!(Order::decode(order.encode().trim_end_matches('\n')), Some(order));
        }
    }
    let _ = elf::interpreter(input);
    let _ = elf::loaded(input.to_vec());
}

/// Reads `input` as the image of a disk.
pub fn read_image(input: &[u8]) {
    thread_local! {
        static IMAGE: File = File::from(memfd_create(c"image", MFdFlags::empty()).expect("memory"));
    }
    IMAGE.with(|image| {
        image.set_len(0).and_then(|()| image.write_all_at(input, 0)).expect("memory");
        let _ = disk::refuse_references(image, "qcow2");
    });
}
