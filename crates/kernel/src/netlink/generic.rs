//! Generic netlink: finds families by name and sends them commands.

use std::io;

use rustix::io::Errno;
use rustix::net::netlink;

use super::message::{Attributes, Bytes, Known, Malformed, put};
use super::socket::{Failure, Netlink};

/// The family that describes the others (`GENL_ID_CTRL`).
const CONTROLLER: u16 = 16;
const GET_FAMILY: u8 = 3;
/// Command, version, and two unused bytes.
const HEADER_LEN: usize = 4;

const FAMILY_ID: Known = Known(1, "CTRL_ATTR_FAMILY_ID");
const FAMILY_NAME: Known = Known(2, "CTRL_ATTR_FAMILY_NAME");
const GROUPS: Known = Known(7, "CTRL_ATTR_MCAST_GROUPS");
const GROUP_NAME: Known = Known(1, "CTRL_ATTR_MCAST_GRP_NAME");
const GROUP_ID: Known = Known(2, "CTRL_ATTR_MCAST_GRP_ID");

/// A generic netlink family, in the network namespace of the thread that opened it.
#[derive(Debug)]
pub(crate) struct Generic {
    netlink: Netlink,
    family: u16,
    version: u8,
    /// Names and ids of its multicast groups.
    groups: Vec<(String, u32)>,
}

impl Generic {
    /// Finds a family; `None` if this kernel lacks it.
    pub(crate) fn open(name: &str, version: u8) -> Result<Option<Self>, Failure> {
        let mut netlink = Netlink::open(Some(netlink::GENERIC))?;
        let mut payload = header(GET_FAMILY, 1);
        put(
            &mut payload,
            FAMILY_NAME.0,
            &[name.as_bytes(), &[0]].concat(),
        );
        let mut found = None;
        let asked = netlink.ask(CONTROLLER, 0, &payload, |reply| {
            let (_, attributes) = parse(reply.payload)?;
            found = attributes
                .u16(FAMILY_ID)?
                .map(|family| Ok((family, groups(attributes)?)))
                .transpose()?;
            Ok(())
        });
        match asked {
            Err(failure) if failure.errno() == Some(Errno::NOENT) => Ok(None),
            Err(failure) => Err(failure),
            Ok(()) => Ok(found.map(|(family, groups)| Generic {
                netlink,
                family,
                version,
                groups,
            })),
        }
    }

    /// The id of a multicast group.
    pub(crate) fn group(&self, name: &str) -> Option<u32> {
        self.groups
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, number)| *number)
    }

    /// Sends a command with its attributes, and waits for its completion.
    pub(crate) fn command(&mut self, command: u8, attributes: &[u8]) -> Result<(), Failure> {
        let payload = self.payload(command, attributes);
        self.netlink.command(self.family, 0, &payload)
    }

    /// Sends a request for one object; `None` if `parse` returns no value.
    pub(crate) fn ask<T>(
        &mut self,
        command: u8,
        attributes: &[u8],
        mut parse: impl FnMut(Attributes<'_>) -> Result<Option<T>, Malformed>,
    ) -> Result<Option<T>, Failure> {
        let payload = self.payload(command, attributes);
        let mut found = None;
        self.netlink.ask(self.family, 0, &payload, |reply| {
            found = parse(self::parse(reply.payload)?.1)?;
            Ok(())
        })?;
        Ok(found)
    }

    /// Sends a request for a list, with the attributes that select its entries.
    pub(crate) fn list<T>(
        &mut self,
        command: u8,
        attributes: &[u8],
        mut parse: impl FnMut(Attributes<'_>) -> Result<Option<T>, Malformed>,
    ) -> Result<Vec<T>, Failure> {
        let payload = self.payload(command, attributes);
        self.netlink.list(self.family, &payload, |reply| {
            parse(self::parse(reply.payload)?.1)
        })
    }

    fn payload(&self, command: u8, attributes: &[u8]) -> Vec<u8> {
        [&header(command, self.version), attributes].concat()
    }

    /// Reads notifications that have arrived, once, without waiting; false if there were none. See
    /// [`Self::subscribed`].
    pub(crate) fn notices(
        &mut self,
        mut each: impl FnMut(u8, Attributes<'_>) -> Result<(), Malformed>,
    ) -> Result<bool, Failure> {
        let family = self.family;
        self.netlink.notices(|reply| match reply.kind == family {
            true => {
                parse(reply.payload).and_then(|(command, attributes)| each(command, attributes))
            }
            false => Ok(()),
        })
    }

    /// Opens a second socket that receives only a multicast group.
    pub(crate) fn subscribed(&self, group: u32) -> io::Result<Self> {
        let netlink = Netlink::open(Some(netlink::GENERIC))?;
        netlink.join(group)?;
        Ok(Generic {
            netlink,
            groups: self.groups.clone(),
            ..*self
        })
    }

    pub(crate) fn socket(&self) -> &Netlink {
        &self.netlink
    }

    /// Drops all notifications that have arrived.
    pub(crate) fn drop_notices(&mut self) -> Result<(), Failure> {
        self.netlink.drop_notices()
    }
}

fn header(command: u8, version: u8) -> Vec<u8> {
    vec![command, version, 0, 0]
}

/// Splits a message into command and attributes.
pub(crate) fn parse(payload: &[u8]) -> Result<(u8, Attributes<'_>), Malformed> {
    let (header, attributes) = Bytes::split("the header of generic netlink", payload, HEADER_LEN)?;
    Ok((header.u8(0), attributes))
}

fn groups(attributes: Attributes<'_>) -> Result<Vec<(String, u32)>, Malformed> {
    let Some(list) = attributes.nested(GROUPS)? else {
        return Ok(vec![]);
    };
    let group = |(_, bytes)| {
        let group = Attributes::parse(GROUPS.1, bytes)?;
        Ok(group.text(GROUP_NAME).zip(group.u32(GROUP_ID)?))
    };
    list.iter()
        .filter_map(|entry| group(entry).transpose())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_found_by_its_name_with_its_groups() {
        // Every kernel has the family of families. It announces new families in the group `notify`.
        let family = Generic::open("nlctrl", 2).unwrap().unwrap();
        assert_eq!(family.family, CONTROLLER);
        assert!(
            family.group("notify").is_some_and(|number| number > 0),
            "{:?}",
            family.groups
        );
        assert_eq!(family.group("no such group"), None);
        assert!(Generic::open("no_such_family", 1).unwrap().is_none());
    }
}
