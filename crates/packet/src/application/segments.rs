//! How a write is divided into segments.

/// Number of segments of a write, and the payload of the last one, bytes. `bytes` must be at least
/// 1.
pub(super) fn cut(bytes: u64, mss_bytes: u16) -> (u32, u16) {
    let mss = u64::from(mss_bytes);
    let segments = bytes.div_ceil(mss);
    let last_len = (bytes - (segments - 1) * mss) as u16;
    (
        u32::try_from(segments).expect("the scenario limits the size"),
        last_len,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 3000 = 2 × 1460 + 80; 2920 are two full segments; a single byte needs one segment.
    #[test]
    fn the_last_segment_has_the_remaining_bytes() {
        assert_eq!(cut(3000, 1460), (3, 80));
        assert_eq!(cut(2920, 1460), (2, 1460));
        assert_eq!(cut(1, 1460), (1, 1));
    }
}
