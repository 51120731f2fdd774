//! Prefetching for large networks, whose state far exceeds the processor's caches.
//!
//! | file | content |
//! |---|---|
//! | `hint` | the prefetch instruction |
//! | `pipeline` | results of earlier stages |
//! | `stages` | what each stage prefetches |

pub(crate) mod hint;
pub(crate) mod pipeline;
mod stages;
