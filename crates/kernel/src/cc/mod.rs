//! The controllers of `cc/` as congestion controllers of the running kernel.
//!
//! Each is one eBPF object, compiled from `bpf/controller.bpf.c` and embedded here; [`compile`] makes one of
//! a controller of a user. [`Registered`] puts it
//! into the kernel's list of congestion controllers under a name, for as long as the value lives; a
//! [`Manager`] keeps it there until it is unloaded. Every program of the machine can then choose it: by
//! `TCP_CONGESTION`, or as a namespace's default.
//!
//! | module | what |
//! |---|---|
//! | `object` | one object: loaded, verified, registered |
//! | `source` | controllers of users: from a C header to an object |
//! | `log` | what the verifier said, and of which line |
//! | `control`, `subflow` | the maps that it shares with user space |
//! | `cost` | run times of its programs |
//! | `pins` | the BPF file system, where a registration outlives its process |
//! | `journal` | what is kept on disk: defaults to be put back, and what was begun |
//! | `holders` | who keeps a registration that was to go |
//! | `mover` | sockets in use go over to another load of their controller |
//! | `manager` | load, unload, defaults: one at a time, and whole after a crash |
//! | `yardstick` | the kernel's Reno behind an eBPF program, to compare costs with |
//! | `view` | what is loaded and who uses it, for readers |

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
pub use object::{Registered, probe, verify};
pub use pins::{PREFIX, kernel_name};
pub use source::{compile, is_compiled};
pub use subflow::SubflowState;
pub use unique::unique_name;
pub use view::{LoadedController, Users, View, controls, loaded, view};
pub use yardstick::Yardstick;
