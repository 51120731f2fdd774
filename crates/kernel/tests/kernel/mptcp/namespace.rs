//! Changes in a namespace stay in it and end with it.

use std::fs;
use std::net::{IpAddr, TcpListener, TcpStream};

use joulepath_kernel::route::{Action, Metric, Prefix, Route, Routing, Rule};
use joulepath_kernel::{Error, Namespace};

const LOOPBACK: u32 = 1;
const ECN: &str = "net.ipv4.tcp_ecn";

#[test(needs(ROOT))]
fn a_sysctl_of_a_namespace_is_not_the_machines() {
    let outside = fs::read_to_string("/proc/sys/net/ipv4/tcp_ecn").unwrap();
    let inside = Namespace::new().unwrap();
    for value in ["0", "1"] {
        inside.set_sysctl(ECN, value).unwrap();
        assert_eq!(inside.sysctl(ECN).unwrap(), value);
        assert_eq!(
            fs::read_to_string("/proc/sys/net/ipv4/tcp_ecn").unwrap(),
            outside
        );
    }
}

#[test(needs(ROOT))]
fn a_missing_sysctl_is_named() {
    let error = Namespace::new()
        .unwrap()
        .set_sysctl("net.ipv4.tcp_no_such_thing", "1")
        .unwrap_err();
    assert!(
        matches!(&error, Error::Unsupported { what, .. } if what.contains("tcp_no_such_thing")),
        "{error}"
    );
}

#[test(needs(ROOT))]
fn sockets_of_two_namespaces_are_separate() {
    let (one, two) = (Namespace::new().unwrap(), Namespace::new().unwrap());
    let listener = one
        .enter_thread(|| TcpListener::bind("127.0.0.1:0"))
        .unwrap()
        .unwrap();
    let address = listener.local_addr().unwrap();
    // Loopback is up in both: the first connects, the second is refused and not dropped.
    assert!(
        one.enter_thread(|| TcpStream::connect(address))
            .unwrap()
            .is_ok()
    );
    let refused = two
        .enter_thread(|| TcpStream::connect(address))
        .unwrap()
        .unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
}

#[test(needs(ROOT))]
fn a_namespace_is_opened_by_its_path() {
    let namespace = Namespace::new().unwrap();
    let again = Namespace::at(&namespace.path()).unwrap();
    namespace.set_sysctl(ECN, "0").unwrap();
    again.set_sysctl(ECN, "1").unwrap();
    assert_eq!(namespace.sysctl(ECN).unwrap(), "1");
}

#[test(needs(ROOT))]
fn routes_contain_metrics_for_tcp() {
    let source: IpAddr = "198.18.0.2".parse().unwrap();
    let namespace = Namespace::new().unwrap();
    let configured = namespace.enter_thread(|| {
        let mut routing = Routing::open()?;
        routing.add_loopback_address(source)?;
        routing.add_source_rule(source, 101)?;
        let metrics = vec![
            (Metric::InitialWindow, 20),
            (Metric::MinRto, 300),
            (Metric::QuickAck, 1),
        ];
        let route = Route {
            source: Some(source),
            table: 101,
            metrics,
            ..Route::on_link(Prefix::ALL_V4, LOOPBACK)
        };
        routing.add_route(&route)?;
        // The kernel lists it unchanged, and the rule selects it.
        let routes = routing.routes()?;
        assert!(routes.contains(&route), "{routes:#?}");
        let rules = routing.rules()?;
        let leads_there =
            |rule: &Rule| rule.source == source.into() && rule.action == Action::Table(101);
        assert!(rules.iter().any(leads_there), "{rules:#?}");
        // A refusal contains the kernel's own explanation.
        let nowhere = Route::on_link(Prefix::ALL_V4, 999);
        let refused = routing.add_route(&nowhere).unwrap_err().to_string();
        assert!(
            refused.contains("routing to 0.0.0.0/0 through device 999: "),
            "{refused}"
        );
        Ok::<_, Error>(())
    });
    configured.unwrap().unwrap();
}
