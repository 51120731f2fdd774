//! The ends as commands: from a file until a signal.

use std::path::Path;

use crate::config::{ConnectConfig, ServeConfig};
use crate::connect::Connect;
use crate::error::Error;
use crate::rules;
use crate::serve::Serve;
use crate::shared::{Say, block_on, stop_signal};

/// Runs the far end until SIGTERM or SIGINT.
///
/// # Errors
/// If the file is wrong, or it cannot listen.
pub fn serve(file: &Path, say: Say) -> Result<(), Error> {
    let config = ServeConfig::read(file)?;
    block_on(async {
        let stop = stop_signal()?;
        Serve::new(config, say)?.run(stop).await;
        Ok(())
    })
}

/// Runs the near end until SIGTERM or SIGINT; with `set_rules`, the rules are set meanwhile.
///
/// # Errors
/// If the file is wrong, it cannot listen, or the rules cannot be set or deleted.
pub fn connect(file: &Path, set_rules: bool, say: Say) -> Result<(), Error> {
    let config = ConnectConfig::read(file)?;
    block_on(async {
        let stop = stop_signal()?;
        // Once it listens: before that, the rules would lead to nowhere.
        let near = Connect::new(config.clone(), say)?;
        let set = set_rules.then(|| rules::Set::new(&config)).transpose()?;
        near.run(stop).await;
        set.map_or(Ok(()), rules::Set::undo)
    })
}
