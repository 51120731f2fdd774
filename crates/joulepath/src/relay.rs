//! `joulepath relay`: both ends of a relay for servers without MPTCP.

use std::sync::Arc;

use joulepath_relay::{new, rules};

use crate::cli::relay::RelayCommand;
use crate::failure::{Exit, Failure};
use crate::terminal;

/// Runs the command.
///
/// # Errors
/// If a file is wrong or exists, or this machine or user cannot do it.
pub(crate) fn relay(command: &RelayCommand) -> Result<Exit, Failure> {
    let say = Arc::new(terminal::say);
    match command {
        RelayCommand::New { server, folder } => terminal::tell(&new::write_for(folder, server)?),
        RelayCommand::Serve { file } => joulepath_relay::serve(file, say)?,
        RelayCommand::Connect {
            file,
            print_rules: true,
            ..
        } => _ = terminal::data(&rules::text_for(file)?)?,
        RelayCommand::Connect {
            undo_rules: true, ..
        } => terminal::say(rules::undo_and_say()?),
        RelayCommand::Connect {
            file, set_rules, ..
        } => joulepath_relay::connect(file, *set_rules, say)?,
    }
    Ok(Exit::Ok)
}
