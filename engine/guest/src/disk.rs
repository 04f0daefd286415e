//! Images of disks: the parts of qcow2's header that make QEMU read other files (QEMU's docs/interop/qcow2.rst).
//!
//! `nettrial systems add` refuses the same images (`nettrial/guests/disk.py`); `tests/vectors/disks.json` has
//! examples for both. They are checked again before they are used, because the cache may have older ones.

use crate::error::{Context, Error, Result};
use std::fs::File;
use std::os::unix::fs::FileExt;

const MAGIC: &[u8] = b"QFI\xfb";
/// The sizes of the headers of the versions 2 and 3.
const HEADER_BYTES: [u64; 2] = [72, 104];
/// The incompatible features with which an image needs no other file: dirty, another compression, and extended
/// L2 entries.
const KNOWN_FEATURES: u64 = 1 | 1 << 3 | 1 << 4;
const CORRUPT: u64 = 1 << 1;
const EXTERNAL_DATA: u64 = 1 << 2;
/// The type of the header extension that ends the others, and of that with the name of the data file.
const END: u32 = 0;
const DATA_FILE: u32 = 0x4441_5441;
/// The header extensions that name no file which is opened: the format of a backing file, names of features, and
/// bitmaps.
const KNOWN_EXTENSIONS: [u32; 3] = [0xE279_2ACA, 0x6803_F857, 0x2385_2875];
/// The smallest and the largest number of bits of a cluster's size.
const CLUSTER_BITS: [u32; 2] = [9, 21];

/// Refuses an image with which its guest could read other files of this machine, and one in a format other than
/// `raw` and `qcow2`.
///
/// # Errors
/// Fails with the reason, or if the image can't be read.
pub fn refuse_references(image: &File, format: &str) -> Result<()> {
    match format {
        "raw" => Ok(()),
        "qcow2" => Header { image }.check(),
        _ => Err(Error::Image(format!("it has the format {format:?}, not qcow2 or raw"))),
    }
}

/// The header of a qcow2 image.
struct Header<'a> {
    image: &'a File,
}

impl Header<'_> {
    fn check(&self) -> Result<()> {
        if self.bytes::<4>(0)? != MAGIC {
            return Err(Error::Image("it is not a qcow2 image".into()));
        }
        let version = self.u32(4)?;
        if !(2..=3).contains(&version) {
            return Err(Error::Image(format!("it is of an unknown version of qcow2, {version}")));
        }
        if self.u64(8)? != 0 {
            return Err(Error::Image("it has another image behind it".into()));
        }
        if self.u32(32)? != 0 {
            return Err(Error::Image("it is encrypted".into()));
        }
        let features = if version == 3 { self.u64(72)? } else { 0 };
        if features & EXTERNAL_DATA != 0 {
            return Err(Error::Image("its data are in another file".into()));
        }
        if features & CORRUPT != 0 {
            return Err(Error::Image("it is marked as damaged".into()));
        }
        if features & !KNOWN_FEATURES != 0 {
            return Err(Error::Image(format!("it has unknown features, {features:#x}")));
        }
        let bits = self.u32(20)?;
        if !(CLUSTER_BITS[0]..=CLUSTER_BITS[1]).contains(&bits) {
            return Err(Error::Image(format!("it has clusters of an unknown size, 2^{bits}")));
        }
        let [short, long] = HEADER_BYTES;
        let begin = if version == 3 { u64::from(self.u32(100)?) } else { short };
        let end = 1 << bits;
        if !(version == 2 || (long..=end).contains(&begin)) {
            return Err(Error::Image(format!("its header has an unknown length, {begin}")));
        }
        self.check_extensions(begin, end)
    }

    /// Checks the header's extensions, which begin at `at` and end with the first cluster.
    fn check_extensions(&self, mut at: u64, end: u64) -> Result<()> {
        while at + 8 <= end {
            let (kind, length) = (self.u32(at)?, self.u32(at + 4)?);
            match kind {
                END => break,
                DATA_FILE => return Err(Error::Image("its data are in another file".into())),
                _ => {
                    if !KNOWN_EXTENSIONS.contains(&kind) {
                        return Err(Error::Image(format!(
                            "its header has an unknown extension, {kind:#010x}"
                        )));
                    }
                }
            }
            at += 8 + u64::from(length).next_multiple_of(8);
        }
        Ok(())
    }

    fn u32(&self, at: u64) -> Result<u32> {
        Ok(u32::from_be_bytes(self.bytes(at)?))
    }

    fn u64(&self, at: u64) -> Result<u64> {
        Ok(u64::from_be_bytes(self.bytes(at)?))
    }

    fn bytes<const N: usize>(&self, at: u64) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.image.read_exact_at(&mut bytes, at).context("its header is cut off")?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::memfd::{MFdFlags, memfd_create};
    use serde::Deserialize;
    use std::io::Write;

    #[derive(Deserialize)]
    struct Vector {
        name: String,
        /// The image, whose trailing zeros are left out, as hexadecimal digits.
        image: String,
        bytes: usize,
        refused: Option<String>,
    }

    #[test]
    fn images_with_references_are_refused_as_in_python() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/disks.json");
        let vectors: Vec<Vector> = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        assert!(vectors.len() > 15);
        for Vector { name, image, bytes, refused } in vectors {
            let digits: Vec<&str> = (0..image.len()).step_by(2).map(|at| &image[at..at + 2]).collect();
            let mut image: Vec<u8> =
                digits.iter().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
            image.resize(bytes, 0);
            let mut file = File::from(memfd_create(c"image", MFdFlags::empty()).unwrap());
            file.write_all(&image).unwrap();
            let found = refuse_references(&file, "qcow2").err().map(|error| error.to_string());
            assert_eq!(found, refused, "{name}");
        }
        let file = File::from(memfd_create(c"image", MFdFlags::empty()).unwrap());
        assert!(refuse_references(&file, "raw").is_ok());
        assert!(refuse_references(&file, "vmdk").unwrap_err().to_string().contains("the format \"vmdk\""));
    }
}
