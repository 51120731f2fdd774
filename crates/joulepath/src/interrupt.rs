//! Ctrl-C: the first lets runs under way end, the second ends the process.

use std::sync::atomic::{AtomicBool, Ordering};

use joulepath_model::cancel::Cancel;

use crate::failure::{Exit, INTERRUPTED};
use crate::terminal;

/// Set by the first signal.
static ASKED: AtomicBool = AtomicBool::new(false);

/// Replaces [`Exit::Partial`] if a signal is the reason.
pub(crate) fn exit(exit: Exit) -> Exit {
    if exit == Exit::Partial && ASKED.load(Ordering::Relaxed) {
        Exit::Interrupted
    } else {
        exit
    }
}

/// A token that the first SIGINT, SIGTERM or SIGHUP sets; the second one ends the process.
pub(crate) fn token() -> Cancel {
    let cancel = Cancel::new();
    let asked = cancel.clone();
    let installed = ctrlc::set_handler(move || {
        if asked.is_set() {
            std::process::exit(INTERRUPTED.into());
        }
        asked.set();
        ASKED.store(true, Ordering::Relaxed);
        terminal::say("\nstopping: what has finished is reported; Ctrl-C again stops at once");
    });
    if let Err(error) = installed {
        terminal::say(&format!(
            "warning: Ctrl-C will end this at once, without a report: {error}"
        ));
    }
    cancel
}
