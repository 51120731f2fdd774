//! What a controller does in a given state, by the integer code and by the formula.

use serde::{Deserialize, Serialize};

use crate::{
    Ack, AckFlags, Capability, Connection, Controller, MAX_SUBFLOWS, ParamError, SSTHRESH_NONE,
    Subflow,
    formula::{self, Formula},
};

/// A connection in congestion avoidance, in the user's JSON form (`{"subflows": [{"cwnd": 12,
/// "srtt_us": 50000}]}`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// The established subflows, 1 to 8.
    pub subflows: Vec<SubflowState>,
}

/// One subflow of a [`State`]. Only `cwnd` and `srtt_us` are required.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubflowState {
    /// Window, packets.
    pub cwnd: u32,
    /// Smoothed RTT, µs.
    pub srtt_us: u32,
    /// Base RTT, µs; the smoothed RTT if absent.
    #[serde(default)]
    pub base_rtt_us: Option<u32>,
    /// Latest RTT, µs; the smoothed RTT if absent.
    #[serde(default)]
    pub last_rtt_us: Option<u32>,
    /// Packets acknowledged since the last loss.
    #[serde(default)]
    pub acked_since_loss: u32,
    /// Packets acknowledged between the last two losses.
    #[serde(default)]
    pub acked_between_losses: u32,
    /// Share of the traffic for this path, 0 to 1.
    #[serde(default)]
    pub target_share: f64,
    /// Loss probability; 0 = unknown.
    #[serde(default)]
    pub loss: f64,
    /// Energy per delivered bit, any unit common to the subflows; 0 = unknown.
    #[serde(default)]
    pub energy_cost: f64,
    /// Price of the path.
    #[serde(default)]
    pub path_price: f64,
}

/// What a controller does in a [`State`].
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// Change of each window, packets, by the fixed-point code: per ACK, or per RTT round for a
    /// controller that acts by the round.
    pub increase: Vec<f64>,
    /// Each window after a fast retransmit, whole packets, by the fixed-point code.
    pub window_after_loss: Vec<f64>,
    /// The same numbers from the definition in floating point.
    pub formula: Formula,
}

/// Reason why a state cannot be explained.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ExplainError {
    /// The number of subflows is not from 1 to 8.
    #[error("a state has 1 to {MAX_SUBFLOWS} subflows, this one has {0}")]
    Subflows(usize),
    /// A number is out of its range.
    #[error("subflow {subflow}: `{field}` must be {range}")]
    Range {
        /// Index of the subflow, from 0.
        subflow: usize,
        /// The field.
        field: &'static str,
        /// The allowed values.
        range: &'static str,
    },
    /// The controller owns its window.
    #[error("`{0}` has no per-ACK increase: it sets its window from measurements over time")]
    OwnsWindow(&'static str),
    /// A parameter could not be set.
    #[error(transparent)]
    Param(#[from] ParamError),
}

/// Largest energy cost and path price in the fixed-point format.
const LARGEST: f64 = 65_535.0;

impl SubflowState {
    fn check(&self, subflow: usize) -> Result<(), ExplainError> {
        let checks = [
            (
                "cwnd",
                (1..=crate::CWND_MAX).contains(&self.cwnd),
                "1 to 1048576 packets",
            ),
            (
                "srtt_us",
                (1..=10_000_000).contains(&self.srtt_us),
                "1 to 10000000 (10 s)",
            ),
            (
                "target_share",
                (0.0..=1.0).contains(&self.target_share),
                "0 to 1",
            ),
            ("loss", (0.0..=1.0).contains(&self.loss), "0 to 1"),
            (
                "energy_cost",
                (0.0..=LARGEST).contains(&self.energy_cost),
                "0 to 65535",
            ),
            (
                "path_price",
                (0.0..=LARGEST).contains(&self.path_price),
                "0 to 65535",
            ),
        ];
        match checks.into_iter().find(|(_, valid, _)| !valid) {
            Some((field, _, range)) => Err(ExplainError::Range {
                subflow,
                field,
                range,
            }),
            None => Ok(()),
        }
    }
}

impl State {
    /// The connection in this state: in congestion avoidance, with the control plane's values.
    ///
    /// # Errors
    /// [`ExplainError::Subflows`] if the number of subflows is out of range,
    /// [`ExplainError::Range`] if a value is.
    pub fn connection(&self, controller: Controller) -> Result<Connection, ExplainError> {
        if !(1..=MAX_SUBFLOWS).contains(&self.subflows.len()) {
            return Err(ExplainError::Subflows(self.subflows.len()));
        }
        let mut connection = Connection::new(self.subflows.len());
        for (i, state) in self.subflows.iter().enumerate() {
            state.check(i)?;
            connection.subflows[i] = Subflow {
                cwnd: state.cwnd,
                ssthresh: SSTHRESH_NONE.min(state.cwnd),
                srtt_us: state.srtt_us,
                flags: Subflow::ESTABLISHED,
                ..Subflow::default()
            };
            controller.init(&mut connection, i);
            let own = &mut connection.subflows[i].own;
            own.last_rtt_us = state.last_rtt_us.unwrap_or(state.srtt_us);
            own.base_rtt_us = state.base_rtt_us.unwrap_or(state.srtt_us);
            own.acked_since_loss = state.acked_since_loss;
            own.acked_between_losses = state.acked_between_losses;
            own.set_target_share(state.target_share);
            own.set_loss(state.loss);
            own.set_energy_cost(state.energy_cost);
            own.set_path_price(state.path_price);
        }
        Ok(connection)
    }
}

/// Explains `controller` in `state`, with its parameters set to `params` (name, value).
///
/// # Errors
/// As [`State::connection`]; [`ExplainError::Param`] if a parameter cannot be set;
/// [`ExplainError::OwnsWindow`] if the controller has no increase.
pub fn explain(
    controller: Controller,
    state: &State,
    params: &[(&str, &str)],
) -> Result<Explanation, ExplainError> {
    let mut connection = state.connection(controller)?;
    for (name, value) in params {
        controller.set_param(&mut connection, name, value)?;
    }
    let formula = formula::evaluate(controller, &connection);
    let formula = formula.ok_or(ExplainError::OwnsWindow(controller.name()))?;
    let subflows = 0..state.subflows.len();
    Ok(Explanation {
        increase: subflows
            .clone()
            .map(|i| match controller.has(Capability::ActsByRound) {
                true => change_in_a_round(controller, connection, i),
                false => controller.increase(&connection, i),
            })
            .collect(),
        window_after_loss: subflows
            .map(|i| f64::from(controller.ssthresh(&connection, i)))
            .collect(),
        formula,
    })
}

/// Plays one RTT round of three samples at the latest RTT: enough for a controller that acts by the
/// round.
fn change_in_a_round(controller: Controller, mut connection: Connection, i: usize) -> f64 {
    let before = connection.subflows[i].cwnd;
    let rtt_us = connection.subflows[i].own.last_rtt_us;
    for flags in [AckFlags::NONE, AckFlags::NONE, AckFlags::ROUND_END] {
        controller.on_ack(
            &mut connection,
            i,
            Ack {
                acked: 1,
                rtt_us,
                flags: AckFlags::CWND_LIMITED | flags,
            },
        );
    }
    f64::from(connection.subflows[i].cwnd) - f64::from(before)
}
