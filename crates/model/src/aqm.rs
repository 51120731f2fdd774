//! Active queue management, as data. The defaults are those of Linux (`sch_codel`, `sch_fq_codel`,
//! `sch_pie`).

use serde::Serialize;

use crate::units::{Bytes, Nanos};

/// How a queue decides which packets to drop or to mark before it is full.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AqmSpec {
    /// One FIFO under CoDel (RFC 8289).
    Codel(CodelSpec),
    /// A queue per flow, served by deficit round robin, each under CoDel (RFC 8290).
    FqCodel(FqCodelSpec),
    /// One FIFO under PIE (RFC 8033).
    Pie(PieSpec),
}

/// Parameters of CoDel (RFC 8289, section 4).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CodelSpec {
    /// The standing queue that is acceptable, as a sojourn time.
    pub target: Nanos,
    /// The sojourn time has to be above the target for this long before the first drop; the next drop follows
    /// after interval/√2.
    pub interval: Nanos,
    /// ECN-capable packets are marked in place of being dropped.
    pub ecn: bool,
    /// ECN-capable packets that waited longer than this are marked, whatever CoDel decides.
    pub ce_threshold: Option<Nanos>,
}

/// Parameters of FQ-CoDel (RFC 8290, section 5.2).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FqCodelSpec {
    /// CoDel within each queue.
    pub codel: CodelSpec,
    /// Number of queues that flows are hashed to.
    pub flows: u32,
    /// Bytes that a queue may send in its turn.
    pub quantum: Bytes,
    /// Bytes that may wait in all queues.
    pub memory_limit: Bytes,
    /// Most packets that are dropped at once from the longest queue when there is no room.
    pub drop_batch: u32,
}

/// Parameters of PIE (RFC 8033, section 4).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PieSpec {
    /// The queueing delay that is aimed at.
    pub target: Nanos,
    /// Time between two updates of the drop probability.
    pub tupdate: Nanos,
    /// Weight of the delay's distance from the target, in sixteenths of a hertz.
    pub alpha: u32,
    /// Weight of the delay's growth, in sixteenths of a hertz.
    pub beta: u32,
    /// Drop small packets with a probability in proportion to their size.
    pub bytemode: bool,
    /// Mark ECN-capable packets in place of dropping them while the probability is at most 10 %.
    pub ecn: bool,
}

impl AqmSpec {
    /// Packets that wait at most unless the scenario says otherwise (`sch_codel`: DEFAULT_CODEL_LIMIT;
    /// `sch_fq_codel`: 10 * 1024; `sch_pie`: 1000).
    pub fn default_limit_packets(&self) -> u32 {
        match self {
            AqmSpec::Codel(_) | AqmSpec::Pie(_) => 1000,
            AqmSpec::FqCodel(_) => 10_240,
        }
    }

    /// The queueing delay that it accepts.
    pub fn target(&self) -> Nanos {
        match self {
            AqmSpec::Codel(spec) => spec.target,
            AqmSpec::FqCodel(spec) => spec.codel.target,
            AqmSpec::Pie(spec) => spec.target,
        }
    }

    /// Its name in scenarios.
    pub fn name(&self) -> &'static str {
        match self {
            AqmSpec::Codel(_) => "codel",
            AqmSpec::FqCodel(_) => "fq-codel",
            AqmSpec::Pie(_) => "pie",
        }
    }

    /// Whether it marks ECN-capable packets.
    pub fn marks(&self) -> bool {
        let codel = |codel: &CodelSpec| codel.ecn || codel.ce_threshold.is_some();
        match self {
            AqmSpec::Codel(spec) => codel(spec),
            AqmSpec::FqCodel(spec) => codel(&spec.codel),
            AqmSpec::Pie(spec) => spec.ecn,
        }
    }
}
