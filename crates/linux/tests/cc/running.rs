//! Controllers at work: what they see of their siblings, what they are told, what they leave behind.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use joulepath_controllers::{Connection, Controller};
use joulepath_linux::Error;
use joulepath_linux::cc::pinned::available;
use joulepath_linux::cc::{Control, ControlKey, Registered, SubflowState};
use joulepath_linux::mptcp::info::full_info;
use joulepath_linux::mptcp::path_manager::{Endpoint, Limits, PathManager};
use joulepath_linux::mptcp::socket::{Options, Protocol, accept_within, connect_within, listen};

use crate::common::machine;
use crate::net::Net;

/// For what happens within milliseconds on a machine that has nothing else to do.
const PATIENCE: Duration = Duration::from_secs(120);
const PORT: u16 = 5001;
/// Bytes.
const BURST: usize = 1_000_000;

fn named(name: &str) -> Controller {
    Controller::by_name(name).unwrap()
}

/// Registered under a name that no other test, and no user, has.
pub(crate) fn register(controller: &str) -> Registered {
    let name = format!("t{}_{controller}", std::process::id() % 100_000);
    Registered::new(named(controller), &Connection::new(1), &name).unwrap()
}

/// Client and server sockets of one connection that uses `name` on both ends.
pub(crate) struct Pair {
    client: TcpStream,
    server: TcpStream,
}

pub(crate) struct Listener(OwnedFd);

pub(crate) fn listener(net: &Net, options: &Options) -> Listener {
    let at = net.server_at(PORT);
    Listener(net.server.enter_thread(|| listen(Protocol::Mptcp, at, options, 512)).unwrap().unwrap())
}

impl Pair {
    pub(crate) fn open(net: &Net, listener: &Listener, protocol: Protocol, options: &Options) -> Self {
        let (from, to) = (net.client_at(0), net.server_at(PORT));
        let client = net.client.enter_thread(|| connect_within(protocol, from, to, options, PATIENCE));
        let (server, _) = accept_within(&listener.0, PATIENCE).unwrap();
        Pair { client: blocking(client.unwrap().unwrap()), server: blocking(server) }
    }

    /// `bytes` from client to server, which reads them all.
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

/// Every connection opens a subflow from each further path.
fn join_all_paths(net: &Net) {
    let limits = Limits { accepted_addresses: 0, extra_subflows: 7 };
    for namespace in [&net.client, &net.server] {
        namespace.enter_thread(|| PathManager::open()?.set_limits(limits)).unwrap().unwrap();
    }
    for path in &net.paths[1..] {
        let endpoint = Endpoint::subflow(path.ip, path.device);
        net.client.enter_thread(|| PathManager::open()?.add(&endpoint)).unwrap().unwrap();
    }
}

pub(crate) fn using(registered: &Registered) -> Options {
    Options { congestion: Some(registered.name().to_owned()), ..Options::default() }
}

/// The client's subflows, once `right` says that they are as they should be. Data is sent meanwhile, for a controller shows
/// itself once per round trip: as much as one subflow alone does not take, and no more than a slow machine carries in a moment.
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
        let mut subflows = registered.subflows();
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

/// A connection whose subflows, one on every path, see each other, and what is shown of them. The kernel's path manager tries to
/// join once: where that failed another connection is opened.
fn joined(
    net: &Net,
    registered: &Registered,
    listener: &Listener,
    options: &Options,
) -> (Pair, Vec<SubflowState>) {
    const TRIES: usize = 5;
    let paths = net.paths.len();
    let all = |subflows: &[SubflowState]| {
        subflows.len() == paths && subflows.iter().all(|subflow| subflow.coupled as usize == paths)
    };
    for _ in 0..TRIES {
        let pair = Pair::open(net, listener, Protocol::Mptcp, options);
        let subflows = eventually_within(PATIENCE / 6, &pair, net, registered, all);
        if all(&subflows) {
            return (pair, subflows);
        }
    }
    panic!("no connection has joined all of {paths} paths in {TRIES} tries");
}

/// What the kernel says of a connection that is not as it should be.
fn explain(pair: &Pair, net: &Net, subflows: &[SubflowState]) {
    eprintln!("shown: {subflows:#?}\nMPTCP_FULL_INFO: {:#?}", full_info(&pair.client));
    for (end, namespace) in [("client", &net.client), ("server", &net.server)] {
        for arguments in [["ss", "-tniM"], ["nstat", "-asz"]] {
            let said =
                namespace.enter_thread(|| Command::new(arguments[0]).arg(arguments[1]).output()).unwrap();
            let said = said.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
            let lines = said.iter().flat_map(|text| text.lines());
            let kept = lines
                .filter(|line| arguments[0] == "ss" || line.starts_with("MPTcp") && !line.contains(" 0 "));
            eprintln!("{end}, {arguments:?}:\n{}", kept.collect::<Vec<_>>().join("\n"));
        }
    }
}

pub(crate) fn netns(net: &Net) -> u32 {
    net.client.enter_thread(|| std::fs::metadata("/proc/thread-self/ns/net").unwrap().ino()).unwrap() as u32
}

#[test]
fn every_controller_is_taken_by_the_kernel_and_leaves_it() {
    let Some(_machine) = machine() else { return };
    for controller in Controller::all() {
        let registered = register(controller.name());
        assert!(available().unwrap().iter().any(|name| name == registered.name()), "{}", controller.name());
        let name = registered.name().to_owned();
        drop(registered);
        // The kernel takes it out of its list some time after the last descriptor has gone.
        let deadline = Instant::now() + PATIENCE;
        while available().unwrap().contains(&name) {
            assert!(Instant::now() < deadline, "{name} is still there");
            thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn one_controller_can_be_there_under_two_names_but_not_twice_under_one() {
    let Some(_machine) = machine() else { return };
    let first = register("lia");
    let other = Registered::new(named("lia"), &Connection::new(1), "t_other").unwrap();
    assert_ne!(first.name(), other.name());
    let again = Registered::new(named("olia"), &Connection::new(1), "t_other");
    let Err(Error::Unsupported { why, .. }) = again else { panic!("the name was given twice") };
    assert!(why.contains("of that name is there already"), "{why}");
}

#[test]
fn eight_subflows_see_each_other() {
    let Some(_machine) = machine() else { return };
    let (net, registered) = (Net::v4(8), register("lia"));
    join_all_paths(&net);
    let options = using(&registered);
    let listener = listener(&net, &options);
    let (_pair, subflows) = joined(&net, &registered, &listener, &options);
    let tokens: BTreeSet<_> = subflows.iter().map(|subflow| subflow.token).collect();
    assert_eq!(tokens.len(), 1, "one connection has one token: {tokens:?}");
}

#[test]
fn subflows_over_ipv6_see_each_other() {
    let Some(_machine) = machine() else { return };
    let (net, registered) = (Net::v6(2), register("olia"));
    join_all_paths(&net);
    let options = using(&registered);
    let listener = listener(&net, &options);
    let (_pair, subflows) = joined(&net, &registered, &listener, &options);
    assert_eq!(
        subflows.iter().map(|subflow| subflow.local.0).collect::<Vec<_>>(),
        [net.paths[0].ip, net.paths[1].ip]
    );
}

#[test]
fn a_path_that_has_gone_dead_no_longer_counts() {
    let Some(_machine) = machine() else { return };
    let (net, registered) = (Net::v4(2), register("lia"));
    join_all_paths(&net);
    let options = using(&registered);
    let listener = listener(&net, &options);
    let (pair, _) = joined(&net, &registered, &listener, &options);
    let first_sees = |subflows: &[SubflowState]| subflows.first().map(|subflow| subflow.coupled);
    net.set_cable(1, false);
    // After a few timeouts, of the connection or of the subflow alone.
    let one = eventually(&pair, &net, &registered, |subflows| first_sees(subflows) == Some(1));
    assert_eq!(first_sees(&one), Some(1));
}

#[test]
fn on_plain_tcp_and_after_a_fallback_a_controller_is_alone() {
    let Some(_machine) = machine() else { return };
    let (net, registered) = (Net::v4(2), register("lia"));
    join_all_paths(&net);
    let options = using(&registered);
    let listener = listener(&net, &options);
    let plain = Pair::open(&net, &listener, Protocol::Tcp, &options);
    let alone = |subflows: &[SubflowState]| subflows.len() == 1 && subflows[0].srtt_us > 0;
    let subflows = eventually(&plain, &net, &registered, alone);
    assert_eq!(subflows.len(), 1);
    assert_eq!((subflows[0].coupled, subflows[0].token), (1, None));
}

#[test]
fn a_subflow_hears_the_most_particular_word_of_the_control_plane() {
    let Some(_machine) = machine() else { return };
    let (net, registered) = (Net::v4(2), register("eemptcp"));
    join_all_paths(&net);
    let options = using(&registered);
    let listener = listener(&net, &options);
    let (pair, _) = joined(&net, &registered, &listener, &options);
    let netns = netns(&net);
    let control =
        |energy_cost| Control { energy_cost, target_share: 0.5, path_price: 0.25, loss: 0.125, pacing: 0 };
    let costs =
        |subflows: &[SubflowState]| subflows.iter().map(|s| s.control.energy_cost).collect::<Vec<_>>();
    let controls = registered.controls();

    for path in &net.paths {
        controls.set(ControlKey::Interface { netns, ifindex: path.device }, control(3.0)).unwrap();
    }
    let heard = eventually(&pair, &net, &registered, |subflows| costs(subflows) == [3.0, 3.0]);
    assert_eq!(heard.iter().map(|subflow| subflow.control).collect::<Vec<_>>(), [control(3.0); 2]);

    let local = net.paths[1].ip;
    controls.set(ControlKey::Address { netns, local }, control(5.0)).unwrap();
    let heard = eventually(&pair, &net, &registered, |subflows| costs(subflows) == [3.0, 5.0]);
    assert_eq!(costs(&heard), [3.0, 5.0]);

    let (token, local_id) = (heard[1].token.unwrap(), heard[1].local_id);
    let connection = ControlKey::Connection { netns, token, local_id };
    controls.set(connection, control(7.0)).unwrap();
    let heard = eventually(&pair, &net, &registered, |subflows| costs(subflows) == [3.0, 7.0]);
    assert_eq!(costs(&heard), [3.0, 7.0]);

    controls.clear(connection).unwrap();
    controls.clear(connection).unwrap();
    let heard = eventually(&pair, &net, &registered, |subflows| costs(subflows) == [3.0, 5.0]);
    assert_eq!(costs(&heard), [3.0, 5.0]);
}

#[test]
fn five_hundred_connections_leave_nothing_in_the_map() {
    let Some(_machine) = machine() else { return };
    const AT_ONCE: usize = 50;
    let (net, registered) = (Net::v4(2), register("balia"));
    join_all_paths(&net);
    let options = using(&registered);
    let listener = listener(&net, &options);
    let mut most = 0;
    for _ in 0..500 / AT_ONCE {
        let pairs: Vec<_> =
            (0..AT_ONCE).map(|_| Pair::open(&net, &listener, Protocol::Mptcp, &options)).collect();
        for pair in &pairs {
            pair.send(100_000);
        }
        most = most.max(registered.subflows().len());
    }
    // Client and server of each connection, and a second subflow of most.
    assert!(most >= 2 * AT_ONCE, "the map had {most} entries at most: it is not used");
    let deadline = Instant::now() + PATIENCE;
    while !registered.subflows().is_empty() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(registered.subflows(), []);
}

#[test]
fn a_parameter_is_set_before_the_program_is_verified() {
    let Some(_machine) = machine() else { return };
    let controller = named("dts");
    let mut parameters = Connection::new(1);
    controller.set_param(&mut parameters, "shape", "literal").unwrap();
    let registered = Registered::new(controller, &parameters, "t_literal").unwrap();
    assert!(available().unwrap().iter().any(|name| name == registered.name()));
}
