//! A random scenario from a seed, with any key of `docs/scenario.md`, and a policy of the
//! registries.

use std::fmt::Write as _;

use joulepath_control::policy::POLICIES;
use joulepath_control::schedule::SCHEDULERS;
use joulepath_control::select::SELECTORS;
use joulepath_controllers::Controller;
use joulepath_model::energy::profile_names;
use joulepath_model::random::{Domain, Stream};

/// Random choices from lists and ranges.
pub(super) struct Dice {
    random: Stream,
    /// Only what the fluid engine has equations for.
    is_plain: bool,
}

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Dice {
            random: Stream::new(seed, Domain::Study, 54),
            is_plain: seed.is_multiple_of(3),
        }
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.random.below(of.len() as u64) as usize]
    }

    fn chance(&mut self, p: f64) -> bool {
        self.random.uniform() < p
    }

    /// Log-uniform.
    fn scale(&mut self, low: f64, high: f64) -> f64 {
        (low.ln() + (high / low).ln() * self.random.uniform()).exp()
    }

    /// `line` with probability `p`.
    fn maybe(&mut self, p: f64, line: impl FnOnce(&mut Dice) -> String) -> String {
        if self.chance(p) {
            line(self) + "\n"
        } else {
            String::new()
        }
    }
}

/// The scenario as TOML, with its title.
pub(super) fn scenario(dice: &mut Dice, seed: u64) -> String {
    let duration = dice.scale(2.0, 30.0);
    let mut text = format!("title = \"seed {seed}\"\nduration = \"{duration:.3} s\"\n");
    text += &dice.maybe(0.5, |dice| {
        format!(
            "warm_up = \"{:.3} s\"",
            duration * 0.9 * dice.random.uniform()
        )
    });
    if !dice.is_plain && dice.chance(0.03) {
        return text + &topology(dice);
    }
    let shared = dice.chance(0.4);
    if shared {
        text += "[[link]]\nname = \"core\"\n";
        let rate = dice.scale(24e3, 60e6);
        text += &link(dice, rate, duration, false);
    }
    let paths = dice.one(&[1, 2, 2, 3, 4]);
    let mut relayed = false;
    for i in 0..paths {
        relayed |= path(dice, &mut text, i, shared, duration);
    }
    if relayed {
        let timing = dice.one(&["802.11b", "802.11g", "bianchi2000-fhss"]);
        let _ = writeln!(
            text,
            "[[channel]]\nname = \"air\"\nrate = \"11 Mbit/s\"\ntiming = \"{timing}\""
        );
    }
    text += &hosts(dice);
    if dice.chance(0.2) {
        for i in 0..2 {
            let _ = writeln!(
                text,
                "[[connection]]\nname = \"c{i}\"\ncount = {}",
                dice.one(&[1, 1, 3])
            );
            text += &dice.maybe(0.3, |dice| {
                format!(
                    "start = \"{:.3} s\"",
                    0.5 * duration * dice.random.uniform()
                )
            });
            text += &dice.maybe(0.3, |_| "spread = \"200 ms\"".into());
            let _ = writeln!(text, "[connection.workload]\n{}", workload(dice, duration));
        }
    } else {
        let _ = writeln!(text, "[workload]\n{}", workload(dice, duration));
    }
    let place = |dice: &mut Dice, key: &str| match shared && dice.chance(0.5) {
        true => format!("{key}\n"),
        false => format!("path = \"p{}\"\n", dice.random.below(paths)),
    };
    if dice.chance(0.3) {
        let controllers: Vec<&str> = Controller::all()
            .map(|controller| controller.name())
            .collect();
        let cc = if dice.chance(0.5) {
            dice.one(&controllers)
        } else {
            "reno"
        };
        let count = dice.one(&[1, 2, 5]);
        let _ = writeln!(
            text,
            "[[competitor]]\nname = \"tcp\"\ncount = {count}\ncc = \"{cc}\""
        );
        text += &place(dice, "via = [\"core\"]");
        if !dice.is_plain {
            text += &dice.maybe(0.3, |dice| {
                format!("size = \"{:.0} B\"", dice.scale(1e3, 1e7))
            });
        }
    }
    if dice.chance(0.3) {
        let kind = dice.one(&["constant", "poisson", "pareto"]);
        let rate = dice.scale(1e3, 5e6);
        let _ = writeln!(
            text,
            "[[cross]]\nkind = \"{kind}\"\nrate = \"{rate:.0} bit/s\""
        );
        text += &place(dice, "link = \"core\"");
        if kind == "pareto" {
            text += "mean_burst = \"300 ms\"\nmean_gap = \"1 s\"\n";
        }
    }
    text
}

/// A path; returns whether it ends at a relay.
fn path(dice: &mut Dice, text: &mut String, i: u64, shared: bool, duration: f64) -> bool {
    let _ = writeln!(text, "[[path]]\nname = \"p{i}\"");
    let follows = !dice.is_plain && dice.chance(0.1);
    let rate = dice.scale(12e3, 60e6);
    if follows {
        let profile = dice.one(&["5g-sa-2021", "5g-nsa-2021", "5g-mmwave-2021"]);
        let signal = dice.one(&[
            "\"-95 dBm\"",
            "{ steps = [[\"0 s\", \"-80 dBm\"], [\"1 s\", \"-110 dBm\"]] }",
            "{ distance_m = 20, speed_mps = 1.4, at_1m = \"-40 dBm\", sigma_db = 4.0 }",
        ]);
        let _ = writeln!(text, "energy = \"{profile}\"\nsignal = {signal}");
        let by = dice.one(&[
            "{ by_signal = [[\"-110 dBm\", \"1 Mbit/s\"], [\"-80 dBm\", \"40 Mbit/s\"]] }",
            "X",
        ]);
        let _ = writeln!(
            text,
            "rate = {}",
            by.replace('X', &format!("\"{rate:.0} bit/s\""))
        );
        let _ = writeln!(text, "delay = \"{:.3} ms\"", dice.scale(0.1, 300.0));
    } else {
        let profiles: Vec<&str> = profile_names().collect();
        let own = dice.one(&[
            "{ per_mbps = \"137 mW\", active = \"133 mW\" }",
            "{ profile = \"lte-huang2012\", inactivity = \"200 ms\" }",
            "{ per_mbps = \"10 mW\", up_per_mbps = \"90 mW\", active = \"1 W\", sunk_while = \"open\" }",
        ]);
        let energy = if dice.chance(0.7) {
            format!("\"{}\"", dice.one(&profiles))
        } else {
            own.to_owned()
        };
        let _ = writeln!(text, "energy = {energy}");
        *text += &link(dice, rate, duration, true);
    }
    if shared && dice.chance(0.6) {
        *text += "via = [\"core\"]\n";
    }
    *text += &dice.maybe(0.1, |dice| {
        format!("start = \"{:.3} s\"", duration * dice.random.uniform())
    });
    *text += &dice.maybe(0.08, |_| "backup = true".into());
    *text += &dice.maybe(0.1, |_| {
        "history = { rate = \"5 Mbit/s\", rtt = \"50 ms\", loss = \"0.1 %\" }".into()
    });
    let relayed = !follows && !dice.is_plain && dice.chance(0.03);
    if relayed {
        let kind = dice.one(&["kind = \"ip\"", "kind = \"tcp\", buffer = \"33 packets\""]);
        let _ = writeln!(text, "relay = {{ {kind}, channel = \"air\" }}");
    }
    if dice.chance(0.3) {
        let up = dice.scale(8e3, 20e6);
        let _ = writeln!(text, "[path.up]\nrate = \"{up:.0} bit/s\"");
        *text += &dice.maybe(0.3, |_| "loss = \"2 %\"".into());
    }
    relayed
}

/// The keys of a link.
fn link(dice: &mut Dice, bps: f64, duration: f64, varies: bool) -> String {
    let rate = match dice.random.below(if varies { 10 } else { 6 }) {
        0 => {
            let (at, low) = (
                duration * dice.random.uniform(),
                bps * dice.one(&[0.0, 0.1, 3.0]),
            );
            format!(
                "{{ steps = [[\"0 s\", \"{bps:.0} bit/s\"], [\"{at:.3} s\", \"{low:.0} bit/s\"]] }}"
            )
        }
        1 => format!(
            "{{ mean = \"{bps:.0} bit/s\", deviation = \"40 %\", correlation = \"500 ms\" }}"
        ),
        2 => "{ trace = \"a.trace\" }".to_owned(),
        _ => format!("\"{bps:.0} bit/s\""),
    };
    let mut text = format!(
        "rate = {rate}\ndelay = \"{:.3} ms\"\n",
        dice.scale(0.05, 600.0)
    );
    text += &dice.maybe(0.2, |dice| {
        format!("jitter = \"{:.3} ms\"", dice.scale(0.1, 30.0))
    });
    match if dice.is_plain {
        7
    } else {
        dice.random.below(8)
    } {
        0 => text += "aqm = \"codel\"\n",
        1 => text += "aqm = { kind = \"fq-codel\", flows = 16, ecn = false }\n",
        2 => text += "aqm = { kind = \"pie\", ecn = true }\n",
        3 => {
            let _ = writeln!(text, "queue = \"{:.0} B\"", dice.scale(2e3, 1e6));
        }
        4 => text += "queue = \"40 packets\"\necn_threshold = \"10 packets\"\n",
        _ => {
            let _ = writeln!(
                text,
                "queue = \"{} packets\"",
                dice.one(&[1, 3, 20, 100, 1000])
            );
        }
    }
    match dice.random.below(8) {
        0 => {
            let _ = writeln!(text, "loss = \"{:.4} %\"", dice.scale(0.001, 30.0));
        }
        1 => {
            let leave = dice.scale(1.0, 60.0);
            let _ = writeln!(
                text,
                "loss = {{ enter_bad = \"0.4 %\", leave_bad = \"{leave:.2} %\", loss_bad = \"50 %\" }}"
            );
        }
        _ => {}
    }
    text += &dice.maybe(0.15, |dice| {
        let from = duration * dice.random.uniform();
        format!(
            "outages = [[\"{from:.3} s\", \"{:.3} s\"]]",
            from + dice.scale(0.05, 10.0)
        )
    });
    if dice.is_plain {
        return text;
    }
    text += &dice.maybe(0.06, |_| {
        format!(
            "policer = {{ rate = \"{:.0} bit/s\", burst = \"64 kB\" }}",
            bps / 2.0
        )
    });
    text += &dice.maybe(0.06, |_| {
        "reorder = { share = \"2 %\", depth = \"3 packets\" }".into()
    });
    text += &dice.maybe(0.06, |_| "mark = \"2 %\"".into());
    text + &dice.maybe(0.06, |_| {
        "aggregate = { period = \"4 ms\", size = \"16 packets\" }".into()
    })
}

fn topology(dice: &mut Dice) -> String {
    let kind = dice.one(&[
        "kind = \"fat-tree\"\nk = 4",
        "kind = \"bcube\"\nn = 2\nk = 2",
        "kind = \"vl2\"\nd_a = 2\nd_i = 2\nhosts_per_tor = 2",
        "kind = \"vpc\"\nhosts = 4\ninterfaces = 2",
    ]);
    let routing = dice.one(&["distinct", "ecmp"]);
    format!("[topology]\n{kind}\nrate = \"10 Mbit/s\"\nsubflows = 2\nrouting = \"{routing}\"\n")
}

/// `[receiver]`, `[sender]`, `[transport]`, `[device]`.
fn hosts(dice: &mut Dice) -> String {
    let mut text = String::from("[receiver]\n");
    text += &match dice.random.below(3) {
        0 => "buffer = \"auto\"\n".to_owned(),
        1 => format!("buffer = \"{:.0} B\"\n", dice.scale(3e3, 8e6)),
        _ => String::new(),
    };
    text += &dice.maybe(0.2, |dice| {
        format!("[sender]\nbuffer = \"{:.0} B\"", dice.scale(3e3, 8e6))
    });
    let _ = writeln!(
        text,
        "[transport]\nrecovery = \"{}\"",
        dice.one(&["rack", "rack", "sack", "newreno"])
    );
    text += &dice.maybe(0.2, |dice| {
        format!("mss = \"{} B\"", dice.one(&[100, 536, 1460, 9000]))
    });
    text += &dice.maybe(0.2, |dice| {
        format!("initial_window = \"{} packets\"", dice.one(&[1, 2, 10, 40]))
    });
    text += &dice.maybe(0.2, |_| "processing_delay = \"0 s\"".into());
    text += &dice.maybe(0.2, |_| "delayed_ack = \"40 ms\"".into());
    text += &dice.maybe(0.2, |_| "ecn = true".into());
    text += &dice.maybe(0.1, |_| "max_retries = 3".into());
    text + &dice.maybe(0.2, |dice| {
        let presets = [
            "seed000",
            "seed001",
            "huang2012-rrc",
            "phone2015",
            "5g2021",
            "host-relative",
        ];
        format!("[device]\npreset = \"{}\"", dice.one(&presets))
    })
}

fn workload(dice: &mut Dice, duration: f64) -> String {
    let direction = dice.one(&["download", "download", "download", "upload"]);
    match dice.random.below(if dice.is_plain { 3 } else { 6 }) {
        0 | 1 => format!("kind = \"bulk\"\ndirection = \"{direction}\""),
        2 => {
            format!(
                "kind = \"file\"\nsize = \"{:.0} B\"\ndirection = \"{direction}\"",
                dice.scale(1.0, 2e7)
            )
        }
        3 => {
            let (gap, size) = (dice.scale(0.01, 0.4 * duration), dice.scale(1.0, 1e5));
            let tolerance = dice.one(&["", "\ntolerance = \"300 ms\""]);
            format!(
                "kind = \"messages\"\nmean_gap = \"{gap:.4} s\"\nsize = \"{size:.0} B\"{tolerance}"
            )
        }
        4 => {
            let (rate, interval) = (dice.scale(8e3, 2e7), dice.scale(0.01, 2.0 * duration));
            let pauses = dice.one(&[
                "",
                "\non = \"1 s\"\noff = \"1 s\"",
                "\non = \"3 s\"\noff = \"700 ms\"",
            ]);
            format!(
                "kind = \"stream\"\nrate = \"{rate:.0} bit/s\"\ninterval = \"{interval:.4} s\"{pauses}"
            )
        }
        _ => format!(
            "kind = \"requests\"\nsize = \"{:.0} B\"\nthink = \"{:.3} s\"",
            dice.scale(1.0, 1e6),
            dice.random.uniform()
        ),
    }
}

/// A policy of the registries: a bundle, or any controller, scheduler and selector together.
pub(super) fn policy(dice: &mut Dice) -> String {
    if !dice.is_plain && dice.chance(0.5) {
        let bundle = dice.one(&POLICIES.each_ref()).name;
        return if bundle == "single" {
            "single:p0".to_owned()
        } else {
            bundle.to_owned()
        };
    }
    let controllers: Vec<&str> = Controller::all()
        .map(|controller| controller.name())
        .collect();
    let cc = dice.one(&controllers);
    let scheduler = dice.one(&SCHEDULERS.iter().map(|info| info.name).collect::<Vec<_>>());
    if dice.is_plain || dice.chance(0.5) {
        return format!("mptcp[cc={cc}]");
    }
    if dice.chance(0.6) {
        return format!("mptcp[cc={cc},scheduler={scheduler}]");
    }
    let selector = dice.one(&SELECTORS.iter().map(|info| info.name).collect::<Vec<_>>());
    format!("mptcp[cc={cc},scheduler={scheduler},selector={selector}]")
}
