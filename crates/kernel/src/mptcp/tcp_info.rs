//! `struct tcp_info`: the statistics of one subflow.

use serde::{Deserialize, Serialize};

use crate::sockopt::Fields;

/// Size of the structure in Linux 6.18, rounded up to leave room for later fields.
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
    /// Closed by this end, not acknowledged yet.
    FinWait1,
    /// Closed by this end, and acknowledged.
    FinWait2,
    /// Closed by both ends; waits until stray segments have expired.
    TimeWait,
    /// No connection.
    Closed,
    /// Closed by the other end.
    CloseWait,
    /// Closed by both ends; the last ACK is missing.
    LastAck,
    /// Listens for connections.
    Listen,
    /// Both ends closed at the same time.
    Closing,
    /// A state that this version does not know.
    Other(u8),
}

impl TcpState {
    pub(crate) fn new(state: u8) -> Self {
        match state {
            1 => TcpState::Established,
            2 => TcpState::SynSent,
            // 12 is a request socket, which is the same to a user.
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

/// State of loss recovery (`enum tcp_ca_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Recovery {
    /// No suspected loss.
    Open,
    /// Duplicate ACKs or SACKs have arrived.
    Disorder,
    /// ECN reduces the window.
    WindowReduction,
    /// Fast retransmit.
    Recovery,
    /// After a timeout.
    Loss,
    /// A state that this version does not know.
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

    /// True if the window was reduced to enter this state, which makes it a loss event.
    pub fn is_reduction(self) -> bool {
        matches!(
            self,
            Recovery::WindowReduction | Recovery::Recovery | Recovery::Loss
        )
    }
}

/// Statistics of one subflow or plain TCP connection. Fields that this kernel does not report are
/// `None`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TcpInfo {
    /// State of the connection.
    pub state: TcpState,
    /// Loss recovery.
    pub recovery: Recovery,
    /// Unanswered timeouts in a row.
    pub backoff: u8,
    /// True if the application limited the last delivery rate.
    pub app_limited: bool,
    /// Retransmission timeout, µs.
    pub rto_us: u32,
    /// Payload of a full segment to send, bytes.
    pub send_mss_bytes: u32,
    /// Smoothed RTT, µs; 0 before the first sample.
    pub srtt_us: u32,
    /// Variation of the RTT, µs.
    pub rtt_variation_us: u32,
    /// Recent minimum RTT, µs; `u32::MAX` before the first sample.
    pub min_rtt_us: u32,
    /// Congestion window, packets.
    pub cwnd_packets: u32,
    /// Slow start threshold, packets; `0x7fff_ffff`: none yet.
    pub ssthresh_packets: u32,
    /// Sent and not yet acknowledged, packets.
    pub unacked_packets: u32,
    /// Currently marked as lost, packets.
    pub lost_packets: u32,
    /// Time since the last data or acknowledgement arrived, ms.
    #[serde(default)]
    pub heard_ms: u32,
    /// Time since data was last sent, ms.
    #[serde(default)]
    pub data_sent_ms: u32,
    /// The receiver's estimate of the RTT, µs; 0: none yet.
    #[serde(default)]
    pub receive_rtt_us: u32,
    /// Segments received out of order.
    #[serde(default)]
    pub out_of_order_segments: u32,
    /// Segments retransmitted.
    pub retransmitted_segments: u32,
    /// Pacing rate, bytes/s; `None` if not paced.
    pub pacing_rate_bytes_per_s: Option<u64>,
    /// `SO_MAX_PACING_RATE`, bytes/s; `None` if not set.
    #[serde(default)]
    pub max_pacing_rate_bytes_per_s: Option<u64>,
    /// Recent delivery rate, bytes/s.
    pub delivery_rate_bytes_per_s: u64,
    /// Payload sent and acknowledged, bytes. The SYN counts as one byte.
    pub acked_bytes: u64,
    /// Payload received in order on this subflow, bytes.
    pub received_bytes: u64,
    /// Segments sent, including ACKs.
    pub segments_out: u32,
    /// Segments with payload sent, including retransmissions.
    pub data_segments_out: u32,
    /// Segments with payload received.
    pub data_segments_in: u32,
    /// Written by the application and not yet sent, bytes.
    pub not_sent_bytes: u32,
    /// Payload sent, including retransmissions, bytes.
    pub sent_bytes: u64,
    /// Payload retransmitted, bytes.
    pub retransmitted_bytes: u64,
    /// Time with data in flight, µs.
    pub busy_us: u64,
    /// Part of `busy_us` in which the peer's window was the limit, µs.
    pub receive_window_limited_us: u64,
    /// Part of `busy_us` in which the send buffer was the limit, µs.
    pub send_buffer_limited_us: u64,
    /// Packets delivered, including those with a CE mark.
    pub delivered_packets: u32,
    /// Packets delivered with a CE mark.
    pub marked_packets: u32,
    /// The peer's window, bytes.
    pub send_window_bytes: u32,
    /// The receive window advertised to the peer, bytes. Linux 6.2.
    pub receive_window_bytes: Option<u32>,
    /// Retransmission timeouts. Linux 6.7.
    pub timeouts: Option<u16>,
}

impl TcpInfo {
    /// Parses what the kernel wrote; `None` if it is shorter than on any kernel with MPTCP's socket
    /// options (5.16: 232 bytes).
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
            data_sent_ms: fields.u32(44)?,
            heard_ms: fields.u32(52)?.min(fields.u32(56)?),
            srtt_us: fields.u32(68)?,
            rtt_variation_us: fields.u32(72)?,
            ssthresh_packets: fields.u32(76)?,
            cwnd_packets: fields.u32(80)?,
            receive_rtt_us: fields.u32(92)?,
            retransmitted_segments: fields.u32(100)?,
            pacing_rate_bytes_per_s: rate(fields.u64(104)?),
            max_pacing_rate_bytes_per_s: rate(fields.u64(112)?),
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
            out_of_order_segments: fields.u32(224)?,
            send_window_bytes: fields.u32(228)?,
            receive_window_bytes: fields.u32(232),
            timeouts: fields.u16(240),
        })
    }
}

/// The largest value stands for no limit.
fn rate(bytes_per_s: u64) -> Option<u64> {
    (bytes_per_s != u64::MAX).then_some(bytes_per_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A structure in which byte i has the value i.
    fn counting(len: u8) -> Vec<u8> {
        (0..len).collect()
    }

    #[test]
    fn an_old_kernel_lacks_only_the_last_fields() {
        // 6.1 writes 232 bytes, 6.2 to 6.6 240, 6.7 248.
        let v6_1 = TcpInfo::parse(&counting(232)).unwrap();
        assert_eq!((v6_1.receive_window_bytes, v6_1.timeouts), (None, None));
        assert_eq!(
            v6_1.send_window_bytes,
            u32::from_ne_bytes([228, 229, 230, 231])
        );
        let v6_2 = TcpInfo::parse(&counting(240)).unwrap();
        assert!(v6_2.receive_window_bytes.is_some() && v6_2.timeouts.is_none());
        let v6_7 = TcpInfo::parse(&counting(248)).unwrap();
        assert_eq!(v6_7.timeouts, Some(u16::from_ne_bytes([240, 241])));
    }

    #[test]
    fn a_short_structure_is_none() {
        assert_eq!(TcpInfo::parse(&counting(231)), None);
        assert_eq!(TcpInfo::parse(&[]), None);
    }

    #[test]
    fn the_rate_without_pacing_is_none() {
        let mut bytes = counting(232);
        bytes[104..120].fill(0xff);
        let info = TcpInfo::parse(&bytes).unwrap();
        assert_eq!(
            (
                info.pacing_rate_bytes_per_s,
                info.max_pacing_rate_bytes_per_s
            ),
            (None, None)
        );
    }
}
