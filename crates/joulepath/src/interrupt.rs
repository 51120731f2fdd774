//! Ctrl-C: the first one asks, the second one insists.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::terminal;

static ASKED: AtomicBool = AtomicBool::new(false);

/// Exit code of a process that SIGINT ended, as shells report it.
const INTERRUPTED: i32 = 130;

/// Catches SIGINT, SIGTERM and SIGHUP. The flag is set by the first; the second ends the process.
pub(crate) fn flag() -> &'static AtomicBool {
    let installed = ctrlc::set_handler(|| {
        if ASKED.swap(true, Ordering::SeqCst) {
            std::process::exit(INTERRUPTED);
        }
        terminal::say("\nstopping: runs under way are finished and reported; Ctrl-C again stops at once");
    });
    if let Err(error) = installed {
        terminal::say(&format!("warning: Ctrl-C will end this at once, without a report: {error}"));
    }
    &ASKED
}
