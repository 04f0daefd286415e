//! The cache of systems that `nettrial systems` keeps.

use anyhow::{Context, Result};
use serde::Deserialize;
use std::fs;
use std::path::PathBuf;

/// The environment variable that names the cache's directory.
pub const VARIABLE: &str = "NETTRIAL_SYSTEMS";

/// The systems in a directory.
#[derive(Debug, Clone)]
pub struct Catalogue {
    directory: Option<PathBuf>,
}

/// A system: a kernel and its modules.
#[derive(Debug, Clone)]
pub struct System {
    /// Its name in studies.
    pub name: String,
    /// The kernel's release, as it was added.
    pub release: String,
    /// The file of the kernel's image.
    pub kernel: PathBuf,
    /// The file of the archive of its modules.
    pub modules: PathBuf,
}

/// A document of the cache (`nettrial/guests/catalogue.py`).
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    release: String,
    #[serde(rename = "source")]
    _source: String,
    kernel: String,
    modules: String,
}

impl Catalogue {
    /// The cache that the environment names; empty where it names none.
    pub fn of_environment() -> Self {
        Self { directory: std::env::var_os(VARIABLE).map(PathBuf::from) }
    }

    /// The names of all systems, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = self.directory.as_ref().and_then(|directory| fs::read_dir(directory).ok());
        let files =
            entries.into_iter().flatten().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> =
            files.filter_map(|file| Some(file.strip_suffix(".json")?.to_owned())).collect();
        names.sort();
        names
    }

    /// The system of that name, if there is one.
    ///
    /// # Errors
    /// Fails if its document can't be read.
    pub fn get(&self, name: &str) -> Result<Option<System>> {
        let Some(directory) =
            self.directory.as_ref().filter(|_| self.names().iter().any(|known| known == name))
        else {
            return Ok(None);
        };
        let file = directory.join(format!("{name}.json"));
        let text = fs::read(&file).with_context(|| format!("reading {}", file.display()))?;
        let Entry { name, release, kernel, modules, .. } =
            serde_json::from_slice(&text).with_context(|| format!("reading {}", file.display()))?;
        Ok(Some(System { name, release, kernel: directory.join(kernel), modules: directory.join(modules) }))
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
        let catalogue = Catalogue { directory: Some(directory.clone()) };
        assert_eq!(catalogue.names(), ["broken", "linux-6.12"]);
        let system = catalogue.get("linux-6.12").unwrap().unwrap();
        assert_eq!((system.release.as_str(), system.kernel), ("6.12.1", directory.join("aa")));
        assert!(catalogue.get("../aa").unwrap().is_none());
        assert!(catalogue.get("broken").is_err());
        assert!(Catalogue { directory: None }.get("linux-6.12").unwrap().is_none());
        fs::remove_dir_all(directory).unwrap();
    }
}
