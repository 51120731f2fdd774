//! Radios of random families: ranges as wide as the conditions that policies may meet. Unless
//! stated otherwise, values are log-uniform. Any change makes different scenarios: raise
//! [`GENERATION`].

use joulepath_model::energy::{InterfaceModel, RadioKind, profile, radio_kind};

use super::access::{Access, Loss, rate_text};
use super::dice::{Dice, significant};
use super::ranges::{Queue, managed, marking};

/// Seed of all scenarios of random families. Generation 1 had one range of rates for all radios,
/// and `wifi-huang2012` as WiFi.
pub(in crate::benchmark) const GENERATION: u64 = 2;

/// Probability of an upload where nothing else sets the direction.
const UPLOAD: f64 = 0.2;
/// Probability of two paths, then of three; else there are four.
const TWO_PATHS: f64 = 0.7;
const THREE_PATHS: f64 = 0.2;
/// Probabilities of no loss, any loss, high loss and bursty loss, each with its range.
const NO_LOSS: f64 = 0.40;
const SOME_LOSS: f64 = 0.50;
const MUCH_LOSS: f64 = 0.02;
const LOSS: (f64, f64) = (1e-4, 0.05);
const MUCH: f64 = 0.10;
/// Length of a bad state, packets.
const BURST: (f64, f64) = (2.0, 20.0);
/// Capacity of a queue, bandwidth-delay products, then its minimum, packets.
const BUFFER_BDP: (f64, f64) = (0.05, 4.0);
pub(super) const SHALLOW_BDP: (f64, f64) = (0.02, 0.25);
const LEAST_QUEUE: u32 = 4;
/// Rate of a policer as a fraction of its link's, then its bucket, bytes.
const POLICED: (f64, f64) = (0.3, 0.9);
const BUCKET: (f64, f64) = (15e3, 250e3);
/// Jitter. Standard deviation of a steady RTT, ms; of an unsteady one, ms in each direction, at
/// most a quarter of the RTT; then its autocorrelation time, s.
const QUIET_MS: f64 = 0.1;
const JITTER_MS: (f64, f64) = (2.0, 20.0);
const JITTER_S: (f64, f64) = (0.05, 2.0);
/// Base power of half of the devices while an interface is active, mW; uniform. The whole phone of
/// Narayanan et al. (SIGCOMM 2021) has about 2 W with its screen; 4 W is a small router or a
/// laptop.
const BASE_MW: (f64, f64) = (0.0, 4000.0);
/// Probability of a linear energy model. Then the factor between its numbers and those of a
/// profile.
const LINEAR: f64 = 0.25;
const LINEAR_FACTOR: (f64, f64) = (0.5, 2.0);
/// Receive buffers, KiB: the first in a tenth of the draws, the others equally likely.
const BUFFERS_KIB: [u64; 4] = [64, 256, 1024, 6144];

/// Maximum rate of a link, bit/s: the time of a run is proportional to its packets.
pub(super) const MOST_BPS: f64 = 400e6;

/// A kind of radio, with the rates and profiles of [`radio_kind`].
struct Kind {
    /// Name of its path.
    name: &'static str,
    /// Probability of this kind as the first cellular radio.
    part: f64,
    /// Round-trip propagation delay to a server on the same continent, ms.
    rtt: (f64, f64),
}

const WIFI: Kind = Kind {
    name: "wifi",
    part: 0.0,
    rtt: (5.0, 80.0),
};
/// UMTS is the one radio with a profile of 2012.
const CELLULAR: [Kind; 4] = [
    Kind {
        name: "lte",
        part: 0.40,
        rtt: (30.0, 150.0),
    },
    Kind {
        name: "nr",
        part: 0.40,
        rtt: (15.0, 120.0),
    },
    Kind {
        name: "mmwave",
        part: 0.13,
        rtt: (10.0, 80.0),
    },
    Kind {
        name: "umts",
        part: 0.07,
        rtt: (60.0, 250.0),
    },
];

impl Kind {
    fn radio(&self) -> &'static RadioKind {
        radio_kind(self.name).expect("the model knows the kind")
    }

    /// Least and most, bit/s.
    fn rates(&self) -> [f64; 2] {
        self.radio()
            .rates
            .down_mbps
            .map(|mbps| (1e6 * mbps).min(MOST_BPS))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Queues {
    /// All kinds, up to four bandwidth-delay products.
    All,
    /// Short, managed or policed queues.
    Shallow,
}

/// WiFi and one to three cellular radios of different kinds.
pub(super) fn radios(dice: &mut Dice, queues: Queues) -> Vec<Access> {
    let count = match dice.between(0.0, 1.0) {
        x if x < TWO_PATHS => 1,
        x if x < TWO_PATHS + THREE_PATHS => 2,
        _ => 3,
    };
    let mut left: Vec<&Kind> = CELLULAR.iter().collect();
    let mut kinds = vec![&WIFI];
    for _ in 0..count {
        let place = by_part(&left, dice);
        kinds.push(left.remove(place));
    }
    let is_linear = dice.chance(LINEAR);
    kinds
        .into_iter()
        .map(|kind| access(kind, kind.rates(), is_linear, queues, dice))
        .collect()
}

/// The index of one of these kinds, drawn by their parts.
fn by_part(kinds: &[&Kind], dice: &mut Dice) -> usize {
    let mut left = dice.between(0.0, kinds.iter().map(|kind| kind.part).sum());
    let is_it = |kind: &&Kind| {
        left -= kind.part;
        left < 0.0
    };
    kinds.iter().position(is_it).unwrap_or(kinds.len() - 1)
}

/// WiFi with its profile of a radio state machine.
pub(super) fn wifi(dice: &mut Dice, queues: Queues) -> Access {
    access(&WIFI, WIFI.rates(), false, queues, dice)
}

/// A cellular radio with the ranges of the kind with this `profile`, whose energy model it has.
pub(super) fn cellular(
    name: &'static str,
    profile: &str,
    dice: &mut Dice,
    queues: Queues,
) -> Access {
    let has_it = |kind: &&Kind| kind.radio().profiles.contains(&profile);
    let kind = CELLULAR
        .iter()
        .find(has_it)
        .expect("a kind has the profile");
    Access {
        name,
        energy: format!("\"{profile}\""),
        ..access(kind, kind.rates(), false, queues, dice)
    }
}

/// A line behind an access point, with a rate between these, bit/s.
pub(super) fn line(rates: (f64, f64), dice: &mut Dice) -> Access {
    access(&WIFI, [rates.0, rates.1], false, Queues::All, dice)
}

fn access(
    kind: &Kind,
    rates: [f64; 2],
    is_linear: bool,
    queues: Queues,
    dice: &mut Dice,
) -> Access {
    let rate_bps = dice.log(rates[0], rates[1]);
    let rtt_ms = dice.log(kind.rtt.0, kind.rtt.1);
    let (queue, one_way) = queue(dice, queues, rate_bps);
    let bdp = if queues == Queues::Shallow {
        SHALLOW_BDP
    } else {
        BUFFER_BDP
    };
    Access {
        name: kind.name,
        rate_bps,
        varying: None,
        outages: String::new(),
        rtt_ms,
        loss: loss(dice),
        queue,
        buffer_bdp: dice.log(bdp.0, bdp.1),
        least_queue: LEAST_QUEUE,
        energy: energy(kind, is_linear, dice),
        more: jitter(dice, rtt_ms),
        one_way,
        up: String::new(),
        is_upload: false,
    }
}

fn loss(dice: &mut Dice) -> Option<Loss> {
    let [kind, probability, burst] = [
        dice.between(0.0, 1.0),
        dice.log(LOSS.0, LOSS.1),
        dice.log(BURST.0, BURST.1),
    ];
    match kind {
        x if x < NO_LOSS => None,
        x if x < NO_LOSS + SOME_LOSS => Some(Loss {
            probability,
            leave_bad: None,
        }),
        x if x < NO_LOSS + SOME_LOSS + MUCH_LOSS => Some(Loss {
            probability: MUCH,
            leave_bad: None,
        }),
        _ => Some(Loss {
            probability,
            leave_bad: Some(1.0 / burst),
        }),
    }
}

/// A kind of queue, and the TOML of the policer before it.
fn queue(dice: &mut Dice, queues: Queues, rate_bps: f64) -> (Queue, String) {
    let x = dice.between(0.0, 1.0);
    let droptail = Queue {
        name: "droptail",
        ecn: false,
        keys: |packets| format!("queue = \"{packets} packets\"\n"),
    };
    let linux = |name, keys| {
        (
            Queue {
                name,
                ecn: false,
                keys,
            },
            String::new(),
        )
    };
    // Cumulative probabilities of DropTail, CoDel, FQ-CoDel, PIE and policer; the rest marks.
    let [tail, codel, fair, pie, policed] = match queues {
        Queues::All => [0.60, 0.75, 0.85, 0.90, 0.95],
        Queues::Shallow => [0.60, 0.70, 0.75, 0.80, 0.95],
    };
    match x {
        x if x < tail => (droptail, String::new()),
        x if x < codel => linux("codel", |_| managed("codel")),
        x if x < fair => linux("fq-codel", |_| managed("fq-codel")),
        x if x < pie => linux("pie", |_| managed("pie")),
        x if x < policed => {
            let rate = rate_text(rate_bps * dice.between(POLICED.0, POLICED.1));
            let bucket = significant(dice.log(BUCKET.0, BUCKET.1) / 1e3);
            let policer = format!("policer = {{ rate = {rate}, burst = \"{bucket} kB\" }}\n");
            (
                Queue {
                    name: "policed",
                    ..droptail
                },
                policer,
            )
        }
        _ => (
            Queue {
                name: "marking",
                ecn: true,
                keys: marking,
            },
            String::new(),
        ),
    }
}

fn jitter(dice: &mut Dice, rtt_ms: f64) -> String {
    let (deviation, correlation) = (
        dice.log(JITTER_MS.0, JITTER_MS.1),
        dice.log(JITTER_S.0, JITTER_S.1),
    );
    match dice.chance(0.5) {
        true => format!("jitter = \"{QUIET_MS} ms\"\n"),
        false => format!(
            "jitter = {{ deviation = \"{} ms\", correlation = \"{correlation} s\" }}\n",
            significant(deviation.min(rtt_ms / 4.0))
        ),
    }
}

/// A profile of the kind, or a linear model with numbers near the profile's, whose sunk power
/// applies while a subflow is open, or always.
fn energy(kind: &Kind, is_linear: bool, dice: &mut Dice) -> String {
    let profiles = kind.radio().profiles;
    let name = profiles[dice.below(profiles.len() as u64) as usize];
    let [slope, active] = [(); 2].map(|()| dice.log(LINEAR_FACTOR.0, LINEAR_FACTOR.1));
    let when = if dice.chance(0.5) { "open" } else { "always" };
    if !is_linear {
        return format!("\"{name}\"");
    }
    let InterfaceModel::Rrc(model) = profile(name).expect("the profile ships").model else {
        panic!("{name} has a radio state machine");
    };
    let [down, up] = [model.down, model.up].map(|price| significant(slope * price.0 * 1e9));
    let active = significant(active * model.active.0 * 1e3);
    format!(
        "{{ per_mbps = \"{down} mW\", up_per_mbps = \"{up} mW\", active = \"{active} mW\", sunk_while = \
         \"{when}\" }}"
    )
}

/// Draws the direction of the data, sets it in all radios, and returns its name.
pub(super) fn direction(dice: &mut Dice, radios: &mut [Access]) -> &'static str {
    let is_upload = dice.chance(UPLOAD);
    radios
        .iter_mut()
        .for_each(|radio| radio.is_upload = is_upload);
    if is_upload {
        "direction = \"upload\"\n"
    } else {
        ""
    }
}

/// TOML of `[receiver]` and `[device]`.
pub(super) fn device(dice: &mut Dice) -> String {
    let kib = match dice.chance(0.1) {
        true => BUFFERS_KIB[0],
        false => BUFFERS_KIB[1 + dice.below(3) as usize],
    };
    let base_mw = dice.between(BASE_MW.0, BASE_MW.1);
    let base = match dice.chance(0.5) {
        true => format!("\n[device]\nshared_base = \"{base_mw:.0} mW\"\n"),
        false => String::new(),
    };
    format!(
        "\n[receiver]\nbuffer = \"{kib} KiB\"\n\n[sender]\nbuffer = \"{} KiB\"\n{base}",
        kib.max(4096)
    )
}
