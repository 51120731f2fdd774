//! The other end of the control socket.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::error::{Error, Result};
use crate::server::Request;
use crate::status::Status;

/// A daemon answers within this time, or hangs.
const PATIENCE: Duration = Duration::from_secs(5);
/// Longest answer that is read, bytes.
const LONGEST_ANSWER: u64 = 4 << 20;

/// Asks the daemon at a socket; it answers with its status as it was before a command took effect.
///
/// # Errors
/// [`Error::Refused`] if none is there, if this user may not, or if it is another version.
pub fn ask(socket: &Path, request: &Request) -> Result<Status> {
    let line = exchange(socket, request).map_err(|error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::ConnectionRefused => Error::Refused {
            what: format!("no daemon listens at {}", socket.display()),
            remedy: "start one: joulepath live --config FILE".into(),
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
            _ => "see docs/live.md for what can be asked",
        };
        return Err(Error::Refused { what: message.to_owned(), remedy: remedy.into() });
    }
    serde_json::from_value(answer["parameters"].clone()).map_err(|error| malformed(error.to_string()))
}

fn exchange(socket: &Path, request: &Request) -> std::io::Result<String> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all((request.line() + "\n").as_bytes())?;
    let mut line = String::new();
    BufReader::new(stream.take(LONGEST_ANSWER)).read_line(&mut line)?;
    Ok(line)
}
