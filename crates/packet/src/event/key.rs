//! Keys of events: one word, time in the high bits, source in the low bits. So events at the same
//! instant fire in the order of their sources on every machine.

/// Number of an event source: a link (its next arrival), a timer, a traffic generator.
pub(crate) type Source = u32;

/// Bits of a key, or of a packet, for the source or subflow; the other bits are the time.
pub(crate) const SOURCE_BITS: u32 = 18;
pub(crate) const MAX_SOURCES: usize = 1 << SOURCE_BITS;
/// The latest instant that fits a key, ns (19.5 hours).
pub(crate) const MAX_TIME_NS: u64 = (1 << (64 - SOURCE_BITS)) - 1;

/// Larger than any key.
pub(super) const NO_KEY: u64 = u64::MAX;

#[inline]
pub(super) fn key(time_ns: u64, source: Source) -> u64 {
    debug_assert!(time_ns <= MAX_TIME_NS && (source as usize) < MAX_SOURCES);
    (time_ns << SOURCE_BITS) | u64::from(source)
}

/// Time and source of a key.
#[inline]
pub(super) fn parts(key: u64) -> (u64, Source) {
    (
        key >> SOURCE_BITS,
        (key & (MAX_SOURCES as u64 - 1)) as Source,
    )
}
