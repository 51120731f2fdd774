//! The state that a controller reads, and how it acts.

/// A flag of `enum mpcc_capability` in `cc/mpcc.h`: state that a controller reads, or how it acts.
///
/// Code that runs a controller tests these flags, never the controller's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Capability {
    /// It reads [`energy_cost`](crate::Own::energy_cost), which the control plane has to write.
    ReadsEnergyCost = 1,
    /// It reads [`path_price`](crate::Own::path_price), which the control plane has to write.
    ReadsPathPrice = 2,
    /// It reads [`target_share`](crate::Own::target_share), which the control plane has to write.
    ReadsTargetShare = 4,
    /// It reads every mark, so the receiver must echo each mark separately (RFC 8257, section 3.2).
    ReadsMarks = 8,
    /// It reads how far RTT samples are above the minimum: it answers a queue before the queue
    /// overflows.
    ReadsDelay = 16,
    /// It reads nothing of the other subflows.
    Uncoupled = 32,
    /// Its window changes when an RTT round ends, and
    /// [`Controller::increase`](crate::Controller::increase) is 0.
    ActsByRound = 64,
    /// It sets window, ssthresh and pacing rate in every state: see
    /// [`Controller::control`](crate::Controller::control).
    OwnsWindow = 128,
    /// In congestion avoidance its `ack` hook only adds up packets and reads the clock, so one call
    /// may report several ACKs.
    AcksInSum = 256,
    /// RTT samples end its slow start before a loss (HyStart).
    EndsSlowStart = 512,
    /// Its packets are L4S: with ECN they carry ECT(1) (RFC 9331).
    SendsEct1 = 1024,
}

impl Capability {
    /// Every capability, in the order of the flags.
    pub const ALL: [Self; 11] = [
        Self::ReadsEnergyCost,
        Self::ReadsPathPrice,
        Self::ReadsTargetShare,
        Self::ReadsMarks,
        Self::ReadsDelay,
        Self::Uncoupled,
        Self::ActsByRound,
        Self::OwnsWindow,
        Self::AcksInSum,
        Self::EndsSlowStart,
        Self::SendsEct1,
    ];
}
