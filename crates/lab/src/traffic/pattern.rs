//! Contents of connections. Each byte depends on its position, so the receiver detects bytes that
//! are lost, repeated, swapped or changed.

/// Bytes of the pattern per generated number.
const WORD: u64 = 8;

/// The contents of one connection. Byte i depends only on the key and i.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pattern {
    key: u64,
}

impl Pattern {
    /// The contents of the `index`-th connection of a run.
    pub(crate) fn new(seed: u64, index: u64) -> Self {
        Pattern {
            key: mix(seed ^ mix(index)),
        }
    }

    fn word(self, number: u64) -> [u8; 8] {
        mix(self.key.wrapping_add(number)).to_le_bytes()
    }

    /// Writes the bytes from `offset` on.
    pub(crate) fn fill(self, offset: u64, out: &mut [u8]) {
        self.each(offset, out.len(), |at, bytes| {
            out[at..at + bytes.len()].copy_from_slice(bytes)
        });
    }

    /// The first position at which `bytes` differ from the contents from `offset` on.
    pub(crate) fn first_difference(self, offset: u64, bytes: &[u8]) -> Option<u64> {
        let mut wrong = None;
        self.each(offset, bytes.len(), |at, expected| {
            if wrong.is_none() && bytes[at..at + expected.len()] != *expected {
                let differs = expected.iter().zip(&bytes[at..]).position(|(a, b)| a != b);
                wrong = differs.map(|i| offset + (at + i) as u64);
            }
        });
        wrong
    }

    /// Calls `piece` with consecutive pieces of the pattern and their positions in a buffer of
    /// `len` bytes.
    fn each(self, offset: u64, len: usize, mut piece: impl FnMut(usize, &[u8])) {
        let mut at = 0;
        while at < len {
            let position = offset + at as u64;
            let word = self.word(position / WORD);
            let rest = &word[(position % WORD) as usize..];
            let take = rest.len().min(len - at);
            piece(at, &rest[..take]);
            at += take;
        }
    }
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators,
/// OOPSLA 2014): a bijection.
const fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_any_size_have_the_same_contents() {
        let pattern = Pattern::new(1, 2);
        let mut whole = [0; 1000];
        pattern.fill(0, &mut whole);
        let mut at = 0;
        for size in [1, 7, 8, 9, 100, 875] {
            let mut piece = vec![0; size];
            pattern.fill(at as u64, &mut piece);
            assert_eq!(piece, whole[at..at + size]);
            assert_eq!(pattern.first_difference(at as u64, &piece), None);
            at += size;
        }
        assert_eq!(at, whole.len());
    }

    #[test]
    fn every_kind_of_damage_is_found_at_its_position() {
        let pattern = Pattern::new(3, 4);
        let mut good = [0; 256];
        pattern.fill(5000, &mut good);
        let mut flipped = good;
        flipped[200] ^= 1;
        assert_eq!(pattern.first_difference(5000, &flipped), Some(5200));
        // A missing byte, a repeated byte, and another connection's byte.
        assert_eq!(pattern.first_difference(5000, &good[1..]), Some(5000));
        assert!(pattern.first_difference(5008, &good).is_some());
        assert!(Pattern::new(3, 5).first_difference(5000, &good).is_some());
    }
}
