//! What a connection through the relay does, and a direct one does too.

use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::thread;

use joulepath_relay::config::Method;
use socket2::SockRef;

use crate::ends::{Ends, Setup, client, read, server};

/// Bytes that differ by place.
fn pattern(count: usize) -> Vec<u8> {
    (0..count as u64)
        .map(|place| (place.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8)
        .collect()
}

#[test]
fn bytes_arrive_in_both_directions_at_once_with_both_ciphers() {
    for method in [Method::Aes256Gcm, Method::ChaCha20Poly1305] {
        let ends = Ends::new(Setup {
            method,
            ..Setup::default()
        });
        let (address, accept) = server();
        let mut stream = ends.socks(address);
        let mut far = accept();
        // Larger than all buffers on the way.
        let bytes = pattern(12 << 20);
        let (up, down) = (bytes.clone(), bytes.clone());
        let (mut sender, mut echo) = (stream.try_clone().unwrap(), far.try_clone().unwrap());
        let writers = [
            thread::spawn(move || sender.write_all(&up).unwrap()),
            thread::spawn(move || echo.write_all(&down).unwrap()),
        ];
        let reader = thread::spawn(move || read(&mut far, 12 << 20));
        assert!(read(&mut stream, bytes.len()) == bytes);
        assert!(reader.join().unwrap() == bytes);
        for writer in writers {
            writer.join().unwrap();
        }
    }
}

#[test]
fn a_half_close_leaves_the_other_direction_open() {
    let ends = Ends::new(Setup::default());
    let (address, accept) = server();
    let mut stream = ends.socks(address);
    let mut far = accept();
    stream.write_all(b"question").unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut question = String::new();
    far.read_to_string(&mut question).unwrap();
    assert_eq!(question, "question");
    // The server answers after the end of the question.
    far.write_all(b"answer").unwrap();
    far.shutdown(Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert_eq!(answer, "answer");
}

#[test]
fn a_server_may_end_its_direction_first_and_without_a_byte() {
    let ends = Ends::new(Setup::default());
    let (address, accept) = server();
    let mut stream = ends.socks(address);
    let mut far = accept();
    far.shutdown(Shutdown::Write).unwrap();
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    stream.write_all(b"still open").unwrap();
    assert_eq!(read(&mut far, 10), b"still open");
}

#[test]
fn a_reset_by_the_server_resets_the_program() {
    let ends = Ends::new(Setup::default());
    let (address, accept) = server();
    let mut stream = ends.socks(address);
    let far = accept();
    SockRef::from(&far)
        .set_linger(Some(std::time::Duration::ZERO))
        .unwrap();
    drop(far);
    let error = stream.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

#[test]
fn a_reset_by_the_program_resets_the_server_also_after_a_half_close() {
    for half_closed in [false, true] {
        let ends = Ends::new(Setup::default());
        let (address, accept) = server();
        let mut stream = ends.socks(address);
        let mut far = accept();
        if half_closed {
            far.shutdown(Shutdown::Write).unwrap();
            assert_eq!(stream.read(&mut [0]).unwrap(), 0);
        }
        SockRef::from(&stream)
            .set_linger(Some(std::time::Duration::ZERO))
            .unwrap();
        drop(stream);
        let error = far.read(&mut [0]).unwrap_err();
        assert_eq!(
            error.kind(),
            ErrorKind::ConnectionReset,
            "half closed: {half_closed}"
        );
    }
}

#[test]
fn a_server_that_does_not_read_stops_the_program() {
    let ends = Ends::new(Setup::default());
    let (address, accept) = server();
    let mut stream = ends.socks(address);
    let mut far = accept();
    // Until a write has to wait for two seconds: all buffers are full, sockets' and ours. On a busy
    // machine some may have room left; the rest holds nevertheless.
    stream
        .set_write_timeout(Some(std::time::Duration::from_secs(2)))
        .unwrap();
    let chunk = pattern(1 << 16);
    let mut sent = 0;
    loop {
        match stream.write(&chunk[sent % chunk.len()..]) {
            Ok(taken) => sent += taken,
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) => panic!("{error}"),
        }
        assert!(
            sent < 256 << 20,
            "the relay takes everything, though the server does not read"
        );
    }
    // Nothing is lost when the server reads.
    stream.shutdown(Shutdown::Write).unwrap();
    let mut place = 0;
    let mut bytes = vec![0; chunk.len()];
    loop {
        let got = far
            .read(&mut bytes[..chunk.len() - place % chunk.len()])
            .unwrap();
        if got == 0 {
            break;
        }
        let from = place % chunk.len();
        assert!(bytes[..got] == chunk[from..from + got]);
        place += got;
    }
    assert_eq!(place, sent);
}

#[test]
fn a_busy_connection_does_not_starve_others() {
    let ends = Ends::new(Setup::default());
    let (address, accept) = server();
    let mut busy = ends.socks(address);
    let mut sink = accept();
    let writer = thread::spawn(move || {
        let chunk = pattern(1 << 18);
        while busy.write_all(&chunk).is_ok() {}
    });
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let reader = thread::spawn(move || {
        let mut bytes = vec![0; 1 << 18];
        while stopped.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
            sink.read_exact(&mut bytes).unwrap();
        }
    });
    let (address, accept) = server();
    let mut stream = ends.socks(address);
    let mut far = accept();
    for round in 0..50 {
        stream.write_all(&[round; 100]).unwrap();
        assert_eq!(read(&mut far, 100), [round; 100]);
        far.write_all(&[round; 100]).unwrap();
        assert_eq!(read(&mut stream, 100), [round; 100]);
    }
    drop(stop);
    reader.join().unwrap();
    writer.join().unwrap();
}

#[test]
fn further_connections_wait_for_a_place() {
    let ends = Ends::new(Setup {
        serve: "allow_private = [\"127.0.0.0/8\"]\nmost_connections = 1",
        ..Setup::default()
    });
    let (address, accept) = server();
    let mut first = ends.socks(address);
    let mut far = accept();
    let (address, accept) = server();
    let mut second = ends.socks(address);
    second.write_all(b"waiting").unwrap();
    let (done, reached) = std::sync::mpsc::channel();
    let reader = thread::spawn(move || {
        let mut far = accept();
        done.send(()).unwrap();
        read(&mut far, 7)
    });
    // The first one works meanwhile.
    first.write_all(b"x").unwrap();
    assert_eq!(read(&mut far, 1), b"x");
    assert!(
        reached
            .recv_timeout(std::time::Duration::from_millis(300))
            .is_err()
    );
    drop((first, far));
    assert_eq!(reader.join().unwrap(), b"waiting");
}

#[test]
fn http_connect_reaches_a_server_by_name() {
    let ends = Ends::new(Setup {
        serve: "allow_private = [\"127.0.0.0/8\", \"::1\"]",
        ..Setup::default()
    });
    let (address, accept) = server();
    let mut stream = client(ends.http);
    // With the first bytes for the server behind the request.
    write!(
        stream,
        "CONNECT localhost:{} HTTP/1.1\r\nHost: x\r\n\r\nhello",
        address.port()
    )
    .unwrap();
    let mut far = accept();
    assert_eq!(read(&mut far, 5), b"hello");
    let wanted = b"HTTP/1.1 200 Connection established\r\n\r\n";
    assert_eq!(read(&mut stream, wanted.len()), wanted);
    far.write_all(b"world").unwrap();
    assert_eq!(read(&mut stream, 5), b"world");
}

#[test]
fn connections_that_are_open_when_an_end_stops_are_reset_not_ended() {
    let ends = Ends::new(Setup::default());
    let (address, accept) = server();
    let mut stream = ends.socks(address);
    let mut far = accept();
    far.write_all(b"half a file").unwrap();
    assert_eq!(read(&mut stream, 11), b"half a file");
    drop(ends);
    assert_eq!(
        stream.read(&mut [0]).unwrap_err().kind(),
        ErrorKind::ConnectionReset
    );
    assert_eq!(
        far.read(&mut [0]).unwrap_err().kind(),
        ErrorKind::ConnectionReset
    );
}
