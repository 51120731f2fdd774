//! The random families. `wide` has the ranges of radios, this module the ranges of events. Any
//! change makes different scenarios: raise `wide::GENERATION`.

use super::access::{Access, rate_text};
use super::body::{Body, fading, file, names, outages, size, stepping, stream};
use super::dice::{Dice, significant};
use super::ranges::MESSAGE_BYTES;
use super::wide::{Queues, device, direction, line, radios};

/// Lengths of bulk runs, s, then the probability of the first one.
const BULK_S: (u32, u32) = (60, 300);
const BULK_SHORT: f64 = 0.75;
/// Measured time of other endless runs, s.
pub(super) const MEASURED_S: u32 = 60;
/// With competitors: time before measuring starts, s; then the delay between the start of the two
/// sides, s.
const SETTLED_S: u32 = 10;
const LATER_S: u32 = 5;
/// Load of streams and messages as a fraction of WiFi's throughput for one TCP flow; uniform.
pub(super) const LOAD: (f64, f64) = (0.1, 1.1);
/// Range of the mean time between messages, ms.
const GAP_MS: (f64, f64) = (5.0, 5000.0);
/// Maximum number of TCP flows on a link; uniform from 0.
const COMPETITORS: u64 = 10;
/// Probability of additional web files on a link, then their number and sizes, bytes.
const WEB: f64 = 0.3;
const WEB_FILES: (f64, f64) = (10.0, 100.0);
const WEB_BYTES: (f64, f64) = (10e3, 1e6);
/// Rate of a bottleneck that several paths and TCP flows share: a line behind the radios.
const SHARED_BPS: (f64, f64) = (2e6, 60e6);
/// Maximum number of TCP flows there; uniform from 1. Then the bottleneck as their place.
const SHARED_TCPS: u64 = 4;
const BOTTLENECK: &str = "via = [\"bottleneck\"]";
/// Probability that paths that look alike have links of their own.
const TWINS: f64 = 0.6;
/// Ratio of an access link's rate to that of the shared bottleneck before it.
const ACCESS: (f64, f64) = (0.5, 2.0);
/// Ratio of the highest to the lowest RTT among connections of one policy.
const RTT_RATIO: (f64, f64) = (1.0, 10.0);
/// TCP flows that keep a queue full.
const STANDING: u32 = 20;
/// Probability of losing an ACK, then the period of ACK bundling, ms.
const ACK_LOSS: (f64, f64) = (0.01, 0.2);
const ACK_PERIOD_MS: (f64, f64) = (2.0, 20.0);

/// Endless data, from the first packet on.
pub(super) fn bulk(dice: &mut Dice) -> Body {
    let mut radios = radios(dice, Queues::All);
    let duration_s = if dice.chance(BULK_SHORT) {
        BULK_S.0
    } else {
        BULK_S.1
    };
    let way = direction(dice, &mut radios);
    Body {
        title: format!("{}, data without end for {duration_s} s", names(&radios)),
        duration_s,
        warm_up_s: 0,
        tables: paths(&radios) + &device(dice) + &ends(&radios, "") + &with_keys(BULK, way),
    }
}

pub(super) fn one_file(dice: &mut Dice) -> Body {
    let mut radios = radios(dice, Queues::All);
    let bytes = dice.file_bytes();
    let way = direction(dice, &mut radios);
    let (workload, duration_s) = file(&radios, bytes);
    Body {
        title: format!("{}, a file of {}", names(&radios), size(bytes)),
        duration_s,
        warm_up_s: 0,
        tables: paths(&radios) + &device(dice) + &ends(&radios, "") + &with_keys(&workload, way),
    }
}

/// Messages, or a constant bit rate with or without pauses, from the first packet on.
pub(super) fn offered(dice: &mut Dice) -> Body {
    let mut radios = radios(dice, Queues::All);
    let way = direction(dice, &mut radios);
    let (workload, what) = match dice.chance(0.5) {
        true => messages(dice, &radios),
        false => {
            let bps = dice.between(LOAD.0, LOAD.1) * radios[0].friendly_bps();
            let (workload, rate) = stream(dice, bps);
            (workload, format!("a stream of {rate}"))
        }
    };
    Body {
        title: format!("{}, {what}", names(&radios)),
        duration_s: MEASURED_S,
        warm_up_s: 0,
        tables: paths(&radios) + &device(dice) + &ends(&radios, "") + &with_keys(&workload, way),
    }
}

fn messages(dice: &mut Dice, radios: &[Access]) -> (String, String) {
    let bytes = dice.log(MESSAGE_BYTES.0, MESSAGE_BYTES.1) as u64;
    let load_bps = dice.between(LOAD.0, LOAD.1) * radios[0].friendly_bps();
    let gap_ms = significant((bytes as f64 * 8.0 / load_bps * 1e3).clamp(GAP_MS.0, GAP_MS.1));
    let size = size(bytes);
    let table = format!(
        "\n[workload]\nkind = \"messages\"\nsize = \"{size}\"\nmean_gap = \"{gap_ms} ms\"\n"
    );
    (table, format!("messages of {size}"))
}

/// Competing TCP flows on each path's own link.
pub(super) fn competitors(dice: &mut Dice, queues: Queues) -> Body {
    let radios = radios(dice, queues);
    let order = Order::of(dice);
    let counts: Vec<u64> = radios.iter().map(|_| dice.below(COMPETITORS + 1)).collect();
    // At least one link has competitors.
    let forced = dice.below(radios.len() as u64) as usize;
    let nobody = counts.iter().all(|&count| count == 0);
    let mut tables = paths(&radios);
    let mut tcps = 0;
    for (index, (radio, mut count)) in radios.iter().zip(counts).enumerate() {
        let cc = controller(dice);
        if nobody && index == forced {
            count = 1;
        }
        tcps += count;
        let at = format!("path = \"{}\"", radio.name);
        tables += &group(
            &format!("tcp-{}", radio.name),
            count as u32,
            &at,
            cc,
            order.others_s(),
        );
        tables += &web(dice, radio.name);
    }
    Body {
        title: format!("{}, {tcps} TCPs, {}", names(&radios), order.what()),
        duration_s: SETTLED_S + MEASURED_S,
        warm_up_s: SETTLED_S,
        tables: tables + &device(dice) + &ends(&radios, "") + BULK + &order.connection(),
    }
}

/// One bottleneck of all paths, with or without access links after it, and competing TCP flows.
pub(super) fn shared(dice: &mut Dice) -> Body {
    let radios = radios(dice, Queues::All);
    let order = Order::of(dice);
    let tcps = 1 + dice.below(SHARED_TCPS) as u32;
    let others = group("tcp", tcps, BOTTLENECK, controller(dice), order.others_s());
    let (links, what, ends) = one_bottleneck(dice, &radios);
    Body {
        title: format!("{}, {what}, {tcps} TCPs", names(&radios)),
        duration_s: SETTLED_S + MEASURED_S,
        warm_up_s: SETTLED_S,
        tables: links + &others + &device(dice) + &ends + BULK + &order.connection(),
    }
}

/// Paths on links of their own with equal rate, RTT, loss and queue, half of them with competing
/// TCP flows on each; or one bottleneck of all paths that nobody else uses.
pub(super) fn alike(dice: &mut Dice) -> Body {
    let mut radios = radios(dice, Queues::All);
    let order = Order::of(dice);
    let (cc, are_twins, some) = (controller(dice), dice.chance(TWINS), dice.chance(0.5));
    let tcps = if are_twins && some {
        1 + dice.below(SHARED_TCPS) as u32
    } else {
        0
    };
    let (links, what, ends) = if are_twins {
        become_twins(&mut radios);
        let tcps = |radio: &Access| {
            let at = format!("path = \"{}\"", radio.name);
            group(
                &format!("tcp-{}", radio.name),
                tcps,
                &at,
                cc,
                order.others_s(),
            )
        };
        let links = paths(&radios) + &radios.iter().map(tcps).collect::<String>();
        (links, "twins with links of their own", ends(&radios, ""))
    } else {
        one_bottleneck(dice, &radios)
    };
    Body {
        title: format!("{}, {what}, {tcps} TCPs", names(&radios)),
        duration_s: SETTLED_S + MEASURED_S,
        warm_up_s: SETTLED_S,
        tables: links + &device(dice) + &ends + BULK + &order.connection(),
    }
}

/// Gives all radios the link of the slowest, whose rate every kind of radio reaches.
fn become_twins(radios: &mut [Access]) {
    let by_rate = |&a: &usize, &b: &usize| radios[a].rate_bps.total_cmp(&radios[b].rate_bps);
    let slowest = (0..radios.len()).min_by(by_rate).unwrap_or(0);
    radios.swap(0, slowest);
    if let Some((first, others)) = radios.split_first_mut() {
        others
            .iter_mut()
            .for_each(|other| other.become_twin_of(first));
    }
    radios.swap(0, slowest);
}

/// A bottleneck of all paths, with or without access links after it: tables of links and paths,
/// description, and `[transport]`.
fn one_bottleneck(dice: &mut Dice, radios: &[Access]) -> (String, &'static str, String) {
    let line = line(SHARED_BPS, dice);
    let rate_bps = line.rate_bps;
    let has_access = dice.chance(0.5);
    let path = |radio: &Access| match has_access {
        true => access_path(radio, rate_bps * dice.log(ACCESS.0, ACCESS.1)),
        false => radio.far_path("bottleneck", dice.between(0.0, 0.5)),
    };
    let paths: String = radios.iter().map(path).collect();
    let what = if has_access {
        "one bottleneck and access links"
    } else {
        "one bottleneck"
    };
    (
        line.link("bottleneck", rate_bps) + &paths,
        what,
        ends(&[line], ""),
    )
}

/// A path through the bottleneck with its own link after it.
fn access_path(radio: &Access, rate_bps: f64) -> String {
    format!(
        "\n[[path]]\nname = \"{}\"\nvia = [\"bottleneck\"]\nrate = {}\ndelay = \"{} ms\"\nenergy = {}\n",
        radio.name,
        rate_text(rate_bps),
        significant(radio.rtt_ms / 4.0),
        radio.energy
    )
}

/// Links whose rates change. For a trace, the scenario holds its name; see [`TRACE`](super::TRACE).
pub(super) fn mobility(
    dice: &mut Dice,
    trace: &dyn Fn(u64) -> (String, f64),
) -> (Body, Option<u64>) {
    let mut radios = radios(dice, Queues::All);
    let way = direction(dice, &mut radios);
    let mut offset = None;
    let at = dice.below(2) as usize;
    let rate_bps = radios[at].rate_bps;
    let how = match dice.below(4) {
        0 => {
            radios[at].outages = outages(dice, 0, f64::from(MEASURED_S));
            "with outages"
        }
        1 => {
            radios[at].varying = Some(stepping(dice, rate_bps, f64::from(MEASURED_S)));
            "with steps"
        }
        2 => {
            radios[at].varying = Some(fading(dice, rate_bps));
            "fading"
        }
        _ => {
            let drawn = dice.below(1 << 32);
            let (name, bps) = trace(drawn);
            radios[1].varying = Some(format!("{{ trace = \"{name}\" }}"));
            radios[1].rate_bps = bps;
            offset = Some(drawn);
            "by a trace"
        }
    };
    if dice.chance(1.0 / 3.0) {
        let other = 1 - at;
        let rate_bps = radios[other].rate_bps;
        if radios[other].varying.is_none() {
            radios[other].varying = Some(fading(dice, rate_bps));
        }
    }
    let (workload, what) = match dice.below(3) {
        0 => {
            let bps = dice.between(LOAD.0, LOAD.1) * radios[0].friendly_bps();
            let (workload, rate) = stream(dice, bps);
            (workload, format!("a stream of {rate}"))
        }
        _ => (BULK.to_owned(), "data without end".to_owned()),
    };
    let body = Body {
        title: format!("{}, {how}, {what}", names(&radios)),
        duration_s: MEASURED_S,
        warm_up_s: 0,
        tables: paths(&radios) + &device(dice) + &ends(&radios, "") + &with_keys(&workload, way),
    };
    (body, offset)
}

/// Several connections of the policy, each with a path through each bottleneck. They start 2 s
/// apart.
pub(super) fn within(dice: &mut Dice) -> Body {
    let mut radios = radios(dice, Queues::All);
    radios.truncate(2);
    let users = 2 + dice.below(4) as u32;
    let ratio = dice.log(RTT_RATIO.0, RTT_RATIO.1);
    let bottlenecks = ["first", "second"];
    let mut tables: String = radios
        .iter()
        .zip(bottlenecks)
        .map(|(radio, name)| radio.link(name, radio.rate_bps))
        .collect();
    let mut connections = String::new();
    for user in 0..users {
        let times = libm::pow(ratio, f64::from(user) / f64::from(users - 1));
        for (radio, via) in radios.iter().zip(bottlenecks) {
            // The bottleneck has the lowest RTT; the path's own link adds the rest.
            let delay_ms = significant((times - 1.0) * radio.rtt_ms / 2.0);
            tables += &format!(
                "\n[[path]]\nname = \"{}{user}\"\nvia = [\"{via}\"]\ndelay = \"{delay_ms} ms\"\n\
                 energy = {}\n",
                radio.name, radio.energy
            );
        }
        let own: Vec<String> = radios
            .iter()
            .map(|radio| format!("\"{}{user}\"", radio.name))
            .collect();
        connections += &format!(
            "\n[[connection]]\nname = \"user{user}\"\npaths = [{}]\nstart = \"{} s\"\n",
            own.join(", "),
            2 * user
        );
    }
    Body {
        title: format!(
            "{users} connections over {}, RTTs up to {ratio} times the least",
            names(&radios)
        ),
        duration_s: 2 * users + MEASURED_S,
        warm_up_s: 2 * users,
        tables: tables + &device(dice) + &ends(&radios, "") + BULK + &connections,
    }
}

/// Conditions that mislead controllers which rely on delays, ACKs or single losses.
pub(super) fn adverse(dice: &mut Dice) -> Body {
    let mut radios = radios(dice, Queues::All);
    let mut order = Order::Together;
    let mut tcps = dice.below(2) as u32;
    let mut transport = String::new();
    let what = match dice.below(5) {
        0 => {
            (order, tcps) = (Order::OthersFirst, STANDING);
            "a standing queue from the start"
        }
        1 => {
            let percent = significant(100.0 * dice.log(ACK_LOSS.0, ACK_LOSS.1));
            radios
                .iter_mut()
                .for_each(|radio| radio.up = format!("loss = \"{percent} %\"\n"));
            "ACKs are lost"
        }
        2 => {
            let period_ms = dice.log(ACK_PERIOD_MS.0, ACK_PERIOD_MS.1);
            radios.iter_mut().for_each(|radio| {
                radio.up = format!("aggregate = {{ period = \"{period_ms} ms\" }}\n")
            });
            "ACKs come in bursts"
        }
        3 => {
            let delay_ms = if dice.chance(0.5) { 40 } else { 200 };
            transport = format!("delayed_ack = \"{delay_ms} ms\"\n");
            "delayed ACKs"
        }
        _ => {
            radios.iter_mut().for_each(Access::have_one_place);
            "queues of one packet"
        }
    };
    let at = format!("path = \"{}\"", radios[0].name);
    let others = group("tcp", tcps, &at, controller(dice), order.others_s());
    Body {
        title: format!("{}, {what}, {tcps} TCPs", names(&radios)),
        duration_s: SETTLED_S + MEASURED_S,
        warm_up_s: SETTLED_S,
        tables: paths(&radios)
            + &others
            + &device(dice)
            + &ends(&radios, &transport)
            + BULK
            + &order.connection(),
    }
}

pub(super) const BULK: &str = "\n[workload]\nkind = \"bulk\"\n";

pub(super) fn with_keys(workload: &str, keys: &str) -> String {
    workload.to_owned() + keys
}

pub(super) fn paths(radios: &[Access]) -> String {
    radios.iter().map(Access::path).collect()
}

/// `[transport]`. ECN depends on both ends, so it is on if any queue marks.
pub(super) fn ends(radios: &[Access], keys: &str) -> String {
    let ecn = if radios.iter().any(|radio| radio.queue.ecn) {
        "ecn = true\n"
    } else {
        ""
    };
    match (ecn, keys) {
        ("", "") => String::new(),
        _ => format!("\n[transport]\n{ecn}{keys}"),
    }
}

fn controller(dice: &mut Dice) -> &'static str {
    if dice.chance(0.5) { "reno" } else { "cubic" }
}

/// Competing TCP flows, if `count` is not 0.
fn group(name: &str, count: u32, at: &str, cc: &str, start_s: u32) -> String {
    if count == 0 {
        return String::new();
    }
    format!(
        "\n[[competitor]]\nname = \"{name}\"\ncount = {count}\n{at}\ncc = \"{cc}\"\nstart = \"{start_s} s\"\n\
         spread = \"1 s\"\n"
    )
}

/// Files that other users fetch over the link at random times, if there are any.
fn web(dice: &mut Dice, path: &str) -> String {
    let (count, bytes) = (
        dice.log(WEB_FILES.0, WEB_FILES.1),
        dice.log(WEB_BYTES.0, WEB_BYTES.1),
    );
    if !dice.chance(WEB) {
        return String::new();
    }
    format!(
        "\n[[competitor]]\nname = \"web-{path}\"\ncount = {count:.0}\npath = \"{path}\"\ncc = \"cubic\"\n\
         spread = \"{} s\"\nsize = \"{}\"\n",
        SETTLED_S + MEASURED_S - 1,
        size(bytes as u64)
    )
}

/// Side that starts first.
#[derive(Clone, Copy)]
enum Order {
    Together,
    OthersFirst,
    OthersLater,
}

impl Order {
    fn of(dice: &mut Dice) -> Self {
        [Order::Together, Order::OthersFirst, Order::OthersLater][dice.below(3) as usize]
    }

    const fn others_s(self) -> u32 {
        if matches!(self, Order::OthersLater) {
            LATER_S
        } else {
            0
        }
    }

    /// TOML of the connection under test.
    fn connection(self) -> String {
        let start_s = if matches!(self, Order::OthersFirst) {
            LATER_S
        } else {
            0
        };
        format!("\n[[connection]]\nname = \"main\"\nstart = \"{start_s} s\"\n")
    }

    const fn what(self) -> &'static str {
        match self {
            Order::Together => "all at once",
            Order::OthersFirst => "which are there before",
            Order::OthersLater => "which come later",
        }
    }
}
