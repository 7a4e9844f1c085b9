//! What a power cut leaves of the changes that were pending.
//!
//! Held by every policy: what was synced stays; a sector is as before or as after; a rename happened or did not; a name
//! whose directory is not there is not there either. Not modelled: damage to what was not being written, file systems
//! that write data of one file into another's blocks, and disks that lie about syncs.

use super::{Change, Disk, SECTOR, Side};

/// What is kept of the pending changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// All of them: as if the disk had just caught up.
    Everything,
    /// None.
    Nothing,
    /// All but the last write, of which only some sectors are.
    Torn {
        /// Decides which sectors.
        seed: u64,
    },
    /// Each by itself kept, lost or, if it is a write, kept in some sectors: whatever the disk had got round to.
    Reordered {
        /// Decides which.
        seed: u64,
    },
}

impl Disk {
    /// The disk as the machine finds it after a power cut now.
    pub fn after_power_cut(&self, keep: Keep) -> Disk {
        let mut side = self.durable.clone();
        match keep {
            Keep::Nothing => {}
            Keep::Everything => self.pending.iter().for_each(|pending| side.apply(&pending.change)),
            Keep::Torn { seed } => self.tear(&mut side, seed),
            Keep::Reordered { seed } => self.reorder(&mut side, seed),
        }
        side.forget_nameless(|_| false);
        Disk { visible: side.clone(), durable: side, pending: Vec::new(), ..*self }
    }

    fn tear(&self, side: &mut Side, seed: u64) {
        let last = self.pending.iter().rposition(|pending| matches!(pending.change, Change::Write { .. }));
        for (index, pending) in self.pending.iter().enumerate() {
            if Some(index) == last { some_sectors(side, &pending.change, seed) } else { side.apply(&pending.change) }
        }
    }

    fn reorder(&self, side: &mut Side, seed: u64) {
        let mut random = Numbers { state: seed };
        for pending in &self.pending {
            match (random.next() % 4, &pending.change) {
                _ if pending.is_in_synced_directory => side.apply(&pending.change),
                (0, Change::Write { .. }) => some_sectors(side, &pending.change, random.next()),
                (0 | 1, _) => side.apply(&pending.change),
                _ => {}
            }
        }
    }
}

/// Applies some sectors of a write: those before a place, those after it, or any.
fn some_sectors(side: &mut Side, change: &Change, seed: u64) {
    let Change::Write { inode, offset, bytes } = change else { return };
    let mut random = Numbers { state: seed };
    // Sectors are the disk's, not the write's.
    let first = (SECTOR as u64 - offset % SECTOR as u64) as usize % SECTOR;
    let mut cuts: Vec<usize> = (first..bytes.len()).step_by(SECTOR).filter(|cut| *cut > 0).collect();
    cuts.push(bytes.len());
    let (way, place) = (random.next() % 3, random.next() as usize % cuts.len());
    let mut start = 0;
    for (index, end) in cuts.into_iter().enumerate() {
        let is_kept = match way {
            0 => index < place,
            1 => index >= place,
            _ => random.next().is_multiple_of(2),
        };
        if is_kept {
            side.content(*inode).write(offset + start as u64, &bytes[start..end]);
        }
        start = end;
    }
}

/// SplitMix64 over a seed, as the shards' random numbers are.
pub(crate) struct Numbers {
    pub(crate) state: u64,
}

impl Numbers {
    pub(crate) fn next(&mut self) -> u64 {
        let random = crate::reactor::Random::from_seed(self.state);
        let number = random.next();
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        number
    }
}
