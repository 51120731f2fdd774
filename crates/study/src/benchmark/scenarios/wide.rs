//! Radios of random families: ranges as wide as the conditions that policies may meet. Unless stated
//! otherwise, values are log-uniform. Any change makes different scenarios: raise [`GENERATION`].

use super::access::{Access, Loss, rate_text};
use super::dice::{Dice, significant};
use super::ranges::{ACTIVE_MW, PER_MBPS_MW, Queue, managed, marking};

/// Seed of all scenarios of random families.
pub(super) const GENERATION: u64 = 1;

/// Probability of an upload where nothing else sets the direction.
const UPLOAD: f64 = 0.2;
/// Probability of two paths, then of three; else there are four.
const TWO_PATHS: f64 = 0.7;
const THREE_PATHS: f64 = 0.2;
/// Rates, bit/s; then those of UMTS, which ends at HSPA's rate.
const RATE: (f64, f64) = (1e6, 200e6);
const UMTS_RATE: (f64, f64) = (1e6, 20e6);
/// Round-trip propagation delays, ms.
const WIFI_RTT: (f64, f64) = (10.0, 50.0);
const CELLULAR_RTT: (f64, f64) = (30.0, 200.0);
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
/// Jitter. Standard deviation of a steady RTT, ms; of an unsteady one, ms in each direction, at most a
/// quarter of the RTT; then its autocorrelation time, s.
const QUIET_MS: f64 = 0.1;
const JITTER_MS: (f64, f64) = (2.0, 20.0);
const JITTER_S: (f64, f64) = (0.05, 2.0);
/// Shared base power of half of the devices, mW; uniform.
const SHARED_BASE_MW: (f64, f64) = (100.0, 2000.0);
/// Receive buffers, KiB: the first in a tenth of the draws, the others equally likely.
const BUFFERS_KIB: [u64; 4] = [64, 256, 1024, 6144];

/// A kind of radio: name of its path, and its profiles with a radio state machine.
struct Kind {
    name: &'static str,
    rrc: &'static [&'static str],
}

const WIFI: Kind = Kind { name: "wifi", rrc: &["wifi-huang2012"] };
const CELLULAR: [Kind; 4] = [
    Kind { name: "lte", rrc: &["lte-huang2012", "lte-2021"] },
    Kind { name: "umts", rrc: &["3g-huang2012"] },
    Kind { name: "nr", rrc: &["5g-lowband-2021"] },
    Kind { name: "mmwave", rrc: &["5g-mmwave-2021"] },
];

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Queues {
    /// All kinds, up to four bandwidth-delay products.
    All,
    /// Short, managed or policed queues.
    Shallow,
}

/// WiFi and one to three cellular radios.
pub(super) fn radios(dice: &mut Dice, queues: Queues) -> Vec<Access> {
    let count = match dice.between(0.0, 1.0) {
        x if x < TWO_PATHS => 1,
        x if x < TWO_PATHS + THREE_PATHS => 2,
        _ => 3,
    };
    let mut left: Vec<&Kind> = CELLULAR.iter().collect();
    let cellular = (0..count).map(|_| left.remove(dice.below(left.len() as u64) as usize));
    let kinds: Vec<&Kind> = [&WIFI].into_iter().chain(cellular).collect();
    let energy = dice.below(4);
    kinds.into_iter().map(|kind| access(kind, energy, queues, dice)).collect()
}

/// WiFi with its profile of a radio state machine.
pub(super) fn wifi(dice: &mut Dice, queues: Queues) -> Access {
    access(&WIFI, 0, queues, dice)
}

/// A cellular radio with this name. The caller sets its energy model.
pub(super) fn cellular(name: &'static str, dice: &mut Dice, queues: Queues) -> Access {
    access(&Kind { name, rrc: CELLULAR[0].rrc }, 0, queues, dice)
}

fn access(kind: &Kind, energy: u64, queues: Queues, dice: &mut Dice) -> Access {
    let rate = if kind.name == "umts" { UMTS_RATE } else { RATE };
    let rtt = if kind.name == WIFI.name { WIFI_RTT } else { CELLULAR_RTT };
    let rate_bps = dice.log(rate.0, rate.1);
    let rtt_ms = dice.log(rtt.0, rtt.1);
    let (queue, one_way) = queue(dice, queues, rate_bps);
    let bdp = if queues == Queues::Shallow { SHALLOW_BDP } else { BUFFER_BDP };
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
        energy: self::energy(kind, energy, dice),
        more: jitter(dice, rtt_ms),
        one_way,
        up: String::new(),
        is_upload: false,
    }
}

fn loss(dice: &mut Dice) -> Option<Loss> {
    let [kind, probability, burst] =
        [dice.between(0.0, 1.0), dice.log(LOSS.0, LOSS.1), dice.log(BURST.0, BURST.1)];
    match kind {
        x if x < NO_LOSS => None,
        x if x < NO_LOSS + SOME_LOSS => Some(Loss { probability, leave_bad: None }),
        x if x < NO_LOSS + SOME_LOSS + MUCH_LOSS => Some(Loss { probability: MUCH, leave_bad: None }),
        _ => Some(Loss { probability, leave_bad: Some(1.0 / burst) }),
    }
}

/// A kind of queue, and the TOML of the policer before it.
fn queue(dice: &mut Dice, queues: Queues, rate_bps: f64) -> (Queue, String) {
    let x = dice.between(0.0, 1.0);
    let droptail =
        Queue { name: "droptail", ecn: false, keys: |packets| format!("queue = \"{packets} packets\"\n") };
    let linux = |name, keys| (Queue { name, ecn: false, keys }, String::new());
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
            (Queue { name: "policed", ..droptail }, policer)
        }
        _ => (Queue { name: "marking", ecn: true, keys: marking }, String::new()),
    }
}

fn jitter(dice: &mut Dice, rtt_ms: f64) -> String {
    let (deviation, correlation) = (dice.log(JITTER_MS.0, JITTER_MS.1), dice.log(JITTER_S.0, JITTER_S.1));
    match dice.chance(0.5) {
        true => format!("jitter = \"{QUIET_MS} ms\"\n"),
        false => format!(
            "jitter = {{ deviation = \"{} ms\", correlation = \"{correlation} s\" }}\n",
            significant(deviation.min(rtt_ms / 4.0))
        ),
    }
}

/// Half of the draws use radio state machines, the others linear models with random numbers, whose sunk power
/// applies while a subflow is open, or always.
fn energy(kind: &Kind, energy: u64, dice: &mut Dice) -> String {
    let (slope, active) = (dice.log(PER_MBPS_MW.0, PER_MBPS_MW.1), dice.log(ACTIVE_MW.0, ACTIVE_MW.1));
    let profile = kind.rrc[dice.below(kind.rrc.len() as u64) as usize];
    let linear = |when: &str| {
        format!(
            "{{ per_mbps = \"{slope} mW\", up_per_mbps = \"{slope} mW\", \
             active = \"{active} mW\", sunk_while = \"{when}\" }}"
        )
    };
    match energy {
        0 | 1 => format!("\"{profile}\""),
        2 => linear("open"),
        _ => linear("always"),
    }
}

/// Draws the direction of the data, sets it in all radios, and returns its name.
pub(super) fn direction(dice: &mut Dice, radios: &mut [Access]) -> &'static str {
    let is_upload = dice.chance(UPLOAD);
    radios.iter_mut().for_each(|radio| radio.is_upload = is_upload);
    if is_upload { "direction = \"upload\"\n" } else { "" }
}

/// TOML of `[receiver]` and `[device]`.
pub(super) fn device(dice: &mut Dice) -> String {
    let kib = match dice.chance(0.1) {
        true => BUFFERS_KIB[0],
        false => BUFFERS_KIB[1 + dice.below(3) as usize],
    };
    let base_mw = dice.between(SHARED_BASE_MW.0, SHARED_BASE_MW.1);
    let base = match dice.chance(0.5) {
        true => format!("\n[device]\nshared_base = \"{base_mw:.0} mW\"\n"),
        false => String::new(),
    };
    format!("\n[receiver]\nbuffer = \"{kib} KiB\"\n\n[sender]\nbuffer = \"{} KiB\"\n{base}", kib.max(4096))
}
