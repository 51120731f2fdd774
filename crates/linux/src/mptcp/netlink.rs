//! Requests and answers over one netlink socket, synchronously and without threads of their own.

use std::fmt;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use neli::consts::nl::{NlmF, Nlmsg, NlmsgerrAttr};
use neli::consts::socket::NlFamily;
use neli::err::{DeError, SocketError};
use neli::genl::{AttrTypeBuilder, Genlmsghdr, GenlmsghdrBuilder, Nlattr, NlattrBuilder};
use neli::nl::{NlPayload, NlmsghdrBuilder};
use neli::socket::synchronous::NlSocketHandle;
use neli::types::{Buffer, GenlBuffer};
use neli::utils::Groups;
use neli::{FromBytesWithInput, Size, ToBytes};

/// Attributes of a message, or nested ones.
pub(crate) type Attributes = GenlBuffer<u16, Buffer>;
/// One of them.
pub(crate) type Attribute = Nlattr<u16, Buffer>;

/// A netlink socket in the network namespace of the thread that opened it.
pub(crate) struct Netlink {
    socket: NlSocketHandle,
    sequence: u32,
}

/// Why the kernel did not do it.
#[derive(Debug)]
pub(crate) struct Refusal {
    /// Its error number.
    pub(crate) error: io::Error,
    /// What it says about it, if it does.
    pub(crate) said: Option<String>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.said {
            Some(said) => write!(f, "{} ({said})", self.error),
            None => self.error.fmt(f),
        }
    }
}

impl From<Refusal> for io::Error {
    fn from(refusal: Refusal) -> Self {
        match &refusal.said {
            Some(_) => io::Error::new(refusal.error.kind(), refusal.to_string()),
            None => refusal.error,
        }
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Refusal { error, said: None }
    }
}

/// Takes the payload of each message.
pub(crate) type Each<'a> = &'a mut dyn FnMut(&[u8]) -> io::Result<()>;

impl Netlink {
    /// Opens a socket.
    pub(crate) fn open(family: NlFamily) -> io::Result<Self> {
        let socket = NlSocketHandle::connect(family, None, Groups::empty()).map_err(io_error)?;
        // Old kernels do not explain: that costs only the explanation.
        let _ = socket.enable_ext_ack(true);
        Ok(Netlink { socket, sequence: 0 })
    }

    /// Sends a request and hands the payload of each answer to `each`, until the kernel says that this was all.
    pub(crate) fn request<P: Size + ToBytes + fmt::Debug>(
        &mut self,
        kind: u16,
        extent: Extent,
        payload: P,
        each: Each<'_>,
    ) -> Result<(), Refusal> {
        self.sequence = self.sequence.wrapping_add(1);
        let flags = match extent {
            Extent::One => NlmF::REQUEST | NlmF::ACK,
            Extent::All => NlmF::REQUEST | NlmF::DUMP,
        };
        let message = NlmsghdrBuilder::default()
            .nl_type(kind)
            .nl_flags(flags)
            .nl_seq(self.sequence)
            .nl_payload(NlPayload::Payload(payload))
            .build()
            .map_err(io::Error::other)?;
        self.socket.send(&message).map_err(io_error)?;
        while !self.answers(each)? {}
        Ok(())
    }

    /// Reads one buffer of answers; whether the last one was there.
    fn answers(&self, each: Each<'_>) -> Result<bool, Refusal> {
        let (messages, _) = retry(|| self.socket.recv::<u16, Buffer>())?;
        for message in messages {
            let message = message.map_err(io_error)?;
            if *message.nl_seq() != self.sequence {
                continue;
            }
            match message.nl_payload() {
                NlPayload::Ack(_) | NlPayload::Empty => return Ok(true),
                NlPayload::DumpExtAck(end) => return refuse(*end.error(), end.ext_ack()),
                NlPayload::Err(end) => return refuse(*end.error(), end.ext_ack()),
                NlPayload::Payload(_) if *message.nl_type() == u16::from(Nlmsg::Noop) => {}
                NlPayload::Payload(payload) => each(payload.as_ref())?,
            }
        }
        Ok(false)
    }

    /// Subscribes to a multicast group.
    pub(crate) fn join(&self, group: u32) -> io::Result<()> {
        self.socket.add_mcast_membership(Groups::new_groups(&[group])).map_err(io_error)
    }

    /// Reads what multicast groups have sent; blocks until there is something.
    pub(crate) fn notices(&self, each: Each<'_>) -> io::Result<()> {
        let (messages, _) = retry(|| self.socket.recv::<u16, Buffer>())?;
        for message in messages {
            if let NlPayload::Payload(payload) = message.map_err(io_error)?.nl_payload() {
                each(payload.as_ref())?;
            }
        }
        Ok(())
    }

    /// To wait for it to become readable.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the socket is open for as long as `self`, which the result borrows.
        unsafe { BorrowedFd::borrow_raw(self.socket.as_raw_fd()) }
    }
}

/// How many answers a request has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// One or none.
    One,
    /// A list.
    All,
}

/// Again, while a signal interrupts it.
fn retry<T>(mut call: impl FnMut() -> Result<T, SocketError>) -> io::Result<T> {
    loop {
        match call().map_err(io_error) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

fn io_error(error: SocketError) -> io::Error {
    match error {
        SocketError::Io(error) => {
            error.raw_os_error().map_or_else(|| io::Error::other(error), io::Error::from_raw_os_error)
        }
        other => io::Error::other(other.to_string()),
    }
}

/// An end that carries an error number: 0 is success.
fn refuse(code: i32, explanation: &GenlBuffer<NlmsgerrAttr, Buffer>) -> Result<bool, Refusal> {
    if code == 0 {
        return Ok(true);
    }
    let text = explanation.iter().find(|a| *a.nla_type().nla_type() == NlmsgerrAttr::Msg);
    let text =
        text.map(|a| String::from_utf8_lossy(a.nla_payload().as_ref()).trim_end_matches('\0').to_owned());
    Err(Refusal { error: io::Error::from_raw_os_error(code.wrapping_neg()), said: text })
}

/// A message of generic netlink.
pub(crate) fn generic(command: u8, version: u8, attributes: Attributes) -> io::Result<Genlmsghdr<u8, u16>> {
    GenlmsghdrBuilder::default()
        .cmd(command)
        .version(version)
        .attrs(attributes)
        .build()
        .map_err(io::Error::other)
}

/// Command and attributes of a message of generic netlink.
pub(crate) fn parse_generic(payload: &[u8]) -> io::Result<(u8, Attributes)> {
    let message = Genlmsghdr::<u8, u16>::from_bytes_with_input(&mut io::Cursor::new(payload), payload.len())
        .map_err(malformed)?;
    Ok((*message.cmd(), message.attrs().clone()))
}

/// Attributes from bytes.
pub(crate) fn parse_attributes(bytes: &[u8]) -> io::Result<Attributes> {
    Attributes::from_bytes_with_input(&mut io::Cursor::new(bytes), bytes.len()).map_err(malformed)
}

fn malformed(error: DeError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("a netlink message that cannot be read: {error}"))
}

/// An attribute with plain bytes.
pub(crate) fn attribute(kind: u16, bytes: &[u8]) -> io::Result<Attribute> {
    build_attribute(kind, bytes, false)
}

/// An attribute that holds others. The kernel refuses it without the flag that says so.
pub(crate) fn nested(kind: u16, inner: &[Attribute]) -> io::Result<Attribute> {
    let inner: Attributes = inner.iter().cloned().collect();
    let mut bytes = io::Cursor::new(Vec::new());
    inner.to_bytes(&mut bytes).map_err(io::Error::other)?;
    build_attribute(kind, bytes.get_ref(), true)
}

fn build_attribute(kind: u16, bytes: &[u8], nested: bool) -> io::Result<Attribute> {
    let kind =
        AttrTypeBuilder::default().nla_type(kind).nla_nested(nested).build().map_err(io::Error::other)?;
    NlattrBuilder::default().nla_type(kind).nla_payload(Buffer::from(bytes)).build().map_err(io::Error::other)
}

/// Typed looks into attributes: none where the attribute is absent or too short.
pub(crate) trait Look {
    /// The payload.
    fn bytes(&self, kind: u16) -> Option<&[u8]>;

    /// The first `N` bytes of the payload.
    fn array<const N: usize>(&self, kind: u16) -> Option<[u8; N]> {
        self.bytes(kind)?.first_chunk().copied()
    }

    /// A u8.
    fn u8(&self, kind: u16) -> Option<u8> {
        self.array::<1>(kind).map(|[byte]| byte)
    }

    /// A u16 in the machine's order.
    fn u16(&self, kind: u16) -> Option<u16> {
        self.array(kind).map(u16::from_ne_bytes)
    }

    /// A u32 in the machine's order.
    fn u32(&self, kind: u16) -> Option<u32> {
        self.array(kind).map(u32::from_ne_bytes)
    }
}

impl Look for Attributes {
    fn bytes(&self, kind: u16) -> Option<&[u8]> {
        self.iter().find(|a| *a.nla_type().nla_type() == kind).map(|a| a.nla_payload().as_ref())
    }
}
