//! The path manager: endpoints, limits, flags, user-space subflows, events.

use std::io::{Read, Write};
use std::net::{IpAddr, TcpStream};
use std::time::{Duration, Instant};

use joulepath_kernel::error::{Error, Result};
use joulepath_kernel::mptcp::info::full_info;
use joulepath_kernel::mptcp::path_manager::{
    Endpoint, Ends, Event, Events, Limits, Local, PathManager, SubflowEvent,
};
use joulepath_kernel::mptcp::socket::{Options, Protocol, accept_within, connect_within, listen};
use joulepath_kernel::mptcp::{AddressId, Token};
use joulepath_kernel::{Namespace, mptcp};

use joulepath_testbed::net::Net;

const PATIENCE: Duration = Duration::from_secs(20);
const PORT: u16 = 5001;

fn manager(namespace: &Namespace) -> PathManager {
    namespace.enter_thread(PathManager::open).unwrap().unwrap()
}

/// A connection whose client writes in its own thread until the connection ends, and whose server
/// reads.
struct Flow {
    client: TcpStream,
    token: Token,
    _listener: std::os::fd::OwnedFd,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Flow {
    fn start(net: &Net) -> Self {
        let reno = Options {
            congestion: Some("reno".into()),
            ..Options::default()
        };
        let (from, to) = (net.client_at(0), net.server_at(PORT));
        let listener = net
            .server
            .enter_thread(|| listen(Protocol::Mptcp, to, &reno, 4))
            .unwrap()
            .unwrap();
        let connect = || connect_within(Protocol::Mptcp, from, to, &reno, PATIENCE);
        let client = TcpStream::from(net.client.enter_thread(connect).unwrap().unwrap());
        let server = TcpStream::from(accept_within(&listener, PATIENCE).unwrap().0);
        for stream in [&client, &server] {
            stream.set_nonblocking(false).unwrap();
        }
        let token = mptcp::info::connection_info(&client)
            .unwrap()
            .unwrap()
            .token;
        let (mut writer, mut reader) = (client.try_clone().unwrap(), server);
        // Bursts larger than one subflow can take at once, and pauses that leave the processors to
        // others.
        let write = move || {
            while writer.write_all(&[1; 1 << 18]).is_ok() {
                std::thread::sleep(Duration::from_millis(5));
            }
        };
        let read = move || {
            let mut buffer = [0; 1 << 16];
            while matches!(reader.read(&mut buffer), Ok(1..)) {}
        };
        Flow {
            client,
            token,
            _listener: listener,
            threads: vec![std::thread::spawn(write), std::thread::spawn(read)],
        }
    }

    /// Payload sent from an address, bytes.
    fn sent_from(&self, ip: IpAddr) -> u64 {
        let info = full_info(&self.client).unwrap();
        info.subflows
            .iter()
            .filter(|s| s.local.ip() == ip)
            .map(|s| s.tcp.sent_bytes)
            .sum()
    }

    /// Shares of the payload per path within half a second, once `settled` holds; the last
    /// measurement if it never does.
    fn shares(&self, net: &Net, settled: impl Fn(&[f64]) -> bool) -> Vec<f64> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let before: Vec<u64> = net
                .paths
                .iter()
                .map(|path| self.sent_from(path.ip))
                .collect();
            std::thread::sleep(Duration::from_millis(500));
            let bytes = net
                .paths
                .iter()
                .zip(before)
                .map(|(path, before)| (self.sent_from(path.ip) - before) as f64);
            let bytes: Vec<f64> = bytes.collect();
            let total: f64 = bytes.iter().sum();
            let shares: Vec<f64> = bytes.iter().map(|bytes| bytes / total.max(1.0)).collect();
            if settled(&shares) || Instant::now() > deadline {
                return shares;
            }
        }
    }
}

impl Drop for Flow {
    fn drop(&mut self) {
        let _ = self.client.shutdown(std::net::Shutdown::Both);
        for thread in self.threads.drain(..) {
            thread.join().unwrap();
        }
    }
}

fn subflow_established(events: &mut Events, from: IpAddr) -> Option<SubflowEvent> {
    let wanted = |event: &Event| match event {
        Event::SubflowEstablished(subflow) if subflow.ends.local.ip() == from => {
            Some(subflow.clone())
        }
        _ => None,
    };
    events.find_within(PATIENCE, wanted).unwrap()
}

#[test(needs(NET))]
fn endpoints_and_limits_are_listed_as_they_were_set() {
    let namespace = Namespace::new().unwrap();
    let mut manager = manager(&namespace);
    let limits = Limits {
        accepted_addresses: 3,
        extra_subflows: 5,
    };
    manager.set_limits(limits).unwrap();
    assert_eq!(manager.limits().unwrap(), limits);
    let first = Endpoint {
        id: Some(AddressId(7)),
        ..Endpoint::subflow("198.18.0.1".parse().unwrap(), 1)
    };
    let second = Endpoint {
        id: Some(AddressId(9)),
        backup: true,
        ..Endpoint::subflow("fd00::1".parse().unwrap(), 1)
    };
    let third = Endpoint {
        id: Some(AddressId(11)),
        subflow: false,
        signal: true,
        interface: None,
        ..Endpoint::subflow("198.18.0.2".parse().unwrap(), 1)
    };
    for endpoint in [&first, &second, &third] {
        manager.add(endpoint).unwrap();
    }
    assert_eq!(
        manager.endpoints().unwrap(),
        [first.clone(), second.clone(), third.clone()]
    );
    manager.set_endpoint_backup(AddressId(7), true).unwrap();
    manager.set_endpoint_backup(AddressId(9), false).unwrap();
    manager.delete(AddressId(11)).unwrap();
    let changed = [
        Endpoint {
            backup: true,
            ..first
        },
        Endpoint {
            backup: false,
            ..second
        },
    ];
    assert_eq!(manager.endpoints().unwrap(), changed);
    manager.flush().unwrap();
    assert_eq!(manager.endpoints().unwrap(), []);
}

#[test(needs(NET))]
fn a_refusal_has_the_kernels_explanation() {
    let mut manager = manager(&Namespace::new().unwrap());
    let endpoint = Endpoint::subflow("198.18.0.1".parse().unwrap(), 1);
    manager.add(&endpoint).unwrap();
    let error = manager.add(&endpoint).unwrap_err();
    assert!(error.to_string().contains("198.18.0.1"), "{error}");
    let error = manager
        .set_limits(Limits {
            accepted_addresses: 0,
            extra_subflows: 9,
        })
        .unwrap_err();
    // The kernel's explanation is in the parentheses.
    assert!(error.to_string().contains('('), "{error}");
    assert!(manager.delete(AddressId(200)).is_err());
    let nobody = Ends {
        local: "198.18.0.1:1".parse().unwrap(),
        remote: "198.18.0.2:2".parse().unwrap(),
    };
    assert!(matches!(
        manager.destroy_subflow(Token(1), nobody),
        Err(Error::Io { .. })
    ));
}

#[test(needs(NET))]
fn a_backup_carries_nothing_until_it_is_regular() {
    let net = Net::v4(2);
    let limits = Limits {
        accepted_addresses: 0,
        extra_subflows: 1,
    };
    manager(&net.server).set_limits(limits).unwrap();
    let mut client = manager(&net.client);
    client.set_limits(limits).unwrap();
    let mut events = client.enter_events(&net.client);
    let path = net.paths[1];
    client
        .add(&Endpoint {
            id: Some(AddressId(5)),
            backup: true,
            ..Endpoint::subflow(path.ip, path.device)
        })
        .unwrap();
    let flow = Flow::start(&net);
    let joined = subflow_established(&mut events, path.ip).expect("the second path joins");
    assert_eq!(
        (joined.token, joined.local_id, joined.interface),
        (flow.token, AddressId(5), Some(path.device))
    );
    let asleep = |shares: &[f64]| shares[1] == 0.0;
    let shares = flow.shares(&net, asleep);
    assert!(asleep(&shares), "a backup carries {shares:?}");
    client.set_endpoint_backup(AddressId(5), false).unwrap();
    let awake = |shares: &[f64]| shares[1] > 0.02;
    let shares = flow.shares(&net, awake);
    assert!(awake(&shares), "a regular subflow carries {shares:?}");
    let priority = |event: &Event| match event {
        Event::SubflowPriority(subflow) => Some(subflow.backup_remotely),
        _ => None,
    };
    // The peer gets the event, through MP_PRIO.
    let mut told = manager(&net.server).enter_events(&net.server);
    client.set_endpoint_backup(AddressId(5), true).unwrap();
    assert_eq!(told.find_within(PATIENCE, priority).unwrap(), Some(true));
    let shares = flow.shares(&net, asleep);
    assert!(asleep(&shares), "a backup carries {shares:?}");
}

/// Subscribes to events from inside a namespace.
trait EnterEvents {
    fn enter_events(&self, namespace: &Namespace) -> Events;
}

impl EnterEvents for PathManager {
    fn enter_events(&self, namespace: &Namespace) -> Events {
        let open = || -> Result<Events> { PathManager::open()?.events() };
        namespace.enter_thread(open).unwrap().unwrap()
    }
}

#[test(needs(NET))]
fn user_space_creates_demotes_and_destroys_a_subflow() {
    let net = Net::v4(3);
    net.client.set_sysctl("net.mptcp.pm_type", "1").unwrap();
    manager(&net.server)
        .set_limits(Limits {
            accepted_addresses: 0,
            extra_subflows: 2,
        })
        .unwrap();
    let mut client = manager(&net.client);
    let mut events = client.enter_events(&net.client);
    let flow = Flow::start(&net);
    let established = |event: &Event| match event {
        Event::Established { token, server, .. } => Some((*token, *server)),
        _ => None,
    };
    // New kernels omit the attribute, old ones set it to 0: either way this is the client.
    assert_eq!(
        events.find_within(PATIENCE, established).unwrap(),
        Some((flow.token, false))
    );
    let path = net.paths[2];
    let local = Local {
        address: path.ip,
        id: Some(AddressId(3)),
        interface: Some(path.device),
        ..Local::default()
    };
    client
        .create_subflow(flow.token, &local, net.server_at(PORT))
        .unwrap();
    let joined = subflow_established(&mut events, path.ip).expect("the third path joins");
    assert_eq!(
        (joined.local_id, joined.interface),
        (AddressId(3), Some(path.device))
    );
    let used = |shares: &[f64]| shares[2] > 0.02;
    let shares = flow.shares(&net, used);
    assert!(used(&shares), "the new subflow carries {shares:?}");
    client
        .set_subflow_backup(flow.token, joined.ends, true)
        .unwrap();
    let unused = |shares: &[f64]| shares[2] == 0.0;
    let shares = flow.shares(&net, unused);
    assert!(unused(&shares), "a backup carries {shares:?}");
    client.destroy_subflow(flow.token, joined.ends).unwrap();
    let closed = |event: &Event| match event {
        Event::SubflowClosed(subflow) => Some(subflow.ends),
        _ => None,
    };
    assert_eq!(
        events.find_within(PATIENCE, closed).unwrap(),
        Some(joined.ends)
    );
    assert_eq!(full_info(&flow.client).unwrap().subflows.len(), 1);
}

#[test(needs(NET))]
fn user_space_creates_a_subflow_as_backup() {
    let net = Net::v4(2);
    net.client.set_sysctl("net.mptcp.pm_type", "1").unwrap();
    manager(&net.server)
        .set_limits(Limits {
            accepted_addresses: 0,
            extra_subflows: 1,
        })
        .unwrap();
    let mut client = manager(&net.client);
    let mut events = client.enter_events(&net.client);
    let mut told = manager(&net.server).enter_events(&net.server);
    let flow = Flow::start(&net);
    let path = net.paths[1];
    let established = |event: &Event| matches!(event, Event::Established { .. }).then_some(());
    events
        .find_within(PATIENCE, established)
        .unwrap()
        .expect("the connection is established");
    let local = Local {
        address: path.ip,
        id: Some(AddressId(2)),
        interface: Some(path.device),
        backup: true,
        ..Local::default()
    };
    client
        .create_subflow(flow.token, &local, net.server_at(PORT))
        .unwrap();
    let joined = |event: &Event| match event {
        Event::SubflowEstablished(subflow) if subflow.ends.remote.ip() == path.ip => {
            Some(subflow.backup_remotely)
        }
        _ => None,
    };
    assert_eq!(told.find_within(PATIENCE, joined).unwrap(), Some(true));
    let shares = flow.shares(&net, |shares| shares[1] == 0.0);
    assert_eq!(shares, [1.0, 0.0]);
}

#[test(needs(NET))]
fn the_peer_connects_to_an_announced_address() {
    let net = Net::v4(1);
    let more: IpAddr = "198.18.1.1".parse().unwrap();
    let add = || joulepath_kernel::route::Routing::open()?.add_loopback_address(more);
    net.server.enter_thread(add).unwrap().unwrap();
    net.server.set_sysctl("net.mptcp.pm_type", "1").unwrap();
    let mut client = manager(&net.client);
    client
        .set_limits(Limits {
            accepted_addresses: 1,
            extra_subflows: 1,
        })
        .unwrap();
    let mut events = client.enter_events(&net.client);
    let mut server = manager(&net.server);
    let mut server_events = server.enter_events(&net.server);
    let flow = Flow::start(&net);
    let accepted = |event: &Event| match event {
        Event::Established { token, server, .. } => Some((*token, *server)),
        _ => None,
    };
    let (token, is_server) = server_events
        .find_within(PATIENCE, accepted)
        .unwrap()
        .expect("the server accepts");
    assert!(is_server);
    let local = Local {
        address: more,
        id: Some(AddressId(4)),
        ..Local::default()
    };
    server.announce(token, &local).unwrap();
    let announced = |event: &Event| match event {
        Event::Announced { token, id, remote } => Some((*token, *id, remote.ip())),
        _ => None,
    };
    assert_eq!(
        events.find_within(PATIENCE, announced).unwrap(),
        Some((flow.token, AddressId(4), more))
    );
    server.remove(token, AddressId(4)).unwrap();
    let removed = |event: &Event| match event {
        Event::Removed { token, id } => Some((*token, *id)),
        _ => None,
    };
    assert_eq!(
        events.find_within(PATIENCE, removed).unwrap(),
        Some((flow.token, AddressId(4)))
    );
}

#[test(needs(NET))]
fn lost_events_are_replaced_by_the_state_and_further_events_follow() {
    const CONNECTIONS: usize = 40;
    let net = Net::v4(1);
    let mut events = manager(&net.client).enter_events(&net.client);
    events.set_room(1).unwrap();
    let (from, to) = (net.client_at(0), net.server_at(PORT));
    let options = Options::default();
    let listener = net
        .server
        .enter_thread(|| listen(Protocol::Mptcp, to, &options, 64))
        .unwrap()
        .unwrap();
    let connect = || connect_within(Protocol::Mptcp, from, to, &options, PATIENCE);
    let open = || {
        let client = net.client.enter_thread(connect).unwrap().unwrap();
        (client, accept_within(&listener, PATIENCE).unwrap())
    };
    let connections: Vec<_> = (0..CONNECTIONS).map(|_| open()).collect();
    let listed = |event: &Event| match event {
        Event::Resync(listing) => Some(listing.connections.len()),
        _ => None,
    };
    let listed = events.find_within(PATIENCE, listed).unwrap();
    assert_eq!(
        listed,
        Some(CONNECTIONS),
        "no events were lost, or no resync came"
    );
    let created = |event: &Event| matches!(event, Event::Created { .. }).then_some(());
    let _another = open();
    assert_eq!(events.find_within(PATIENCE, created).unwrap(), Some(()));
    drop(connections);
}
