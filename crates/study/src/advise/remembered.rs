//! What a memory of networks knows about the paths of a question.

use joulepath_model::history::PathHistory;

use crate::error::{Error, Result};
use crate::history::History;

/// Key of a path's network.
pub(super) const NETWORK: &str = "network";

/// `NAME:KEY=VALUE,…` with the rate, RTT and loss that `history` remembers and the text leaves out,
/// and without the network. Text that is no path stays as it is. A path without a network need not
/// be known.
///
/// # Errors
/// If there is a network but no history, or the history does not know it.
pub(super) fn complete(text: &str, history: Option<&History>) -> Result<String> {
    let Some((name, rest)) = text.split_once(':') else {
        return Ok(text.to_owned());
    };
    let pairs: Vec<(&str, Option<&str>)> = rest
        .split(',')
        .map(|pair| {
            pair.split_once('=').map_or((pair, None), |(key, value)| {
                (key.trim(), Some(value.trim()))
            })
        })
        .collect();
    let networks: Vec<&str> = pairs
        .iter()
        .filter(|(key, _)| *key == NETWORK)
        .filter_map(|pair| pair.1)
        .collect();
    let known = match networks[..] {
        [] => of(history, name.trim(), None)?,
        [network] => of(history, name.trim(), Some(network))?,
        _ => return Ok(text.to_owned()),
    };
    let is_given = |key: &str| pairs.iter().any(|(given, _)| *given == key);
    let kept = pairs
        .iter()
        .filter(|(key, value)| *key != NETWORK || value.is_none());
    let kept =
        kept.map(|(key, value)| value.map_or((*key).to_owned(), |value| format!("{key}={value}")));
    let recalled = recalled(&known)
        .into_iter()
        .filter(|(key, _)| !is_given(key));
    let all: Vec<String> = kept
        .chain(recalled.map(|(key, value)| format!("{key}={value}")))
        .collect();
    Ok(format!("{name}:{}", all.join(",")))
}

/// What is remembered, in the units of a path.
fn recalled(known: &PathHistory) -> Vec<(&'static str, String)> {
    let rate = known
        .rate_now()
        .map(|rate| ("rate", format!("{:.0} bit/s", rate.median)));
    let rtt = known
        .rtt_now()
        .map(|rtt| ("rtt", format!("{:.0} ns", 1e9 * rtt.median)));
    let loss = known
        .loss_now()
        .map(|loss| ("loss", format!("{:.3} ppm", 1e6 * loss.median)));
    [rate, rtt, loss].into_iter().flatten().collect()
}

fn of(history: Option<&History>, name: &str, network: Option<&str>) -> Result<PathHistory> {
    let Some(history) = history else {
        return match network {
            None => Ok(PathHistory::default()),
            Some(network) => Err(Error::usage(format!(
                "--path {name}: network={network} needs a history"
            ))
            .with_help("add --history FILE, or leave network out")),
        };
    };
    match (history.known(name, network), network) {
        (Some(known), _) => Ok(known),
        (None, None) => Ok(PathHistory::default()),
        (None, Some(network)) => Err(Error::usage(format!(
            "--path {name}: the history does not know network={network}"
        ))
        .with_help("give rate=… and rtt=… instead; the salt of the history must be beside it")),
    }
}
