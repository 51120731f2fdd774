//! `joulepath relay` on a router: a LAN's connections, redirected by nftables, over two paths.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use joulepath_kernel::Namespace;
use joulepath_kernel::mptcp::path_manager::{Endpoint, Limits, PathManager};
use joulepath_testbed::net::Net;
use joulepath_testbed::observe::wait_until;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::run::{Said, command, folder};

const PATIENCE: Duration = Duration::from_secs(30);
const ROUTER: &str = "192.168.77.1";
const HOST: &str = "192.168.77.2";
const FAR: &str = "198.18.0.1";

/// A LAN with a host, its router with two paths, and the far end, on which the server is as well.
struct World {
    net: Net,
    lan: Namespace,
    folder: TempDir,
}

impl World {
    fn new() -> Self {
        let world = World {
            net: Net::v4(2),
            lan: Namespace::new().unwrap(),
            folder: folder(),
        };
        let (router, lan) = (&world.net.client, world.lan.path());
        let lan = lan.to_str().unwrap();
        for line in [
            "ip link add lan0 type veth peer name eth0".to_owned(),
            format!("ip link set eth0 netns {lan}"),
            format!("ip addr add {ROUTER}/24 dev lan0"),
            "ip link set lan0 up".to_owned(),
            format!("ip route add {FAR} dev c0 src 198.18.0.2"),
        ] {
            world.run(router, &line).ok();
        }
        for line in [
            format!("ip addr add {HOST}/24 dev eth0"),
            "ip link set eth0 up".to_owned(),
            format!("ip route add default via {ROUTER}"),
        ] {
            world.run(&world.lan, &line).ok();
        }
        // The second path.
        let path = world.net.paths[1];
        let limits = Limits {
            accepted_addresses: 0,
            extra_subflows: 2,
        };
        let manager =
            |namespace: &Namespace| namespace.enter_thread(PathManager::open).unwrap().unwrap();
        manager(&world.net.client).set_limits(limits).unwrap();
        manager(&world.net.server).set_limits(limits).unwrap();
        manager(&world.net.client)
            .add(&Endpoint::subflow(path.ip, path.device))
            .unwrap();
        world.write_files();
        world
    }

    fn write_files(&self) {
        let server = format!("{FAR}:8443");
        Said::of(
            command(self.folder.path(), &["relay", "new", "--server", &server])
                .output()
                .unwrap(),
        )
        .ok();
        let add = |name: &str, lines: &str| {
            let file = self.folder.path().join(name);
            let text = fs::read_to_string(&file)
                .unwrap()
                .replace("[::]:8443", "0.0.0.0:8443");
            fs::write(&file, text + lines).unwrap();
        };
        add("relay-serve.toml", "allow_private = [\"198.18.0.0/15\"]\n");
        let lan = "lan = [\"lan0\"]\nallow = [\"192.168.77.0/24\"]\n";
        add(
            "relay-connect.toml",
            &format!("redir = \"[::]:12345\"\n{lan}"),
        );
    }

    /// Runs a line of words in a namespace.
    fn run(&self, namespace: &Namespace, line: &str) -> Said {
        let words: Vec<&str> = line.split(' ').collect();
        let output = namespace.enter_thread(|| Command::new(words[0]).args(&words[1..]).output());
        Said::of(output.unwrap().unwrap())
    }

    fn relay(&self, arguments: &[&str]) -> Said {
        let mut command = command(
            self.folder.path(),
            &[&["relay", "connect"], arguments].concat(),
        );
        Said::of(
            self.net
                .client
                .enter_thread(|| command.output())
                .unwrap()
                .unwrap(),
        )
    }

    fn start_both(&self) -> (End, End) {
        let far = End::start(
            self.folder.path(),
            &self.net.server,
            &["serve", "relay-serve.toml"],
            "serving on",
        );
        let near = ["connect", "--set-rules", "relay-connect.toml"];
        let near = End::start(self.folder.path(), &self.net.client, &near, "redir on");
        wait_until("the rules are set", || {
            self.rules().contains("joulepath_relay")
        });
        (far, near)
    }

    fn rules(&self) -> String {
        self.run(&self.net.client, "nft list ruleset").ok()
    }

    /// The server of a connection, and whom it sees.
    fn listen(&self) -> (SocketAddr, TcpListener) {
        let ip = IpAddr::from(FAR.parse::<Ipv4Addr>().unwrap());
        let listener = self
            .net
            .server
            .enter_thread(|| TcpListener::bind((ip, 8080)))
            .unwrap()
            .unwrap();
        ((ip, 8080).into(), listener)
    }

    fn connect(&self, to: SocketAddr) -> TcpStream {
        let stream = self
            .lan
            .enter_thread(|| TcpStream::connect_timeout(&to, PATIENCE))
            .unwrap()
            .unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }
}

/// A running end.
pub(crate) struct End(Child);

impl End {
    /// Starts an end, and waits until it has said this.
    pub(crate) fn start(
        folder: &Path,
        namespace: &Namespace,
        arguments: &[&str],
        ready: &str,
    ) -> Self {
        let mut command = command(folder, &[&["relay"], arguments].concat());
        command.stderr(Stdio::piped());
        let mut child = namespace.enter_thread(|| command.spawn()).unwrap().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let said = lines
            .by_ref()
            .map(Result::unwrap)
            .find(|line| line.contains(ready));
        // Else the end would stop when the pipe is full.
        thread::spawn(move || lines.for_each(drop));
        let end = End(child);
        assert!(said.is_some(), "the end does not say `{ready}`");
        end
    }

    fn signal(&mut self, signal: Signal) -> Option<i32> {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
        self.0.wait().unwrap().code()
    }
}

impl Drop for End {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test(needs(NET, tool("nft")))]
fn a_host_of_the_lan_reaches_a_server_over_both_paths_and_the_rules_are_undone() {
    let world = World::new();
    let before = world.rules();
    let (_far, mut near) = world.start_both();
    let (address, listener) = world.listen();
    let received = |path: &str| {
        let json = world
            .run(&world.net.client, &format!("ip -j -s link show {path}"))
            .json();
        json[0]["stats64"]["rx"]["bytes"].as_u64().unwrap()
    };
    // An answer can end before its second subflow is there.
    wait_until("answers use both paths of the router", || {
        let mut host = world.connect(address);
        host.write_all(b"question").unwrap();
        host.shutdown(Shutdown::Write).unwrap();
        let (mut server, peer) = listener.accept().unwrap();
        // The far end, not the host: the router does not forward.
        assert_eq!(peer.ip(), address.ip());
        let mut question = String::new();
        server.read_to_string(&mut question).unwrap();
        assert_eq!(question, "question");
        let answer = vec![7; 32 << 20];
        let sent = answer.clone();
        let writer = thread::spawn(move || server.write_all(&sent).unwrap());
        let mut got = vec![];
        host.read_to_end(&mut got).unwrap();
        writer.join().unwrap();
        assert!(got == answer);
        ["c0", "c1"].iter().all(|path| received(path) > 1 << 20)
    });

    assert_eq!(near.signal(Signal::TERM), Some(0));
    assert_eq!(world.rules(), before);
}

const ROUTER6: &str = "2001:db8:77::1";
const HOST6: &str = "2001:db8:77::2";
const FAR6: &str = "2001:db8:1::1";

/// The router has no route to the server: only the redirection brings the connection there, over
/// IPv4.
#[test(needs(NET, IPV6, tool("nft")))]
fn a_host_reaches_a_server_of_ipv6_and_the_rules_are_undone() {
    let world = World::new();
    for (namespace, line) in [
        (
            &world.net.client,
            format!("ip addr add {ROUTER6}/64 dev lan0 nodad"),
        ),
        (&world.lan, format!("ip addr add {HOST6}/64 dev eth0 nodad")),
        (&world.lan, format!("ip -6 route add default via {ROUTER6}")),
        (
            &world.net.server,
            format!("ip addr add {FAR6}/128 dev lo nodad"),
        ),
    ] {
        world.run(namespace, &line).ok();
    }
    let extend = |name: &str, from: &str, to: &str| {
        let file = world.folder.path().join(name);
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(&file, text.replace(from, to)).unwrap();
    };
    let lan = "\"192.168.77.0/24\"";
    extend(
        "relay-connect.toml",
        lan,
        &format!("{lan}, \"2001:db8:77::/64\""),
    );
    extend(
        "relay-serve.toml",
        "\"198.18.0.0/15\"",
        "\"198.18.0.0/15\", \"2001:db8::/32\"",
    );
    let before = world.rules();
    let (_far, mut near) = world.start_both();
    let rule = "ip6 saddr { 2001:db8:77::/64 } meta l4proto tcp redirect to :12345";
    let told = world.relay(&["--print-rules", "relay-connect.toml"]).ok();
    assert!(told.contains(rule) && told.contains("ip saddr"), "{told}");

    let server = IpAddr::from(FAR6.parse::<Ipv6Addr>().unwrap());
    let listener = world
        .net
        .server
        .enter_thread(|| TcpListener::bind((server, 8080)))
        .unwrap()
        .unwrap();
    let mut host = world.connect((server, 8080).into());
    host.write_all(b"question").unwrap();
    host.shutdown(Shutdown::Write).unwrap();
    let (mut accepted, peer) = listener.accept().unwrap();
    // The far end, not the host.
    assert_eq!(peer.ip(), server);
    let mut question = String::new();
    accepted.read_to_string(&mut question).unwrap();
    accepted.write_all(b"answer").unwrap();
    drop(accepted);
    let mut answer = String::new();
    host.read_to_string(&mut answer).unwrap();
    assert_eq!((question.as_str(), answer.as_str()), ("question", "answer"));

    assert_eq!(near.signal(Signal::TERM), Some(0));
    assert_eq!(world.rules(), before);
}

#[test(needs(NET, tool("nft")))]
fn the_rules_end_with_a_killed_relay_and_no_other_relay_touches_them() {
    let world = World::new();
    let before = world.rules();
    let (_far, mut near) = world.start_both();
    let said = world.relay(&["--print-rules", "relay-connect.toml"]);
    assert!(said.ok().contains("table inet joulepath_relay {"));
    let said = world.relay(&["--undo-rules", "relay-connect.toml"]);
    assert_eq!(said.code, Some(1), "{}", said.stderr);
    assert!(
        said.stderr.contains("belong to a relay that runs"),
        "{}",
        said.stderr
    );
    near.signal(Signal::KILL);
    wait_until("the kernel has deleted the rules", || {
        world.rules() == before
    });

    // Without an owner, as kernels before Linux 5.12 leave it.
    world
        .run(&world.net.client, "nft add table inet joulepath_relay")
        .ok();
    let said = world.relay(&["--set-rules", "relay-connect.toml"]);
    assert_eq!(said.code, Some(1), "{}", said.stderr);
    assert!(
        said.stderr.contains("--undo-rules deletes it"),
        "{}",
        said.stderr
    );
    let said = world.relay(&["--undo-rules", "relay-connect.toml"]);
    assert!(said.stderr.contains("deleted the rules"), "{}", said.stderr);
    assert_eq!(world.rules(), before);
    let said = world.relay(&["--undo-rules", "relay-connect.toml"]);
    assert!(
        said.stderr.contains("there are no rules"),
        "{}",
        said.stderr
    );
}

#[test(needs(NET, tool("nft"), tool("ss")))]
fn both_ends_check_every_subflow_of_an_idle_leg() {
    let world = World::new();
    let _ends = world.start_both();
    let (address, listener) = world.listen();
    let _host = world.connect(address);
    let _server = listener.accept().unwrap();
    for end in [&world.net.client, &world.net.server] {
        wait_until("both subflows have a timer of five minutes", || {
            let sockets = world.run(end, "ss -tnoH").ok();
            sockets
                .lines()
                .filter(|line| line.contains(":8443") && line.contains("(keepalive,4min"))
                .count()
                == 2
        });
    }
}

#[test(needs(NET))]
fn where_one_end_has_no_mptcp_the_leg_is_tcp() {
    let world = World::new();
    let off = || fs::write("/proc/sys/net/mptcp/enabled", "0");
    world.net.server.enter_thread(off).unwrap().unwrap();
    let refused = "(TCP: this kernel refuses MPTCP sockets)";
    let _far = End::start(
        world.folder.path(),
        &world.net.server,
        &["serve", "relay-serve.toml"],
        refused,
    );
    let _near = End::start(
        world.folder.path(),
        &world.net.client,
        &["connect", "relay-connect.toml"],
        "redir on",
    );
    let (address, listener) = world.listen();
    let socks = world
        .net
        .client
        .enter_thread(|| TcpStream::connect("127.0.0.1:1080"))
        .unwrap();
    let mut program = socks.unwrap();
    program.set_read_timeout(Some(PATIENCE)).unwrap();
    program.write_all(&[5, 1, 0]).unwrap();
    program.read_exact(&mut [0; 2]).unwrap();
    program.write_all(&[5, 1, 0, 1, 198, 18, 0, 1]).unwrap();
    program.write_all(&address.port().to_be_bytes()).unwrap();
    program.read_exact(&mut [0; 10]).unwrap();
    let (mut server, _) = listener.accept().unwrap();
    server.write_all(b"answer").unwrap();
    let mut answer = [0; 6];
    program.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"answer");
}
