//! The schedulers by name, and their options.

use joulepath_model::energy::Confidence;

use super::{
    Allotted, Blest, Daps, Ecf, Emtcp, Mainline, MinRtt, Proactive, Redundant, RoundRobin, Scheduler, Sttf,
};
use crate::options::{self, OptionError, PartInfo};

/// Options of those that keep the rescue of `minrtt`.
const RESCUE: &[&str] = &["opportunistic", "penalise"];

/// Every scheduler.
pub static SCHEDULERS: [PartInfo; 12] = [
    PartInfo::verified(
        "round-robin",
        "turns of num_segments segments each; skips subflows without window space unless cwnd_limited=off",
        &["num_segments", "cwnd_limited"],
        "out-of-tree Linux MPTCP v0.95",
    ),
    PartInfo::verified("first-free", "first subflow with window space", &[], "004"),
    PartInfo::verified(
        "minrtt",
        "smallest smoothed RTT with window space, with opportunistic retransmission and penalisation",
        RESCUE,
        "out-of-tree Linux MPTCP v0.95",
    ),
    PartInfo::verified(
        "mainline",
        "Linux's default: least queued bytes per pacing rate, in bursts of 65428 bytes",
        &[],
        "Linux 6",
    ),
    PartInfo::verified(
        "blest",
        "waits for the fastest subflow where a slow segment would block the window",
        RESCUE,
        "Ferlin et al. 2016",
    ),
    PartInfo::verified(
        "ecf",
        "waits for the fastest subflow where it completes sooner than a free slow one",
        RESCUE,
        "Lim et al. 2017",
    ),
    PartInfo::verified(
        "daps",
        "a plan in which segments arrive in order: fast paths take several turns for one of a slow one",
        &[],
        "Kuhn et al. 2014",
    ),
    PartInfo::verified(
        "sttf",
        "each segment belongs to the subflow that brings it soonest, even if that one has no space yet",
        RESCUE,
        "Hurtig et al. 2019",
    ),
    PartInfo::verified("redundant", "every segment on every subflow", &[], "out-of-tree Linux MPTCP v0.95"),
    PartInfo {
        confidence: Confidence::Reconstruction,
        ..PartInfo::verified(
            "emtcp",
            "the interface with the least sunk power that has window space",
            &[],
            "Chen, Yuan, Muntean 2013",
        )
    },
    PartInfo::verified(
        "proactive",
        "first subflow with space; slow ones carry segments that are due when they arrive",
        &["spaced"],
        "004, Algorithm 2",
    ),
    PartInfo::verified(
        "allotted",
        "spends what the allocator so-mptcp allots to each subflow, slot by slot",
        &[],
        "003",
    ),
];

/// What the registry says of a scheduler.
pub(crate) fn info(name: &str) -> Result<&'static PartInfo, OptionError> {
    options::find("scheduler", &SCHEDULERS, name)
}

impl Scheduler {
    /// The scheduler called `name`, with `options` in the order written. `mss_bytes` is the payload of a full segment.
    ///
    /// # Errors
    /// An unknown name or option, or a value that does not fit; the message names what would be right.
    pub fn by_name(name: &str, options: &[(String, String)], mss_bytes: u32) -> Result<Self, OptionError> {
        let info = info(name)?;
        let mut scheduler = match name {
            "round-robin" => Scheduler::RoundRobin(RoundRobin::default()),
            "first-free" => Scheduler::FirstFree,
            "minrtt" => Scheduler::MinRtt(MinRtt::default()),
            "mainline" => Scheduler::Mainline(Mainline::new(mss_bytes)),
            "blest" => Scheduler::Blest(Blest::default()),
            "ecf" => Scheduler::Ecf(Ecf::default()),
            "daps" => Scheduler::Daps(Daps::default()),
            "sttf" => Scheduler::Sttf(Sttf::default()),
            "redundant" => Scheduler::Redundant(Redundant::default()),
            "emtcp" => Scheduler::Emtcp(Emtcp::default()),
            "proactive" => Scheduler::Proactive(Proactive::default()),
            "allotted" => Scheduler::Allotted(Allotted::default()),
            other => unreachable!("`{other}` is in the registry"),
        };
        for (key, value) in options {
            scheduler.set(info, key, value)?;
        }
        Ok(scheduler)
    }

    fn set(&mut self, info: &PartInfo, key: &str, value: &str) -> Result<(), OptionError> {
        if let Some(rescue) = self.rescue_options().filter(|_| RESCUE.contains(&key)) {
            match key {
                "opportunistic" => rescue.opportunistic = options::switch("opportunistic", value)?,
                _ => rescue.penalise = options::switch("penalise", value)?,
            }
            return Ok(());
        }
        match (self, key) {
            (Scheduler::RoundRobin(s), "num_segments") => {
                s.num_segments = options::count("num_segments", value)?;
            }
            (Scheduler::RoundRobin(s), "cwnd_limited") => {
                s.cwnd_limited = options::switch("cwnd_limited", value)?;
            }
            (Scheduler::Proactive(s), "spaced") => s.spaced = options::switch("spaced", value)?,
            _ => return Err(OptionError::unknown_option(info.name, key, info.options)),
        }
        Ok(())
    }

    fn rescue_options(&mut self) -> Option<&mut MinRtt> {
        match self {
            Scheduler::MinRtt(rescue) => Some(rescue),
            Scheduler::Blest(scheduler) => Some(&mut scheduler.rescue),
            Scheduler::Ecf(scheduler) => Some(&mut scheduler.rescue),
            Scheduler::Sttf(scheduler) => Some(&mut scheduler.rescue),
            _ => None,
        }
    }
}
