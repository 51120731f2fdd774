//! Tells a path that passes nothing from a server that does not answer.
//!
//! ```text
//!        a SYN is late, or data repeated:                    nothing arrives, the router does not answer,
//!        ask the first router                             or the server answers over another path
//! calm ─────────────────────────────► asking ──────────────────────────────────────────────────► mute
//!  ▲                                    │ TCP is answered, or the server is dead on all paths      │
//!  └────────────────────────────────────┴──────────────────────────────────────────────────────────┘
//!                    an answer, at growing intervals; without a router that answers: time
//! ```
//! Each family of addresses of a device has its own state: an IPv6 router may be silent while IPv4
//! works. Pure. `seen` collects the input, and `joulepath_kernel` sends what [`Told::ask`] wants.

mod seen;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter};
use std::net::{IpAddr, SocketAddr};

use joulepath_model::units::Nanos;

pub(crate) use self::seen::{Heard, Seen, Vain, divide, paths, routers, sockets};
use crate::decide::Lately;

/// A device and a family of addresses: true for IPv4.
pub(crate) type Way = (u32, bool);

/// Timeouts in a row after which a socket counts as unanswered.
const TIMEOUTS: u32 = 2;
/// Signs after which a server does, if a program gives up before. Each socket whose SYN is late is
/// one, and its first timeout is another. Of sockets that begin together, one counts.
const SIGNS: u32 = 3;
const TOGETHER: Nanos = Nanos::from_millis(700);
/// A program that has given up tries again within this time.
const RETRY: Nanos = Nanos::from_secs(4);
/// Time in which an answer of the first router arrives.
const ANSWER: Nanos = Nanos::from_secs(1);
/// Poll interval while a verdict or an answer is due.
const SOON: Nanos = Nanos::from_millis(500);
/// With more received bytes, the path carries other traffic.
const TRAFFIC_BYTES: u64 = 10_000;
/// How long a doubt outlives the sockets that raised it.
const DOUBT: Nanos = Nanos::from_secs(10);
/// How long a detour waits for a connection that uses it.
const DETOUR: Nanos = Nanos::from_secs(20);
/// Packets of a connection that was answered, at least.
const ANSWERED: u64 = 5;
/// The first router of a mute path is asked after a quarter of the time since, within these bounds.
const ASK: [Nanos; 2] = [Nanos::from_secs(2), Nanos::from_secs(60)];
/// A path that is mute beyond a working router is tried again after this; doubles with each return.
const TRIAL: Nanos = Nanos::from_secs(15);
/// Least time between two returns; doubles with each.
const RETURN: Nanos = Nanos::from_secs(10);
const MOST_DOUBLINGS: u32 = 6;
/// The count of returns drops by one for each such interval without another.
const FORGET: Nanos = Nanos::from_secs(1800);
/// How long a dead server is no evidence; doubles each time.
const DEAD: Nanos = Nanos::from_secs(60);
/// The same for the count of its failures.
const FORGET_DEAD: Nanos = Nanos::from_secs(86_400);

/// Why a path is mute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// No packet has arrived.
    Quiet,
    /// The router does not answer ARP or neighbour solicitations.
    Router,
    /// This server answers over another path.
    Elsewhere(SocketAddr),
    /// So many servers do not answer.
    Several(usize),
}

impl Display for Why {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Why::Quiet => to.write_str("nothing arrives"),
            Why::Router => to.write_str("its router does not answer"),
            Why::Elsewhere(server) => write!(to, "{server} answers only over another interface"),
            Why::Several(servers) => {
                write!(to, "{servers} servers do not answer, and no other does")
            }
        }
    }
}

/// What has changed for a family of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// It is mute.
    Mute(Why),
    /// It answers again, or is tried again.
    Back,
    /// It was not mute: this server answers over no path.
    Dead(SocketAddr),
}

/// A request for a sign of life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ask {
    pub(crate) device: u32,
    pub(crate) source: IpAddr,
    pub(crate) towards: IpAddr,
}

/// The result of a poll.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    /// Over these nothing is answered.
    pub(crate) mute: BTreeSet<Way>,
    /// First routers to ask now.
    pub(crate) ask: Vec<Ask>,
    /// Servers whose next connection should not start on a device, which shows whether the path is
    /// mute.
    pub(crate) detours: Vec<(IpAddr, u32)>,
    /// When to poll again.
    pub(crate) again: Option<Nanos>,
    pub(crate) news: Vec<(Way, News)>,
}

#[derive(Clone, Debug, Default)]
enum State {
    #[default]
    Calm,
    Asking(Asking),
    Mute(Mute),
}

/// Something is not answered.
#[derive(Clone, Debug)]
struct Asking {
    since: Nanos,
    /// Counters at that time.
    packets: u64,
    bytes: u64,
    foreign_bytes: u64,
    /// Unanswered servers.
    servers: BTreeMap<SocketAddr, Silence>,
    ask: Option<Ask>,
    last_vain: Nanos,
    detour: Option<Detour>,
}

/// What a server leaves unanswered.
#[derive(Clone, Debug, Default)]
struct Silence {
    /// The most timeouts in a row of a socket.
    timeouts: u32,
    signs: u32,
    /// Sockets seen, and when the last that counts was.
    sockets: BTreeSet<SocketAddr>,
    last: Option<(Nanos, SocketAddr)>,
    /// The last that counts has had a timeout.
    is_repeated: bool,
}

impl Silence {
    fn take(&mut self, now: Nanos, one: &Vain) {
        self.timeouts = self.timeouts.max(one.timeouts);
        let is_new = self.sockets.insert(one.local);
        let is_apart = self
            .last
            .is_none_or(|(at, _)| now >= at.saturating_add(TOGETHER));
        if is_new && is_apart {
            self.last = Some((now, one.local));
            self.is_repeated = false;
            self.signs += 1;
        }
        let is_last = self.last.is_some_and(|(_, local)| local == one.local);
        if is_last && one.timeouts > 0 && !self.is_repeated {
            self.is_repeated = true;
            self.signs += 1;
        }
    }

    fn is_long(&self) -> bool {
        self.timeouts >= TIMEOUTS || self.signs >= SIGNS
    }
}

/// A server whose connections start on another path for a moment.
#[derive(Clone, Debug)]
struct Detour {
    server: SocketAddr,
    since: Nanos,
    /// Sockets that it had answered over other paths before.
    before: BTreeSet<SocketAddr>,
    /// Packets of this family that other devices had received.
    packets: BTreeMap<u32, u64>,
}

impl Detour {
    /// True if another device has received packets since, which connections that ended between two
    /// polls explain.
    fn is_answered(&self, all: &[Seen]) -> bool {
        let more = |seen: &Seen| {
            let is_alike = seen.v4 == self.server.is_ipv4();
            let before = self.packets.get(&seen.device).copied().filter(|_| is_alike);
            before.is_some_and(|before| seen.packets >= before.saturating_add(ANSWERED))
        };
        all.iter().any(more)
    }
}

#[derive(Clone, Debug)]
struct Mute {
    since: Nanos,
    /// True if its router works, so that only servers can show that it has recovered.
    beyond: bool,
    /// True if it is tried again after some time, because nothing else may show that it has
    /// recovered.
    is_tried: bool,
    /// Received packets that show no recovery.
    packets: u64,
    servers: Vec<SocketAddr>,
    ask: Option<Ask>,
    asked: Nanos,
}

#[derive(Clone, Debug, Default)]
struct Path {
    state: State,
    addresses: Vec<IpAddr>,
    /// True if its first router has answered.
    router_answers: bool,
    returns: Lately,
}

/// All paths, from poll to poll.
#[derive(Clone, Debug, Default)]
pub(crate) struct Paths {
    paths: BTreeMap<Way, Path>,
    /// Servers that answer over no path.
    dead: BTreeMap<SocketAddr, Dead>,
}

/// A server that does not answer.
#[derive(Clone, Copy, Debug, Default)]
struct Dead {
    since: Nanos,
    /// Until when its silence is no evidence.
    until: Nanos,
    times: Lately,
}

impl Paths {
    /// True if the next poll must list connections.
    pub(crate) fn is_asking(&self) -> bool {
        self.paths
            .values()
            .any(|path| matches!(path.state, State::Asking(_)))
    }

    /// True if the router is worth a look.
    pub(crate) fn doubts(&self, seen: &Seen) -> bool {
        let path = self.paths.get(&seen.way());
        let is_calm = path.is_none_or(|path| matches!(path.state, State::Calm));
        seen.waits || !seen.vain.is_empty() || !is_calm
    }

    /// Takes in a poll of all usable devices.
    pub(crate) fn observe(&mut self, now: Nanos, all: &[Seen]) -> Told {
        self.paths
            .retain(|way, _| all.iter().any(|seen| seen.way() == *way));
        let heard: Vec<&Heard> = all.iter().flat_map(|seen| &seen.heard).collect();
        self.dead.retain(|server, dead| {
            let is_back = heard
                .iter()
                .any(|heard| heard.server == *server && heard.at > dead.since);
            !is_back && dead.times.times(now, FORGET_DEAD) > 0
        });
        let mut told = Told::default();
        for seen in all {
            let mut path = self.paths.remove(&seen.way()).unwrap_or_default();
            if path.addresses != seen.addresses {
                path = Path {
                    addresses: seen.addresses.clone(),
                    ..Path::default()
                };
            }
            path.state = match std::mem::take(&mut path.state) {
                State::Calm => self.calm(now, seen, &mut told),
                State::Asking(asking) => {
                    let is_known = path.router_answers || seen.has_router;
                    self.asking(now, (seen, all), (asking, is_known), &mut told)
                }
                State::Mute(mute) => {
                    self.mute(now, (seen, all), mute, &mut path.returns, &mut told)
                }
            };
            match &path.state {
                State::Calm => {}
                State::Asking(asking) => {
                    path.router_answers |= asking.ask.is_some() && seen.packets > asking.packets;
                    if now.saturating_sub(asking.since) < DOUBT {
                        told.again(now.saturating_add(SOON));
                    }
                    if let Some(late_in) = seen.late_in {
                        told.again(now.saturating_add(late_in));
                    }
                    told.detours.extend(
                        asking
                            .detour
                            .as_ref()
                            .map(|detour| (detour.server.ip(), seen.device)),
                    );
                }
                State::Mute(_) => {
                    told.mute.insert(seen.way());
                }
            }
            self.paths.insert(seen.way(), path);
        }
        told
    }

    fn calm(&self, now: Nanos, seen: &Seen, told: &mut Told) -> State {
        let mut vain = seen
            .vain
            .iter()
            .filter(|vain| !self.is_dead(vain.server, now));
        let Some(first) = vain.next() else {
            if seen.router_fails && seen.waits {
                return State::Asking(Asking::new(now, seen, None));
            }
            if let Some(late_in) = seen.late_in.filter(|_| seen.is_quiet) {
                told.again(now.saturating_add(late_in));
            }
            return State::Calm;
        };
        let ask = Ask {
            device: seen.device,
            source: first.local.ip(),
            towards: first.server.ip(),
        };
        told.ask.push(ask);
        let mut asking = Asking::new(now, seen, Some(ask));
        asking.take(now, vain.chain([first]));
        State::Asking(asking)
    }

    /// `is_known`: the first router answers what it is asked, as long as the path works.
    fn asking(
        &mut self,
        now: Nanos,
        (seen, all): (&Seen, &[Seen]),
        (mut asking, is_known): (Asking, bool),
        told: &mut Told,
    ) -> State {
        asking.take(now, seen.vain.iter());
        let suspected = asking.servers.len();
        asking
            .servers
            .retain(|server, _| !self.is_dead(*server, now));
        if suspected > 0 && asking.servers.is_empty() && !seen.router_fails {
            return State::Calm;
        }
        let arrived = seen.packets > asking.packets;
        let is_answered = seen.heard.iter().any(|heard| heard.at > asking.since)
            || seen.bytes.saturating_sub(asking.bytes)
                >= TRAFFIC_BYTES + seen.foreign_bytes.saturating_sub(asking.foreign_bytes)
            || arrived
                && asking.detour.is_none()
                && seen.vain.is_empty()
                && now.saturating_sub(asking.last_vain) >= RETRY;
        if is_answered {
            asking
                .unanswered()
                .for_each(|server| self.mark_dead(server, now));
            return State::Calm;
        }
        if let Some(why) = asking.verdict(now, (seen, all), arrived, is_known) {
            told.news.push((seen.way(), News::Mute(why)));
            let beyond = arrived && why != Why::Router;
            return State::Mute(asking.mute(now, seen, beyond, is_known));
        }
        let doubt = now.saturating_sub(asking.last_vain);
        match &asking.detour {
            None if doubt >= DOUBT => return State::Calm,
            None => asking.detour = asking.begin_detour(now, (seen, all), arrived),
            Some(detour) => {
                if is_vain_elsewhere(all, seen.device, detour.server) {
                    self.mark_dead(detour.server, now);
                    return State::Calm;
                }
                if arrived && now.saturating_sub(detour.since) >= DETOUR {
                    if !detour.is_answered(all) {
                        self.mark_dead(detour.server, now);
                        return State::Calm;
                    }
                    let why = Why::Elsewhere(detour.server);
                    told.news.push((seen.way(), News::Mute(why)));
                    return State::Mute(asking.mute(now, seen, true, is_known));
                }
                if doubt >= DETOUR {
                    return State::Calm;
                }
            }
        }
        State::Asking(asking)
    }

    fn mute(
        &mut self,
        now: Nanos,
        (seen, all): (&Seen, &[Seen]),
        mut mute: Mute,
        returns: &mut Lately,
        told: &mut Told,
    ) -> State {
        let times = returns.times(now, FORGET);
        let is_dead = |server: &SocketAddr| {
            is_vain_elsewhere(all, seen.device, *server)
                && elsewhere(all, seen.device, *server).all(|heard| heard.at <= mute.since)
        };
        if let [server, ..] = mute.servers[..]
            && !seen.router_fails
            && mute.servers.iter().all(is_dead)
        {
            mute.servers
                .iter()
                .for_each(|server| self.mark_dead(*server, now));
            told.news.push((seen.way(), News::Dead(server)));
            return State::Calm;
        }
        // Other packets may be noise of the local network.
        let is_answer = now <= mute.asked.saturating_add(ANSWER);
        let arrived = seen.packets > mute.packets && is_answer && !seen.router_fails;
        mute.packets = seen.packets;
        let trial = mute.since.saturating_add(Nanos(TRIAL.0 << times));
        if mute.is_tried {
            told.again(trial);
        }
        let is_heard = seen.heard.iter().any(|heard| heard.at > mute.since);
        let is_back = is_heard || arrived && !mute.beyond || mute.is_tried && now >= trial;
        let may_return = returns
            .last()
            .is_none_or(|last| now >= last.saturating_add(Nanos(RETURN.0 << times)));
        if is_back && may_return {
            returns.add(now, FORGET, MOST_DOUBLINGS);
            told.news.push((seen.way(), News::Back));
            return State::Calm;
        }
        if let Some(ask) = mute.ask.or(seen.router).filter(|_| !mute.beyond) {
            let pause = Nanos(now.saturating_sub(mute.since).0 / 4).clamp(ASK[0], ASK[1]);
            if now >= mute.asked.saturating_add(pause) {
                mute.asked = now;
                told.ask.push(ask);
            }
            told.again(mute.asked.saturating_add(pause));
        }
        if now < mute.asked.saturating_add(ANSWER) {
            told.again(now.saturating_add(SOON));
        }
        State::Mute(mute)
    }

    fn is_dead(&self, server: SocketAddr, now: Nanos) -> bool {
        self.dead.get(&server).is_some_and(|dead| dead.until > now)
    }

    fn mark_dead(&mut self, server: SocketAddr, now: Nanos) {
        let dead = self.dead.entry(server).or_default();
        let times = dead.times.times(now, FORGET_DEAD);
        (dead.since, dead.until) = (now, now.saturating_add(Nanos(DEAD.0 << times)));
        dead.times.add(now, FORGET_DEAD, MOST_DOUBLINGS);
    }
}

impl Asking {
    fn new(now: Nanos, seen: &Seen, ask: Option<Ask>) -> Self {
        Asking {
            since: now,
            packets: seen.packets,
            bytes: seen.bytes,
            foreign_bytes: seen.foreign_bytes,
            servers: BTreeMap::new(),
            ask,
            last_vain: now,
            detour: None,
        }
    }

    fn take<'a>(&mut self, now: Nanos, vain: impl Iterator<Item = &'a Vain>) {
        for one in vain {
            self.servers.entry(one.server).or_default().take(now, one);
            self.last_vain = now;
        }
    }

    /// Servers that have left enough packets unanswered.
    fn unanswered(&self) -> impl Iterator<Item = SocketAddr> {
        self.servers
            .iter()
            .filter(|(_, silence)| silence.is_long())
            .map(|(server, _)| *server)
    }

    /// A detour for a server that has been silent for long enough.
    fn begin_detour(
        &self,
        now: Nanos,
        (seen, all): (&Seen, &[Seen]),
        arrived: bool,
    ) -> Option<Detour> {
        let is_long = now.saturating_sub(self.since) >= ANSWER && !arrived;
        let server = self
            .unanswered()
            .next()
            .or_else(|| self.servers.keys().next().copied().filter(|_| is_long))?;
        let before = elsewhere(all, seen.device, server)
            .map(|heard| heard.local)
            .collect();
        Some(Detour {
            server,
            since: now,
            before,
            packets: all
                .iter()
                .filter(|other| other.device != seen.device && other.v4 == seen.v4)
                .map(|other| (other.device, other.packets))
                .collect(),
        })
    }

    /// Why the path is mute, if it is. `arrived`: packets have arrived, but no TCP segment.
    /// `is_known`: its first router answers.
    fn verdict(
        &self,
        now: Nanos,
        (seen, all): (&Seen, &[Seen]),
        arrived: bool,
        is_known: bool,
    ) -> Option<Why> {
        let length = now.saturating_sub(self.since);
        if seen.router_fails && length >= SOON {
            return Some(Why::Router);
        }
        let is_new = |heard: &Heard| {
            self.detour.as_ref().is_some_and(|detour| {
                let is_later = heard.is_closed || heard.at > detour.since;
                detour.server == heard.server && is_later && !detour.before.contains(&heard.local)
            })
        };
        let answers = |server: &SocketAddr| {
            let mut all = elsewhere(all, seen.device, *server);
            all.any(|heard| is_new(heard) || !arrived && heard.at > self.since)
        };
        if let Some(server) = self.servers.keys().copied().find(answers) {
            return Some(Why::Elsewhere(server));
        }
        if length < ANSWER {
            return None;
        }
        // A server with addresses of both families is one server.
        let most = |all: &BTreeSet<IpAddr>| {
            let v4 = all.iter().filter(|one| one.is_ipv4()).count();
            v4.max(all.len() - v4)
        };
        if !arrived {
            let servers = most(&self.servers.keys().map(SocketAddr::ip).collect());
            let is_long = self.unanswered().next().is_some() || length >= ANSWER + ANSWER;
            return (servers >= 2 || is_known && is_long).then_some(Why::Quiet);
        }
        let servers = most(&self.unanswered().map(|server| server.ip()).collect());
        (servers >= 2).then_some(Why::Several(servers))
    }

    fn mute(self, now: Nanos, seen: &Seen, beyond: bool, is_known: bool) -> Mute {
        let is_tried = beyond || !is_known;
        let servers = self.servers.into_keys().collect();
        Mute {
            since: now,
            beyond,
            is_tried,
            packets: seen.packets,
            servers,
            ask: self.ask,
            asked: now,
        }
    }
}

impl Told {
    fn again(&mut self, at: Nanos) {
        self.again = Some(self.again.map_or(at, |known| known.min(at)));
    }
}

/// Sockets that the server has answered over other devices.
fn elsewhere(all: &[Seen], device: u32, server: SocketAddr) -> impl Iterator<Item = &Heard> {
    let others = all.iter().filter(move |seen| seen.device != device);
    others
        .flat_map(|seen| &seen.heard)
        .filter(move |heard| heard.server == server)
}

/// True if the server leaves packets over another device unanswered, too.
fn is_vain_elsewhere(all: &[Seen], device: u32, server: SocketAddr) -> bool {
    let others = all.iter().filter(|seen| seen.device != device);
    others
        .flat_map(|seen| &seen.vain)
        .any(|vain| vain.server == server && vain.timeouts >= TIMEOUTS)
}
