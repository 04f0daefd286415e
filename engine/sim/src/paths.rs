//! The ways of packets, each a list of link directions.

use crate::PathId;
use std::collections::HashMap;

/// Ends the list of a path's links.
const END: u32 = u32::MAX;

/// All paths in one list, each once.
#[derive(Debug, Default)]
pub struct PathTable {
    /// The links of one path after those of another, each path followed by [`END`].
    links: Vec<u32>,
    /// Where each path begins.
    starts: Vec<u32>,
    /// Each path by its links. It is looked up alone, so its order does not matter.
    known: HashMap<Box<[u32]>, PathId>,
}

impl PathTable {
    /// The number of the path over these link directions.
    pub fn number(&mut self, links: &[u32]) -> PathId {
        if let Some(path) = self.known.get(links) {
            return *path;
        }
        let path = PathId(self.starts.len() as u32);
        self.starts.push(self.links.len() as u32);
        self.links.extend_from_slice(links);
        self.links.push(END);
        self.known.insert(links.into(), path);
        path
    }

    /// Where the path's links begin in the list.
    pub fn start(&self, path: PathId) -> u32 {
        self.starts[path.0 as usize]
    }

    /// The link direction at that place of the list; `None` where a path has ended.
    pub fn link(&self, place: u32) -> Option<u32> {
        Some(self.links[place as usize]).filter(|&link| link != END)
    }

    /// The path's link directions.
    pub fn links(&self, path: PathId) -> &[u32] {
        let start = self.start(path) as usize;
        let end = self.starts.get(path.0 as usize + 1).map_or(self.links.len(), |&next| next as usize);
        &self.links[start..end - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_one_number_and_its_links() {
        let mut paths = PathTable::default();
        let (one, none, other) = (paths.number(&[3, 1]), paths.number(&[]), paths.number(&[7]));
        assert_eq!(paths.number(&[3, 1]), one);
        assert_eq!((paths.links(one), paths.links(other)), ([3, 1].as_slice(), [7].as_slice()));
        assert!(paths.links(none).is_empty());
        let start = paths.start(one);
        assert_eq!([0, 1, 2].map(|hop| paths.link(start + hop)), [Some(3), Some(1), None]);
    }
}
