//! The ECN field of a packet.

/// The ECN field of a packet that is offered (RFC 3168; ECT(1): RFC 9331).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct,
    /// ECT(0): a mark counts as a loss.
    Ect0,
    /// ECT(1), or CE set on the way: L4S, whose senders answer the share of marked packets.
    Ect1,
}

impl Ecn {
    /// From the field's two bits in the IP header. A packet with CE is treated as L4S (RFC 9331,
    /// section 5.1).
    pub fn from_bits(bits: u8) -> Self {
        match bits & 3 {
            0 => Ecn::NotEct,
            2 => Ecn::Ect0,
            _ => Ecn::Ect1,
        }
    }

    /// True if it may be marked.
    #[inline(always)]
    pub fn is_capable(self) -> bool {
        self != Ecn::NotEct
    }

    /// True if it belongs in the queue for L4S.
    #[inline(always)]
    pub fn is_l4s(self) -> bool {
        self == Ecn::Ect1
    }
}

/// `true` is ECT(0).
impl From<bool> for Ecn {
    #[inline(always)]
    fn from(capable: bool) -> Self {
        if capable { Ecn::Ect0 } else { Ecn::NotEct }
    }
}
