//! What a controller reads of others, and how it acts.

/// A flag of `enum mpcc_capability` in `cc/mpcc.h`: what a controller reads of others, or how it acts.
///
/// Code that runs a controller asks for these and never for the controller's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Capability {
    /// It reads [`energy_cost`](crate::Own::energy_cost), which the control plane has to write.
    ReadsEnergyCost = 1,
    /// It reads [`path_price`](crate::Own::path_price), which the control plane has to write.
    ReadsPathPrice = 2,
    /// It reads [`target_share`](crate::Own::target_share), which the control plane has to write.
    ReadsTargetShare = 4,
    /// It reads every mark, so that the receiver has to echo each one by itself (RFC 8257, section 3.2).
    ReadsMarks = 8,
    /// It reads how far RTT samples lie above the least one: it answers a queue before the queue overflows.
    ReadsDelay = 16,
    /// It reads nothing of the other subflows.
    Uncoupled = 32,
    /// Its window changes when an RTT round ends, and [`Controller::increase`](crate::Controller::increase)
    /// is 0.
    ActsByRound = 64,
    /// It sets window, ssthresh and pacing rate in every state: see
    /// [`Controller::control`](crate::Controller::control).
    OwnsWindow = 128,
    /// Its hook for ACKs adds up their packets and looks at the clock, and does nothing else, so that it may
    /// be told of several at once.
    AcksInSum = 256,
}

impl Capability {
    /// Every capability, in the order of the flags.
    pub const ALL: [Self; 9] = [
        Self::ReadsEnergyCost,
        Self::ReadsPathPrice,
        Self::ReadsTargetShare,
        Self::ReadsMarks,
        Self::ReadsDelay,
        Self::Uncoupled,
        Self::ActsByRound,
        Self::OwnsWindow,
        Self::AcksInSum,
    ];
}
