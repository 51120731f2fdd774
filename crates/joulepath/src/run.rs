//! `joulepath run`: a program whose TCP sockets become MPTCP.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::Command;

use joulepath_console::launch;
use joulepath_live::programs;

use crate::cli::run::RunOptions;
use crate::failure::{Exit, Failure};
use crate::show::print_json;
use crate::terminal;

/// Replaces this process with the command.
///
/// # Errors
/// If there is no such command or it cannot be executed.
pub(crate) fn run(options: &RunOptions) -> Result<Exit, Failure> {
    // Exit codes of POSIX for `env` and the shell.
    const NOT_FOUND: Exit = Exit::Command(127);
    const NOT_EXECUTABLE: Exit = Exit::Command(126);
    if let Some(file) = &options.write_library {
        let written = fs::write(file, programs::LIBRARY).map(|()| Exit::Ok);
        return written.map_err(|error| Failure::io(format!("cannot write {}", file.display()), error));
    }
    let [program, arguments @ ..] = options.run.as_slice() else {
        return Err(Failure::usage("name a command after `--`"));
    };
    let name = program.to_string_lossy();
    let Some(launch) = programs::launch(program) else {
        return Err(Failure::message(NOT_FOUND, format!("there is no command `{name}`")));
    };
    if options.dry_run {
        return match options.json {
            true => print_json(&launch),
            false => terminal::print(&launch::page(&launch, terminal::stdout().0)),
        };
    }
    if let Some(warning) = launch::warning(&launch) {
        terminal::tell(&format!("joulepath: {warning}"));
    }
    let error = Command::new(program).args(arguments).envs(launch.environment).exec();
    Err(Failure::new(NOT_EXECUTABLE, error).help(format!("check the file {}", launch.program.display())))
}
