//! Real sockets on the loopback interface, with a program as the meter.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use joulepath_meter::calibrate::{Action, Flow, Rig};
use joulepath_meter::live::{FarEnd, Link, LiveRig, Passage, Switch, UdpLink};
use joulepath_meter::{Kind, Tree, command};
use joulepath_model::cancel::Cancel;
use joulepath_model::energy::Traffic;
use joulepath_model::units::{BitRate, Nanos};

/// A far end on the loopback interface, for one test.
struct Far {
    address: String,
    stop: Cancel,
    thread: Option<thread::JoinHandle<()>>,
}

impl Far {
    fn start() -> Far {
        let far_end = FarEnd::open("127.0.0.1:0").unwrap();
        let address = far_end.address().unwrap().to_string();
        let stop = Cancel::new();
        let stopped = stop.clone();
        let thread = Some(thread::spawn(move || far_end.serve(&stopped).unwrap()));
        Far {
            address,
            stop,
            thread,
        }
    }

    fn link(&self) -> UdpLink {
        UdpLink::connect("lo", &self.address).unwrap()
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        self.stop.set();
        self.thread.take().unwrap().join().unwrap();
    }
}

fn flow(direction: Traffic) -> Flow {
    Flow {
        direction,
        rate: BitRate::from_bps(4_000_000),
        packet: 1000,
    }
}

/// Bytes by direction in one second of a flow.
fn carried(link: &mut UdpLink, direction: Traffic) -> [u64; 2] {
    let mut bytes = [0; 2];
    let mut count =
        |passage: Passage| bytes[passage.direction as usize] += u64::from(passage.bytes);
    link.flow(
        &flow(direction),
        Duration::from_secs(1),
        &Cancel::new(),
        &mut count,
    )
    .unwrap();
    bytes
}

#[test]
fn flows_reach_their_rate_in_both_directions() {
    let far = Far::start();
    let mut link = far.link();
    // 4 Mbit/s for a second: 500 kB. A busy machine may send less, but never more.
    let [down, up] = carried(&mut link, Traffic::Up);
    assert!(down == 0 && (300_000..=501_000).contains(&up), "{up}");
    let [down, up] = carried(&mut link, Traffic::Down);
    assert!(up < 100 && (300_000..=502_000).contains(&down), "{down}");
}

#[test]
fn probes_are_echoed_only_with_a_token() {
    let far = Far::start();
    let probe = far.link().probe().unwrap();
    assert!(probe.back.unwrap() > probe.sent && probe.bytes == 60);
    let stranger = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    stranger
        .set_read_timeout(Some(Duration::from_millis(300)))
        .unwrap();
    stranger
        .send_to(b"01234567E\0\0\0\x01", &far.address)
        .unwrap();
    assert!(
        stranger.recv(&mut [0; 64]).is_err(),
        "a stranger is not answered"
    );
}

#[test]
fn a_missing_interface_or_far_end_is_an_error() {
    let far = Far::start();
    let error = UdpLink::connect("nosuch0", &far.address).unwrap_err();
    assert!(error.message.contains("through nosuch0"), "{error}");
    let error = UdpLink::connect("lo", "127.0.0.1:1").unwrap_err();
    assert!(
        error
            .message
            .starts_with("cannot reach 127.0.0.1:1 through lo"),
        "{error}"
    );
    // Another server.
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap().to_string();
    let told = thread::spawn(move || {
        use std::io::Write;
        other
            .accept()
            .unwrap()
            .0
            .write_all(b"SSH-2.0-OpenSSH\n")
            .unwrap();
    });
    let error = UdpLink::connect("lo", &address).unwrap_err();
    assert!(
        error.help.unwrap().contains("calibrate --serve"),
        "{}",
        error.message
    );
    told.join().unwrap();
}

/// A rig on the loopback interface whose meter is `meter`.
fn rig(far: &Far, meter: &str, stop: &Cancel) -> LiveRig {
    let meter = command(meter, Duration::from_secs(5)).unwrap();
    let links: Vec<(String, Box<dyn Link>)> = vec![("lo".into(), Box::new(far.link()))];
    LiveRig::new(
        meter,
        links,
        None,
        Tree::new("/sys"),
        Path::new("/proc"),
        stop.clone(),
    )
}

const STEADY: &str = "while :; do echo 1.5; sleep 0.05; done";

#[test]
fn the_live_rig_reads_meter_and_processors_during_traffic() {
    let far = Far::start();
    let mut rig = rig(&far, STEADY, &Cancel::new());
    let lasts = Nanos::from_secs(1);
    let record = rig
        .run(&Action::Steady {
            interface: 0,
            flow: flow(Traffic::Up),
            lasts,
        })
        .unwrap();
    assert!(record.end >= record.start + lasts);
    assert!(
        record.samples.len() >= 3,
        "{} samples",
        record.samples.len()
    );
    assert!(
        record
            .samples
            .iter()
            .all(|sample| sample.value == 1.5 && sample.cpu_s > 0.0)
    );
    assert!(record.samples.is_sorted_by_key(|sample| sample.at));
    assert!(
        record
            .passed
            .iter()
            .map(|passed| u64::from(passed.bytes))
            .sum::<u64>()
            > 300_000
    );

    let gaps = vec![Nanos::from_millis(100), Nanos::from_millis(50)];
    let record = rig
        .run(&Action::Probes {
            interface: 0,
            gaps: gaps.clone(),
        })
        .unwrap();
    // The time since the last packet is at least the requested quiet time.
    assert_eq!(record.echoes.len(), 2);
    assert!(
        record
            .echoes
            .iter()
            .zip(&gaps)
            .all(|((quiet, _), gap)| quiet >= gap),
        "{:?}",
        record.echoes
    );

    let record = rig.run(&Action::Work { cores: 1.0, lasts }).unwrap();
    let cpu = record.samples.last().unwrap().cpu_s - record.samples[0].cpu_s;
    assert!(cpu > 0.2, "{cpu} s of a second's work");
}

#[test]
fn the_off_time_excludes_switching_on() {
    let far = Far::start();
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log").display().to_string();
    let switch = Switch {
        off: format!("echo off >> '{log}'"),
        on: format!("echo on >> '{log}'; sleep 0.5"),
    };
    let meter = command(STEADY, Duration::from_secs(5)).unwrap();
    let links: Vec<(String, Box<dyn Link>)> = vec![("lo".into(), Box::new(far.link()))];
    let (tree, proc) = (Tree::new("/sys"), Path::new("/proc"));
    let mut rig = LiveRig::new(meter, links, Some(switch), tree, proc, Cancel::new());
    let off = rig.run(&Action::Off(Nanos::from_millis(300))).unwrap();
    let next = rig.run(&Action::Idle(Nanos::from_millis(1))).unwrap();
    assert!(off.end >= off.start + Nanos::from_millis(300));
    assert!(
        next.start >= off.end + Nanos::from_millis(500),
        "{:?} {:?}",
        off.end,
        next.start
    );
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "off\non\n");
}

#[test]
fn a_dead_meter_or_a_cancel_ends_the_calibration() {
    let far = Far::start();
    let mut dying = rig(
        &far,
        "echo 1; sleep 0.2; echo gone >&2; exit 3",
        &Cancel::new(),
    );
    let error = dying.run(&Action::Idle(Nanos::from_secs(20))).unwrap_err();
    assert!(
        error.message.contains("last line on stderr: gone"),
        "{error}"
    );
    let stop = Cancel::new();
    let mut stopped = rig(&far, STEADY, &stop);
    stop.set();
    let begin = Instant::now();
    let error = stopped
        .run(&Action::Idle(Nanos::from_secs(600)))
        .unwrap_err();
    assert!(
        error.kind == Kind::Refused && begin.elapsed() < Duration::from_secs(300),
        "{error}"
    );
}
