//! A cause that was found: evidence, cost, and what to do.

use serde::Serialize;

/// A cause, found on one connection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Stable name of the cause.
    pub cause: &'static str,
    /// The verdict, a sentence without a full stop.
    pub verdict: String,
    /// What shows it, in numbers.
    pub evidence: Vec<String>,
    /// What it costs.
    pub cost: Cost,
    /// What to do.
    pub fix: Fix,
    /// The fix as a change of a scenario, if the packet engine models it.
    #[serde(skip)]
    pub remedy: Option<Remedy>,
    /// Predicted effect of the fix; `None`: not predicted.
    pub gain: Option<Gain>,
}

/// What a cause costs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// Part of the possible rate that is lost, or of the RTT or of the bytes that are avoidable, 0
    /// to 1. Findings are sorted by it. 0: nothing that can be fixed.
    pub share: f64,
    /// How it was computed.
    pub how: String,
}

/// What to do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Fix {
    /// Commands, in order.
    pub commands: Vec<String>,
    /// What to do where no command of this host fixes it.
    pub advice: Option<String>,
}

/// A fix that the packet engine models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Another congestion controller, by our name.
    Controller(&'static str),
    /// A receive buffer of the connection, bytes.
    ReceiveBuffer(u64),
    /// A send buffer of the connection, bytes.
    SendBuffer(u64),
    /// Without the subflow of this index.
    Without(usize),
    /// With a path over each of these devices.
    Add(Vec<u32>),
}

/// Predicted effect of a fix: what was seen, and what the packet engine yields with the fix on the
/// scenario that is fitted from the connection.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Gain {
    /// Payload that was seen, bit/s.
    pub before_bps: f64,
    /// Goodput with the fix, bit/s.
    pub after_bps: f64,
    /// True if a path was never full, so that its capacity is unknown: `after_bps` is then a lower
    /// bound.
    pub at_least: bool,
    /// Mean RTT that was seen, s.
    pub before_rtt_s: f64,
    /// Mean RTT with the fix, s.
    pub after_rtt_s: f64,
}

impl Finding {
    /// True if something can be done about it.
    pub fn is_fixable(&self) -> bool {
        self.cost.share > 0.0 && self.fix != Fix::default()
    }
}

impl Fix {
    /// Commands only.
    pub fn commands<T: Into<String>>(commands: impl IntoIterator<Item = T>) -> Self {
        Fix {
            commands: commands.into_iter().map(Into::into).collect(),
            advice: None,
        }
    }

    /// Advice only.
    pub fn advice(advice: impl Into<String>) -> Self {
        Fix {
            commands: vec![],
            advice: Some(advice.into()),
        }
    }

    /// With advice.
    #[must_use]
    pub fn or(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }
}

impl Cost {
    /// A part of what would be possible, clamped to 0 … 1.
    pub fn new(share: f64, how: impl Into<String>) -> Self {
        Cost {
            share: if share.is_finite() {
                share.clamp(0.0, 1.0)
            } else {
                0.0
            },
            how: how.into(),
        }
    }
}
