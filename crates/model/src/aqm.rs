//! Active queue management, as data. Defaults are those of Linux (`sch_codel`, `sch_fq_codel`,
//! `sch_pie`, `sch_dualpi2`).

use serde::Serialize;

use crate::units::{Bytes, Nanos, Probability};

/// How a queue decides which packets to drop or mark before it is full.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AqmSpec {
    /// One FIFO under CoDel (RFC 8289).
    Codel(CodelSpec),
    /// A queue per flow, served by deficit round robin, each under CoDel (RFC 8290).
    FqCodel(FqCodelSpec),
    /// One FIFO under PIE (RFC 8033).
    Pie(PieSpec),
    /// A queue for L4S packets (ECT(1)) beside one for all others, coupled (RFC 9332).
    DualPi2(DualPi2Spec),
}

/// Parameters of CoDel (RFC 8289, section 4).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CodelSpec {
    /// Acceptable sojourn time of a standing queue.
    pub target: Nanos,
    /// Time for which the sojourn time must exceed the target before the first drop. The next drop
    /// follows after interval/√2.
    pub interval: Nanos,
    /// Mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
    /// Mark ECN-capable packets that waited longer than this, whatever CoDel decides.
    pub ce_threshold: Option<Nanos>,
}

/// Parameters of FQ-CoDel (RFC 8290, section 5.2).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FqCodelSpec {
    /// CoDel within each queue.
    pub codel: CodelSpec,
    /// Number of queues that flows are hashed to.
    pub flows: u32,
    /// Bytes that a queue may send per round.
    pub quantum: Bytes,
    /// Limit on the bytes in all queues.
    pub memory_limit: Bytes,
    /// Largest number of packets dropped at once from the longest queue on overflow.
    pub drop_batch: u32,
}

/// Parameters of PIE (RFC 8033, section 4).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PieSpec {
    /// Target queueing delay.
    pub target: Nanos,
    /// Time between two updates of the drop probability.
    pub tupdate: Nanos,
    /// Weight of the delay's deviation from the target, in sixteenths of a hertz.
    pub alpha: u32,
    /// Weight of the delay's growth, in sixteenths of a hertz.
    pub beta: u32,
    /// Scale the drop probability with the size of the packet.
    pub bytemode: bool,
    /// Mark ECN-capable packets instead of dropping them while the probability is at most 10 %.
    pub ecn: bool,
}

/// Parameters of DualPI2 (RFC 9332, appendix A).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DualPi2Spec {
    /// Target queueing delay of the classic queue.
    pub target: Nanos,
    /// Time between two updates of the base probability p'.
    pub tupdate: Nanos,
    /// Weight of the delay's deviation from the target, Hz.
    pub alpha: f64,
    /// Weight of the delay's growth, Hz.
    pub beta: f64,
    /// k: L4S packets are marked with probability k p', the others dropped or marked with p'².
    pub coupling: f64,
    /// Mark L4S packets that waited longer than this.
    pub step_threshold: Nanos,
    /// Share of the link that the classic queue keeps while both queues are full.
    pub classic_protection: Probability,
}

impl AqmSpec {
    /// Limit of the queue in packets if the scenario sets none (`sch_codel`: DEFAULT_CODEL_LIMIT;
    /// `sch_fq_codel`: 10 * 1024; `sch_pie`: 1000; `sch_dualpi2`: 10000).
    pub fn default_limit_packets(&self) -> u32 {
        match self {
            AqmSpec::Codel(_) | AqmSpec::Pie(_) => 1000,
            AqmSpec::FqCodel(_) => 10_240,
            AqmSpec::DualPi2(_) => 10_000,
        }
    }

    /// Target of the queueing delay.
    pub fn target(&self) -> Nanos {
        match self {
            AqmSpec::Codel(spec) => spec.target,
            AqmSpec::FqCodel(spec) => spec.codel.target,
            AqmSpec::Pie(spec) => spec.target,
            AqmSpec::DualPi2(spec) => spec.target,
        }
    }

    /// Name in scenarios.
    pub fn name(&self) -> &'static str {
        match self {
            AqmSpec::Codel(_) => "codel",
            AqmSpec::FqCodel(_) => "fq-codel",
            AqmSpec::Pie(_) => "pie",
            AqmSpec::DualPi2(_) => "dualpi2",
        }
    }

    /// True if it marks ECN-capable packets.
    pub fn marks(&self) -> bool {
        let codel = |codel: &CodelSpec| codel.ecn || codel.ce_threshold.is_some();
        match self {
            AqmSpec::Codel(spec) => codel(spec),
            AqmSpec::FqCodel(spec) => codel(&spec.codel),
            AqmSpec::Pie(spec) => spec.ecn,
            AqmSpec::DualPi2(_) => true,
        }
    }

    /// True if it drops or marks at random.
    pub fn draws(&self) -> bool {
        matches!(self, AqmSpec::Pie(_) | AqmSpec::DualPi2(_))
    }
}
