//! The command line of Joulepath: parse, dispatch to an engine, report.
//!
//! | module | what |
//! |---|---|
//! | `cli` | commands and options |
//! | `compare`, `map`, `study`, `benchmark`, `gap`, `reproduce`, `advise` | `joulepath_study` in a terminal |
//! | `list`, `show`, `explain` | names; a scenario with all defaults; a controller's step |
//! | `cc`, `own` | our controllers in the running kernel; users' own controllers |
//! | `conformance` | test cases for controllers |
//! | `doctor` | what this machine can run |
//! | `meter`, `calibrate`, `profile` | power meters of this machine; a radio's energy model from a meter |
//! | `lab` | any program inside emulated radios |
//! | `run` | programs whose TCP sockets become MPTCP |
//! | `relay` | several paths towards servers without MPTCP |
//! | `live` | the daemon for real interfaces, its status and screen |
//! | `switch` | the daemon as a service: on and off |
//! | `why` | what holds connections back |
//! | `scenario`, `engine` | scenarios and engines as the command line names them |
//! | `manual`, `complete` | the pages of `man`; completions in shells |
//! | `outputs` | where results go |
//! | `progress`, `interrupt`, `provenance` | progress bar; Ctrl-C; version, commit and command line |
//! | `failure`, `diagnose`, `terminal` | exit codes, error messages, stdout and stderr |

mod advise;
mod benchmark;
mod bill;
#[cfg(feature = "live")]
mod calibrate;
#[cfg(feature = "kernel")]
mod cc;
mod cli;
mod compare;
mod complete;
mod conformance;
mod diagnose;
#[cfg(feature = "live")]
mod doctor;
mod explain;
mod failure;
#[cfg(feature = "kernel")]
mod gap;
mod interrupt;
#[cfg(feature = "kernel")]
mod lab;
mod list;
#[cfg(feature = "live")]
mod live;
mod manual;
mod map;
#[cfg(feature = "live")]
mod meter;
mod outputs;
mod own;
mod packets;
mod profile;
mod progress;
mod provenance;
#[cfg(feature = "live")]
mod relay;
mod reproduce;
#[cfg(feature = "live")]
mod run;
mod scenario;
mod show;
mod study;
#[cfg(feature = "live")]
mod switch;
mod terminal;
#[cfg(feature = "live")]
mod why;

use std::process::ExitCode;

use clap::FromArgMatches;

#[cfg(not(feature = "kernel"))]
use cli::cc::CcCommand;
use cli::{Cli, Command, meant};
use failure::{Exit, Failure};
use joulepath_model::brief;

fn main() -> ExitCode {
    #[cfg(feature = "kernel")]
    if let Some(exit) = joulepath_lab::worker::run_if_asked(joulepath_lab::ROLES) {
        return exit;
    }
    complete::answer(cli::command);
    let matches = cli::command().try_get_matches();
    let cli = match matches.and_then(|mut matches| Cli::from_arg_matches_mut(&mut matches)) {
        Ok(cli) => cli,
        Err(error) => return explain_usage(&meant::corrected(error)),
    };
    let exit = dispatch(cli.command).unwrap_or_else(|failure| {
        diagnose::tell(&failure);
        failure.exit()
    });
    interrupt::exit(exit).into()
}

/// Prints help on stdout, or a mistake in the command line on stderr.
fn explain_usage(error: &clap::Error) -> ExitCode {
    let text = error.render();
    let (_, color) = if error.use_stderr() {
        terminal::stderr()
    } else {
        terminal::stdout()
    };
    let text = if color {
        text.ansi().to_string()
    } else {
        text.to_string()
    };
    match error.use_stderr() {
        // An argument can be as long as 128 kB.
        true => {
            let lines: Vec<_> = text
                .trim_end()
                .lines()
                .map(|line| brief::message(line))
                .collect();
            terminal::say(&lines.join("\n"));
        }
        // If stdout is closed, there is nothing to report it to.
        false => drop(terminal::print(&text)),
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

fn dispatch(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Compare(options) => compare::compare(options),
        Command::List(options) => list::list(&options),
        Command::Show(options) => show::show(&options),
        Command::Schema(options) => show::schema(&options),
        Command::Advise(options) => advise::advise(&options),
        Command::Bill(options) => bill::bill(&options),
        Command::Explain(options) => explain::explain(&options),
        #[cfg(feature = "live")]
        Command::Doctor(options) => doctor::doctor(&options),
        #[cfg(feature = "kernel")]
        Command::Lab(options) => lab::lab(&options),
        #[cfg(feature = "kernel")]
        Command::Cc(command) => cc::cc(&command),
        #[cfg(not(feature = "kernel"))]
        Command::Cc(CcCommand::New(options)) => own::new(&options),
        #[cfg(not(feature = "kernel"))]
        Command::Cc(CcCommand::Check(options)) => own::check(&options),
        #[cfg(not(feature = "kernel"))]
        Command::Cc(CcCommand::Test(options)) => conformance::test(&options),
        #[cfg(feature = "live")]
        Command::On(options) => switch::on(&options),
        #[cfg(feature = "live")]
        Command::Off => switch::off(),
        #[cfg(feature = "live")]
        Command::Live(options) => live::live(&options),
        #[cfg(feature = "live")]
        Command::Status(options) => live::status(&options),
        #[cfg(feature = "live")]
        Command::Top(options) => live::top(&options),
        #[cfg(feature = "live")]
        Command::Why(options) => why::why(&options),
        #[cfg(feature = "live")]
        Command::Run(options) => run::run(&options),
        #[cfg(feature = "live")]
        Command::Relay(command) => relay::relay(&command),
        #[cfg(feature = "kernel")]
        Command::Gap(options) => gap::gap(&options),
        #[cfg(feature = "live")]
        Command::Meter(options) => meter::meter(&options),
        #[cfg(feature = "live")]
        Command::Calibrate(options) => calibrate::calibrate(&options),
        Command::Profile(command) => profile::profile(&command),
        Command::Reproduce(options) => reproduce::reproduce(&options),
        Command::Benchmark(options) => benchmark::benchmark(&options),
        Command::Map(options) => map::map(&options),
        Command::Study(options) => study::study(&options),
        Command::Completions { shell } => complete::script(shell),
        Command::Man { folder } => manual::write(&folder),
        #[cfg(not(feature = "kernel"))]
        _ => Err(Failure::without_kernel_engine()),
    }
}
