//! `joulepath on` and `joulepath off`.

use joulepath_console::{page, switch as said};
use joulepath_live::switch;

use crate::cli::switch::OnOptions;
use crate::failure::{Exit, Failure};
use crate::terminal;

/// Switches on.
///
/// # Errors
/// If rights or kernel features are missing, the configuration is wrong, or systemd cannot start
/// the daemon.
pub(crate) fn on(options: &OnOptions) -> Result<Exit, Failure> {
    if options.dry_run {
        let (status, steps) = switch::dry_run(options.intent, options.adopt)?;
        return terminal::print(&page::dry_run(&status, &steps, terminal::stdout().0));
    }
    terminal::print(&said::on(&switch::on(options.intent, options.adopt)?))
}

/// Switches off.
///
/// # Errors
/// If rights are missing, or something cannot be stopped or removed.
pub(crate) fn off() -> Result<Exit, Failure> {
    let undone = switch::off(&mut terminal::say)?;
    terminal::print("Joulepath is off. Running programs keep their connections.\n")?;
    Ok(if undone.is_whole() {
        Exit::Ok
    } else {
        Exit::Partial
    })
}
