//! Time per ACK, from the kernel's statistics of eBPF programs.
//!
//! All controllers have a connection in one lab, and send in turn for a third of a second. The
//! benchmark reads the counters every few milliseconds and takes the lower quartile of these
//! pieces, which other work on the machine hardly affects. The kernel's placement of a connection
//! and the order of sending have an effect that lasts as long as the lab, so there are several
//! labs, each with a different order.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use joulepath_kernel::cc::{Cost, Counting, Registered, Yardstick};
use joulepath_lab::{Lab, LabSpec, Program};
use joulepath_model::quantile::linear_unsorted;
use joulepath_model::scenario;

use crate::pair::Pair;

/// Length of the first turn: until slow start is over.
const WARM_UP: Duration = Duration::from_secs(1);
/// Settling time of each turn: until the burst after a pause is over.
const SETTLES: Duration = Duration::from_millis(100);
const COUNTED: Duration = Duration::from_millis(300);
const DRAINED: Duration = Duration::from_millis(60);
const PIECE: Duration = Duration::from_millis(20);
/// Minimum of ACKs in a piece for a meaningful mean.
const LEAST: u64 = 20;
const FIRST_PORT: u16 = 5001;
/// Turns per controller in one lab; more if there would be more than [`LABS`] labs.
const TURNS: usize = 2;
const LABS: usize = 8;

const HEAD: &str = "title = \"lossy links\"\nduration = \"3600 s\"\n";
const RADIOS: [&str; 2] = [
    r#"
[[path]]
name = "a"
rate = "60 Mbit/s"
delay = "10 ms"
loss = "0.02 %"
queue = "100 packets"
energy = { per_mbps = "100 mW", active = "1 W" }
"#,
    r#"
[[path]]
name = "b"
rate = "60 Mbit/s"
delay = "15 ms"
loss = "0.02 %"
queue = "100 packets"
energy = { per_mbps = "200 mW", active = "1 W" }
"#,
];

/// Times of one controller, ns.
#[derive(Clone, Copy)]
pub(crate) struct PerAck {
    /// Lower quartile over the pieces; `None` without ACKs.
    pub(crate) ack: Option<f64>,
    /// Mean over all loss episodes.
    pub(crate) loss: Option<f64>,
}

/// Results with one and with two subflows.
pub(crate) struct Acks {
    pub(crate) controllers: [Vec<PerAck>; 2],
    /// The kernel's Reno, called from an eBPF program.
    pub(crate) yardstick: [PerAck; 2],
    /// A program that does nothing.
    pub(crate) nothing: [Option<f64>; 2],
}

pub(crate) fn measure(registered: &[Registered], rounds: usize) -> Acks {
    let yardstick = Yardstick::new(&crate::name("kernel")).unwrap();
    let [
        (one, one_of_kernel, one_empty),
        (two, two_of_kernel, two_empty),
    ] = [1, 2].map(|paths| over(paths, registered, &yardstick, rounds));
    Acks {
        controllers: [one, two],
        yardstick: [one_of_kernel, two_of_kernel],
        nothing: [one_empty, two_empty],
    }
}

/// Counters of one program, and the means of its pieces.
#[derive(Default)]
struct Counted {
    pieces: Vec<f64>,
    all: Cost,
}

impl Counted {
    fn add(&mut self, before: Cost, after: Cost) {
        let (calls, nanoseconds) = (
            after.calls - before.calls,
            after.nanoseconds - before.nanoseconds,
        );
        self.all.calls += calls;
        self.all.nanoseconds += nanoseconds;
        if calls >= LEAST {
            self.pieces.push(nanoseconds as f64 / calls as f64);
        }
    }

    fn quartile(&self) -> Option<f64> {
        let mut pieces = self.pieces.clone();
        (!pieces.is_empty()).then(|| linear_unsorted(&mut pieces, 0.25))
    }
}

/// Programs per ACK (`cong_control` for controllers that own their window), per loss, and the one
/// that does nothing.
const PROGRAMS: [&[&str]; 3] = [
    &["jp_op_cong_avoid", "jp_op_cong_control"],
    &["jp_op_ssthresh"],
    &["jp_op_pkts_acked"],
];

fn pick(costs: &[(String, Cost)]) -> [Cost; 3] {
    PROGRAMS.map(|names| {
        let found = costs
            .iter()
            .find(|(program, _)| names.contains(&program.as_str()));
        found.map_or(Cost::default(), |&(_, cost)| cost)
    })
}

fn over(
    paths: usize,
    registered: &[Registered],
    yardstick: &Yardstick,
    rounds: usize,
) -> (Vec<PerAck>, PerAck, Option<f64>) {
    // The yardstick is last.
    let mut counted: Vec<[Counted; 3]> =
        (0..=registered.len()).map(|_| Default::default()).collect();
    let labs = (rounds / TURNS).clamp(1, LABS);
    let _counting = Counting::start().unwrap();
    for lab in 0..labs {
        let rounds = rounds * (lab + 1) / labs - rounds * lab / labs;
        in_lab(paths, (registered, yardstick), rounds, lab, &mut counted);
    }
    let mut rows: Vec<PerAck> = counted
        .iter()
        .map(|[ack, loss, _]| PerAck {
            ack: ack.quartile(),
            loss: loss.all.per_call_ns(),
        })
        .collect();
    let nothing = counted
        .last()
        .and_then(|[_, _, nothing]| nothing.quartile());
    let of_kernel = rows.pop().expect("the last one is the yardstick");
    (rows, of_kernel, nothing)
}

/// Shuffles the controllers into a different order for each lab.
fn shuffle(order: &mut [usize], lab: usize) {
    order.sort_by_key(|&of| {
        let mut hasher = DefaultHasher::new();
        (lab, of).hash(&mut hasher);
        hasher.finish()
    });
}

/// Lets all controllers send in turn in one lab. The lab's number determines the order.
fn in_lab(
    paths: usize,
    (registered, yardstick): (&[Registered], &Yardstick),
    rounds: usize,
    number: usize,
    counted: &mut [[Counted; 3]],
) {
    let text = format!("{HEAD}{}", RADIOS[..paths].concat());
    let scenario = scenario::load(&text, &|name| Err(format!("no trace {name}"))).unwrap();
    let program = Program::at(env!("CARGO_BIN_EXE_joulepath-worker"));
    let mut lab = Lab::start(&LabSpec::of(&scenario, 1), &program).unwrap();
    lab.start_clock().unwrap();
    for further in 1..paths {
        lab.announce(further, false).unwrap();
    }
    // Keeps the windows from one turn to the next.
    lab.server()
        .set_sysctl("net.ipv4.tcp_slow_start_after_idle", "0")
        .unwrap();
    let from = lab.tunnels()[0].client_address;
    let name = |of: usize| {
        registered
            .get(of)
            .map_or_else(|| yardstick.name(), Registered::name)
    };
    let mut order: Vec<usize> = (0..counted.len()).collect();
    shuffle(&mut order, number);
    let mut pairs: Vec<Pair> = order
        .iter()
        .zip(FIRST_PORT..)
        .map(|(&of, port)| {
            let at = SocketAddr::new(lab.server_address(), port);
            let mut pair = Pair::open(lab.server(), lab.client(), from, at, name(of));
            pair.download(WARM_UP);
            pair.drain(DRAINED);
            pair
        })
        .collect();
    let costs = |of: usize| match registered.get(of) {
        Some(registered) => pick(&registered.costs().unwrap()),
        None => pick(&yardstick.costs().unwrap()),
    };
    for _ in 0..rounds {
        for (&of, pair) in order.iter().zip(&mut pairs) {
            turn(pair, || costs(of), &mut counted[of]);
        }
    }
}

/// Lets one controller send, and reads its counters piece by piece.
fn turn(pair: &mut Pair, costs: impl Fn() -> [Cost; 3] + Sync, counted: &mut [Counted; 3]) {
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(SETTLES);
            let end = Instant::now() + COUNTED;
            let mut before = costs();
            while Instant::now() < end {
                thread::sleep(PIECE);
                let after = costs();
                for (counted, (before, after)) in
                    counted.iter_mut().zip(before.into_iter().zip(after))
                {
                    counted.add(before, after);
                }
                before = after;
            }
        });
        pair.download(SETTLES + COUNTED);
    });
    pair.drain(DRAINED);
}
