//! `joulepath live`, `joulepath status` and `joulepath top`.

mod gauge;
#[cfg(feature = "kernel")]
mod judge;
mod top;

use std::net::SocketAddr;
use std::path::Path;

use joulepath_console::board::{self, Board};
use joulepath_console::{page, why};
use joulepath_live::daemon::Chosen;
use joulepath_live::metrics::openmetrics;
use joulepath_live::{Request, client, daemon, record, simulate, units};
use serde_json::json;

use crate::cli::live::{
    ForgetOptions, LiveCommand, LiveOptions, SetIntentOptions, SocketOptions, StatusOptions,
};
use crate::failure::{Exit, Failure};
use crate::show::print_json;
use crate::terminal;

pub(crate) use self::top::top;

/// Runs the daemon, or talks to it.
///
/// # Errors
/// If the configuration is wrong, rights are missing, or the kernel cannot do it.
pub(crate) fn live(options: &LiveOptions) -> Result<Exit, Failure> {
    match &options.command {
        Some(LiveCommand::SetIntent(options)) => return set_intent(options),
        Some(LiveCommand::Pause(socket)) => return command(socket, &Request::Pause),
        Some(LiveCommand::Resume(socket)) => return command(socket, &Request::Resume),
        Some(LiveCommand::Forget(ForgetOptions {
            network, socket, ..
        })) => {
            return command(
                socket,
                &Request::Forget {
                    network: network.clone(),
                },
            );
        }
        #[cfg(feature = "kernel")]
        Some(LiveCommand::Judge(options)) => return judge::judge(options),
        #[cfg(not(feature = "kernel"))]
        Some(LiveCommand::Judge(_)) => return Err(Failure::without_kernel_engine()),
        None => {}
    }
    if options.sample {
        return terminal::data(daemon::SAMPLE);
    }
    if !options.undo && options.replay.is_none() && !options.config.exists() {
        return Err(Failure::usage(format!(
            "there is no configuration {}",
            options.config.display()
        ))
        .help(
            "`joulepath live --sample > live.toml` writes one; name it with `--config live.toml`",
        ));
    }
    if let Some(record) = &options.replay {
        return replay(record, options.json);
    }
    if options.undo {
        let undone = daemon::undo(options.wait, &mut terminal::say)?;
        return Ok(if undone.is_whole() {
            Exit::Ok
        } else {
            Exit::Partial
        });
    }
    if options.programs {
        units::run(&options.config, &mut terminal::say)?;
        return Ok(Exit::Ok);
    }
    if options.simulate {
        let config = daemon::load(&options.config)?;
        let status = client::ask(Path::new(&config.control.socket), &Request::Status)?;
        return terminal::data(&simulate::scenario(&config, &status)?);
    }
    let LiveOptions {
        pm: manager,
        intent,
        first,
        adopt,
        ..
    } = *options;
    let chosen = Chosen {
        manager,
        intent,
        first,
        adopt,
    };
    if options.dry_run {
        let (status, steps) = daemon::dry_run(&options.config, chosen)?;
        return match options.json {
            true => print_json(&json!({ "status": status, "steps": steps })),
            false => terminal::print(&page::dry_run(&status, &steps, terminal::stdout().0)),
        };
    }
    // Unwrapped: a journal keeps one message per line.
    let record = options.record.as_deref();
    let manner = daemon::Manner {
        chosen,
        record,
        keep: options.keep,
    };
    let outside = daemon::Outside {
        open_gauge: &gauge::open,
        explain: &why::explain,
    };
    daemon::run(&options.config, manner, outside, &mut terminal::say)?;
    Ok(Exit::Ok)
}

/// Repeats a daemon's recorded decisions; fails if one differs.
fn replay(path: &Path, json: bool) -> Result<Exit, Failure> {
    let replayed = record::replay(path)?;
    let exit = if replayed.differ == 0 {
        Exit::Ok
    } else {
        Exit::Failed
    };
    match json {
        true => print_json(&replayed)?,
        false => terminal::print(&page::replayed(&replayed))?,
    };
    Ok(exit)
}

fn set_intent(options: &SetIntentOptions) -> Result<Exit, Failure> {
    let (interface, intent) = (options.interface.clone(), options.intent.0);
    command(&options.socket, &Request::SetIntent { interface, intent })?;
    terminal::say("the intent is set; `joulepath status` shows its effect after the next decision");
    Ok(Exit::Ok)
}

fn command(options: &SocketOptions, request: &Request) -> Result<Exit, Failure> {
    client::ask(&options.socket, request)?;
    Ok(Exit::Ok)
}

/// Prints the state of the running daemon.
///
/// # Errors
/// If none runs, or this user may not ask it.
pub(crate) fn status(options: &StatusOptions) -> Result<Exit, Failure> {
    if let Some(address) = options.serve {
        return serve(address, options);
    }
    let status = client::ask(&options.socket.socket, &Request::Status)?;
    if options.metrics {
        return terminal::data(&openmetrics(&status));
    }
    match options.json {
        true => print_json(&status),
        false => terminal::print(&page::status(&status, terminal::stdout().0)),
    }
}

/// Serves the state as a page until a signal ends the process.
fn serve(address: SocketAddr, options: &StatusOptions) -> Result<Exit, Failure> {
    let has_token = options.token || rustix::process::geteuid().is_root();
    if !address.ip().is_loopback() && !has_token {
        return Err(Failure::usage(format!(
            "other hosts reach {address}: everybody there could read the page"
        ))
        .help("add --token, or use 127.0.0.1 and `ssh -L`"));
    }
    let lost = |error| Failure::io(format!("cannot serve a page at {address}"), error);
    let token = has_token.then(board::token).transpose().map_err(lost)?;
    let board = Board::open(address, &options.socket.socket, token);
    let board = board.map_err(|error| {
        let help = board::remedy(&error);
        lost(error).help(help)
    })?;
    terminal::print(&format!("{}\n", board.url()))?;
    terminal::say("Open this address in a browser; Ctrl-C ends the page.");
    board.serve().map_err(lost)?;
    Ok(Exit::Ok)
}
