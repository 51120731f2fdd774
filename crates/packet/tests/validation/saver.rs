//! `joule[preset=saver]` against the best single path, on random devices in steady, known
//! conditions.

use joulepath_model::random::{Domain, Stream};

use crate::simulate;

/// Maximum of the joules of a bit over those of the best single path: a change must save 5 %, and
/// the selector's costs leave out headers and ACKs.
const MOST: f64 = 1.06;
/// A path whose rate is less than this multiple of the load does not count.
const ROOM: f64 = 1.5;

/// A kind of radio: rates in Mbit/s, profiles, and numbers near theirs: mW per Mbit/s, mW while
/// active, promotion in mW and ms, tail in mW and ms.
struct Kind {
    name: &'static str,
    mbps: (f64, f64),
    profiles: &'static [&'static str],
    numbers: [f64; 6],
}

const WIFI: Kind = Kind {
    name: "wifi",
    mbps: (3.0, 60.0),
    profiles: &["wifi6-2021", "wifi5-2019", "wifi-huang2012"],
    numbers: [1.2, 140.0, 140.0, 79.0, 140.0, 238.0],
};
const CELLULAR: [Kind; 3] = [
    Kind {
        name: "lte",
        mbps: (3.0, 50.0),
        profiles: &["lte-2021", "lte-huang2012"],
        numbers: [15.0, 754.0, 1210.0, 325.0, 178.0, 10_500.0],
    },
    Kind {
        name: "nr",
        mbps: (10.0, 60.0),
        profiles: &["5g-sa-2021", "5g-nsa-2021", "5g-lowband-2021"],
        numbers: [3.0, 1105.0, 1210.0, 325.0, 249.0, 10_200.0],
    },
    Kind {
        name: "umts",
        mbps: (1.0, 5.0),
        profiles: &["3g-huang2012"],
        numbers: [122.0, 818.0, 659.0, 582.0, 800.0, 8088.0],
    },
];

struct Dice(Stream);

impl Dice {
    fn log(&mut self, (least, most): (f64, f64)) -> f64 {
        least * ((most / least).ln() * self.0.uniform()).exp()
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.0.below(all.len() as u64) as usize]
    }

    /// A shipped profile, or one of a user within a factor of 3 of it.
    fn energy(&mut self, kind: &Kind) -> String {
        if self.0.uniform() < 0.6 {
            return format!("\"{}\"", self.one_of(kind.profiles));
        }
        let [per_mbps, active, wake, wake_ms, tail, tail_ms] = kind
            .numbers
            .map(|number| number * self.log((1.0 / 3.0, 3.0)));
        format!(
            "{{ model = \"rrc\", per_mbps = \"{per_mbps:.3} mW\", up_per_mbps = \"{:.3} mW\", \
             active = \"{active:.1} mW\", inactivity = \"100 ms\", idle = \"{:.2} mW\", \
             promotion = {{ power = \"{wake:.1} mW\", duration = \"{wake_ms:.1} ms\" }}, \
             tail = [{{ power = \"{tail:.1} mW\", duration = \"{tail_ms:.1} ms\" }}] }}",
            3.0 * per_mbps,
            self.log((0.1, 20.0)),
        )
    }
}

/// Device `number` with a right history of each path: the scenario, and the paths that have room
/// for its load.
fn device(number: u64, workload: &str) -> (String, Vec<&'static str>) {
    let mut dice = Dice(Stream::new(number, Domain::Benchmark, 56 << 32));
    let mut kinds: Vec<&Kind> = CELLULAR.iter().collect();
    let mut chosen = vec![&WIFI];
    for _ in 0..dice.one_of(&[1, 2]) {
        chosen.push(kinds.remove(dice.0.below(kinds.len() as u64) as usize));
    }
    let rates: Vec<f64> = chosen.iter().map(|kind| dice.log(kind.mbps)).collect();
    let load = rates[0].min(10.0) * (0.05 + 0.55 * dice.0.uniform());
    let mut toml = "duration = \"180 s\"\nwarm_up = \"120 s\"\n".to_owned();
    for (kind, mbps) in chosen.iter().zip(&rates) {
        let rtt_ms = dice.log((10.0, 120.0));
        toml += &format!(
            "[[path]]\nname = \"{}\"\nrate = \"{mbps:.4} Mbit/s\"\ndelay = \"{:.3} ms\"\n\
             queue = \"{:.0} packets\"\nenergy = {}\n\
             history = {{ rate = \"{:.4} Mbit/s\", rtt = \"{rtt_ms:.3} ms\" }}\n",
            kind.name,
            rtt_ms / 2.0,
            (mbps * rtt_ms / 12.0).max(20.0),
            dice.energy(kind),
            0.96 * mbps,
        );
    }
    let base_mw = dice.one_of(&[0.0, 1.0, 1.0]) * 4000.0 * dice.0.uniform();
    toml += &format!("[device]\nshared_base = \"{base_mw:.0} mW\"\n[workload]\n");
    toml += &match workload {
        "messages" => {
            let bytes = dice.log((1e3, 1e5));
            let gap_ms = bytes * 8.0 / (load * 1e3);
            format!("kind = \"messages\"\nsize = \"{bytes:.0} B\"\nmean_gap = \"{gap_ms:.2} ms\"")
        }
        "bursts" => format!(
            "kind = \"stream\"\nrate = \"{load:.4} Mbit/s\"\non = \"{:.2} s\"\noff = \"{:.2} s\"",
            dice.log((0.5, 10.0)),
            dice.log((1.0, 20.0))
        ),
        _ => format!("kind = \"stream\"\nrate = \"{load:.4} Mbit/s\""),
    };
    let roomy = chosen
        .iter()
        .zip(rates)
        .filter(|&(_, mbps)| mbps >= ROOM * load);
    (toml, roomy.map(|(kind, _)| kind.name).collect())
}

fn compare(workload: &str) {
    let over = (0..100).filter_map(|number| {
        let (toml, roomy) = device(number, workload);
        let joules_per_bit = |policy: &str| 1.0 / simulate(&toml, policy, 1).bits_per_joule;
        let best = roomy
            .iter()
            .map(|name| joules_per_bit(&format!("single:{name}[cc=cubic]")))
            .fold(f64::INFINITY, f64::min);
        let ratio = joules_per_bit("joule[preset=saver]") / best;
        (ratio > MOST).then(|| format!("device {number}: {ratio:.3}\n{toml}\n"))
    });
    let over: Vec<String> = over.collect();
    assert!(over.is_empty(), "{}", over.concat());
}

#[test]
fn saver_carries_a_stream_like_the_best_path() {
    compare("stream");
}

#[test]
fn saver_carries_bursts_like_the_best_path() {
    compare("bursts");
}

#[test]
fn saver_carries_messages_like_the_best_path() {
    compare("messages");
}
