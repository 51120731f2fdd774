//! Prefetching in large networks, whose state is far larger than the processor's caches.
//!
//! | file | what |
//! |---|---|
//! | `hint` | the processor's instruction |
//! | `pipeline` | what earlier stages have found out about the next events |
//! | `stages` | what each stage prefetches |

pub(crate) mod hint;
pub(crate) mod pipeline;
mod stages;
