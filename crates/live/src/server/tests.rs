//! The socket as clients use it.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;

use joulepath_model::live::ControlConfig;
use proptest::prelude::*;
use serde_json::Value;

use super::*;

/// A server in `folder` of the user who runs the tests, and who may do everything.
fn server(folder: &Path) -> Server {
    let (own_uid, socket) = (folder.metadata().unwrap().uid(), folder.join("sock"));
    let config = ControlConfig {
        socket: socket.display().to_string(),
        readers: None,
        commanders: None,
    };
    Server::listen(&socket, Rules::new(&config, own_uid).0).unwrap()
}

/// Answers each request with itself.
fn serve(server: &mut Server, id: ClientId, now: Nanos) -> Served {
    let Heard { requests, then, .. } = server.hear(id, now);
    let told = requests
        .into_iter()
        .all(|one| server.tell(id, &one.map(|request| request.line())));
    if told { then } else { Served::Goes }
}

/// The answers to `bytes`, and whether the client stays.
fn answers(server: &mut Server, bytes: &[u8]) -> (Vec<Value>, bool) {
    let mut stream = UnixStream::connect(&server.path).unwrap();
    stream.write_all(bytes).unwrap();
    let [id] = server.accept(Nanos::ZERO).new[..] else {
        panic!("one client")
    };
    let mut served = Served::Stays;
    // Each call reads once.
    for _ in 0..=bytes.len() / LONGEST_LINE {
        if served == Served::Stays {
            served = serve(server, id, Nanos::ZERO);
        }
    }
    let stays = served == Served::Stays;
    server.close(id);
    let lines = BufReader::new(stream).lines();
    (
        lines
            .map_while(|line| serde_json::from_str(&line.ok()?).ok())
            .collect(),
        stays,
    )
}

#[test]
fn each_line_is_answered_and_an_incomplete_line_waits() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = server(folder.path());
    let (said, stays) = answers(&mut server, b"{\"method\":\"status\"}\n\nx\n{\"method\"");
    assert!(stays);
    assert_eq!(said.len(), 2);
    assert_eq!(said[0]["parameters"], "{\"method\":\"status\"}");
    assert_eq!(said[1]["error"], "invalid-request");
}

#[test]
fn a_whole_line_does_not_count_towards_the_length_of_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = server(folder.path());
    let mut stream = UnixStream::connect(&server.path).unwrap();
    let [id] = server.accept(Nanos::ZERO).new[..] else {
        panic!("one client")
    };
    stream.write_all(b"{\"method\":\"status\"}\n").unwrap();
    stream.write_all(&[b'x'; LONGEST_LINE - 1]).unwrap();
    // Each call reads at most `LONGEST_LINE` bytes.
    let [first, second] = [0; 2].map(|_| server.hear(id, Nanos::ZERO));
    assert_eq!((first.requests.len(), first.then), (1, Served::Stays));
    assert!(first.asker.may_command && first.asker.privileged);
    assert_eq!((second.requests.len(), second.then), (0, Served::Stays));
}

#[test]
fn readers_may_not_command() {
    for (access, reads, commands) in [
        (Access::None, false, false),
        (Access::Read, true, false),
        (Access::Command, true, true),
    ] {
        assert_eq!(is_permitted(access, &Request::Status), reads);
        let set = Request::SetIntent {
            interface: None,
            intent: None,
        };
        for request in [Request::Pause, Request::Resume, set] {
            assert_eq!(
                is_permitted(access, &request),
                commands,
                "{access:?} {request:?}"
            );
        }
    }
}

#[test]
fn an_endless_line_and_an_excess_client_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = server(folder.path());
    let (said, stays) = answers(&mut server, &[b'x'; 3 * LONGEST_LINE]);
    assert!(
        !stays
            && said[0]["parameters"]["message"]
                .as_str()
                .unwrap()
                .contains("4096 bytes")
    );
    let mut all = vec![];
    let mut accepted = Accepted::default();
    for _ in 0..=MOST_CLIENTS {
        all.push(UnixStream::connect(&server.path).unwrap());
        accepted.new.extend(server.accept(Nanos::ZERO).new);
    }
    assert_eq!(accepted.new.len(), MOST_CLIENTS);
    let mut line = String::new();
    BufReader::new(&all[MOST_CLIENTS])
        .read_line(&mut line)
        .unwrap();
    assert!(line.contains("\"busy\""), "{line}");
}

#[test]
fn idle_clients_make_room_for_new_ones_and_are_disconnected_later() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = server(folder.path());
    let mut all: Vec<UnixStream> = vec![];
    for _ in 0..MOST_CLIENTS {
        all.push(UnixStream::connect(&server.path).unwrap());
        assert_eq!(server.accept(Nanos::ZERO).new.len(), 1);
    }
    // The second client sends a request, so the first is idle longest.
    all[1].write_all(b"{\"method\":\"status\"}\n").unwrap();
    let (later, id) = (Nanos::from_secs(2), 1);
    assert_eq!(serve(&mut server, id, later), Served::Stays);
    let _new = UnixStream::connect(&server.path).unwrap();
    let accepted = server.accept(later);
    assert_eq!((accepted.new.len(), &accepted.gone[..]), (1, &[0][..]));
    server.close(0);
    let mut line = String::new();
    BufReader::new(&all[0]).read_line(&mut line).unwrap();
    assert!(line.contains("\"busy\""), "{line}");
    let end = IDLE.saturating_add(Nanos::from_secs(1));
    assert_eq!(server.next_due(), Some(IDLE));
    assert_eq!(
        server.due(end).gone,
        (2..MOST_CLIENTS as u64).collect::<Vec<_>>()
    );
}

#[test]
fn a_user_over_the_time_limit_waits_and_so_do_too_many_connections() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = server(folder.path());
    let mut stream = UnixStream::connect(&server.path).unwrap();
    let [id] = server.accept(Nanos::ZERO).new[..] else {
        panic!("one client")
    };
    stream.write_all(&[b'\n'; LONGEST_LINE]).unwrap();
    assert_eq!(serve(&mut server, id, Nanos::ZERO), Served::Stays);
    server.charge(id, Nanos::from_secs(1), Nanos::ZERO);
    assert_eq!(serve(&mut server, id, Nanos::ZERO), Served::Waits);
    let until = server.next_due().unwrap();
    assert!(until > Nanos::from_secs(1), "{until:?}");
    assert_eq!(server.due(Nanos(until.0 - 1)), Due::default());
    assert_eq!(server.due(until).served, [id]);
    assert_eq!(serve(&mut server, id, until), Served::Stays);

    let _all: Vec<UnixStream> = (0..MOST_ACCEPTED)
        .map(|_| UnixStream::connect(&server.path).unwrap())
        .collect();
    server.accept(until);
    assert!(server.is_paused());
    assert!(!server.due(until).accepts);
    assert!(server.due(until.saturating_add(WINDOW)).accepts && !server.is_paused());
}

#[test]
fn the_socket_of_a_killed_daemon_is_replaced_and_of_a_running_one_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sock");
    drop(UnixListener::bind(&path).unwrap());
    let living = server(folder.path());
    let error = Server::listen(&path, Rules::default()).unwrap_err();
    assert!(matches!(error, Error::Busy { .. }), "{error}");
    drop(living);
    assert!(!path.exists());
    fs::write(&path, "mine").unwrap();
    let error = Server::listen(&path, Rules::default()).unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
}

proptest! {
    #[test]
    fn arbitrary_bytes_cause_no_panic_and_one_answer_per_line(
        bytes in prop::collection::vec(prop_oneof![4 => any::<u8>(), 1 => Just(b'\n')], 0..2000),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut server = server(folder.path());
        let lines = bytes.iter().filter(|&&byte| byte == b'\n').count();
        let (said, _) = answers(&mut server, &bytes);
        prop_assert!(said.len() <= lines + 1);
        prop_assert!(said.iter().all(|one| one.get("parameters").is_some()));
    }
}
