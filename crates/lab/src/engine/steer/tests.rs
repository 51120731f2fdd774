//! Tests with a fake kernel that records its calls, and a connection with counters that the test
//! sets.

use std::io;

use joulepath_control::select::{PathEnergy, SelectorSpec};

use super::super::view::PathView;
use super::*;

/// WiFi and LTE: 1 and 2 W, no slope, so WiFi is cheaper.
fn energies() -> [PathEnergy; 2] {
    [1.0, 2.0].map(|sunk_w| PathEnergy {
        sunk_w,
        ..PathEnergy::default()
    })
}

/// A recorded call: the path and its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Open(usize, bool),
    Backup(usize, bool),
    Close(usize),
}

#[derive(Default)]
struct Kernel {
    told: Vec<Told>,
    /// The result of the next call to open.
    refusal: Option<io::ErrorKind>,
    /// True until the MP_JOIN handshake is complete: the kernel refuses MP_PRIO.
    is_joining: bool,
}

/// The last part of an address is the number of its path.
fn path_of(address: IpAddr) -> usize {
    let IpAddr::V4(v4) = address else {
        panic!("{address}")
    };
    usize::from(v4.octets()[3])
}

impl Subflows for Kernel {
    fn open(&mut self, token: Token, local: &Local, _remote: SocketAddr) -> Result<()> {
        assert_eq!((token, local.port), (Token(7), 0));
        if let Some(kind) = self.refusal {
            return Err(KernelError::io("opening", io::Error::from(kind)).into());
        }
        self.told
            .push(Told::Open(path_of(local.address), local.backup));
        Ok(())
    }

    fn set_backup(&mut self, _token: Token, ends: Ends, backup: bool) -> Result<()> {
        if self.is_joining {
            return Err(
                KernelError::io("priority", io::Error::from(io::ErrorKind::InvalidInput)).into(),
            );
        }
        self.told
            .push(Told::Backup(path_of(ends.local.ip()), backup));
        Ok(())
    }

    fn close(&mut self, _token: Token, ends: Ends) -> Result<()> {
        self.told.push(Told::Close(path_of(ends.local.ip())));
        Ok(())
    }
}

fn address(path: usize) -> IpAddr {
    IpAddr::from([10, 0, 0, path as u8])
}

/// A connection with a selector, the fake kernel, and the state at both ends.
struct Bench {
    steered: Steered,
    kernel: Kernel,
    view: View,
}

fn bench(name: &str, options: &[(&str, &str)], demand: Demand) -> Bench {
    let mut spec = SelectorSpec::by_name(name).unwrap();
    spec.options = options
        .iter()
        .map(|&(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    let mut selector = spec.bind(&["wifi", "lte"]).unwrap();
    let observer = Observer::new(&energies(), 1000.0);
    let surroundings = Surroundings {
        mss_bytes: 1000.0,
        initial_window: 10.0,
        receive_window: f64::INFINITY,
        device: DeviceEnergy::additive(),
    };
    let uses = selector.want(&surroundings.snapshot(Nanos::ZERO, demand, &observer));
    let plan = |place| PathPlan {
        path: place,
        place,
        local: local(place, address(place), 1),
        from: Nanos::ZERO,
    };
    let remote = "10.0.1.1:5001".parse().unwrap();
    let plans = vec![plan(0), plan(1)];
    let policy = SubflowPolicy::Selector(selector);
    let steered = Steered::new(
        policy,
        observer,
        surroundings,
        plans,
        remote,
        Nanos::ZERO,
        &uses,
    );
    let view = View {
        token: Token(7),
        demand,
        unsent: demand,
        paths: vec![PathView::default(); 2],
    };
    let mut bench = Bench {
        steered,
        kernel: Kernel::default(),
        view,
    };
    bench.opened(0);
    bench
}

impl Bench {
    /// The calls to the kernel at a time in ms.
    fn act(&mut self, ms: u64) -> Vec<Told> {
        self.steered
            .act(Nanos::from_millis(ms), &self.view, &mut self.kernel)
            .unwrap();
        std::mem::take(&mut self.kernel.told)
    }

    fn opened(&mut self, path: usize) {
        let ends = Ends {
            local: (address(path), 9).into(),
            remote: self.steered.remote,
        };
        let counters = Counters {
            state: PathState::Open,
            cwnd: 10,
            ..self.view.paths[path].counters
        };
        let counters = Counters {
            srtt: Nanos::from_millis(20),
            ..counters
        };
        self.view.paths[path] = PathView {
            counters,
            ends: Some(ends),
            outstanding_bytes: 1000,
            rto: Nanos::from_millis(200),
        };
    }

    fn closed(&mut self, path: usize) {
        let delivered_bytes = self.view.paths[path].counters.delivered_bytes;
        let counters = Counters {
            delivered_bytes,
            ..Counters::default()
        };
        self.view.paths[path] = PathView {
            counters,
            ..PathView::default()
        };
    }
}

#[test]
fn a_backup_joins_as_a_backup_as_soon_as_the_kernel_permits() {
    let mut bench = bench("backup", &[], Demand::Endless);
    // Nothing before the first look at 10 ms; then the kernel refuses until data is acknowledged.
    bench.kernel.refusal = Some(io::ErrorKind::NotConnected);
    assert_eq!(bench.act(5), []);
    assert_eq!(bench.act(10), []);
    // Far longer than a permanent refusal takes: too early is no refusal.
    assert_eq!(bench.act(20_000), []);
    assert_eq!(
        bench.steered.due(Nanos::from_millis(20_000)),
        Nanos::from_millis(20_005)
    );
    bench.kernel.refusal = None;
    assert_eq!(bench.act(20_005), [Told::Open(1, true)]);
    // The handshake has started and is not started again, whether or not it is complete.
    assert_eq!(bench.act(20_010), []);
    bench.opened(1);
    bench.view.paths[1].counters.backup = true;
    assert_eq!(bench.act(30_000), []);
}

#[test]
fn a_lost_mp_prio_is_sent_again_after_a_timeout() {
    let mut bench = bench(
        "quota",
        &[("on", "lte"), ("bytes", "1 MB")],
        Demand::Endless,
    );
    bench.opened(1);
    assert_eq!(bench.act(10), []);
    bench.view.paths[1].counters.delivered_bytes = 1_000_000;
    // Looks every 100 ms from 10 ms on.
    assert_eq!(bench.act(110), [Told::Backup(1, true)]);
    assert_eq!(bench.act(210), []);
    assert_eq!(bench.act(310), [Told::Backup(1, true)]);
    // The sender has received it.
    bench.view.paths[1].counters.backup = true;
    assert_eq!(bench.act(600), []);
}

#[test]
fn a_path_gets_no_new_data_before_it_closes_and_can_reopen() {
    let overflow = [("full_after", "100 ms"), ("close_after", "200 ms")];
    let mut bench = bench("overflow", &overflow, Demand::Endless);
    // Endless data fills any path: after 100 ms the next one opens.
    assert_eq!(bench.act(10), []);
    assert_eq!(bench.act(110), [Told::Open(1, false)]);
    bench.opened(1);
    bench.view.demand = Demand::Bytes(0.0);
    let mut told = vec![];
    for ms in (210..2700).step_by(100) {
        told.extend(bench.act(ms));
        bench.view.paths[1].counters.backup = told.contains(&Told::Backup(1, true));
    }
    // A trial as a backup from 410 ms on, for 2 s; then it closes. It is a backup already, but the
    // sender's data is not all acknowledged.
    assert_eq!(told.first(), Some(&Told::Backup(1, true)));
    assert!(!told.contains(&Told::Close(1)), "{told:?}");
    assert!(
        bench.steered.paths[1].pending.closing_until.is_some(),
        "{told:?}"
    );
    bench.view.paths[1].outstanding_bytes = 0;
    assert_eq!(bench.act(2710), [Told::Close(1)]);
    bench.closed(1);
    assert_eq!(bench.act(2800), []);
    bench.view.demand = Demand::Endless;
    let again: Vec<Told> = (2900..3500)
        .step_by(100)
        .flat_map(|ms| bench.act(ms))
        .collect();
    assert!(again.contains(&Told::Open(1, false)), "{again:?}");
}

#[test]
fn a_subflow_with_unacknowledged_data_is_closed_after_two_timeouts() {
    let mut bench = bench("overflow", &[], Demand::Bytes(0.0));
    bench.opened(1);
    // Never wanted, so closed at the first look. The deadline is 2 · 200 ms later.
    assert_eq!(bench.act(10), [Told::Backup(1, true)]);
    bench.view.paths[1].counters.backup = true;
    assert_eq!(bench.act(405), []);
    assert_eq!(bench.act(410), [Told::Close(1)]);
}

#[test]
fn a_closing_subflow_becomes_a_backup_as_soon_as_its_handshake_permits() {
    let mut bench = bench("overflow", &[], Demand::Bytes(0.0));
    bench.opened(1);
    bench.kernel.is_joining = true;
    assert_eq!(bench.act(10), []);
    assert_eq!(bench.act(15), []);
    bench.kernel.is_joining = false;
    assert_eq!(bench.act(20), [Told::Backup(1, true)]);
    // It may have been lost if the sender still gives data to the subflow a timeout later.
    assert_eq!(bench.act(25), []);
    assert_eq!(bench.act(220), [Told::Backup(1, true)]);
    bench.view.paths[1].counters.backup = true;
    bench.view.paths[1].outstanding_bytes = 0;
    assert_eq!(bench.act(225), [Told::Close(1)]);
}

#[test]
fn a_lasting_refusal_ends_the_run() {
    let mut bench = bench("backup", &[], Demand::Endless);
    bench.kernel.refusal = Some(io::ErrorKind::InvalidInput);
    let act = |bench: &mut Bench, ms| {
        bench
            .steered
            .act(Nanos::from_millis(ms), &bench.view, &mut bench.kernel)
    };
    assert!(act(&mut bench, 10).is_ok());
    assert!(act(&mut bench, 10_009).is_ok());
    assert!(act(&mut bench, 10_010).is_err());
}
