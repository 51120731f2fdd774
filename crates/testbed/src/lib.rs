//! The harness of all tests that need the running kernel or a browser. For tests only; not
//! published.
//!
//! A test binary that uses it sets `harness = false` and has this `main.rs`:
//!
//! ```ignore
//! // Makes `#[test]` the harness's in the whole binary, so that no test is forgotten.
//! #[macro_use]
//! extern crate joulepath_testbed;
//!
//! fn main() -> std::process::ExitCode {
//!     joulepath_testbed::main(&[])
//! }
//! ```
//!
//! A test lists its requirements on the machine next to its name: `#[test(needs(LAB, IPV6))]`. If
//! one is missing, the test counts as ignored, with the reason. It fails instead with
//! `JOULEPATH_REQUIRE_KERNEL=1`, or with `CI` if the machine could provide it. Each test runs in
//! its own process, several at the same time (`--test-threads`).
//!
//! | module | content |
//! |---|---|
//! | [`harness`] | arguments, selection of tests, the closing lines |
//! | `jobs` | which tests run at the same time |
//! | [`registry`] | the tests of a binary |
//! | [`needs`] | a test's needs, and whether this machine meets them |
//! | [`verdict`] | whether a test runs, is ignored or fails for a missing need |
//! | [`process`] | one test in its own process, and its output |
//! | [`clock`] | lateness of timers |
//! | [`steps`] | a program that is killed at any of its steps |
//! | [`turn`] | locks between binaries: tests that must be alone, changes of machine-wide state |
//! | [`observe`] | other processes, and waiting for their actions |
//! | [`net`] | two namespaces joined by cables |
//! | [`pty`] | a program in a terminal |
//! | [`fuzz`] | parsers with changed inputs |
//! | [`browser`] | pages in headless Chromium |

#![cfg(target_os = "linux")]

pub mod browser;
pub mod clock;
mod fuzz;
pub mod harness;
mod jobs;
pub mod needs;
pub mod net;
pub mod observe;
pub mod process;
pub mod pty;
pub mod registry;
pub mod steps;
pub mod turn;
pub mod verdict;

pub use fuzz::fuzz;
pub use harness::main;
pub use joulepath_testbed_macros::test;
pub use process::{in_role, repeated, skip, too_busy};
pub use registry::Test;
pub use turn::machine_wide_state;

#[doc(hidden)]
pub use inventory;
