//! `struct tcp_info`: what TCP knows about one subflow.

use serde::{Deserialize, Serialize};

use crate::sockopt::Fields;

/// Size of the structure on the newest kernel that is known here (6.18), rounded up: room for what may come.
pub(crate) const TCP_INFO_LEN: usize = 512;

/// State of a TCP connection (`include/net/tcp_states.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TcpState {
    /// Data flows.
    Established,
    /// A SYN was sent.
    SynSent,
    /// A SYN was received.
    SynReceived,
    /// Closed by this end, the other has not acknowledged.
    FinWait1,
    /// Closed by this end, and acknowledged.
    FinWait2,
    /// Closed by both; waits for stray segments to die.
    TimeWait,
    /// No connection.
    Closed,
    /// Closed by the other end.
    CloseWait,
    /// Closed by both, the last ACK is missing.
    LastAck,
    /// Waits for connections.
    Listen,
    /// Both ends closed at once.
    Closing,
    /// What this version does not know.
    Other(u8),
}

impl TcpState {
    pub(crate) fn new(state: u8) -> Self {
        match state {
            1 => TcpState::Established,
            2 => TcpState::SynSent,
            // 12 is a request socket: the same to a user.
            3 | 12 => TcpState::SynReceived,
            4 => TcpState::FinWait1,
            5 => TcpState::FinWait2,
            6 => TcpState::TimeWait,
            7 => TcpState::Closed,
            8 => TcpState::CloseWait,
            9 => TcpState::LastAck,
            10 => TcpState::Listen,
            11 => TcpState::Closing,
            other => TcpState::Other(other),
        }
    }
}

/// What congestion control is about (`enum tcp_ca_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Recovery {
    /// Nothing is suspected.
    Open,
    /// Duplicate ACKs or SACKs have come.
    Disorder,
    /// The window shrinks because of ECN.
    WindowReduction,
    /// Fast retransmit.
    Recovery,
    /// After a timeout.
    Loss,
    /// What this version does not know.
    Other(u8),
}

impl Recovery {
    fn new(state: u8) -> Self {
        match state {
            0 => Recovery::Open,
            1 => Recovery::Disorder,
            2 => Recovery::WindowReduction,
            3 => Recovery::Recovery,
            4 => Recovery::Loss,
            other => Recovery::Other(other),
        }
    }

    /// Whether the window was reduced to get here: a loss event.
    pub fn is_reduction(self) -> bool {
        matches!(self, Recovery::WindowReduction | Recovery::Recovery | Recovery::Loss)
    }
}

/// One subflow, or one plain TCP connection. What this kernel does not tell is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TcpInfo {
    /// Life of the connection.
    pub state: TcpState,
    /// Loss recovery.
    pub recovery: Recovery,
    /// Timeouts in a row without an answer.
    pub backoff: u8,
    /// Whether the last delivery rate was limited by the application.
    pub app_limited: bool,
    /// Retransmission timeout, µs.
    pub rto_us: u32,
    /// Payload of a segment that is sent, bytes.
    pub send_mss_bytes: u32,
    /// Smoothed RTT, µs; 0 before the first sample.
    pub srtt_us: u32,
    /// Variation of the RTT, µs.
    pub rtt_variation_us: u32,
    /// Least RTT lately, µs; `u32::MAX` before the first sample.
    pub min_rtt_us: u32,
    /// Congestion window, packets.
    pub cwnd_packets: u32,
    /// Slow start threshold, packets; `0x7fff_ffff` means none yet.
    pub ssthresh_packets: u32,
    /// Sent and not acknowledged, packets.
    pub unacked_packets: u32,
    /// Held to be lost now, packets.
    pub lost_packets: u32,
    /// Time since data or an acknowledgement last came, ms.
    #[serde(default)]
    pub heard_ms: u32,
    /// Segments sent again since the start.
    pub retransmitted_segments: u32,
    /// Rate at which segments leave, bytes/s; none if they are not paced.
    pub pacing_rate_bytes_per_s: Option<u64>,
    /// Rate at which segments arrived lately, bytes/s.
    pub delivery_rate_bytes_per_s: u64,
    /// Payload sent and acknowledged, bytes. The SYN counts as one.
    pub acked_bytes: u64,
    /// Payload received in order on this subflow, bytes.
    pub received_bytes: u64,
    /// Segments sent, ACKs included.
    pub segments_out: u32,
    /// Segments with payload sent, retransmissions included.
    pub data_segments_out: u32,
    /// Segments with payload received.
    pub data_segments_in: u32,
    /// Given by the application, not sent yet, bytes.
    pub not_sent_bytes: u32,
    /// Payload sent, retransmissions included, bytes.
    pub sent_bytes: u64,
    /// Payload sent again, bytes.
    pub retransmitted_bytes: u64,
    /// Time with data in flight, µs.
    pub busy_us: u64,
    /// Of that, limited by the peer's window, µs.
    pub receive_window_limited_us: u64,
    /// Of that, limited by the send buffer, µs.
    pub send_buffer_limited_us: u64,
    /// Packets delivered, those with a CE mark included.
    pub delivered_packets: u32,
    /// Packets delivered with a CE mark.
    pub marked_packets: u32,
    /// The peer's window, bytes.
    pub send_window_bytes: u32,
    /// The own window as told to the peer, bytes. Linux 6.2.
    pub receive_window_bytes: Option<u32>,
    /// Retransmission timeouts since the start. Linux 6.7.
    pub timeouts: Option<u16>,
}

impl TcpInfo {
    /// From what the kernel wrote; none if it is shorter than on any kernel with MPTCP's own options (5.16:
    /// 232 bytes).
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let fields = Fields(bytes);
        Some(TcpInfo {
            state: TcpState::new(fields.u8(0)?),
            recovery: Recovery::new(fields.u8(1)?),
            backoff: fields.u8(4)?,
            app_limited: fields.u8(7)? & 1 != 0,
            rto_us: fields.u32(8)?,
            send_mss_bytes: fields.u32(16)?,
            unacked_packets: fields.u32(24)?,
            lost_packets: fields.u32(32)?,
            heard_ms: fields.u32(52)?.min(fields.u32(56)?),
            srtt_us: fields.u32(68)?,
            rtt_variation_us: fields.u32(72)?,
            ssthresh_packets: fields.u32(76)?,
            cwnd_packets: fields.u32(80)?,
            retransmitted_segments: fields.u32(100)?,
            pacing_rate_bytes_per_s: Some(fields.u64(104)?).filter(|rate| *rate != u64::MAX),
            acked_bytes: fields.u64(120)?,
            received_bytes: fields.u64(128)?,
            segments_out: fields.u32(136)?,
            not_sent_bytes: fields.u32(144)?,
            min_rtt_us: fields.u32(148)?,
            data_segments_in: fields.u32(152)?,
            data_segments_out: fields.u32(156)?,
            delivery_rate_bytes_per_s: fields.u64(160)?,
            busy_us: fields.u64(168)?,
            receive_window_limited_us: fields.u64(176)?,
            send_buffer_limited_us: fields.u64(184)?,
            delivered_packets: fields.u32(192)?,
            marked_packets: fields.u32(196)?,
            sent_bytes: fields.u64(200)?,
            retransmitted_bytes: fields.u64(208)?,
            send_window_bytes: fields.u32(228)?,
            receive_window_bytes: fields.u32(232),
            timeouts: fields.u16(240),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A structure in which byte i is i.
    fn counting(len: u8) -> Vec<u8> {
        (0..len).collect()
    }

    #[test]
    fn an_old_kernel_lacks_the_last_fields_only() {
        // 6.1 writes 232 bytes, 6.2 to 6.6 240, 6.7 248.
        let v6_1 = TcpInfo::parse(&counting(232)).unwrap();
        assert_eq!((v6_1.receive_window_bytes, v6_1.timeouts), (None, None));
        assert_eq!(v6_1.send_window_bytes, u32::from_ne_bytes([228, 229, 230, 231]));
        let v6_2 = TcpInfo::parse(&counting(240)).unwrap();
        assert!(v6_2.receive_window_bytes.is_some() && v6_2.timeouts.is_none());
        let v6_7 = TcpInfo::parse(&counting(248)).unwrap();
        assert_eq!(v6_7.timeouts, Some(u16::from_ne_bytes([240, 241])));
    }

    #[test]
    fn a_structure_that_is_too_short_is_none() {
        assert_eq!(TcpInfo::parse(&counting(231)), None);
        assert_eq!(TcpInfo::parse(&[]), None);
    }

    #[test]
    fn a_rate_without_pacing_is_none_and_not_the_largest_number() {
        let mut bytes = counting(232);
        bytes[104..112].fill(0xff);
        assert_eq!(TcpInfo::parse(&bytes).unwrap().pacing_rate_bytes_per_s, None);
    }
}
