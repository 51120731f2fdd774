//! `joulepath on` and `joulepath off`.

use std::path::Path;

use joulepath_console::{page, switch as said};
use joulepath_live::daemon::{self, Chosen};
use joulepath_live::switch::{self, CONFIG, Wish};
use joulepath_live::{Request, client};
use joulepath_model::live::First;

use crate::cli::switch::OnOptions;
use crate::failure::{Exit, Failure};
use crate::terminal;

const SAMPLE: &str = include_str!("../../../packaging/live.toml");

/// Switches on.
///
/// # Errors
/// If rights or kernel features are missing, the configuration is wrong, or systemd cannot start the daemon.
pub(crate) fn on(options: &OnOptions) -> Result<Exit, Failure> {
    let wish = Wish { intent: options.intent, sample: SAMPLE };
    let config = Path::new(CONFIG);
    if options.dry_run {
        let plan = switch::plan(wish)?;
        let chosen = Chosen { intent: options.intent, first: Some(First::Steer), manager: None };
        let (status, steps) = match config.exists() {
            true => daemon::dry_run(config, chosen)?,
            false => daemon::dry_run_of(SAMPLE, config, chosen)?,
        };
        let steps = [said::steps(&plan), steps].concat();
        return terminal::print(&page::dry_run(&status, &steps, terminal::stdout().0));
    }
    let plan = switch::on(wish)?;
    if let Some(why) = plan.obstacle {
        return Err(Failure::message(Exit::Partial, format!("{why}, so no daemon was started"))
            .help(format!("run `{}`; Ctrl-C undoes its changes", plan.by_hand)));
    }
    let socket = daemon::load(config)?.control.socket;
    let status = client::ask(Path::new(&socket), &Request::Status)?;
    terminal::print(&said::on(&status))
}

/// Switches off.
///
/// # Errors
/// If rights are missing, or something cannot be stopped or removed.
pub(crate) fn off() -> Result<Exit, Failure> {
    let undone = switch::off(&mut terminal::say)?;
    terminal::print("Joulepath is off. Running programs keep their connections.\n")?;
    Ok(if undone.is_whole() { Exit::Ok } else { Exit::Partial })
}
