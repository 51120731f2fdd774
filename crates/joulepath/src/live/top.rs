//! `joulepath top`: the screen of `joulepath_console`, and the exit code.

use std::io::{self, IsTerminal};

use joulepath_console::top::watch;

use crate::cli::top::TopOptions;
use crate::failure::{Exit, Failure};
use crate::terminal;

/// Shows the daemon until the user quits.
///
/// # Errors
/// If stdout is no terminal, or too simple a one.
pub(crate) fn top(options: &TopOptions) -> Result<Exit, Failure> {
    refuse_what_is_no_terminal()?;
    let lost = |error: io::Error| Failure::io("cannot use the terminal", error);
    if let Some(signal) = watch(&options.socket.socket, terminal::stdout().1).map_err(lost)? {
        // End by the same signal, so that its sender sees that.
        signal_hook::low_level::emulate_default_handler(signal).map_err(lost)?;
    }
    Ok(Exit::Ok)
}

fn refuse_what_is_no_terminal() -> Result<(), Failure> {
    let why = if !io::stdout().is_terminal() {
        "stdout is not a terminal"
    } else if std::env::var("TERM").is_ok_and(|term| term == "dumb") {
        "this terminal cannot place text (TERM is dumb)"
    } else {
        return Ok(());
    };
    let failure = Failure::message(Exit::Usage, format!("`joulepath top` cannot draw: {why}"));
    Err(failure.help("`joulepath status` says the same once, with --json for programs"))
}
