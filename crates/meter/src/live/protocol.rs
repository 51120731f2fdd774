//! What the two ends of a calibration say to each other.
//!
//! A client opens a TCP connection and is given a token; that shows that it can be reached at its address.
//! Then it sends UDP datagrams that begin with the token. The far end answers only to the address that the
//! token was given to, so that nobody can make it send to others.

use crate::error::{Error, Kind, Result};

/// Length of a token, bytes.
pub(super) const TOKEN_LENGTH: usize = 8;
/// Longest datagram, bytes of UDP payload.
pub(super) const LONGEST: usize = 1472;
/// Token and kind: the shortest datagram.
pub(super) const SHORTEST: usize = TOKEN_LENGTH + 1;
/// Longest time that the far end sends for one request, ms.
pub(super) const LONGEST_MS: u32 = 300_000;
/// Highest rate at which the far end sends, bit/s.
pub(super) const HIGHEST_BPS: u64 = 1_000_000_000;

/// Shown by a client that has spoken with the far end.
pub(super) type Token = [u8; TOKEN_LENGTH];

/// What a datagram is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Datagram {
    /// To be sent back as it is; the number tells echoes apart.
    Echo(u32),
    /// To be taken and forgotten.
    Filler,
    /// To be answered by fillers.
    Send(Request),
}

/// A request for fillers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// Of the UDP payload, bit/s.
    pub(super) payload_bps: u64,
    /// Of the UDP payload, bytes.
    pub(super) payload: u16,
    /// How long.
    pub(super) lasts_ms: u32,
}

const ECHO: u8 = b'E';
const FILLER: u8 = b'F';
const SEND: u8 = b'S';

impl Datagram {
    /// The datagram as bytes, filled up with zeros to `length`.
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

    /// Token and meaning; none of what is not one of these.
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

/// The line in which a token is given.
pub(super) fn greeting(token: &Token) -> String {
    let digits: String = token.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("joulepath 1 {digits}\n")
}

/// The token of a line.
///
/// # Errors
/// If the far end is something else.
pub(super) fn token(line: &str) -> Result<Token> {
    let digits = line.trim_end().strip_prefix("joulepath 1 ").filter(|digits| digits.is_ascii());
    let byte = |digits: &str, at: usize| u8::from_str_radix(digits.get(2 * at..2 * at + 2)?, 16).ok();
    let bytes = digits.filter(|digits| digits.len() == 2 * TOKEN_LENGTH).and_then(|digits| {
        let bytes: Option<Vec<u8>> = (0..TOKEN_LENGTH).map(|at| byte(digits, at)).collect();
        Token::try_from(bytes?).ok()
    });
    bytes.ok_or_else(|| {
        Error::new(Kind::Failed, "what listens there is no far end of a calibration")
            .help("start `joulepath calibrate --serve ADDRESS:PORT` there")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: Token = *b"\x00\x01abcdef";

    #[test]
    fn what_is_sent_is_understood() {
        let request = Request { payload_bps: 5_000_000, payload: 1372, lasts_ms: 9000 };
        for datagram in [Datagram::Echo(7), Datagram::Filler, Datagram::Send(request)] {
            assert_eq!(Datagram::parse(&datagram.bytes(&TOKEN, 60)), Some((TOKEN, datagram)));
            assert!(datagram.bytes(&TOKEN, 60).len() == 60);
        }
        assert_eq!(token(&greeting(&TOKEN)), Ok(TOKEN));
    }

    #[test]
    fn what_is_too_much_or_cut_off_is_not_understood() {
        let good = Request { payload_bps: 1, payload: 100, lasts_ms: 1 };
        for bad in [
            Request { payload_bps: HIGHEST_BPS + 1, ..good },
            Request { payload_bps: 0, ..good },
            Request { payload: 1473, ..good },
            Request { payload: 8, ..good },
            Request { lasts_ms: LONGEST_MS + 1, ..good },
        ] {
            assert_eq!(Datagram::parse(&Datagram::Send(bad).bytes(&TOKEN, 60)), None);
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
