//! What a memory of networks knows about a path of a question.

use joulepath_model::history::PathHistory;
use joulepath_model::units::{BitRate, Nanos, Probability};

use crate::error::{Error, Result};
use crate::history::History;

/// Estimates for one path; without a history none.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Remembered(PathHistory);

impl Remembered {
    /// What `history` knows about the path `name` in the network `network`. A path without a network need not
    /// be known.
    ///
    /// # Errors
    /// If there is a network but no history, or the history does not know it.
    pub(super) fn of(history: Option<&History>, name: &str, network: Option<&str>) -> Result<Self> {
        let Some(history) = history else {
            return match network {
                None => Ok(Remembered::default()),
                Some(network) => {
                    Err(Error::usage(format!("--path {name}: network={network} needs a history"))
                        .with_help("add --history FILE, or leave network out"))
                }
            };
        };
        match (history.known(name, network), network) {
            (Some(known), _) => Ok(Remembered(known)),
            (None, None) => Ok(Remembered::default()),
            (None, Some(network)) => {
                Err(Error::usage(format!("--path {name}: the history does not know network={network}"))
                    .with_help("give rate=… and rtt=… instead; the salt of the history must be beside it"))
            }
        }
    }

    pub(super) fn rate(self) -> Option<BitRate> {
        self.0.rate_now().map(|rate| BitRate::from_bps(rate.median.round() as u64))
    }

    pub(super) fn rtt(self) -> Option<Nanos> {
        self.0.rtt_now().map(|rtt| Nanos::from_secs_f64(rtt.median))
    }

    /// 0 if it is unknown.
    pub(super) fn loss(self) -> Probability {
        self.0.loss_now().and_then(|loss| Probability::new(loss.median)).unwrap_or_default()
    }
}
