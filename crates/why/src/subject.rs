//! One connection, and what its statistics mean.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use joulepath_kernel::mptcp::diag::{Connection, SocketMemory, TcpSocket};
use joulepath_kernel::mptcp::{TcpInfo, TcpState, Token};
use joulepath_kernel::route::{Address, RouteKind, Scope};

use crate::observation::{Host, Observation, Program, Sample};

/// Less traffic is none, bit/s.
const IDLE_BPS: f64 = 20e3;
/// Part of a window from which on it counts as full.
const FULL: f64 = 0.85;
/// Part of the congestion windows in use, below which the network would take more.
const ROOM: f64 = 0.85;
/// A writer that was refused is woken at two thirds of the send buffer (`sk_stream_write_space`).
const WRITTEN: f64 = 0.6;
/// SYNs are repeated after this time at first, s (RFC 6298, section 2).
const SYN_S: f64 = 1.0;

/// A connection over the time of the observation.
#[derive(Debug)]
pub struct Subject<'a> {
    /// Configuration of the host.
    pub host: &'a Host,
    /// Local address.
    pub local: SocketAddr,
    /// Remote address.
    pub remote: SocketAddr,
    /// The process that holds it.
    pub program: Option<&'a Program>,
    /// Inode of the socket.
    pub inode: u32,
    /// The MPTCP connection in each sample; empty for plain TCP.
    pub mptcp: Vec<&'a Connection>,
    /// Its subflows; for plain TCP, itself.
    pub flows: Vec<Flow<'a>>,
    /// Length of the observation, s.
    pub seconds: f64,
    observation: &'a Observation<'a>,
}

/// A subflow, or a plain TCP connection.
#[derive(Debug)]
pub struct Flow<'a> {
    /// In the last sample.
    pub socket: &'a TcpSocket,
    /// Statistics in each sample.
    pub series: Vec<&'a TcpInfo>,
    /// Times of these samples, s.
    pub times_s: Vec<f64>,
    /// The device that has its local address.
    pub device: Option<u32>,
    seconds: f64,
}

/// What the sender waited for: parts of the observation, which add up to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Waits {
    /// The window that the peer offers.
    pub window: f64,
    /// The send buffer.
    pub buffer: f64,
    /// The application: there was no data to send.
    pub application: f64,
    /// The network: congestion windows were full.
    pub network: f64,
}

/// An interface that carries nothing of the connection and could.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alternative {
    /// Index of the device.
    pub device: u32,
    /// Its name.
    pub name: String,
    /// Its address.
    pub address: IpAddr,
}

/// Local and remote address.
type Ends = (SocketAddr, SocketAddr);
/// Times and statistics of each socket in each sample.
type Statistics<'a> = BTreeMap<Ends, Vec<(f64, &'a TcpInfo)>>;

/// What was seen, by connection: one pass over all samples serves all connections.
struct Known<'a> {
    connections: BTreeMap<(Token, SocketAddr), Vec<&'a Connection>>,
    subflows: Statistics<'a>,
    plain: Statistics<'a>,
}

impl<'a> Known<'a> {
    fn of(observation: &'a Observation<'a>) -> Self {
        let mut known = Known {
            connections: BTreeMap::new(),
            subflows: BTreeMap::new(),
            plain: BTreeMap::new(),
        };
        for Sample { at_s, listing, .. } in &observation.samples {
            let add = |all: &mut Statistics<'a>, socket: &'a TcpSocket| {
                all.entry(ends(socket))
                    .or_default()
                    .extend(socket.info.iter().map(|info| (*at_s, info)));
            };
            for one in &listing.connections {
                known
                    .connections
                    .entry((one.info.token, one.local))
                    .or_default()
                    .push(one);
                one.subflows
                    .iter()
                    .for_each(|socket| add(&mut known.subflows, socket));
            }
            listing
                .plain
                .iter()
                .for_each(|socket| add(&mut known.plain, socket));
        }
        known
    }
}

fn ends(socket: &TcpSocket) -> Ends {
    (socket.local, socket.remote)
}

/// The sending side at one instant.
#[derive(Clone, Copy, Debug, Default)]
struct Moment {
    window_bytes: u64,
    in_flight_bytes: u64,
    unsent_bytes: u64,
    unacked_packets: u64,
    cwnd_packets: u64,
    mss_bytes: u64,
    memory: Option<SocketMemory>,
}

impl<'a> Subject<'a> {
    /// All connections of the observation that are open at its end.
    pub fn all(observation: &'a Observation<'a>) -> Vec<Subject<'a>> {
        let Some(last) = observation.samples.last() else {
            return vec![];
        };
        let known = Known::of(observation);
        let firsts: BTreeSet<Ends> = last
            .listing
            .connections
            .iter()
            .map(|one| (one.local, one.remote))
            .collect();
        let connections = last
            .listing
            .connections
            .iter()
            .map(|one| Self::of_mptcp(observation, &known, one));
        let is_own = |socket: &&TcpSocket| {
            // Without CAP_NET_ADMIN a subflow looks like plain TCP, but no process holds it.
            socket.inode != 0 && !firsts.contains(&ends(socket)) && socket.info.is_some()
        };
        let plain = last.listing.plain.iter().filter(is_own);
        let plain = plain.map(|one| Self::of_plain(observation, &known, one));
        let is_open = |one: &Subject<'_>| one.is_open() && !one.stays_here();
        connections.chain(plain).filter(is_open).collect()
    }

    fn of_mptcp(observation: &'a Observation<'a>, known: &Known<'a>, last: &'a Connection) -> Self {
        let mptcp = known
            .connections
            .get(&(last.info.token, last.local))
            .cloned()
            .unwrap_or_default();
        let flows = last
            .subflows
            .iter()
            .map(|socket| Flow::new(observation, socket, &known.subflows));
        Subject {
            mptcp,
            ..Self::new(
                observation,
                (last.local, last.remote),
                last.inode,
                flows.collect(),
            )
        }
    }

    fn of_plain(observation: &'a Observation<'a>, known: &Known<'a>, last: &'a TcpSocket) -> Self {
        let flow = Flow::new(observation, last, &known.plain);
        Self::new(observation, ends(last), last.inode, vec![flow])
    }

    fn new(
        observation: &'a Observation<'a>,
        (local, remote): (SocketAddr, SocketAddr),
        inode: u32,
        flows: Vec<Flow<'a>>,
    ) -> Self {
        let host = &observation.host;
        let program = host.programs.get(&inode);
        let seconds = length_s(observation);
        Subject {
            host,
            local,
            remote,
            program,
            inode,
            mptcp: vec![],
            flows,
            seconds,
            observation,
        }
    }

    fn is_open(&self) -> bool {
        let state = match (self.mptcp.last(), self.flows.first()) {
            (Some(connection), _) => connection.state,
            (None, Some(flow)) => flow.socket.state,
            (None, None) => return false,
        };
        use TcpState::{CloseWait, Established, FinWait1, SynSent};
        matches!(state, CloseWait | Established | FinWait1 | SynSent)
    }

    /// True if both ends are on this host: its packets pass the loopback device, whatever its
    /// addresses are.
    fn stays_here(&self) -> bool {
        let ip = self.remote.ip();
        ip.is_loopback() || self.host.device_of(ip).is_some()
    }

    /// The MPTCP connection at the end; `None` for plain TCP.
    pub fn connection(&self) -> Option<&'a Connection> {
        self.mptcp.last().copied()
    }

    /// The MPTCP connection at the end; `None` for plain TCP and after a fallback.
    pub fn multipath(&self) -> Option<&'a Connection> {
        self.connection()
            .filter(|connection| !connection.info.fallback)
    }

    /// User id of the owner.
    pub fn uid(&self) -> Option<u32> {
        let plain = || self.flows.first().map(|flow| flow.socket.uid);
        self.connection()
            .map(|connection| connection.uid)
            .or_else(plain)
    }

    /// True if it carries data or waits for an answer.
    pub fn is_busy(&self) -> bool {
        !self.is_idle() || self.flows.iter().any(|flow| flow.unanswered_s().is_some())
    }

    /// True if this host opened it.
    pub fn is_client(&self) -> bool {
        let first = self
            .flows
            .iter()
            .find_map(|flow| flow.socket.membership.filter(|one| !one.joined));
        first.is_none_or(|first| first.opened_locally)
    }

    /// Payload sent and received, bit/s. Retransmissions do not count.
    pub fn rates_bps(&self) -> (f64, f64) {
        let flows = || self.flows.iter();
        (
            flows().map(|flow| flow.sent_bps()).sum(),
            flows().map(|flow| flow.received_bps()).sum(),
        )
    }

    /// Rate of the busier direction, bit/s.
    pub fn rate_bps(&self) -> f64 {
        let (sent, received) = self.rates_bps();
        sent.max(received)
    }

    /// True if it sends more than it receives.
    pub fn uploads(&self) -> bool {
        let (sent, received) = self.rates_bps();
        sent >= received
    }

    /// True if it carries next to nothing.
    pub fn is_idle(&self) -> bool {
        self.rate_bps() < IDLE_BPS
    }

    /// How much a counter has grown since the host started, and during the observation.
    pub fn counter(&self, name: &str) -> (u64, u64) {
        let value = |sample: Option<&crate::observation::Sample<'_>>| {
            sample
                .and_then(|sample| sample.counters.get(name))
                .copied()
                .unwrap_or(0)
        };
        let samples = &self.observation.samples;
        let (first, last) = (value(samples.first()), value(samples.last()));
        (last, last.saturating_sub(first))
    }

    /// Bytes that were sent again on another subflow, and first transmissions, during the
    /// observation.
    pub fn reinjected(&self) -> Option<(u64, u64)> {
        let (first, last) = (
            self.mptcp.first()?.info.counters?,
            self.mptcp.last()?.info.counters?,
        );
        Some((
            last.reinjected.saturating_sub(first.reinjected),
            last.sent.saturating_sub(first.sent),
        ))
    }

    /// Subflows that carry at least this part of the sent or received payload.
    pub fn active(&self, part: f64) -> Vec<&Flow<'a>> {
        let of = |flow: &Flow<'_>| flow.sent_bps() + flow.received_bps();
        let sum: f64 = self.flows.iter().map(of).sum();
        self.flows
            .iter()
            .filter(|flow| sum > 0.0 && of(flow) >= part * sum)
            .collect()
    }

    /// Usable interfaces that have a route to the peer and no subflow, except those that the daemon
    /// spares.
    pub fn alternatives(&self) -> Vec<Alternative> {
        let is_spared = |one: &Alternative| {
            self.host
                .daemon
                .as_ref()
                .is_some_and(|daemon| daemon.spares(&one.name))
        };
        self.others()
            .into_iter()
            .filter(|one| self.is_routed(one.device) && !is_spared(one))
            .collect()
    }

    /// Usable interfaces without a subflow, with an address of the peer's family. None if the
    /// connection uses a tunnel and stays in it. A join without an answer is no subflow yet.
    pub fn others(&self) -> Vec<Alternative> {
        let flows = self.flows.iter().filter(|flow| !flow.is_joining());
        let used: Vec<u32> = flows.filter_map(|flow| flow.device).collect();
        let route = self
            .host
            .route(self.local.ip(), None, self.remote.ip())
            .flatten();
        if used
            .iter()
            .copied()
            .chain(route)
            .any(|device| self.host.keeps(device))
        {
            return vec![];
        }
        let mut found: Vec<Alternative> = vec![];
        for Address {
            device,
            address,
            scope,
            ..
        } in &self.host.addresses
        {
            let Some(link) = self.host.links.iter().find(|link| link.index == *device) else {
                continue;
            };
            let fits = address.is_ipv4() == self.remote.is_ipv4() && *scope == Scope::Universe;
            let is_new = !used.contains(device) && found.iter().all(|one| one.device != *device);
            let can = link.is_usable() && !link.loopback && link.master.is_none();
            if fits && is_new && can && !self.host.is_tunnel(*device) {
                found.push(Alternative {
                    device: *device,
                    name: link.name.clone(),
                    address: *address,
                });
            }
        }
        found
    }

    /// The join that waits for its first answer on a device.
    pub fn joining(&self, device: u32) -> Option<&Flow<'a>> {
        self.flows
            .iter()
            .find(|flow| flow.is_joining() && flow.device == Some(device))
    }

    /// Devices over which other connections to the same server use MPTCP now.
    pub fn multipath_to_peer(&self) -> Vec<u32> {
        let last = self
            .observation
            .samples
            .last()
            .into_iter()
            .flat_map(|sample| &sample.listing.connections);
        let others = last.filter(|one| one.remote == self.remote && !one.info.fallback);
        let known = others.filter(|one| one.info.remote_key_received);
        known
            .filter_map(|one| self.host.device_of(one.local.ip()))
            .collect()
    }

    /// True if some table has a route to the peer through the device.
    pub fn is_routed(&self, device: u32) -> bool {
        let remote = self.remote.ip();
        self.host.routes.iter().any(|route| {
            route.kind == RouteKind::Unicast
                && route.destination.address().is_ipv4() == remote.is_ipv4()
                && route.destination.contains(remote)
                && route.hops.iter().any(|hop| hop.device == Some(device))
        })
    }

    /// What the sender waited for.
    pub fn waits(&self) -> Waits {
        let moments = self.moments();
        let count = moments.len().max(1) as f64;
        let mut waits = Waits::default();
        for moment in &moments {
            *match () {
                () if !moment.has_room() => &mut waits.network,
                () if moment.is_window_full() => &mut waits.window,
                () if moment.is_buffer_full() => &mut waits.buffer,
                () if moment.unsent_bytes <= 2 * moment.mss_bytes => &mut waits.application,
                () => &mut waits.network,
            } += 1.0 / count;
        }
        waits
    }

    /// The smallest and the largest window that the peer offered, bytes.
    pub fn peer_window_bytes(&self) -> (u64, u64) {
        let windows = || self.moments().into_iter().map(|moment| moment.window_bytes);
        (windows().min().unwrap_or(0), windows().max().unwrap_or(0))
    }

    fn moments(&self) -> Vec<Moment> {
        let length = self
            .flows
            .iter()
            .map(|flow| flow.series.len())
            .min()
            .unwrap_or(0);
        // Counted from the end: a subflow may have joined during the observation.
        (1..=length)
            .rev()
            .filter_map(|back| self.moment(back))
            .collect()
    }

    fn moment(&self, back: usize) -> Option<Moment> {
        let mut moment = Moment::default();
        for flow in self.flows.iter().filter(|flow| !flow.is_backup()) {
            let info = flow.series[flow.series.len() - back];
            let mss_bytes = u64::from(info.send_mss_bytes);
            moment.window_bytes = moment.window_bytes.max(info.send_window_bytes.into());
            moment.in_flight_bytes += u64::from(info.unacked_packets) * mss_bytes;
            moment.unsent_bytes += u64::from(info.not_sent_bytes);
            moment.unacked_packets += u64::from(info.unacked_packets);
            moment.cwnd_packets += u64::from(info.cwnd_packets);
            moment.mss_bytes = moment.mss_bytes.max(mss_bytes);
            moment.memory = flow.socket.memory;
        }
        let Some(last) = self
            .mptcp
            .len()
            .checked_sub(back)
            .filter(|_| !self.mptcp.is_empty())
        else {
            return self.mptcp.is_empty().then_some(moment);
        };
        let connection = self.mptcp[last];
        let written = connection
            .info
            .write_dsn
            .saturating_sub(connection.info.unacked_dsn);
        // Data that a subflow holds back counts as sent: a local queue makes it wait.
        let held_bytes = moment.unsent_bytes;
        if let Some(counters) = connection.info.counters {
            moment.in_flight_bytes = counters.sent.saturating_sub(counters.acked);
        }
        moment.unsent_bytes = written.saturating_sub(moment.in_flight_bytes) + held_bytes;
        moment.memory = connection.memory;
        Some(moment)
    }
}

impl Moment {
    fn has_room(&self) -> bool {
        (self.unacked_packets as f64) < ROOM * self.cwnd_packets as f64
    }

    fn is_window_full(&self) -> bool {
        let next = self.in_flight_bytes + 2 * self.mss_bytes;
        next as f64 >= FULL * self.window_bytes as f64
    }

    /// True if the application may not write more, and nothing waits to be sent.
    fn is_buffer_full(&self) -> bool {
        let is_full = |memory: SocketMemory| {
            f64::from(memory.send_used_bytes) >= WRITTEN * f64::from(memory.send_limit_bytes)
        };
        self.memory.is_some_and(is_full)
            && self.unsent_bytes <= self.in_flight_bytes / 4 + 2 * self.mss_bytes
    }
}

impl<'a> Flow<'a> {
    fn new(observation: &'a Observation<'a>, socket: &'a TcpSocket, all: &Statistics<'a>) -> Self {
        let (times_s, series) = all
            .get(&ends(socket))
            .into_iter()
            .flatten()
            .copied()
            .unzip();
        let device = observation
            .host
            .device_of(socket.local.ip())
            .or(socket.interface);
        Flow {
            socket,
            series,
            times_s,
            device,
            seconds: length_s(observation),
        }
    }

    /// Statistics at the end.
    pub fn info(&self) -> Option<&'a TcpInfo> {
        self.series.last().copied()
    }

    fn grown(&self, of: impl Fn(&TcpInfo) -> u64) -> f64 {
        match (self.series.first(), self.series.last()) {
            (Some(first), Some(last)) => of(last).saturating_sub(of(first)) as f64,
            _ => 0.0,
        }
    }

    /// Payload sent, without retransmissions, bit/s.
    pub fn sent_bps(&self) -> f64 {
        let sent = self.grown(|info| info.sent_bytes) - self.grown(|info| info.retransmitted_bytes);
        sent.max(0.0) * 8.0 / self.seconds
    }

    /// Payload received, bit/s.
    pub fn received_bps(&self) -> f64 {
        self.grown(|info| info.received_bytes) * 8.0 / self.seconds
    }

    /// Segments retransmitted, and segments with payload sent, during the observation.
    pub fn retransmissions(&self) -> (f64, f64) {
        (
            self.grown(|info| info.retransmitted_segments.into()),
            self.grown(|info| info.data_segments_out.into()),
        )
    }

    /// Mean payload of a sent packet, bytes.
    pub(crate) fn sent_packet_bytes(&self) -> f64 {
        let packets = self.grown(|info| info.data_segments_out.into());
        self.grown(|info| info.sent_bytes) / packets.max(1.0)
    }

    /// Minimum RTT, s; `None` without a sample.
    pub fn min_rtt_s(&self) -> Option<f64> {
        let rtt_us = self.info()?.min_rtt_us;
        (rtt_us > 0 && rtt_us != u32::MAX).then(|| f64::from(rtt_us) / 1e6)
    }

    /// Smoothed RTT in each sample, s. `sending`: of sent data, else as a receiver estimates it.
    pub fn rtts_s(&self, sending: bool) -> Vec<f64> {
        let of = |info: &&TcpInfo| {
            if sending {
                info.srtt_us
            } else {
                info.receive_rtt_us
            }
        };
        self.series
            .iter()
            .map(of)
            .filter(|&us| us > 0)
            .map(|us| f64::from(us) / 1e6)
            .collect()
    }

    /// Quantile of the queueing delay, s: smoothed RTT less the minimum RTT.
    pub fn queue_s(&self, sending: bool, quantile: f64) -> Option<f64> {
        let rtts_s = self.rtts_s(sending);
        Some((at(&rtts_s, quantile)? - self.min_rtt_s()?).max(0.0))
    }

    /// Mean time between two samples, s.
    pub fn interval_s(&self) -> f64 {
        self.seconds / self.series.len().saturating_sub(1).max(1) as f64
    }

    /// Median congestion window, packets.
    pub fn cwnd_packets(&self) -> f64 {
        let all: Vec<f64> = self
            .series
            .iter()
            .map(|info| f64::from(info.cwnd_packets))
            .collect();
        at(&all, 0.5).unwrap_or(0.0)
    }

    /// Part of the samples in which its congestion window was full.
    pub fn full_share(&self) -> f64 {
        let is_full = |info: &&&TcpInfo| {
            f64::from(info.unacked_packets) >= ROOM * f64::from(info.cwnd_packets)
        };
        self.series.iter().filter(is_full).count() as f64 / self.series.len().max(1) as f64
    }

    /// The highest delivery rate, bit/s: no more than the path's capacity.
    pub fn delivery_bps(&self) -> f64 {
        let rates = self
            .series
            .iter()
            .map(|info| info.delivery_rate_bytes_per_s as f64 * 8.0);
        rates.fold(self.sent_bps().max(self.received_bps()), f64::max)
    }

    /// True if this host has declared it a backup, or the peer has.
    pub fn is_backup(&self) -> bool {
        self.socket
            .membership
            .is_some_and(|one| one.backup_locally || one.backup_remotely)
    }

    /// True for a join whose SYN has no answer yet.
    pub fn is_joining(&self) -> bool {
        self.socket.state == TcpState::SynSent
            && self.socket.membership.is_some_and(|one| one.joined)
    }

    /// How long sent data has been without an answer, s; `None`: nothing is overdue. TCP doubles
    /// its timeout with each retransmission (RFC 6298, section 5.5), so a timeout now at T after k
    /// retransmissions was T/2^k at first, and T (1 - 1/2^k) have passed at least.
    pub fn unanswered_s(&self) -> Option<f64> {
        let info = self.info()?;
        let waited_s = f64::from(info.rto_us) / 1e6 * (1.0 - 0.5f64.powi(info.backoff.into()));
        if info.state == TcpState::SynSent {
            // The first SYNs are repeated without backoff (tcp_syn_linear_timeouts).
            let repeated = info.retransmitted_segments;
            return (repeated >= 2).then(|| waited_s.max(SYN_S * f64::from(repeated)));
        }
        (info.backoff >= 2 && info.unacked_packets > 0).then_some(waited_s)
    }

    /// True if data or an acknowledgement arrived at most this long ago, s.
    pub fn has_heard(&self, within_s: f64) -> bool {
        self.info()
            .is_some_and(|info| f64::from(info.heard_ms) / 1e3 <= within_s)
    }

    /// `192.0.2.7 (wlan0)`.
    pub fn name(&self, host: &Host) -> String {
        let ip = self.socket.local.ip();
        self.device.map_or_else(
            || ip.to_string(),
            |device| format!("{ip} ({})", host.device_name(device)),
        )
    }
}

/// Time between the first and the last sample, s.
pub(crate) fn length_s(observation: &Observation<'_>) -> f64 {
    let at =
        |sample: Option<&crate::observation::Sample<'_>>| sample.map_or(0.0, |sample| sample.at_s);
    (at(observation.samples.last()) - at(observation.samples.first())).max(1e-3)
}

/// A quantile; `None` of nothing.
pub(crate) fn at(values: &[f64], quantile: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = (quantile * sorted.len() as f64) as usize;
    sorted.get(place.min(sorted.len().checked_sub(1)?)).copied()
}
