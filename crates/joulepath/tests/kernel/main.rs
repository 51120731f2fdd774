//! Commands that need the kernel engine, as their users see them.
//!
//! A separate test program: emulated links need exact timing, and the other tests of the command
//! line use every core.

#[macro_use]
extern crate joulepath_testbed;

mod cc;
mod compare;
mod lab;
mod live;
mod machine;
mod programs;
mod relay;
mod rights;
#[path = "../common/run.rs"]
mod run;
mod why;

fn main() -> std::process::ExitCode {
    joulepath_testbed::main(&[])
}
