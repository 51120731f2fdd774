//! Namespaces: what is done in one stays in it, and ends with it.

use std::fs;
use std::net::{IpAddr, TcpListener, TcpStream};

use joulepath_linux::route::{Metric, Route, Routing};
use joulepath_linux::{Error, Namespace};

const ECN: &str = "net.ipv4.tcp_ecn";

#[test]
fn a_sysctl_of_a_namespace_is_not_the_machines() {
    let Some(_machine) = crate::common::machine() else { return };
    let outside = fs::read_to_string("/proc/sys/net/ipv4/tcp_ecn").unwrap();
    let inside = Namespace::new().unwrap();
    for value in ["0", "1"] {
        inside.set_sysctl(ECN, value).unwrap();
        assert_eq!(inside.sysctl(ECN).unwrap(), value);
        assert_eq!(fs::read_to_string("/proc/sys/net/ipv4/tcp_ecn").unwrap(), outside);
    }
}

#[test]
fn a_sysctl_that_is_missing_is_named() {
    let Some(_machine) = crate::common::machine() else { return };
    let error = Namespace::new().unwrap().set_sysctl("net.ipv4.tcp_no_such_thing", "1").unwrap_err();
    assert!(
        matches!(&error, Error::Unsupported { what, .. } if what.contains("tcp_no_such_thing")),
        "{error}"
    );
}

#[test]
fn sockets_of_two_namespaces_do_not_meet() {
    let Some(_machine) = crate::common::machine() else { return };
    let (one, two) = (Namespace::new().unwrap(), Namespace::new().unwrap());
    let listener = one.enter_thread(|| TcpListener::bind("127.0.0.1:0")).unwrap().unwrap();
    let address = listener.local_addr().unwrap();
    // Loopback is up in both: the first connects, the second is refused and not lost.
    assert!(one.enter_thread(|| TcpStream::connect(address)).unwrap().is_ok());
    let refused = two.enter_thread(|| TcpStream::connect(address)).unwrap().unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
}

#[test]
fn a_namespace_is_found_again_by_its_path() {
    let Some(_machine) = crate::common::machine() else { return };
    let namespace = Namespace::new().unwrap();
    let again = Namespace::at(&namespace.path()).unwrap();
    namespace.set_sysctl(ECN, "0").unwrap();
    again.set_sysctl(ECN, "1").unwrap();
    assert_eq!(namespace.sysctl(ECN).unwrap(), "1");
}

#[test]
fn routes_carry_what_tcp_is_told() {
    let Some(_machine) = crate::common::machine() else { return };
    let source: IpAddr = "198.18.0.2".parse().unwrap();
    let namespace = Namespace::new().unwrap();
    let configured = namespace.enter_thread(|| {
        let routing = Routing::open()?;
        routing.add_loopback_address(source)?;
        routing.add_source_rule(source, 101)?;
        let metrics = vec![(Metric::InitialWindow, 20), (Metric::MinRto, 300), (Metric::QuickAck, 1)];
        routing.add_route(&Route {
            destination: None,
            source,
            device: 1,
            table: Some(101),
            priority: 0,
            metrics,
        })
    });
    configured.unwrap().unwrap();
    // What the kernel refuses is said with the kernel's own words.
    let nowhere = Route { destination: None, source, device: 999, table: None, priority: 0, metrics: vec![] };
    let refused = namespace.enter_thread(|| Routing::open()?.add_route(&nowhere)).unwrap().unwrap_err();
    assert!(refused.to_string().contains("routing through device 999"), "{refused}");
    // The kernel lists every table that has a route.
    let tables =
        namespace.enter_thread(|| fs::read_to_string("/proc/thread-self/net/fib_triestat")).unwrap().unwrap();
    assert!(tables.contains("Id 101"), "{tables}");
}
