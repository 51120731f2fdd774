//! A netlink socket: requests, lists, and notifications of multicast groups; synchronous, without
//! threads.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recvfrom, send,
    socket_with,
};

use super::message::{Attributes, Known, Malformed, Message, message};
use crate::capability::Task;
use crate::error::{Error, Result};
use crate::sockopt;

/// How long to wait for an answer. The kernel answers within the system call, unless another
/// process holds the lock of the network configuration.
const PATIENCE: Duration = Duration::from_secs(20);
/// Attempts to read a list that changes meanwhile.
const LISTINGS: usize = 16;
/// The kernel sends at most 32 KiB of a list at once.
const BUFFER_BYTES: usize = 1 << 16;

const SOL_NETLINK: libc::c_int = 270;

/// Flags and message types of `include/uapi/linux/netlink.h`.
const NLM_F_REQUEST: u16 = 0x01;
pub(crate) const NLM_F_ACK: u16 = 0x04;
const NLM_F_DUMP_INTR: u16 = 0x10;
const NLM_F_DUMP: u16 = 0x300;
const NLM_F_CAPPED: u16 = 0x100;
const NLM_F_ACK_TLVS: u16 = 0x200;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLMSG_OVERRUN: u16 = 4;
/// Smaller types belong to netlink itself.
const FIRST_KIND: u16 = 16;

const EXPLANATION: Known = Known(1, "NLMSGERR_ATTR_MSG");
const MISSING: Known = Known(5, "NLMSGERR_ATTR_MISS_TYPE");
/// Length of the error number, which the header of the request follows.
const CODE_LEN: usize = 4;
const HEADER_LEN: usize = 16;
/// `MAX_ERRNO` of the kernel.
const LARGEST_ERRNO: i32 = 4095;

/// A netlink socket in the network namespace of the thread that opened it.
#[derive(Debug)]
pub(crate) struct Netlink {
    socket: OwnedFd,
    sequence: u32,
    buffer: Vec<u8>,
}

/// Why a request failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The kernel refused it.
    Refused {
        /// The kernel's error number.
        errno: Errno,
        /// The kernel's explanation, if any.
        said: Option<String>,
    },
    /// The kernel did not answer.
    Silent,
    /// The list changed during every attempt.
    Unsteady,
    /// Notifications were lost.
    Overrun,
    /// An answer could not be parsed.
    Malformed(Malformed),
    /// The socket failed.
    Io(io::Error),
}

/// An answer: the message's type and payload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reply<'a> {
    pub(crate) kind: u16,
    pub(crate) payload: &'a [u8],
}

impl Netlink {
    /// Opens a socket for one of netlink's protocols; `None` is rtnetlink.
    pub(crate) fn open(protocol: Option<Protocol>) -> io::Result<Self> {
        let socket = socket_with(
            AddressFamily::NETLINK,
            SocketType::RAW,
            SocketFlags::CLOEXEC,
            protocol,
        )?;
        bind(&socket, &SocketAddrNetlink::new(0, 0))?;
        for option in [
            libc::NETLINK_EXT_ACK,
            libc::NETLINK_CAP_ACK,
            libc::NETLINK_GET_STRICT_CHK,
        ] {
            // Kernels before 4.20 explain and filter less, so lists are also filtered here.
            let _ = sockopt::set_u32(&socket, SOL_NETLINK, option, 1);
        }
        Self::over(socket)
    }

    /// Wraps an open socket.
    fn over(socket: OwnedFd) -> io::Result<Self> {
        set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE))?;
        Ok(Netlink {
            socket,
            sequence: 0,
            buffer: vec![0; BUFFER_BYTES],
        })
    }

    /// Sends a command, and waits for its completion.
    pub(crate) fn command(&mut self, kind: u16, flags: u16, payload: &[u8]) -> Result<(), Failure> {
        self.ask(kind, flags, payload, |_| Ok(()))
    }

    /// Sends a request for one object, and passes the answer to `each`, if there is one.
    pub(crate) fn ask(
        &mut self,
        kind: u16,
        flags: u16,
        payload: &[u8],
        mut each: impl FnMut(Reply<'_>) -> Result<(), Malformed>,
    ) -> Result<(), Failure> {
        self.send(kind, NLM_F_REQUEST | NLM_F_ACK | flags, payload)?;
        self.answers(&mut each).map(|_| ())
    }

    /// Sends a request for a list, and collects the answers for which `parse` returns a value. A
    /// list that changes while it is sent may be wrong, so it is requested again.
    pub(crate) fn list<T>(
        &mut self,
        kind: u16,
        payload: &[u8],
        mut parse: impl FnMut(Reply<'_>) -> Result<Option<T>, Malformed>,
    ) -> Result<Vec<T>, Failure> {
        for _ in 0..LISTINGS {
            let mut list = vec![];
            self.send(kind, NLM_F_REQUEST | NLM_F_DUMP, payload)?;
            let steady = self.answers(&mut |reply| {
                list.extend(parse(reply)?);
                Ok(())
            })?;
            if steady {
                return Ok(list);
            }
        }
        Err(Failure::Unsteady)
    }

    /// Sends several requests at once, and waits for the completion of all. Each is a type, flags
    /// and a payload; the last one must ask for an acknowledgement ([`NLM_F_ACK`]).
    pub(crate) fn batch(&mut self, requests: &[(u16, u16, Vec<u8>)]) -> Result<(), Failure> {
        self.sequence = self.sequence.wrapping_add(1);
        let sequence = self.sequence;
        let one = |(kind, flags, payload): &(u16, u16, Vec<u8>)| {
            message(*kind, NLM_F_REQUEST | flags, sequence, payload)
        };
        self.send_bytes(&requests.iter().flat_map(one).collect::<Vec<u8>>())?;
        self.answers(&mut |_| Ok(())).map(|_| ())
    }

    fn send(&mut self, kind: u16, flags: u16, payload: &[u8]) -> Result<(), Failure> {
        self.sequence = self.sequence.wrapping_add(1);
        self.send_bytes(&message(kind, flags, self.sequence, payload))
    }

    fn send_bytes(&self, bytes: &[u8]) -> Result<(), Failure> {
        loop {
            match send(&self.socket, bytes, SendFlags::NOSIGNAL) {
                Err(Errno::INTR) => {}
                sent => return Ok(sent.map(|_| ())?),
            }
        }
    }

    /// Reads answers up to the last; false if the list changed meanwhile. It reads all of them even
    /// if one cannot be parsed, so that the next request does not receive them.
    fn answers(
        &mut self,
        each: &mut dyn FnMut(Reply<'_>) -> Result<(), Malformed>,
    ) -> Result<bool, Failure> {
        let (mut steady, mut malformed) = (true, None);
        loop {
            let length = receive(&self.socket, &mut self.buffer, RecvFlags::empty())?;
            let mut rest = &self.buffer[..length];
            while let Some(message) = Message::take(&mut rest)? {
                // An answer to an earlier request that timed out.
                if message.sequence != self.sequence {
                    continue;
                }
                steady &= message.flags & NLM_F_DUMP_INTR == 0;
                match message.kind {
                    NLMSG_DONE | NLMSG_ERROR => {
                        end(message)?;
                        return malformed
                            .map_or(Ok(steady), |error| Err(Failure::Malformed(error)));
                    }
                    NLMSG_OVERRUN => return Err(Failure::Overrun),
                    ..FIRST_KIND => {}
                    kind => {
                        let done = each(Reply {
                            kind,
                            payload: message.payload,
                        });
                        malformed = malformed.or(done.err());
                    }
                }
            }
        }
    }

    /// Subscribes to a multicast group.
    pub(crate) fn join(&self, group: u32) -> io::Result<()> {
        sockopt::set_u32(
            &self.socket,
            SOL_NETLINK,
            libc::NETLINK_ADD_MEMBERSHIP,
            group,
        )
    }

    /// Reads notifications that have arrived, once, without waiting; false if there were none.
    pub(crate) fn notices(
        &mut self,
        mut each: impl FnMut(Reply<'_>) -> Result<(), Malformed>,
    ) -> Result<bool, Failure> {
        let length = match receive(&self.socket, &mut self.buffer, RecvFlags::DONTWAIT) {
            Err(Failure::Silent) => return Ok(false),
            length => length?,
        };
        let (mut rest, mut malformed) = (&self.buffer[..length], None);
        while let Some(Message { kind, payload, .. }) = Message::take(&mut rest)? {
            match kind {
                NLMSG_OVERRUN => return Err(Failure::Overrun),
                ..FIRST_KIND => {}
                kind => malformed = malformed.or(each(Reply { kind, payload }).err()),
            }
        }
        malformed.map_or(Ok(true), |error| Err(Failure::Malformed(error)))
    }

    /// Drops all notifications that have arrived.
    pub(crate) fn drop_notices(&mut self) -> Result<(), Failure> {
        loop {
            match self.notices(|_| Ok(())) {
                Ok(true) | Err(Failure::Overrun | Failure::Malformed(_)) => {}
                Ok(false) => return Ok(()),
                Err(failure) => return Err(failure),
            }
        }
    }

    /// Sets the room for unread notifications, bytes. The kernel doubles it, and has a minimum and
    /// a maximum.
    pub(crate) fn set_room(&self, bytes: usize) -> io::Result<()> {
        Ok(rustix::net::sockopt::set_socket_recv_buffer_size(
            &self.socket,
            bytes,
        )?)
    }
}

/// To wait until it becomes readable.
impl AsFd for Netlink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Receives one datagram of the kernel. Datagrams of other senders are ignored.
fn receive(socket: &OwnedFd, buffer: &mut Vec<u8>, flags: RecvFlags) -> Result<usize, Failure> {
    loop {
        let (length, whole, from) =
            match recvfrom(socket, &mut buffer[..], flags | RecvFlags::TRUNC) {
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return Err(Failure::Silent),
                Err(Errno::NOBUFS) => return Err(Failure::Overrun),
                received => received?,
            };
        let from = from.and_then(|from| SocketAddrNetlink::try_from(from).ok());
        if from.is_some_and(|from| from.pid() != 0) {
            continue;
        }
        if whole > length {
            // The rest of the datagram is lost; the next one will fit.
            buffer.resize(whole.next_power_of_two(), 0);
            return Err(Failure::Overrun);
        }
        return Ok(length);
    }
}

/// The message that ends an answer: success, or an error number with an explanation.
fn end(message: Message<'_>) -> Result<(), Failure> {
    let name = "the end of an answer";
    // Some kernels end a list without an error number.
    if message.kind == NLMSG_DONE && message.payload.is_empty() {
        return Ok(());
    }
    let (code, rest) = message
        .payload
        .split_at_checked(CODE_LEN)
        .ok_or_else(|| Malformed::new(name, "it has no error number"))?;
    let code = i32::from_ne_bytes(code.try_into().expect("split at its length"));
    if code >= 0 {
        return Ok(());
    }
    let number = code.checked_neg().filter(|number| *number <= LARGEST_ERRNO);
    let number =
        number.ok_or_else(|| Malformed::new(name, format!("{code} is not an error number")))?;
    let said = explanation(message.kind, message.flags, rest);
    Err(Failure::Refused {
        errno: Errno::from_raw_os_error(number),
        said,
    })
}

/// The kernel's explanation, after the header of the request or after the whole request.
fn explanation(kind: u16, flags: u16, rest: &[u8]) -> Option<String> {
    if flags & NLM_F_ACK_TLVS == 0 {
        return None;
    }
    let skip = match kind {
        NLMSG_DONE => 0,
        _ if flags & NLM_F_CAPPED != 0 => HEADER_LEN,
        _ => {
            let length = u32::from_ne_bytes(*rest.first_chunk()?) as usize;
            length.max(HEADER_LEN).checked_next_multiple_of(4)?
        }
    };
    let attributes = Attributes::parse("an explanation", rest.get(skip..)?).ok()?;
    let text = attributes.text(EXPLANATION).filter(|text| !text.is_empty());
    text.or_else(|| {
        Some(format!(
            "the attribute {} is missing",
            attributes.u32(MISSING).ok()??
        ))
    })
}

impl From<Errno> for Failure {
    fn from(errno: Errno) -> Self {
        Failure::Io(errno.into())
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Io(error)
    }
}

impl From<Malformed> for Failure {
    fn from(malformed: Malformed) -> Self {
        Failure::Malformed(malformed)
    }
}

impl Failure {
    /// The kernel's error number, if it refused the request.
    pub(crate) fn errno(&self) -> Option<Errno> {
        match self {
            Failure::Refused { errno, .. } => Some(*errno),
            _ => None,
        }
    }

    /// The kernel's explanation, if it refused the request and gave one.
    pub(crate) fn said(&self) -> Option<&str> {
        match self {
            Failure::Refused { said, .. } => said.as_deref(),
            _ => None,
        }
    }

    /// Converts to an error that names the failed action.
    pub(crate) fn doing(self, doing: impl Into<String>) -> Error {
        let doing = doing.into();
        match self {
            Failure::Refused {
                errno,
                said: Some(said),
            } => Error::task(Task::Network, format!("{doing}: {said}"), errno),
            Failure::Refused { errno, said: None } => Error::task(Task::Network, doing, errno),
            Failure::Silent => Error::Busy {
                what: doing,
                why: format!("the kernel did not answer within {} s", PATIENCE.as_secs()),
                remedy: "another program may hold the network configuration: try again".into(),
            },
            Failure::Unsteady => Error::Busy {
                what: doing,
                why: format!("the list changed during each of {LISTINGS} attempts"),
                remedy: "try again when the network configuration is stable".into(),
            },
            Failure::Overrun => Error::Overrun {
                what: format!("{doing}: notifications of the kernel"),
            },
            Failure::Malformed(malformed) => Error::Malformed {
                what: format!("{doing}: a message of the kernel"),
                why: malformed.to_string(),
            },
            Failure::Io(error) => Error::task(Task::Network, doing, error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use rustix::net::{recv, socketpair};

    use super::*;
    use crate::netlink::{attribute_bytes, message_bytes};

    const KIND: u16 = 40;

    /// A socket with a fake kernel: `answer` maps the sequence number of a request to the datagrams
    /// of its answer.
    fn with_kernel<T>(
        answer: impl Fn(usize, u32) -> Vec<Vec<u8>> + Send,
        work: impl FnOnce(&mut Netlink) -> T,
    ) -> T {
        let flags = SocketFlags::CLOEXEC;
        let (ours, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
        let mut netlink = Netlink::over(ours).unwrap();
        thread::scope(|scope| {
            scope.spawn(move || {
                let mut request = [0; 1 << 12];
                for number in 0.. {
                    let length = recv(&theirs, &mut request[..], RecvFlags::empty())
                        .unwrap()
                        .1;
                    let Some(message) = Message::take(&mut &request[..length]).unwrap() else {
                        return;
                    };
                    for datagram in answer(number, message.sequence) {
                        send(&theirs, &datagram, SendFlags::empty()).unwrap();
                    }
                }
            });
            let done = work(&mut netlink);
            drop(netlink);
            done
        })
    }

    fn item(sequence: u32, flags: u16, value: u8) -> Vec<u8> {
        message_bytes(KIND, flags | 2, sequence, &[value])
    }

    fn done(sequence: u32, flags: u16) -> Vec<u8> {
        message_bytes(NLMSG_DONE, flags | 2, sequence, &0i32.to_ne_bytes())
    }

    fn numbers(netlink: &mut Netlink) -> Result<Vec<u8>, Failure> {
        netlink.list(KIND, &[], |reply| Ok(reply.payload.first().copied()))
    }

    #[test]
    fn a_list_in_several_datagrams_is_combined() {
        let answer = |_, sequence| {
            let first = [item(sequence, 0, 1), item(sequence, 0, 2)].concat();
            // Answers to an earlier request are skipped.
            vec![
                item(sequence.wrapping_sub(1), 0, 9),
                first,
                item(sequence, 0, 3),
                done(sequence, 0),
            ]
        };
        assert_eq!(
            with_kernel(answer, |netlink| numbers(netlink).unwrap()),
            [1, 2, 3]
        );
    }

    #[test]
    fn a_list_that_changed_meanwhile_is_requested_again() {
        let answer = |number, sequence| {
            let flag = if number < 2 { NLM_F_DUMP_INTR } else { 0 };
            vec![item(sequence, flag, number as u8), done(sequence, flag)]
        };
        // The result contains nothing of the first two attempts.
        assert_eq!(
            with_kernel(answer, |netlink| numbers(netlink).unwrap()),
            [2]
        );
    }

    #[test]
    fn a_list_that_keeps_changing_is_an_error() {
        let answer = |_, sequence| vec![item(sequence, 0, 1), done(sequence, NLM_F_DUMP_INTR)];
        let failure = with_kernel(answer, |netlink| numbers(netlink).unwrap_err());
        assert!(matches!(failure, Failure::Unsteady), "{failure:?}");
        assert!(
            failure
                .doing("listing")
                .to_string()
                .contains("changed during each of")
        );
    }

    #[test]
    fn no_answer_is_an_error() {
        let answer = |number, sequence| {
            if number == 0 {
                vec![]
            } else {
                vec![done(sequence, 0)]
            }
        };
        with_kernel(answer, |netlink| {
            set_socket_timeout(
                netlink.as_fd(),
                Timeout::Recv,
                Some(Duration::from_millis(30)),
            )
            .unwrap();
            let failure = numbers(netlink).unwrap_err();
            assert!(matches!(failure, Failure::Silent), "{failure:?}");
            // The socket is still usable.
            set_socket_timeout(netlink.as_fd(), Timeout::Recv, Some(PATIENCE)).unwrap();
            assert!(numbers(netlink).unwrap().is_empty());
        });
    }

    #[test]
    fn a_malformed_answer_is_an_error_and_the_next_request_works() {
        let answer = |_, sequence| {
            vec![
                item(sequence, 0, 1),
                item(sequence, 0, 2),
                done(sequence, 0),
            ]
        };
        with_kernel(answer, |netlink| {
            let failure =
                netlink.list::<u8>(KIND, &[], |_| Err(Malformed::new("IFA_LOCAL", "it is odd")));
            let error = failure.unwrap_err().doing("listing addresses");
            assert_eq!(
                error.to_string(),
                "listing addresses: a message of the kernel cannot be read: IFA_LOCAL: it is odd"
            );
            assert_eq!(numbers(netlink).unwrap(), [1, 2]);
        });
    }

    #[test]
    fn a_refusal_contains_the_kernels_explanation() {
        let said = attribute_bytes(EXPLANATION.0, b"Invalid scope\0");
        let refusal = (-libc::EINVAL).to_ne_bytes();
        let request = message_bytes(KIND, 0, 1, &[7; 6]);
        // With only the header of the request, with the whole request, and without an explanation.
        let capped = [&refusal[..], &request[..HEADER_LEN], &said].concat();
        let whole = [&refusal[..], &request, &said].concat();
        let bare = [&refusal[..], &request[..HEADER_LEN]].concat();
        let flags = [NLM_F_CAPPED | NLM_F_ACK_TLVS, NLM_F_ACK_TLVS, NLM_F_CAPPED];
        let answers = [capped, whole, bare];
        let answer = |number: usize, sequence| {
            vec![message_bytes(
                NLMSG_ERROR,
                flags[number],
                sequence,
                &answers[number],
            )]
        };
        with_kernel(answer, |netlink| {
            let mut texts = vec![];
            for _ in 0..3 {
                let failure = netlink.command(KIND, 0, &[]).unwrap_err();
                assert_eq!(failure.errno(), Some(Errno::INVAL));
                texts.push(failure.doing("adding a route").to_string());
            }
            let plain = "adding a route: Invalid argument (os error 22)";
            let explained = "adding a route: Invalid scope: Invalid argument (os error 22)";
            assert_eq!(texts, [explained, explained, plain]);
        });
    }

    #[test]
    fn an_attribute_that_the_kernel_misses_is_named() {
        let missing = attribute_bytes(MISSING.0, &4u32.to_ne_bytes());
        let payload = [
            &(-libc::EINVAL).to_ne_bytes()[..],
            &[0; HEADER_LEN],
            &missing,
        ]
        .concat();
        assert_eq!(
            explanation(
                NLMSG_ERROR,
                NLM_F_CAPPED | NLM_F_ACK_TLVS,
                &payload[CODE_LEN..]
            )
            .as_deref(),
            Some("the attribute 4 is missing")
        );
    }

    #[test]
    fn messages_of_other_processes_are_ignored() {
        let mut netlink = Netlink::open(Some(rustix::net::netlink::USERSOCK)).unwrap();
        let other = Netlink::open(Some(rustix::net::netlink::USERSOCK)).unwrap();
        let name = rustix::net::getsockname(&netlink).unwrap();
        let name = SocketAddrNetlink::try_from(name).unwrap();
        let forged = message_bytes(KIND, 0, 0, &[1]);
        rustix::net::sendto(&other, &forged, SendFlags::empty(), &name).unwrap();
        let mut heard = 0;
        let any = netlink.notices(|_| {
            heard += 1;
            Ok(())
        });
        assert!(!any.unwrap());
        assert_eq!(heard, 0);
    }

    mod properties {
        use proptest::prelude::*;

        use super::*;

        proptest! {
            #[test]
            fn no_end_of_an_answer_causes_a_panic(
                kind in prop_oneof![Just(NLMSG_DONE), Just(NLMSG_ERROR)],
                flags: u16,
                payload in prop::collection::vec(any::<u8>(), 0..100),
            ) {
                let _ = end(Message { kind, flags, sequence: 0, payload: &payload }).is_ok();
            }
        }
    }
}
