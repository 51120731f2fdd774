//! What datagrams through the relay do, and who gets none.

use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::thread;
use std::time::Duration;

use joulepath_relay::config::Method;

use crate::ends::{Ends, LONG, Setup};

/// Time in which nothing may arrive.
const QUIET: Duration = Duration::from_millis(300);

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(LONG)).unwrap();
    socket
}

/// A program's socket that sends to this address.
fn program(to: SocketAddr) -> UdpSocket {
    let socket = socket();
    socket.connect(to).unwrap();
    socket
}

fn receive(socket: &UdpSocket) -> (Vec<u8>, SocketAddr) {
    let mut buffer = vec![0; 65_536];
    let (length, from) = socket.recv_from(&mut buffer).unwrap();
    buffer.truncate(length);
    (buffer, from)
}

/// Both ends with a door to each server.
fn ends(servers: &[SocketAddr], setup: Setup<'_>) -> Ends {
    let doors: String = servers
        .iter()
        .map(|to| format!("[[udp]]\nlisten = \"127.0.0.1:0\"\nto = \"{to}\"\n"))
        .collect();
    let change = setup.connect;
    let serve = format!("{}\nudp = true", setup.serve);
    Ends::new(Setup {
        serve: &serve,
        connect: Box::new(move |text| {
            change(text) + "daemon = \"/nonexistent/live.sock\"\n" + &doors
        }),
        ..setup
    })
}

#[test]
fn each_program_gets_the_answers_to_its_own_questions() {
    for method in [Method::Aes256Gcm, Method::ChaCha20Poly1305] {
        let servers = [socket(), socket()];
        let addresses = servers.each_ref().map(|one| one.local_addr().unwrap());
        let setup = Setup {
            method,
            ..Setup::default()
        };
        let ends = ends(&addresses, setup);
        // Two programs at the first door, one at the second.
        let programs = [0, 0, 1].map(|door| (door, program(ends.udp[door])));
        let mut froms = vec![];
        for (number, (door, program)) in programs.iter().enumerate() {
            // Like a question of DNS with a name of this length.
            let question = vec![number as u8; 40 + number];
            program.send(&question).unwrap();
            let (found, from) = receive(&servers[*door]);
            assert_eq!(found, question);
            froms.push(from);
        }
        // The answers come in another order, and are larger.
        for (number, (door, _)) in programs.iter().enumerate().rev() {
            servers[*door]
                .send_to(&vec![number as u8; 1200], froms[number])
                .unwrap();
        }
        for (number, (_, program)) in programs.iter().enumerate() {
            assert_eq!(receive(program).0, vec![number as u8; 1200]);
        }
    }
}

#[test]
fn a_call_passes_in_order_in_both_directions_and_empty_and_large_datagrams_too() {
    let server = socket();
    let ends = ends(&[server.local_addr().unwrap()], Setup::default());
    let client = program(ends.udp[0]);
    client.send(&[]).unwrap();
    let (empty, near) = receive(&server);
    assert!(empty.is_empty());
    // As much as UDP over IPv4 carries beside what the relay adds.
    let large = vec![7; 65_000];
    client.send(&large).unwrap();
    assert!(receive(&server).0 == large);
    // 50 datagrams per second and direction, as in a call.
    let far = server.try_clone().unwrap();
    let speaker = thread::spawn(move || {
        for number in 0..50_u8 {
            far.send_to(&[number; 160], near).unwrap();
            thread::sleep(Duration::from_millis(20));
        }
    });
    for number in 0..50_u8 {
        client.send(&[number; 160]).unwrap();
        assert_eq!(receive(&server).0, [number; 160]);
        assert_eq!(receive(&client).0, [number; 160]);
    }
    speaker.join().unwrap();
}

/// Nothing arrives.
fn is_quiet(socket: &UdpSocket) {
    socket.set_read_timeout(Some(QUIET)).unwrap();
    let error = socket.recv(&mut [0; 100]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
}

#[test]
fn a_stranger_gets_no_answer_whatever_it_sends() {
    let ends = ends(&[], Setup::default());
    let stranger = program(ends.serve);
    for length in [0, 1, 24, 40, 41, 100, 1400] {
        stranger.send(&vec![0; length]).unwrap();
    }
    is_quiet(&stranger);
    ends.wait_for("datagram from 127.0.0.1 refused: it has another key or method");
}

#[test]
fn a_recorded_datagram_is_not_forwarded_again_and_leads_no_answers_elsewhere() {
    // The near end sends to us, and we pass on what it sends.
    let middle = socket();
    let to_middle = middle.local_addr().unwrap().to_string();
    let server = socket();
    let ends = ends(
        &[server.local_addr().unwrap()],
        Setup {
            connect: Box::new(move |text| {
                let (head, rest) = text.split_once("server = \"").unwrap();
                let (_, rest) = rest.split_once('"').unwrap();
                format!("{head}server = \"{to_middle}\"{rest}")
            }),
            ..Setup::default()
        },
    );
    let client = program(ends.udp[0]);
    client.send(b"once").unwrap();
    // The datagram, not a ping: those are shorter.
    let (recorded, near) = loop {
        let (bytes, from) = receive(&middle);
        if bytes.len() > 60 {
            break (bytes, from);
        }
    };
    middle.send_to(&recorded, ends.serve).unwrap();
    let (found, far) = receive(&server);
    assert_eq!(found, b"once");
    let thief = program(ends.serve);
    thief.send(&recorded).unwrap();
    is_quiet(&server);
    server.send_to(b"answer", far).unwrap();
    is_quiet(&thief);
    let answer = loop {
        let (bytes, from) = receive(&middle);
        if from == ends.serve {
            break bytes;
        }
    };
    // From any address: the near end checks only the key.
    middle.send_to(&answer, near).unwrap();
    assert_eq!(receive(&client).0, b"answer");
    middle.send_to(&answer, near).unwrap();
    is_quiet(&client);
}

#[test]
fn private_destinations_and_too_many_flows_are_refused() {
    let server = socket();
    let address = server.local_addr().unwrap();
    let private = ends(
        &[address],
        Setup {
            serve: "",
            ..Setup::default()
        },
    );
    program(private.udp[0]).send(b"x").unwrap();
    private.wait_for("clients may not reach private addresses or this machine");
    drop(private);
    let full = ends(
        &[address],
        Setup {
            connect: Box::new(|text| text + "most_connections = 1\n"),
            ..Setup::default()
        },
    );
    program(full.udp[0]).send(b"first").unwrap();
    assert_eq!(receive(&server).0, b"first");
    program(full.udp[0]).send(b"second").unwrap();
    full.wait_for("is lost: there are 1 flows, `most_connections`");
}
