//! SACK blocks of ACKs in flight (RFC 2018).

/// Most SACK blocks in one ACK (RFC 2018, section 3: three fit next to timestamps).
pub(crate) const BLOCKS: usize = 3;

/// Half-open ranges of SSNs that the receiver holds, the most recently changed first.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SackBlocks {
    /// The segment whose arrival caused this ACK, if the receiver accepted it.
    pub(crate) trigger: Option<u32>,
    /// A segment that arrived a second time: the block of a DSACK (RFC 2883).
    pub(crate) duplicate: Option<u32>,
    /// Number of the ACK among ACKs with blocks. A gap tells the sender that an ACK was lost, so
    /// that it must read the ranges, not only the trigger.
    pub(crate) serial: u32,
    pub(crate) ranges: [(u32, u32); BLOCKS],
    pub(crate) len: u8,
}

impl SackBlocks {
    pub(crate) fn ranges(&self) -> &[(u32, u32)] {
        &self.ranges[..self.len as usize]
    }
}

/// SACK blocks of ACKs in flight. Most ACKs carry none, so packets hold only an index.
#[derive(Default)]
pub(crate) struct SackArena {
    blocks: Vec<SackBlocks>,
    free: Vec<u32>,
}

impl SackArena {
    /// Stores blocks; returns their reference for [`crate::path::packet::Packet::aux`], never 0.
    pub(crate) fn store(&mut self, blocks: SackBlocks) -> u32 {
        let (reference, place) = self.place();
        *place = blocks;
        reference
    }

    /// An unused place for blocks, to write in place, with its reference as in [`Self::store`].
    #[inline(always)]
    pub(crate) fn place(&mut self) -> (u32, &mut SackBlocks) {
        let reference = self.free.pop().unwrap_or_else(|| {
            self.blocks.push(SackBlocks::default());
            self.blocks.len() as u32
        });
        (reference, &mut self.blocks[reference as usize - 1])
    }

    /// The blocks of a valid reference.
    pub(crate) fn blocks(&self, reference: u32) -> &SackBlocks {
        &self.blocks[reference as usize - 1]
    }

    /// Takes the blocks of a reference and invalidates the reference.
    #[inline]
    pub(crate) fn take(&mut self, reference: u32) -> &SackBlocks {
        self.free.push(reference);
        &self.blocks[reference as usize - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arena_reuses_free_places() {
        let mut arena = SackArena::default();
        let first = arena.store(SackBlocks {
            trigger: Some(7),
            ..SackBlocks::default()
        });
        assert_eq!(arena.take(first).trigger, Some(7));
        assert_eq!(arena.store(SackBlocks::default()), first);
    }
}
