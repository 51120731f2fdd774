//! Checks properties of the shipped controllers on random states. `crates/controllers/tests` tests
//! the shipped ones in more detail.

use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use joulepath_controllers::{
    AckFlags, Area, CWND_MAX, Capability, Connection, Controller, Event, LossKind, MAX_SUBFLOWS,
    Own, Subflow,
};
use joulepath_model::random::{Domain, Stream};

use super::build::{Build, Library, controller};
use super::examples;
use super::sandbox::{Call, Sandbox};
use crate::error::Result;

/// Number of random states for each property.
const STATES: u64 = 4_000;
/// Number of events in a sequence, then of sequences.
const EVENTS: usize = 100;
const SEQUENCES: u64 = 200;
/// Time limit of a call.
const PATIENCE: Duration = Duration::from_secs(10);
/// Units of an increase in a packet.
const PACKET: f64 = (1u64 << 32) as f64;
/// Maximum change of a window per packet in congestion avoidance, packets. Slow start has 1.
const MOST_INCREASE: f64 = 2.0;

/// Result of a check.
#[derive(Clone, Debug)]
pub struct Checked {
    /// Name of the controller.
    pub name: String,
    /// One finding for each property, in the order of the contract.
    pub findings: Vec<Finding>,
    /// Warnings of the compiler, each with its line.
    pub warnings: Vec<String>,
}

/// A property and its first violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The property as a sentence.
    pub property: &'static str,
    /// The first state that violates it, with the place in the header if known.
    pub trouble: Option<String>,
}

impl Checked {
    /// Whether every property holds.
    pub fn passes(&self) -> bool {
        self.findings
            .iter()
            .all(|finding| finding.trouble.is_none())
    }
}

/// Compiles the header `file` with checks and checks every property.
///
/// # Errors
/// If it cannot be read or compiled, or is not a controller.
pub fn check(file: &Path) -> Result<Checked> {
    Ok(Check::of(file)?.run())
}

/// A compiled controller whose code has not run yet.
pub struct Check {
    library: Library,
    controller: Controller,
}

impl Check {
    /// Compiles the header `file` with checks.
    ///
    /// # Errors
    /// If it cannot be read or compiled, or is not a controller.
    pub fn of(file: &Path) -> Result<Self> {
        let library = Library::build(file, Build::Checked)?;
        let controller = controller(file, &library)?;
        Ok(Check {
            library,
            controller,
        })
    }

    /// Checks every property. The header's hooks run with the rights of this process.
    pub fn run(self) -> Checked {
        run(self.library, self.controller)
    }
}

fn run(library: Library, controller: Controller) -> Checked {
    let subject = Subject {
        sandbox: Sandbox::of(&library),
        controller,
    };
    let examples = examples::of(&library.text);
    let properties: [(&'static str, Property); 7] = [
        (
            "every state gives a defined result",
            Box::new(Subject::is_total),
        ),
        (
            "it writes only to its own subflow",
            Box::new(Subject::keeps_to_itself),
        ),
        (
            "`increase` and `ssthresh` change nothing",
            Box::new(Subject::asks_without_touching),
        ),
        (
            "the same calls give the same results",
            Box::new(Subject::remembers_nothing_elsewhere),
        ),
        (
            "windows stay within their floor and 2^20 packets",
            Box::new(Subject::is_bounded),
        ),
        (
            "its capabilities say what it reads",
            Box::new(Subject::declares_what_it_reads),
        ),
        (
            "the examples in the header hold",
            Box::new(move |subject| {
                examples::hold(&subject.sandbox, subject.controller, &examples)
            }),
        ),
    ];
    let names: Vec<&'static str> = properties.iter().map(|(name, _)| *name).collect();
    let findings = in_time(subject, properties, &names);
    Checked {
        name: library.name,
        findings,
        warnings: library.warnings,
    }
}

type Property = Box<dyn Fn(&Subject) -> Option<String> + Send>;

/// Checks the properties in another thread, to detect calls that never end. Such a thread cannot be
/// stopped and is abandoned.
fn in_time(
    subject: Subject,
    properties: [(&'static str, Property); 7],
    names: &[&'static str],
) -> Vec<Finding> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for (property, holds) in properties {
            // The receiver is gone after the time limit.
            let _ = sender.send(Finding {
                property,
                trouble: holds(&subject),
            });
        }
    });
    let mut findings = vec![];
    while findings.len() < names.len() {
        match receiver.recv_timeout(PATIENCE) {
            Ok(finding) => findings.push(finding),
            Err(why) => {
                let trouble = match why {
                    RecvTimeoutError::Timeout => "a call does not end: is a loop without a bound?",
                    RecvTimeoutError::Disconnected => "the check itself failed: please report it",
                };
                let property = names[findings.len()];
                findings.push(Finding {
                    property,
                    trouble: Some(trouble.to_owned()),
                });
                break;
            }
        }
    }
    findings
}

/// Sets a value of the control plane.
type Setter = fn(&mut Own, f64);

struct Subject {
    sandbox: Sandbox,
    controller: Controller,
}

/// A connection and the areas of its subflows.
#[derive(Clone, Copy, PartialEq)]
struct State {
    connection: Connection,
    area: Area,
}

impl Subject {
    fn owns(&self) -> bool {
        self.controller.has(Capability::OwnsWindow)
    }

    /// Makes a call. The error names undefined behaviour.
    fn call(&self, state: &mut State, i: usize, call: Call) -> Result<i64, String> {
        let done = self
            .sandbox
            .call(&mut state.connection, &mut state.area, i, call);
        done.map_err(|fault| format!("{}: {}, in `{}`", fault.place, fault.what, call.name()))
    }

    /// Makes all calls for this kind of controller on random states until one fails.
    fn on_states(
        &self,
        domain: u64,
        trouble: impl Fn(&State, usize, Call) -> Option<String>,
    ) -> Option<String> {
        (0..STATES).find_map(|number| {
            let mut draw = Draw::new(domain, number);
            let state = draw.state();
            let i = draw.below(u64::from(state.connection.n)) as usize;
            self.calls(&mut draw)
                .into_iter()
                .find_map(|call| trouble(&state, i, call))
        })
    }

    fn calls(&self, draw: &mut Draw) -> Vec<Call> {
        let mut calls = vec![Call::Init, draw.ack(), draw.ack()];
        if self.owns() {
            calls.extend([Call::Control(draw.event()), Call::Control(draw.event())]);
            return calls;
        }
        let kinds = [LossKind::FastRetransmit, LossKind::Timeout, LossKind::Ecn];
        calls.extend(
            kinds
                .into_iter()
                .flat_map(|kind| [Call::Ssthresh(kind), Call::Loss(kind)]),
        );
        calls.extend([Call::Increase, Call::Restart]);
        calls
    }

    fn is_total(&self) -> Option<String> {
        self.on_states(1, |state, i, call| {
            self.call(&mut state.clone(), i, call).err()
        })
    }

    fn keeps_to_itself(&self) -> Option<String> {
        self.on_states(2, |before, i, call| {
            let mut after = *before;
            self.call(&mut after, i, call).ok()?;
            let (a, b) = (&before.connection, &after.connection);
            let sibling = (0..MAX_SUBFLOWS).find(|&k| k != i && a.subflows[k] != b.subflows[k]);
            let whole = (a.n, a.now_us, a.parameters()) != (b.n, b.now_us, b.parameters());
            let what = sibling
                .map(|k| format!("subflow {k}"))
                .or(whole.then(|| "the connection".to_owned()))?;
            Some(format!("`{}` of subflow {i} writes to {what}", call.name()))
        })
    }

    fn asks_without_touching(&self) -> Option<String> {
        self.on_states(3, |before, i, call| {
            let mut after = *before;
            let asks = matches!(call, Call::Increase | Call::Ssthresh(_));
            (asks && self.call(&mut after, i, call).is_ok() && after != *before)
                .then(|| format!("`{}` changes the state", call.name()))
        })
    }

    fn remembers_nothing_elsewhere(&self) -> Option<String> {
        self.on_states(4, |before, i, call| {
            let mut once = *before;
            let first = self.call(&mut once, i, call).ok()?;
            // Another state in between, which a static variable would remember.
            self.call(&mut Draw::new(5, i as u64).state(), 0, call)
                .ok()?;
            let mut again = *before;
            let second = self.call(&mut again, i, call).ok()?;
            (first != second || once != again)
                .then(|| format!("`{}` gives another result the second time", call.name()))
        })
    }

    fn is_bounded(&self) -> Option<String> {
        (0..SEQUENCES).find_map(|number| self.breaks_bounds(&mut Draw::new(6, number)))
    }

    /// Simulates a connection: ACKs, losses and restarts in random order.
    fn breaks_bounds(&self, draw: &mut Draw) -> Option<String> {
        let mut state = draw.start();
        let n = state.connection.n as usize;
        let mut areas = [Area::default(); MAX_SUBFLOWS];
        for _ in 0..EVENTS {
            let i = draw.below(n as u64) as usize;
            let before = state.connection.subflows[i];
            state.area = areas[i];
            state.connection.now_us += draw.below(2_000_000);
            let is_ack = draw.below(4) > 0;
            if self.owns() {
                let mut event = draw.event();
                event.in_flight = before.cwnd.min(CWND_MAX);
                self.call(&mut state, i, Call::Control(event)).ok()?;
            } else if is_ack {
                self.call(&mut state, i, draw.ack()).ok()?;
            } else {
                let kind = draw.kind();
                let ssthresh = self.call(&mut state, i, Call::Ssthresh(kind)).ok()? as u32;
                self.call(&mut state, i, Call::Loss(kind)).ok()?;
                if !(1..=CWND_MAX).contains(&ssthresh) {
                    return Some(format!(
                        "after a loss at a window of {}, ssthresh is {ssthresh}",
                        before.cwnd
                    ));
                }
                let subflow = &mut state.connection.subflows[i];
                subflow.ssthresh = ssthresh;
                subflow.cwnd = if kind == LossKind::Timeout {
                    1
                } else {
                    ssthresh
                };
            }
            areas[i] = state.area;
            let subflow = state.connection.subflows[i];
            let floor = self.controller.min_cwnd().min(before.cwnd).max(1);
            if is_ack && !(floor..=CWND_MAX.max(before.cwnd)).contains(&subflow.cwnd) {
                return Some(format!(
                    "an ACK changes a window of {} to {}",
                    before.cwnd, subflow.cwnd
                ));
            }
            let increase = match self.owns() {
                true => 0,
                false => self.call(&mut state, i, Call::Increase).ok()?,
            };
            if increase as f64 / PACKET > MOST_INCREASE
                || (increase as f64) / PACKET < -MOST_INCREASE
            {
                let packets = increase as f64 / PACKET;
                return Some(format!(
                    "`increase` is {packets:.3} packets at a window of {}",
                    subflow.cwnd
                ));
            }
        }
        None
    }

    /// Changes values of the control plane or of a sibling. Without the flag, results must not
    /// change.
    fn declares_what_it_reads(&self) -> Option<String> {
        let told: [(Capability, &str, Setter); 3] = [
            (
                Capability::ReadsEnergyCost,
                "MPCC_READS_ENERGY_COST",
                |own, to| own.set_energy_cost(1.0 + to),
            ),
            (
                Capability::ReadsPathPrice,
                "MPCC_READS_PATH_PRICE",
                |own, to| own.set_path_price(to),
            ),
            (
                Capability::ReadsTargetShare,
                "MPCC_READS_TARGET_SHARE",
                |own, to| own.set_target_share(to),
            ),
        ];
        for (capability, flag, set) in told {
            let change = |state: &mut State, _: usize| {
                for (k, subflow) in state.connection.subflows.iter_mut().enumerate() {
                    set(&mut subflow.own, [0.9, 0.1, 0.5][k % 3]);
                }
            };
            if !self.controller.has(capability) && self.depends(&change) {
                return Some(format!("it reads data that {flag} must declare"));
            }
        }
        let sibling = |state: &mut State, i: usize| {
            for (k, subflow) in state.connection.subflows.iter_mut().enumerate() {
                if k != i {
                    subflow.cwnd = subflow.cwnd / 3 + 7;
                    subflow.srtt_us = subflow.srtt_us / 2 + 1000;
                    subflow.flags = 0;
                }
            }
        };
        let alone = self.controller.has(Capability::Uncoupled);
        (alone && self.depends(&sibling))
            .then(|| "it declares MPCC_UNCOUPLED and reads its siblings".to_owned())
    }

    /// Whether `change` affects a window, a threshold or an increase in any of many states.
    fn depends(&self, change: &dyn Fn(&mut State, usize)) -> bool {
        (0..STATES / 4).any(|number| {
            let mut draw = Draw::new(7, number);
            let mut one = draw.start();
            let i = draw.below(u64::from(one.connection.n)) as usize;
            let calls = self.calls(&mut draw);
            let mut other = one;
            change(&mut other, i);
            calls.into_iter().any(|call| {
                let results = [&mut one, &mut other].map(|state| {
                    let result = self.call(state, i, call);
                    let subflow = state.connection.subflows[i];
                    (result, subflow.cwnd, subflow.ssthresh)
                });
                results[0] != results[1]
            })
        })
    }
}

/// Numbered random states and calls.
struct Draw(Stream);

impl Draw {
    fn new(domain: u64, number: u64) -> Self {
        Draw(Stream::new(domain, Domain::Placement, number))
    }

    fn below(&mut self, n: u64) -> u64 {
        self.0.below(n)
    }

    /// Random size, all magnitudes equally likely.
    fn size(&mut self) -> u32 {
        let bits = self.below(33);
        (self.0.bits() & ((1u64 << bits) - 1)) as u32
    }

    fn window(&mut self) -> u32 {
        let bits = 1 + self.below(20);
        1 + self.below(1 << bits) as u32
    }

    fn rtt_us(&mut self) -> u32 {
        let bits = 1 + self.below(23);
        20 + self.below(1 << bits) as u32
    }

    fn kind(&mut self) -> LossKind {
        [LossKind::FastRetransmit, LossKind::Timeout, LossKind::Ecn][self.below(3) as usize]
    }

    /// A connection in a random state; every third one has random controller data.
    fn state(&mut self) -> State {
        let mut state = self.start();
        if self.below(3) == 0 {
            for subflow in &mut state.connection.subflows {
                *subflow = Subflow {
                    cwnd: self.size(),
                    ssthresh: self.size(),
                    srtt_us: self.size(),
                    flags: self.below(8) as u32,
                    own: self.anything(),
                };
            }
            state.connection.now_us = self.0.bits();
            state.area = Area::of(std::array::from_fn(|_| self.0.bits()));
        }
        state
    }

    /// Random controller data. The runner owns the first two words: a fraction of a packet, and a
    /// requested increase.
    fn anything(&mut self) -> Own {
        let mut words: [u64; 13] = std::array::from_fn(|_| self.0.bits());
        for step in &mut words[..2] {
            *step = i64::from(*step as i32).cast_unsigned();
        }
        Own::of_words(words)
    }

    /// A connection in congestion avoidance.
    fn start(&mut self) -> State {
        let n = 1 + self.below(MAX_SUBFLOWS as u64) as usize;
        let mut connection = Connection::new(n);
        connection.now_us = self.below(1 << 40);
        for subflow in &mut connection.subflows[..n] {
            let (cwnd, srtt_us) = (self.window(), self.rtt_us());
            *subflow = Subflow {
                cwnd,
                ssthresh: if self.below(2) == 0 {
                    cwnd
                } else {
                    self.window()
                },
                srtt_us,
                flags: Subflow::ESTABLISHED,
                own: Own::default(),
            };
            subflow.own.last_rtt_us = srtt_us;
            subflow.own.base_rtt_us = srtt_us / 2 + 1;
            subflow.own.acked_since_loss = self.size();
            subflow.own.acked_between_losses = self.size();
        }
        State {
            connection,
            area: Area::default(),
        }
    }

    fn flags(&mut self) -> AckFlags {
        AckFlags::NONE
            .with(AckFlags::ECE, self.below(4) == 0)
            .with(AckFlags::CWND_LIMITED, self.below(4) > 0)
            .with(AckFlags::ROUND_END, self.below(3) == 0)
    }

    fn ack(&mut self) -> Call {
        let acked = if self.below(2) == 0 { 1 } else { self.window() };
        Call::Ack {
            acked,
            rtt_us: self.rtt_us(),
            flags: self.flags(),
        }
    }

    fn event(&mut self) -> Event {
        let happened = [
            AckFlags::STARTS,
            AckFlags::EPISODE,
            AckFlags::TIMED_OUT,
            AckFlags::RESTARTS,
        ];
        let mut flags = self.flags().with(AckFlags::APP_LIMITED, self.below(4) == 0);
        if self.below(4) == 0 {
            flags = flags | happened[self.below(4) as usize];
        }
        Event {
            acked: self.window(),
            rtt_us: self.rtt_us(),
            flags,
            lost: self.below(4) as u32,
            marked: self.below(2) as u32,
            prior_in_flight: self.window(),
            in_flight: self.window(),
            mss: 1 + self.below(9000) as u32,
            total_delivered: self.size(),
            prior_delivered: self.size(),
            delivered: self.window(),
            interval_us: self.rtt_us(),
        }
    }
}
