//! Who gets nothing from the relay.

use std::io::{ErrorKind, Read, Write};

use crate::ends::{Ends, Setup, client, read, server};

/// The file's text with another value of a key.
fn set(text: &str, key: &str, value: &str) -> String {
    let (head, rest) = text.split_once(&format!("{key} = \"")).unwrap();
    let (_, rest) = rest.split_once('"').unwrap();
    format!("{head}{key} = \"{value}\"{rest}")
}

/// The program gets no byte, and no proper end that it could take for an empty answer.
fn is_reset(stream: &mut std::net::TcpStream) {
    let error = stream.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

#[test]
fn a_wrong_key_is_refused_and_both_ends_say_so() {
    let ends = Ends::new(Setup {
        connect: Box::new(|text| set(&text, "key", &format!("{}=", "A".repeat(43)))),
        ..Setup::default()
    });
    let (address, _accept) = server();
    is_reset(&mut ends.socks(address));
    ends.wait_for("refused: it has another key or method");
    ends.wait_for("a connection was reset before an answer came");
}

#[test]
fn a_stranger_who_talks_to_the_far_end_gets_nothing() {
    let ends = Ends::new(Setup::default());
    let mut stream = client(ends.serve);
    stream
        .write_all(&[b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".as_slice(), &[b' '; 64]].concat())
        .unwrap();
    is_reset(&mut stream);
    ends.wait_for("refused: it has another key or method");
}

#[test]
fn a_recorded_request_is_refused_when_it_comes_again() {
    // The near end sends its request to us.
    let (middle, record) = server();
    let ends = Ends::new(Setup {
        connect: Box::new(move |text| set(&text, "server", &middle.to_string())),
        ..Setup::default()
    });
    let (address, accept) = server();
    let _program = ends.socks(address);
    let mut near = record();
    let mut request = vec![0; 4096];
    let length = near.read(&mut request).unwrap();
    let send = || {
        let mut stream = client(ends.serve);
        stream.write_all(&request[..length]).unwrap();
        stream
    };
    let _first = send();
    let _server = accept();
    is_reset(&mut send());
    ends.wait_for("refused: a recorded request came again");
}

#[test]
fn the_far_end_does_not_lead_into_its_own_machine() {
    let ends = Ends::new(Setup {
        serve: "",
        ..Setup::default()
    });
    let (address, _accept) = server();
    is_reset(&mut ends.socks(address));
    ends.wait_for("may not reach private addresses or this machine");
}

#[test]
fn nor_by_a_name_that_leads_there() {
    let ends = Ends::new(Setup {
        serve: "",
        ..Setup::default()
    });
    let (address, _accept) = server();
    let mut stream = client(ends.http);
    write!(
        stream,
        "CONNECT localhost:{} HTTP/1.1\r\n\r\n",
        address.port()
    )
    .unwrap();
    let mut head = [0; 12];
    stream.read_exact(&mut head).unwrap();
    assert_eq!(&head, b"HTTP/1.1 200");
    assert!(stream.read_to_end(&mut vec![]).is_err());
    ends.wait_for("may not reach private addresses or this machine");
}

#[test]
fn a_destination_that_refuses_resets_the_program() {
    let ends = Ends::new(Setup::default());
    let closed = server().0;
    is_reset(&mut ends.socks(closed));
    ends.wait_for("failed: Connection refused");
}

#[test]
fn a_far_end_that_cannot_be_reached_is_an_answer_of_the_protocol() {
    let ends = Ends::new(Setup {
        // A port that nothing listens on: the listener of the discarded server is closed.
        connect: Box::new(|text| set(&text, "server", &server().0.to_string())),
        ..Setup::default()
    });
    let mut stream = client(ends.http);
    write!(stream, "CONNECT 192.0.2.1:80 HTTP/1.1\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
    assert!(
        answer.ends_with("\r\n\r\nthe relay cannot be reached.\n"),
        "{answer}"
    );

    let mut stream = client(ends.socks);
    stream
        .write_all(&[5, 1, 0, 5, 1, 0, 1, 192, 0, 2, 1, 0, 80])
        .unwrap();
    assert_eq!(read(&mut stream, 12)[..4], [5, 0, 5, 1]);
    ends.wait_for("cannot reach the far end");
}

#[test]
fn an_unknown_congestion_controller_stops_the_start_with_the_way_to_load_it() {
    use joulepath_relay::config::{Method, ServeConfig};
    use joulepath_relay::{Kind, Serve, block_on, new};
    let folder = tempfile::tempdir().unwrap();
    let [file, _] = new::write(
        folder.path(),
        &"127.0.0.1:1".parse().unwrap(),
        Method::default(),
    )
    .unwrap();
    let mut config = ServeConfig::read(&file).unwrap();
    config.listen = "127.0.0.1:0".parse().unwrap();
    config.congestion = Some("nosuch".into());
    let error =
        block_on(async { Serve::new(config, std::sync::Arc::new(|_| {})).map(drop) }).unwrap_err();
    assert_eq!(error.kind, Kind::Unsupported);
    assert_eq!(
        error.to_string(),
        "`congestion`: the congestion controller nosuch: it is not loaded in this kernel"
    );
    assert!(error.next_step().unwrap().contains("modprobe tcp_nosuch"));
}
