//! The controllers of `cc/` as congestion controllers of the running kernel.
//!
//! Each is one eBPF object, compiled from `bpf/controller.bpf.c` and embedded here; [`compile`]
//! compiles a user's controller. [`Registered`] puts a controller into the kernel's list under a
//! name while the value lives; a [`Manager`] keeps it there until it is unloaded. Every program on
//! the machine can then choose it, by `TCP_CONGESTION` or as a namespace's default.
//!
//! | module | what |
//! |---|---|
//! | `object` | loads, verifies and registers one object |
//! | `source` | users' controllers: compiles a C header to an object |
//! | `log` | the verifier's reason and the line of the header |
//! | `control`, `subflow` | the maps shared with user space |
//! | `cost` | run times of the programs |
//! | `pins` | the BPF file system, which keeps a registration after its process ends |
//! | `journal` | the record on disk: earlier defaults, unfinished operations |
//! | `holders` | processes that hold a registration open |
//! | `mover` | moves open sockets to another load of their controller |
//! | `manager` | load, unload, defaults: one process at a time, consistent after a crash |
//! | `yardstick` | the kernel's Reno in an eBPF program, to compare costs with |
//! | `view` | loaded controllers and their users, for readers |

mod control;
mod cost;
mod entries;
mod holders;
mod journal;
mod log;
mod manager;
mod mover;
mod object;
mod pins;
mod source;
mod subflow;
mod unique;
mod view;
mod yardstick;

pub use crate::congestion::{available, built_in, default};
pub use control::{Control, ControlKey, Controls, Field, Heard, Lease};
pub use cost::{Cost, Counting};
pub use manager::{Change, Healed, Loading, Manager, Restored, Unloading};
pub use mover::Moves;
pub(crate) use object::{PROGRAMS, open, quiet, set_words};
pub use object::{Registered, probe, verify};
pub use pins::{PREFIX, kernel_name};
pub use source::{compile, is_compiled};
pub use subflow::SubflowState;
pub use unique::unique_name;
pub use view::{LoadedController, Users, View, controls, loaded, view};
pub use yardstick::Yardstick;
