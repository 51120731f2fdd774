use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;

use joulepath_live::status::Status;
use joulepath_why::report::Report;

use super::observer::Observed;
use super::page::{Seen, page};
use super::*;
use crate::top::samples;

/// The status code, the head and the body of an answer.
fn ask(address: SocketAddr, request: &str) -> (u16, String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (
        head[9..12].parse().unwrap(),
        head.to_ascii_lowercase(),
        body.to_owned(),
    )
}

fn request(method: &str, target: &str, host: &str, more: &str) -> String {
    format!("{method} {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{more}\r\n")
}

/// A board without a daemon, which is served until the test binary ends.
fn board(token: Option<&str>) -> SocketAddr {
    let no_daemon = Path::new("/nonexistent/live.sock");
    let board = Board::open(
        "127.0.0.1:0".parse().unwrap(),
        no_daemon,
        token.map(str::to_owned),
    )
    .unwrap();
    let address = board.listener.local_addr().unwrap();
    thread::spawn(move || board.serve());
    address
}

fn seen(status: Result<Status, String>) -> Seen {
    Seen {
        status,
        observed: Observed::default(),
    }
}

#[test]
fn without_a_daemon_the_page_says_so() {
    let address = board(None);
    let (code, head, body) = ask(address, &request("GET", "/", &address.to_string(), ""));
    assert_eq!(code, 200);
    assert!(
        body.contains("no daemon listens at /nonexistent/live.sock"),
        "{body}"
    );
    assert!(
        head.contains("content-security-policy: default-src 'none'; style-src 'self'"),
        "{head}"
    );
    assert!(
        head.contains("cache-control: no-store") && head.contains("x-frame-options: deny"),
        "{head}"
    );
    for (path, part) in [("/board.css", "color-scheme"), ("/board.js", "DOMParser")] {
        let (code, _, body) = ask(address, &request("GET", path, "localhost", ""));
        assert!(code == 200 && body.contains(part), "{path}");
    }
}

#[test]
fn a_name_that_resolves_to_this_host_gets_nothing() {
    let address = board(None);
    let port = address.port();
    for (host, expected) in [
        (format!("127.0.0.1:{port}"), 200),
        (format!("LOCALHOST:{port}"), 200),
        (format!("[::1]:{port}"), 200),
        ("[::1]".into(), 200),
        (format!("evil.example:{port}"), 421),
        (format!("127.0.0.1.evil.example:{port}"), 421),
        (format!("localhost.evil.example:{port}"), 421),
        (String::new(), 421),
    ] {
        let (code, _, body) = ask(address, &request("GET", "/", &host, ""));
        assert_eq!(code, expected, "{host}");
        assert_eq!(
            body.contains("What holds connections back"),
            expected == 200,
            "{host}"
        );
    }
    let (code, _, _) = ask(address, "GET / HTTP/1.0\r\n\r\n");
    assert_eq!(code, 421);
}

#[test]
fn nothing_can_be_changed_and_there_is_one_page() {
    let address = board(None);
    let host = address.to_string();
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        let (code, head, _) = ask(
            address,
            &request(method, "/", &host, "Content-Length: 0\r\n"),
        );
        assert!(
            code == 405 && head.contains("allow: get, head"),
            "{method}: {head}"
        );
    }
    for path in ["/../etc/passwd", "/status", "/%2e%2e/"] {
        assert_eq!(
            ask(address, &request("GET", path, &host, "")).0,
            404,
            "{path}"
        );
    }
    let cross = request("GET", "/board.js", &host, "Sec-Fetch-Site: cross-site\r\n");
    assert_eq!(ask(address, &cross).0, 403);
    let (code, _, body) = ask(address, &request("HEAD", "/", &host, ""));
    assert_eq!((code, body.as_str()), (200, ""));
}

#[test]
fn clients_that_send_no_whole_request_delay_nobody() {
    let address = board(None);
    let half: Vec<TcpStream> = (0..200)
        .map(|_| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream
                .write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
                .unwrap();
            stream
        })
        .collect();
    let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
    let before = threads();
    assert_eq!(ask(address, &request("GET", "/", "localhost", "")).0, 200);
    // Other tests of this binary have threads, too.
    assert!(threads() < before + 100);
    // The oldest have made room for younger ones.
    let mut oldest = &half[0];
    assert!(matches!(oldest.read(&mut [0]), Ok(0) | Err(_)));
    // A late end of a head is in time.
    let mut youngest = &half[199];
    youngest.write_all(b"\r\n").unwrap();
    let mut reply = String::new();
    youngest.read_to_string(&mut reply).unwrap();
    assert!(reply.starts_with("HTTP/1.1 200 OK\r\n"), "{reply}");
}

#[test]
fn what_is_no_request_or_too_long_is_refused() {
    let address = board(None);
    assert_eq!(ask(address, "hello\r\n\r\n").0, 400);
    assert_eq!(
        ask(
            address,
            &request("GET", "/", "localhost", &"X: y\r\n".repeat(200))
        )
        .0,
        431
    );
    assert_eq!(
        ask(
            address,
            &request(
                "GET",
                "/",
                "localhost",
                &format!("X: {}\r\n", "y".repeat(20_000))
            )
        )
        .0,
        431
    );
    // Bytes after the head do not cut off the reply.
    let (code, _, body) = ask(
        address,
        &(request("GET", "/board.js", "localhost", "") + &"z".repeat(100_000)),
    );
    assert!(code == 200 && body.len() > 500);
}

#[test]
fn with_a_token_only_its_holder_gets_the_page() {
    let token = token().unwrap();
    assert!(token.len() == 32 && token != super::token().unwrap());
    let address = board(Some(&token));
    let host = address.to_string();
    let code = |target: &str| ask(address, &request("GET", target, &host, "")).0;
    assert_eq!(code(&format!("/?token={token}")), 200);
    assert_eq!(code("/"), 403);
    assert_eq!(code("/?token="), 403);
    assert_eq!(code(&format!("/?token={}", &token[1..])), 403);
    assert_eq!(code(&format!("/?token={token}0")), 403);
    assert_eq!(code("/board.css"), 200);
    let board = Board::open(
        "127.0.0.1:0".parse().unwrap(),
        Path::new("/x"),
        Some(token.clone()),
    )
    .unwrap();
    assert!(
        board.url().starts_with("http://127.0.0.1:")
            && board.url().ends_with(&format!("/?token={token}"))
    );
}

#[test]
fn the_page_has_interfaces_quotas_reasons_and_what_holds_back() {
    let html = page(&seen(Ok(samples::everything())));
    for part in [
        "</p>\n<p>Today 1322 J; with all paths always at least 26.5 kJ (modelled for 8.60 MB over MPTCP, if \
             every transfer uses the full rate of all paths).",
        "<th scope=\"row\">wlp0s20f3</th>",
        "<span class=\"role\">backup</span>",
        "<td>1235</td><td>1234</td>",
        "8.10 GB since 2026-11-01",
        "<meter min=\"0\" max=\"1\" value=\"0.81\">",
        "frugal",
        "next best 22.3 J over wwan0",
        "192.0.2.9:443: plain-tcp: the program uses plain TCP",
        "<code>joulepath run -- curl</code>",
        "3 s ago",
        "NetworkManager 1.42.4 runs",
        "<code>sudo joulepath live --programs</code>",
    ] {
        assert!(html.contains(part), "{part}\n{html}");
    }
    // It is not allowed to be used.
    assert!(!html.contains("docker0"));
    let none = page(&seen(Ok(Status {
        why: Some(vec![]),
        ..samples::status()
    })));
    assert!(none.contains("Nothing was found that can be fixed."));
    assert!(page(&seen(Ok(samples::status()))).contains("Not examined yet"));
}

#[test]
fn connections_are_listed_fastest_first() {
    use joulepath_why::report::Examined;

    let one = |remote: &str, received_bps| Examined {
        local: "192.0.2.1:4000".into(),
        remote: remote.into(),
        protocol: "mptcp",
        uid: None,
        program: None,
        subflows: 2,
        over: vec!["wlan0".into(), "wwan0".into()],
        sent_bps: 0.0,
        received_bps,
        findings: vec![],
    };
    let mut connections = vec![one("192.0.2.8:80", 1e3); 40];
    connections.push(one("192.0.2.9:443", 5e6));
    let report = Arc::new(Report {
        schema: 1,
        seconds: 6.0,
        connections,
    });
    let observed = Observed {
        report: Some(report),
        trouble: None,
    };
    let html = page(&Seen {
        status: Err("no daemon".into()),
        observed,
    });
    assert!(
        html.contains("wlan0, wwan0") && html.contains("1 slower ones are not shown"),
        "{html}"
    );
    let observed = Observed {
        report: None,
        trouble: Some("no mptcp_diag".into()),
    };
    let unlisted = page(&Seen {
        status: Err("no daemon".into()),
        observed,
    });
    assert!(unlisted.contains("Connections cannot be listed: no mptcp_diag"));
    assert!(html.find("192.0.2.9:443").unwrap() < html.find("192.0.2.8:80").unwrap());
}

#[test]
fn text_of_others_is_escaped() {
    let mut hostile = samples::status();
    let script = "<script>alert(1)</script>\"'";
    hostile.interfaces[0].name = script.into();
    hostile.warnings = vec![script.into()];
    hostile.events[0].text = script.into();
    let verdict = script.to_owned();
    let hindrance = joulepath_live::status::Hindrance {
        verdict,
        fix: vec![script.into()],
        ..samples::hindrance()
    };
    let html = page(&seen(Ok(Status {
        why: Some(vec![hindrance]),
        ..hostile
    })));
    assert!(
        !html.contains("<script>alert") && html.matches("alert(1)").count() >= 5,
        "{html}"
    );
}

/// `JOULEPATH_WRITE_DOCS=1` writes the file.
#[test]
fn the_daemon_of_the_browser_test_answers_with_the_sample() {
    let status = samples::everything();
    let json = serde_json::to_string_pretty(&status).unwrap() + "\n";
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/status.json");
    if std::env::var_os("JOULEPATH_WRITE_DOCS").is_some() {
        std::fs::write(&file, &json).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(&file).unwrap(),
        json,
        "JOULEPATH_WRITE_DOCS=1 writes it"
    );
}
