//! `joulepath top`: the screen of `joulepath_console`, and what its end means for the process.

use std::io::{self, IsTerminal};

use joulepath_console::top::watch;

use crate::cli::top::TopOptions;
use crate::failure::{Exit, Failure};
use crate::terminal;

/// Shows the daemon until the user has seen enough.
///
/// # Errors
/// If stdout is no terminal that can be drawn on.
pub(crate) fn top(options: &TopOptions) -> Result<Exit, Failure> {
    refuse_what_is_no_terminal()?;
    let lost = |error: io::Error| Failure::io("cannot use the terminal", error);
    if let Some(signal) = watch(&options.socket.socket, terminal::stdout().1).map_err(lost)? {
        // Who has sent it sees that the process ended by it.
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
