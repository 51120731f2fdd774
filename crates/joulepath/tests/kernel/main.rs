//! The commands that need the kernel engine, as their users see them.
//!
//! A program of tests by itself: emulated links keep time, and the other tests of the command line want every
//! core.

#[macro_use]
extern crate joulepath_testbed;

mod cc;
mod compare;
mod lab;
mod live;
mod machine;
mod rights;
#[path = "../common/run.rs"]
mod run;

fn main() -> std::process::ExitCode {
    joulepath_testbed::main(&[])
}
