//! The fast path of a segment and of an ACK that are in order, on a subflow where nothing is unusual, and of
//! segments beside a hole.
//!
//! Nearly all events of a run at the ends of subflows are of these kinds. The functions here do what
//! `receiver::receive` and `sender::ack` do for every packet, and leave out what has no effect in this case:
//! each begins with the conditions for that. If one does not hold, nothing has been changed, and the caller
//! takes the general way. They work on the parts of the engine directly, without a [`Context`] in between.
//!
//! The test below runs random scenarios both ways and compares the results to the last byte.
//!
//! [`Context`]: crate::connection::context::Context

use crate::application::Next;
use crate::connection::context::Clock;
use crate::connection::device::Interface;
use crate::parallel::shared::Shared;
use crate::path::network::Network;
use crate::path::packet::{CE, CWR, ECE, ECT, Kind, Packet, Stamp, Usual};
use crate::receiver::Arrival;
use crate::run::config::Config;
use crate::run::engine::Engine;
use crate::sender::{Congestion, Departing, FastPath, InOrder, SenderEnd, SubflowSender};

/// The interface of subflow `s` at an end where its radio matters.
#[inline(always)]
pub(crate) fn radio(interfaces: &mut Shared<Interface>, s: usize, has_radio: bool) -> Option<&mut Interface> {
    if has_radio { Some(&mut interfaces[s]) } else { None }
}

/// Whether it may be asleep, so that its meter has to learn of a packet at once.
#[inline(always)]
pub(crate) fn may_sleep(radio: Option<&Interface>, now_ns: u64) -> bool {
    radio.is_some_and(|interface| !interface.is_awake(now_ns))
}

impl Engine {
    /// Whether the fast path may be taken: always, but in tests that compare it.
    #[cfg(not(test))]
    #[inline(always)]
    pub(crate) fn may_use_fast_paths(&self) -> bool {
        true
    }

    #[cfg(test)]
    pub(crate) fn may_use_fast_paths(&self) -> bool {
        self.uses_fast_paths
    }

    /// Lets tests know that a packet takes the fast path.
    #[inline(always)]
    pub(crate) fn count_fast_path(&mut self) {
        #[cfg(test)]
        {
            self.fast_path_hits += 1;
        }
    }

    /// Takes a segment that is the next one of its subflow, while no other one waits there, and acknowledges
    /// it. Returns false if nothing has been done.
    #[inline(always)]
    pub(crate) fn take_segment(&mut self, packet: &Packet) -> bool {
        let s = packet.subflow() as usize;
        let may_use_fast_paths = self.may_use_fast_paths();
        let (now_ns, net) = (self.now_ns, &mut self.net);
        let subflow = &mut self.receivers[s];
        if !may_use_fast_paths || !subflow.takes_plainly(packet, self.config.acks_at_once) {
            return false;
        }
        let c = subflow.id.connection as usize;
        let (end, downloads) = (self.connections.receiving(c), subflow.id.downloads);
        let interface = radio(&mut self.interfaces, s, subflow.has_radio);
        if may_sleep(interface.as_deref(), now_ns) {
            return false;
        }
        let len = packet.aux() as u16;
        let ssn = subflow.order.accept_next();
        if end.data.accept(packet.dsn(), len) {
            subflow.first_copy_bytes += u64::from(len);
        }
        let dsn = end.data.next();
        let completes = end.reader.is_complete(dsn);
        if let Some(reception) = &mut end.reception {
            reception.arrive(packet.dsn(), now_ns);
            reception.settle(dsn, end.data.held(), now_ns);
        }
        let mut ack = packet.answer(ssn, dsn);
        // The radio is awake: the interface is.
        let size = self.config.sizes.ack;
        net.offer(now_ns, subflow.first_hop, &mut ack, size);
        if downloads && let Some(interface) = interface {
            interface.count_awake(now_ns, packet.aux() + self.config.sizes.header, size);
        }
        if completes {
            self.complete(s, dsn);
        }
        true
    }

    /// Takes a segment that comes out of order, a second time, or while others wait for it, and acknowledges
    /// it. Returns false if nothing has been done.
    #[inline(always)]
    pub(crate) fn take_segment_beside_hole(&mut self, packet: &Packet) -> bool {
        let s = packet.subflow() as usize;
        let may_use_fast_paths = self.may_use_fast_paths();
        let (now_ns, net, config) = (self.now_ns, &mut self.net, &self.config);
        let subflow = &mut self.receivers[s];
        let is_usual = packet.epoch() == subflow.id.epoch && subflow.is_open && subflow.relay.is_none();
        if !is_usual || !config.acks_at_once || !may_use_fast_paths {
            return false;
        }
        let c = subflow.id.connection as usize;
        let (end, downloads) = (self.connections.receiving(c), subflow.id.downloads);
        let interface = radio(&mut self.interfaces, s, subflow.has_radio);
        if may_sleep(interface.as_deref(), now_ns) {
            return false;
        }
        let (len, held) = (packet.aux() as u16, subflow.order.held());
        subflow.usual = Usual::NONE;
        let (arrival, received) = subflow.order.accept(packet.ssn(), packet.dsn(), len);
        let mut next = Next::Nothing;
        match arrival {
            Arrival::InOrder => {
                subflow.deliver(end, packet.dsn(), len);
                next = end.reader.delivered(end.data.next(), now_ns);
            }
            Arrival::Duplicate => subflow.duplicate = Some(packet.ssn()),
            Arrival::OutOfOrder => {}
        }
        let dsn = end.data.next();
        if let Some(reception) = &mut end.reception {
            reception.arrive(packet.dsn(), now_ns);
            let gained = subflow.order.held().wrapping_sub(held);
            reception.held_by_subflows = reception.held_by_subflows.wrapping_add(gained);
            reception.settle_changed(dsn, end.data.held(), now_ns);
        }
        if subflow.ece || packet.flags() & CE != 0 {
            subflow.note_mark(end, packet);
        }
        let mut ack = packet
            .answer(subflow.order.next(), dsn)
            .with_aux(subflow.sack((config, &mut net.sacks), Some(received)))
            .with_flags(if subflow.ece { ECE } else { 0 });
        let size = config.sizes.ack;
        net.offer(now_ns, subflow.first_hop, &mut ack, size);
        if downloads && let Some(interface) = interface {
            interface.count_awake(now_ns, packet.aux() + config.sizes.header, size);
        }
        if next != Next::Nothing {
            self.follow(s, next);
        }
        true
    }

    /// Lets the application at the end of subflow `s` know that all it waited for below `dsn` has arrived.
    #[cold]
    fn complete(&mut self, s: usize, dsn: u32) {
        let c = self.receivers[s].id.connection as usize;
        let next = self.connections.receiving(c).reader.delivered(dsn, self.now_ns);
        if next != Next::Nothing {
            self.follow(s, next);
        }
    }

    /// Does what the application at the end of subflow `s` wants next.
    #[cold]
    fn follow(&mut self, s: usize, next: Next) {
        let id = self.receivers[s].id;
        self.endpoints(id.connection as usize).follow(next);
    }

    /// Takes an ACK for new data without SACK blocks and without an echo of a mark, on a subflow that is
    /// neither recovering nor probing, and sends what it admits if that is easy to say.
    /// [`take_ack_apart`](Self::take_ack_apart) does that where the controller owns the window, or the
    /// scheduler looks ahead of it.
    #[inline(always)]
    pub(crate) fn take_ack(&mut self, packet: &Packet) -> FastPath {
        let s = packet.subflow() as usize;
        let may_use_fast_paths = self.may_use_fast_paths();
        let (now_ns, net, config) = (self.now_ns, &mut self.net, &self.config);
        let subflow = &mut self.senders[s];
        if !may_use_fast_paths || !subflow.takes_plainly(packet) {
            return FastPath::Declined;
        }
        let i = subflow.id.index();
        let c = subflow.id.connection as usize;
        let (end, uploads) = (self.connections.sending(c), !subflow.id.downloads);
        let mut interface = radio(&mut self.interfaces, s, subflow.has_radio);
        if end.is_unusual || may_sleep(interface.as_deref(), now_ns) {
            return if end.has_own_way { FastPath::Paced } else { FastPath::Declined };
        }
        if uploads && let Some(interface) = &mut interface {
            interface.count_awake(now_ns, config.sizes.ack, 0);
        }
        if end.data.acknowledge(packet.dsn()) {
            end.writer.forget(packet.dsn());
        }
        let clock = Clock::of(s, config, now_ns, &mut net.queue);
        subflow.take_ack(&mut InOrder::<false>(clock), end, i, packet, None);
        let outstanding = subflow.board.outstanding();
        if end.is_scheduled {
            subflow.show((&mut *end, i), outstanding, Congestion::Open, false);
        }
        let has_choice = end.is_scheduled && end.has_choice_after(i);
        // From here on: what `Sender::push` does. The timer has been set, and setting it anew for each
        // segment would change nothing as long as two segments are outstanding.
        if outstanding < 2 {
            return FastPath::Push;
        }
        if has_choice {
            return FastPath::Push;
        }
        let left = end.may_send_new_now().min(subflow.plain_space(end, i, outstanding));
        if left > 1 {
            return self.send_several(s, left);
        }
        if left > 0 {
            send_plainly(net, config, (end, subflow, interface), s, now_ns);
        }
        // A scheduler is asked about the oldest segment when the window is full.
        if end.is_scheduled && !end.data.window_open() { FastPath::Push } else { FastPath::Done }
    }

    /// Sends `left` new segments on subflow `s`, which is plain.
    #[inline(never)]
    fn send_several(&mut self, s: usize, left: u32) -> FastPath {
        let (now_ns, net, config) = (self.now_ns, &mut self.net, &self.config);
        let subflow = &mut self.senders[s];
        let end = self.connections.sending(subflow.id.connection as usize);
        let mut interface = radio(&mut self.interfaces, s, subflow.has_radio);
        for _ in 0..left {
            send_plainly(net, config, (end, subflow, interface.as_deref_mut()), s, now_ns);
        }
        if end.is_scheduled && !end.data.window_open() { FastPath::Push } else { FastPath::Done }
    }
}

/// Sends a new segment on subflow `s`, which is plain and not alone outstanding.
#[inline(always)]
fn send_plainly(
    net: &mut Network,
    config: &Config,
    (end, subflow, interface): (&mut SenderEnd, &mut SubflowSender, Option<&mut Interface>),
    s: usize,
    now_ns: u64,
) {
    let len = end.writer.segment_len(end.data.next());
    let dsn = end.data.take_new(subflow.id.index());
    let ssn = subflow.note_sent(end, dsn, len, now_ns);
    send(net, config, (subflow, interface), Departing { ssn, dsn, len, flags: 0 }, s, now_ns);
}

/// Sends a segment of subflow `s`: the packet enters its first link, and the meter counts it.
#[inline(always)]
pub(crate) fn send(
    net: &mut Network,
    config: &Config,
    (subflow, interface): (&mut SubflowSender, Option<&mut Interface>),
    Departing { ssn, dsn, len, mut flags }: Departing,
    s: usize,
    now_ns: u64,
) {
    // Retransmissions are not ECN-capable (RFC 3168, section 6.1.5).
    if config.transport.ecn && flags == 0 {
        flags = if std::mem::take(&mut subflow.cwr_pending) { ECT | CWR } else { ECT };
    }
    let mut data = Packet::new(Kind::Data, s as u32, subflow.id.epoch, Stamp::at(now_ns))
        .numbered(ssn, dsn)
        .with_aux(u32::from(len))
        .with_flags(flags);
    let size = u32::from(len) + config.sizes.header;
    net.offer(now_ns, subflow.first_hop, &mut data, size);
    if !subflow.id.downloads
        && let Some(interface) = interface
    {
        interface.count_awake(now_ns, 0, size);
    }
}

#[cfg(test)]
mod tests {
    use joulepath_control::Setup;
    use joulepath_model::cancel::Cancel;
    use joulepath_model::scenario::load;
    use proptest::prelude::*;

    use crate::{RunOptions, build};

    /// The result as text, the number of its packet-hops, and how many of its segments and ACKs took the
    /// short way.
    fn run(text: &str, policy: &str, seed: u64, short: bool) -> (String, u64, u64) {
        let scenario = load(text, &|trace| Err(format!("no trace {trace}")));
        let scenario = scenario.unwrap_or_else(|errors| panic!("{errors}\n{text}"));
        let setup = Setup::of(&policy.parse().unwrap(), &scenario).unwrap();
        let options = RunOptions { series: true, links: true, ..RunOptions::default() };
        let mut engine = build::build(&scenario, &setup, seed, &options, 1).unwrap();
        engine.uses_fast_paths = short;
        engine.run(&Cancel::new()).unwrap();
        let (hops, fast_path_hits) = (engine.net.counts.counters().packet_hops, engine.fast_path_hits);
        (serde_json::to_string(&engine.result(&scenario, policy, seed)).unwrap(), hops, fast_path_hits)
    }

    /// Runs both ways; returns the packet-hops, and how many segments and ACKs took the fast path.
    fn compare(text: &str, policy: &str, seed: u64) -> (u64, u64) {
        let (general, _, none) = run(text, policy, seed, false);
        let (short, hops, fast_path_hits) = run(text, policy, seed, true);
        assert!(general == short, "{policy}, seed {seed}: both ways differ\n{text}\n{general}\n{short}");
        assert_eq!(none, 0);
        (hops, fast_path_hits)
    }

    fn one_of(words: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
        prop::sample::select(words)
    }

    /// A path of its own rate, delay, queue, loss and radio.
    fn path(name: usize) -> impl Strategy<Value = String> {
        let rate = one_of(&["300 kbit/s", "2 Mbit/s", "9 Mbit/s", "30 Mbit/s"]);
        let delay = one_of(&["1 ms", "15 ms", "90 ms"]);
        let queue = one_of(&["6 packets", "25 packets", "200 packets"]);
        let loss = one_of(&["0 %", "0.2 %", "3 %"]);
        let energy = one_of(&["free", "wifi-seed000", "wifi-huang2012", "lte-huang2012"]);
        (rate, delay, queue, loss, energy).prop_map(move |(rate, delay, queue, loss, energy)| {
            format!(
                "[[path]]\nname = \"p{name}\"\nrate = \"{rate}\"\ndelay = \"{delay}\"\nqueue = \"{queue}\"\n\
                 ecn_threshold = \"4 packets\"\nloss = \"{loss}\"\nenergy = \"{energy}\"\n"
            )
        })
    }

    fn scenario() -> impl Strategy<Value = String> {
        let paths = prop_oneof![
            path(0),
            (path(0), path(1)).prop_map(|(a, b)| a + &b),
            (path(0), path(1), path(2)).prop_map(|(a, b, c)| a + &b + &c),
        ];
        let workload = one_of(&[
            "kind = \"bulk\"",
            "kind = \"file\"\nsize = \"700 kB\"",
            "kind = \"messages\"\nmean_gap = \"20 ms\"\nsize = \"20 kB\"",
            "kind = \"requests\"\nsize = \"150 kB\"\nthink = \"100 ms\"",
        ]);
        let direction = one_of(&["download", "upload"]);
        let buffer = one_of(&["24 KiB", "256 KiB", "4 MiB"]);
        let recovery = one_of(&["rack", "rack", "sack", "newreno"]);
        let transport = one_of(&["", "ecn = true", "delayed_ack = \"40 ms\"", "processing_delay = \"0 s\""]);
        let device = one_of(&["", "[device]\nsharing_factor = 0.8"]);
        let rest = (workload, direction, buffer, recovery, transport, device);
        let rest = rest.prop_map(|(workload, direction, buffer, recovery, transport, device)| {
            let requests = workload.contains("requests");
            let direction = if requests { "download" } else { direction };
            format!(
                "[workload]\n{workload}\ndirection = \"{direction}\"\n[receiver]\nbuffer = \"{buffer}\"\n\
                 [transport]\nrecovery = \"{recovery}\"\n{transport}\n{device}\n"
            )
        });
        let competitor = one_of(&["", "[[competitor]]\nname = \"tcp\"\npath = \"p0\"\n"]);
        (paths, competitor, rest).prop_map(|(paths, competitor, rest)| {
            format!("title = \"random\"\nduration = \"5 s\"\nwarm_up = \"1 s\"\n{paths}{competitor}{rest}")
        })
    }

    const POLICIES: &[&str] = &[
        "uncoupled",
        "mptcp",
        "olia",
        "dts",
        "dctcp",
        "linux",
        "joule",
        "redundant",
        "emptcp",
        "mptcp[scheduler=round-robin]",
        "mptcp[scheduler=first-free]",
        "mptcp[scheduler=blest]",
        "mptcp[scheduler=sttf]",
        "mptcp[scheduler=placing]",
        "bbr1",
        "bbr3",
        "copa",
        "vivace",
    ];

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

        /// Losses, marks, delayed ACKs, sleeping radios, full buffers, every way of recovering: whatever
        /// happens, the fast path does what the general one does.
        #[test]
        fn fast_paths_give_the_general_result(text in scenario(), name in one_of(POLICIES), seed in 0u64..9) {
            compare(&text, name, seed);
        }
    }

    /// Without losses nearly every segment and ACK takes the fast path, so the comparison compares something.
    /// Two hops each: a segment's link, an ACK's link.
    #[test]
    fn most_packets_take_a_fast_path() {
        let path = |name: &str, delay: &str| {
            format!(
                "[[path]]\nname = \"{name}\"\nrate = \"8 Mbit/s\"\ndelay = \"{delay}\"\nenergy = \"free\"\n"
            )
        };
        let one = path("a", "10 ms");
        let two = format!("{one}{}", path("b", "25 ms"));
        let policies = [
            (&one, "uncoupled"),
            (&two, "mptcp"),
            (&two, "uncoupled"),
            (&one, "bbr3"),
            (&two, "joule"),
            (&two, "linux"),
        ];
        for (paths, policy) in policies {
            let text = format!("title = \"calm\"\nduration = \"20 s\"\n{paths}[workload]\nkind = \"bulk\"\n");
            let (hops, fast_path_hits) = compare(&text, policy, 1);
            assert!(hops > 20_000 && fast_path_hits * 10 > hops * 9, "{policy}: {fast_path_hits} of {hops}");
        }
    }

    /// Nor do losses keep the packets of a lone subflow from it.
    #[test]
    fn the_packets_of_a_recovery_take_a_fast_path() {
        let text = "title = \"lossy\"\nduration = \"20 s\"\n[[path]]\nname = \"a\"\nrate = \"8 Mbit/s\"\n\
                    delay = \"10 ms\"\nqueue = \"20 packets\"\nloss = \"2 %\"\nenergy = \"free\"\n\
                    [workload]\nkind = \"bulk\"\n";
        let (hops, fast_path_hits) = compare(text, "uncoupled", 1);
        assert!(hops > 10_000 && fast_path_hits * 20 > hops * 19, "{fast_path_hits} of {hops}");
    }

    /// Routes of six links, eight subflows, a timing wheel.
    #[test]
    fn a_data_centre_is_the_same_both_ways() {
        let text = "title = \"tree\"\nduration = \"200 ms\"\n[topology]\nkind = \"fat-tree\"\nk = 4\n\
                    rate = \"100 Mbit/s\"\nqueue = \"20 packets\"\nspread = \"50 ms\"\n";
        for policy in ["mptcp", "olia"] {
            let (hops, fast_path_hits) = compare(text, policy, 2);
            assert!(hops > 50_000 && fast_path_hits > 5_000, "{policy}: {fast_path_hits} of {hops}");
        }
    }
}
