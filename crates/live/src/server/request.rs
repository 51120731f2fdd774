//! Requests on the control socket: one JSON object per line, `{"method": …, "parameters": {…}}`.

use joulepath_model::live::Intent;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Longest line, bytes.
pub(super) const LONGEST_LINE: usize = 4096;

/// A request to the daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Ask for the status.
    Status,
    /// Set the intent of the machine or of an interface; `None` restores the configured one.
    SetIntent {
        /// `None` for the machine.
        interface: Option<String>,
        /// `None` for the configured intent.
        intent: Option<Intent>,
    },
    /// Restore everything until [`Request::Resume`].
    Pause,
    /// End a pause.
    Resume,
    /// Forget what is remembered of networks.
    Forget {
        /// Name or id; `None` for all.
        network: Option<String>,
    },
}

/// An error answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// Error code, for programs.
    pub(crate) error: &'static str,
    /// Message, for people.
    pub(crate) message: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    method: String,
    #[serde(default)]
    parameters: Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct SetIntent {
    interface: Option<String>,
    intent: Option<Intent>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Forget {
    network: Option<String>,
    #[serde(default)]
    all: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

impl Request {
    /// Parses a line without its newline.
    pub(super) fn parse(line: &[u8]) -> Result<Self, Refusal> {
        let call: Call = serde_json::from_slice(line).map_err(|error| {
            Refusal::new("invalid-request", format!("malformed request: {error}"))
        })?;
        let request = match call.method.as_str() {
            "status" => Request::Status,
            "pause" => Request::Pause,
            "resume" => Request::Resume,
            "set-intent" => {
                let SetIntent { interface, intent } = parameters(call.parameters)?;
                return Ok(Request::SetIntent { interface, intent });
            }
            "forget" => {
                let Forget { network, all } = parameters(call.parameters)?;
                if all == network.is_some() {
                    let message = "either `network` or `all`".to_owned();
                    return Err(Refusal::new("invalid-parameter", message));
                }
                return Ok(Request::Forget { network });
            }
            _ => {
                let message = "methods: status, set-intent, pause, resume, forget".to_owned();
                return Err(Refusal::new("unknown-method", message));
            }
        };
        let Nothing {} = parameters(call.parameters)?;
        Ok(request)
    }

    /// True if it changes something.
    pub(super) fn is_command(&self) -> bool {
        *self != Request::Status
    }

    /// The request as a line without newline.
    pub fn line(&self) -> String {
        let call = match self {
            Request::Status => json!({ "method": "status" }),
            Request::Pause => json!({ "method": "pause" }),
            Request::Resume => json!({ "method": "resume" }),
            Request::Forget { network: None } => {
                json!({ "method": "forget", "parameters": { "all": true } })
            }
            Request::Forget { network } => {
                json!({ "method": "forget", "parameters": { "network": network } })
            }
            Request::SetIntent { interface, intent } => {
                json!({ "method": "set-intent", "parameters": { "interface": interface, "intent": intent } })
            }
        };
        call.to_string()
    }
}

fn parameters<T: Default + for<'a> Deserialize<'a>>(parameters: Value) -> Result<T, Refusal> {
    if parameters.is_null() {
        return Ok(T::default());
    }
    serde_json::from_value(parameters)
        .map_err(|error| Refusal::new("invalid-parameter", error.to_string()))
}

impl Refusal {
    pub(crate) fn new(error: &'static str, message: String) -> Self {
        Refusal { error, message }
    }
}

/// An answer as a line: `{"parameters": …}`, or `{"error": …, "parameters": {"message": …}}`.
pub(super) fn answer_line<T: Serialize>(answer: &Result<T, Refusal>) -> String {
    let value = match answer {
        Ok(parameters) => json!({ "parameters": parameters }),
        Err(Refusal { error, message }) => {
            json!({ "error": error, "parameters": { "message": message } })
        }
    };
    value.to_string() + "\n"
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn encoding_and_parsing_round_trips() {
        for request in [
            Request::Status,
            Request::Pause,
            Request::Resume,
            Request::SetIntent {
                interface: None,
                intent: Some(Intent::Frugal),
            },
            Request::SetIntent {
                interface: Some("wlan0".into()),
                intent: None,
            },
            Request::Forget { network: None },
            Request::Forget {
                network: Some("home".into()),
            },
        ] {
            assert_eq!(Request::parse(request.line().as_bytes()), Ok(request));
        }
    }

    #[test]
    fn malformed_requests_are_refused_with_an_error_code() {
        for (line, error) in [
            ("", "invalid-request"),
            ("status", "invalid-request"),
            (r#"{"method": "status", "more": 1}"#, "invalid-request"),
            (r#"{"method": "stop"}"#, "unknown-method"),
            (
                r#"{"method": "status", "parameters": {"all": true}}"#,
                "invalid-parameter",
            ),
            (
                r#"{"method": "set-intent", "parameters": {"intent": "cheap"}}"#,
                "invalid-parameter",
            ),
            (
                r#"{"method": "set-intent", "parameters": [1]}"#,
                "invalid-parameter",
            ),
            (r#"{"method": "forget"}"#, "invalid-parameter"),
            (
                r#"{"method": "forget", "parameters": {"network": "a", "all": true}}"#,
                "invalid-parameter",
            ),
        ] {
            assert_eq!(
                Request::parse(line.as_bytes()).unwrap_err().error,
                error,
                "{line}"
            );
        }
    }

    /// Requests as programs write them, valid and invalid.
    const WRITTEN: [&str; 6] = [
        r#"{"method": "status"}"#,
        r#"{"method": "pause", "parameters": {}}"#,
        r#"{"method": "resume", "parameters": null}"#,
        r#"{"method": "set-intent", "parameters": {"intent": "interactive", "interface": "wwan0"}}"#,
        r#"{"method": "set-intent", "parameters": {"intent": null}}"#,
        r#"{"parameters": {"intent": "off", "interface": "\u0000\ud83d\ude00"}, "method": "set-intent"}"#,
    ];

    /// Fragments that a mutation inserts.
    const PIECES: [&str; 12] = [
        "{",
        "}",
        "[",
        "\"",
        ":",
        ",",
        "null",
        "1e999",
        "\\u",
        "\"intent\"",
        "\"method\"",
        "\u{0}",
    ];

    proptest! {
        /// An accepted request survives a round trip. A refused one gets a documented error code.
        #[test]
        fn a_mutated_request_is_accepted_or_refused(
            which in 0..WRITTEN.len(),
            changes in prop::collection::vec((any::<u16>(), any::<u16>(), 0..PIECES.len() + 2), 1..6),
        ) {
            let mut line = WRITTEN[which].as_bytes().to_vec();
            for (from, to, what) in changes {
                let end = line.len();
                let (from, to) = (from as usize % (end + 1), to as usize % (end + 1));
                let span = from.min(to)..from.max(to);
                match what {
                    // Omit, repeat or replace a part.
                    0 => drop(line.drain(span)),
                    1 => {
                        let again = line[span].to_vec();
                        line.splice(from..from, again);
                    }
                    piece => drop(line.splice(from..from, PIECES[piece - 2].bytes())),
                }
            }
            match Request::parse(&line) {
                Ok(request) => prop_assert_eq!(Request::parse(request.line().as_bytes()), Ok(request)),
                Err(Refusal { error, message }) => {
                    prop_assert!(["invalid-request", "unknown-method", "invalid-parameter"].contains(&error));
                    prop_assert!(!message.is_empty());
                }
            }
        }

        #[test]
        fn arbitrary_bytes_cause_no_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..300),
            at in 0usize..90,
        ) {
            let _ = Request::parse(&bytes).is_ok();
            let intent = Some(Intent::Overflow);
            let mut line = Request::SetIntent { interface: Some("eth0".into()), intent }.line().into_bytes();
            for (place, byte) in line.iter_mut().skip(at).zip(&bytes) {
                *place ^= byte & 7;
            }
            let _ = Request::parse(&line).is_ok();
        }
    }
}
