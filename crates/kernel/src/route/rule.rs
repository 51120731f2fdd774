//! Rules that select a routing table for packets.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::address::put_ip;
use super::prefix::Prefix;
use super::uapi::family;
use crate::netlink::{Bytes, Known, Malformed, put};

/// `struct fib_rule_hdr`.
const HEADER_LEN: usize = 12;
const HEADER: &str = "struct fib_rule_hdr";
/// `FIB_RULE_INVERT`: the rule applies to packets that do not match.
const INVERT: u32 = 2;
const FAMILY_AT: usize = 0;
const DESTINATION_LEN_AT: usize = 1;
const SOURCE_LEN_AT: usize = 2;
const TABLE_AT: usize = 4;
const ACTION_AT: usize = 7;
const FLAGS_AT: usize = 8;

const DESTINATION: Known = Known(1, "FRA_DST");
const SOURCE: Known = Known(2, "FRA_SRC");
const INCOMING: Known = Known(3, "FRA_IIFNAME");
const PRIORITY: Known = Known(6, "FRA_PRIORITY");
const MARK: Known = Known(10, "FRA_FWMARK");
const SUPPRESS: Known = Known(14, "FRA_SUPPRESS_PREFIXLEN");
const TABLE: Known = Known(15, "FRA_TABLE");
const MASK: Known = Known(16, "FRA_FWMASK");
const OUTGOING: Known = Known(17, "FRA_OIFNAME");
const USERS: Known = Known(20, "FRA_UID_RANGE");
const ORIGIN: Known = Known(21, "FRA_PROTOCOL");
const PROTOCOL: Known = Known(22, "FRA_IP_PROTO");

/// A rule: which packets use which table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Rule {
    /// Rules are tried from the lowest priority number up.
    pub priority: u32,
    /// Source addresses. The prefix gives the family, even if it matches every address.
    pub source: Prefix,
    /// Destination addresses; `None`: all.
    pub destination: Option<Prefix>,
    /// Device through which the packets came in.
    pub incoming: Option<String>,
    /// Device to which the packets' socket is bound.
    pub outgoing: Option<String>,
    /// Mark of the packet or its socket, and the mask.
    pub mark: Option<(u32, u32)>,
    /// First and last user whose sockets it selects.
    #[serde(default)]
    pub users: Option<(u32, u32)>,
    /// Transport protocol, such as 6 for TCP.
    #[serde(default)]
    pub protocol: Option<u8>,
    /// True if the rule applies to the packets that do not match.
    #[serde(default)]
    pub invert: bool,
    /// Its action.
    pub action: Action,
    /// The shortest prefix of a route that the lookup in the table accepts, minus 1; `None`: any
    /// route.
    #[serde(default)]
    pub suppress: Option<u32>,
    /// The creator of the rule (`RTPROT_…`).
    #[serde(default)]
    pub origin: u8,
}

/// Action of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Uses a routing table.
    Table(u32),
    /// Another action, by number, such as to refuse or to jump to another rule.
    Other(u8),
}

const TO_TABLE: u8 = 1;

impl Rule {
    /// A rule by which packets from `source` use `table`. The kernel chooses a priority before its
    /// own rules.
    pub(super) fn from_source(source: IpAddr, table: u32) -> Vec<u8> {
        let mut payload = vec![0; HEADER_LEN];
        payload[FAMILY_AT] = family::of(source);
        payload[SOURCE_LEN_AT] = Prefix::from(source).length();
        payload[ACTION_AT] = TO_TABLE;
        put_ip(&mut payload, SOURCE, source);
        put(&mut payload, TABLE.0, &table.to_ne_bytes());
        payload
    }

    /// The request to add or remove it.
    pub(super) fn request(&self) -> Vec<u8> {
        let mut payload = vec![0; HEADER_LEN];
        payload[FAMILY_AT] = family::of(self.source.address());
        payload[DESTINATION_LEN_AT] = self.destination.map_or(0, Prefix::length);
        payload[SOURCE_LEN_AT] = self.source.length();
        match self.action {
            Action::Table(table) => {
                payload[ACTION_AT] = TO_TABLE;
                put(&mut payload, TABLE.0, &table.to_ne_bytes());
            }
            Action::Other(number) => payload[ACTION_AT] = number,
        }
        put(&mut payload, PRIORITY.0, &self.priority.to_ne_bytes());
        if !self.source.is_all() {
            put_ip(&mut payload, SOURCE, self.source.address());
        }
        if let Some(destination) = self.destination {
            put_ip(&mut payload, DESTINATION, destination.address());
        }
        for (known, name) in [(INCOMING, &self.incoming), (OUTGOING, &self.outgoing)] {
            if let Some(name) = name {
                put(&mut payload, known.0, &[name.as_bytes(), &[0]].concat());
            }
        }
        if let Some((mark, mask)) = self.mark {
            put(&mut payload, MARK.0, &mark.to_ne_bytes());
            put(&mut payload, MASK.0, &mask.to_ne_bytes());
        }
        if let Some((first, last)) = self.users {
            put(
                &mut payload,
                USERS.0,
                &[first.to_ne_bytes(), last.to_ne_bytes()].concat(),
            );
        }
        if self.invert {
            payload[FLAGS_AT..FLAGS_AT + 4].copy_from_slice(&INVERT.to_ne_bytes());
        }
        if let Some(protocol) = self.protocol {
            put(&mut payload, PROTOCOL.0, &[protocol]);
        }
        if let Some(length) = self.suppress {
            put(&mut payload, SUPPRESS.0, &length.to_ne_bytes());
        }
        if self.origin != 0 {
            put(&mut payload, ORIGIN.0, &[self.origin]);
        }
        payload
    }

    /// Parses an element of a list; `None` for rules of other families.
    pub(super) fn parse(payload: &[u8]) -> Result<Option<Self>, Malformed> {
        let (header, attributes) = Bytes::split(HEADER, payload, HEADER_LEN)?;
        let all = match header.u8(FAMILY_AT) {
            family::INET => Prefix::ALL_V4,
            family::INET6 => Prefix::ALL_V6,
            _ => return Ok(None),
        };
        let prefix = |known: Known, length_at: usize| {
            let Some(ip) = attributes.ip(known)? else {
                return Ok(None);
            };
            let prefix = Prefix::new(ip, header.u8(length_at));
            prefix
                .map(Some)
                .map_err(|error| Malformed::new(known.1, error.to_string()))
        };
        let table = attributes
            .u32(TABLE)?
            .unwrap_or(u32::from(header.u8(TABLE_AT)));
        let mark = attributes.u32(MARK)?;
        let users = attributes.array::<8>(USERS)?.map(|range| {
            let [first, last] =
                [0, 4].map(|at| u32::from_ne_bytes([0, 1, 2, 3].map(|i| range[at + i])));
            (first, last)
        });
        let mask = attributes.u32(MASK)?.unwrap_or(u32::MAX);
        Ok(Some(Rule {
            priority: attributes.u32(PRIORITY)?.unwrap_or(0),
            source: prefix(SOURCE, SOURCE_LEN_AT)?.unwrap_or(all),
            destination: prefix(DESTINATION, DESTINATION_LEN_AT)?,
            incoming: attributes.text(INCOMING),
            outgoing: attributes.text(OUTGOING),
            mark: mark.map(|mark| (mark, mask)),
            users,
            action: match header.u8(ACTION_AT) {
                TO_TABLE => Action::Table(table),
                other => Action::Other(other),
            },
            protocol: attributes.u8(PROTOCOL)?,
            invert: header.u32(FLAGS_AT) & INVERT != 0,
            suppress: attributes
                .u32(SUPPRESS)?
                .filter(|&length| length != u32::MAX),
            origin: attributes.u8(ORIGIN)?.unwrap_or(0),
        }))
    }
}

/// The request to list rules.
pub(super) fn list_request(family: u8) -> Vec<u8> {
    let mut payload = vec![0; HEADER_LEN];
    payload[FAMILY_AT] = family;
    payload
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Rule {
        Rule {
            priority: 900,
            source: Prefix::new("10.1.0.0".parse().unwrap(), 16).unwrap(),
            destination: Some(Prefix::from(IpAddr::from([192, 0, 2, 1]))),
            incoming: Some("wlan0".into()),
            outgoing: None,
            mark: Some((7, 0xff)),
            users: Some((1000, 1999)),
            action: Action::Table(1000),
            protocol: Some(6),
            invert: true,
            suppress: Some(0),
            origin: 4,
        }
    }

    #[test]
    fn a_rule_is_read_as_it_was_written() {
        let everything = Rule {
            source: Prefix::ALL_V6,
            destination: None,
            incoming: None,
            outgoing: Some("lte0".into()),
            mark: None,
            users: None,
            action: Action::Other(6),
            protocol: None,
            invert: false,
            suppress: None,
            ..example()
        };
        for rule in [example(), everything] {
            assert_eq!(Rule::parse(&rule.request()).unwrap(), Some(rule));
        }
    }

    #[test]
    fn a_malformed_part_is_named() {
        let mut payload = example().request();
        payload[SOURCE_LEN_AT] = 40;
        assert!(
            Rule::parse(&payload)
                .unwrap_err()
                .to_string()
                .starts_with("FRA_SRC: ")
        );
    }

    #[test]
    fn no_message_causes_a_panic() {
        joulepath_testbed::fuzz([example().request()], |bytes| {
            let _ = Rule::parse(bytes).is_ok();
        });
    }
}
