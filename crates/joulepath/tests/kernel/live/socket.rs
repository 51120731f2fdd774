//! The daemon survives any input on its control socket.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use joulepath_model::random::{Domain, Stream};

use super::*;

/// Requests. All except the first are wrong or get damaged.
const REQUESTS: [&str; 5] = [
    r#"{"method": "status"}"#,
    r#"{"method": "set-intent", "parameters": {"intent": "interactive", "interface": "nothing"}}"#,
    r#"{"method": "set-intent", "parameters": {"intent": "cheap"}}"#,
    r#"{"method": "halt"}"#,
    r#"{"method": "status", "parameters": {"all": true}}"#,
];
const ROUNDS: usize = 3000;

/// A request, or one with changed bytes. None is a valid command.
fn request(draw: &mut Stream) -> Vec<u8> {
    let mut below = |bound: usize| draw.below(bound as u64) as usize;
    let mut line = REQUESTS[below(REQUESTS.len())].as_bytes().to_vec();
    for _ in 0..below(4) {
        let (at, byte) = (below(line.len()), below(256) as u8);
        match below(3) {
            0 => line[at] = byte,
            1 => line.insert(at, byte),
            _ => line.truncate(at.max(1)),
        }
    }
    if below(50) == 0 {
        line = vec![b'x'; 10_000];
    }
    // A part of a line, or several lines.
    if below(5) > 0 {
        line.push(b'\n');
    }
    line
}

/// Resident memory of a process, kB: the minimum of many readings, because each poll uses some for
/// a while.
fn resident_kb(pid: u32) -> u64 {
    let read = |_| {
        std::thread::sleep(Duration::from_millis(50));
        let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    };
    (0..20).map(read).min().unwrap()
}

#[test(needs(NET, ALONE))]
fn no_input_ends_the_daemon_or_makes_it_grow() {
    let host = Host::new();
    host.configure("intent = \"interactive\"", "");
    let daemon = host.start();
    let both = [(host.ip(0), false), (host.ip(1), true)];
    host.wait_for("endpoints appear", &both);
    let mut draw = Stream::new(1, Domain::Workload, 0);
    let (mut settled, mut refused, mut answered) = (0, 0, 0);
    for round in 0..ROUNDS {
        let mut stream = UnixStream::connect(host.socket()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        for _ in 0..1 + draw.below(3) {
            // The daemon closes a connection with an endless line.
            let _ = stream.write_all(&request(&mut draw));
        }
        if draw.below(10) == 0 {
            continue;
        }
        let _ = stream.shutdown(Shutdown::Write);
        let mut said = vec![];
        // Unread data makes the kernel reset the connection; then answers may be lost.
        let _ = stream.read_to_end(&mut said);
        for line in said
            .split(|&byte| byte == b'\n')
            .filter(|line| !line.is_empty())
        {
            let answer: Value = serde_json::from_slice(line).unwrap();
            match answer.get("error") {
                None => answered += usize::from(answer["parameters"]["schema"].is_u64()),
                Some(error) => {
                    let words = ["invalid-request", "unknown-method", "invalid-parameter"];
                    assert!(words.contains(&error.as_str().unwrap()), "{answer}");
                    assert!(
                        !answer["parameters"]["message"].as_str().unwrap().is_empty(),
                        "{answer}"
                    );
                    refused += 1;
                }
            }
        }
        if round == ROUNDS / 3 {
            settled = resident_kb(daemon.child.id());
        }
    }
    assert!(
        refused > ROUNDS / 2 && answered > ROUNDS / 20,
        "{refused} {answered}"
    );
    let grown_kb = resident_kb(daemon.child.id()).saturating_sub(settled);
    assert!(
        grown_kb < 1024,
        "{grown_kb} kB more than after a third of {ROUNDS} connections"
    );
    let status = host.status().unwrap();
    assert_eq!(
        (&status["paused"], &status["intent"]),
        (&Value::Bool(false), &"interactive".into())
    );
    assert_eq!(host.endpoints(), both);
    assert_eq!(daemon.stop(), Some(0));
}
