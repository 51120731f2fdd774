//! *Shadowsocks 2022* (SIP022, section 3.1, TCP): pure functions of bytes, key, salt and time.
//!
//! ```text
//! request:   salt │ sealed(0, time, length) │ sealed(destination, padding, first bytes) │ chunk…
//! response:  salt │ sealed(1, time, salt of the request, length) │ sealed(first bytes) │ chunk…
//! chunk:     sealed(length) │ sealed(bytes)
//! ```
//! Each sealed piece is followed by its tag. Each direction has its own key, derived from the
//! shared key and the direction's salt; the nonce counts the pieces.

use std::ops::Range;

use ring::aead::{
    AES_256_GCM, Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, Tag, UnboundKey,
};
use zeroize::Zeroizing;

use crate::config::{Key, Method};
use crate::destination::Destination;

/// Bytes of a salt.
pub(crate) const SALT: usize = 32;
/// Bytes of a tag.
pub(crate) const TAG: usize = 16;
/// A sealed length.
const LENGTH: usize = 2 + TAG;
/// Salt and first piece of a request.
pub(crate) const REQUEST: usize = SALT + 1 + 8 + 2 + TAG;
/// Salt and first piece of a response.
const RESPONSE: usize = SALT + 1 + 8 + SALT + 2 + TAG;
/// Free bytes that [`Sealer::seal`] needs before the payload.
pub(crate) const ROOM: usize = RESPONSE;
/// Most bytes of a chunk.
pub(crate) const MOST_CHUNK: usize = u16::MAX as usize;
/// Most bytes of padding in a request.
const MOST_PADDING: u16 = 900;
/// Clocks of the two ends differ by this at most, in seconds.
pub(crate) const MOST_SKEW: u64 = 30;

const CLIENT: u8 = 0;
const SERVER: u8 = 1;
const CONTEXT: &str = "shadowsocks 2022 session subkey";

pub(crate) type Salt = [u8; SALT];

/// Why bytes are not what the other end sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Wrong {
    /// Another key or cipher, or changed bytes.
    #[error("it has another key or method, or is no relay")]
    Key,
    /// A correct message of another time.
    #[error("its clock is {0} s apart from ours: at most {MOST_SKEW} s are allowed")]
    Clock(u64),
    /// A correct message that is not valid here.
    #[error("it sent {0}")]
    Message(&'static str),
}

/// The key of this salt.
pub(crate) fn derive(method: Method, key: &Key, context: &str, salt: &[u8]) -> LessSafeKey {
    // With room for the salt: a vector that grows would leave a copy of the key behind.
    let mut material = Zeroizing::new(Vec::with_capacity(key.bytes().len() + salt.len()));
    material.extend_from_slice(key.bytes());
    material.extend_from_slice(salt);
    let session = Zeroizing::new(blake3::derive_key(context, &material));
    let algorithm = match method {
        Method::Aes256Gcm => &AES_256_GCM,
        Method::ChaCha20Poly1305 => &CHACHA20_POLY1305,
    };
    let key = UnboundKey::new(algorithm, &*session).expect("both ciphers have keys of 32 bytes");
    LessSafeKey::new(key)
}

/// One direction's key and counter.
struct Cipher {
    key: LessSafeKey,
    count: u64,
}

impl Cipher {
    fn new(method: Method, key: &Key, salt: &Salt) -> Self {
        Cipher {
            key: derive(method, key, CONTEXT, salt),
            count: 0,
        }
    }

    fn nonce(&mut self) -> Nonce {
        let mut bytes = [0; NONCE_LEN];
        bytes[..8].copy_from_slice(&self.count.to_le_bytes());
        self.count += 1;
        Nonce::assume_unique_for_key(bytes)
    }

    /// Seals all but the last 16 bytes, which become the tag.
    fn seal(&mut self, piece: &mut [u8]) {
        let nonce = self.nonce();
        let (text, tag) = piece
            .split_last_chunk_mut::<TAG>()
            .expect("with room for the tag");
        let sealed = self
            .key
            .seal_in_place_separate_tag(nonce, Aad::empty(), text);
        tag.copy_from_slice(
            sealed
                .expect("a piece is shorter than the cipher's limit")
                .as_ref(),
        );
    }

    /// Opens a piece; the text is before its last 16 bytes.
    fn open<'a>(&mut self, piece: &'a mut [u8]) -> Result<&'a [u8], Wrong> {
        let nonce = self.nonce();
        let (text, tag) = piece.split_last_chunk_mut::<TAG>().ok_or(Wrong::Key)?;
        let tag = Tag::from(*tag);
        let opened = self
            .key
            .open_in_place_separate_tag(nonce, Aad::empty(), tag, text, 0..);
        opened.map(|text| &*text).map_err(|_| Wrong::Key)
    }
}

/// Seals one direction.
pub(crate) struct Sealer {
    cipher: Cipher,
    /// Until the first chunk of a response.
    response: Option<(Salt, Salt)>,
}

impl Sealer {
    /// The near end's: the bytes to send first, and the sealer of what follows. `padding` is
    /// random.
    pub(crate) fn request(
        method: Method,
        key: &Key,
        salt: Salt,
        to: &Destination,
        padding: u16,
        now: u64,
    ) -> (Vec<u8>, Self) {
        let mut cipher = Cipher::new(method, key, &salt);
        let mut second = vec![];
        to.encode(&mut second);
        let padding = 1 + padding % MOST_PADDING;
        second.extend_from_slice(&padding.to_be_bytes());
        second.resize(second.len() + usize::from(padding), 0);
        let length = u16::try_from(second.len())
            .expect("a destination and padding have 1,160 bytes at most");
        second.resize(second.len() + TAG, 0);

        let mut bytes = Vec::with_capacity(REQUEST + second.len());
        bytes.extend_from_slice(&salt);
        bytes.push(CLIENT);
        bytes.extend_from_slice(&now.to_be_bytes());
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.resize(REQUEST, 0);
        cipher.seal(&mut bytes[SALT..]);
        cipher.seal(&mut second);
        bytes.extend_from_slice(&second);
        (
            bytes,
            Sealer {
                cipher,
                response: None,
            },
        )
    }

    /// The far end's, for the answer to the request with the other salt.
    pub(crate) fn response(method: Method, key: &Key, salt: Salt, asked: Salt) -> Self {
        Sealer {
            cipher: Cipher::new(method, key, &salt),
            response: Some((salt, asked)),
        }
    }

    /// Seals the `length` bytes at [`ROOM`]: 1 to [`MOST_CHUNK`], followed by [`TAG`] free bytes.
    /// Returns where the bytes to send are.
    pub(crate) fn seal(
        &mut self,
        buffer: &mut [u8],
        length: usize,
        now: impl FnOnce() -> u64,
    ) -> Range<usize> {
        let word = u16::try_from(length)
            .expect("a chunk is no longer than MOST_CHUNK")
            .to_be_bytes();
        let from = match self.response.take() {
            Some((salt, asked)) => {
                let (head, tail) = buffer[SALT..RESPONSE].split_at_mut(9);
                head[0] = SERVER;
                head[1..].copy_from_slice(&now().to_be_bytes());
                tail[..SALT].copy_from_slice(&asked);
                tail[SALT..SALT + 2].copy_from_slice(&word);
                self.cipher.seal(&mut buffer[SALT..RESPONSE]);
                buffer[..SALT].copy_from_slice(&salt);
                0
            }
            None => {
                buffer[ROOM - LENGTH..ROOM - TAG].copy_from_slice(&word);
                self.cipher.seal(&mut buffer[ROOM - LENGTH..ROOM]);
                ROOM - LENGTH
            }
        };
        let end = ROOM + length + TAG;
        self.cipher.seal(&mut buffer[ROOM..end]);
        from..end
    }
}

/// What an [`Opener`] does with the bytes at the front of a buffer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// At least so many bytes must be in the buffer.
    Need(usize),
    /// So many bytes are used up; the text is in this range of them.
    Opened(usize, Range<usize>),
}

enum Expected {
    /// A response to the request with this salt.
    Response {
        method: Method,
        key: Key,
        asked: Salt,
    },
    Length(Cipher),
    Text(Cipher, usize),
    /// An earlier piece was wrong.
    Nothing,
}

/// Opens one direction.
pub(crate) struct Opener(Expected);

impl Opener {
    /// The near end's, for the answer to its request with this salt.
    pub(crate) fn response(method: Method, key: &Key, asked: Salt) -> Self {
        Opener(Expected::Response {
            method,
            key: key.clone(),
            asked,
        })
    }

    /// True if no chunk has begun: the other end may close here.
    pub(crate) fn is_between_chunks(&self) -> bool {
        matches!(self.0, Expected::Response { .. } | Expected::Length(_))
    }

    /// Takes the next piece from the front of the bytes.
    ///
    /// # Errors
    /// If they are not the other end's; the opener then takes no more.
    pub(crate) fn step(
        &mut self,
        bytes: &mut [u8],
        now: impl FnOnce() -> u64,
    ) -> Result<Step, Wrong> {
        let need = match &self.0 {
            Expected::Response { .. } => RESPONSE,
            Expected::Length(_) => LENGTH,
            Expected::Text(_, length) => length + TAG,
            Expected::Nothing => return Err(Wrong::Key),
        };
        if bytes.len() < need {
            return Ok(Step::Need(need));
        }
        let piece = &mut bytes[..need];
        let text;
        (self.0, text) = match std::mem::replace(&mut self.0, Expected::Nothing) {
            Expected::Response { method, key, asked } => {
                let (salt, piece) = piece
                    .split_first_chunk_mut::<SALT>()
                    .expect("of RESPONSE bytes");
                let mut cipher = Cipher::new(method, &key, salt);
                let head = cipher.open(piece)?;
                check(head, SERVER, now())?;
                if head[9..9 + SALT] != asked {
                    return Err(Wrong::Message("the answer to another request"));
                }
                let length = u16::from_be_bytes([head[9 + SALT], head[10 + SALT]]);
                (Expected::Text(cipher, length.into()), 0..0)
            }
            Expected::Length(mut cipher) => {
                let length = cipher.open(piece)?;
                let length = u16::from_be_bytes([length[0], length[1]]);
                (Expected::Text(cipher, length.into()), 0..0)
            }
            Expected::Text(mut cipher, length) => {
                cipher.open(piece)?;
                (Expected::Length(cipher), 0..length)
            }
            Expected::Nothing => unreachable!("returned above"),
        };
        Ok(Step::Opened(need, text))
    }
}

/// Checks kind and time at the front of a first piece.
fn check(head: &[u8], kind: u8, now: u64) -> Result<(), Wrong> {
    if head[0] != kind {
        return Err(Wrong::Message("a message of the wrong direction"));
    }
    let time = u64::from_be_bytes(head[1..9].try_into().expect("8 bytes"));
    match time.abs_diff(now) {
        0..=MOST_SKEW => Ok(()),
        apart => Err(Wrong::Clock(apart)),
    }
}

/// A request whose first piece the far end has read.
pub(crate) struct Asked {
    cipher: Cipher,
    pub(crate) salt: Salt,
    /// Bytes of the second piece.
    pub(crate) rest: usize,
}

impl Asked {
    /// Opens a request's first piece. The caller checks that the salt is new.
    ///
    /// # Errors
    /// If it is none with this key, or not of now.
    pub(crate) fn open(
        method: Method,
        key: &Key,
        bytes: &mut [u8; REQUEST],
        now: u64,
    ) -> Result<Self, Wrong> {
        let (salt, piece) = bytes
            .split_first_chunk_mut::<SALT>()
            .expect("of REQUEST bytes");
        let mut cipher = Cipher::new(method, key, salt);
        let head = cipher.open(piece)?;
        check(head, CLIENT, now)?;
        let rest = usize::from(u16::from_be_bytes([head[9], head[10]])) + TAG;
        Ok(Asked {
            cipher,
            salt: *salt,
            rest,
        })
    }

    /// Opens the second piece: the destination, the client's first bytes, and the opener of what
    /// follows.
    ///
    /// # Errors
    /// If it is wrong.
    pub(crate) fn finish(
        mut self,
        bytes: &mut [u8],
    ) -> Result<(Destination, Vec<u8>, Opener), Wrong> {
        let text = self.cipher.open(bytes)?;
        let found = Destination::decode(text).map_err(Wrong::Message)?;
        let (to, used) = found.ok_or(Wrong::Message("a cut destination"))?;
        let cut = Wrong::Message("cut padding");
        let (padding, rest) = text[used..].split_first_chunk::<2>().ok_or(cut)?;
        let padding = usize::from(u16::from_be_bytes(*padding));
        let first = rest.get(padding..).ok_or(cut)?;
        // Required of servers, so that the length of the first packet does not show the
        // destination's.
        if padding == 0 && first.is_empty() {
            return Err(Wrong::Message("neither padding nor payload"));
        }
        let first = first.to_vec();
        Ok((to, first, Opener(Expected::Length(self.cipher))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_700_000_000;

    fn key(byte: u8) -> Key {
        Key::new([byte; 32])
    }

    fn ask(method: Method, now: u64) -> (Vec<u8>, Sealer) {
        Sealer::request(
            method,
            &key(1),
            [9; SALT],
            &"example.org:443".parse().unwrap(),
            17,
            now,
        )
    }

    fn opened(
        method: Method,
        key: &Key,
        bytes: &mut [u8],
        now: u64,
    ) -> Result<(Destination, Opener), Wrong> {
        let (first, rest) = bytes.split_first_chunk_mut().unwrap();
        let asked = Asked::open(method, key, first, now)?;
        let length = asked.rest;
        let (to, payload, opener) = asked.finish(&mut rest[..length])?;
        assert!(payload.is_empty());
        Ok((to, opener))
    }

    fn chunk(sealer: &mut Sealer, text: &[u8]) -> Vec<u8> {
        let mut buffer = vec![0; ROOM + text.len() + TAG];
        buffer[ROOM..ROOM + text.len()].copy_from_slice(text);
        let range = sealer.seal(&mut buffer, text.len(), || NOW);
        buffer[range].to_vec()
    }

    /// Feeds the bytes one at a time.
    fn read(opener: &mut Opener, bytes: &[u8]) -> Result<Vec<u8>, Wrong> {
        let (mut held, mut text) = (vec![], vec![]);
        for byte in bytes {
            held.push(*byte);
            while let Step::Opened(used, range) = opener.step(&mut held, || NOW)? {
                text.extend_from_slice(&held[range]);
                held.drain(..used);
            }
        }
        assert!(held.is_empty());
        Ok(text)
    }

    #[test]
    fn both_directions_arrive_with_both_ciphers_byte_by_byte() {
        for method in [Method::Aes256Gcm, Method::ChaCha20Poly1305] {
            let (mut request, mut up) = ask(method, NOW);
            let (to, mut opener) = opened(method, &key(1), &mut request, NOW + MOST_SKEW).unwrap();
            assert_eq!(to.to_string(), "example.org:443");
            let long = vec![5; MOST_CHUNK];
            let sent = [chunk(&mut up, b"hello"), chunk(&mut up, &long)].concat();
            assert_eq!(
                read(&mut opener, &sent).unwrap(),
                [b"hello".as_slice(), &long].concat()
            );
            assert!(opener.is_between_chunks());

            let mut down = Sealer::response(method, &key(1), [8; SALT], [9; SALT]);
            let mut opener = Opener::response(method, &key(1), [9; SALT]);
            let sent = [chunk(&mut down, b"first"), chunk(&mut down, b"second")].concat();
            assert_eq!(read(&mut opener, &sent).unwrap(), b"firstsecond");
        }
    }

    #[test]
    fn a_wrong_key_cipher_time_or_salt_is_refused() {
        let aes = Method::Aes256Gcm;
        let refused = |method, key: &Key, now| opened(method, key, &mut ask(aes, NOW).0, now).err();
        assert_eq!(refused(aes, &key(2), NOW), Some(Wrong::Key));
        assert_eq!(
            refused(Method::ChaCha20Poly1305, &key(1), NOW),
            Some(Wrong::Key)
        );
        assert_eq!(refused(aes, &key(1), NOW + 31), Some(Wrong::Clock(31)));
        assert_eq!(refused(aes, &key(1), NOW - 31), Some(Wrong::Clock(31)));

        let sent = chunk(
            &mut Sealer::response(aes, &key(1), [8; SALT], [9; SALT]),
            b"x",
        );
        let mut other = Opener::response(aes, &key(1), [7; SALT]);
        assert_eq!(
            read(&mut other, &sent),
            Err(Wrong::Message("the answer to another request"))
        );
        // A request that comes back is no response.
        let mut echo = Opener::response(aes, &key(1), [9; SALT]);
        assert!(read(&mut echo, &ask(aes, NOW).0).is_err());
    }

    #[test]
    fn every_changed_bit_of_a_request_and_a_chunk_is_noticed() {
        let good = ask(Method::Aes256Gcm, NOW).0;
        for place in 0..good.len() {
            let mut bad = good.clone();
            bad[place] ^= 1;
            assert!(
                opened(Method::Aes256Gcm, &key(1), &mut bad, NOW).is_err(),
                "byte {place}"
            );
        }
        let (mut request, mut up) = ask(Method::Aes256Gcm, NOW);
        let (_, mut opener) = opened(Method::Aes256Gcm, &key(1), &mut request, NOW).unwrap();
        let mut bad = chunk(&mut up, b"text");
        *bad.last_mut().unwrap() ^= 1;
        assert_eq!(read(&mut opener, &bad), Err(Wrong::Key));
        // It takes no more, not even correct chunks.
        assert_eq!(read(&mut opener, &chunk(&mut up, b"text")), Err(Wrong::Key));
    }

    #[test]
    fn swapped_chunks_are_noticed() {
        let (mut request, mut up) = ask(Method::Aes256Gcm, NOW);
        let (_, mut opener) = opened(Method::Aes256Gcm, &key(1), &mut request, NOW).unwrap();
        let (first, second) = (chunk(&mut up, b"1"), chunk(&mut up, b"2"));
        assert_eq!(
            read(&mut opener, &[second, first].concat()),
            Err(Wrong::Key)
        );
    }

    /// The bytes that an attacker without the key sends, and the texts that a defective other end
    /// with the key seals.
    #[test]
    fn no_bytes_of_the_other_end_cause_a_panic() {
        let aes = Method::Aes256Gcm;
        let (request, mut up) = ask(aes, NOW);
        let text = [
            b"\x03\x0bexample.org\x01\xbb\x00\x02..first".as_slice(),
            &[9; 40],
        ]
        .concat();
        let seeds = [[request, chunk(&mut up, b"hello")].concat(), text];
        joulepath_testbed::fuzz(seeds, |bytes| {
            let mut foreign = bytes.to_vec();
            if let Some((first, rest)) = foreign.split_first_chunk_mut() {
                let asked = Asked::open(aes, &key(1), first, NOW);
                let _ = asked.map(|asked| asked.finish(&mut rest[..]).map(|_| ()));
            }
            let _ = Opener::response(aes, &key(1), [9; SALT]).step(&mut bytes.to_vec(), || NOW);

            let mut sealed = [bytes, &[0; TAG]].concat();
            let [mut there, here] = [(); 2].map(|()| Cipher::new(aes, &key(1), &[9; SALT]));
            there.seal(&mut sealed);
            let _ = Asked {
                cipher: here,
                salt: [9; SALT],
                rest: sealed.len(),
            }
            .finish(&mut sealed);
        });
    }
}
