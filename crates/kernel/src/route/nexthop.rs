//! Nexthop objects (`ip nexthop`, Linux 5.3): gateways and devices that routes refer to by id.

use std::collections::BTreeMap;

use super::entry::{Hop, gateway};
use super::uapi::family;
use crate::netlink::{Bytes, Known, Malformed};

/// `struct nhmsg`.
const HEADER_LEN: usize = 8;
const HEADER: &str = "struct nhmsg";
/// `struct nexthop_grp`: the id of a member, and its weight.
const MEMBER_LEN: usize = 8;

const ID: Known = Known(1, "NHA_ID");
const GROUP: Known = Known(2, "NHA_GROUP");
const BLACKHOLE: Known = Known(4, "NHA_BLACKHOLE");
const DEVICE: Known = Known(5, "NHA_OIF");
const GATEWAY: Known = Known(6, "NHA_GATEWAY");

/// Contents of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Nexthop {
    Hop(Hop),
    /// Ids of the members.
    Group(Vec<u32>),
    /// Drops packets.
    Blackhole,
}

/// All objects of a network namespace, by id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Nexthops(BTreeMap<u32, Nexthop>);

impl Nexthop {
    /// Parses an element of a list.
    pub(super) fn parse(payload: &[u8]) -> Result<Option<(u32, Self)>, Malformed> {
        let (_, attributes) = Bytes::split(HEADER, payload, HEADER_LEN)?;
        let Some(id) = attributes.u32(ID)? else {
            return Ok(None);
        };
        let nexthop = match attributes.bytes(GROUP) {
            Some(group) if !group.is_empty() => Nexthop::Group(members(group)?),
            _ if attributes.bytes(BLACKHOLE).is_some() => Nexthop::Blackhole,
            _ => {
                let device = attributes.u32(DEVICE)?;
                Nexthop::Hop(Hop {
                    device,
                    gateway: gateway(attributes, GATEWAY)?,
                })
            }
        };
        Ok(Some((id, nexthop)))
    }
}

impl Nexthops {
    pub(super) fn new(list: Vec<(u32, Nexthop)>) -> Self {
        Nexthops(list.into_iter().collect())
    }

    /// The hops of routes with this object; empty if it is a blackhole or is gone.
    pub(super) fn hops(&self, id: u32) -> Vec<Hop> {
        let hop = |id: &u32| match self.0.get(id) {
            Some(Nexthop::Hop(hop)) => Some(*hop),
            // A group cannot contain a group.
            Some(Nexthop::Group(_) | Nexthop::Blackhole) | None => None,
        };
        match self.0.get(&id) {
            Some(Nexthop::Group(members)) => members.iter().filter_map(hop).collect(),
            _ => hop(&id).into_iter().collect(),
        }
    }
}

fn members(group: &[u8]) -> Result<Vec<u32>, Malformed> {
    let (members, rest) = group.as_chunks::<MEMBER_LEN>();
    if !rest.is_empty() {
        let why = format!(
            "{} bytes are not an array of struct nexthop_grp",
            group.len()
        );
        return Err(Malformed::new(GROUP.1, why));
    }
    Ok(members
        .iter()
        .map(|&[a, b, c, d, ..]| u32::from_ne_bytes([a, b, c, d]))
        .collect())
}

/// The request to list all objects.
pub(super) fn list_request() -> Vec<u8> {
    let mut payload = vec![0; HEADER_LEN];
    payload[0] = family::UNSPECIFIED;
    payload
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::put;

    fn object(id: u32, attributes: &[(Known, &[u8])]) -> Vec<u8> {
        let mut payload = list_request();
        put(&mut payload, ID.0, &id.to_ne_bytes());
        for (known, value) in attributes {
            put(&mut payload, known.0, value);
        }
        payload
    }

    fn examples() -> Vec<Vec<u8>> {
        let group: Vec<u8> = [1_u32, 2, 3, 9]
            .iter()
            .flat_map(|id| [&id.to_ne_bytes()[..], &[0; 4]].concat())
            .collect();
        vec![
            object(
                1,
                &[(DEVICE, &7_u32.to_ne_bytes()), (GATEWAY, &[192, 0, 2, 1])],
            ),
            object(2, &[(DEVICE, &8_u32.to_ne_bytes())]),
            object(3, &[(BLACKHOLE, &[])]),
            object(4, &[(GROUP, &group)]),
        ]
    }

    #[test]
    fn a_group_has_the_hops_of_its_members_and_a_blackhole_none() {
        let parsed = examples()
            .iter()
            .map(|payload| Nexthop::parse(payload).unwrap().unwrap())
            .collect();
        let all = Nexthops::new(parsed);
        let via = Hop {
            device: Some(7),
            gateway: Some([192, 0, 2, 1].into()),
        };
        let on_link = Hop {
            device: Some(8),
            gateway: None,
        };
        assert_eq!(all.hops(1), [via]);
        assert_eq!(all.hops(4), [via, on_link]);
        assert_eq!((all.hops(3), all.hops(9)), (vec![], vec![]));
    }

    #[test]
    fn no_message_causes_a_panic() {
        joulepath_testbed::fuzz(examples(), |bytes| {
            let parsed = Nexthop::parse(bytes).ok().flatten();
            let examples = examples()
                .into_iter()
                .filter_map(|payload| Nexthop::parse(&payload).ok()?);
            let all = Nexthops::new(examples.chain(parsed).collect());
            (0..5).for_each(|id| drop(all.hops(id)));
        });
    }
}
