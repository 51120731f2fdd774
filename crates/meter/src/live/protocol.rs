//! The protocol between the two ends of a calibration.
//!
//! A client opens a TCP connection and gets a token, which proves its address. Then it sends UDP
//! datagrams that start with the token. The far end answers only the address that got the token, so
//! nobody can make it send to others.

use crate::error::{Error, Kind, Result};

/// Length of a token, bytes.
pub(super) const TOKEN_LENGTH: usize = 8;
/// Longest datagram, bytes of UDP payload.
pub(super) const LONGEST: usize = 1472;
/// Shortest datagram: token and kind.
pub(super) const SHORTEST: usize = TOKEN_LENGTH + 1;
/// Longest duration of one request, ms.
pub(super) const LONGEST_MS: u32 = 300_000;
/// Highest rate of the far end, bit/s.
pub(super) const HIGHEST_BPS: u64 = 1_000_000_000;

/// Proof of a client's address.
pub(super) type Token = [u8; TOKEN_LENGTH];

/// A datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Datagram {
    /// Returned unchanged; the number identifies the echo.
    Echo(u32),
    /// Discarded by the receiver.
    Filler,
    /// Answered with fillers.
    Send(Request),
}

/// A request for fillers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// Rate of UDP payload, bit/s.
    pub(super) payload_bps: u64,
    /// UDP payload of a datagram, bytes.
    pub(super) payload: u16,
    pub(super) lasts_ms: u32,
}

const ECHO: u8 = b'E';
const FILLER: u8 = b'F';
const SEND: u8 = b'S';

impl Datagram {
    /// Encodes the datagram, padded with zeros to `length`.
    pub(super) fn bytes(self, token: &Token, length: usize) -> Vec<u8> {
        let mut bytes = token.to_vec();
        match self {
            Datagram::Echo(number) => {
                bytes.push(ECHO);
                bytes.extend(number.to_be_bytes());
            }
            Datagram::Filler => bytes.push(FILLER),
            Datagram::Send(request) => {
                bytes.push(SEND);
                bytes.extend(request.payload_bps.to_be_bytes());
                bytes.extend(request.payload.to_be_bytes());
                bytes.extend(request.lasts_ms.to_be_bytes());
            }
        }
        bytes.resize(length.max(bytes.len()), 0);
        bytes
    }

    /// Decodes a datagram; `None` if it is invalid.
    pub(super) fn parse(bytes: &[u8]) -> Option<(Token, Datagram)> {
        let (token, rest) = bytes.split_first_chunk::<TOKEN_LENGTH>()?;
        let (kind, rest) = rest.split_first()?;
        let datagram = match *kind {
            ECHO => Datagram::Echo(u32::from_be_bytes(*rest.first_chunk()?)),
            FILLER => Datagram::Filler,
            SEND => {
                let (rate, rest) = rest.split_first_chunk()?;
                let (payload, rest) = rest.split_first_chunk()?;
                let request = Request {
                    payload_bps: u64::from_be_bytes(*rate),
                    payload: u16::from_be_bytes(*payload),
                    lasts_ms: u32::from_be_bytes(*rest.first_chunk()?),
                };
                let fits = (1..=HIGHEST_BPS).contains(&request.payload_bps)
                    && (SHORTEST..=LONGEST).contains(&usize::from(request.payload))
                    && request.lasts_ms <= LONGEST_MS;
                return fits.then_some((*token, Datagram::Send(request)));
            }
            _ => return None,
        };
        Some((*token, datagram))
    }
}

/// The greeting line with a token.
pub(super) fn greeting(token: &Token) -> String {
    let digits: String = token.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("joulepath 1 {digits}\n")
}

/// The token in a greeting line.
///
/// # Errors
/// If the far end is not a calibration server.
pub(super) fn token(line: &str) -> Result<Token> {
    let digits = line
        .trim_end()
        .strip_prefix("joulepath 1 ")
        .filter(|digits| digits.is_ascii());
    let byte =
        |digits: &str, at: usize| u8::from_str_radix(digits.get(2 * at..2 * at + 2)?, 16).ok();
    let bytes = digits
        .filter(|digits| digits.len() == 2 * TOKEN_LENGTH)
        .and_then(|digits| {
            let bytes: Option<Vec<u8>> = (0..TOKEN_LENGTH).map(|at| byte(digits, at)).collect();
            Token::try_from(bytes?).ok()
        });
    bytes.ok_or_else(|| {
        Error::new(Kind::Failed, "the server there is no calibration server")
            .help("start `joulepath calibrate --serve ADDRESS:PORT` there")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: Token = *b"\x00\x01abcdef";

    #[test]
    fn encoding_and_parsing_round_trips() {
        let request = Request {
            payload_bps: 5_000_000,
            payload: 1372,
            lasts_ms: 9000,
        };
        for datagram in [Datagram::Echo(7), Datagram::Filler, Datagram::Send(request)] {
            assert_eq!(
                Datagram::parse(&datagram.bytes(&TOKEN, 60)),
                Some((TOKEN, datagram))
            );
            assert!(datagram.bytes(&TOKEN, 60).len() == 60);
        }
        assert_eq!(token(&greeting(&TOKEN)), Ok(TOKEN));
    }

    #[test]
    fn oversized_or_truncated_datagrams_are_rejected() {
        let good = Request {
            payload_bps: 1,
            payload: 100,
            lasts_ms: 1,
        };
        for bad in [
            Request {
                payload_bps: HIGHEST_BPS + 1,
                ..good
            },
            Request {
                payload_bps: 0,
                ..good
            },
            Request {
                payload: 1473,
                ..good
            },
            Request { payload: 8, ..good },
            Request {
                lasts_ms: LONGEST_MS + 1,
                ..good
            },
        ] {
            assert_eq!(
                Datagram::parse(&Datagram::Send(bad).bytes(&TOKEN, 60)),
                None
            );
        }
        let whole = Datagram::Send(good).bytes(&TOKEN, 0);
        (0..whole.len()).for_each(|length| assert_eq!(Datagram::parse(&whole[..length]), None));
        for line in [
            "",
            "SSH-2.0-OpenSSH",
            "joulepath 1 00",
            "joulepath 1 zz0161626364656667",
            "joulepath 1 é0161626364656f",
        ] {
            assert!(token(line).is_err(), "{line}");
        }
    }
}
