//! Which blocks to run, in which order, for how long.

use joulepath_model::energy::Traffic;
use joulepath_model::random::{Domain, Stream};
use joulepath_model::units::{BitRate, Nanos};

use super::rig::{Action, Flow};
use super::tail::Bracket;
use super::timeline::{FULL_PACKET, INACTIVITY, SHORTEST_TAIL};
use crate::error::{Error, Kind, Result};

/// Size of the packets that show the energy per packet, bytes on the wire.
const SMALL_PACKET: u32 = 200;
/// Rates, as fractions of the highest.
const SHARES: [f64; 3] = [0.1, 0.4, 1.0];
/// Rate of small packets, as a fraction of the highest.
const SMALL_SHARE: f64 = 0.15;
/// Fewest and most repetitions of a block.
const REPEATS: std::ops::RangeInclusive<u32> = 5..=30;
/// Repetitions without a time limit.
const USUAL_REPEATS: u32 = 6;
/// Shortest half of an idle block; it must also cover ten updates of the meter.
const SHORTEST_HALF: Nanos = Nanos::from_secs(4);
/// Blocks outside the fit.
const HOLD_OUTS: u32 = 4;

/// Settings of the user.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Highest receive rate.
    pub down: BitRate,
    /// Highest send rate.
    pub up: BitRate,
    /// Time limit; `None`: the time of six repetitions.
    pub limit: Option<Nanos>,
    /// Seed for the order of the blocks and the bootstrap.
    pub seed: u64,
}

/// The purpose of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The regression.
    Fit,
    /// The regression, with at most the first half of the tail.
    Early,
    /// The idle power in the regression: the radio is off.
    Off,
    /// κ: interface 0, interface 1, or both (2).
    Share(usize),
    /// The test of the model.
    HoldOut,
}

/// A block between two idle ones.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Block {
    pub(super) purpose: Purpose,
    pub(super) action: Action,
    /// Unused start, until radio and meter show the new state.
    pub(super) lead: Nanos,
    /// Unused start of the following idle block: the tail and the meter's delay.
    pub(super) settle: Nanos,
}

/// All blocks in order, with an idle block before, between and after them.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) blocks: Vec<Block>,
    /// [`Block::settle`] of the first idle block.
    pub(super) settle: Nanos,
    /// Half of an idle block; each half belongs to the adjacent block.
    pub(super) half: Nanos,
}

///
/// # Errors
/// If the time limit is too short for the fewest repetitions.
pub(super) fn plan(
    settings: &Settings,
    bracket: &Bracket,
    period: Nanos,
    second_tail: Option<Nanos>,
    can_switch_off: bool,
) -> Result<Plan> {
    let make = |repeats| {
        with_repeats(
            settings,
            bracket,
            period,
            second_tail,
            can_switch_off,
            repeats,
        )
    };
    let Some(limit) = settings.limit else {
        return Ok(make(USUAL_REPEATS));
    };
    let fitting = REPEATS.rev().map(make).find(|plan| plan.lasts() <= limit);
    fitting.ok_or_else(|| {
        let least = make(*REPEATS.start()).lasts().as_secs_f64() / 60.0;
        let minutes = limit.as_secs_f64() / 60.0;
        let message = format!(
            "{minutes:.0} min are too short: a tail of {} needs more",
            bracket.middle()
        );
        Error::new(Kind::Usage, message)
            .help(format!("write --minutes {:.0} or more", least.ceil() + 1.0))
    })
}

impl Plan {
    /// Total duration.
    pub(super) fn lasts(&self) -> Nanos {
        let begin = self.settle + self.half + self.half;
        self.blocks
            .iter()
            .fold(begin, |sum, block| sum + self.lasts_with_idle(block))
    }

    /// Duration of a block and the idle block after it.
    pub(super) fn lasts_with_idle(&self, block: &Block) -> Nanos {
        block.action.lasts() + block.settle + self.half + self.half
    }
}

fn with_repeats(
    settings: &Settings,
    bracket: &Bracket,
    period: Nanos,
    second_tail: Option<Nanos>,
    can_switch_off: bool,
    repeats: u32,
) -> Plan {
    let half = SHORTEST_HALF.max(Nanos(10 * period.0));
    let tail = bracket.asleep;
    let margin = Nanos(2 * period.0) + Nanos::from_millis(500);
    let settle = tail + margin;
    let lead = Nanos::from_secs_f64(bracket.promotion_s) + margin;
    let steady = lead + half + half;
    let flow = |direction, share: f64, packet| {
        let highest = if direction == Traffic::Down {
            settings.down
        } else {
            settings.up
        };
        Flow {
            direction,
            rate: BitRate::from_bps((highest.bps() as f64 * share) as u64),
            packet,
        }
    };
    let on = |interface, flow| Action::Steady {
        interface,
        flow,
        lasts: steady,
    };
    let mut blocks = Vec::new();
    let mut add = |times: u32, purpose, action: Action, lead| {
        let tail = match (purpose, second_tail) {
            (Purpose::Share(1 | 2), Some(second)) => tail.max(second),
            _ => tail,
        };
        let block = Block {
            purpose,
            action,
            lead,
            settle: tail + margin,
        };
        blocks.extend(std::iter::repeat_n(block, times as usize));
    };
    for direction in [Traffic::Down, Traffic::Up] {
        for share in SHARES {
            add(
                repeats,
                Purpose::Fit,
                on(0, flow(direction, share, FULL_PACKET)),
                lead,
            );
        }
        add(
            repeats,
            Purpose::Fit,
            on(0, flow(direction, SMALL_SHARE, SMALL_PACKET)),
            lead,
        );
    }
    // Coefficients that depend on one kind of block get more of it.
    let more = repeats + repeats / 2;
    add(
        more,
        Purpose::Fit,
        Action::Work {
            cores: 1.0,
            lasts: steady,
        },
        lead,
    );
    if tail >= SHORTEST_TAIL {
        // The lead of a train is one cycle, so that the state before the block does not matter.
        let mut inside = |purpose, gap: Nanos| add(repeats, purpose, train(gap, half), gap + lead);
        let part = |share: f64| Nanos::from_secs_f64(share * bracket.awake.as_secs_f64());
        inside(Purpose::Fit, part(0.95));
        // A shorter quiet time would be part of a transfer.
        let early = part(0.5).max(INACTIVITY + Nanos::from_millis(20));
        if early < part(0.85) {
            inside(Purpose::Early, early);
        }
    }
    for (times, share) in [(more, 1.15), (repeats, 2.0)] {
        let gap = Nanos::from_secs_f64(share * tail.as_secs_f64());
        add(times, Purpose::Fit, train(gap, half), gap + lead);
    }
    if can_switch_off {
        add(more, Purpose::Off, Action::Off(steady), lead);
    }
    if second_tail.is_some() {
        let both = [flow(Traffic::Down, 0.4, FULL_PACKET); 2];
        add(more, Purpose::Share(0), on(0, both[0]), lead);
        add(more, Purpose::Share(1), on(1, both[1]), lead);
        add(
            more,
            Purpose::Share(2),
            Action::Together(both, steady),
            lead,
        );
    }
    shuffle(&mut blocks, settings.seed);
    blocks.extend((0..HOLD_OUTS).map(|block| {
        let action = mixed(block, tail, &flow);
        Block {
            purpose: Purpose::HoldOut,
            action,
            lead: Nanos::ZERO,
            settle,
        }
    }));
    Plan {
        blocks,
        settle: settle.max(second_tail.map_or(Nanos::ZERO, |tail| tail + margin)),
        half,
    }
}

/// Probes at even intervals: at least four, over at least two halves of an idle block.
fn train(gap: Nanos, half: Nanos) -> Action {
    let cycles = (2.0 * half.as_secs_f64() / gap.as_secs_f64())
        .ceil()
        .max(4.0) as usize;
    Action::Probes {
        interface: 0,
        gaps: vec![gap; cycles + 1],
    }
}

/// Bursts of various lengths and rates after quiet times shorter and longer than the tail.
fn mixed(block: u32, tail: Nanos, flow: &dyn Fn(Traffic, f64, u32) -> Flow) -> Action {
    let burst = |i: u32| {
        let direction = if i.is_multiple_of(2) {
            Traffic::Down
        } else {
            Traffic::Up
        };
        let share = [0.7, 0.2, 0.5, 0.9, 0.3][(i + block) as usize % 5];
        let lasts = Nanos::from_millis([800, 1500, 400, 2500, 1100][i as usize % 5]);
        let quiet = [0.4, 1.3, 0.8, 1.7, 0.2][(i + 2 * block) as usize % 5] * tail.as_secs_f64();
        (
            flow(direction, share, FULL_PACKET),
            lasts,
            Nanos::from_secs_f64(quiet),
        )
    };
    Action::Bursts((0..6).map(burst).collect())
}

/// Fisher–Yates.
fn shuffle(blocks: &mut [Block], seed: u64) {
    let mut stream = Stream::new(seed, Domain::Calibration, 0);
    for last in (1..blocks.len()).rev() {
        blocks.swap(last, stream.below(last as u64 + 1) as usize);
    }
}
