//! A client and a server namespace with a cable per path, for tests that need paths but no radios.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::Command;

use joulepath_kernel::Namespace;
use joulepath_kernel::route::{Prefix, Route, Routing};

use crate::observe::wait_until;

/// Client and server, joined by veth devices. The server has one address, the client one per path;
/// packets leave through the device of their source address.
pub struct Net {
    /// Namespace that opens connections.
    pub client: Namespace,
    /// Namespace that accepts connections.
    pub server: Namespace,
    /// The cables.
    pub paths: Vec<Path>,
    /// The server's address.
    pub server_ip: IpAddr,
}

/// One cable, from the client's side.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// The client's address on it.
    pub ip: IpAddr,
    /// Index of the client's device.
    pub device: u32,
    /// Index of the server's device.
    peer: u32,
}

impl Net {
    /// A network over IPv4.
    pub fn v4(paths: u8) -> Self {
        let ip = |host: u8| IpAddr::V4(Ipv4Addr::new(198, 18, 0, host));
        Self::new(paths, ip)
    }

    /// A network over IPv6.
    pub fn v6(paths: u8) -> Self {
        let ip = |host: u8| IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, host.into()));
        Self::new(paths, ip)
    }

    fn new(paths: u8, ip: impl Fn(u8) -> IpAddr) -> Self {
        let (client, server) = (Namespace::new().unwrap(), Namespace::new().unwrap());
        let server_ip = ip(1);
        server
            .enter_thread(|| Routing::open()?.add_loopback_address(server_ip))
            .unwrap()
            .unwrap();
        let mut net = Net {
            client,
            server,
            paths: vec![],
            server_ip,
        };
        for k in 0..paths {
            net.add_path(k, ip(2 + k));
        }
        // The kernel reports a device as up later than its carrier.
        wait_until("the devices are up", || {
            let usable = |namespace: &Namespace| {
                let links = namespace
                    .enter_thread(|| Routing::open()?.links())
                    .unwrap()
                    .unwrap();
                links
                    .iter()
                    .filter(|link| link.kind.as_deref() == Some("veth") && link.is_usable())
                    .count()
            };
            [&net.client, &net.server].map(usable) == [net.paths.len(); 2]
        });
        net
    }

    fn add_path(&mut self, k: u8, client_ip: IpAddr) {
        let (c, s) = (format!("c{k}"), format!("s{k}"));
        // Without ARP a device uses its own hardware address as destination, so both ends get the
        // same.
        let mac = format!("02:00:00:00:00:{k:02x}");
        let server = self.server.path();
        ip_in(
            &self.client,
            &[
                "link", "add", &c, "address", &mac, "type", "veth", "peer", "name", &s, "address",
                &mac,
            ],
        );
        ip_in(
            &self.client,
            &["link", "set", &s, "netns", server.to_str().unwrap()],
        );
        ip_in(&self.client, &["link", "set", &c, "arp", "off", "up"]);
        ip_in(&self.server, &["link", "set", &s, "arp", "off", "up"]);
        let (device, peer) = (index(&self.client, &c), index(&self.server, &s));
        let table = 100 + u32::from(k);
        let server_ip = self.server_ip;
        let all = Prefix::all_like(client_ip);
        let to_server = Route {
            source: Some(client_ip),
            table,
            ..Route::on_link(all, device)
        };
        let of_client = self.client.enter_thread(|| {
            let mut routing = Routing::open()?;
            routing.add_address(device, client_ip)?;
            routing.add_source_rule(client_ip, table)?;
            routing.add_route(&to_server)
        });
        of_client.unwrap().unwrap();
        let to_client = Route {
            source: Some(server_ip),
            ..Route::on_link(client_ip, peer)
        };
        let of_server = self
            .server
            .enter_thread(|| Routing::open()?.add_route(&to_client));
        of_server.unwrap().unwrap();
        self.paths.push(Path {
            ip: client_ip,
            device,
            peer,
        });
    }

    /// The server's address and a port.
    pub fn server_at(&self, port: u16) -> SocketAddr {
        (self.server_ip, port).into()
    }

    /// Cuts a path's cable at the server, or restores it. Packets of the client are lost without
    /// notice.
    pub fn set_cable(&self, path: usize, up: bool) {
        let device = self.paths[path].peer;
        self.server
            .enter_thread(|| Routing::open()?.set_up(device, up))
            .unwrap()
            .unwrap();
    }

    /// Index of the server's device of a path.
    pub fn peer(&self, path: usize) -> u32 {
        self.paths[path].peer
    }

    /// The client's address on a path, with any port.
    pub fn client_at(&self, path: usize) -> SocketAddr {
        (self.paths[path].ip, 0).into()
    }
}

fn ip_in(namespace: &Namespace, arguments: &[&str]) {
    let output = namespace
        .enter_thread(|| Command::new("ip").args(arguments).output())
        .unwrap();
    let output = output.expect("iproute2 is installed");
    assert!(
        output.status.success(),
        "ip {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn index(namespace: &Namespace, device: &str) -> u32 {
    namespace
        .enter_thread(|| {
            let socket = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
            rustix::net::netdevice::name_to_index(&socket, device).unwrap()
        })
        .unwrap()
}
