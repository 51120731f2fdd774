//! Running controllers: what they see of their siblings, which control values they read, and what
//! they leave behind.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use joulepath_controllers::{Connection, Controller};
use joulepath_kernel::Error;
use joulepath_kernel::cc::{
    Control, ControlKey, Field, Heard, Lease, Registered, SubflowState, available,
};
use joulepath_kernel::mptcp::info::full_info;
use joulepath_kernel::mptcp::path_manager::{Endpoint, Limits, PathManager};
use joulepath_kernel::mptcp::socket::{Options, Protocol, accept_within, connect_within, listen};
use joulepath_kernel::namespace::Cookie;

use joulepath_testbed::net::Net;

/// For events that take milliseconds on an idle machine.
const PATIENCE: Duration = Duration::from_secs(120);
const PORT: u16 = 5001;
/// Bytes.
const BURST: usize = 1_000_000;

fn named(name: &str) -> Controller {
    Controller::by_name(name).unwrap()
}

/// Registers a controller under a unique name.
pub(crate) fn register(controller: &str) -> Registered {
    let name = format!("t{}_{controller}", std::process::id() % 100_000);
    Registered::new(named(controller), &Connection::new(1), &name).unwrap()
}

/// Client and server socket of a connection that uses `name` at both ends.
pub(crate) struct Pair {
    client: TcpStream,
    server: TcpStream,
}

pub(crate) struct Listener(OwnedFd);

pub(crate) fn listener(net: &Net, options: &Options) -> Listener {
    let at = net.server_at(PORT);
    Listener(
        net.server
            .enter_thread(|| listen(Protocol::Mptcp, at, options, 512))
            .unwrap()
            .unwrap(),
    )
}

impl Pair {
    pub(crate) fn client(&self) -> &TcpStream {
        &self.client
    }

    pub(crate) fn open(
        net: &Net,
        listener: &Listener,
        protocol: Protocol,
        options: &Options,
    ) -> Self {
        let (from, to) = (net.client_at(0), net.server_at(PORT));
        let client = net
            .client
            .enter_thread(|| connect_within(protocol, from, to, options, PATIENCE));
        let (server, _) = accept_within(&listener.0, PATIENCE).unwrap();
        Pair {
            client: blocking(client.unwrap().unwrap()),
            server: blocking(server),
        }
    }

    /// Sends `bytes` from the client to the server, which reads all of them.
    pub(crate) fn send(&self, bytes: usize) {
        thread::scope(|scope| {
            let mut client = &self.client;
            scope.spawn(move || client.write_all(&vec![7; bytes]).unwrap());
            let mut received = vec![0; bytes];
            (&self.server).read_exact(&mut received).unwrap();
        });
    }
}

fn blocking(socket: OwnedFd) -> TcpStream {
    let stream = TcpStream::from(socket);
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Makes every connection open a subflow on each further path.
fn join_all_paths(net: &Net) {
    let limits = Limits {
        accepted_addresses: 0,
        extra_subflows: 7,
    };
    for namespace in [&net.client, &net.server] {
        namespace
            .enter_thread(|| PathManager::open()?.set_limits(limits))
            .unwrap()
            .unwrap();
    }
    for path in &net.paths[1..] {
        let endpoint = Endpoint::subflow(path.ip, path.device);
        net.client
            .enter_thread(|| PathManager::open()?.add(&endpoint))
            .unwrap()
            .unwrap();
    }
}

pub(crate) fn using(registered: &Registered) -> Options {
    Options {
        congestion: Some(registered.name().to_owned()),
        ..Options::default()
    }
}

/// Returns the client's subflows once `right` holds. Sends data meanwhile, since a controller
/// publishes its state once per round trip: more than one subflow alone can take, and no more than
/// a slow machine carries in a moment.
fn eventually(
    pair: &Pair,
    net: &Net,
    registered: &Registered,
    right: impl Fn(&[SubflowState]) -> bool,
) -> Vec<SubflowState> {
    eventually_within(PATIENCE, pair, net, registered, right)
}

fn eventually_within(
    patience: Duration,
    pair: &Pair,
    net: &Net,
    registered: &Registered,
    right: impl Fn(&[SubflowState]) -> bool,
) -> Vec<SubflowState> {
    let deadline = Instant::now() + patience;
    let ours: BTreeSet<IpAddr> = net.paths.iter().map(|path| path.ip).collect();
    loop {
        pair.send(BURST);
        let mut subflows = registered.subflows().unwrap();
        subflows.retain(|subflow| ours.contains(&subflow.local.0));
        subflows.sort_by_key(|subflow| subflow.local.0);
        if right(&subflows) {
            return subflows;
        }
        thread::sleep(Duration::from_millis(2));
        if Instant::now() > deadline {
            explain(pair, net, &subflows);
            return subflows;
        }
    }
}

/// Opens a connection with a subflow on every path, all of which see each other, and returns their
/// states. The kernel's path manager tries each join once; if one fails, another connection is
/// opened.
fn joined(
    net: &Net,
    registered: &Registered,
    listener: &Listener,
    options: &Options,
) -> (Pair, Vec<SubflowState>) {
    const TRIES: usize = 5;
    let paths = net.paths.len();
    let all = |subflows: &[SubflowState]| {
        subflows.len() == paths
            && subflows
                .iter()
                .all(|subflow| subflow.coupled as usize == paths)
    };
    for _ in 0..TRIES {
        let pair = Pair::open(net, listener, Protocol::Mptcp, options);
        let subflows = eventually_within(PATIENCE / 6, &pair, net, registered, all);
        if all(&subflows) {
            return (pair, subflows);
        }
        joulepath_testbed::repeated("a join was lost, and the path manager tries each once");
    }
    panic!("no connection joined all {paths} paths in {TRIES} attempts");
}

/// The kernel's view of a connection, for the message of a failed test.
fn explain(pair: &Pair, net: &Net, subflows: &[SubflowState]) {
    eprintln!(
        "shown: {subflows:#?}\nMPTCP_FULL_INFO: {:#?}",
        full_info(&pair.client)
    );
    for (end, namespace) in [("client", &net.client), ("server", &net.server)] {
        for arguments in [["ss", "-tniM"], ["nstat", "-asz"]] {
            let said = namespace
                .enter_thread(|| Command::new(arguments[0]).arg(arguments[1]).output())
                .unwrap();
            let said = said.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
            let lines = said.iter().flat_map(|text| text.lines());
            let kept = lines.filter(|line| {
                arguments[0] == "ss" || line.starts_with("MPTcp") && !line.contains(" 0 ")
            });
            eprintln!(
                "{end}, {arguments:?}:\n{}",
                kept.collect::<Vec<_>>().join("\n")
            );
        }
    }
}

pub(crate) fn netns(net: &Net) -> Cookie {
    net.client.cookie().unwrap()
}

#[test(needs(NET, BPF))]
fn every_controller_is_registered_and_unregistered() {
    for controller in Controller::all() {
        let registered = register(controller.name());
        assert!(
            available()
                .unwrap()
                .iter()
                .any(|name| name == registered.name()),
            "{}",
            controller.name()
        );
        let name = registered.name().to_owned();
        drop(registered);
        // The kernel removes it from its list some time after the last descriptor is closed.
        let deadline = Instant::now() + PATIENCE;
        while available().unwrap().contains(&name) {
            assert!(Instant::now() < deadline, "{name} is still there");
            thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test(needs(NET, BPF))]
fn a_controller_can_have_two_names_but_a_name_only_one_controller() {
    let first = register("lia");
    let other = Registered::new(named("lia"), &Connection::new(1), "t_other").unwrap();
    assert_ne!(first.name(), other.name());
    let again = Registered::new(named("olia"), &Connection::new(1), "t_other");
    let Err(Error::Busy { why, .. }) = again else {
        panic!("the name was given twice")
    };
    assert!(why.contains("of that name is registered already"), "{why}");
}

#[test(needs(NET, BPF))]
fn eight_subflows_see_each_other() {
    let (net, registered) = (Net::v4(8), register("lia"));
    join_all_paths(&net);
    let options = using(&registered);
    let listener = listener(&net, &options);
    let (_pair, subflows) = joined(&net, &registered, &listener, &options);
    let tokens: BTreeSet<_> = subflows.iter().map(|subflow| subflow.token).collect();
    assert_eq!(tokens.len(), 1, "one connection has one token: {tokens:?}");
}

#[test(needs(NET, BPF, IPV6))]
fn subflows_over_ipv6_see_each_other() {
    let (net, registered) = (Net::v6(2), register("olia"));
    join_all_paths(&net);
    let options = using(&registered);
    let listener = listener(&net, &options);
    let (_pair, subflows) = joined(&net, &registered, &listener, &options);
    assert_eq!(
        subflows
            .iter()
            .map(|subflow| subflow.local.0)
            .collect::<Vec<_>>(),
        [net.paths[0].ip, net.paths[1].ip]
    );
}

#[test(needs(NET, BPF))]
fn a_dead_path_does_not_count() {
    let (net, registered) = (Net::v4(2), register("lia"));
    join_all_paths(&net);
    let options = using(&registered);
    let listener = listener(&net, &options);
    let (pair, _) = joined(&net, &registered, &listener, &options);
    let first_sees = |subflows: &[SubflowState]| subflows.first().map(|subflow| subflow.coupled);
    net.set_cable(1, false);
    // After a few timeouts of the connection, or of the subflow alone.
    let one = eventually(&pair, &net, &registered, |subflows| {
        first_sees(subflows) == Some(1)
    });
    assert_eq!(first_sees(&one), Some(1));
}

#[test(needs(NET, BPF))]
fn a_controller_sees_no_siblings_on_plain_tcp_and_after_a_fallback() {
    // A client without MPTCP, then a server without it: the MPTCP socket of the peer falls back.
    for (client, server) in [
        (Protocol::Tcp, Protocol::Mptcp),
        (Protocol::Mptcp, Protocol::Tcp),
    ] {
        let (net, registered) = (Net::v4(2), register("lia"));
        join_all_paths(&net);
        let options = using(&registered);
        let at = net.server_at(PORT);
        let listener = Listener(
            net.server
                .enter_thread(|| listen(server, at, &options, 8))
                .unwrap()
                .unwrap(),
        );
        let pair = Pair::open(&net, &listener, client, &options);
        let alone = |subflows: &[SubflowState]| subflows.len() == 1 && subflows[0].srtt_us > 0;
        // Time for a second subflow, which must not join after a fallback.
        (0..5).for_each(|_| pair.send(BURST));
        let subflows = eventually(&pair, &net, &registered, alone);
        let fallen_back = if client == Protocol::Mptcp {
            &pair.client
        } else {
            &pair.server
        };
        assert!(full_info(fallen_back).unwrap().is_plain_tcp(), "{client:?}");
        assert_eq!(
            (subflows.len(), subflows[0].coupled),
            (1, 1),
            "{client:?}: {subflows:?}"
        );
    }
}

#[test(needs(NET, BPF))]
fn the_most_specific_key_wins_for_each_value() {
    let (net, registered) = (Net::v4(2), register("eemptcp"));
    join_all_paths(&net);
    let options = using(&registered);
    let listener = listener(&net, &options);
    let (pair, _) = joined(&net, &registered, &listener, &options);
    let netns = netns(&net);
    let heard = |subflows: &[SubflowState]| subflows.iter().map(|s| s.heard).collect::<Vec<_>>();
    let until = |expected: [Heard; 2]| {
        let subflows = eventually(&pair, &net, &registered, |subflows| {
            heard(subflows) == expected
        });
        assert_eq!(heard(&subflows), expected);
        subflows
    };
    let controls = registered.controls();
    let say = |key, control| controls.set(key, control, Lease::WithTheMap).unwrap();

    for path in &net.paths {
        let interface = ControlKey::Interface {
            netns,
            ifindex: path.device,
        };
        say(interface, Control::EnergyCost(3.0));
        say(interface, Control::TargetShare(0.5));
    }
    let of_interface = Heard {
        energy_cost: 3.0,
        target_share: 0.5,
        ..Heard::default()
    };
    until([of_interface; 2]);

    // A value for the address does not hide the other values for the interface.
    let address = ControlKey::Address {
        netns,
        local: net.paths[1].ip,
    };
    say(address, Control::EnergyCost(5.0));
    say(address, Control::PathPrice(0.25));
    let of_address = Heard {
        energy_cost: 5.0,
        path_price: 0.25,
        ..of_interface
    };
    let subflows = until([of_interface, of_address]);

    let (token, local_id) = (subflows[1].token.unwrap(), subflows[1].local_id);
    let connection = ControlKey::Connection {
        netns,
        token,
        local_id,
    };
    say(connection, Control::EnergyCost(7.0));
    say(connection, Control::Loss(0.125));
    until([
        of_interface,
        Heard {
            energy_cost: 7.0,
            loss: 0.125,
            ..of_address
        },
    ]);

    controls.clear(connection, Field::EnergyCost).unwrap();
    controls.clear(connection, Field::EnergyCost).unwrap();
    until([
        of_interface,
        Heard {
            loss: 0.125,
            ..of_address
        },
    ]);
}

#[test(needs(NET, BPF))]
fn a_value_ends_with_its_lease() {
    let (net, registered) = (Net::v4(1), register("eemptcp"));
    let options = using(&registered);
    let listener = listener(&net, &options);
    let pair = Pair::open(&net, &listener, Protocol::Mptcp, &options);
    let interface = ControlKey::Interface {
        netns: netns(&net),
        ifindex: net.paths[0].device,
    };
    let cost =
        |subflows: &[SubflowState]| subflows.first().map(|subflow| subflow.heard.energy_cost);
    let controls = registered.controls();

    controls
        .set(interface, Control::TargetShare(0.5), Lease::WithTheMap)
        .unwrap();
    controls
        .set(interface, Control::EnergyCost(2.0), Lease::For(PATIENCE))
        .unwrap();
    let heard = eventually(&pair, &net, &registered, |subflows| {
        cost(subflows) == Some(2.0)
    });
    assert_eq!(cost(&heard), Some(2.0));
    // Set again with a shorter lease and not renewed, as if its writer had died.
    controls
        .set(
            interface,
            Control::EnergyCost(2.0),
            Lease::For(Duration::from_millis(50)),
        )
        .unwrap();
    let silent = eventually(&pair, &net, &registered, |subflows| {
        cost(subflows) == Some(0.0)
    });
    let expected = Heard {
        target_share: 0.5,
        ..Heard::default()
    };
    assert_eq!(silent[0].heard, expected);
    // The expired entry occupies the map until it is swept.
    assert_eq!(controls.sweep().unwrap(), 1);
    assert_eq!(controls.sweep().unwrap(), 0);
}

#[test(needs(NET, BPF))]
fn five_hundred_connections_leave_nothing_in_the_map() {
    const AT_ONCE: usize = 50;
    let (net, registered) = (Net::v4(2), register("balia"));
    join_all_paths(&net);
    let options = using(&registered);
    let listener = listener(&net, &options);
    let mut most = 0;
    for _ in 0..500 / AT_ONCE {
        let pairs: Vec<_> = (0..AT_ONCE)
            .map(|_| Pair::open(&net, &listener, Protocol::Mptcp, &options))
            .collect();
        for pair in &pairs {
            pair.send(100_000);
        }
        most = most.max(registered.subflows().unwrap().len());
    }
    // Client and server of each connection, and a second subflow of most connections.
    assert!(
        most >= 2 * AT_ONCE,
        "the map had at most {most} entries: it is not used"
    );
    let deadline = Instant::now() + PATIENCE;
    while !registered.subflows().unwrap().is_empty() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(registered.subflows().unwrap(), []);
}

#[test(needs(NET, BPF))]
fn a_parameter_is_set_before_the_program_is_verified() {
    let controller = named("dts");
    let mut parameters = Connection::new(1);
    controller
        .set_param(&mut parameters, "shape", "literal")
        .unwrap();
    let registered = Registered::new(controller, &parameters, "t_literal").unwrap();
    assert!(
        available()
            .unwrap()
            .iter()
            .any(|name| name == registered.name())
    );
}
