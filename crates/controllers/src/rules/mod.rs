//! Controllers as a few lines of text:
//!
//! ```text
//! on_ack:  cwnd += 1 / cwnd      # for each acknowledged packet in congestion avoidance
//! on_loss: cwnd /= 2
//! ```
//! A text compiles to a program whose every step has a finite result, and which ends after a
//! bounded number of steps. The bookkeeping around it (slow start, rounds, recovery) is that of the
//! headers of `cc/`.

mod parse;
mod program;

use std::sync::Arc;

pub use self::parse::RuleError;
use self::parse::{Parsed, parse};
use self::program::{Scene, Step, Value, run};
use crate::CWND_MAX;
use crate::adopted::AdoptError;
use crate::capability::Capability;
use crate::event::Event;
use crate::hosted::{Hook, Hooks, Host};
use crate::registry::Controller;
use crate::state::{Connection, LossKind, PACKET};

/// Maximum change of a window for one acknowledged packet, packets, as for every controller (`cc
/// check`).
const MAX_CHANGE: f64 = 2.0;
/// Floor of a window, packets: RFC 5681, equation (4).
const MIN_WINDOW: u32 = 2;

/// Rules to start from: name, text.
pub const PRESETS: [(&str, &str); 3] = [
    (
        "Reno",
        "# Reno on each path: one packet per round trip.\non_ack: cwnd += 1 / cwnd\non_loss: cwnd /= 2\n",
    ),
    (
        "LIA",
        "# LIA (RFC 6356): together as fast as one TCP on the best path.\n\
         let linked = max(cwnd / srtt^2) / sum(cwnd / srtt)^2\n\
         on_ack: cwnd += min(linked, 1 / cwnd)\n\
         on_loss: cwnd /= 2\n",
    ),
    (
        "Power-aware",
        "# LIA, but a path grows the slower, the more energy its bits need.\n\
         let linked = max(cwnd / srtt^2) / sum(cwnd / srtt)^2\n\
         let thrift = min(energy) / energy\n\
         on_ack: cwnd += min(linked, 1 / cwnd) * thrift^2\n\
         on_loss: cwnd /= 2\n",
    ),
];

/// Compiled rules.
#[derive(Clone, Debug, PartialEq)]
pub struct Rules(Parsed);

impl Rules {
    /// Compiles a text.
    ///
    /// # Errors
    /// The first mistake, with its place and the fix.
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        parse(text).map(Self)
    }

    /// Registers the rules as the controller `name`: see [`Controller::host`].
    ///
    /// # Errors
    /// If a controller of this crate has the name.
    pub fn host(self, name: &str) -> Result<Controller, AdoptError> {
        let capabilities = self.capabilities();
        let parsed = Arc::new(self.0);
        Controller::host(Host {
            name: name.to_owned(),
            title: name.to_owned(),
            summary: "rules of your own".to_owned(),
            min_cwnd: MIN_WINDOW,
            cache_acks: 0,
            capabilities,
            hooks: vec![Hook::Increase, Hook::Ssthresh],
            open: Box::new(move |_| {
                Box::new(Ruling {
                    parsed: Arc::clone(&parsed),
                    stack: vec![],
                    named: vec![],
                })
            }),
        })
    }

    fn capabilities(&self) -> Vec<Capability> {
        let Parsed {
            named,
            ack,
            loss,
            timeout,
        } = &self.0;
        let steps = || named.iter().flatten().chain(ack).chain(loss).chain(timeout);
        let reads = |value: Value| {
            steps().any(|&step| step == Step::Own(value) || step == Step::Each(value))
        };
        let is_coupled = steps().any(|step| matches!(step, Step::Fold(..) | Step::Count));
        let all = [
            (Capability::ReadsEnergyCost, reads(Value::Energy)),
            (Capability::ReadsPathPrice, reads(Value::Price)),
            (
                Capability::ReadsDelay,
                reads(Value::MinRtt) || reads(Value::Rtt),
            ),
            (Capability::Uncoupled, !is_coupled),
        ];
        all.into_iter()
            .filter(|(_, holds)| *holds)
            .map(|(capability, _)| capability)
            .collect()
    }
}

/// The rules of one connection, with memory for their numbers.
struct Ruling {
    parsed: Arc<Parsed>,
    stack: Vec<f64>,
    named: Vec<f64>,
}

impl Ruling {
    fn value(&mut self, connection: &Connection, own: usize, of: fn(&Parsed) -> &[Step]) -> f64 {
        let scene = Scene { connection, own };
        self.named.clear();
        for steps in &self.parsed.named {
            let value = run(steps, &scene, &self.named, &mut self.stack);
            self.named.push(value);
        }
        run(of(&self.parsed), &scene, &self.named, &mut self.stack)
    }
}

impl Hooks for Ruling {
    fn start(&mut self, _: &mut Connection, _: usize) {}

    /// Rounded up to the resolution of windows, so that w changes of 1/w add up to a packet.
    fn increase(&mut self, connection: &Connection, i: usize) -> f64 {
        let change = self
            .value(connection, i, |parsed| &parsed.ack)
            .clamp(-MAX_CHANGE, MAX_CHANGE);
        (change * PACKET).ceil() / PACKET
    }

    fn ssthresh(&mut self, connection: &Connection, i: usize, kind: LossKind) -> u32 {
        let timed_out = kind == LossKind::Timeout && !self.parsed.timeout.is_empty();
        let window = match (timed_out, self.parsed.loss.is_empty()) {
            (true, _) => self.value(connection, i, |parsed| &parsed.timeout),
            (false, false) => self.value(connection, i, |parsed| &parsed.loss),
            (false, true) => self.value(connection, i, |_| &HALF),
        };
        window.clamp(f64::from(MIN_WINDOW), f64::from(CWND_MAX)) as u32
    }

    fn ack(&mut self, _: &mut Connection, _: usize, _: &Event) {}

    fn round(&mut self, _: &mut Connection, _: usize, _: &Event) {}

    fn loss(&mut self, _: &mut Connection, _: usize, _: LossKind) {}

    fn restart(&mut self, _: &mut Connection, _: usize) {}

    fn control(&mut self, _: &mut Connection, _: usize, _: &Event) {}
}

/// The rule for losses of a text without one: `cwnd /= 2`.
static HALF: [Step; 3] = [
    Step::Own(Value::Cwnd),
    Step::Number(2.0),
    Step::Two(program::Two::Divide),
];
