//! Prefetch instructions.

/// Prefetches the first cache line of `place`.
#[inline(always)]
pub(crate) fn prefetch<T>(place: &T) {
    prefetch_lines(place, 1);
}

/// Prefetches the first `lines` cache lines of `place`, at most its size.
#[inline(always)]
pub(crate) fn prefetch_lines<T>(place: *const T, lines: usize) {
    const LINE_BYTES: usize = 64;
    for line in 0..lines.min(size_of::<T>().div_ceil(LINE_BYTES)) {
        let address = place.cast::<i8>().wrapping_add(line * LINE_BYTES);
        // SAFETY: a prefetch is a hint without visible effect for any address, and part of SSE,
        // which every x86-64 processor has.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(address);
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = address;
    }
}
