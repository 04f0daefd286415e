//! The paths of packets, as lists of link directions.

use crate::PathId;
use std::collections::HashMap;
use std::hint::black_box;

/// The bit that distinguishes a path's arrival from its links.
const ARRIVAL: u32 = 1 << 31;

/// All distinct paths in one list.
#[derive(Debug, Default)]
pub struct PathTable {
    /// The links of all paths in succession, each path followed by the interface at which packets arrive, with the
    /// bit [`ARRIVAL`] set; for a path without links, all bits are set.
    links: Vec<u32>,
    /// The position at which each path begins.
    starts: Vec<u32>,
    /// The differentiated services codepoint of each path's packets.
    codepoints: Vec<u8>,
    /// The paths by their links, arrival and codepoint. The map is only used for look-ups, so its order does not
    /// matter.
    known: HashMap<Box<[u32]>, PathId>,
}

impl PathTable {
    /// Returns the same paths for a part of the network, which adds none.
    pub fn of_part(&self) -> Self {
        Self {
            links: self.links.clone(),
            starts: self.starts.clone(),
            codepoints: self.codepoints.clone(),
            known: HashMap::new(),
        }
    }

    /// Returns the number of the path over these link directions, whose packets arrive at this interface (`None`
    /// for a path without links) and have that differentiated services codepoint.
    pub fn number(&mut self, links: &[u32], arrival: Option<u32>, dscp: u8) -> PathId {
        let arrival = arrival.map_or(u32::MAX, |interface| interface | ARRIVAL);
        let whole = [links, &[arrival, u32::from(dscp)]].concat();
        if let Some(path) = self.known.get(whole.as_slice()) {
            return *path;
        }
        let path = PathId(self.starts.len() as u32);
        self.starts.push(self.links.len() as u32);
        self.links.extend_from_slice(&whole[..=links.len()]);
        self.codepoints.push(dscp);
        self.known.insert(whole.into(), path);
        path
    }

    /// Adds a path with these properties, as in [`PathTable::number`], that is kept separate from equal ones,
    /// because its packets may take different detours; returns its number.
    pub fn apart(&mut self, links: &[u32], arrival: Option<u32>, dscp: u8) -> PathId {
        self.known.clear();
        self.number(links, arrival, dscp)
    }

    /// Returns the path to which this position in the list belongs.
    pub fn at(&self, place: u32) -> PathId {
        PathId(self.starts.partition_point(|&start| start <= place) as u32 - 1)
    }

    /// Returns the differentiated services codepoint of the path's packets.
    pub fn dscp(&self, path: PathId) -> u8 {
        self.codepoints[path.0 as usize]
    }

    /// Returns the position in the list at which the path's links begin.
    pub fn start(&self, path: PathId) -> u32 {
        self.starts[path.0 as usize]
    }

    /// Returns the link direction at that position in the list; `None` at the end of a path.
    pub fn link(&self, place: u32) -> Option<u32> {
        Some(self.links[place as usize]).filter(|&link| link & ARRIVAL == 0)
    }

    /// Prefetches the link direction at that position in the list.
    pub fn read_ahead(&self, place: u32) {
        black_box(self.links[place as usize]);
    }

    /// Returns the interface at which packets of the path that ends at that position in the list arrive; `None` if
    /// it has no links.
    pub fn arrival(&self, place: u32) -> Option<u32> {
        Some(self.links[place as usize]).filter(|&end| end != u32::MAX).map(|end| end & !ARRIVAL)
    }

    /// Returns the path's link directions.
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
    fn a_path_has_one_number_its_links_its_arrival_and_its_codepoint() {
        let mut paths = PathTable::default();
        let (one, none) = (paths.number(&[3, 1], Some(0), 0), paths.number(&[], None, 0));
        let (other, elsewhere) = (paths.number(&[7], Some(6), 0), paths.number(&[3, 1], Some(2), 0));
        assert_eq!(paths.number(&[3, 1], Some(0), 0), one);
        assert_eq!((paths.links(one), paths.links(other)), ([3, 1].as_slice(), [7].as_slice()));
        assert!(paths.links(none).is_empty());
        let start = paths.start(one);
        assert_eq!([0, 1, 2].map(|hop| paths.link(start + hop)), [Some(3), Some(1), None]);
        assert_ne!(one, elsewhere);
        let urgent = paths.number(&[3, 1], Some(0), 46);
        assert_eq!((paths.dscp(urgent), paths.dscp(one), paths.links(urgent)), (46, 0, [3, 1].as_slice()));
        assert_eq!(paths.links(elsewhere), [3, 1]);
        let arrival = |path, hops| paths.arrival(paths.start(path) + hops);
        assert_eq!([arrival(one, 2), arrival(elsewhere, 2), arrival(other, 1)], [Some(0), Some(2), Some(6)]);
        assert_eq!((paths.link(paths.start(none)), arrival(none, 0)), (None, None));
    }
}
