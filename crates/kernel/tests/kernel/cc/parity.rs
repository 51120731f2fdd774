//! Compiles each header for eBPF and for the simulator, and checks that both have the same state,
//! bit by bit, after the same events.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::slice;

use joulepath_controllers::{
    Ack, AckFlags, Area, Capability, Connection, Controller, Event as Told, LossKind, Subflow,
};
use libbpf_rs::{MapCore, MapFlags, Object, ObjectBuilder, ProgramInput};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// Events per controller; each is a system call.
const CASES: u32 = 200;
const EVENTS: usize = 40;

/// `struct exchange` of parity.bpf.c.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Exchange {
    connection: Connection,
    call: u32,
    own: u32,
    acked: u32,
    rtt_us: u32,
    flags: u32,
    kind: u32,
    ssthresh: u32,
    reserved: u32,
    told: Told,
    area: Area,
}

impl Exchange {
    fn as_bytes(&self) -> &[u8] {
        // SAFETY: a `repr(C)` struct of integers without padding. The slice lives as long as the
        // borrow.
        unsafe { slice::from_raw_parts((&raw const *self).cast(), size_of::<Self>()) }
    }

    fn from_bytes(bytes: &[u8]) -> Self {
        assert_eq!(bytes.len(), size_of::<Self>());
        // SAFETY: as above; all bit patterns are valid. The slice may be unaligned.
        unsafe { bytes.as_ptr().cast::<Self>().read_unaligned() }
    }
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Ack {
        own: usize,
        acked: u32,
        rtt_us: u32,
        flags: u32,
    },
    Loss {
        own: usize,
        kind: u32,
    },
    Restart {
        own: usize,
    },
    Control {
        own: usize,
        told: Told,
    },
}

/// Any input for a controller that owns its window, including invalid input: the arithmetic is
/// total.
fn control(subflows: usize) -> impl Strategy<Value = Event> {
    let counts = (0u32..40, 0u32..8, 0u32..8, 0u32..300, 0u32..300);
    let sample = (
        0u32..3000,
        0u32..3000,
        0u32..60,
        prop_oneof![Just(0u32), 100u32..400_000],
    );
    let alone = (4u32..9).prop_map(|bit| 1 << bit);
    let kind = prop_oneof![8 => 0u32..16, 5 => alone];
    (
        0..subflows,
        counts,
        sample,
        kind,
        prop_oneof![Just(0u32), 100u32..400_000],
    )
        .prop_map(
            |(own, (acked, lost, marked, prior_in_flight, in_flight), sample, kind, rtt_us)| {
                let (total_delivered, prior_delivered, delivered, interval_us) = sample;
                let told = Told {
                    acked,
                    rtt_us,
                    flags: all_flags(kind),
                    lost,
                    marked,
                    prior_in_flight,
                    in_flight,
                    mss: 1428,
                    total_delivered,
                    prior_delivered,
                    delivered,
                    interval_us,
                };
                Event::Control { own, told }
            },
        )
}

fn event(subflows: usize) -> impl Strategy<Value = Event> {
    let own = 0..subflows;
    prop_oneof![
        8 => (own.clone(), 0u32..40, prop_oneof![Just(0u32), 100u32..400_000], 0u32..8)
            .prop_map(|(own, acked, rtt_us, flags)| Event::Ack { own, acked, rtt_us, flags }),
        1 => (own.clone(), 0u32..3).prop_map(|(own, kind)| Event::Loss { own, kind }),
        1 => own.prop_map(|own| Event::Restart { own }),
    ]
}

/// An arbitrary state of a subflow: windows, thresholds, RTTs, flags and control values.
fn subflow() -> impl Strategy<Value = Subflow> {
    let control = (0u32..1 << 20, 0u32..=1 << 20, 0u32..1 << 18, 0u32..1 << 30);
    (
        1u32..2000,
        prop_oneof![Just(0x7fff_ffffu32), 2u32..1000],
        100u32..400_000,
        0u32..8,
        control,
    )
        .prop_map(
            |(cwnd, ssthresh, srtt_us, flags, (cost, share, price, loss))| {
                let mut subflow = Subflow {
                    cwnd,
                    ssthresh,
                    srtt_us,
                    flags,
                    ..Subflow::default()
                };
                subflow.own.set_energy_cost(f64::from(cost) / 65536.0);
                subflow
                    .own
                    .set_target_share(f64::from(share) / f64::from(1 << 20));
                subflow.own.set_path_price(f64::from(price) / 65536.0);
                subflow.own.set_loss(f64::from(loss) / f64::from(1 << 30));
                subflow
            },
        )
}

fn life(owns_window: bool) -> impl Strategy<Value = (Vec<Subflow>, Vec<Event>)> {
    let events = move |n| {
        if owns_window {
            control(n).boxed()
        } else {
            event(n).boxed()
        }
    };
    (1usize..=8).prop_flat_map(move |n| {
        (
            prop::collection::vec(subflow(), n),
            prop::collection::vec(events(n), 1..EVENTS),
        )
    })
}

/// Compiles parity.bpf.c for one controller with the build's flags.
fn compile(name: &str) -> PathBuf {
    let object = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("parity-{name}.o"));
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let clang = std::env::var("CLANG").unwrap_or_else(|_| "clang".into());
    let status = Command::new(clang)
        .args(["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-std=gnu11"])
        .args([
            format!("-DJP_NAME={name}"),
            format!("-DJP_HEADER=\"{name}.h\""),
        ])
        .args(["-D__TARGET_ARCH_x86", "-I", env!("JOULEPATH_BPF_HEADERS")])
        .args(["-I".into(), root.join("bpf")])
        .args(["-I".into(), root.join("cc")])
        .args([
            "-c".into(),
            root.join("tests/kernel/cc/parity.bpf.c"),
            "-o".into(),
            object.clone(),
        ])
        .status();
    assert!(status.expect("the build used clang, too").success());
    object
}

struct InKernel(Object);

impl InKernel {
    fn load(controller: Controller) -> Self {
        let object = ObjectBuilder::default()
            .open_file(compile(controller.name()))
            .unwrap();
        InKernel(
            object
                .load()
                .unwrap_or_else(|error| panic!("{}: {error}", controller.name())),
        )
    }

    fn call(&self, exchange: &Exchange) -> Exchange {
        let map = self.0.maps().find(|map| map.name() == "exchanges").unwrap();
        map.update(&0u32.to_ne_bytes(), exchange.as_bytes(), MapFlags::ANY)
            .unwrap();
        let program = self
            .0
            .progs_mut()
            .find(|program| program.name() == "call")
            .unwrap();
        let output = program.test_run(ProgramInput::default()).unwrap();
        assert_eq!(output.return_value, 0);
        Exchange::from_bytes(
            &map.lookup(&0u32.to_ne_bytes(), MapFlags::ANY)
                .unwrap()
                .unwrap(),
        )
    }
}

fn flags(bits: u32) -> AckFlags {
    AckFlags::default()
        .with(AckFlags::ECE, bits & 1 != 0)
        .with(AckFlags::CWND_LIMITED, bits & 2 != 0)
        .with(AckFlags::ROUND_END, bits & 4 != 0)
}

fn all_flags(bits: u32) -> AckFlags {
    flags(bits)
        .with(AckFlags::APP_LIMITED, bits & 8 != 0)
        .with(AckFlags::STARTS, bits & 16 != 0)
        .with(AckFlags::EPISODE, bits & 32 != 0)
        .with(AckFlags::TIMED_OUT, bits & 64 != 0)
        .with(AckFlags::RESTARTS, bits & 128 != 0)
        .with(AckFlags::IN_VAIN, bits & 256 != 0)
}

/// Sends the same events to both; any difference is an error.
fn compare(
    controller: Controller,
    kernel: &InKernel,
    subflows: &[Subflow],
    events: &[Event],
) -> Result<(), TestCaseError> {
    let mut native = Connection::new(subflows.len());
    native.subflows[..subflows.len()].copy_from_slice(subflows);
    native.now_us = 1_000_000;
    let mut areas = [Area::default(); 8];
    for i in 0..subflows.len() {
        let exchange = Exchange {
            connection: native,
            call: 0,
            own: i as u32,
            ..Exchange::default()
        };
        let answer = kernel.call(&exchange);
        controller.init(&mut native, i);
        prop_assert_eq!(answer.connection, native, "init of {}", i);
    }
    for &event in events {
        native.now_us += 7_919;
        let mut exchange = Exchange {
            connection: native,
            ..Exchange::default()
        };
        let mut ssthresh = 0;
        let mut changed = None;
        match event {
            Event::Ack {
                own,
                acked,
                rtt_us,
                flags: bits,
            } => {
                exchange = Exchange {
                    call: 1,
                    own: own as u32,
                    acked,
                    rtt_us,
                    flags: bits,
                    ..exchange
                };
                controller.on_ack(
                    &mut native,
                    own,
                    Ack {
                        acked,
                        rtt_us,
                        flags: flags(bits),
                    },
                );
            }
            Event::Loss { own, kind } => {
                exchange = Exchange {
                    call: 2,
                    own: own as u32,
                    kind,
                    ..exchange
                };
                let kinds = [LossKind::FastRetransmit, LossKind::Timeout, LossKind::Ecn];
                ssthresh = controller.on_loss(&mut native, own, kinds[kind as usize]);
            }
            Event::Restart { own } => {
                exchange = Exchange {
                    call: 3,
                    own: own as u32,
                    ..exchange
                };
                controller.on_restart(&mut native, own);
            }
            Event::Control { own, told } => {
                exchange = Exchange {
                    call: 4,
                    own: own as u32,
                    told,
                    area: areas[own],
                    ..exchange
                };
                controller.control(&mut native, own, &told, &mut areas[own]);
                changed = Some(own);
            }
        }
        let answer = kernel.call(&exchange);
        prop_assert_eq!(answer.connection, native, "{:?}", event);
        prop_assert_eq!(answer.ssthresh, ssthresh, "{:?}", event);
        if let Some(own) = changed {
            prop_assert_eq!(answer.area, areas[own], "{:?}", event);
        }
    }
    Ok(())
}

#[test(needs(ROOT, BPF))]
fn every_controller_computes_the_same_in_the_kernel_as_in_the_simulator() {
    for controller in Controller::all() {
        let kernel = InKernel::load(controller);
        let config = Config {
            cases: CASES,
            failure_persistence: None,
            ..Config::default()
        };
        TestRunner::new_with_rng(
            config,
            proptest::test_runner::TestRng::deterministic_rng(
                proptest::test_runner::RngAlgorithm::ChaCha,
            ),
        )
        .run(
            &life(controller.has(Capability::OwnsWindow)),
            |(subflows, events)| compare(controller, &kernel, &subflows, &events),
        )
        .unwrap_or_else(|error| panic!("{}: {error}", controller.name()));
    }
}
