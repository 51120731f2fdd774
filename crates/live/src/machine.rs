//! The state of the machine's network, read from the kernel, for decisions and status.

mod view;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use joulepath_kernel::Result;
use joulepath_kernel::mptcp::diag::{Diag, Listing, TcpSocket};
use joulepath_kernel::mptcp::path_manager::{Endpoint, PathManager};
use joulepath_kernel::mptcp::{TcpState, Token};
use joulepath_kernel::probe::Version;
use joulepath_kernel::reactor::thread_cpu_ns;
use joulepath_kernel::route::{Counters, Flow, Link, Monitor, Routing, View, ask_first_hop};
use joulepath_kernel::wireless::Wireless;
use joulepath_model::live::LiveConfig;
use joulepath_model::units::Nanos;

use crate::foreign::{self, Asked, Guard, Starts};
use crate::measure::{Looked, Measured, Measurer, Places};
use crate::mute::{self, Ask, Told};
use crate::pace::{Pace, Seen};
use crate::pulse::{self, Echoes, Pulse};
use crate::refusals::{Ear, Refusals};
use crate::roaming::Roaming;
use crate::snapshot::{
    Battery, Families, Interface, Place, STALE, Snapshot, Strength, StrengthSource,
};
use crate::still::Still;

use self::view::{all_addresses, interface, owners, places};
pub(crate) use self::view::{is_routed, routers};

/// Networks are identified again after changes, and this often.
const IDENTIFY: Nanos = Nanos::from_secs(30);
/// The same while an interface has no network yet: its router has not answered.
const IDENTIFY_SOON: Nanos = Nanos::from_secs(5);
/// The kernel is asked again where connections start after changes, after packets, and this often.
const ASK_AGAIN: Nanos = Nanos::from_secs(30);

/// Views the network namespace in which it was opened.
#[derive(Debug)]
pub(crate) struct Machine {
    monitor: Monitor,
    routing: Routing,
    diag: Diag,
    /// `None` on a kernel without one.
    manager: Option<PathManager>,
    /// The kernel's limit of endpoints.
    most_endpoints: Option<usize>,
    has_laminar: bool,
    /// `None` without the right to receive events.
    ear: Option<Ear>,
    measurer: Measurer,
    pace: Pace,
    still: Still,
    /// Where new connections start, and when the kernel answered.
    starts: Option<(Nanos, Starts)>,
    answers: mute::Paths,
    pulse: Pulse,
    echoes: Echoes,
    /// Of the last listing.
    counted: Counted,
    families: Families,
    /// `None` without WiFi.
    wireless: Option<Wireless>,
    /// The networks of interfaces, and when they were identified.
    places: BTreeMap<String, Place>,
    /// WiFi devices that are clients of an access point.
    wifi_clients: Vec<u32>,
    roaming: Roaming,
    identified: Option<Nanos>,
}

/// Numbers of connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    /// MPTCP connections, including fallen-back ones.
    pub(crate) mptcp: usize,
    /// MPTCP connections that fell back to TCP.
    pub(crate) fallen_back: usize,
    /// Established connections of TCP sockets to other machines.
    pub(crate) plain: usize,
}

/// The result of one poll.
#[derive(Clone, Debug, Default)]
pub(crate) struct Look {
    /// All devices except loopback, by index. The accounts fill in quotas.
    pub(crate) interfaces: Vec<Interface>,
    /// Measurements by name.
    pub(crate) measured: BTreeMap<String, Measured>,
    /// Counters by name.
    pub(crate) counters: BTreeMap<String, Counters>,
    /// Present rates of both directions by interface index, bytes/s, where they matter.
    pub(crate) rates: BTreeMap<u32, f64>,
    /// Time until an interface is closed.
    pub(crate) reaction: Nanos,
    /// Interfaces that the kernel has stopped, and what remains of their bound, bytes.
    pub(crate) stopped: BTreeMap<u32, u64>,
    /// Interface index of every address, including loopback.
    pub(crate) owners: BTreeMap<IpAddr, u32>,
    /// Numbers of connections.
    pub(crate) counted: Counted,
    /// True if some MPTCP connection was established since the last poll.
    pub(crate) begun: bool,
    /// Connections that did not fall back, by address family.
    pub(crate) families: Families,
    /// The kernel's limit of endpoints.
    pub(crate) most_endpoints: Option<usize>,
    /// True if the kernel knows the flag `laminar`.
    pub(crate) has_laminar: bool,
    /// Networks of interfaces, by name.
    pub(crate) places: BTreeMap<String, Place>,
    /// Where new connections start, by the kernel's answer.
    pub(crate) starts: Starts,
    /// True if the route of a connection depends on its user or mark.
    pub(crate) routes_by_owner: bool,
    /// WiFi clients that change their access point, and when the first of them counts as lost.
    pub(crate) roaming: (Vec<u32>, Option<Nanos>),
    /// Paths over which nothing is answered.
    pub(crate) answers: Told,
}

impl Look {
    pub(crate) fn snapshot(&self, now: Nanos, battery: Option<Battery>) -> Snapshot {
        Snapshot {
            now,
            battery,
            families: self.families,
            most_endpoints: self.most_endpoints,
            interfaces: self.interfaces.clone(),
        }
    }
}

impl Machine {
    /// Starts to monitor the network.
    ///
    /// # Errors
    /// As [`Monitor::open`].
    pub(crate) fn open() -> Result<Self> {
        // It needs a right that a dry run lacks.
        let mut manager = PathManager::open().ok();
        let most_endpoints = manager.as_mut().and_then(|manager| manager.most().ok());
        Ok(Machine {
            manager,
            most_endpoints,
            has_laminar: Version::running()
                .is_some_and(|running| running >= Endpoint::LAMINAR_SINCE),
            monitor: Monitor::open()?,
            routing: Routing::open()?,
            diag: Diag::open()?,
            ear: Ear::open().ok(),
            measurer: Measurer::default(),
            pace: Pace::default(),
            still: Still::open(),
            starts: None,
            answers: mute::Paths::default(),
            pulse: Pulse::default(),
            echoes: Echoes::default(),
            counted: Counted::default(),
            families: Families::default(),
            wireless: Wireless::open().unwrap_or_default(),
            places: BTreeMap::new(),
            wifi_clients: vec![],
            roaming: Roaming::default(),
            identified: None,
        })
    }

    /// Reads all waiting notifications. Returns true if the network changed.
    ///
    /// # Errors
    /// As [`Monitor::next_within`].
    pub(crate) fn hear(&mut self) -> Result<bool> {
        let mut has_changed = false;
        while self.monitor.next_within(Duration::ZERO)?.is_some() {
            has_changed = true;
        }
        if has_changed {
            self.pace.list_next();
            self.identified = None;
            self.starts = None;
        }
        Ok(has_changed)
    }

    /// The source of MPTCP's events.
    pub(crate) fn ear(&self) -> Option<BorrowedFd<'_>> {
        self.ear.as_ref().map(AsFd::as_fd)
    }

    /// Reads MPTCP's events.
    ///
    /// # Errors
    /// As [`Ear::hear`].
    pub(crate) fn hear_mptcp(&mut self, now: Nanos) -> Result<()> {
        self.ear.as_mut().map_or(Ok(()), |ear| ear.hear(now))
    }

    /// Devices, addresses, routes and rules as of the last poll.
    pub(crate) fn view(&self) -> &View {
        self.monitor.view()
    }

    /// Finds the connections that have begun on devices that the configuration does not name.
    ///
    /// # Errors
    /// As [`Routing::lookup`].
    pub(crate) fn guard(
        &mut self,
        guard: &mut Guard,
        config: &LiveConfig,
        listing: Option<&Listing>,
    ) -> Result<()> {
        let mut kernel = Kernel {
            routing: &mut self.routing,
            manager: self.manager.as_mut(),
        };
        guard.observe(config, self.monitor.view(), listing, &mut kernel)
    }

    /// True if no device has carried a packet since the last call.
    pub(crate) fn is_still(&mut self) -> bool {
        self.still.is_still()
    }

    /// Counters of all devices.
    ///
    /// # Errors
    /// As [`Routing::counters`].
    pub(crate) fn counters(&mut self) -> Result<Vec<(u32, Counters)>> {
        self.routing.counters()
    }

    /// Makes the next poll list connections.
    pub(crate) fn list_next(&mut self) {
        self.pace.list_next();
    }

    /// When to call [`Self::feel`] again.
    pub(crate) fn pulse_due(&self) -> Nanos {
        self.pulse.due()
    }

    /// Watches which paths deliver. True if one has stopped, or delivers again.
    ///
    /// # Errors
    /// As [`Diag::list`].
    pub(crate) fn feel(&mut self, now: Nanos) -> Result<bool> {
        self.pulse.rest(now);
        let listing = self.diag.list()?;
        let view = self.monitor.view();
        let addresses: Vec<Vec<IpAddr>> = view
            .links
            .values()
            .map(|link| all_addresses(view, link.index))
            .collect();
        let looked: Vec<Looked> = view
            .links
            .values()
            .zip(&addresses)
            .map(|(link, addresses)| Looked {
                name: &link.name,
                device: link.index,
                addresses,
                counters: None,
            })
            .collect();
        let none = Starts::default();
        let starts = self.starts.as_ref().map_or(&none, |(_, starts)| starts);
        let places = Places {
            all: &looked,
            owners: &owners(view, starts),
        };
        let flows = pulse::flows(&listing, places);
        let (changed, questions) = self.pulse.observe(now, &flows, &self.echoes.answers());
        for question in questions {
            self.echoes.ask(question);
        }
        Ok(changed)
    }

    /// True if a path delivers nothing, as [`Self::feel`] has found.
    pub(crate) fn is_dead(&self, device: u32) -> bool {
        self.pulse.is_dead(device)
    }

    /// Polls devices and counters. Lists connections too if [`Pace`] says it is time.
    ///
    /// # Errors
    /// As [`Routing::counters`] and [`Diag::list`].
    pub(crate) fn look(&mut self, now: Nanos) -> Result<(Look, Option<Listing>)> {
        if let Some(ear) = &mut self.ear {
            ear.hear(now)?;
        }
        self.roaming
            .observe(now, self.monitor.view().links.values(), &self.wifi_clients);
        self.identify(now);
        let counters: BTreeMap<u32, Counters> = self.routing.counters()?.into_iter().collect();
        let view = self.monitor.view();
        let links: Vec<&Link> = view.links.values().filter(|link| !link.loopback).collect();
        let addresses: Vec<Vec<IpAddr>> = links
            .iter()
            .map(|link| all_addresses(view, link.index))
            .collect();
        let looked: Vec<Looked> = links
            .iter()
            .zip(&addresses)
            .map(|(link, addresses)| Looked {
                name: &link.name,
                device: link.index,
                addresses,
                counters: counters.get(&link.index).copied(),
            })
            .collect();
        let mut measured = self.measurer.count_all(now, &looked);
        let known = self.starts.take().filter(|(at, _)| {
            !seen(measured.values()).passed && now.saturating_sub(*at) < ASK_AGAIN
        });
        let asked = || Ok((now, foreign::starts(&mut |flow| self.routing.lookup(flow))?));
        let (at, starts) = known.map_or_else(asked, Ok)?;
        self.starts = Some((at, starts.clone()));
        if self.answers.is_asking() {
            self.pace.list_next();
        }
        let listing = if self.pace.is_due(now, seen(measured.values())) {
            let begun = thread_cpu_ns();
            let listing = self.diag.list()?;
            let none = Refusals::default();
            let refusals = self.ear.as_ref().map_or(&none, |ear| &ear.refusals);
            measured = self.measurer.list(
                &looked,
                &owners(view, &starts),
                &listing,
                refusals,
                measured,
            );
            self.counted = counted(&listing);
            self.families = families(&listing);
            self.pace
                .listed(now, Nanos(thread_cpu_ns().saturating_sub(begun)));
            Some(listing)
        } else {
            self.measurer.recall(&mut measured);
            None
        };
        let mut asked = mute::paths(view, &looked, &measured);
        if let Some(listing) = &listing {
            let owners = owners(view, &starts);
            let places = Places {
                all: &looked,
                owners: &owners,
            };
            mute::sockets(now, listing, view, places, &mut asked);
        }
        if asked.iter().any(|one| self.answers.doubts(one)) {
            mute::divide(&mut asked, |device| {
                self.routing.received_ipv6(device).ok().flatten()
            });
            mute::routers(
                view,
                &self.routing.neighbours().unwrap_or_default(),
                &mut asked,
            );
        }
        let answers = self.answers.observe(now, &asked);
        // A program may give up soon after its SYN is late.
        if asked
            .iter()
            .any(|one| one.is_quiet && one.late_in.is_some())
        {
            self.pace.list_next();
        }
        let counters = looked
            .iter()
            .filter_map(|one| Some((one.name.to_owned(), one.counters?)))
            .collect();
        let mut interfaces: Vec<Interface> = links
            .iter()
            .map(|link| interface(view, link, &starts, measured.get(&link.name)))
            .collect();
        for interface in interfaces.iter_mut().filter(|one| one.usable) {
            if self.wifi_clients.contains(&interface.index) {
                interface.strength = self
                    .wireless
                    .as_mut()
                    .and_then(|all| wifi_strength(all, interface.index));
            }
        }
        let roaming: Vec<u32> = self.roaming.now().collect();
        for interface in interfaces
            .iter_mut()
            .filter(|one| roaming.contains(&one.index))
        {
            interface.usable = true;
        }
        for interface in &mut interfaces {
            let mut ways = asked.iter().filter(|one| one.device == interface.index);
            let is_mute = |one: &mute::Seen| answers.mute.contains(&one.way());
            interface.mute = ways.next().is_some_and(is_mute) && ways.all(is_mute);
        }
        let owners = owners(view, &starts);
        let counted = self.counted;
        let families = self.families;
        let places = self.places.clone();
        let look = Look {
            interfaces,
            measured,
            counters,
            rates: BTreeMap::new(),
            reaction: Nanos::ZERO,
            stopped: BTreeMap::new(),
            owners,
            counted,
            begun: self.ear.as_mut().is_some_and(Ear::begun),
            families,
            places,
            starts,
            routes_by_owner: foreign::selects_by_owner(view),
            most_endpoints: self.most_endpoints,
            has_laminar: self.has_laminar,
            roaming: (roaming, self.roaming.until()),
            answers,
        };
        Ok((look, listing))
    }
}

/// For the guard.
struct Kernel<'a> {
    routing: &'a mut Routing,
    manager: Option<&'a mut PathManager>,
}

impl Asked for Kernel<'_> {
    fn device(&mut self, flow: &Flow) -> Result<Option<u32>> {
        self.routing.lookup(flow)
    }

    fn is_of_kernel(&mut self, token: Token) -> bool {
        // A kernel that cannot answer has only its own path manager.
        self.manager
            .as_mut()
            .is_none_or(|all| all.is_steerable(token).ok() != Some(Some(true)))
    }
}

impl Machine {
    /// Asks the first router of a path for a sign of life: by ARP or a neighbour solicitation, if
    /// the kernel knows its hardware address, and by a packet that goes no farther. Errors are the
    /// path's silence.
    pub(crate) fn ask(&mut self, ask: Ask) {
        let view = self.monitor.view();
        let router =
            routers(view, ask.device).find(|router| router.is_ipv4() == ask.towards.is_ipv4());
        if let Some(router) = router {
            let _ = self.routing.probe_neighbour(ask.device, router);
        }
        let _ = ask_first_hop(ask.device, ask.source, ask.towards);
    }

    /// Finds out which networks the interfaces are attached to, if it is time.
    fn identify(&mut self, now: Nanos) {
        let view = self.monitor.view();
        let lacks = view.links.values().any(|link| {
            link.is_usable()
                && routers(view, link.index).next().is_some()
                && !self.places.contains_key(&link.name)
        });
        let every = if lacks { IDENTIFY_SOON } else { IDENTIFY };
        if self
            .identified
            .is_some_and(|at| now.saturating_sub(at) < every)
        {
            return;
        }
        self.identified = Some(now);
        // A network that cannot be identified is unknown.
        let neighbours = self.routing.neighbours().unwrap_or_default();
        let wireless = self
            .wireless
            .as_mut()
            .and_then(|wireless| wireless.links().ok())
            .unwrap_or_default();
        let mut places = places(view, &neighbours, &wireless);
        for link in self
            .roaming
            .now()
            .filter_map(|index| view.links.get(&index))
        {
            if let Some(before) = self.places.get(&link.name) {
                places
                    .entry(link.name.clone())
                    .or_insert_with(|| before.clone());
            }
        }
        self.wifi_clients = wireless
            .iter()
            .filter(|one| one.is_client)
            .map(|one| one.device)
            .collect();
        for (name, before) in &self.places {
            if places.get(name).is_some_and(|place| place != before) {
                self.measurer.forget_capacity(name);
            }
        }
        self.places = places;
    }
}

/// The signal of a WiFi client's access point; `None` if it cannot be read, or is too old.
fn wifi_strength(wireless: &mut Wireless, device: u32) -> Option<Strength> {
    let signal = wireless.signal(device).ok()??;
    let age = Nanos::from_secs_f64(signal.age.as_secs_f64());
    let strength = Strength {
        dbm: signal.dbm.into(),
        age,
        source: StrengthSource::Nl80211,
    };
    (age < STALE).then_some(strength)
}

/// Readable when notifications wait.
impl AsFd for Machine {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.monitor.as_fd()
    }
}

/// What the counters have shown since the last poll.
fn seen<'a>(all: impl Iterator<Item = &'a Measured>) -> Seen {
    all.fold(Seen::default(), |seen, one| Seen {
        passed: seen.passed || one.passed.packets > 0,
        doubtful: seen.doubtful
            || one.silent.is_some()
            || (one.passed.sent_bytes > 0 && one.passed.received_bytes == 0),
    })
}

fn counted(listing: &Listing) -> Counted {
    let fallen_back = listing
        .connections
        .iter()
        .filter(|connection| connection.info.fallback);
    // Other states are about to begin or to end.
    let counts = |socket: &&TcpSocket| {
        socket.state == TcpState::Established && !socket.remote.ip().to_canonical().is_loopback()
    };
    Counted {
        mptcp: listing.connections.len(),
        fallen_back: fallen_back.count(),
        plain: listing.plain.iter().filter(counts).count(),
    }
}

fn families(listing: &Listing) -> Families {
    let all = listing
        .connections
        .iter()
        .filter(|connection| !connection.info.fallback);
    let v4 = all
        .clone()
        .filter(|one| one.remote.ip().to_canonical().is_ipv4())
        .count();
    Families {
        v4,
        v6: all.count() - v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn established_connections_to_other_machines_are_counted() {
        let socket = |remote: &str, state| TcpSocket {
            local: "192.0.2.7:40000".parse().unwrap(),
            remote: remote.parse().unwrap(),
            interface: None,
            state,
            timer_ms: 0,
            uid: 0,
            inode: 1,
            congestion: None,
            memory: None,
            info: None,
            membership: None,
        };
        let plain = vec![
            socket("203.0.113.1:443", TcpState::Established),
            socket("[2001:db8::1]:443", TcpState::Established),
            socket("203.0.113.1:443", TcpState::TimeWait),
            socket("127.0.0.1:631", TcpState::Established),
            socket("[::ffff:127.0.0.1]:631", TcpState::Established),
        ];
        // Orphans are subflows.
        let orphans = vec![socket("203.0.113.1:80", TcpState::Established)];
        let listing = Listing {
            plain,
            orphans,
            ..Listing::default()
        };
        assert_eq!(
            counted(&listing),
            Counted {
                mptcp: 0,
                fallen_back: 0,
                plain: 2
            }
        );
    }
}
