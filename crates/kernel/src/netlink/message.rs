//! Builds and parses messages and attributes.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use netlink_packet_core::{NetlinkBuffer, NlasIterator};

/// `NLA_F_NESTED`: the attribute contains others. The kernel refuses some nested attributes without
/// it.
const NESTED: u16 = 0x8000;
/// Mask of an attribute's number, without `NLA_F_NESTED` and `NLA_F_NET_BYTEORDER`
/// (`NLA_TYPE_MASK`).
const KIND: u16 = 0x3fff;
/// Attributes and messages start at multiples of this.
const ALIGNMENT: usize = 4;
const ATTRIBUTE_HEADER: usize = 4;
const MESSAGE_HEADER: usize = 16;

/// A known attribute: its number, and its name in the kernel's headers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known(pub(crate) u16, pub(crate) &'static str);

/// A part of a message that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Malformed {
    /// The attribute or structure.
    what: &'static str,
    why: String,
}

impl Malformed {
    pub(crate) fn new(what: &'static str, why: impl Into<String>) -> Self {
        Malformed {
            what,
            why: why.into(),
        }
    }

    fn length(what: &'static str, is: usize, wanted: usize) -> Self {
        Self::new(what, format!("it has {is} bytes instead of {wanted}"))
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.why)
    }
}

/// One message of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Message<'a> {
    pub(crate) kind: u16,
    pub(crate) flags: u16,
    pub(crate) sequence: u32,
    pub(crate) payload: &'a [u8],
}

impl<'a> Message<'a> {
    /// Takes the first message off `bytes`; `None` at the end.
    pub(crate) fn take(bytes: &mut &'a [u8]) -> Result<Option<Self>, Malformed> {
        if bytes.is_empty() {
            return Ok(None);
        }
        let all: &'a [u8] = bytes;
        let buffer = NetlinkBuffer::new_checked(all).map_err(|error| {
            Malformed::new("the header of a netlink message", error.to_string())
        })?;
        let length = buffer.length() as usize;
        *bytes = all
            .get(length.next_multiple_of(ALIGNMENT)..)
            .unwrap_or_default();
        Ok(Some(Message {
            kind: buffer.message_type(),
            flags: buffer.flags(),
            sequence: buffer.sequence_number(),
            payload: &all[MESSAGE_HEADER..length],
        }))
    }
}

/// Builds a request with its header.
pub(crate) fn message(kind: u16, flags: u16, sequence: u32, payload: &[u8]) -> Vec<u8> {
    let length = (MESSAGE_HEADER + payload.len()) as u32;
    let mut bytes = Vec::with_capacity(MESSAGE_HEADER + payload.len().next_multiple_of(ALIGNMENT));
    bytes.extend(length.to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(flags.to_ne_bytes());
    bytes.extend(sequence.to_ne_bytes());
    // Sender id; the kernel knows it.
    bytes.extend([0; 4]);
    bytes.extend(payload);
    bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
    bytes
}

/// Appends an attribute to a payload.
pub(crate) fn put(payload: &mut Vec<u8>, kind: u16, value: &[u8]) {
    let length =
        u16::try_from(ATTRIBUTE_HEADER + value.len()).expect("requests have short attributes");
    payload.extend(length.to_ne_bytes());
    payload.extend(kind.to_ne_bytes());
    payload.extend(value);
    payload.resize(payload.len().next_multiple_of(ALIGNMENT), 0);
}

/// Appends an attribute that contains others.
pub(crate) fn put_nested(payload: &mut Vec<u8>, kind: u16, inner: &[u8]) {
    put(payload, kind | NESTED, inner);
}

/// Attributes of a message or of an attribute. Unknown attributes are ignored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attributes<'a>(&'a [u8]);

impl<'a> Attributes<'a> {
    /// Checks that the attributes are well-formed up to the end; `what` names their place in
    /// errors.
    pub(crate) fn parse(what: &'static str, bytes: &'a [u8]) -> Result<Self, Malformed> {
        for attribute in NlasIterator::new(bytes) {
            attribute.map_err(|error| Malformed::new(what, error.to_string()))?;
        }
        Ok(Attributes(bytes))
    }

    /// Numbers and values, in order. Every lookup of an attribute starts at the beginning: a daemon
    /// that lists a thousand connections spends most of its time here.
    pub(crate) fn iter(self) -> impl Iterator<Item = (u16, &'a [u8])> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let &[l0, l1, k0, k1] = rest.first_chunk()?;
            let length = usize::from(u16::from_ne_bytes([l0, l1]));
            let kind = u16::from_ne_bytes([k0, k1]) & KIND;
            let value = rest.get(ATTRIBUTE_HEADER..length)?;
            rest = rest
                .get(length.next_multiple_of(ALIGNMENT)..)
                .unwrap_or_default();
            Some((kind, value))
        })
    }

    /// The value; `None` if the attribute is absent.
    pub(crate) fn bytes(self, known: Known) -> Option<&'a [u8]> {
        self.iter()
            .find(|(kind, _)| *kind == known.0)
            .map(|(_, value)| value)
    }

    /// The attributes inside an attribute.
    pub(crate) fn nested(self, known: Known) -> Result<Option<Attributes<'a>>, Malformed> {
        self.bytes(known)
            .map(|bytes| Attributes::parse(known.1, bytes))
            .transpose()
    }

    /// A value of exactly `N` bytes.
    pub(crate) fn array<const N: usize>(self, known: Known) -> Result<Option<[u8; N]>, Malformed> {
        let Some(bytes) = self.bytes(known) else {
            return Ok(None);
        };
        let array = bytes
            .try_into()
            .map_err(|_| Malformed::length(known.1, bytes.len(), N))?;
        Ok(Some(array))
    }

    pub(crate) fn u8(self, known: Known) -> Result<Option<u8>, Malformed> {
        Ok(self.array::<1>(known)?.map(|[byte]| byte))
    }

    /// A u16 in host byte order.
    pub(crate) fn u16(self, known: Known) -> Result<Option<u16>, Malformed> {
        Ok(self.array(known)?.map(u16::from_ne_bytes))
    }

    /// A u32 in host byte order.
    pub(crate) fn u32(self, known: Known) -> Result<Option<u32>, Malformed> {
        Ok(self.array(known)?.map(u32::from_ne_bytes))
    }

    /// A zero-terminated text. Invalid UTF-8 is replaced.
    pub(crate) fn text(self, known: Known) -> Option<String> {
        let bytes = self.bytes(known)?;
        let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
        Some(String::from_utf8_lossy(text).into_owned())
    }

    /// An IPv4 or IPv6 address, depending on the length.
    pub(crate) fn ip(self, known: Known) -> Result<Option<IpAddr>, Malformed> {
        let Some(bytes) = self.bytes(known) else {
            return Ok(None);
        };
        ip(bytes)
            .map(Some)
            .ok_or_else(|| Malformed::new(known.1, format!("no address has {} bytes", bytes.len())))
    }
}

/// An IPv4 or IPv6 address from its bytes.
fn ip(bytes: &[u8]) -> Option<IpAddr> {
    if let Ok(v4) = <[u8; 4]>::try_from(bytes) {
        return Some(Ipv4Addr::from(v4).into());
    }
    <[u8; 16]>::try_from(bytes)
        .ok()
        .map(|v6| Ipv6Addr::from(v6).into())
}

/// A kernel structure at the start of a payload; `name` is its name in the kernel's headers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes<'a> {
    bytes: &'a [u8],
}

impl<'a> Bytes<'a> {
    /// Splits a payload into its first `length` bytes and the attributes after them.
    pub(crate) fn split(
        name: &'static str,
        payload: &'a [u8],
        length: usize,
    ) -> Result<(Self, Attributes<'a>), Malformed> {
        let (bytes, rest) = payload
            .split_at_checked(length)
            .ok_or_else(|| Malformed::length(name, payload.len(), length))?;
        let rest = rest
            .get(length.next_multiple_of(ALIGNMENT) - length..)
            .unwrap_or_default();
        Ok((Bytes { bytes }, Attributes::parse(name, rest)?))
    }

    /// The `N` bytes at an offset, which must be within the length passed to [`Self::split`].
    pub(crate) fn array<const N: usize>(self, at: usize) -> [u8; N] {
        *self.bytes[at..]
            .first_chunk()
            .expect("fields lie inside of their structure")
    }

    pub(crate) fn u8(self, at: usize) -> u8 {
        self.bytes[at]
    }

    pub(crate) fn u32(self, at: usize) -> u32 {
        u32::from_ne_bytes(self.array(at))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    const NUMBER: Known = Known(1, "NUMBER");
    const ADDRESS: Known = Known(2, "ADDRESS");
    const INNER: Known = Known(3, "INNER");
    const TEXT: Known = Known(4, "TEXT");

    /// Builds an attribute, for other modules' tests.
    pub(crate) fn attribute_bytes(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = vec![];
        put(&mut bytes, kind, value);
        bytes
    }

    /// Builds a message, for other modules' tests.
    pub(crate) fn message_bytes(kind: u16, flags: u16, sequence: u32, payload: &[u8]) -> Vec<u8> {
        message(kind, flags, sequence, payload)
    }

    #[test]
    fn a_message_is_laid_out_as_in_the_kernels_headers() {
        let mut payload = vec![];
        put(&mut payload, 5, &[0xaa]);
        // Header of 16 bytes; attribute of 4 + 1 bytes and 3 bytes of padding.
        let mut expected = vec![];
        expected.extend(24u32.to_ne_bytes());
        expected.extend(18u16.to_ne_bytes());
        expected.extend(0x0301u16.to_ne_bytes());
        expected.extend(7u32.to_ne_bytes());
        expected.extend([0; 4]);
        expected.extend(5u16.to_ne_bytes());
        expected.extend(5u16.to_ne_bytes());
        expected.extend([0xaa, 0, 0, 0]);
        assert_eq!(message(18, 0x0301, 7, &payload), expected);
    }

    #[test]
    fn messages_of_one_datagram_are_taken_one_by_one() {
        let both = [message(1, 2, 3, &[9; 5]), message(4, 5, 6, &[])].concat();
        let mut rest = &both[..];
        let first = Message::take(&mut rest).unwrap().unwrap();
        assert_eq!(
            (first.kind, first.flags, first.sequence, first.payload),
            (1, 2, 3, &[9; 5][..])
        );
        assert_eq!(Message::take(&mut rest).unwrap().unwrap().kind, 4);
        assert_eq!(Message::take(&mut rest).unwrap(), None);
    }

    #[test]
    fn a_message_longer_than_its_datagram_is_malformed() {
        let mut bytes = message(1, 2, 3, &[9; 8]);
        bytes.truncate(20);
        assert!(Message::take(&mut &bytes[..]).is_err());
        // A message shorter than its own header is invalid, too.
        bytes[..4].copy_from_slice(&8u32.to_ne_bytes());
        assert!(Message::take(&mut &bytes[..]).is_err());
    }

    #[test]
    fn attributes_are_parsed_as_they_were_written() {
        let mut inner = vec![];
        put(&mut inner, NUMBER.0, &7u32.to_ne_bytes());
        let mut payload = vec![];
        put(&mut payload, NUMBER.0, &[5]);
        put(&mut payload, ADDRESS.0, &[10, 0, 0, 1]);
        put_nested(&mut payload, INNER.0, &inner);
        put(&mut payload, TEXT.0, b"wlan0\0");
        // An unknown attribute.
        put(&mut payload, 99, &[1, 2, 3]);
        let attributes = Attributes::parse("a test", &payload).unwrap();
        assert_eq!(attributes.u8(NUMBER), Ok(Some(5)));
        assert_eq!(attributes.ip(ADDRESS), Ok(Some([10, 0, 0, 1].into())));
        assert_eq!(
            attributes.nested(INNER).unwrap().unwrap().u32(NUMBER),
            Ok(Some(7))
        );
        assert_eq!(attributes.text(TEXT).as_deref(), Some("wlan0"));
        assert_eq!(attributes.u8(Known(6, "ABSENT")), Ok(None));
    }

    #[test]
    fn a_known_attribute_of_a_wrong_length_is_named() {
        let payload = attribute_bytes(NUMBER.0, &[1, 2, 3]);
        let attributes = Attributes::parse("a test", &payload).unwrap();
        assert_eq!(
            attributes.u32(NUMBER).unwrap_err().to_string(),
            "NUMBER: it has 3 bytes instead of 4"
        );
        let error = attributes.ip(Known(1, "ADDRESS")).unwrap_err();
        assert_eq!(error.to_string(), "ADDRESS: no address has 3 bytes");
    }

    #[test]
    fn attributes_that_do_not_fit_are_malformed() {
        let mut payload = attribute_bytes(NUMBER.0, &[1; 8]);
        payload.truncate(10);
        assert!(Attributes::parse("a test", &payload).is_err());
        assert!(Attributes::parse("a test", &[2, 0, 1, 0]).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_cause_a_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            length in 0usize..80,
        ) {
            let mut rest = &bytes[..];
            while let Ok(Some(message)) = Message::take(&mut rest) {
                let _ = Attributes::parse("a test", message.payload);
            }
            if let Ok((structure, attributes)) = Bytes::split("a structure", &bytes, length) {
                assert_eq!(structure.bytes.len(), length);
                for (_, value) in attributes.iter() {
                    assert!(value.len() < bytes.len());
                }
                let _ = (attributes.u8(NUMBER), attributes.u16(NUMBER));
                let _ = (attributes.u32(NUMBER), attributes.ip(NUMBER));
                let _ = (attributes.nested(INNER).is_ok(), attributes.text(TEXT));
            }
        }
    }
}
