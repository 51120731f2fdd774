//! The roles that the daemon has given to the interfaces, through its control socket.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::paths::{Offer, Offers};

/// Time for an answer.
const PATIENCE: Duration = Duration::from_millis(100);
const QUESTION: &[u8] = b"{\"method\": \"status\"}\n";

#[derive(Deserialize)]
struct Answer {
    parameters: Status,
}

#[derive(Deserialize)]
struct Status {
    intent: String,
    paused: bool,
    interfaces: Vec<Interface>,
}

#[derive(Deserialize)]
struct Interface {
    name: String,
    role: String,
    #[serde(default)]
    reason: Reason,
}

#[derive(Default, Deserialize)]
struct Reason {
    /// What speaks against the interface.
    #[serde(default)]
    because: Vec<IgnoredAny>,
}

/// The interfaces that may carry datagrams. Without a running daemon: the system's route.
///
/// # Errors
/// If the daemon does not answer in time, or as no daemon does.
pub(super) async fn ask(socket: &Path) -> io::Result<Offers> {
    let stream = match UnixStream::connect(socket).await {
        Ok(stream) => stream,
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::NotFound | ErrorKind::ConnectionRefused
            ) =>
        {
            return Ok(Offers::system());
        }
        Err(error) => return Err(error),
    };
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    let exchange = async {
        stream.write_all(QUESTION).await?;
        stream.read_line(&mut line).await
    };
    timeout(PATIENCE, exchange).await??;
    read(&line).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
}

/// The interface that carries copies beside the first, if the daemon wants any.
pub(crate) async fn second(socket: &Path) -> Option<String> {
    second_of(ask(socket).await.ok()?)
}

fn second_of(offers: Offers) -> Option<String> {
    let mut others = offers.all.into_iter().skip(1).filter(|_| offers.copies);
    others.find(|one| one.may_copy)?.interface
}

fn read(line: &str) -> serde_json::Result<Offers> {
    let status = serde_json::from_str::<Answer>(line)?.parameters;
    if status.paused || status.intent == "off" {
        return Ok(Offers::system());
    }
    let offer = |one: Interface| {
        let is_regular = one.role == "regular";
        (is_regular || one.role == "backup").then_some(Offer {
            interface: Some(one.name),
            is_regular,
            may_copy: is_regular || one.reason.because.is_empty(),
        })
    };
    Ok(Offers {
        copies: status.intent == "uninterrupted",
        all: status.interfaces.into_iter().filter_map(offer).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(intent: &str, paused: bool) -> Offers {
        let interfaces = r#"[{"name": "wlan0", "role": "regular", "more": 1},
            {"name": "eth0", "role": "unused"}, {"name": "wwan0", "role": "backup"},
            {"name": "wwan1", "role": "backup", "reason": {"code": "open-backup", "because": ["metered"]}}]"#;
        let line = format!(
            r#"{{"parameters": {{"schema": 2, "intent": "{intent}", "paused": {paused},
            "interfaces": {interfaces}}}}}"#
        );
        read(&line).unwrap()
    }

    #[test]
    fn regular_interfaces_and_backups_carry_datagrams_in_the_daemons_order() {
        let offer = |name: &str, is_regular, may_copy| Offer {
            interface: Some(name.to_owned()),
            is_regular,
            may_copy,
        };
        let all = vec![
            offer("wlan0", true, true),
            offer("wwan0", false, true),
            offer("wwan1", false, false),
        ];
        for (intent, copies) in [("interactive", false), ("uninterrupted", true)] {
            let expected = Offers {
                copies,
                all: all.clone(),
            };
            assert_eq!(status(intent, false), expected);
        }
        assert_eq!(
            second_of(status("uninterrupted", false)).as_deref(),
            Some("wwan0")
        );
        for intent in ["interactive", "off"] {
            assert_eq!(second_of(status(intent, false)), None);
        }
        assert_eq!(status("off", false), Offers::system());
        assert_eq!(status("frugal", true), Offers::system());
        assert!(read("{\"error\": \"not-ready\"}").is_err());
    }
}
