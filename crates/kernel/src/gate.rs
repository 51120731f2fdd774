//! Limits of bytes that the kernel enforces without polls: nftables quotas of network devices.
//!
//! ```text
//! table netdev NAME (flags owner)       it ends with the socket that made it, also after SIGKILL
//!   quota limit { over N bytes }
//!   quota joins { over N bytes }        of MPTCP's joins
//!   chain DEVICE-in   ingress           counts
//!   chain DEVICE-out  egress            drops further joins; counts; beyond the limit ─► closed
//!   chain closed                        drops MPTCP, or everything except ARP, ICMPv6 and DHCP, so that the
//!                                       device keeps its addresses; TCP resets pass
//! ```
//! What arrives is delivered: its bytes have been spent. Without acknowledgements a sender stops
//! after what is in flight. Requires Linux 5.16.

use rustix::io::Errno;
use rustix::net::netlink;

use crate::error::{Doing, Result};
use crate::netlink::{
    Attributes, Bytes, Failure, Known, Malformed, NLM_F_ACK, Netlink, put, put_nested,
};

const SUBSYSTEM: u16 = 10;
const BATCH_BEGIN: u16 = 0x10;
const BATCH_END: u16 = 0x11;
const CREATE: u16 = 0x400;
const NEW_TABLE: u16 = SUBSYSTEM << 8;
const DELETE_TABLE: u16 = NEW_TABLE | 2;
const NEW_CHAIN: u16 = NEW_TABLE | 3;
const NEW_RULE: u16 = NEW_TABLE | 6;
const NEW_OBJECT: u16 = NEW_TABLE | 18;
const GET_OBJECT: u16 = NEW_TABLE | 19;
/// `struct nfgenmsg`: family, version and, in network order, the subsystem of a batch.
const HEADER_LEN: usize = 4;
const HEADER: &str = "struct nfgenmsg";
const NETDEV: u8 = 5;
/// `NFT_TABLE_F_OWNER`.
const OWNER: u32 = 2;
const QUOTA_TYPE: u32 = 2;
/// `NFT_QUOTA_F_INV`: a rule goes on beyond the quota.
const OVER: u32 = 1;
const OBJECT_DATA: Known = Known(4, "NFTA_OBJ_DATA");
const QUOTA_BYTES: u16 = 1;
const QUOTA_FLAGS: u16 = 2;
const CONSUMED: Known = Known(4, "NFTA_QUOTA_CONSUMED");
const QUOTA: &str = "limit";
const JOINS: &str = "joins";
/// Least length of a SYN that joins a connection: IPv4, with timestamps, without Ethernet's header.
const JOIN_BYTES: u64 = 72;
const CLOSED: &str = "closed";
/// Verdicts.
const DROP: i32 = 0;
const ACCEPT: i32 = 1;
const JUMP: i32 = -3;
const EQUAL: u32 = 0;
const NOT_EQUAL: u32 = 1;
/// Keys of `meta`.
const PROTOCOL: u32 = 1;
const TRANSPORT: u32 = 16;
const ARP: [u8; 2] = [0x08, 0x06];
const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMPV6: u8 = 58;
/// Destination ports of DHCP's servers, IPv4 and IPv6.
const DHCP: [u16; 2] = [67, 547];
/// The destination port in a transport header, and its length.
const PORT: (u32, u32) = (2, 2);
/// The flags in TCP's header, and their length.
const FLAGS: (u32, u32) = (13, 1);
const RESET: u8 = 4;
const SYN: u8 = 2;
/// Kind of MPTCP's option; the place, mask and value of its subtype MP_JOIN.
const MPTCP: u8 = 30;
const SUBTYPE: (u32, u8) = (2, 0xf0);
const MP_JOIN: u8 = 0x10;

/// What a gate stops beyond its limit. TCP resets pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stops {
    /// Everything except ARP, ICMPv6 and DHCP.
    All,
    /// Packets of MPTCP; before the limit, subflows that would open after `joins` others. Each
    /// brings its initial window at once, whatever the limit.
    Mptcp {
        /// Most subflows that may open.
        joins: u64,
    },
}

impl Stops {
    fn rules(self) -> Vec<Vec<u8>> {
        let transport = |number| [meta(TRANSPORT), compare(EQUAL, &[number])].concat();
        let passes = |what: &[Vec<u8>]| [what.concat(), verdict(ACCEPT, None)].concat();
        let resets = passes(&[
            transport(TCP),
            field(FLAGS),
            masked(RESET),
            compare(NOT_EQUAL, &[0]),
        ]);
        let dhcp = |port: u16| {
            passes(&[
                transport(UDP),
                field(PORT),
                compare(EQUAL, &port.to_be_bytes()),
            ])
        };
        match self {
            Stops::All => vec![
                resets,
                passes(&[meta(PROTOCOL), compare(EQUAL, &ARP)]),
                passes(&[transport(ICMPV6)]),
                dhcp(DHCP[0]),
                dhcp(DHCP[1]),
                verdict(DROP, None),
            ],
            Stops::Mptcp { .. } => vec![
                resets,
                [transport(TCP), has_option(MPTCP), verdict(DROP, None)].concat(),
            ],
        }
    }
}

/// One request of a batch.
type Request = (u16, u16, Vec<u8>);

/// The gates of this process in the network namespace in which it was opened. They end with this
/// value.
#[derive(Debug)]
pub struct Gates {
    netlink: Netlink,
}

impl Gates {
    /// Opens a socket in the calling thread's namespace.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) if this kernel has no nftables.
    pub fn open() -> Result<Self> {
        Ok(Gates {
            netlink: Netlink::open(Some(netlink::NETFILTER)).doing("opening nftables")?,
        })
    }

    /// Limits the bytes that these devices carry together, in both directions, from now on.
    ///
    /// # Errors
    /// [`Error::Permission`](crate::Error::Permission) without `CAP_NET_ADMIN`, another error if a
    /// device or this feature of the kernel is missing.
    pub fn add(&mut self, name: &str, devices: &[&str], bytes: u64, stops: Stops) -> Result<()> {
        let mut requests = vec![
            table(name),
            quota(name, QUOTA, bytes),
            chain(name, CLOSED, None),
        ];
        if let Stops::Mptcp { joins } = stops {
            requests.push(quota(name, JOINS, joins * JOIN_BYTES));
        }
        requests.extend(
            stops
                .rules()
                .iter()
                .map(|expressions| rule(name, CLOSED, expressions)),
        );
        for device in devices {
            for (hook, end) in [(0, "in"), (1, "out")] {
                let own = format!("{device}-{end}");
                requests.push(chain(name, &own, Some((hook, device))));
                if hook == 1 && stops != Stops::All {
                    requests.push(rule(name, &own, &further_joins()));
                }
                let closes = if hook == 1 {
                    verdict(JUMP, Some(CLOSED))
                } else {
                    vec![]
                };
                requests.push(rule(name, &own, &[counts(QUOTA), closes].concat()));
            }
        }
        self.change(requests)
            .map_err(|failure| failure.doing("limiting the bytes of devices"))
    }

    /// Changes a limit: bytes since [`Self::add`].
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn set(&mut self, name: &str, bytes: u64) -> Result<()> {
        let changed = self.change(vec![quota(name, QUOTA, bytes)]);
        changed.map_err(|failure| failure.doing("changing the limit of a device"))
    }

    /// Lets this many subflows open from now on.
    ///
    /// # Errors
    /// As [`Self::passed`].
    pub fn admit(&mut self, name: &str, joins: u64) -> Result<()> {
        let counted = self.counted(name, JOINS)?;
        let changed = self.change(vec![quota(name, JOINS, counted + joins * JOIN_BYTES)]);
        changed.map_err(|failure| failure.doing("admitting subflows to a device"))
    }

    /// Bytes since [`Self::add`], at most the limit.
    ///
    /// # Errors
    /// As [`Self::add`]; [`Error::Malformed`](crate::Error::Malformed) if the answer cannot be
    /// parsed.
    pub fn passed(&mut self, name: &str) -> Result<u64> {
        self.counted(name, QUOTA)
    }

    /// Bytes that a quota has counted.
    fn counted(&mut self, name: &str, object: &str) -> Result<u64> {
        let mut payload = of_object(name, object);
        put(&mut payload, 3, &QUOTA_TYPE.to_be_bytes());
        let mut passed = None;
        let asked = self.netlink.ask(GET_OBJECT, 0, &payload, |reply| {
            passed = consumed(reply.payload)?;
            Ok(())
        });
        asked
            .and_then(|()| passed.ok_or_else(|| Malformed::new(CONSUMED.1, "it is missing").into()))
            .map_err(|failure| failure.doing("reading the bytes of a device"))
    }

    /// Removes a gate. It may be absent already.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn remove(&mut self, name: &str) -> Result<()> {
        let mut payload = header(NETDEV, 0);
        put_text(&mut payload, 1, name);
        match self.change(vec![(DELETE_TABLE, 0, payload)]) {
            Err(failure) if failure.errno() == Some(Errno::NOENT) => Ok(()),
            done => done.map_err(|failure| failure.doing("removing the limit of a device")),
        }
    }

    /// All or nothing.
    fn change(&mut self, mut requests: Vec<Request>) -> Result<(), Failure> {
        if let Some(last) = requests.last_mut() {
            last.1 |= NLM_F_ACK;
        }
        let frame = |kind| (kind, 0, header(0, SUBSYSTEM));
        requests.insert(0, frame(BATCH_BEGIN));
        requests.push(frame(BATCH_END));
        self.netlink.batch(&requests)
    }
}

/// The bytes in an answer about a quota.
fn consumed(payload: &[u8]) -> Result<Option<u64>, Malformed> {
    let (_, attributes) = Bytes::split(HEADER, payload, HEADER_LEN)?;
    let data = attributes.nested(OBJECT_DATA)?;
    let bytes = data
        .map(|data: Attributes<'_>| data.array(CONSUMED))
        .transpose()?
        .flatten();
    Ok(bytes.map(u64::from_be_bytes))
}

fn header(family: u8, subsystem: u16) -> Vec<u8> {
    let [high, low] = subsystem.to_be_bytes();
    vec![family, 0, high, low]
}

fn put_text(payload: &mut Vec<u8>, kind: u16, text: &str) {
    put(payload, kind, &[text.as_bytes(), &[0]].concat());
}

fn put_number(payload: &mut Vec<u8>, kind: u16, number: u32) {
    put(payload, kind, &number.to_be_bytes());
}

fn table(name: &str) -> Request {
    let mut payload = header(NETDEV, 0);
    put_text(&mut payload, 1, name);
    put_number(&mut payload, 2, OWNER);
    (NEW_TABLE, CREATE, payload)
}

fn of_object(name: &str, object: &str) -> Vec<u8> {
    let mut payload = header(NETDEV, 0);
    put_text(&mut payload, 1, name);
    put_text(&mut payload, 2, object);
    payload
}

/// The request for a new quota, or for another limit of the one that exists.
fn quota(name: &str, object: &str, bytes: u64) -> Request {
    let mut data = vec![];
    put(&mut data, QUOTA_BYTES, &bytes.to_be_bytes());
    put_number(&mut data, QUOTA_FLAGS, OVER);
    let mut payload = of_object(name, object);
    put_number(&mut payload, 3, QUOTA_TYPE);
    put_nested(&mut payload, OBJECT_DATA.0, &data);
    (NEW_OBJECT, CREATE, payload)
}

/// A chain; `hook` is the number of the hook and its device.
fn chain(name: &str, chain: &str, hook: Option<(u32, &str)>) -> Request {
    let mut payload = header(NETDEV, 0);
    put_text(&mut payload, 1, name);
    put_text(&mut payload, 3, chain);
    if let Some((number, device)) = hook {
        let mut place = vec![];
        put_number(&mut place, 1, number);
        put_number(&mut place, 2, 0);
        put_text(&mut place, 3, device);
        put_nested(&mut payload, 4, &place);
        put_text(&mut payload, 7, "filter");
    }
    (NEW_CHAIN, CREATE, payload)
}

fn rule(name: &str, chain: &str, expressions: &[u8]) -> Request {
    /// `NLM_F_APPEND`.
    const APPEND: u16 = 0x800;
    let mut payload = header(NETDEV, 0);
    put_text(&mut payload, 1, name);
    put_text(&mut payload, 2, chain);
    put_nested(&mut payload, 4, expressions);
    (NEW_RULE, CREATE | APPEND, payload)
}

/// An element of a list of expressions. Registers: 0 is the verdict, 1 a value.
fn expression(name: &str, numbers: &[(u16, u32)], nested: &[(u16, Vec<u8>)]) -> Vec<u8> {
    let mut data = vec![];
    for &(kind, number) in numbers {
        put_number(&mut data, kind, number);
    }
    for (kind, inner) in nested {
        put_nested(&mut data, *kind, inner);
    }
    element(name, &data)
}

fn element(name: &str, data: &[u8]) -> Vec<u8> {
    let mut inner = vec![];
    put_text(&mut inner, 1, name);
    put_nested(&mut inner, 2, data);
    let mut element = vec![];
    put_nested(&mut element, 1, &inner);
    element
}

fn value(bytes: &[u8]) -> Vec<u8> {
    let mut value = vec![];
    put(&mut value, 1, bytes);
    value
}

/// Counts a packet; goes on only beyond the limit of the quota.
fn counts(object: &str) -> Vec<u8> {
    let mut data = vec![];
    put_number(&mut data, 1, QUOTA_TYPE);
    put_text(&mut data, 2, object);
    element("objref", &data)
}

/// Counts SYNs that join a connection, and drops those beyond the quota.
fn further_joins() -> Vec<u8> {
    let (at, mask) = SUBTYPE;
    [
        meta(TRANSPORT),
        compare(EQUAL, &[TCP]),
        field(FLAGS),
        masked(SYN),
        compare(NOT_EQUAL, &[0]),
        of_option(MPTCP, at, 0),
        masked(mask),
        compare(EQUAL, &[MP_JOIN]),
        counts(JOINS),
        verdict(DROP, None),
    ]
    .concat()
}

fn meta(key: u32) -> Vec<u8> {
    expression("meta", &[(1, 1), (2, key)], &[])
}

/// Loads a field of the transport header.
fn field((at, length): (u32, u32)) -> Vec<u8> {
    expression("payload", &[(1, 1), (2, 2), (3, at), (4, length)], &[])
}

/// Keeps only the bits of `mask`.
fn masked(mask: u8) -> Vec<u8> {
    expression(
        "bitwise",
        &[(1, 1), (2, 1), (3, 1)],
        &[(4, value(&[mask])), (5, value(&[0]))],
    )
}

/// Goes on if TCP's header has an option of this kind.
fn has_option(kind: u8) -> Vec<u8> {
    /// `NFT_EXTHDR_F_PRESENT`.
    const PRESENT: u32 = 1;
    [of_option(kind, 0, PRESENT), compare(EQUAL, &[1])].concat()
}

/// Loads a byte of a TCP option; without flags, goes on only if there is one.
fn of_option(kind: u8, at: u32, flags: u32) -> Vec<u8> {
    let mut data = vec![];
    put_number(&mut data, 1, 1);
    put(&mut data, 2, &[kind]);
    for (attribute, number) in [(3, at), (4, 1), (5, flags), (6, 1)] {
        put_number(&mut data, attribute, number);
    }
    element("exthdr", &data)
}

fn compare(how: u32, with: &[u8]) -> Vec<u8> {
    expression("cmp", &[(1, 1), (2, how)], &[(3, value(with))])
}

fn verdict(code: i32, chain: Option<&str>) -> Vec<u8> {
    let mut verdict = vec![];
    put(&mut verdict, 1, &code.to_be_bytes());
    if let Some(chain) = chain {
        put_text(&mut verdict, 2, chain);
    }
    let mut data = vec![];
    put_nested(&mut data, 2, &verdict);
    expression("immediate", &[(1, 0)], &[(2, data)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_a_quota_are_parsed() {
        let mut data = vec![];
        put(&mut data, CONSUMED.0, &7u64.to_be_bytes());
        let mut payload = of_object("a", QUOTA);
        assert_eq!(consumed(&payload), Ok(None));
        put_nested(&mut payload, OBJECT_DATA.0, &data);
        assert_eq!(consumed(&payload), Ok(Some(7)));
        assert!(consumed(&payload[..2]).is_err());
    }
}
