//! A random scenario from a seed: paths, disturbances, a workload, a policy.

use std::fmt::Write as _;

use joulepath_control::schedule::SCHEDULERS;
use joulepath_control::select::SELECTORS;
use joulepath_controllers::Controller;
use joulepath_model::random::{Domain, Stream};

/// A path of the scenario.
pub(super) struct Path {
    /// Rate from each instant on, s and bit/s; 0 is a pause.
    pub(super) rates: Vec<(f64, f64)>,
    pub(super) up_rate: f64,
    pub(super) delay_s: f64,
    pub(super) queue: u32,
    pub(super) outages: Vec<(f64, f64)>,
    /// Mean fraction of packets that are lost at random, in both directions together.
    pub(super) loss: f64,
    /// Probability that a SYN or its answer is lost if the previous ones were.
    pub(super) syn_loss: f64,
    pub(super) has_jitter: bool,
    /// Packets are reordered, a managed queue drops early, or other traffic uses the link.
    pub(super) is_rough: bool,
    pub(super) others: Others,
    pub(super) is_backup: bool,
    text: String,
}

/// Other traffic to the device on a path's link.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Others {
    None,
    /// Unresponsive packets at this rate, bit/s.
    Cross(f64),
    /// A TCP connection with this many bytes.
    Competitor(u64),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Workload {
    File,
    Requests,
    Bulk,
}

pub(super) struct Drawn {
    pub(super) paths: Vec<Path>,
    pub(super) workload: Workload,
    /// Size of the file or of a response.
    pub(super) bytes: u64,
    /// Segments in the smaller of both buffers.
    pub(super) window: u32,
    pub(super) recovery: &'static str,
    pub(super) policy: String,
    /// A selector may leave any path unused.
    pub(super) selects: bool,
    rest: String,
}

/// Random choices from lists and ranges.
pub(super) struct Dice(pub(super) Stream);

impl Dice {
    pub(super) fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.0.below(of.len() as u64) as usize]
    }

    pub(super) fn chance(&mut self, p: f64) -> bool {
        self.0.uniform() < p
    }

    pub(super) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.0.uniform()
    }

    /// Log-uniform.
    pub(super) fn scale(&mut self, low: f64, high: f64) -> f64 {
        (low.ln() + (high / low).ln() * self.0.uniform()).exp()
    }
}

/// The first disturbance, s: the connection is open by then.
const CALM_UNTIL_S: f64 = 3.0;
pub(super) const PACKET_BITS: f64 = 12_000.0;

impl Path {
    fn draw(dice: &mut Dice, i: usize) -> Path {
        let rate = dice.scale(24e3, 30e6);
        let mut rates = vec![(0.0, rate)];
        let mut at = CALM_UNTIL_S;
        for _ in 0..dice.one(&[0, 0, 0, 1, 2, 4]) {
            at += dice.scale(0.2, 20.0);
            let falls = if dice.chance(0.5) {
                0.0
            } else {
                (rate / dice.scale(2.0, 1000.0)).max(12e3)
            };
            rates.push((at, falls));
            at += dice.scale(0.1, 30.0);
            rates.push((at, rate));
        }
        let mut outages = vec![];
        let mut at = CALM_UNTIL_S;
        for _ in 0..dice.one(&[0, 0, 0, 1, 2]) {
            at += dice.scale(0.2, 20.0);
            let until = at + dice.scale(0.05, 600.0);
            outages.push((at, until));
            at = until + 0.1;
        }
        let delay_s = dice.scale(0.0005, 0.2);
        let queue = dice.one(&[2, 5, 20, 100, 100, 1000]);
        let up_rate = if dice.chance(0.2) {
            (rate / dice.scale(10.0, 150.0)).max(4e3)
        } else {
            rate
        };
        let mut path = Path {
            rates,
            up_rate,
            delay_s,
            queue,
            outages,
            loss: 0.0,
            syn_loss: 0.0,
            has_jitter: false,
            others: Others::None,
            is_rough: false,
            is_backup: false,
            text: String::new(),
        };
        path.write(dice, i);
        path
    }

    fn write(&mut self, dice: &mut Dice, i: usize) {
        let (mut text, mut up) = (String::new(), String::new());
        let steps: Vec<_> = self
            .rates
            .iter()
            .map(|(at, bps)| format!("[\"{at:.3} s\", \"{bps:.0} bit/s\"]"))
            .collect();
        let _ = write!(
            text,
            "[[path]]\nname = \"p{i}\"\nrate = {{ steps = [{}] }}\n",
            steps.join(", ")
        );
        let _ = write!(
            text,
            "delay = \"{:.0} us\"\nqueue = \"{} packets\"\n",
            self.delay_s * 1e6,
            self.queue
        );
        let outages: Vec<_> = self
            .outages
            .iter()
            .map(|(from, to)| format!("[\"{from:.3} s\", \"{to:.3} s\"]"))
            .collect();
        let _ = writeln!(text, "outages = [{}]", outages.join(", "));
        let active = ["0 W", "1 W"][i % 2];
        let _ = writeln!(
            text,
            "energy = {{ per_mbps = \"{} mW\", active = \"{active}\" }}",
            50 + 10 * i
        );
        match dice.0.below(6) {
            0 => {
                self.loss = dice.scale(0.0005, 0.04);
                self.syn_loss = self.loss;
                let _ = writeln!(text, "loss = \"{:.4} %\"", self.loss * 100.0);
            }
            1 => {
                // A tenth of the time is in bursts of 5 packets that lose half.
                self.loss = 0.05 * 0.2;
                self.syn_loss = 0.8 * 0.5;
                text +=
                    "loss = { enter_bad = \"0.4 %\", leave_bad = \"20 %\", loss_bad = \"50 %\" }\n";
            }
            _ => {}
        }
        if dice.chance(0.15) {
            self.has_jitter = true;
            let jitter = self.delay_s * dice.between(0.05, 0.5);
            let _ = writeln!(text, "jitter = \"{:.0} us\"", jitter * 1e6);
            if dice.chance(0.5) {
                // The delay of the other direction falls for a while.
                let (from_s, for_s) = (dice.between(0.01, 5.0), dice.between(0.01, 5.0));
                let [most, least] = [1.0, dice.between(0.1, 0.9)].map(|x| x * self.delay_s * 1e6);
                let _ = write!(
                    up,
                    "delay = {{ steps = [[\"0 s\", \"{most:.0} us\"], \
                     [\"{from_s:.3} s\", \"{least:.0} us\"], [\"{:.3} s\", \"{most:.0} us\"]] }}, ",
                    from_s + for_s + 0.001
                );
            }
        }
        if dice.chance(0.1) {
            self.is_rough = true;
            text += "reorder = { share = \"2 %\", depth = \"4 packets\" }\n";
        }
        if dice.chance(0.1) {
            text += "aggregate = { period = \"4 ms\" }\n";
        }
        if dice.chance(0.15) {
            self.is_rough = true;
            let kind = dice.one(&["codel", "fq-codel", "pie", "dualpi2"]);
            let _ = writeln!(text, "aqm = \"{kind}\"");
        }
        let _ = write!(up, "rate = \"{:.0} bit/s\"", self.up_rate);
        if dice.chance(0.15) {
            let lost = dice.scale(0.001, 0.3);
            self.loss += lost / 20.0;
            self.syn_loss = 1.0 - (1.0 - self.syn_loss) * (1.0 - lost);
            let _ = write!(up, ", loss = \"{:.4} %\"", lost * 100.0);
        }
        let _ = writeln!(text, "up = {{ {up} }}");
        self.text = text;
    }

    /// The lowest positive rate, less cross traffic, bit/s.
    pub(super) fn least_rate(&self) -> f64 {
        let rates = self
            .rates
            .iter()
            .map(|&(_, bps)| bps)
            .filter(|&bps| bps > 0.0);
        rates.fold(f64::INFINITY, f64::min) - self.crossing_bps()
    }

    /// Rate of cross traffic, bit/s.
    pub(super) fn crossing_bps(&self) -> f64 {
        if let Others::Cross(bps) = self.others {
            bps
        } else {
            0.0
        }
    }
}

impl Drawn {
    pub(super) fn of(seed: u64) -> Drawn {
        let mut dice = Dice(Stream::new(seed, Domain::Study, 7));
        let n = dice.one(&[1, 1, 2, 2, 2, 3, 4, 8]);
        let mut paths: Vec<Path> = (0..n).map(|i| Path::draw(&mut dice, i)).collect();
        if n > 1 && dice.chance(0.15) {
            paths[n - 1].text += "backup = true\n";
            paths[n - 1].is_backup = true;
        }
        let workload = dice.one(&[
            Workload::File,
            Workload::File,
            Workload::File,
            Workload::Requests,
            Workload::Bulk,
        ]);
        let total: f64 = paths.iter().map(|path| path.rates[0].1).sum();
        let most_s = if workload == Workload::File {
            12.0
        } else {
            1.0
        };
        let bytes = (total / 8.0 * dice.scale(0.05, most_s)).clamp(500.0, 4e6) as u64;
        let window = dice.scale(4.0, 3000.0) as u32;
        let recovery = dice.one(&["rack", "rack", "rack", "sack", "newreno"]);
        let (policy, selects) = policy(&mut dice);
        let mut rest = format!("[receiver]\nbuffer = \"{} B\"\n", window * 1460);
        let _ = write!(rest, "[transport]\nrecovery = \"{recovery}\"\n");
        rest += dice.one(&["", "", "processing_delay = \"0 s\"\n"]);
        rest += dice.one(&["", "", "", "delayed_ack = \"40 ms\"\n"]);
        rest += dice.one(&["", "", "", "ecn = true\n"]);
        let direction = if workload != Workload::Requests && dice.chance(0.2) {
            "upload"
        } else {
            "download"
        };
        if direction == "upload" {
            for path in &mut paths {
                let most = path.up_rate;
                path.rates
                    .iter_mut()
                    .for_each(|(_, bps)| *bps = bps.min(most));
            }
        }
        rest += &match workload {
            Workload::File => {
                format!(
                    "[workload]\nkind = \"file\"\nsize = \"{bytes} B\"\ndirection = \"{direction}\"\n"
                )
            }
            Workload::Requests => {
                let think = dice.scale(1.0, 2000.0);
                format!(
                    "[workload]\nkind = \"requests\"\nsize = \"{bytes} B\"\nthink = \"{think:.0} ms\"\n"
                )
            }
            Workload::Bulk => format!("[workload]\nkind = \"bulk\"\ndirection = \"{direction}\"\n"),
        };
        rest += &others(&mut dice, &mut paths);
        Drawn {
            paths,
            workload,
            bytes,
            window,
            recovery,
            policy,
            selects,
            rest,
        }
    }

    /// The scenario as TOML without its title.
    pub(super) fn toml(&self, duration_s: f64) -> String {
        let paths: String = self.paths.iter().map(|path| path.text.as_str()).collect();
        format!("duration = \"{duration_s:.0} s\"\n{paths}{}", self.rest)
    }

    /// The scenario of a seed with doubled rates, for paths with constant rates.
    pub(super) fn twice_as_fast(seed: u64) -> Drawn {
        let mut drawn = Drawn::of(seed);
        for path in &mut drawn.paths {
            let (rate, up) = (path.rates[0].1, path.up_rate);
            path.text = path
                .text
                .replace(
                    &format!("\"{rate:.0} bit/s\"]"),
                    &format!("\"{:.0} bit/s\"]", 2.0 * rate),
                )
                .replace(
                    &format!("rate = \"{up:.0} bit/s\""),
                    &format!("rate = \"{:.0} bit/s\"", 2.0 * up),
                );
        }
        drawn
    }
}

/// Adds other traffic to a random path.
fn others(dice: &mut Dice, paths: &mut [Path]) -> String {
    let i = dice.0.below(paths.len() as u64) as usize;
    let path = &mut paths[i];
    // Evenly spaced packets would make the same packet of each round find a queue of a few packets
    // full.
    if path.queue < 20 {
        return String::new();
    }
    let (others, text) = match dice.0.below(8) {
        0 => {
            let bps = path.least_rate() * dice.between(0.05, 0.4);
            (
                Others::Cross(bps),
                format!("[[cross]]\nkind = \"constant\"\nrate = \"{bps:.0} bit/s\"\n"),
            )
        }
        1 => {
            let bytes = (path.rates[0].1 / 8.0 * dice.scale(0.1, 20.0)) as u64;
            let cc = dice.one(&["reno", "cubic"]);
            let text =
                format!("[[competitor]]\nname = \"c\"\ncc = \"{cc}\"\nsize = \"{bytes} B\"\n");
            (Others::Competitor(bytes), text)
        }
        _ => return String::new(),
    };
    path.others = others;
    path.is_rough = true;
    format!("{text}path = \"p{i}\"\n")
}

/// A policy, and whether it has a selector.
fn policy(dice: &mut Dice) -> (String, bool) {
    const NAMED: &[&str] = &[
        "mptcp",
        "mptcp",
        "linux",
        "joule",
        "redundant",
        "bbr3",
        "olia",
    ];
    if dice.chance(0.4) {
        let name = dice.one(NAMED);
        return (name.to_owned(), name == "joule");
    }
    let controllers: Vec<&str> = Controller::all()
        .map(|controller| controller.name())
        .collect();
    let schedulers: Vec<&str> = SCHEDULERS
        .iter()
        .map(|info| info.name)
        .filter(|&name| name != "allotted")
        .collect();
    let (cc, scheduler) = (dice.one(&controllers), dice.one(&schedulers));
    if !dice.chance(0.25) {
        return (format!("mptcp[cc={cc},scheduler={scheduler}]"), false);
    }
    let selectors: Vec<&str> = SELECTORS.iter().map(|info| info.name).collect();
    (
        format!(
            "mptcp[cc={cc},scheduler={scheduler},selector={}]",
            dice.one(&selectors)
        ),
        true,
    )
}
