//! Ranges of random values in ranked families. Unless stated otherwise, values are log-uniform.

/// Scenarios of each ranked family.
pub(in crate::benchmark) const RANKED: u32 = 12;

/// Warm-up of endless runs, s. Slow start ends in it, and selectors complete a few periods.
pub(super) const WARM_UP_S: u32 = 5;
/// Least and most measured time of endless runs, s.
pub(super) const LEAST_S: u32 = 20;
pub(super) const MOST_S: u32 = 60;

pub(super) struct Radio {
    pub(super) name: &'static str,
    /// Mbit/s.
    pub(super) rate: (f64, f64),
    /// Round-trip propagation delay, ms.
    pub(super) rtt: (f64, f64),
    /// Linear energy profile; `None`: with random numbers.
    pub(super) linear: Option<&'static str>,
    /// Energy profile with a radio state machine.
    pub(super) rrc: &'static str,
}

/// The radios. Measurements lie within these ranges (Huang et al. 2012; Narayanan et al. 2021).
pub(super) const RADIOS: [Radio; 4] = [
    Radio {
        name: "wifi",
        rate: (5.0, 100.0),
        rtt: (8.0, 60.0),
        linear: Some("wifi-huang2012-linear"),
        rrc: "wifi-huang2012",
    },
    Radio {
        name: "lte",
        rate: (3.0, 60.0),
        rtt: (30.0, 120.0),
        linear: Some("lte-huang2012-linear"),
        rrc: "lte-huang2012",
    },
    Radio {
        name: "umts",
        rate: (0.5, 8.0),
        rtt: (60.0, 250.0),
        linear: Some("3g-huang2012-linear"),
        rrc: "3g-huang2012",
    },
    Radio {
        name: "nr",
        rate: (20.0, 150.0),
        rtt: (15.0, 70.0),
        linear: None,
        rrc: "5g-lowband-2021",
    },
];

/// Sets of radios by name, equally likely.
pub(super) const SETS: [&[&str]; 5] = [
    &["wifi", "lte"],
    &["wifi", "umts"],
    &["wifi", "nr"],
    &["wifi", "lte", "umts"],
    &["wifi", "lte", "nr"],
];

/// Probability that a radio has random loss, then its loss towards the device.
pub(super) const LOSSY: f64 = 0.5;
pub(super) const LOSS: (f64, f64) = (0.0001, 0.02);
/// Probability that losses come in bursts.
pub(super) const IN_BURSTS: f64 = 1.0 / 3.0;

#[derive(Clone, Copy)]
pub(super) struct Queue {
    /// Name for readers.
    pub(super) name: &'static str,
    /// Whether the ends negotiate ECN.
    pub(super) ecn: bool,
    /// TOML keys of the queue for a capacity in packets.
    pub(super) keys: fn(u32) -> String,
}

/// Kinds of queues, equally likely. All radios of a draw use ECN or none does.
pub(super) const QUEUES: &[Queue] = &[
    Queue {
        name: "droptail",
        ecn: false,
        keys: |packets| format!("queue = \"{packets} packets\"\n"),
    },
    Queue {
        name: "marking",
        ecn: true,
        keys: marking,
    },
    Queue {
        name: "codel",
        ecn: false,
        keys: |_| managed("codel"),
    },
    Queue {
        name: "fq-codel",
        ecn: false,
        keys: |_| managed("fq-codel"),
    },
    Queue {
        name: "pie",
        ecn: false,
        keys: |_| managed("pie"),
    },
];

/// Managed queues use Linux's defaults, including the capacity.
pub(super) fn managed(kind: &str) -> String {
    format!("aqm = \"{kind}\"\n")
}

/// Marks from a third of the capacity on. With a capacity of one bandwidth-delay product this is
/// twice the minimum K > C·RTT/7 of RFC 8257.
pub(super) fn marking(packets: u32) -> String {
    format!(
        "queue = \"{packets} packets\"\necn_threshold = \"{} packets\"\n",
        (packets / 3).max(2)
    )
}

/// Capacity of a queue, bandwidth-delay products.
pub(super) const BUFFER_BDP: (f64, f64) = (0.25, 4.0);
/// Minimum capacity of a queue, packets.
pub(super) const LEAST_QUEUE: u32 = 5;

/// Random linear energy: mW per Mbit/s, then mW while a subflow is open.
pub(super) const PER_MBPS_MW: (f64, f64) = (5.0, 200.0);
pub(super) const ACTIVE_MW: (f64, f64) = (50.0, 1500.0);

/// Sizes of files, bytes.
pub(super) const FILE_BYTES: (f64, f64) = (10e3, 200e6);
/// Time limit of a file as a multiple of the time of one TCP flow over the fastest path, plus
/// [`LEAST_S`].
pub(super) const FILE_LIMIT: f64 = 8.0;
/// Sizes of answers, bytes, and time between an answer and the next request, s.
pub(super) const REQUEST_BYTES: (f64, f64) = (10e3, 2e6);
pub(super) const THINK_S: (f64, f64) = (0.1, 5.0);
/// Sizes of messages, bytes.
pub(super) const MESSAGE_BYTES: (f64, f64) = (1e3, 1e6);
/// Load of streams and messages as a fraction of the throughput of one TCP flow on each radio.
pub(super) const LOAD: (f64, f64) = (0.05, 0.8);
/// On and off periods of a stream, s.
pub(super) const PAUSE_S: (f64, f64) = (2.0, 15.0);
/// Length of an outage, and correlation time of fading, s.
pub(super) const CHANGES_S: (f64, f64) = (0.5, 15.0);
/// Deviation of a fading rate, percent of its mean; uniform.
pub(super) const FADING: (f64, f64) = (20.0, 80.0);
/// Maximum number of TCP flows on a shared bottleneck; uniform from 1.
pub(super) const COMPETITORS: u64 = 4;
