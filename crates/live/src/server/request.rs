//! What is asked on the control socket: one JSON object in a line, `{"method": …, "parameters": {…}}`.

use joulepath_model::live::Intent;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Longest line, bytes.
pub(super) const LONGEST_LINE: usize = 4096;

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// How things stand.
    Status,
    /// Another intent, for the machine or for one interface; none: the configured one.
    SetIntent {
        /// The interface; none for the machine.
        interface: Option<String>,
        /// The intent.
        intent: Option<Intent>,
    },
    /// Put everything back until [`Request::Resume`].
    Pause,
    /// Go on.
    Resume,
}

/// What is answered instead of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// What kind, for programs.
    pub(crate) error: &'static str,
    /// For people.
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
struct Nothing {}

impl Request {
    /// From a line without its end.
    pub(super) fn parse(line: &[u8]) -> Result<Self, Refusal> {
        let call: Call = serde_json::from_slice(line)
            .map_err(|error| Refusal::new("invalid-request", format!("no request: {error}")))?;
        let request = match call.method.as_str() {
            "status" => Request::Status,
            "pause" => Request::Pause,
            "resume" => Request::Resume,
            "set-intent" => {
                let SetIntent { interface, intent } = parameters(call.parameters)?;
                return Ok(Request::SetIntent { interface, intent });
            }
            _ => {
                let message = "methods: status, set-intent, pause, resume".to_owned();
                return Err(Refusal::new("unknown-method", message));
            }
        };
        let Nothing {} = parameters(call.parameters)?;
        Ok(request)
    }

    /// Whether it changes something.
    pub(super) fn is_command(&self) -> bool {
        *self != Request::Status
    }

    /// As it is sent, without the line's end.
    pub fn line(&self) -> String {
        let call = match self {
            Request::Status => json!({ "method": "status" }),
            Request::Pause => json!({ "method": "pause" }),
            Request::Resume => json!({ "method": "resume" }),
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
    serde_json::from_value(parameters).map_err(|error| Refusal::new("invalid-parameter", error.to_string()))
}

impl Refusal {
    /// Of a kind.
    pub(crate) fn new(error: &'static str, message: String) -> Self {
        Refusal { error, message }
    }
}

/// An answer as a line: `{"parameters": …}`, or `{"error": …, "parameters": {"message": …}}`.
pub(super) fn answer_line<T: Serialize>(answer: &Result<T, Refusal>) -> String {
    let value = match answer {
        Ok(parameters) => json!({ "parameters": parameters }),
        Err(Refusal { error, message }) => json!({ "error": error, "parameters": { "message": message } }),
    };
    value.to_string() + "\n"
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_sent_is_understood() {
        for request in [
            Request::Status,
            Request::Pause,
            Request::Resume,
            Request::SetIntent { interface: None, intent: Some(Intent::Frugal) },
            Request::SetIntent { interface: Some("wlan0".into()), intent: None },
        ] {
            assert_eq!(Request::parse(request.line().as_bytes()), Ok(request));
        }
    }

    #[test]
    fn what_is_wrong_is_refused_with_a_reason() {
        for (line, error) in [
            ("", "invalid-request"),
            ("status", "invalid-request"),
            (r#"{"method": "status", "more": 1}"#, "invalid-request"),
            (r#"{"method": "stop"}"#, "unknown-method"),
            (r#"{"method": "status", "parameters": {"all": true}}"#, "invalid-parameter"),
            (r#"{"method": "set-intent", "parameters": {"intent": "cheap"}}"#, "invalid-parameter"),
            (r#"{"method": "set-intent", "parameters": [1]}"#, "invalid-parameter"),
        ] {
            assert_eq!(Request::parse(line.as_bytes()).unwrap_err().error, error, "{line}");
        }
    }

    /// Requests as programs write them, right and wrong.
    const WRITTEN: [&str; 6] = [
        r#"{"method": "status"}"#,
        r#"{"method": "pause", "parameters": {}}"#,
        r#"{"method": "resume", "parameters": null}"#,
        r#"{"method": "set-intent", "parameters": {"intent": "interactive", "interface": "wwan0"}}"#,
        r#"{"method": "set-intent", "parameters": {"intent": null}}"#,
        r#"{"parameters": {"intent": "off", "interface": "\u0000\ud83d\ude00"}, "method": "set-intent"}"#,
    ];

    /// Pieces that a mutation puts in.
    const PIECES: [&str; 12] =
        ["{", "}", "[", "\"", ":", ",", "null", "1e999", "\\u", "\"intent\"", "\"method\"", "\u{0}"];

    proptest! {
        /// One that is understood says the same again; one that is not is refused in documented words.
        #[test]
        fn a_request_that_was_changed_is_understood_or_refused(
            which in 0..WRITTEN.len(),
            changes in prop::collection::vec((any::<u16>(), any::<u16>(), 0..PIECES.len() + 2), 1..6),
        ) {
            let mut line = WRITTEN[which].as_bytes().to_vec();
            for (from, to, what) in changes {
                let end = line.len();
                let (from, to) = (from as usize % (end + 1), to as usize % (end + 1));
                let span = from.min(to)..from.max(to);
                match what {
                    // Left out, said twice, or another piece in between.
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
        fn no_bytes_make_it_panic(
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
