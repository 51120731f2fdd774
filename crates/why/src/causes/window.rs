//! Windows and buffers that hold the sender back: common to several causes.

use joulepath_kernel::mptcp::diag::SocketMemory;

use crate::finding::Cost;
use crate::subject::{Flow, Subject, at};
use crate::words::{mbit, percent};

/// A window counts if it was the limit in at least this part of the time.
const OFTEN: f64 = 0.4;
/// Part of our window in flight from which on it limits the peer. Linux offers at least twice of
/// what arrives in an RTT while the buffer may grow (`tcp_rcv_space_adjust`).
const OWN_FULL: f64 = 0.7;
/// Part of the receive buffer whose use leaves little window: half of it is overhead.
const HALF: f64 = 0.4;
/// Parts of the receive buffer that unread data uses: in the 10 % quantile of the samples, and in the
/// median.
const LEAST_UNREAD: f64 = 0.5;
const UNREAD: f64 = 0.8;
/// RTT ratio of two subflows from which on the slower one may hold back the faster one, and of
/// their minimum RTTs: a ratio that only queues cause is bufferbloat.
const UNEQUAL: f64 = 3.0;
const UNEQUAL_EMPTY: f64 = 2.0;

/// Which limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    PeerWindow,
    SendBuffer,
    OwnWindow,
}

/// A limit that may be smaller than what the network would carry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blocked {
    pub(super) limit: Limit,
    /// Part of the time in which it was the limit.
    pub(super) share: f64,
    /// Payload that fits, bytes.
    pub(super) bytes: f64,
    /// Payload for which the network has room, bytes; `None` if the peer's congestion windows
    /// decide.
    pub(super) needed_bytes: Option<f64>,
}

impl Blocked {
    /// True if the limit is smaller than what the congestion windows hold, as far as they are
    /// visible.
    pub(super) fn is_too_small(&self) -> bool {
        self.needed_bytes.is_none_or(|needed| self.bytes < needed)
    }
}

/// The limit that holds the connection back, if one does.
pub(super) fn blocked(subject: &Subject<'_>) -> Option<Blocked> {
    if subject.is_idle() || subject.flows.is_empty() || subject.fills_its_paths() {
        return None;
    }
    if subject.uploads() {
        sending(subject)
    } else {
        receiving(subject)
    }
}

fn sending(subject: &Subject<'_>) -> Option<Blocked> {
    // The buffer of an MPTCP connection is not that of its subflows, which often wait for it.
    let times = if subject.mptcp.is_empty() {
        times(subject)
    } else {
        (0.0, 0.0)
    };
    let waits = subject.waits();
    let needed_bytes = Some(windows_bytes(subject)).filter(|bytes| *bytes > 0.0);
    let window = waits.window.max(times.0);
    let buffer = waits.buffer.max(times.1);
    let (limit, share) = if window >= buffer {
        (Limit::PeerWindow, window)
    } else {
        (Limit::SendBuffer, buffer)
    };
    let bytes = match limit {
        Limit::SendBuffer => f64::from(memory(subject)?.send_limit_bytes),
        _ => subject.peer_window_bytes().1 as f64,
    };
    (share >= OFTEN).then_some(Blocked {
        limit,
        share,
        bytes,
        needed_bytes,
    })
}

fn receiving(subject: &Subject<'_>) -> Option<Blocked> {
    let windows = subject
        .flows
        .iter()
        .filter_map(|flow| flow.info()?.receive_window_bytes);
    let bytes = f64::from(windows.max()?);
    let rtts = subject
        .flows
        .iter()
        .filter_map(|flow| crate::subject::at(&flow.rtts_s(false), 0.5));
    let in_flight = subject.rates_bps().1 / 8.0 * rtts.fold(0.0, f64::max);
    let share = in_flight / bytes;
    (bytes > 0.0 && share >= OWN_FULL).then_some(Blocked {
        limit: Limit::OwnWindow,
        share: share.min(1.0),
        bytes,
        needed_bytes: None,
    })
}

/// This host's window, if it holds data that waits for its order in much of the time.
pub(super) fn waiting(subject: &Subject<'_>) -> Option<Blocked> {
    let is_download = !subject.is_idle() && !subject.uploads() && !is_read_slowly(subject);
    let parts = used_parts(subject);
    let full = parts.iter().filter(|part| **part >= HALF).count() as f64;
    let share = full / parts.len().max(1) as f64;
    let (_, waited) = subject.counter("MPTcpExtOFOQueue");
    let windows = subject
        .flows
        .iter()
        .filter_map(|flow| flow.info()?.receive_window_bytes);
    let bytes = f64::from(windows.max()?);
    let is_often = is_download && waited > 0 && share >= OFTEN;
    is_often.then_some(Blocked {
        limit: Limit::OwnWindow,
        share,
        bytes,
        needed_bytes: None,
    })
}

/// Parts of the time in which TCP itself noted the peer's window and the send buffer as the limit.
fn times(subject: &Subject<'_>) -> (f64, f64) {
    let grown =
        |flow: &Flow<'_>, of: fn(&joulepath_kernel::mptcp::TcpInfo) -> u64| match flow.series[..] {
            [first, .., last] => of(last).saturating_sub(of(first)) as f64 / 1e6,
            _ => 0.0,
        };
    let most = |of: fn(&joulepath_kernel::mptcp::TcpInfo) -> u64| {
        subject
            .flows
            .iter()
            .map(|flow| grown(flow, of))
            .fold(0.0, f64::max)
            / subject.seconds
    };
    (
        most(|info| info.receive_window_limited_us),
        most(|info| info.send_buffer_limited_us),
    )
}

fn memory(subject: &Subject<'_>) -> Option<SocketMemory> {
    match subject.connection() {
        Some(connection) => connection.memory,
        None => subject.flows.first()?.socket.memory,
    }
}

/// Size of the send buffer at the begin and at the end of the observation, bytes of memory. Of
/// plain TCP only the end is known.
pub(super) fn send_limits_bytes(subject: &Subject<'_>) -> Option<(u32, u32)> {
    let now = memory(subject)?.send_limit_bytes;
    let first = subject.mptcp.first().and_then(|one| one.memory);
    Some((first.map_or(now, |memory| memory.send_limit_bytes), now))
}

/// What the congestion windows of all subflows allow, bytes.
fn windows_bytes(subject: &Subject<'_>) -> f64 {
    let of = |flow: &Flow<'_>| {
        flow.cwnd_packets() * flow.info().map_or(0.0, |info| info.send_mss_bytes.into())
    };
    subject
        .flows
        .iter()
        .filter(|flow| !flow.is_backup())
        .map(of)
        .sum()
}

/// A slow and a fast subflow, if the slow one fills a window that the fast one alone would not:
/// indices.
pub(super) fn unequal(subject: &Subject<'_>, blocked: &Blocked) -> Option<(usize, usize)> {
    let sending = subject.uploads();
    let rtt = |index: &usize| {
        let flow = &subject.flows[*index];
        let rtts_s = flow.rtts_s(sending);
        crate::subject::at(
            if rtts_s.is_empty() {
                return None;
            } else {
                &rtts_s
            },
            0.5,
        )
    };
    let used = (0..subject.flows.len()).filter(|&index| !subject.flows[index].is_backup());
    let known: Vec<(usize, f64)> = used
        .filter_map(|index| Some((index, rtt(&index)?)))
        .collect();
    let slow = known.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let fast = known.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let (flow, empty) = (&subject.flows[fast.0], |index: usize| {
        subject.flows[index].min_rtt_s()
    });
    let rate_bps = if sending {
        flow.delivery_bps()
    } else {
        flow.received_bps()
    };
    let alone_bytes = rate_bps / 8.0 * empty(fast.0)?;
    let is_unequal = slow.1 >= UNEQUAL * fast.1 && empty(slow.0)? >= UNEQUAL_EMPTY * empty(fast.0)?;
    (is_unequal && alone_bytes <= blocked.bytes).then_some((slow.0, fast.0))
}

/// The cost: the rate that the congestion windows would allow is out of reach.
pub(super) fn cost(subject: &Subject<'_>, blocked: &Blocked) -> Cost {
    let rate_bps = subject.rate_bps();
    let possible: f64 = subject.flows.iter().map(possible_bps).sum();
    match blocked.needed_bytes {
        Some(_) if possible > rate_bps => Cost::new(
            1.0 - rate_bps / possible,
            format!(
                "at least: the congestion windows allow {} over the present RTTs",
                mbit(possible)
            ),
        ),
        _ => Cost::new(
            0.5 * blocked.share,
            format!(
                "the peer's windows are not visible; limited {} of the time, counted half",
                percent(blocked.share)
            ),
        ),
    }
}

fn possible_bps(flow: &Flow<'_>) -> f64 {
    let srtt_s = crate::subject::at(&flow.rtts_s(true), 0.5).unwrap_or(f64::INFINITY);
    flow.cwnd_packets() * flow.info().map_or(0.0, |info| info.send_mss_bytes.into()) * 8.0 / srtt_s
}

/// A maximum for the fix: what the congestion windows need, as Linux counts memory (half of it is
/// overhead), and twice the present one. A window that a small buffer limits does not show what the
/// paths need, so the maximum is at least the kernel's default.
pub(super) fn enough_bytes(blocked: &Blocked, most: Option<u64>, default: u64) -> u64 {
    let payload = blocked.needed_bytes.unwrap_or(0.0).max(2.0 * blocked.bytes);
    ((2.0 * payload) as u64)
        .next_power_of_two()
        .max(default)
        .max(2 * most.unwrap_or(0))
}

/// Memory in use in each sample, as parts of the buffer. Of plain TCP only the end is known.
fn used_parts(subject: &Subject<'_>) -> Vec<f64> {
    let part = |memory: Option<SocketMemory>| {
        memory.map(|one| {
            f64::from(one.receive_used_bytes) / f64::from(one.receive_limit_bytes.max(1))
        })
    };
    match subject.mptcp[..] {
        [] => subject
            .flows
            .first()
            .and_then(|flow| part(flow.socket.memory))
            .into_iter()
            .collect(),
        ref all => all.iter().filter_map(|one| part(one.memory)).collect(),
    }
}

/// True if the buffer is always full of data that this host's program does not read. Data that
/// waits for its order leaves room for what fills the hole, and is read at once then.
pub(super) fn is_read_slowly(subject: &Subject<'_>) -> bool {
    let parts = used_parts(subject);
    let is_above = |quantile, least| at(&parts, quantile).is_some_and(|part| part > least);
    is_above(0.1, LEAST_UNREAD) && is_above(0.5, UNREAD)
}
