//! The controllers of `cc/` as congestion controllers of the running kernel.
//!
//! Each is one eBPF object, compiled from `bpf/controller.bpf.c` and embedded here. [`Registered`] puts it into the kernel's
//! list of congestion controllers under a name, for as long as the value lives; [`pinned::load`] until it is unloaded.
//! Every program of the machine can then choose it: by `TCP_CONGESTION`, or as a namespace's default.

mod cost;
pub mod default;
mod maps;
mod object;
pub mod pinned;

pub use cost::{Cost, Counting};
pub use maps::{Control, ControlKey, SubflowState};
pub use object::{Controls, Registered, probe};
