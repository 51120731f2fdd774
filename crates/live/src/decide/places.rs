//! Which addresses get one of the kernel's endpoint entries: 8, since Linux 7.2 64.
//!
//! In order of preference, each interface gets an entry for its address of the family that most
//! connections use. Remaining entries go to the other addresses.

use std::net::IpAddr;

use super::decision::{Role, Told, Wanted};
use crate::reason::Reason;
use crate::snapshot::{Families, Interface, Snapshot};

/// Endpoints and extra subflows per connection that every kernel allows (`MPTCP_PM_ADDR_MAX`).
const EVERY_KERNEL: usize = 8;

/// The number of entries.
pub(super) fn number(snapshot: &Snapshot) -> usize {
    snapshot.most_endpoints.unwrap_or(EVERY_KERNEL)
}

/// The endpoints that get an entry, in the given order, and the addresses without one.
pub(super) fn give(
    wanted: Vec<Wanted>,
    most: usize,
    families: Families,
) -> (Vec<Wanted>, Vec<IpAddr>) {
    let is_of_most = |one: &Wanted| one.address.is_ipv6() == (families.v6 > families.v4);
    let of = |of_most: bool| {
        let all = wanted.iter().enumerate();
        all.filter(move |(_, one)| is_of_most(one) == of_most)
            .map(|(at, _)| at)
            .collect::<Vec<usize>>()
    };
    let mut served: Vec<usize> = of(true).into_iter().chain(of(false)).take(most).collect();
    served.sort_unstable();
    let left = wanted
        .iter()
        .enumerate()
        .filter(|(at, _)| !served.contains(at));
    let left = left.map(|(_, one)| one.address).collect();
    let served = wanted
        .iter()
        .enumerate()
        .filter(|(at, _)| served.contains(at));
    (served.map(|(_, one)| one.clone()).collect(), left)
}

/// Adds a note about the addresses of an interface without an entry.
pub(super) fn tell(
    interface: &Interface,
    endpoints: &[Wanted],
    (left, most): (&[IpAddr], usize),
    told: &mut Told,
) {
    let addresses: Vec<IpAddr> = interface
        .addresses
        .iter()
        .filter(|one| left.contains(one))
        .copied()
        .collect();
    if addresses.is_empty() {
        return;
    }
    if endpoints.iter().all(|one| one.interface != interface.index) {
        told.role = Role::Unused;
    }
    told.notes.push(Reason::NoPlace { addresses, most });
}

#[cfg(test)]
mod tests {
    use joulepath_model::live::Intent;

    use super::*;
    use crate::samples::seen;

    fn wanted(interfaces: u8) -> Vec<Wanted> {
        let addresses = |i| {
            [
                IpAddr::from([10, 0, i, 2]),
                IpAddr::from([0xfd00, 0, 0, i.into(), 0, 0, 0, 2]),
            ]
        };
        let wanted = |(interface, address): (u8, IpAddr)| Wanted {
            address,
            interface: interface.into(),
            backup: false,
            signal: false,
            fullmesh: false,
            renew: false,
            laminar: false,
        };
        (0..interfaces)
            .flat_map(|i| addresses(i).map(|address| (i, address)))
            .map(wanted)
            .collect()
    }

    /// Number of IPv4 and IPv6 addresses with an entry.
    fn served(interfaces: u8, families: Families) -> [usize; 2] {
        served_of(EVERY_KERNEL, interfaces, families)
    }

    fn served_of(most: usize, interfaces: u8, families: Families) -> [usize; 2] {
        let (all, left) = give(wanted(interfaces), most, families);
        assert!(all.is_sorted_by_key(|one| one.interface) && all.len() <= most);
        assert_eq!(all.len() + left.len(), 2 * usize::from(interfaces));
        let v6 = all.iter().filter(|one| one.address.is_ipv6()).count();
        [all.len() - v6, v6]
    }

    #[test]
    fn every_interface_gets_an_entry_in_the_family_of_most_connections() {
        assert_eq!(served(4, Families { v4: 1, v6: 0 }), [4, 4]);
        assert_eq!(served(5, Families { v4: 1, v6: 0 }), [5, 3]);
        assert_eq!(served(5, Families { v4: 1, v6: 2 }), [3, 5]);
        assert_eq!(served(5, Families::default()), [5, 3]);
        assert_eq!(served(9, Families { v4: 3, v6: 3 }), [8, 0]);
        assert_eq!(served_of(64, 9, Families { v4: 3, v6: 3 }), [9, 9]);
        assert_eq!(served_of(64, 40, Families { v4: 1, v6: 0 }), [40, 24]);
    }

    #[test]
    fn an_interface_is_unused_only_if_none_of_its_addresses_has_an_entry() {
        let interface = seen(2, "wlan0");
        for (other, role) in [(2, Role::Regular), (3, Role::Unused)] {
            let mut told = Told {
                name: "wlan0".into(),
                intent: Intent::Aggregate,
                role: Role::Regular,
                wanted: Role::Regular,
                reason: Reason::OnlyPath,
                notes: vec![],
                allowed: true,
            };
            tell(
                &interface,
                &wanted(other + 1)[2 * usize::from(other)..],
                (&interface.addresses, EVERY_KERNEL),
                &mut told,
            );
            assert_eq!((told.role, told.notes.len()), (role, 1));
        }
    }
}
