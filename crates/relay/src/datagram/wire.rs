//! A datagram between the two ends.
//!
//! ```text
//! to the far end:   session │ number │ sealed(kind, replies, time
//!                                             [, flow, order, destination, payload])
//! to the near end:  salt    │ number │ sealed(kind, time, ping | flow, order, payload)
//! ```
//! The sealed part is followed by its tag. The number is eight times the sequence number plus the
//! path. It is the nonce, so that copies on two paths are sealed apart. The near end draws a session
//! when it starts, the far end a salt for each session: no key is used twice.

use ring::aead::{Aad, LessSafeKey, NONCE_LEN, Nonce};

use crate::config::{Key, Method};
use crate::destination::Destination;
use crate::frame::{MOST_SKEW, TAG, Wrong, derive};

/// Bytes of a session and of a salt.
const ID: usize = 16;
/// What is not sealed.
const HEAD: usize = ID + 8;
/// Most paths of a near end.
pub(super) const PATHS: usize = 8;
/// The longest payload of UDP over IPv4.
pub(super) const MOST: usize = 65_507;

const CONTEXT: &str = "joulepath 2026 relay datagrams";
const PING: u8 = 0;
const DATA: u8 = 1;
/// Added to the kind of a datagram to the far end.
const COPIES: u8 = 1 << 7;

pub(super) type Id = [u8; ID];

/// Which datagram: sequence number and path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Number {
    pub(super) sequence: u64,
    pub(super) path: u8,
}

impl Number {
    fn bits(self) -> u64 {
        self.sequence * PATHS as u64 + u64::from(self.path)
    }

    fn of(bits: u64) -> Self {
        Number {
            sequence: bits / PATHS as u64,
            path: (bits % PATHS as u64) as u8,
        }
    }
}

/// How the far end shall answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Replies {
    /// One bit per path.
    pub(super) paths: u8,
    /// True: small flows on each of them. False: each flow on one of them.
    pub(super) copies: bool,
}

/// A datagram to the far end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Up<'a> {
    /// Asks for a sign of life.
    Ping,
    Data {
        flow: u32,
        /// Its place among those of the flow.
        order: u64,
        to: Destination,
        payload: &'a [u8],
    },
}

/// A datagram to the near end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Down<'a> {
    /// The answer, on the same path, to the ping with this sequence number.
    Pong(u64),
    Data {
        flow: u32,
        /// Its place among those of the flow.
        order: u64,
        payload: &'a [u8],
    },
}

/// The key of a direction.
pub(super) struct Sealed(LessSafeKey);

impl Sealed {
    /// To the far end.
    pub(super) fn up(method: Method, key: &Key, session: &Id) -> Self {
        Sealed(derive(method, key, CONTEXT, session))
    }

    /// To the near end.
    pub(super) fn down(method: Method, key: &Key, session: &Id, salt: &Id) -> Self {
        let both = [session.as_slice(), salt].concat();
        Sealed(derive(method, key, CONTEXT, &both))
    }

    fn seal(&self, id: &Id, number: Number, text: Vec<u8>) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD + text.len() + TAG);
        bytes.extend_from_slice(id);
        bytes.extend_from_slice(&number.bits().to_be_bytes());
        bytes.extend_from_slice(&text);
        let tag = self
            .0
            .seal_in_place_separate_tag(nonce(number), Aad::empty(), &mut bytes[HEAD..])
            .expect("a datagram is shorter than the cipher's limit");
        bytes.extend_from_slice(tag.as_ref());
        bytes
    }

    fn open<'a>(&self, number: Number, bytes: &'a mut [u8]) -> Result<&'a [u8], Wrong> {
        let opened = self
            .0
            .open_in_place(nonce(number), Aad::empty(), &mut bytes[HEAD..]);
        opened.map(|text| &*text).map_err(|_| Wrong::Key)
    }

    /// Seals a datagram to the far end.
    pub(super) fn seal_up(
        &self,
        session: &Id,
        number: Number,
        replies: Replies,
        up: &Up<'_>,
        now: u64,
    ) -> Vec<u8> {
        let kind = if *up == Up::Ping { PING } else { DATA };
        let copies = if replies.copies { COPIES } else { 0 };
        let mut text = vec![kind | copies, replies.paths];
        text.extend_from_slice(&now.to_be_bytes());
        if let Up::Data {
            flow,
            order,
            to,
            payload,
        } = up
        {
            text.extend_from_slice(&flow.to_be_bytes());
            text.extend_from_slice(&order.to_be_bytes());
            to.encode(&mut text);
            text.extend_from_slice(payload);
        }
        self.seal(session, number, text)
    }

    /// Opens a datagram to the far end.
    ///
    /// # Errors
    /// If it has another key, or is not of now.
    pub(super) fn open_up<'a>(
        &self,
        number: Number,
        bytes: &'a mut [u8],
        now: u64,
    ) -> Result<(Replies, Up<'a>), Wrong> {
        let text = self.open(number, bytes)?;
        let cut = Wrong::Message("a cut datagram");
        let (&[kind, paths], text) = text.split_first_chunk().ok_or(cut)?;
        let text = fresh(text, now)?;
        let replies = Replies {
            paths,
            copies: kind & COPIES != 0,
        };
        if kind & !COPIES == PING {
            return Ok((replies, Up::Ping));
        }
        let (flow, order, text) = place(text).ok_or(cut)?;
        let found = Destination::decode(text).map_err(Wrong::Message)?;
        let (to, used) = found.ok_or(cut)?;
        let up = Up::Data {
            flow,
            order,
            to,
            payload: &text[used..],
        };
        Ok((replies, up))
    }

    /// Seals a datagram to the near end.
    pub(super) fn seal_down(&self, salt: &Id, number: Number, down: Down<'_>, now: u64) -> Vec<u8> {
        let kind = match down {
            Down::Pong(_) => PING,
            Down::Data { .. } => DATA,
        };
        let mut text = vec![kind];
        text.extend_from_slice(&now.to_be_bytes());
        match down {
            Down::Pong(ping) => text.extend_from_slice(&ping.to_be_bytes()),
            Down::Data {
                flow,
                order,
                payload,
            } => {
                text.extend_from_slice(&flow.to_be_bytes());
                text.extend_from_slice(&order.to_be_bytes());
                text.extend_from_slice(payload);
            }
        }
        self.seal(salt, number, text)
    }

    /// Opens a datagram to the near end.
    ///
    /// # Errors
    /// If it has another key, or is not of now.
    pub(super) fn open_down<'a>(
        &self,
        number: Number,
        bytes: &'a mut [u8],
        now: u64,
    ) -> Result<Down<'a>, Wrong> {
        let text = self.open(number, bytes)?;
        let cut = Wrong::Message("a cut datagram");
        let (&kind, text) = text.split_first().ok_or(cut)?;
        let text = fresh(text, now)?;
        if kind == PING {
            let (ping, _) = text.split_first_chunk().ok_or(cut)?;
            return Ok(Down::Pong(u64::from_be_bytes(*ping)));
        }
        let (flow, order, payload) = place(text).ok_or(cut)?;
        Ok(Down::Data {
            flow,
            order,
            payload,
        })
    }
}

/// Session or salt, and number, of a datagram; `None` if it is too short.
pub(super) fn head(bytes: &[u8]) -> Option<(Id, Number)> {
    let (id, rest) = bytes.split_first_chunk()?;
    let (number, sealed) = rest.split_first_chunk()?;
    let number = Number::of(u64::from_be_bytes(*number));
    (sealed.len() > TAG).then_some((*id, number))
}

fn nonce(number: Number) -> Nonce {
    let mut bytes = [0; NONCE_LEN];
    bytes[..8].copy_from_slice(&number.bits().to_le_bytes());
    Nonce::assume_unique_for_key(bytes)
}

/// Flow, order, and what follows.
fn place(text: &[u8]) -> Option<(u32, u64, &[u8])> {
    let (flow, text) = text.split_first_chunk()?;
    let (order, text) = text.split_first_chunk()?;
    Some((u32::from_be_bytes(*flow), u64::from_be_bytes(*order), text))
}

/// What follows the time, which must be now.
fn fresh(text: &[u8], now: u64) -> Result<&[u8], Wrong> {
    let cut = Wrong::Message("a cut datagram");
    let (time, rest) = text.split_first_chunk().ok_or(cut)?;
    match u64::from_be_bytes(*time).abs_diff(now) {
        0..=MOST_SKEW => Ok(rest),
        apart => Err(Wrong::Clock(apart)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_800_000_000;
    const SESSION: Id = [3; ID];
    const NUMBER: Number = Number {
        sequence: 77,
        path: 5,
    };
    const REPLIES: Replies = Replies {
        paths: 0b10_0001,
        copies: true,
    };

    fn key(byte: u8) -> Key {
        Key::new([byte; 32])
    }

    fn data() -> Up<'static> {
        Up::Data {
            flow: 9,
            order: 4,
            to: "example.org:53".parse().unwrap(),
            payload: b"question",
        }
    }

    #[test]
    fn each_datagram_is_read_as_it_was_written() {
        for method in [Method::Aes256Gcm, Method::ChaCha20Poly1305] {
            let up = Sealed::up(method, &key(1), &SESSION);
            for sent in [Up::Ping, data()] {
                let mut bytes = up.seal_up(&SESSION, NUMBER, REPLIES, &sent, NOW);
                assert_eq!(head(&bytes), Some((SESSION, NUMBER)));
                assert_eq!(
                    up.open_up(NUMBER, &mut bytes, NOW + 30),
                    Ok((REPLIES, sent))
                );
            }
            let salt = [8; ID];
            let down = Sealed::down(method, &key(1), &SESSION, &salt);
            for sent in [
                Down::Pong(76),
                Down::Data {
                    flow: 9,
                    order: 5,
                    payload: b"",
                },
            ] {
                let mut bytes = down.seal_down(&salt, NUMBER, sent, NOW);
                assert_eq!(head(&bytes), Some((salt, NUMBER)));
                assert_eq!(down.open_down(NUMBER, &mut bytes, NOW), Ok(sent));
            }
        }
    }

    #[test]
    fn another_key_session_number_time_or_byte_is_refused() {
        let method = Method::default();
        let up = Sealed::up(method, &key(1), &SESSION);
        let bytes = up.seal_up(&SESSION, NUMBER, REPLIES, &data(), NOW);
        let open = |sealed: &Sealed, number, bytes: &[u8], now| {
            sealed
                .open_up(number, &mut bytes.to_vec(), now)
                .map(|_| ())
                .unwrap_err()
        };
        let other = Sealed::up(method, &key(2), &SESSION);
        assert_eq!(open(&other, NUMBER, &bytes, NOW), Wrong::Key);
        let other = Sealed::up(method, &key(1), &[4; ID]);
        assert_eq!(open(&other, NUMBER, &bytes, NOW), Wrong::Key);
        let other = Number {
            sequence: 78,
            ..NUMBER
        };
        assert_eq!(open(&up, other, &bytes, NOW), Wrong::Key);
        assert_eq!(open(&up, NUMBER, &bytes, NOW + 31), Wrong::Clock(31));
        for at in HEAD..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert_eq!(open(&up, NUMBER, &changed, NOW), Wrong::Key, "byte {at}");
        }
        for cut in 0..=HEAD + TAG {
            assert_eq!(head(&bytes[..cut]), None);
        }
    }
}
