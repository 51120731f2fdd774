//! The command line of Joulepath: parse, dispatch to an engine, report.
//!
//! | module | what |
//! |---|---|
//! | `cli` | commands and options |
//! | `source`, `shipped` | where a scenario comes from |
//! | `contenders` | policies, looked up and checked against a scenario |
//! | `engine` | what can run a scenario |
//! | `study`, `progress`, `journal`, `interrupt` | many runs: on all cores, watched, kept, stopped |
//! | `compare`, `outputs` | the main job and what it writes |
//! | `kept`, `marks` | finished runs in a file; tables written into pages |
//! | `list`, `describe`, `show`, `explain` | the other commands |
//! | `advise` | which interfaces for a transfer |
//! | `cc` | our controllers in the running kernel |
//! | `doctor` | what this machine can run |
//! | `gap` | how far simulator and kernel are apart |
//! | `league` | all policies on all of the papers' scenarios |
//! | `map` | where in a plane of two keys which policy wins |
//! | `lab` | any program inside emulated radios |
//! | `reproduce` | which claims of the papers hold |
//! | `failure`, `terminal`, `nearest` | what all of them say, and how |

mod advise;
#[cfg(feature = "kernel")]
mod cc;
mod cli;
mod compare;
mod contenders;
mod describe;
#[cfg(feature = "kernel")]
mod doctor;
mod engine;
mod explain;
mod failure;
#[cfg(feature = "kernel")]
mod gap;
mod interrupt;
mod journal;
mod json_lines;
mod kept;
#[cfg(feature = "kernel")]
mod lab;
mod league;
mod list;
mod map;
mod marks;
mod nearest;
mod outputs;
mod progress;
mod reproduce;
mod shipped;
mod show;
mod source;
mod study;
mod terminal;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use cli::{Cli, Command};
use failure::{Exit, Failure};

fn main() -> ExitCode {
    #[cfg(feature = "kernel")]
    if let Some(exit) = joulepath_linux::worker::run_if_asked() {
        return exit;
    }
    let exit = run(Cli::parse().command).unwrap_or_else(|failure| {
        failure.print();
        failure.exit()
    });
    exit.into()
}

fn run(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Compare(options) => compare::compare(options),
        Command::List(options) => list::list(&options),
        Command::Show(options) => show::show(&options),
        Command::Schema => show::schema(),
        Command::Advise(options) => advise::advise(&options),
        Command::Explain(options) => explain::explain(&options),
        #[cfg(feature = "kernel")]
        Command::Doctor(options) => doctor::doctor(&options),
        #[cfg(not(feature = "kernel"))]
        Command::Doctor(_) => Err(Failure::without_kernel_engine()),
        #[cfg(feature = "kernel")]
        Command::Lab(options) => lab::lab(&options),
        #[cfg(not(feature = "kernel"))]
        Command::Lab(_) => Err(Failure::without_kernel_engine()),
        #[cfg(feature = "kernel")]
        Command::Cc(command) => cc::cc(&command),
        #[cfg(not(feature = "kernel"))]
        Command::Cc(_) => Err(Failure::without_kernel_engine()),
        #[cfg(feature = "kernel")]
        Command::Gap(options) => gap::gap(&options),
        #[cfg(not(feature = "kernel"))]
        Command::Gap(_) => Err(Failure::without_kernel_engine()),
        Command::Reproduce(options) => reproduce::reproduce(&options),
        Command::League(options) => league::league(&options),
        Command::Map(options) => map::map(&options),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "joulepath", &mut script);
            terminal::print(&String::from_utf8_lossy(&script))
        }
    }
}
