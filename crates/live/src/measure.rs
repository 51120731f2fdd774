//! Traffic and capacity of interfaces, from counters and from the subflows of connections.
//!
//! The capacity of an idle path cannot be measured. The highest rate seen stands for it and decays
//! slowly. The delivery rate of subflows that are not limited by the application counts at once.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use joulepath_kernel::mptcp::diag::{Connection, Listing, TcpSocket};
use joulepath_kernel::mptcp::{TcpState, Token};
use joulepath_kernel::route::Counters;
use joulepath_model::units::Nanos;

use crate::placing::Passed;
use crate::refusals::Refusals;

/// Time after which half of the difference between the highest rate and the present one is
/// forgotten.
const HALF_LIFE_S: f64 = 6.0 * 3600.0;
/// Lower rates say nothing about a path's capacity, bit/s.
const LEAST_CAPACITY_BPS: f64 = 100e3;
/// The delivery rate of fewer segments is that of the first link's buffer.
const LEAST_SEGMENTS: u32 = 20;
/// A subflow with so many consecutive retransmission timeouts is stalled.
const STALLED_TIMEOUTS: u8 = 2;
/// How long an absent interface is remembered.
const FORGET: Nanos = Nanos::from_secs(3600);

/// Slower flows do not count for [`Measured::silent`], bit/s.
const LEAST_FLOW_BPS: f64 = 50e3;
/// Consecutive polls that must see a flow before silence counts.
const FLOWING_LOOKS: u32 = 2;
/// Upper bound of that count.
const MOST_FLOWING: u32 = 8;

/// A program with more unread bytes does not wait for data.
const UNREAD_BYTES: u32 = 65_536;

/// Measurements of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measured {
    /// Traffic since the last poll.
    pub passed: Passed,
    /// Bytes carried since the first poll.
    pub carried_bytes: u64,
    /// Receive rate, bit/s.
    pub received_bps: f64,
    /// Send rate, bit/s.
    pub sent_bps: f64,
    /// The highest rate in recent hours, bit/s.
    pub capacity_bps: Option<f64>,
    /// Smallest smoothed RTT of its subflows.
    pub rtt: Option<Nanos>,
    /// Established subflows.
    pub subflows: usize,
    /// Established subflows that are backups.
    pub backups: usize,
    /// Established subflows that do not wait in vain for an answer.
    pub healthy: usize,
    /// Connections that had a subflow here, and have neither one nor a pending one.
    pub lost: usize,
    /// Time since the last packet arrived, if packets arrived steadily before.
    pub silent: Option<Nanos>,
    /// True if the program of the connection that received last has not read all of it: it may have
    /// closed its window, so that silence says nothing.
    pub paused: bool,
    /// True if subflows wait in vain for an answer, and no subflow with data gets one.
    pub stalled: bool,
    /// Connections whose only working subflow is here.
    pub sole: usize,
    /// Connections whose only subflow is here, working or not.
    pub only: usize,
    /// Connections opened by this host that have a subflow elsewhere and never had one here.
    pub missing: usize,
    /// Connections without a subflow here because the peer refused it.
    pub refused: usize,
    /// Payload retransmitted by the open subflows, bytes.
    pub retransmitted_bytes: u64,
}

/// Rate of the busier direction, bit/s.
pub fn rate_bps(measured: &Measured) -> f64 {
    measured.received_bps.max(measured.sent_bps)
}

/// State of an interface at the last poll.
#[derive(Clone, Debug)]
struct Last {
    device: u32,
    counters: Counters,
    at: Nanos,
    carried_bytes: u64,
    capacity_bps: Option<f64>,
    /// Consecutive polls that saw a flow arrive; a poll with less traffic halves it.
    flowing: u32,
    /// Since when nothing has arrived after a flow.
    silent_since: Option<Nanos>,
}

/// Measures all interfaces, from poll to poll.
#[derive(Clone, Debug, Default)]
pub struct Measurer {
    last: BTreeMap<String, Last>,
    /// Interfaces on which a connection has had a subflow.
    had: BTreeMap<Token, BTreeSet<String>>,
    /// Results of the last listing, by interface.
    known: BTreeMap<String, Measured>,
}

/// An interface at a poll.
#[derive(Clone, Debug)]
pub struct Looked<'a> {
    /// Interface name.
    pub name: &'a str,
    /// Interface index.
    pub device: u32,
    /// All addresses of the interface.
    pub addresses: &'a [IpAddr],
    /// `None` if the kernel has no counters for it.
    pub counters: Option<Counters>,
}

/// Maps subflows to interfaces.
#[derive(Clone, Copy)]
pub(crate) struct Places<'a> {
    pub(crate) all: &'a [Looked<'a>],
    pub(crate) owners: &'a BTreeMap<IpAddr, u32>,
}

impl<'a> Places<'a> {
    /// The interface to which the subflow is bound, if that has the subflow's address; otherwise
    /// the owner of the address.
    fn at(&self, subflow: &TcpSocket) -> Option<&'a Looked<'a>> {
        let address = subflow.local.ip().to_canonical();
        let with = |index: u32| self.all.iter().find(|one| one.device == index);
        let bound = subflow
            .interface
            .and_then(with)
            .filter(|one| one.addresses.contains(&address));
        bound.or_else(|| with(*self.owners.get(&address)?))
    }

    /// The interface's name.
    fn of(&self, subflow: &TcpSocket) -> Option<&'a str> {
        Some(self.at(subflow)?.name)
    }

    /// The interface's index.
    pub(crate) fn device(&self, socket: &TcpSocket) -> Option<u32> {
        Some(self.at(socket)?.device)
    }

    /// Interfaces with an address of the connection's family.
    fn beside(self, connection: &Connection) -> impl Iterator<Item = &'a str> {
        let is_v4 = |ip: IpAddr| ip.to_canonical().is_ipv4();
        let remote_is_v4 = is_v4(connection.remote.ip());
        let alike = move |one: &&Looked| one.addresses.iter().any(|&ip| is_v4(ip) == remote_is_v4);
        self.all.iter().filter(alike).map(|one| one.name)
    }
}

impl Measurer {
    /// Takes in counters of all interfaces. Returns measurements by name, without connections.
    pub fn count_all(&mut self, now: Nanos, all: &[Looked]) -> BTreeMap<String, Measured> {
        self.last
            .retain(|_, last| now.saturating_sub(last.at) < FORGET);
        all.iter()
            .map(|one| (one.name.to_owned(), self.count(now, one)))
            .collect()
    }

    /// Adds the results of the last listing.
    pub fn recall(&self, measured: &mut BTreeMap<String, Measured>) {
        for (name, counted) in measured {
            if let Some(known) = self.known.get(name) {
                *counted = with_connections(*counted, known);
            }
        }
    }

    /// Adds the results of a new listing; `owners` gives the interface of each address.
    pub(crate) fn list(
        &mut self,
        all: &[Looked],
        owners: &BTreeMap<IpAddr, u32>,
        listing: &Listing,
        refusals: &Refusals,
        mut measured: BTreeMap<String, Measured>,
    ) -> BTreeMap<String, Measured> {
        let places = Places { all, owners };
        let mut waits: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        let mut readers: BTreeMap<&str, (u32, bool)> = BTreeMap::new();
        for connection in &listing.connections {
            let works = |subflow: &&TcpSocket| is_established(subflow) && !waits_in_vain(subflow);
            let mut working = connection.subflows.iter().filter(works);
            if let (Some(sole), None) = (working.next(), working.next())
                && let Some(measured) = places.of(sole).and_then(|name| measured.get_mut(name))
            {
                measured.sole += 1;
            }
            let mut all = subflows(connection);
            if let (Some(only), None) = (all.next(), all.next())
                && let Some(measured) = places.of(only).and_then(|name| measured.get_mut(name))
            {
                measured.only += 1;
            }
            let unread = is_unread(connection);
            for subflow in subflows(connection) {
                let Some(name) = places.of(subflow) else {
                    continue;
                };
                let Some(measured) = measured.get_mut(name) else {
                    continue;
                };
                take(measured, subflow);
                if let Some(info) = subflow
                    .info
                    .as_ref()
                    .filter(|info| info.data_segments_in > 0)
                {
                    let last = readers.entry(name).or_insert((u32::MAX, false));
                    *last = (*last).min((info.heard_ms, unread));
                }
                let (in_vain, answered) = waits.entry(name).or_default();
                *in_vain += usize::from(waits_in_vain(subflow));
                *answered += usize::from(!waits_in_vain(subflow) && has_recent_data(subflow));
            }
        }
        self.count_lost(listing, places, &mut measured);
        count_refused(listing, places, refusals, &mut measured);
        for (name, (in_vain, answered)) in waits {
            if let Some(measured) = measured.get_mut(name) {
                measured.stalled = in_vain > 0 && answered == 0;
            }
        }
        for (name, (_, unread)) in readers {
            if let Some(measured) = measured.get_mut(name) {
                measured.paused = unread;
                measured.silent = measured.silent.filter(|_| !unread);
            }
            // Silence counts from the time at which the program has read everything.
            if let Some(last) = self.last.get_mut(name).filter(|_| unread) {
                last.silent_since = last.silent_since.map(|_| last.at);
            }
        }
        self.known.clone_from(&measured);
        measured
    }

    /// Counts connections that have lost their subflow on an interface.
    fn count_lost(
        &mut self,
        listing: &Listing,
        places: Places,
        measured: &mut BTreeMap<String, Measured>,
    ) {
        let stands = |connection: &&Connection| {
            connection.state == TcpState::Established && !connection.info.fallback
        };
        let mut had = BTreeMap::new();
        for connection in listing.connections.iter().filter(stands) {
            let token = connection.info.token;
            let mut names = self.had.remove(&token).unwrap_or_default();
            let opened_here = connection
                .subflows
                .iter()
                .any(|one| one.membership.is_some_and(|own| own.opened_locally));
            if opened_here && !names.is_empty() {
                for name in places.beside(connection) {
                    if let Some(measured) = measured.get_mut(name)
                        && !names.contains(name)
                        && !has(connection, places, name)
                    {
                        measured.missing += 1;
                    }
                }
            }
            for name in names.iter().filter(|name| !has(connection, places, name)) {
                if let Some(measured) = measured.get_mut(name) {
                    measured.lost += 1;
                }
            }
            let here = subflows(connection).filter_map(|subflow| places.of(subflow));
            names.extend(here.map(str::to_owned));
            had.insert(token, names);
        }
        self.had = had;
    }

    /// Forgets the capacity of an interface that is attached to another network now.
    pub(crate) fn forget_capacity(&mut self, name: &str) {
        if let Some(last) = self.last.get_mut(name) {
            last.capacity_bps = None;
        }
        if let Some(known) = self.known.get_mut(name) {
            known.capacity_bps = None;
        }
    }

    fn count(&mut self, now: Nanos, one: &Looked) -> Measured {
        let Some(counters) = one.counters else {
            return Measured::default();
        };
        let last = self
            .last
            .get(one.name)
            .filter(|last| last.device == one.device);
        let (passed, seconds) = match last {
            None => (Passed::default(), 0.0),
            Some(last) => (
                between(last.counters, counters),
                now.saturating_sub(last.at).as_secs_f64(),
            ),
        };
        let bps = |bytes: u64| {
            if seconds > 0.0 {
                bytes as f64 * 8.0 / seconds
            } else {
                0.0
            }
        };
        let (received_bps, sent_bps) = (bps(passed.received_bytes), bps(passed.sent_bytes));
        let remembered = self.last.get(one.name);
        let carried_bytes = remembered.map_or(0, |last| last.carried_bytes)
            + passed.received_bytes
            + passed.sent_bytes;
        let capacity_bps = capacity(
            remembered.and_then(|last| last.capacity_bps),
            received_bps.max(sent_bps),
            seconds,
        );
        let received =
            last.is_none_or(|last| counters.received_packets != last.counters.received_packets);
        let (flowing, silent_since) = match last {
            Some(last) if !received && last.flowing >= FLOWING_LOOKS => {
                (last.flowing, last.silent_since.or(Some(last.at)))
            }
            Some(last) if received_bps >= LEAST_FLOW_BPS => {
                ((last.flowing + 1).min(MOST_FLOWING), None)
            }
            // The poll in which a flow ends sees a part of it.
            Some(last) if received => (last.flowing / 2, None),
            _ => (0, None),
        };
        let silent = silent_since.map(|since| now.saturating_sub(since));
        let device = one.device;
        let last = Last {
            device,
            counters,
            at: now,
            carried_bytes,
            capacity_bps,
            flowing,
            silent_since,
        };
        self.last.insert(one.name.to_owned(), last);
        Measured {
            passed,
            carried_bytes,
            received_bps,
            sent_bps,
            capacity_bps,
            silent,
            ..Measured::default()
        }
    }
}

/// True if the program does not read what has arrived. With several subflows, data may wait for
/// data of another subflow: then only a receive buffer that is half full is a sign.
fn is_unread(connection: &Connection) -> bool {
    let mut carrying = connection.subflows.iter().filter(|one| brings_data(one));
    let is_in_order = carrying.next().is_some() && carrying.next().is_none();
    connection.memory.as_ref().is_some_and(|memory| {
        let half = memory.receive_limit_bytes / 2;
        let most = if is_in_order {
            half.min(UNREAD_BYTES)
        } else {
            half
        };
        memory.receive_used_bytes > most
    })
}

/// True if data has arrived over the subflow.
fn brings_data(subflow: &TcpSocket) -> bool {
    let info = subflow.info.as_ref();
    info.is_some_and(|info| info.data_segments_in > 0)
}

/// Counts connections without a subflow on an interface because the peer refused it.
fn count_refused(
    listing: &Listing,
    places: Places,
    refusals: &Refusals,
    measured: &mut BTreeMap<String, Measured>,
) {
    for connection in listing.connections.iter().filter(|one| !one.info.fallback) {
        let is_refused = |one: &&Looked| {
            let mut addresses = one.addresses.iter();
            addresses.any(|&address| refusals.has(connection.info.token, address))
        };
        for one in places.all.iter().filter(is_refused) {
            if let Some(measured) = measured.get_mut(one.name)
                && !has(connection, places, one.name)
            {
                measured.refused += 1;
            }
        }
    }
}

/// New counters combined with the connections of the last listing.
fn with_connections(counted: Measured, known: &Measured) -> Measured {
    let Measured {
        subflows,
        backups,
        healthy,
        lost,
        stalled,
        paused,
        sole,
        only,
        missing,
        refused,
        rtt,
        retransmitted_bytes,
        ..
    } = *known;
    let silent = counted.silent.filter(|_| !paused);
    let capacity_bps = counted
        .capacity_bps
        .into_iter()
        .chain(known.capacity_bps)
        .reduce(f64::max);
    Measured {
        subflows,
        backups,
        healthy,
        lost,
        stalled,
        paused,
        silent,
        sole,
        only,
        missing,
        refused,
        rtt,
        retransmitted_bytes,
        capacity_bps,
        ..counted
    }
}

/// The remembered capacity after `seconds` at `rate_bps`.
fn capacity(remembered: Option<f64>, rate_bps: f64, seconds: f64) -> Option<f64> {
    let seen = (rate_bps >= LEAST_CAPACITY_BPS).then_some(rate_bps);
    match (remembered, seen) {
        (None, seen) => seen,
        (Some(most), Some(seen)) if seen >= most => Some(seen),
        // An idle path says nothing about its capacity.
        (Some(most), None) => Some(most),
        (Some(most), Some(seen)) => {
            Some(seen + (most - seen) * 0.5_f64.powf(seconds / HALF_LIFE_S))
        }
    }
}

/// Traffic between two readings. Counters that are lower than before count from 0.
pub(crate) fn between(last: Counters, now: Counters) -> Passed {
    let since = |now: u64, last: u64| now.checked_sub(last).unwrap_or(now);
    Passed {
        received_bytes: since(now.received_bytes, last.received_bytes),
        sent_bytes: since(now.sent_bytes, last.sent_bytes),
        packets: since(now.received_packets, last.received_packets)
            + since(now.sent_packets, last.sent_packets),
    }
}

fn subflows(connection: &Connection) -> impl Iterator<Item = &TcpSocket> {
    connection
        .subflows
        .iter()
        .filter(|subflow| is_established(subflow))
}

fn is_established(subflow: &TcpSocket) -> bool {
    subflow.state == TcpState::Established
}

/// True if its retransmissions get no answer.
pub(crate) fn waits_in_vain(subflow: &TcpSocket) -> bool {
    subflow
        .info
        .as_ref()
        .is_some_and(|info| info.backoff >= STALLED_TIMEOUTS && info.unacked_packets > 0)
}

/// True during the handshake.
fn opens(subflow: &TcpSocket) -> bool {
    matches!(subflow.state, TcpState::SynSent | TcpState::SynReceived)
}

/// True if the connection has a subflow on the interface, or is opening one.
fn has(connection: &Connection, places: Places, name: &str) -> bool {
    let here = |subflow: &&TcpSocket| places.of(subflow) == Some(name);
    connection
        .subflows
        .iter()
        .filter(here)
        .any(|subflow| is_established(subflow) || opens(subflow))
}

/// True if it has data in flight and gets answers.
fn has_recent_data(subflow: &TcpSocket) -> bool {
    subflow
        .info
        .as_ref()
        .is_some_and(|info| info.unacked_packets > 0 && info.backoff == 0)
}

fn take(measured: &mut Measured, subflow: &TcpSocket) {
    measured.subflows += 1;
    measured.healthy += usize::from(!waits_in_vain(subflow));
    let is_backup = subflow
        .membership
        .is_some_and(|m| m.backup_locally || m.backup_remotely);
    measured.backups += usize::from(is_backup);
    let Some(info) = &subflow.info else { return };
    measured.retransmitted_bytes += info.retransmitted_bytes;
    if info.srtt_us > 0 {
        let rtt = Nanos::from_micros(u64::from(info.srtt_us));
        measured.rtt = Some(measured.rtt.map_or(rtt, |least| least.min(rtt)));
    }
    if !info.app_limited && info.data_segments_out >= LEAST_SEGMENTS {
        let bps = info.delivery_rate_bytes_per_s as f64 * 8.0;
        let most = measured.capacity_bps.unwrap_or(0.0);
        if bps > most.max(LEAST_CAPACITY_BPS) {
            measured.capacity_bps = Some(bps);
        }
    }
}
