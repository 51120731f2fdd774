//! The run: one slot after the other.

use std::collections::VecDeque;

use joulepath_control::schedule::MAX_SUBFLOWS;
use joulepath_model::cancel::Cancel;
use joulepath_model::random::{Domain, Stream};
use joulepath_model::units::Nanos;

use crate::params::{BadParams, Feasible, Params, Policy};
use crate::path::Path;
use crate::policy::{Allotment, Decider, PathView};
use crate::receiver::{Packet, Receiver};
use crate::result::{Ledger, PathSlot, Recorder, SlotState, SlottedResult, slots};
use crate::windows::WindowState;

/// Number of slots between two looks at the token. A thousand slots take about a millisecond.
const LOOK: u64 = 1000;

/// Why a run has no result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RunError {
    /// The parameters make a run impossible.
    #[error(transparent)]
    Params(#[from] BadParams),
    /// The token was set before the end.
    #[error("the run was cancelled")]
    Cancelled,
}

/// Poisson arrivals, drawn as gaps.
struct Arrivals {
    random: Stream,
    mean_gap_s: f64,
    next_s: f64,
    written: u64,
}

impl Arrivals {
    fn new(params: &Params, seed: u64) -> Self {
        let mut random = Stream::new(seed, Domain::Workload, 0);
        let mean_gap_s = 1.0 / params.load_pps();
        let next_s = random.exponential(mean_gap_s);
        Arrivals { random, mean_gap_s, next_s, written: 0 }
    }

    /// Puts the packets that are written before `end_s` into the backlog; returns how many they are.
    fn until(&mut self, end_s: f64, backlog: &mut VecDeque<Packet>) -> usize {
        let before = self.written;
        while self.next_s < end_s {
            backlog.push_back(Packet { number: self.written, written_s: self.next_s });
            self.written += 1;
            self.next_s += self.random.exponential(self.mean_gap_s);
        }
        (self.written - before) as usize
    }
}

struct Run<'a> {
    params: &'a Params,
    decider: Decider,
    /// Whether packets may wait at subflows.
    waits_at_subflows: bool,
    windows: WindowState,
    paths: Vec<Path>,
    views: Vec<PathView>,
    arrivals: Arrivals,
    backlog: VecDeque<Packet>,
    /// Fractions of a packet that the allocator has given to each path and that have not been used yet.
    credit: [f64; MAX_SUBFLOWS],
    receiver: Receiver,
    recorder: Recorder,
}

/// Runs the system under one policy, until its end or until `cancel` is set.
///
/// # Errors
/// [`RunError::Params`] if the parameters make a run impossible, [`RunError::Cancelled`] if `cancel` was set
/// before the end.
pub fn run(params: &Params, policy: Policy, seed: u64, cancel: &Cancel) -> Result<SlottedResult, RunError> {
    params.check()?;
    let paths: Vec<Path> =
        params.paths.iter().enumerate().map(|(i, path)| Path::new(params, path, i, seed)).collect();
    let mut run = Run {
        params,
        decider: Decider::new(params, policy)?,
        waits_at_subflows: matches!(policy, Policy::SoMptcp { feasible: Feasible::Link, .. }),
        windows: WindowState::new(params),
        views: vec![PathView::default(); paths.len()],
        paths,
        arrivals: Arrivals::new(params, seed),
        backlog: VecDeque::new(),
        credit: [0.0; MAX_SUBFLOWS],
        receiver: Receiver::default(),
        recorder: Recorder::new(params),
    };
    for slot in 0..slots(params) {
        if slot % LOOK == 0 && cancel.is_set() {
            return Err(RunError::Cancelled);
        }
        run.slot(slot);
    }
    let ledger = run.ledger();
    let (means, series) = run.recorder.finish();
    Ok(SlottedResult {
        policy: policy.name().to_owned(),
        v: if let Policy::SoMptcp { v, .. } = policy { Some(v) } else { None },
        load_mbps: params.load.bps() as f64 / 1e6,
        seed,
        paths: params.paths.iter().map(|path| path.name.clone()).collect(),
        means,
        series,
        ledger,
    })
}

impl Run<'_> {
    fn slot(&mut self, slot: u64) {
        let now = self.params.slot * slot;
        let slot_s = self.params.slot.as_secs_f64();
        self.acknowledge(slot, now);
        let waited = self.backlog.len();
        let end_s = (slot + 1) as f64 * slot_s;
        let arrivals = self.arrivals.until(end_s, &mut self.backlog);
        self.look();
        let allotment = self.decider.decide(now, &self.views, waited, arrivals);
        let given = self.give(&allotment);
        let mut energy_j = 0.0;
        let mut states = [PathSlot::default(); MAX_SUBFLOWS];
        for i in 0..self.paths.len() {
            let capacity = self.views[i].capacity;
            let is_filled = matches!(&allotment, Allotment::Slots(x) if x[i] > 0.0 && x[i] >= capacity);
            let transmitted = self.send(i, slot, is_filled);
            let path = &self.params.paths[i];
            energy_j += slot_energy_j(
                path.transfer.0,
                path.idle.0,
                f64::from(transmitted) * self.params.packet_bits(),
                slot_s,
            );
            states[i] = PathSlot {
                given: given[i],
                capacity,
                virtual_queue: self.decider.virtual_queue(i),
                window: self.views[i].window,
                waiting: self.paths[i].waiting.len() as f64,
            };
        }
        let paths = &states[..self.paths.len()];
        self.recorder.slot(SlotState { end_s, energy_j, backlog: self.backlog.len(), arrivals, paths });
    }

    fn acknowledge(&mut self, slot: u64, now: Nanos) {
        for (i, path) in self.paths.iter_mut().enumerate() {
            self.windows.set_open(i, self.decider.is_open(i));
            while let Some(batch) = path.acknowledged(slot) {
                self.windows.acknowledge(i, batch, slot, now.as_micros());
            }
        }
    }

    fn look(&mut self) {
        for (i, (view, path)) in self.views.iter_mut().zip(&mut self.paths).enumerate() {
            let window = self.windows.window(i);
            path.open_slot(window);
            view.window = window;
            view.rtt_s = path.rtt_s();
            view.capacity = path.capacity(window);
            view.link_packets = path.link_packets;
            view.loss_events = self.windows.loss_events(i);
        }
    }

    /// Moves packets from the backlog to the subflows: the oldest go to the path with the lowest RTT.
    fn give(&mut self, allotment: &Allotment) -> [f64; MAX_SUBFLOWS] {
        let n = self.paths.len();
        let mut order: [usize; MAX_SUBFLOWS] = std::array::from_fn(|i| i);
        let views = &self.views;
        order[..n].sort_by(|&i, &j| views[i].rtt_s.total_cmp(&views[j].rtt_s));
        let mut given = [0.0; MAX_SUBFLOWS];
        for &i in &order[..n] {
            let path = &mut self.paths[i];
            let wanted = match allotment {
                Allotment::Windows(in_use) if in_use[i] => path.room(),
                Allotment::Windows(_) => 0,
                Allotment::Slots(x) => {
                    let credit = self.credit[i] + x[i];
                    self.credit[i] = credit.fract();
                    let whole = credit as usize;
                    if self.waits_at_subflows { whole } else { whole.min(path.room()) }
                }
            };
            let taken = wanted.min(self.backlog.len());
            path.waiting.extend(self.backlog.drain(..taken));
            given[i] = taken as f64;
        }
        given
    }

    /// Sends on path `i` in `slot`; returns the number of transmissions.
    fn send(&mut self, i: usize, slot: u64, is_filled: bool) -> u32 {
        let Run { paths, receiver, recorder, views, params, .. } = self;
        let sent = paths[i].send(slot, is_filled, |packet, at_s| {
            receiver.arrive(packet, at_s, |delivered| recorder.delivered(delivered));
        });
        views[i].delivered_bytes += u64::from(sent.arriving) * params.mtu.0;
        sent.packets
    }

    fn ledger(&self) -> Ledger {
        Ledger {
            written: self.arrivals.written,
            backlog: self.backlog.len() as u64,
            at_subflows: self.paths.iter().map(Path::held).sum(),
            out_of_order: self.receiver.out_of_order(),
            in_order: self.receiver.in_order(),
        }
    }
}

/// E_i of a slot, J: y c^d x + (1 − y) c^e Δt (003, eq. 3), where x is what was transmitted, bits.
fn slot_energy_j(transfer_j_per_bit: f64, idle_w: f64, bits: f64, slot_s: f64) -> f64 {
    if bits > 0.0 { transfer_j_per_bit * bits } else { idle_w * slot_s }
}
