//! Random states and random sequences of events. Debug builds of the C code trap on undefined
//! behaviour, so a signed overflow or an oversized shift fails the test.

use joulepath_controllers::{
    Ack, AckFlags, Area, CWND_MAX, Capability, Connection, Controller, Event as Told, LossKind,
    MAX_SUBFLOWS, Param, Subflow, formula,
};
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use proptest::{prelude::*, sample::Index};

/// An event of a subflow. Times in µs.
#[derive(Clone, Debug)]
enum Event {
    Ack {
        acked: u32,
        rtt_us: u32,
        ece: bool,
        limited: bool,
        round_end: bool,
        after_us: u64,
    },
    Loss(LossKind),
    /// Recovery ends: cwnd = ssthresh.
    Recovered,
    /// Changes by the sibling or the path.
    Window {
        cwnd: u32,
    },
    Rtt {
        srtt_us: u32,
    },
    Established(bool),
    Told {
        energy: f64,
        share: f64,
        price: f64,
        loss: f64,
    },
    Restart,
    Reopened,
}

/// 1 to 2^20, uniform in the logarithm.
fn window() -> impl Strategy<Value = u32> {
    (0.0..=20.0f64).prop_map(|log| log.exp2() as u32)
}

/// 20 µs to 10 s, uniform in the logarithm.
fn rtt() -> impl Strategy<Value = u32> {
    (20f64.ln()..=1e7f64.ln()).prop_map(|log| log.exp() as u32)
}

fn event() -> impl Strategy<Value = Event> {
    let ack = (
        window(),
        any::<bool>(),
        rtt(),
        any::<[bool; 4]>(),
        0u64..2_000_000,
    )
        .prop_map(
            |(many, one, rtt_us, [sampled, ece, limited, round_end], after_us)| Event::Ack {
                acked: if one { 1 } else { many },
                rtt_us: if sampled { rtt_us } else { 0 },
                ece,
                limited,
                round_end,
                after_us,
            },
        );
    prop_oneof![
        16 => ack,
        3 => kind().prop_map(Event::Loss),
        3 => Just(Event::Recovered),
        1 => window().prop_map(|cwnd| Event::Window { cwnd }),
        2 => rtt().prop_map(|srtt_us| Event::Rtt { srtt_us }),
        1 => any::<bool>().prop_map(Event::Established),
        1 => (0.0..70_000.0, 0.0..1.0, 0.0..70_000.0, 0.0..1.0)
            .prop_map(|(energy, share, price, loss)| Event::Told { energy, share, price, loss }),
        1 => Just(Event::Restart),
        1 => Just(Event::Reopened),
    ]
}

fn kind() -> impl Strategy<Value = LossKind> {
    prop_oneof![
        Just(LossKind::FastRetransmit),
        Just(LossKind::Timeout),
        Just(LossKind::Ecn)
    ]
}

/// A connection with the state that an engine keeps for it.
#[derive(Clone, Copy)]
struct Kept {
    connection: Connection,
    areas: [Area; MAX_SUBFLOWS],
    /// Packets delivered.
    delivered: [u32; MAX_SUBFLOWS],
}

impl Kept {
    fn of(connection: Connection) -> Self {
        Kept {
            connection,
            areas: [Area::default(); MAX_SUBFLOWS],
            delivered: [0; MAX_SUBFLOWS],
        }
    }

    /// Starts a subflow.
    fn open(&mut self, controller: Controller, i: usize) {
        controller.init(&mut self.connection, i);
        self.areas[i] = Area::default();
        self.delivered[i] = 0;
        self.control(controller, i, &told(AckFlags::STARTS));
    }

    fn control(&mut self, controller: Controller, i: usize, event: &Told) {
        controller.control(&mut self.connection, i, event, &mut self.areas[i]);
    }

    /// An ACK; the smoothed RTT stays.
    fn acknowledge(&mut self, controller: Controller, i: usize, event: &Event) {
        let Event::Ack {
            acked,
            rtt_us,
            ece,
            limited,
            round_end,
            after_us,
        } = *event
        else {
            return;
        };
        self.connection.now_us += after_us;
        let flags = AckFlags::NONE
            .with(AckFlags::ECE, ece)
            .with(AckFlags::CWND_LIMITED, limited)
            .with(AckFlags::ROUND_END, round_end);
        if !controller.has(Capability::OwnsWindow) {
            return controller.on_ack(
                &mut self.connection,
                i,
                Ack {
                    acked,
                    rtt_us,
                    flags,
                },
            );
        }
        let in_flight = self.connection.subflows[i].cwnd;
        let marked = if ece && controller.has(Capability::ReadsMarks) {
            acked
        } else {
            0
        };
        let sample = Told {
            acked,
            rtt_us,
            flags,
            in_flight,
            marked,
            ..told(AckFlags::NONE)
        };
        let prior_delivered = self.delivered[i];
        self.delivered[i] = prior_delivered.wrapping_add(acked);
        let (total_delivered, interval_us) = (self.delivered[i], rtt_us);
        let rate = Told {
            total_delivered,
            prior_delivered,
            delivered: acked,
            interval_us,
            ..sample
        };
        self.control(controller, i, &rate);
    }
}

fn told(flags: AckFlags) -> Told {
    Told {
        flags,
        mss: 1_400,
        ..Told::default()
    }
}

/// Applies the event as an engine would.
fn apply(controller: Controller, kept: &mut Kept, i: usize, event: &Event) {
    let owns = controller.has(Capability::OwnsWindow);
    match *event {
        Event::Ack { rtt_us, .. } => {
            if rtt_us > 0 {
                kept.connection.subflows[i].srtt_us = rtt_us;
            }
            kept.acknowledge(controller, i, event);
        }
        Event::Loss(kind) if owns => {
            let subflow = &mut kept.connection.subflows[i];
            let recovers = if kind == LossKind::Timeout {
                Subflow::LOSS
            } else {
                Subflow::RECOVERY
            };
            subflow.flags = Subflow::ESTABLISHED | recovers;
            let flags = match kind {
                LossKind::Timeout => {
                    subflow.cwnd = 1;
                    AckFlags::TIMED_OUT
                }
                LossKind::FastRetransmit => AckFlags::EPISODE,
                LossKind::Ecn => AckFlags::ECE,
            };
            let lost = u32::from(kind != LossKind::Ecn);
            kept.control(
                controller,
                i,
                &Told {
                    lost,
                    marked: 1 - lost,
                    acked: 1,
                    ..told(flags)
                },
            );
        }
        Event::Loss(kind) => {
            let ssthresh = controller.on_loss(&mut kept.connection, i, kind);
            let subflow = &mut kept.connection.subflows[i];
            subflow.ssthresh = ssthresh;
            (subflow.cwnd, subflow.flags) = match kind {
                LossKind::Timeout => (1, Subflow::ESTABLISHED | Subflow::LOSS),
                // inflated, as during NewReno's recovery
                LossKind::FastRetransmit => {
                    (ssthresh + 3, Subflow::ESTABLISHED | Subflow::RECOVERY)
                }
                LossKind::Ecn => (ssthresh, Subflow::ESTABLISHED),
            };
        }
        Event::Recovered => {
            let subflow = &mut kept.connection.subflows[i];
            if subflow.flags & Subflow::RECOVERY != 0 && !owns {
                subflow.cwnd = subflow.ssthresh;
            }
            subflow.flags &= Subflow::ESTABLISHED;
        }
        Event::Window { cwnd } if !owns => kept.connection.subflows[i].cwnd = cwnd,
        Event::Window { .. } => {}
        Event::Rtt { srtt_us } => kept.connection.subflows[i].srtt_us = srtt_us,
        Event::Established(up) => {
            kept.connection.subflows[i].flags = if up { Subflow::ESTABLISHED } else { 0 };
        }
        Event::Told {
            energy,
            share,
            price,
            loss,
        } => {
            let own = &mut kept.connection.subflows[i].own;
            own.set_energy_cost(energy);
            own.set_target_share(share);
            own.set_path_price(price);
            own.set_loss(loss);
            controller.set_group(&mut kept.connection, i, u32::from(loss > 0.3));
        }
        Event::Restart if owns => kept.control(controller, i, &told(AckFlags::RESTARTS)),
        Event::Restart => controller.on_restart(&mut kept.connection, i),
        Event::Reopened => kept.open(controller, i),
    }
}

/// A failing case is printed in full; nothing is written into the tree.
fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Sets each parameter to one of its words, an end of its range, or its default.
fn set_params(controller: Controller, connection: &mut Connection, picks: &[Index]) {
    for (param, pick) in controller
        .params()
        .collect::<Vec<Param>>()
        .iter()
        .zip(picks)
    {
        let mut values: Vec<String> = param.words().map(str::to_owned).collect();
        values.push(param.default().to_string());
        if let Some((min, max)) = param.range() {
            values.extend([
                min.to_string(),
                max.to_string(),
                ((min + max) / 3.0).to_string(),
            ]);
        }
        controller
            .set_param(connection, param.name(), &values[pick.index(values.len())])
            .expect("the range and the words are allowed");
    }
}

proptest! {
    #![proptest_config(config(256))]

    #[test]
    fn windows_stay_within_floor_and_cap(
        n in 1usize..=8,
        start in proptest::collection::vec((window(), window(), rtt()), 8),
        picks in proptest::collection::vec(any::<Index>(), 8),
        events in proptest::collection::vec((any::<Index>(), event()), 0..120),
    ) {
        for controller in Controller::all() {
            let mut connection = Connection::new(n);
            set_params(controller, &mut connection, &picks);
            let mut kept = Kept::of(connection);
            for (i, &(cwnd, ssthresh, srtt_us)) in start.iter().enumerate().take(n) {
                kept.connection.subflows[i] =
                    Subflow { cwnd, ssthresh, srtt_us, flags: Subflow::ESTABLISHED, ..Subflow::default() };
                kept.open(controller, i);
            }
            for (pick, event) in &events {
                let i = pick.index(n);
                let before = kept.connection;
                apply(controller, &mut kept, i, event);
                let connection = kept.connection;
                let subflow = &connection.subflows[i];
                let floor = controller.min_cwnd().min(before.subflows[i].cwnd).max(1);
                if matches!(event, Event::Ack { .. }) {
                    prop_assert!(subflow.cwnd >= floor, "{controller}: cwnd {} below {floor}", subflow.cwnd);
                    prop_assert!(
                        subflow.cwnd <= CWND_MAX.max(before.subflows[i].cwnd),
                        "{controller}: {}",
                        subflow.cwnd
                    );
                }
                prop_assert!(
                    subflow.own.fraction().abs() < 1.0 + 1e-9,
                    "{controller}: {}",
                    subflow.own.fraction()
                );
                prop_assert!(
                    controller.increase(&connection, i).abs() <= 2.0,
                    "{controller} grew faster than slow start"
                );
                for kind in [LossKind::FastRetransmit, LossKind::Timeout, LossKind::Ecn] {
                    let ssthresh = controller.ssthresh_after(&connection, i, kind);
                    prop_assert!((1..=CWND_MAX).contains(&ssthresh), "{controller}: ssthresh {ssthresh}");
                }
                for k in (0..n).filter(|&k| k != i) {
                    prop_assert_eq!(
                        connection.subflows[k],
                        before.subflows[k],
                        "{} wrote to a sibling",
                        controller
                    );
                }
            }
        }
    }

    /// Alone, `hybrid` is CUBIC. Every other controller except CUBIC, Westwood+ and wVegas is
    /// NewReno; DCTCP only without marks.
    #[test]
    fn a_coupled_controller_with_one_subflow_is_an_uncoupled_one(
        cwnd in window(), ssthresh in window(), srtt_us in rtt(), idle_sibling in any::<bool>(),
        events in proptest::collection::vec(event(), 0..120),
    ) {
        let applies = |controller: &Controller| {
            let unlike = matches!(controller.name(), "cubic" | "westwood" | "wvegas");
            !unlike && !controller.has(Capability::OwnsWindow)
        };
        for controller in Controller::all().filter(applies) {
            let alone = if controller.name() == "hybrid" { "cubic" } else { "reno" };
            let alone = Controller::by_name(alone).unwrap();
            let start = || {
                let mut connection = Connection::new(if idle_sibling { 2 } else { 1 });
                connection.subflows[0] =
                    Subflow { cwnd, ssthresh, srtt_us, flags: Subflow::ESTABLISHED, ..Subflow::default() };
                // established, but without an RTT sample: sums exclude it
                connection.subflows[1] =
                    Subflow { cwnd: 50, flags: Subflow::ESTABLISHED, ..Subflow::default() };
                Kept::of(connection)
            };
            let (mut connection, mut reference) = (start(), start());
            connection.open(controller, 0);
            reference.open(alone, 0);
            let unmarked = events.iter().filter(|event| !matches!(event, Event::Loss(LossKind::Ecn)));
            for event in unmarked {
                apply(controller, &mut connection, 0, event);
                apply(alone, &mut reference, 0, event);
                let trajectory = |kept: &Kept| {
                    let subflow = &kept.connection.subflows[0];
                    (subflow.cwnd, subflow.ssthresh)
                };
                prop_assert_eq!(
                    trajectory(&connection),
                    trajectory(&reference),
                    "{} after {:?}",
                    controller,
                    event
                );
            }
        }
    }
}

/// A random subflow in congestion avoidance; fields that no formula reads are zero.
fn subflow() -> impl Strategy<Value = Subflow> {
    let path = (window(), rtt(), 0.25..4.0f64, 0.01..=1.0f64);
    let told = (
        0.0..=1.0f64,
        0.0..12.0f64,
        0.0..1e-3f64,
        any::<[bool; 2]>(),
        1e-5..0.5f64,
    );
    (path, told, 0.0..20.0f64, 0.0..20.0f64).prop_map(
        |(
            (cwnd, srtt_us, last, base),
            (share, energy_log, price, [shared, lossy], loss),
            since_log,
            between_log,
        )| {
            let mut subflow = Subflow {
                cwnd,
                srtt_us,
                flags: Subflow::ESTABLISHED,
                ..Subflow::default()
            };
            let own = &mut subflow.own;
            own.last_rtt_us = ((f64::from(srtt_us) * last) as u32).clamp(20, 10_000_000);
            own.base_rtt_us = ((f64::from(own.last_rtt_us.min(srtt_us)) * base) as u32).max(1);
            own.acked_since_loss = since_log.exp2() as u32;
            own.acked_between_losses = between_log.exp2() as u32;
            own.set_target_share(if shared { share } else { 0.0 });
            own.set_energy_cost(energy_log.exp2());
            own.set_path_price(price);
            own.set_loss(if lossy { loss } else { 0.0 });
            subflow
        },
    )
}

/// Loss probability by the controllers' estimate.
fn loss(subflow: &Subflow) -> f64 {
    let own = &subflow.own;
    let acked = f64::from(own.acked_since_loss.max(own.acked_between_losses).max(1));
    if own.loss() > 0.0 {
        own.loss()
    } else {
        1.0 / acked
    }
    .clamp(1e-5, 0.5)
}

/// Tolerance of fixed point against the formula: relative to the largest term, plus the resolution
/// of Q32.
const RELATIVE: f64 = 4e-4;
const RESOLUTION: f64 = 2e-9;
/// Interpolation error of ε of DTS.
const EPSILON_ERROR: f64 = 0.0026;

proptest! {
    #![proptest_config(config(4096))]

    #[test]
    fn the_increase_is_the_formula(
        subflows in proptest::collection::vec(subflow(), 2..=8),
        picks in proptest::collection::vec(any::<Index>(), 8),
    ) {
        // vectors.rs and their own tests cover CUBIC and wVegas
        let applies = |controller: &Controller| {
            !matches!(controller.name(), "cubic" | "wvegas") && !controller.has(Capability::OwnsWindow)
        };
        for controller in Controller::all().filter(applies) {
            let mut connection = Connection::new(subflows.len());
            set_params(controller, &mut connection, &picks);
            connection.subflows[..subflows.len()].copy_from_slice(&subflows);
            if controller.param_value(&connection, "shape").is_ok() {
                // the printed polynomials have poles
                controller.set_param(&mut connection, "shape", "table").unwrap();
            }
            let rate: f64 = subflows.iter().map(|s| f64::from(s.cwnd) / f64::from(s.srtt_us)).sum();
            let least_loss = subflows.iter().map(loss).fold(1.0, f64::min);
            let want = formula::evaluate(controller, &connection).expect("it has a law").increase;
            for (i, &want) in want.iter().enumerate() {
                let got = controller.increase(&connection, i);
                let (w, own) = (f64::from(subflows[i].cwnd), &subflows[i].own);
                let rate_term = |rtt_us: u32| w / f64::from(rtt_us).powi(2) / rate.powi(2);
                // the terms that may cancel
                let largest_term = match controller.name() {
                    "olia" => rate_term(subflows[i].srtt_us) + 1.0 / w,
                    "eemptcp" => 1.0 / w,
                    "dts" | "edts" => 4.0 * rate_term(own.last_rtt_us).max(rate_term(subflows[i].srtt_us)),
                    _ => 0.0,
                };
                let sigmoid = if controller.name().ends_with("dts") {
                    EPSILON_ERROR * largest_term
                } else {
                    0.0
                };
                if want.abs() >= 1.0 || largest_term >= 1.0 {
                    continue; // limited to one packet per ACK
                }
                // `seed002` multiplies A and its resolution by a ratio of losses
                let gain = if controller.name() == "ecmtcp" { loss(&subflows[i]) / least_loss } else { 1.0 };
                let allowed = RELATIVE * want.abs().max(largest_term) + RESOLUTION * gain + sigmoid;
                prop_assert!((got - want).abs() <= allowed, "{controller}: {got}, formula {want}, path {i}");
            }
        }
    }

    /// Whole packets: at most one below the formula, never above it.
    #[test]
    fn the_window_after_a_loss_is_the_formula(
        subflows in proptest::collection::vec(subflow(), 2..=8),
        picks in proptest::collection::vec(any::<Index>(), 8),
    ) {
        for controller in Controller::all() {
            let mut connection = Connection::new(subflows.len());
            set_params(controller, &mut connection, &picks);
            connection.subflows[..subflows.len()].copy_from_slice(&subflows);
            let formula = formula::evaluate(controller, &connection);
            assert_eq!(formula.is_none(), controller.has(Capability::OwnsWindow), "{controller}");
            let Some(want) = formula.map(|formula| formula.window_after_loss) else { continue };
            for (i, &want) in want.iter().enumerate() {
                let got = f64::from(controller.ssthresh(&connection, i));
                // Balia's ratio of rates has 16 fractional bits
                let slack = if controller.name() == "balia" { 1e-3 * want } else { 1e-6 };
                prop_assert!(
                    got <= want + slack && got >= want - 1.0 - slack,
                    "{controller}: {got}, formula {want}"
                );
            }
        }
    }
}

/// Number of random sequences per capability: enough for each controller to use everything that it
/// reads.
const TWINS: usize = 400;

/// Minimum RTT of every subflow, µs: no twin changes it.
const BASE_RTT_US: u32 = 20;

/// Random starts, windows and RTTs of three subflows, and their events.
type Sequence = (Vec<(u32, u32)>, Vec<(usize, Event)>);

fn sequences() -> Vec<Sequence> {
    let start = proptest::collection::vec((2u32..200, 1_000u32..500_000), 3);
    let sequence = (start, proptest::collection::vec((0usize..3, event()), 60));
    let mut runner = TestRunner::deterministic();
    (0..TWINS)
        .map(|_| {
            sequence
                .new_tree(&mut runner)
                .expect("nothing is filtered")
                .current()
        })
        .collect()
}

/// Window, ssthresh and increase of the first subflow after each event. ACKs do not change the
/// smoothed RTT.
fn windows(controller: Controller, (start, events): &Sequence) -> Vec<(u32, u32, f64)> {
    let mut kept = Kept::of(Connection::new(start.len()));
    let open = |kept: &mut Kept, i: usize| {
        kept.open(controller, i);
        let first = Event::Ack {
            acked: 0,
            rtt_us: BASE_RTT_US,
            ece: false,
            limited: false,
            round_end: false,
            after_us: 0,
        };
        kept.acknowledge(controller, i, &first);
    };
    for (i, &(cwnd, srtt_us)) in start.iter().enumerate() {
        kept.connection.subflows[i] = Subflow {
            cwnd,
            ssthresh: cwnd,
            srtt_us,
            flags: Subflow::ESTABLISHED,
            ..Subflow::default()
        };
        open(&mut kept, i);
    }
    let after = |(i, event): &(usize, Event)| {
        match event {
            Event::Ack { .. } => kept.acknowledge(controller, *i, event),
            Event::Reopened => open(&mut kept, *i),
            _ => apply(controller, &mut kept, *i, event),
        }
        let window = &kept.connection.subflows[0];
        (
            window.cwnd,
            window.ssthresh,
            controller.increase(&kept.connection, 0),
        )
    };
    events.iter().map(after).collect()
}

/// The same sequence, with different values of the state that `capability` names.
fn twin((start, events): &Sequence, capability: Capability) -> Sequence {
    let mut start = start.clone();
    let change = |(i, event): &(usize, Event)| {
        let mut event = event.clone();
        match (&mut event, capability) {
            (Event::Told { energy, .. }, Capability::ReadsEnergyCost) => {
                *energy = 70_000.0 - *energy
            }
            (Event::Told { price, .. }, Capability::ReadsPathPrice) => *price = 70_000.0 - *price,
            (Event::Told { share, .. }, Capability::ReadsTargetShare) => *share = 1.0 - *share,
            (Event::Ack { ece, .. }, Capability::ReadsMarks) => *ece = !*ece,
            (Event::Ack { rtt_us, .. }, Capability::ReadsDelay) if *rtt_us > 0 => {
                *rtt_us = BASE_RTT_US + *rtt_us / 3;
            }
            (Event::Established(up), Capability::Uncoupled) if *i > 0 => *up = !*up,
            (Event::Window { cwnd }, Capability::Uncoupled) if *i > 0 => *cwnd = *cwnd / 2 + 1,
            _ => {}
        }
        (*i, event)
    };
    let events = events.iter().map(change).collect();
    if capability == Capability::Uncoupled {
        start
            .iter_mut()
            .skip(1)
            .for_each(|(cwnd, srtt_us)| (*cwnd, *srtt_us) = (3 * *cwnd, *srtt_us / 2));
    }
    (start, events)
}

/// A controller reads exactly the state that its flags name. Two runs that differ only in that
/// state have the same windows unless the controller reads it.
#[test]
fn the_capabilities_of_a_controller_are_what_its_code_reads() {
    let sequences = sequences();
    let read = [
        Capability::ReadsEnergyCost,
        Capability::ReadsPathPrice,
        Capability::ReadsTargetShare,
        Capability::ReadsMarks,
        Capability::ReadsDelay,
        Capability::Uncoupled,
    ];
    for controller in Controller::all() {
        let windows: Vec<_> = sequences
            .iter()
            .map(|sequence| windows(controller, sequence))
            .collect();
        for capability in read {
            let twins = sequences
                .iter()
                .map(|sequence| self::windows(controller, &twin(sequence, capability)));
            let differ = windows
                .iter()
                .zip(twins)
                .filter(|(windows, twin)| *windows != twin)
                .count();
            let reads = if capability == Capability::Uncoupled {
                differ == 0
            } else {
                differ > 0
            };
            assert_eq!(
                reads,
                controller.has(capability),
                "{controller}: {capability:?}, {differ} differ"
            );
        }
        let still = windows
            .iter()
            .flatten()
            .all(|&(.., increase)| increase == 0.0);
        let acts =
            controller.has(Capability::ActsByRound) || controller.has(Capability::OwnsWindow);
        assert_eq!(still, acts, "{controller}");
    }
}

/// A few ACKs, together at most an eighth of a window of a hundred packets: packets of each,
/// whether they are marked, whether they end a round, and the loss after them.
fn acks() -> impl Strategy<Value = (Vec<u32>, bool, bool, Option<LossKind>)> {
    let loss = proptest::option::weighted(0.2, kind());
    (
        proptest::collection::vec(1u32..=3, 1..=4),
        any::<bool>(),
        any::<bool>(),
        loss,
    )
}

proptest! {
    /// [`Capability::AcksInSum`]: one report of several ACKs gives the same decision except for
    /// rounding.
    #[test]
    fn summed_acks_have_the_effect_of_single_acks(
        (cwnd, srtt_us) in (100u32..1000, 1_000u32..500_000),
        acks in proptest::collection::vec(acks(), 1..40),
    ) {
        for controller in Controller::all().filter(|controller| controller.has(Capability::AcksInSum)) {
            let mut apart = Connection::new(1);
            apart.now_us = 1_000_000;
            apart.subflows[0] =
                Subflow { cwnd, ssthresh: 2, srtt_us, flags: Subflow::ESTABLISHED, ..Subflow::default() };
            controller.init(&mut apart, 0);
            for (parts, ece, round_end, loss) in &acks {
                apart.now_us += u64::from(srtt_us) / 8;
                let flags =
                    AckFlags::NONE.with(AckFlags::ECE, *ece).with(AckFlags::CWND_LIMITED, true);
                let last = flags.with(AckFlags::ROUND_END, *round_end);
                let mut together = apart;
                let ends = parts.len() - 1;
                for &part in &parts[..ends] {
                    controller.on_ack(&mut apart, 0, Ack { acked: part, rtt_us: 0, flags });
                }
                controller.on_ack(&mut apart, 0, Ack { acked: parts[ends], rtt_us: srtt_us, flags: last });
                let acked = parts.iter().sum();
                controller.on_ack(&mut together, 0, Ack { acked, rtt_us: srtt_us, flags: last });
                prop_assert!(apart.subflows[0].cwnd.abs_diff(together.subflows[0].cwnd) <= 1, "{controller}");
                let steps = [&apart, &together].map(|connection| controller.increase(connection, 0));
                // Growth by the sum differs slightly from growth by its parts.
                let window = f64::from(apart.subflows[0].cwnd);
                let sum = f64::from(parts.iter().sum::<u32>()) / window;
                let tolerance = 0.05 * steps[0] + (sum.powi(2) + 1.0 / window) / window;
                prop_assert!((steps[0] - steps[1]).abs() <= tolerance, "{controller}: {steps:?}");
                for kind in [LossKind::FastRetransmit, LossKind::Timeout, LossKind::Ecn] {
                    let [a, b] =
                        [&apart, &together].map(|connection| controller.ssthresh_after(connection, 0, kind));
                    prop_assert!(a.abs_diff(b) <= 1, "{controller}: {kind:?}, {a} and {b}");
                }
                if let Some(kind) = loss {
                    let ssthresh = controller.on_loss(&mut apart, 0, *kind).max(100);
                    apart.subflows[0].cwnd = ssthresh;
                    apart.subflows[0].ssthresh = ssthresh;
                }
            }
        }
    }
}
