//! Ctrl-C: the first one asks, the second one insists.

use joulepath_model::cancel::Cancel;

use crate::terminal;

/// Exit code of a process that SIGINT ended, as shells report it.
const INTERRUPTED: i32 = 130;

/// A token that the first SIGINT, SIGTERM or SIGHUP sets; the second one ends the process.
pub(crate) fn token() -> Cancel {
    let cancel = Cancel::new();
    let asked = cancel.clone();
    let installed = ctrlc::set_handler(move || {
        if asked.is_set() {
            std::process::exit(INTERRUPTED);
        }
        asked.set();
        terminal::say("\nstopping: what has finished is reported; Ctrl-C again stops at once");
    });
    if let Err(error) = installed {
        terminal::say(&format!("warning: Ctrl-C will end this at once, without a report: {error}"));
    }
    cancel
}
