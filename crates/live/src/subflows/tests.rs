use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};

use joulepath_kernel::mptcp::diag::{Connection, Listing, TcpSocket};
use joulepath_kernel::mptcp::info::{ByteCounters, ConnectionInfo};
use joulepath_kernel::mptcp::path_manager::{Ends, Event, Local, SubflowEvent};
use joulepath_kernel::mptcp::{AddressId, MAX_SUBFLOWS, TcpState, Token};
use joulepath_kernel::route::Flow;
use joulepath_kernel::{Error, Result};
use joulepath_model::live::{Intent, OpenAfter};
use joulepath_model::scenario::read_live;
use joulepath_model::units::{Bytes, Nanos};

use super::group::Group;
use super::known::Known;
use super::rules::Rules;
use super::steering::{Commands, Ground, Steering};
use crate::decide::{Decision, Role, Told, Wanted};
use crate::reason::Reason;
use crate::samples::{connection_info, seen};

const S: fn(u64) -> Nanos = Nanos::from_secs;
const SERVER: &str = "203.0.113.1:443";
/// Interface indexes; their addresses end with them.
const WLAN: u8 = 2;
const WWAN: u8 = 3;

fn address(interface: u8) -> IpAddr {
    [198, 18, 0, interface].into()
}

fn ends(interface: u8, port: u16) -> Ends {
    Ends {
        local: (address(interface), port).into(),
        remote: SERVER.parse().unwrap(),
    }
}

fn subflow(token: u32, (interface, port): (u8, u16), backup: bool) -> TcpSocket {
    let mut socket = crate::samples::subflow(token, address(interface), port);
    socket
        .membership
        .iter_mut()
        .for_each(|member| member.backup_locally = backup);
    socket
}

/// A connection that has carried `carried` bytes, with subflows (interface, port, backup). Port
/// 1000 marks the initial subflow.
fn connection(token: u32, carried: u64, subflows: &[(u8, u16, bool)]) -> Connection {
    let counters = ByteCounters {
        sent: 0,
        received: carried,
        acked: 0,
        reinjected: 0,
        timeouts: 0,
    };
    let info = ConnectionInfo {
        counters: Some(counters),
        ..connection_info(token)
    };
    let first = ends(subflows.first().map_or(WLAN, |one| one.0), 1000);
    Connection {
        local: first.local,
        remote: first.remote,
        state: TcpState::Established,
        uid: 0,
        inode: 0,
        cgroup: None,
        mark: 0,
        memory: None,
        info,
        subflows: subflows
            .iter()
            .map(|one| subflow(token, (one.0, one.1), one.2))
            .collect(),
    }
}

fn listing(connections: &[Connection]) -> Listing {
    Listing {
        connections: connections.to_vec(),
        ..Listing::default()
    }
}

fn place(interface: u8, role: Role) -> Wanted {
    let backup = role == Role::Backup;
    let (signal, fullmesh, renew) = (false, false, false);
    Wanted {
        address: address(interface),
        interface: interface.into(),
        backup,
        signal,
        fullmesh,
        renew,
        laminar: false,
    }
}

/// Roles of both interfaces; a second subflow after 1 MB or 3 s.
fn group(wlan: Role, wwan: Role) -> Group {
    let all = [(WLAN, wlan), (WWAN, wwan)];
    let used = all.iter().filter(|(_, role)| *role != Role::Unused);
    Group {
        places: Some(
            used.map(|&(interface, role)| place(interface, role))
                .collect(),
        ),
        roles: all
            .iter()
            .map(|&(interface, role)| (interface.into(), role))
            .collect(),
        rescue: vec![],
        bypassed: vec![],
        forbidden: vec![],
        after: Some(OpenAfter {
            bytes: Bytes(1_000_000),
            age: S(3),
        }),
    }
}

/// A kernel that records commands and refuses some.
#[derive(Debug, Default)]
struct Fake {
    done: Vec<String>,
    /// Errors of the next `open` commands.
    refuses: Vec<i32>,
    /// Connections of the kernel's own path manager.
    of_kernel: Vec<Token>,
    /// Devices of routes, by destination.
    routes: BTreeMap<IpAddr, u32>,
}

impl Commands for &mut Fake {
    fn is_steerable(&mut self, token: Token) -> Result<Option<bool>> {
        Ok(Some(!self.of_kernel.contains(&token)))
    }

    fn device(&mut self, flow: &Flow) -> Result<Option<u32>> {
        Ok(self.routes.get(&flow.destination).copied())
    }

    fn open(&mut self, token: Token, local: &Local, remote: SocketAddr) -> Result<()> {
        if let Some(errno) = self.refuses.pop() {
            return Err(Error::io("opening", io::Error::from_raw_os_error(errno)));
        }
        let kind = if local.backup { "backup" } else { "regular" };
        self.done.push(format!(
            "{} open {}>{remote} {kind}",
            token.0, local.address
        ));
        Ok(())
    }

    fn close(&mut self, token: Token, ends: Ends) -> Result<()> {
        self.done.push(format!("{} close {}", token.0, ends.local));
        Ok(())
    }

    fn set_backup(&mut self, token: Token, ends: Ends, backup: bool) -> Result<()> {
        self.done
            .push(format!("{} backup {} {backup}", token.0, ends.local));
        Ok(())
    }

    fn announce(&mut self, token: Token, local: &Local) -> Result<()> {
        self.done
            .push(format!("{} announce {}", token.0, local.address));
        Ok(())
    }

    fn withdraw(&mut self, token: Token, id: AddressId) -> Result<()> {
        self.done.push(format!("{} withdraw {id}", token.0));
        Ok(())
    }
}

fn ground(group: Group) -> Ground {
    let owners = [WLAN, WWAN].map(|interface| (address(interface), interface.into()));
    let names = [
        (WLAN.into(), "wlan0".to_owned()),
        (WWAN.into(), "wwan0".to_owned()),
    ];
    Ground {
        groups: vec![group],
        owners: owners.into(),
        names: names.into(),
        routes_by_owner: false,
    }
}

/// Polls at the given instants. Returns the commands of each poll.
fn lives(kernel: &mut Fake, looks: &[(Nanos, Group, Vec<Connection>)]) -> Vec<Vec<String>> {
    let (mut steering, mut rules) = (Steering::new(&mut *kernel), Rules::default());
    let mut all = vec![];
    for (now, group, connections) in looks {
        let before = steering.commands_mut().done.len();
        steering
            .look(
                *now,
                Some(&listing(connections)),
                &mut rules,
                ground(group.clone()),
            )
            .unwrap();
        all.push(steering.commands_mut().done[before..].to_vec());
    }
    all
}

const NOTHING: [&str; 0] = [];

#[test]
fn a_connection_gets_its_second_subflow_by_size_or_age() {
    let both = group(Role::Regular, Role::Regular);
    let first = [(WLAN, 1000, false)];
    let at = |s: u64, all: &[(u32, u64)]| {
        let all = all
            .iter()
            .map(|&(token, carried)| connection(token, carried, &first))
            .collect();
        (S(s), both.clone(), all)
    };
    let mut kernel = Fake::default();
    // Connection 1 is older than the daemon; 2 starts at 10 s and is large at 11 s; 3 starts at 11
    // s and grows old.
    let done = lives(
        &mut kernel,
        &[
            at(9, &[(1, 5)]),
            at(10, &[(1, 5), (2, 999_999)]),
            at(11, &[(1, 5), (2, 1_000_000), (3, 10)]),
            at(13, &[(1, 5), (2, 1_000_000), (3, 20)]),
            at(14, &[(1, 5), (2, 1_000_000), (3, 30)]),
        ],
    );
    assert_eq!(done[0], ["1 open 198.18.0.3>203.0.113.1:443 regular"]);
    assert_eq!(done[1], NOTHING);
    assert_eq!(done[2], ["2 open 198.18.0.3>203.0.113.1:443 regular"]);
    assert_eq!(done[3], NOTHING);
    // The first attempt for 1 failed and is repeated after 5 s.
    assert_eq!(
        done[4],
        [
            "1 open 198.18.0.3>203.0.113.1:443 regular",
            "3 open 198.18.0.3>203.0.113.1:443 regular"
        ]
    );
}

#[test]
fn a_subflow_without_its_address_is_withdrawn_and_closed_unless_it_is_the_last() {
    const GONE: u8 = 9;
    let both = group(Role::Regular, Role::Regular);
    let whole = [(WLAN, 1000, false), (WWAN, 2000, false)];
    let looks = [
        (
            S(0),
            both.clone(),
            vec![connection(
                1,
                0,
                &[(WLAN, 1000, false), (GONE, 2000, false)],
            )],
        ),
        // The address of an initial subflow has id 0.
        (
            S(1),
            both.clone(),
            vec![connection(
                2,
                0,
                &[(GONE, 1000, false), (WWAN, 2000, false)],
            )],
        ),
        (S(2), both.clone(), vec![connection(3, 0, &whole)]),
    ];
    let mut kernel = Fake::default();
    let done = lives(&mut kernel, &looks);
    let closes = |done: &[String]| -> Vec<String> {
        done.iter()
            .filter(|one| !one.contains("open"))
            .cloned()
            .collect()
    };
    assert_eq!(
        closes(&done[0]),
        ["1 withdraw 77", "1 close 198.18.0.9:2000"]
    );
    assert_eq!(
        closes(&done[1]),
        ["2 withdraw 0", "2 close 198.18.0.9:1000"]
    );
    assert_eq!(closes(&done[2]), NOTHING);
    // The last working subflow stays until another one works: its address may return.
    let mut waits = connection(4, 0, &[(GONE, 1000, false), (WWAN, 2000, false)]);
    waits.subflows[1].state = TcpState::SynSent;
    assert_eq!(
        closes(&lives(&mut kernel, &[(S(3), both, vec![waits])])[0]),
        NOTHING
    );
}

#[test]
fn a_lost_subflow_is_reopened_on_its_own_pair_at_growing_intervals() {
    let with_backup = group(Role::Regular, Role::Backup);
    let whole = [(WLAN, 1000, false), (WWAN, 2000, true)];
    let mut looks = vec![(
        S(0),
        with_backup.clone(),
        vec![connection(1, 0, &whole), connection(2, 0, &whole)],
    )];
    // Connection 1 loses it for good at 1 s.
    for s in 1..100 {
        let lost = connection(1, 0, &whole[..1]);
        looks.push((
            S(s),
            with_backup.clone(),
            vec![lost, connection(2, 0, &whole)],
        ));
    }
    let done = lives(&mut Fake::default(), &looks);
    let at: Vec<usize> = (0..100).filter(|&s| !done[s].is_empty()).collect();
    // At once, then 5, 10, 20, 40 s after the last attempt.
    assert_eq!(at, [1, 6, 16, 36, 76]);
    assert_eq!(done[6], ["1 open 198.18.0.3>203.0.113.1:443 backup"]);
}

/// WiFi is down, and LTE must not open yet.
#[test]
fn a_connection_whose_data_may_wait_gets_the_other_path_only_without_any_subflow() {
    let mut waits = group(Role::Unused, Role::Unused);
    waits.rescue = vec![place(WWAN, Role::Regular)];
    let stalled = |token| {
        let mut one = connection(token, 0, &[(WLAN, 1000, false)]);
        one.subflows[0].state = TcpState::SynSent;
        one
    };
    let mut lost = connection(2, 0, &[(WLAN, 1000, false)]);
    let mut kernel = Fake::default();
    let before = (
        S(0),
        group(Role::Regular, Role::Unused),
        vec![connection(1, 0, &[(WLAN, 1000, false)]), lost.clone()],
    );
    lost.subflows.clear();
    let done = lives(
        &mut kernel,
        &[before, (S(1), waits, vec![stalled(1), lost])],
    );
    assert_eq!(done[1], ["2 open 198.18.0.3>203.0.113.1:443 regular"]);
}

/// As Linux 6.12.90 reports a connection with one subflow after a subflow that it could not open.
#[test]
fn a_kernel_that_miscounts_subflows_is_reported_with_the_repaired_versions() {
    let mut kernel = Fake::default();
    let (mut steering, mut rules) = (Steering::new(&mut kernel), Rules::default());
    let mut warning = |extra_subflows: u8| {
        let mut one = connection(1, 0, &[(WLAN, 1000, false)]);
        one.info.extra_subflows = extra_subflows;
        let ground = ground(group(Role::Regular, Role::Unused));
        steering
            .look(S(1), Some(&listing(&[one])), &mut rules, ground)
            .unwrap();
        steering.warning()
    };
    assert_eq!(warning(0), None);
    let said = warning(255).unwrap();
    assert!(
        said.contains("255 for one of 1 connections") && said.contains("6.12.94"),
        "{said}"
    );
    assert_eq!(warning(1), None);
}

#[test]
fn a_backup_is_renewed_only_while_another_subflow_carries_data() {
    let mut renewed = group(Role::Regular, Role::Backup);
    renewed.places.as_mut().unwrap()[1].renew = true;
    let whole = connection(1, 0, &[(WLAN, 1000, false), (WWAN, 2000, true)]);
    let mut waits = whole.clone();
    waits.subflows[0].state = TcpState::SynSent;
    let done = lives(
        &mut Fake::default(),
        &[(S(1), renewed.clone(), vec![waits])],
    );
    assert_eq!(done[0], NOTHING);
    let done = lives(&mut Fake::default(), &[(S(1), renewed, vec![whole])]);
    assert_eq!(
        done[0],
        [
            "1 close 198.18.0.3:2000",
            "1 open 198.18.0.3>203.0.113.1:443 backup"
        ]
    );
}

#[test]
fn a_subflow_that_is_established_keeps_its_priority() {
    let first = ends(WLAN, 1000);
    let mut known = Known::new(first.local, first.remote, None);
    known.observe(&connection(
        1,
        0,
        &[(WLAN, 1000, false), (WWAN, 2000, true)],
    ));
    known.established(&SubflowEvent {
        token: Token(1),
        ends: ends(WWAN, 2000),
        local_id: AddressId(77),
        remote_id: AddressId(0),
        backup_remotely: false,
        interface: None,
        failure: None,
    });
    assert_eq!(
        known
            .subflows
            .iter()
            .map(|subflow| subflow.backup)
            .collect::<Vec<_>>(),
        [false, true]
    );
}

#[test]
fn only_established_subflows_of_own_connections_are_remembered() {
    let first = ends(WLAN, 1000);
    let pairs = |connection: &Connection| {
        let mut known = Known::new(first.local, first.remote, None);
        known.observe(connection);
        known.pairs.len()
    };
    let mut one = connection(1, 0, &[(WLAN, 1000, false), (WWAN, 2000, false)]);
    assert_eq!(pairs(&one), 2);
    one.subflows[1].state = TcpState::SynSent;
    assert_eq!(pairs(&one), 1);
    let accepted =
        |socket: &mut TcpSocket| socket.membership.as_mut().unwrap().opened_locally = false;
    one.subflows.iter_mut().for_each(accepted);
    assert_eq!(pairs(&one), 0);
}

#[test]
fn a_pair_keeps_the_id_of_its_extra_subflow() {
    let first = ends(WLAN, 1000);
    let mut known = Known::new(first.local, first.remote, None);
    known.observe(&connection(
        1,
        0,
        &[(WLAN, 1000, false), (WWAN, 2000, false)],
    ));
    let id = |interface| known.pairs[&(address(interface), first.remote)].id;
    // An initial subflow has id 0, which no extra subflow may have.
    assert_eq!([WLAN, WWAN].map(id), [None, Some(AddressId(77))]);
}

#[test]
fn a_connection_leaves_a_forbidden_interface_only_when_another_subflow_works() {
    let cheap = group(Role::Regular, Role::Unused);
    let begun = connection(1, 0, &[(WWAN, 1000, false)]);
    let moved = connection(1, 0, &[(WWAN, 1000, false), (WLAN, 2000, false)]);
    let done = lives(
        &mut Fake::default(),
        &[
            (S(0), cheap.clone(), vec![]),
            (S(1), cheap.clone(), vec![begun.clone()]),
            (S(2), cheap.clone(), vec![begun.clone()]),
            (S(3), cheap.clone(), vec![moved]),
        ],
    );
    assert_eq!(done[1], ["1 open 198.18.0.2>203.0.113.1:443 regular"]);
    assert_eq!(
        done[2..],
        [vec![], vec!["1 close 198.18.0.3:1000".to_owned()]]
    );
    // Over a hard quota it is cut after 5 s in any case.
    let nowhere = Group {
        forbidden: vec![address(WWAN)],
        ..group(Role::Unused, Role::Unused)
    };
    let look = |s| (S(s), nowhere.clone(), vec![begun.clone()]);
    let done = lives(
        &mut Fake::default(),
        &[(S(0), nowhere.clone(), vec![]), look(1), look(5), look(6)],
    );
    assert_eq!(done[1..3], [NOTHING, NOTHING]);
    assert_eq!(done[3], ["1 close 198.18.0.3:1000"]);
}

#[test]
fn priorities_follow_the_roles_per_connection() {
    let whole = [(WLAN, 1000, false), (WWAN, 2000, true)];
    let look = |s, wlan, wwan| (S(s), group(wlan, wwan), vec![connection(1, 0, &whole)]);
    let (regular, backup) = (Role::Regular, Role::Backup);
    let done = lives(
        &mut Fake::default(),
        &[
            look(0, regular, backup),
            look(2, regular, regular),
            look(4, backup, backup),
        ],
    );
    assert_eq!(done[0], NOTHING);
    assert_eq!(done[1], ["1 backup 198.18.0.3:2000 false"]);
    assert_eq!(done[2], ["1 backup 198.18.0.2:1000 true"]);
}

#[test]
fn connections_of_the_kernels_path_manager_or_in_a_tunnel_are_only_counted() {
    let mut kernel = Fake {
        of_kernel: vec![Token(1)],
        ..Fake::default()
    };
    let (mut steering, mut rules) = (Steering::new(&mut kernel), Rules::default());
    let first = [(WLAN, 1000, false)];
    let all = [
        connection(1, 0, &first),
        connection(2, 0, &first),
        connection(3, 0, &[(9, 1000, false)]),
    ];
    let both = ground(group(Role::Regular, Role::Regular));
    let done = steering
        .look(S(1), Some(&listing(&all)), &mut rules, both)
        .unwrap();
    assert_eq!(
        steering.commands_mut().done,
        ["2 open 198.18.0.3>203.0.113.1:443 regular"]
    );
    assert_eq!(
        done.said,
        ["wwan0: a subflow is opened: the connection is older than the daemon"]
    );
    let status = steering.status(&rules);
    assert_eq!(
        (status.connections, status.of_kernel, status.opened),
        (2, 1, 1)
    );
}

#[test]
fn the_status_of_a_rule_has_its_own_roles_and_open_connections() {
    let text = "intent = \"aggregate\"\npm = \"userspace\"\n[[rule]]\nintent = \"off\"\nport = 443";
    let mut kernel = Fake::default();
    let (mut steering, mut rules) = (
        Steering::new(&mut kernel),
        Rules::new(&read_live(text).unwrap()),
    );
    let mut groups = ground(group(Role::Regular, Role::Regular));
    groups.groups.push(group(Role::Backup, Role::Unused));
    let all = [1, 2].map(|token| connection(token, 0, &[(WLAN, 1000, false)]));
    steering
        .look(S(1), Some(&listing(&all)), &mut rules, groups)
        .unwrap();
    let status = steering.status(&rules);
    assert_eq!((status.connections, status.rules[0].connections), (2, 2));
    let roles = [
        ("wlan0".to_owned(), Role::Backup),
        ("wwan0".to_owned(), Role::Unused),
    ];
    assert_eq!(status.rules[0].interfaces, roles.into());
    steering
        .hear(S(2), &[Event::Closed { token: Token(1) }], &rules)
        .unwrap();
    let status = steering.status(&rules);
    assert_eq!((status.connections, status.rules[0].connections), (1, 1));
}

#[test]
fn a_group_has_roles_of_allowed_interfaces_and_forbids_those_over_a_hard_quota() {
    let quota = "[[interface]]\nname = \"wwan0\"\nquota = { hard = \"1 MB\" }";
    let config = read_live(&format!("intent = \"handover\"\n{quota}")).unwrap();
    let told = |name: &str, role: Role, allowed: bool| {
        let (name, reason, wanted) = (name.into(), Reason::OnlyPath, role);
        Told {
            name,
            intent: Intent::Interactive,
            role,
            wanted,
            reason,
            notes: vec![],
            allowed,
        }
    };
    let mut decision = Decision {
        interfaces: vec![
            told("wlan0", Role::Regular, true),
            told("wwan0", Role::Unused, true),
            told("tun0", Role::Unused, false),
        ],
        intent: Some(Intent::Interactive),
        ..Decision::default()
    };
    let mut all = [seen(2, "wlan0"), seen(3, "wwan0"), seen(4, "tun0")];
    all[1].used = Some(Bytes(999_999));
    let group = Group::of(&config, &decision, &all);
    assert!(group.is_left_alone() && group.forbidden.is_empty());
    assert_eq!(
        group.roles().collect::<Vec<_>>(),
        [(2, Role::Regular), (3, Role::Unused)]
    );
    // The intent in force has its own limits, not those of the file: 100 kB and 1 s.
    assert_eq!(
        group.after,
        Some(OpenAfter {
            bytes: Bytes(100_000),
            age: S(1)
        })
    );
    all[1].used = Some(Bytes(1_000_000));
    decision.endpoints = Some(vec![]);
    let group = Group::of(&config, &decision, &all);
    assert!(!group.is_left_alone());
    assert_eq!(group.forbidden, all[1].addresses);
}

#[test]
fn an_early_refusal_is_retried_soon_and_others_with_another_address_id() {
    const ENOTCONN: i32 = 107;
    const EINVAL: i32 = 22;
    let mut kernel = Fake {
        refuses: vec![EINVAL, ENOTCONN],
        ..Fake::default()
    };
    let (mut steering, mut rules) = (Steering::new(&mut kernel), Rules::default());
    let all = [connection(1, 0, &[(WLAN, 1000, false)])];
    let mut look = |now: Nanos| {
        let both = ground(group(Role::Regular, Role::Regular));
        steering
            .look(now, Some(&listing(&all)), &mut rules, both)
            .unwrap()
    };
    assert_eq!(look(S(1)).said, Vec::<String>::new());
    assert_eq!(
        look(Nanos::from_millis(1050)).again,
        Some(Nanos::from_millis(1100))
    );
    let said = look(Nanos::from_millis(1100)).said;
    assert!(said[0].starts_with("wwan0: opening: "), "{said:?}");
    assert_eq!(
        look(Nanos::from_millis(1200)).again,
        Some(Nanos::from_millis(6100))
    );
    look(Nanos::from_millis(6100));
    assert_eq!(
        (
            steering.commands_mut().done.len(),
            steering.status(&rules).refused
        ),
        (1, 1)
    );
}

#[test]
fn events_are_handled_at_once_unless_rules_may_match() {
    let told = |ends: Ends| SubflowEvent {
        token: Token(1),
        ends,
        local_id: AddressId(77),
        remote_id: AddressId(0),
        backup_remotely: false,
        interface: None,
        failure: None,
    };
    let begun = Event::Established {
        token: Token(1),
        ends: ends(WWAN, 1000),
        server: false,
    };
    let joined = Event::SubflowEstablished(told(ends(WLAN, 2000)));
    let lost = Event::SubflowClosed(told(ends(WLAN, 2000)));
    let run = |rules: &mut Rules| {
        let mut kernel = Fake::default();
        let mut steering = Steering::new(&mut kernel);
        let cheap = ground(group(Role::Regular, Role::Unused));
        steering
            .look(S(1), Some(&listing(&[])), rules, cheap)
            .unwrap();
        for (now, event) in [(2, &begun), (3, &joined), (4, &lost), (20, &lost)] {
            steering
                .hear(S(now), std::slice::from_ref(event), rules)
                .unwrap();
        }
        kernel.done
    };
    let open = "1 open 198.18.0.2>203.0.113.1:443 regular".to_owned();
    let close = "1 close 198.18.0.3:1000".to_owned();
    // The lost cheap subflow is reopened 5 s after the first attempt, not earlier.
    assert_eq!(run(&mut Rules::default()), [open.clone(), close, open]);
    let ruled =
        read_live("intent = \"off\"\npm = \"userspace\"\n[[rule]]\nintent = \"off\"\nport = 1")
            .unwrap();
    assert_eq!(run(&mut Rules::new(&ruled)), NOTHING);
}

#[test]
fn a_poll_without_a_listing_acts_on_events_and_an_opened_subflow_requests_a_listing() {
    let mut kernel = Fake::default();
    let (mut steering, mut rules) = (Steering::new(&mut kernel), Rules::default());
    let cheap = |wlan, wwan| ground(group(wlan, wwan));
    steering
        .look(
            S(1),
            Some(&listing(&[])),
            &mut rules,
            cheap(Role::Regular, Role::Regular),
        )
        .unwrap();
    let begun = Event::Established {
        token: Token(1),
        ends: ends(WLAN, 1000),
        server: false,
    };
    steering.hear(S(2), &[begun], &rules).unwrap();
    assert!(!steering.needs_listing());
    // It grows old without being listed.
    steering
        .look(S(30), None, &mut rules, cheap(Role::Regular, Role::Regular))
        .unwrap();
    assert!(steering.needs_listing());
    let both = [connection(
        1,
        0,
        &[(WLAN, 1000, false), (WWAN, 2000, false)],
    )];
    let seen = listing(&both);
    steering
        .look(
            S(32),
            Some(&seen),
            &mut rules,
            cheap(Role::Regular, Role::Regular),
        )
        .unwrap();
    assert!(!steering.needs_listing());
    steering
        .look(S(34), None, &mut rules, cheap(Role::Regular, Role::Backup))
        .unwrap();
    let done = steering.commands_mut().done.clone();
    assert_eq!(
        done,
        [
            "1 open 198.18.0.3>203.0.113.1:443 regular",
            "1 backup 198.18.0.3:2000 true"
        ]
    );
    steering.regroup();
    assert!(steering.needs_listing());
}

#[test]
fn a_server_announces_addresses_and_opens_no_subflows() {
    let mut accepted = connection(1, 5_000_000, &[(WLAN, 1000, false)]);
    accepted.subflows[0]
        .membership
        .as_mut()
        .unwrap()
        .opened_locally = false;
    let mut both = group(Role::Regular, Role::Regular);
    both.places.as_mut().unwrap()[1].signal = true;
    let look = |s| (S(s), both.clone(), vec![accepted.clone()]);
    let done = lives(&mut Fake::default(), &[look(1), look(2)]);
    assert_eq!(done, [vec!["1 announce 198.18.0.3".to_owned()], vec![]]);
}

#[test]
fn fullmesh_opens_subflows_to_announced_addresses() {
    let mut kernel = Fake::default();
    let (mut steering, mut rules) = (Steering::new(&mut kernel), Rules::default());
    let mut mesh = group(Role::Regular, Role::Unused);
    mesh.places.as_mut().unwrap()[0].fullmesh = true;
    let all = [connection(1, 0, &[(WLAN, 1000, false)])];
    steering
        .look(S(1), Some(&listing(&all)), &mut rules, ground(mesh))
        .unwrap();
    let remote = "203.0.113.9:0".parse().unwrap();
    let offer = Event::Announced {
        token: Token(1),
        id: AddressId(4),
        remote,
    };
    steering.hear(S(2), &[offer], &rules).unwrap();
    assert_eq!(kernel.done, ["1 open 198.18.0.2>203.0.113.9:443 regular"]);
}

#[test]
fn an_interface_of_the_other_family_uses_an_announced_address_unless_the_socket_has_one_family() {
    for refused in [false, true] {
        let mut kernel = Fake {
            refuses: if refused { vec![22] } else { vec![] },
            ..Fake::default()
        };
        let (mut steering, mut rules) = (Steering::new(&mut kernel), Rules::default());
        let mut both = group(Role::Regular, Role::Regular);
        both.after = None;
        let v6: IpAddr = "2001:db8::3".parse().unwrap();
        both.places.as_mut().unwrap()[1].address = v6;
        let mut ground = ground(both);
        ground.owners.insert(v6, WWAN.into());
        let all = [connection(1, 0, &[(WLAN, 1000, false)])];
        steering
            .look(S(1), Some(&listing(&all)), &mut rules, ground.clone())
            .unwrap();
        for (id, remote) in [(4, "[2001:db8::9]:0"), (5, "[2001:db8::8]:0")] {
            let remote = remote.parse().unwrap();
            let offer = Event::Announced {
                token: Token(1),
                id: AddressId(id),
                remote,
            };
            steering.hear(S(2), &[offer], &rules).unwrap();
        }
        steering
            .look(S(2000), Some(&listing(&all)), &mut rules, ground)
            .unwrap();
        let opened = "1 open 2001:db8::3>[2001:db8::9]:443 regular";
        let expected = if refused {
            vec![]
        } else {
            vec![opened, opened]
        };
        assert_eq!(kernel.done, expected, "{refused}");
    }
}

#[test]
fn a_connection_has_at_most_eight_subflows() {
    let mut kernel = Fake::default();
    let (mut steering, mut rules) = (Steering::new(&mut kernel), Rules::default());
    let mut mesh = group(Role::Regular, Role::Unused);
    let all = [connection(1, 0, &[(WLAN, 1000, false)])];
    steering
        .look(S(1), Some(&listing(&all)), &mut rules, ground(mesh.clone()))
        .unwrap();
    for id in 1..=2 * MAX_SUBFLOWS as u8 {
        let offer = Event::Announced {
            token: Token(1),
            id: AddressId(id),
            remote: ([203, 0, 113, id], 443).into(),
        };
        steering.hear(S(2), &[offer], &rules).unwrap();
    }
    mesh.places.as_mut().unwrap()[0].fullmesh = true;
    steering
        .look(S(3), Some(&listing(&all)), &mut rules, ground(mesh))
        .unwrap();
    assert_eq!(kernel.done.len(), MAX_SUBFLOWS - 1, "{:?}", kernel.done);
}

#[test]
fn a_connection_that_is_routed_into_another_device_is_left_alone_whatever_its_address() {
    const TUN: u32 = 77;
    let both = group(Role::Regular, Role::Regular);
    let large = [connection(1, 2_000_000, &[(WLAN, 1000, false)])];
    let routes = || [(large[0].remote.ip(), TUN)].into();
    let mut kernel = Fake {
        routes: routes(),
        ..Fake::default()
    };
    let looks = [
        (S(1), both.clone(), large.to_vec()),
        (S(2), both.clone(), large.to_vec()),
    ];
    assert_eq!(lives(&mut kernel, &looks), [NOTHING; 2]);
    // The configuration permits subflows beside the device.
    let permitted = Group {
        bypassed: vec![TUN],
        ..both
    };
    let mut kernel = Fake {
        routes: routes(),
        ..Fake::default()
    };
    assert_eq!(
        lives(&mut kernel, &[(S(1), permitted, large.to_vec())])[0].len(),
        1
    );
}
