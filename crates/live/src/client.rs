//! The other end of the control socket.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::error::{Error, Result};
use crate::server::Request;
use crate::status::Status;

/// A daemon answers within this time, or hangs.
const PATIENCE: Duration = Duration::from_secs(5);
/// A daemon that is busy is asked again for so long.
const WHILE_BUSY: Duration = Duration::from_secs(3);
const AGAIN: Duration = Duration::from_millis(200);
/// Longest answer that is read, bytes.
const LONGEST_ANSWER: u64 = 4 << 20;

/// Asks the daemon at a socket; it answers with its status as it was before a command took effect.
///
/// # Errors
/// [`Error::Refused`] if none is there, if this user may not, or if it is another version.
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

/// Why there is no answer.
enum Asked {
    /// Soon there may be one.
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
            remedy: "start one: joulepath live --config FILE".into(),
        },
        ErrorKind::WouldBlock | ErrorKind::TimedOut => Error::Refused {
            what: format!("the daemon at {} does not answer", socket.display()),
            remedy: "it may be busy: ask again".into(),
        },
        _ => Error::File { path: socket.display().to_string(), source: error },
    })?;
    let malformed = |why: String| Error::Refused {
        what: format!("the answer of the daemon cannot be read: {why}"),
        remedy: "is it of another version? restart it".into(),
    };
    let answer: Value = serde_json::from_str(&line).map_err(|error| malformed(error.to_string()))?;
    if let Some(error) = answer.get("error") {
        let message = answer.pointer("/parameters/message").and_then(Value::as_str).unwrap_or_default();
        let error = error.as_str().unwrap_or_default();
        let remedy = match error {
            "not-permitted" => "ask as root, or as a member of a group of `[control]`",
            "not-ready" | "busy" => "ask again",
            _ => "see docs/live-toml.md for what can be asked",
        };
        let refused = Error::Refused { what: message.to_owned(), remedy: remedy.into() };
        return Err(if error == "busy" { Asked::Busy(refused) } else { Asked::Failed(refused) });
    }
    Ok(serde_json::from_value(answer["parameters"].clone()).map_err(|error| malformed(error.to_string()))?)
}

fn exchange(socket: &Path, request: &Request) -> std::io::Result<String> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let sent = stream.write_all((request.line() + "\n").as_bytes());
    // A daemon that has no place for a client says so and hangs up, perhaps before the request is sent.
    let mut line = String::new();
    let read = BufReader::new(stream.take(LONGEST_ANSWER)).read_line(&mut line);
    if line.is_empty() {
        sent?;
        read?;
        return Err(std::io::Error::new(
            ErrorKind::UnexpectedEof,
            "the daemon has hung up without an answer",
        ));
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn a_daemon_that_is_busy_is_asked_again_and_in_the_end_reported() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let (said, count) = std::sync::mpsc::channel();
        thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                // As the daemon does: the request is not read.
                let _ = stream.write_all(b"{\"error\":\"busy\",\"parameters\":{\"message\":\"no place\"}}\n");
                said.send(()).unwrap();
            }
        });
        let error = ask(&socket, &Request::Status).unwrap_err();
        let Error::Refused { what, remedy } = &error else { panic!("{error:?}") };
        assert_eq!((what.as_str(), remedy.as_str()), ("no place", "ask again"));
        assert!(count.try_iter().count() > 1);
    }
}
