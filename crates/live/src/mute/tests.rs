use joulepath_kernel::route::ReceivedIpv6;

use super::*;

const WLAN: u32 = 2;
const WWAN: u32 = 3;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn at(server: &str) -> SocketAddr {
    (ip(server), 443).into()
}

fn ms(ms: u64) -> Nanos {
    Nanos::from_millis(ms)
}

/// A world of two devices, polled when it wants to be, at least every 2 s.
struct World {
    paths: Paths,
    all: [Seen; 2],
    now: Nanos,
    told: Told,
    news: Vec<(Nanos, u32, News)>,
    asked: Vec<Nanos>,
}

impl World {
    fn new() -> Self {
        let seen = |device: u32| Seen {
            device,
            v4: true,
            addresses: vec![ip(&format!("192.0.{device}.2"))],
            packets: 1000,
            has_router: true,
            ..Seen::default()
        };
        let all = [seen(WLAN), seen(WWAN)];
        let (paths, told) = (Paths::default(), Told::default());
        World {
            paths,
            all,
            now: ms(10_000),
            told,
            news: vec![],
            asked: vec![],
        }
    }

    fn wlan(&mut self) -> &mut Seen {
        &mut self.all[0]
    }

    /// Polls until `until`; `change` sets what each poll sees.
    fn run(&mut self, until: Nanos, mut change: impl FnMut(Nanos, &mut [Seen; 2], &Told)) {
        while self.now < until {
            change(self.now, &mut self.all, &self.told);
            self.told = self.paths.observe(self.now, &self.all);
            let news = self
                .told
                .news
                .iter()
                .map(|&((device, _), news)| (self.now, device, news));
            self.news.extend(news);
            self.asked.extend(
                self.told
                    .ask
                    .iter()
                    .filter(|ask| ask.device == WLAN)
                    .map(|_| self.now),
            );
            let next = self.now.saturating_add(ms(2000));
            let soonest = self.now.saturating_add(ms(100));
            self.now = self
                .told
                .again
                .map_or(next, |again| again.max(soonest).min(next));
        }
    }

    fn is_mute(&self) -> bool {
        self.told.mute.contains(&(WLAN, true))
    }
}

fn vain(device: u32, server: &str, timeouts: u32) -> Vain {
    Vain {
        local: (ip(&format!("192.0.{device}.2")), 40_000).into(),
        server: at(server),
        timeouts,
    }
}

/// The sockets of a program that connects every 4 s from `begin` on and repeats its SYN each
/// second.
fn connecting(now: Nanos, begin: Nanos, server: &str) -> Vec<Vain> {
    let age_s = now.saturating_sub(begin).0 / 1_000_000_000 % 4;
    if age_s == 0 {
        vec![]
    } else {
        vec![vain(WLAN, server, age_s as u32)]
    }
}

#[test]
fn a_silent_path_is_mute_within_four_seconds_of_the_first_syn_wherever_the_poll_falls() {
    for offset in (0..2000).step_by(100) {
        let mut world = World::new();
        let begin = ms(10_000 + offset);
        world.run(ms(16_000 + offset), |now, all, _| {
            all[0].vain = connecting(now, begin, "203.0.113.1");
            let is_new = now >= begin && all[0].vain.is_empty();
            all[0].late_in = is_new.then_some(ms(800));
            (all[0].waits, all[0].is_quiet) = (now >= begin, now >= begin);
        });
        let [(at, WLAN, News::Mute(Why::Quiet))] = world.news[..] else {
            panic!("{:?}", world.news)
        };
        assert!(at <= begin.saturating_add(ms(4000)), "{offset}: {at:?}");
    }
}

/// The first router answers what it is asked, so the path works; the server answers over no path.
#[test]
fn a_dead_server_moves_only_its_own_connections_and_only_for_a_moment() {
    let mut world = World::new();
    let begin = ms(10_500);
    let mut detours = 0;
    world.run(ms(200_000), |now, all, told| {
        let is_detour = told.detours == [(ip("203.0.113.1"), WLAN)];
        detours += u64::from(is_detour);
        all[0].packets += told.ask.len() as u64;
        let sockets = connecting(now, begin, "203.0.113.1");
        all[0].vain = if is_detour { vec![] } else { sockets.clone() };
        all[1].vain = match is_detour {
            true => sockets
                .iter()
                .map(|one| vain(WWAN, "203.0.113.1", one.timeouts))
                .collect(),
            false => vec![],
        };
    });
    assert_eq!(world.news, []);
    // It is asked about after 1 min and 2 min more, not at every SYN.
    assert!(
        (1..=4).contains(&world.asked.len()) && (1..40).contains(&detours),
        "{:?} {detours}",
        world.asked
    );
}

#[test]
fn a_dead_server_is_no_evidence_while_others_answer() {
    let mut world = World::new();
    world.run(ms(60_000), |now, all, _| {
        all[0].vain = vec![vain(WLAN, "203.0.113.1", 3), vain(WLAN, "203.0.113.2", 3)];
        let local = SocketAddr::new(ip("192.0.2.2"), 40_000);
        all[0].heard = vec![Heard {
            local,
            server: at("203.0.113.9"),
            at: now,
            is_closed: false,
        }];
        all[0].packets += 1;
    });
    assert_eq!((world.news.len(), world.told.detours.len()), (0, 0));
    // A dead server with an address of each family, on an otherwise idle path.
    let mut world = World::new();
    world.run(ms(13_000), |_, all, told| {
        all[0].vain = vec![vain(WLAN, "203.0.113.1", 3), vain(WLAN, "2001:db8::1", 3)];
        all[0].packets += told.ask.len() as u64;
    });
    assert_eq!(world.news, []);
}

#[test]
fn a_path_is_mute_beyond_a_working_router_if_a_server_answers_over_another_path() {
    let mut world = World::new();
    world.run(ms(20_000), |now, all, told| {
        all[0].vain = connecting(now, ms(10_500), "203.0.113.1");
        // Broadcasts of the network, and the router's answers.
        all[0].packets += 1;
        if !told.detours.is_empty() {
            let local = SocketAddr::new(ip("192.0.3.2"), 40_001);
            all[1].heard = vec![Heard {
                local,
                server: at("203.0.113.1"),
                at: now,
                is_closed: false,
            }];
        }
    });
    let why = Why::Elsewhere(at("203.0.113.1"));
    assert!(
        matches!(world.news[..], [(_, WLAN, News::Mute(found))] if found == why),
        "{:?}",
        world.news
    );
    // Packets of the router are no recovery; an answer of a server is.
    assert!(world.is_mute());
    let local = SocketAddr::new(ip("192.0.2.2"), 40_002);
    world.wlan().vain.clear();
    world.wlan().heard = vec![Heard {
        local,
        server: at("203.0.113.1"),
        at: world.now,
        is_closed: false,
    }];
    world.run(world.now.saturating_add(ms(1)), |_, _, _| {});
    assert!(!world.is_mute());
}

/// A program gives up each connection after `patience` and begins the next one at once. The router
/// answers ARP and forwards nothing.
fn impatient(patience: Nanos, offset: u64) -> Nanos {
    let mut world = World::new();
    let begin = ms(10_000 + offset);
    let mut succeeds = None;
    world.run(begin.saturating_add(ms(10_000)), |now, all, told| {
        let since = now.saturating_sub(begin);
        let (number, age) = (since.0 / patience.0, Nanos(since.0 % patience.0));
        let started = begin.saturating_add(Nanos(number * patience.0));
        let is_detour = !told.detours.is_empty() || !told.mute.is_empty();
        if is_detour && succeeds.is_none() {
            succeeds = Some(begin.saturating_add(Nanos((number + 1) * patience.0)));
        }
        let [wlan, wwan] = all;
        wlan.packets += told.ask.len() as u64;
        wlan.vain.clear();
        wlan.late_in = None;
        if now < begin {
            return;
        }
        wlan.is_quiet = true;
        match succeeds {
            Some(at) if started >= at => {
                let local = SocketAddr::new(ip("192.0.3.2"), 50_000 + number as u16);
                wwan.heard = vec![Heard {
                    local,
                    server: at_server(),
                    at: started,
                    is_closed: false,
                }];
            }
            _ if age < ms(800) => wlan.late_in = Some(ms(800).saturating_sub(age)),
            _ => {
                let mut one = vain(WLAN, "203.0.113.1", (age >= ms(1000)).into());
                one.local.set_port(40_000 + number as u16);
                wlan.vain = vec![one];
            }
        }
    });
    let why = Why::Elsewhere(at_server());
    assert!(
        matches!(world.news[..], [(_, WLAN, News::Mute(found))] if found == why),
        "{:?}",
        world.news
    );
    succeeds.unwrap().saturating_sub(begin)
}

fn at_server() -> SocketAddr {
    at("203.0.113.1")
}

#[test]
fn connections_that_programs_give_up_early_show_a_mute_path_within_six_seconds() {
    for offset in (0..2000).step_by(90) {
        for patience in [1000, 1500, 2000, 3000].map(ms) {
            let after = impatient(patience, offset);
            assert!(after <= ms(6000), "{offset} {patience:?}: {after:?}");
        }
    }
}

/// Six connections of a page begin at once, and the SYN of each is lost.
#[test]
fn lost_syns_of_connections_that_begin_together_start_no_detour() {
    let mut world = World::new();
    let mut had = false;
    world.run(ms(16_000), |now, all, told| {
        had |= !told.detours.is_empty();
        all[0].packets += 1;
        let is_lost = (ms(11_000)..ms(12_200)).contains(&now);
        let timeouts = (now >= ms(11_200)).into();
        let of = |port| Vain {
            local: (ip("192.0.2.2"), port).into(),
            ..vain(WLAN, "203.0.113.1", timeouts)
        };
        all[0].vain = (1..=6).filter(|_| is_lost).map(of).collect();
    });
    assert!(!had && world.news.is_empty(), "{:?}", world.news);
}

/// The connections of a detour end by a reset between two polls: no socket shows them.
#[test]
fn a_detour_whose_connections_no_poll_sees_shows_itself_by_packets() {
    let mut world = World::new();
    world.run(ms(40_000), |now, all, told| {
        let is_detour = !told.detours.is_empty();
        let sockets = connecting(now, ms(10_500), "203.0.113.1");
        all[0].vain = if is_detour { vec![] } else { sockets };
        all[0].packets += told.ask.len() as u64;
        all[1].packets += u64::from(is_detour);
    });
    let why = Why::Elsewhere(at("203.0.113.1"));
    assert!(
        matches!(world.news[..], [(_, WLAN, News::Mute(found)), ..] if found == why),
        "{:?}",
        world.news
    );
}

#[test]
fn several_unanswered_servers_are_a_mute_path_and_time_brings_it_back() {
    let mut world = World::new();
    world.run(ms(40_000), |_, all, told| {
        let is_used = !told.mute.contains(&(WLAN, true));
        all[0].vain = match is_used {
            true => vec![vain(WLAN, "203.0.113.1", 2), vain(WLAN, "198.51.100.1", 3)],
            false => vec![],
        };
        all[0].packets += 1;
    });
    let news: Vec<News> = world.news.iter().map(|(_, _, news)| *news).collect();
    assert_eq!(
        news,
        [
            News::Mute(Why::Several(2)),
            News::Back,
            News::Mute(Why::Several(2))
        ]
    );
    let [first, back, again] = [0, 1, 2].map(|place| world.news[place].0);
    assert_eq!(back.saturating_sub(first), TRIAL);
    assert!(again.saturating_sub(back) < ms(4000));
}

#[test]
fn a_router_without_an_answer_is_a_mute_path_even_if_connects_fail_at_once() {
    let mut world = World::new();
    world.run(ms(15_000), |now, all, _| {
        (all[0].waits, all[0].router_fails) = (now >= ms(10_500), now >= ms(10_500));
    });
    assert!(matches!(world.news[..], [(at, WLAN, News::Mute(Why::Router))] if at <= ms(13_500)));
    // A single poll that finds an unfinished resolution is none.
    let mut world = World::new();
    world.run(ms(15_000), |now, all, _| {
        (all[0].waits, all[0].router_fails) = (now == ms(12_000), now == ms(12_000));
        all[0].packets += u64::from(now > ms(12_000));
    });
    assert_eq!(world.news, []);
}

#[test]
fn a_mute_path_is_asked_at_growing_intervals_and_returns_with_the_first_answer() {
    let mut world = World::new();
    let begin = ms(10_000);
    let silent = |until: Nanos| {
        move |now: Nanos, all: &mut [Seen; 2], told: &Told| {
            all[0].vain = if told.mute.is_empty() {
                connecting(now, begin, "203.0.113.1")
            } else {
                vec![]
            };
            if now >= until {
                all[0].vain.clear();
                all[0].packets += told.ask.len() as u64;
            }
        }
    };
    world.run(ms(70_000), silent(ms(50_000)));
    let [(_, _, News::Mute(_)), (back, _, News::Back)] = world.news[..] else {
        panic!("{:?}", world.news)
    };
    // A quarter of 40 s, and the poll that sees the answer.
    assert!((ms(50_000)..ms(61_000)).contains(&back), "{back:?}");
    let pauses: Vec<Nanos> = world
        .asked
        .windows(2)
        .map(|pair| pair[1].saturating_sub(pair[0]))
        .collect();
    assert!(
        pauses.len() < 12 && pauses.last() > pauses.get(3),
        "{pauses:?}"
    );
}

/// The path passes packets for 5 s in every 10 s.
#[test]
fn a_path_that_comes_and_goes_returns_ever_more_rarely() {
    let mut world = World::new();
    world.run(ms(1_800_000), |now, all, told| {
        let works = now.0 / 1_000_000_000 % 10 < 5;
        all[0].vain = match works || !told.mute.is_empty() {
            true => vec![],
            false => vec![vain(WLAN, "203.0.113.1", 3)],
        };
        all[0].packets += u64::from(works);
    });
    let returns = world
        .news
        .iter()
        .filter(|(_, _, news)| *news == News::Back)
        .count();
    assert!((3..=9).contains(&returns), "{returns} in half an hour");
}

/// As on a link without ARP whose first router answers nothing.
#[test]
fn where_no_router_answers_only_another_path_shows_whether_the_server_is_dead() {
    for is_dead in [true, false] {
        let mut world = World::new();
        world
            .all
            .iter_mut()
            .for_each(|seen| seen.has_router = false);
        world.run(ms(20_000), |now, all, told| {
            let sockets = connecting(now, ms(10_500), "203.0.113.1");
            let is_moved = !told.detours.is_empty() || !told.mute.is_empty();
            all.iter_mut()
                .for_each(|seen| (seen.vain.clear(), seen.heard.clear()).0);
            match (is_moved, is_dead) {
                (false, _) => all[0].vain = sockets,
                (true, true) => {
                    all[1].vain = sockets
                        .iter()
                        .map(|one| vain(WWAN, "203.0.113.1", one.timeouts))
                        .collect();
                }
                (true, false) => {
                    let local = SocketAddr::new(ip("192.0.3.2"), 40_000);
                    all[1].heard = vec![Heard {
                        local,
                        server: at("203.0.113.1"),
                        at: now,
                        is_closed: false,
                    }];
                }
            }
        });
        match is_dead {
            true => assert_eq!(world.news, []),
            false => {
                let [(when, WLAN, News::Mute(Why::Elsewhere(_)))] = world.news[..] else {
                    panic!("{:?}", world.news)
                };
                assert!(when <= ms(15_500), "{when:?}");
            }
        }
    }
}

/// The router has been lost with its answers to what it is asked.
#[test]
fn a_path_returns_when_the_server_is_dead_on_the_other_path_too() {
    let mut world = World::new();
    world.run(ms(25_000), |now, all, told| {
        let [wlan, wwan] = all;
        let device = if told.mute.contains(&(WLAN, true)) {
            WWAN
        } else {
            WLAN
        };
        let sockets: Vec<Vain> = connecting(now, ms(10_500), "203.0.113.1");
        let sockets = sockets
            .iter()
            .map(|one| vain(device, "203.0.113.1", one.timeouts))
            .collect();
        (wlan.vain, wwan.vain) = if device == WLAN {
            (sockets, vec![])
        } else {
            (vec![], sockets)
        };
    });
    let news: Vec<News> = world.news.iter().map(|(_, _, news)| *news).collect();
    assert_eq!(
        news,
        [News::Mute(Why::Quiet), News::Dead(at("203.0.113.1"))]
    );
    assert!(
        world.news[1].0.saturating_sub(world.news[0].0) < ms(6000),
        "{:?}",
        world.news
    );
}

#[test]
fn another_network_starts_without_a_verdict() {
    let mut world = World::new();
    world.run(ms(16_000), |now, all, _| {
        all[0].vain = connecting(now, ms(10_000), "203.0.113.1")
    });
    assert!(world.is_mute());
    world.wlan().addresses = vec![ip("10.0.0.2")];
    world.run(world.now.saturating_add(ms(1)), |_, all, _| {
        all[0].vain.clear()
    });
    assert!(!world.is_mute());
}

/// IPv4 carries traffic on the device whose IPv6 router is silent, and the other way round.
#[test]
fn a_family_is_mute_alone_while_the_other_one_carries_traffic() {
    for silent_v4 in [true, false] {
        let mut paths = Paths::default();
        let server = at(if silent_v4 {
            "203.0.113.1"
        } else {
            "2001:db8::1"
        });
        let local: SocketAddr = (server.ip(), 40_000).into();
        let mut found = vec![];
        for s in 0..8 {
            let received = ReceivedIpv6 {
                packets: if silent_v4 { 1000 * s } else { 10 },
                bytes: if silent_v4 { 1_000_000 * s } else { 800 },
            };
            let seen = |(device, v4): Way| Seen {
                device,
                v4,
                is_shared: true,
                packets: 10 + 1000 * s,
                bytes: 2000 + 1_080_000 * s,
                has_router: true,
                vain: match device == WLAN && v4 == silent_v4 {
                    true => vec![Vain {
                        local,
                        server,
                        timeouts: s as u32,
                    }],
                    false => vec![],
                },
                ..Seen::default()
            };
            let ways = [(WLAN, true), (WLAN, false), (WWAN, true), (WWAN, false)];
            let mut all = ways.map(seen);
            divide(&mut all, |_| Some(received));
            found.extend(paths.observe(Nanos::from_secs(10 + s), &all).news);
        }
        assert_eq!(found, [((WLAN, silent_v4), News::Mute(Why::Quiet))]);
    }
}
