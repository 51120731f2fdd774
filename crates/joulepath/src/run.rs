//! `joulepath run`: a program whose TCP sockets become MPTCP.

use std::ffi::OsString;
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
    let Some(program) = options.run.first() else {
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
    let mut words: Vec<OsString> =
        options.intent.map_or_else(Vec::new, |intent| scope(intent, &options.socket));
    words.extend(options.run.iter().cloned());
    let error = Command::new(&words[0]).args(&words[1..]).envs(launch.environment).exec();
    Err(Failure::new(NOT_EXECUTABLE, error).help(format!("check the file {}", launch.program.display())))
}

/// The words before the command that give it an intent; without them it has the machine's.
fn scope(intent: Intent, socket: &Path) -> Vec<OsString> {
    match programs::scope(intent, client::ask(socket, &Request::Status)) {
        Ok(words) => words.into_iter().map(OsString::from).collect(),
        Err(why) => {
            terminal::tell(&format!(
                "joulepath: the command runs without the intent {}: {why}",
                intent.word()
            ));
            vec![]
        }
    }
}
