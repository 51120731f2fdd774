//! `joulepath run`: a program whose TCP sockets become MPTCP.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use joulepath_console::launch;
use joulepath_live::{Request, client, programs};
use joulepath_model::live::Intent;

use crate::cli::run::RunOptions;
use crate::failure::{Exit, Failure};
use crate::show::print_json;
use crate::terminal;

/// Exit codes of POSIX for `env` and the shell.
const NOT_FOUND: Exit = Exit::Command(127);
pub(crate) const NOT_EXECUTABLE: Exit = Exit::Command(126);

/// Replaces this process with the command.
///
/// # Errors
/// If there is no such command or it cannot be executed.
pub(crate) fn run(options: &RunOptions) -> Result<Exit, Failure> {
    if let Some(file) = &options.write_library {
        let written = fs::write(file, programs::LIBRARY).map(|()| Exit::Ok);
        return written
            .map_err(|error| Failure::io(format!("cannot write {}", file.display()), error));
    }
    if let Some(group) = &options.keep_group {
        programs::keep(group.clone())?;
        return Ok(Exit::Ok);
    }
    let Some(program) = options.run.first() else {
        return Err(Failure::usage("name a command after `--`"));
    };
    let launch = programs::launch(program).ok_or_else(|| no_command(program))?;
    if options.dry_run {
        let launch = launch.by_bpf(joulepath_kernel::programs::probe);
        return match options.json {
            true => print_json(&launch),
            false => terminal::print(&launch::page(&launch, terminal::stdout().0)),
        };
    }
    if let Some(mut again) = options
        .intent
        .and_then(|intent| scope(intent, &options.socket))
    {
        let error = again.args(&options.run).exec();
        return Err(Failure::io(
            format!("cannot execute {}", again.get_program().display()),
            error,
        ));
    }
    let launch = launch.by_bpf(programs::join);
    if let Some(warning) = launch::warning(&launch) {
        terminal::tell(&format!("joulepath: {warning}"));
    }
    let error = Command::new(program)
        .args(&options.run[1..])
        .envs(launch.environment)
        .exec();
    let what = format!("cannot start {}: {error}", launch.program.display());
    Err(Failure::message(NOT_EXECUTABLE, what).help(launch::remedy(&launch.program, &error)))
}

/// There is no such command.
pub(crate) fn no_command(word: &OsStr) -> Failure {
    Failure::message(
        NOT_FOUND,
        format!("there is no command `{}`", word.display()),
    )
    .help("name a program in PATH, or a file by its path: ./NAME")
}

/// `joulepath run --` with the intent; without it the command has the machine's.
fn scope(intent: Intent, socket: &Path) -> Option<Command> {
    let tell = |why: &String| {
        terminal::tell(&format!(
            "joulepath: the command runs without the intent {}: {why}",
            intent.word()
        ));
    };
    programs::scope(intent, client::ask(socket, &Request::Status))
        .inspect_err(tell)
        .ok()
}
