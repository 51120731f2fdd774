//! The harness of all tests that need the running kernel. For tests only: nothing here is published.
//!
//! A test binary that uses it has `harness = false` and this `main.rs`:
//!
//! ```ignore
//! // Makes `#[test]` the harness's in the whole binary: no test can be forgotten.
//! #[macro_use]
//! extern crate joulepath_testbed;
//!
//! fn main() -> std::process::ExitCode {
//!     joulepath_testbed::main(&[])
//! }
//! ```
//!
//! A test says beside its name what it needs of the machine: `#[test(needs(LAB, IPV6))]`. Where something is
//! missing the test is counted as ignored, with the reason. It fails instead where
//! `JOULEPATH_REQUIRE_KERNEL=1`, and where `CI` is set if the machine could give what is missing. Each test
//! runs in a process of its own, one at a time on the whole machine.
//!
//! | module | what |
//! |---|---|
//! | [`harness`] | arguments, which tests run, the closing lines |
//! | [`registry`] | the tests of a binary |
//! | [`needs`] | what a test needs, and whether this machine has it |
//! | [`verdict`] | whether a test runs, is ignored or fails because of what is missing |
//! | [`process`] | one test in a process of its own, and what it said |
//! | [`clock`] | how late timers come |
//! | [`steps`] | a program that is killed at any of its steps |
//! | [`turn`] | locks: one test at a time, one change of machine-wide state at a time |
//! | [`attempts`] | measures of time on a machine that others use as well |
//! | [`observe`] | other processes, and waiting for what they do |
//! | [`net`] | two namespaces joined by cables |
//! | [`pty`] | a program in a terminal |

#![cfg(target_os = "linux")]

mod attempts;
pub mod clock;
pub mod harness;
pub mod needs;
pub mod net;
pub mod observe;
pub mod process;
pub mod pty;
pub mod registry;
pub mod steps;
pub mod turn;
pub mod verdict;

pub use attempts::attempts;
pub use harness::main;
pub use joulepath_testbed_macros::test;
pub use process::{in_role, skip, too_busy};
pub use registry::Test;
pub use turn::machine_wide_state;

#[doc(hidden)]
pub use inventory;
