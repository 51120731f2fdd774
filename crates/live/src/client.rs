//! The client of the control socket.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::error::{Error, Result};
use crate::server::Request;
use crate::status::Status;

/// Time limit for the daemon's answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long to retry while the daemon is busy.
const WHILE_BUSY: Duration = Duration::from_secs(3);
const AGAIN: Duration = Duration::from_millis(200);
/// Longest answer accepted, bytes.
const LONGEST_ANSWER: u64 = 4 << 20;

/// Sends a request. The answer is the status before the command took effect.
///
/// # Errors
/// [`Error::Refused`] if no daemon listens, this user lacks permission, or the versions differ.
pub fn ask(socket: &Path, request: &Request) -> Result<Status> {
    let begun = Instant::now();
    loop {
        match ask_once(socket, request) {
            Err(Asked::Busy(_)) if begun.elapsed() < WHILE_BUSY => thread::sleep(AGAIN),
            Err(Asked::Busy(error) | Asked::Failed(error)) => return Err(error),
            Ok(status) => return Ok(status),
        }
    }
}

/// Why no answer came.
enum Asked {
    /// A retry may succeed.
    Busy(Error),
    Failed(Error),
}

impl From<Error> for Asked {
    fn from(error: Error) -> Self {
        Asked::Failed(error)
    }
}

fn ask_once(socket: &Path, request: &Request) -> Result<Status, Asked> {
    let line = exchange(socket, request).map_err(|error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::ConnectionRefused => Error::Refused {
            what: format!("no daemon listens at {}", socket.display()),
            remedy: "start it: sudo joulepath on".into(),
        },
        ErrorKind::WouldBlock | ErrorKind::TimedOut => Error::Refused {
            what: format!("the daemon at {} does not answer", socket.display()),
            remedy: "it may be busy: try again".into(),
        },
        _ => Error::File {
            path: socket.display().to_string(),
            source: error,
        },
    })?;
    let malformed = |why: String| Error::Refused {
        what: format!("cannot parse the daemon's answer: {why}"),
        remedy: "it may be another version: restart it".into(),
    };
    let answer: Value =
        serde_json::from_str(&line).map_err(|error| malformed(error.to_string()))?;
    if let Some(error) = answer.get("error") {
        let message = answer
            .pointer("/parameters/message")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let error = error.as_str().unwrap_or_default();
        let remedy = match error {
            "not-permitted" => "run as root, or as a member of a group in `[control]`",
            "not-ready" | "busy" => "try again",
            _ => "docs/live-toml.md lists the requests",
        };
        let refused = Error::Refused {
            what: message.to_owned(),
            remedy: remedy.into(),
        };
        return Err(if error == "busy" {
            Asked::Busy(refused)
        } else {
            Asked::Failed(refused)
        });
    }
    Ok(serde_json::from_value(answer["parameters"].clone())
        .map_err(|error| malformed(error.to_string()))?)
}

fn exchange(socket: &Path, request: &Request) -> std::io::Result<String> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let sent = stream.write_all((request.line() + "\n").as_bytes());
    // A full daemon reports that and hangs up, perhaps before the request is sent.
    let mut line = String::new();
    let read = BufReader::new(stream.take(LONGEST_ANSWER)).read_line(&mut line);
    if line.is_empty() {
        sent?;
        read?;
        return Err(std::io::Error::new(
            ErrorKind::UnexpectedEof,
            "the daemon closed the connection without an answer",
        ));
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn the_client_retries_a_busy_daemon_and_then_reports_it() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let (said, count) = std::sync::mpsc::channel();
        thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                // As the daemon does: hang up without reading the request.
                let _ = stream
                    .write_all(b"{\"error\":\"busy\",\"parameters\":{\"message\":\"no place\"}}\n");
                said.send(()).unwrap();
            }
        });
        let error = ask(&socket, &Request::Status).unwrap_err();
        let Error::Refused { what, remedy } = &error else {
            panic!("{error:?}")
        };
        assert_eq!((what.as_str(), remedy.as_str()), ("no place", "try again"));
        assert!(count.try_iter().count() > 1);
    }
}
