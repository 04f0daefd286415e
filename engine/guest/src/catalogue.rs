//! The cache of systems that `nettrial systems` keeps.

use crate::error::{Context, Error, Result};
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};

/// The environment variable that names the cache's directory.
pub const VARIABLE: &str = "NETTRIAL_SYSTEMS";

/// The catalogue of the systems in a directory.
#[derive(Debug, Clone)]
pub struct Catalogue {
    directory: Option<PathBuf>,
}

/// A system.
#[derive(Debug, Clone)]
pub struct System {
    /// The system's name in studies.
    pub name: String,
    /// The kernel or disk that the system's machine boots.
    pub boot: Boot,
}

/// The kernel or disk that a machine boots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Boot {
    /// A Linux kernel and its modules.
    Kernel {
        /// The kernel's release, as noted when the system was added.
        release: String,
        /// The path of the kernel's image.
        image: PathBuf,
        /// The path of the archive of the kernel's modules.
        modules: PathBuf,
    },
    /// A disk with an installed system, which starts the agent.
    Disk {
        /// The path of the disk's image.
        image: PathBuf,
        /// The image's format, by QEMU's name.
        format: String,
    },
}

/// A document of the cache (`nettrial/guests/catalogue.py`).
#[derive(Deserialize)]
struct Entry {
    name: String,
    #[serde(rename = "source")]
    _source: String,
    #[serde(flatten)]
    files: Files,
}

/// The files of a system, by their hashes.
#[derive(Deserialize)]
#[serde(untagged)]
enum Files {
    Kernel {
        release: String,
        kernel: String,
        modules: String,
    },
    Disk {
        image: String,
        format: String,
    },
    /// A kernel in virtual time, which is no guest.
    Program {
        program: String,
    },
}

impl Catalogue {
    /// Returns the directory of the cache, if there is one.
    pub fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// Returns the cache that the environment names; empty if it names none.
    pub fn of_environment() -> Self {
        Self { directory: std::env::var_os(VARIABLE).map(PathBuf::from) }
    }

    /// Returns the names of all systems, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = self.directory.as_ref().and_then(|directory| fs::read_dir(directory).ok());
        let files =
            entries.into_iter().flatten().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> =
            files.filter_map(|file| Some(file.strip_suffix(".json")?.to_owned())).collect();
        names.sort();
        names
    }

    /// Returns the system of that name, if there is one.
    ///
    /// # Errors
    /// Fails if the system's document can't be read, or if no guest can run the system.
    pub fn get(&self, name: &str) -> Result<Option<System>> {
        let Some((directory, Entry { name, files, .. })) = self.entry(name)? else { return Ok(None) };
        let boot = match files {
            Files::Kernel { release, kernel, modules } => {
                Boot::Kernel { release, image: directory.join(kernel), modules: directory.join(modules) }
            }
            Files::Disk { image, format } => Boot::Disk { image: directory.join(image), format },
            Files::Program { .. } => return Err(Error::NotForGuests(name.to_owned())),
        };
        Ok(Some(System { name, boot }))
    }

    /// Returns the program of the kernel in virtual time of that name, if there is a system of that name.
    ///
    /// # Errors
    /// Fails if the system's document can't be read, or if the system is for guests.
    pub fn program(&self, name: &str) -> Result<Option<PathBuf>> {
        let Some((directory, Entry { name, files, .. })) = self.entry(name)? else { return Ok(None) };
        match files {
            Files::Program { program } => Ok(Some(directory.join(program))),
            _ => Err(Error::OnlyForGuests(name.to_owned())),
        }
    }

    /// Returns the directory, and the document of the system of that name in it.
    fn entry(&self, name: &str) -> Result<Option<(&Path, Entry)>> {
        let Some(directory) =
            self.directory.as_deref().filter(|_| self.names().iter().any(|known| known == name))
        else {
            return Ok(None);
        };
        let file = directory.join(format!("{name}.json"));
        let text = fs::read(&file).with_context(|| format!("reading {}", file.display()))?;
        let entry = serde_json::from_slice(&text).with_context(|| format!("reading {}", file.display()))?;
        Ok(Some((directory, entry)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_are_found_by_name_and_nothing_else_is() {
        let directory = std::env::temp_dir().join(format!("nettrial-catalogue-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let entry =
            r#"{"name": "linux-6.12", "release": "6.12.1", "source": "x", "kernel": "aa", "modules": "bb"}"#;
        fs::write(directory.join("linux-6.12.json"), entry).unwrap();
        fs::write(directory.join("broken.json"), "{").unwrap();
        fs::write(directory.join("aa"), "").unwrap();
        let entry = r#"{"name": "freebsd", "source": "x", "image": "cc", "format": "qcow2"}"#;
        fs::write(directory.join("freebsd.json"), entry).unwrap();
        let entry = r#"{"name": "mine", "source": "x", "release": "6.12.1", "program": "dd"}"#;
        fs::write(directory.join("mine.json"), entry).unwrap();
        let catalogue = Catalogue { directory: Some(directory.clone()) };
        assert_eq!(catalogue.names(), ["broken", "freebsd", "linux-6.12", "mine"]);
        let boot = |name| catalogue.get(name).unwrap().unwrap().boot;
        let [image, modules] = ["aa", "bb"].map(|file| directory.join(file));
        assert_eq!(boot("linux-6.12"), Boot::Kernel { release: "6.12.1".into(), image, modules });
        assert_eq!(boot("freebsd"), Boot::Disk { image: directory.join("cc"), format: "qcow2".into() });
        assert!(catalogue.get("../aa").unwrap().is_none());
        assert!(catalogue.get("broken").is_err());
        assert!(catalogue.get("mine").unwrap_err().to_string().contains("in virtual time"));
        assert_eq!(catalogue.program("mine").unwrap(), Some(directory.join("dd")));
        assert!(catalogue.program("freebsd").unwrap_err().to_string().contains("for guests"));
        assert!(catalogue.program("other").unwrap().is_none());
        assert!(Catalogue { directory: None }.get("linux-6.12").unwrap().is_none());
        fs::remove_dir_all(directory).unwrap();
    }
}
