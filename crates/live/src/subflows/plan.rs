//! Plans the steps for one connection.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use joulepath_kernel::mptcp::path_manager::Local;
use joulepath_kernel::mptcp::{AddressId, MAX_SUBFLOWS, Token};
use joulepath_model::units::Nanos;

use super::group::Group;
use super::known::{Attempts, Known, Subflow};
use super::step::{Act, Owners, Plan, Step};
use crate::decide::{CLOSE_AFTER, Role, Wanted};

/// Appends the steps due now for one connection, and the time of the next check. `fresh`: `owners`
/// are current.
pub(super) fn plan(
    now: Nanos,
    token: Token,
    known: &mut Known,
    group: &Group,
    (owners, fresh): (&Owners, bool),
    plan: &mut Plan,
) {
    let Some(places) = &group.places else { return };
    if known.elsewhere.is_none() {
        known.elsewhere = elsewhere(known, group, owners);
    }
    if known.elsewhere != Some(false) {
        return;
    }
    if !known.opened_here {
        return announce(token, known, places, plan);
    }
    let mut for_one = ForOne {
        now,
        token,
        group,
        owners,
        fresh,
        plan,
    };
    for_one.leave(known, places);
    for_one.open(known, places);
    for_one.set_priorities(known);
    for_one.close(known);
}

/// True if the connection started on a device that is not ours; `None`: not yet known.
fn elsewhere(known: &Known, group: &Group, owners: &Owners) -> Option<bool> {
    let is_ours =
        |device: &u32| group.roles.contains_key(device) || group.bypassed.contains(device);
    // An address of ours does not tell: a tunnel may have none of its own.
    if known.routed?.is_some_and(|device| !is_ours(&device)) {
        return Some(true);
    }
    // Where it started, or where it still is: the first address may be gone.
    let addresses = known.subflows.iter().map(|subflow| subflow.ends.local.ip());
    let mut addresses = [known.local.ip()].into_iter().chain(addresses);
    addresses
        .find_map(|address| owners.get(&address))
        .map(|index| !is_ours(index))
}

/// Announces addresses to the peer, which opened the connection and may open further subflows.
fn announce(token: Token, known: &mut Known, places: &[Wanted], plan: &mut Plan) {
    for place in places.iter().filter(|place| place.signal) {
        if place.address != known.local.ip() && known.told.insert(place.address) {
            let act = Act::Announce(local(place, Attempts::default()));
            let why = "the peer may open subflows to it".into();
            plan.steps.push(Step {
                token,
                act,
                interface: place.interface,
                why,
            });
        }
    }
}

/// Own end of a new subflow. An address keeps its id within a connection. Otherwise the id is a
/// hash of the address, so that another process computes the same; each refusal moves to the next
/// id.
fn local(place: &Wanted, attempts: Attempts) -> Local {
    let id = attempts
        .id
        .unwrap_or_else(|| number(place.address, attempts.refusals));
    let (address, interface) = (place.address, Some(place.interface));
    Local {
        address,
        port: 0,
        id: Some(id),
        interface,
        backup: place.backup,
    }
}

/// An id from 1 to 255.
fn number(address: IpAddr, refusals: u8) -> AddressId {
    let bytes = match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    // FNV-1a, 32 bits.
    let hash = bytes.iter().fold(0x811c_9dc5_u32, |hash, &byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    AddressId(1 + (hash.wrapping_add(u32::from(refusals)) % u32::from(u8::MAX)) as u8)
}

struct ForOne<'a> {
    now: Nanos,
    token: Token,
    group: &'a Group,
    owners: &'a Owners,
    fresh: bool,
    plan: &'a mut Plan,
}

impl ForOne<'_> {
    /// Closes subflows that are to be reopened if another one carries data: waiting data moves
    /// there.
    fn leave(&mut self, known: &mut Known, places: &[Wanted]) {
        for place in places.iter().filter(|place| place.renew && place.backup) {
            let carries = |one: &&Subflow| one.works() && self.role(one) == Some(Role::Regular);
            let is_here = |one: &Subflow| self.interface(one) == Some(place.interface);
            let has_other = known
                .subflows
                .iter()
                .filter(carries)
                .any(|one| !is_here(one));
            let mut old = known.subflows.clone();
            old.retain(|one| has_other && is_here(one));
            for subflow in old {
                let why = "waiting data moves to another path; reopened as a backup".into();
                self.step(Act::Close(subflow.ends), place.interface, why);
                known.closed(subflow.ends);
            }
        }
    }

    fn open(&mut self, known: &mut Known, places: &[Wanted]) {
        let has_place =
            |subflow: &&Subflow| self.role(subflow).is_some_and(|role| role != Role::Unused);
        // A subflow in its handshake counts, as does the wait of a young connection.
        let serves = |subflow: &Subflow| subflow.works() || !subflow.established;
        let mut needs = !known.subflows.iter().filter(has_place).any(serves);
        let mut count = known.subflows.len();
        let rescue = if count == 0 {
            self.group.rescue.as_slice()
        } else {
            &[]
        };
        for place in places.iter().chain(rescue).filter(|place| !place.signal) {
            for remote in remotes(known, place) {
                if count >= MAX_SUBFLOWS || self.is_there(known, place, remote) {
                    continue;
                }
                if let Some(why) = self.reason_to_open(known, place, remote, needs) {
                    let attempts = known.pairs.entry((place.address, remote)).or_default();
                    attempts.renewal.tried(self.now);
                    let act = Act::Open(local(place, *attempts), remote);
                    self.step(act, place.interface, why);
                    count += 1;
                    needs = false;
                }
            }
        }
    }

    /// Why to open a pair now; `None`: later or not at all.
    fn reason_to_open(
        &mut self,
        known: &Known,
        place: &Wanted,
        remote: SocketAddr,
        needs: bool,
    ) -> Option<String> {
        let attempts = known
            .pairs
            .get(&(place.address, remote))
            .copied()
            .unwrap_or_default();
        let (carried, age) = (known.carried, known.age(self.now));
        let why = if needs {
            "no other subflow works on a permitted interface".to_owned()
        } else if attempts.had {
            "its subflow was lost: reopened on the same addresses".to_owned()
        } else {
            let after = self
                .group
                .after
                .filter(|after| carried < after.bytes && age < after.age);
            if let Some(after) = after {
                let stood = known.since.unwrap_or_default();
                self.plan.wait_until(stood.saturating_add(after.age));
                return None;
            }
            match known.since {
                Some(_) => format!(
                    "the connection has carried {carried} in {:.1} s",
                    age.as_secs_f64()
                ),
                None => "the connection is older than the daemon".to_owned(),
            }
        };
        let due = attempts.renewal.due(self.now).max(known.early_until);
        if self.now < due {
            self.plan.wait_until(due);
            return None;
        }
        Some(why)
    }

    /// True if a subflow already connects this interface and that address.
    fn is_there(&self, known: &Known, place: &Wanted, remote: SocketAddr) -> bool {
        let leaves_here = |subflow: &Subflow| match self.interface(subflow) {
            Some(interface) => interface == place.interface,
            None => subflow.ends.local.ip() == place.address,
        };
        known
            .subflows
            .iter()
            .any(|subflow| subflow.ends.remote == remote && leaves_here(subflow))
    }

    fn set_priorities(&mut self, known: &mut Known) {
        for subflow in known
            .subflows
            .iter_mut()
            .filter(|subflow| subflow.established)
        {
            let (Some(role), Some(interface)) = (self.role(subflow), self.interface(subflow))
            else {
                continue;
            };
            let backup = role == Role::Backup;
            if role != Role::Unused && backup != subflow.backup {
                let why = if backup {
                    "its interface is a backup"
                } else {
                    "its interface carries data"
                };
                self.step(Act::SetBackup(subflow.ends, backup), interface, why.into());
                // Until the next listing confirms it.
                subflow.backup = backup;
            }
        }
    }

    fn close(&mut self, known: &Known) {
        let is_left = |subflow: &Subflow| self.role(subflow) == Some(Role::Unused);
        let has_other = known.subflows.iter().any(|other| {
            other.works() && self.role(other).is_some_and(|role| role != Role::Unused)
        });
        let may_be_cut = known.age(self.now) >= CLOSE_AFTER;
        let left: Vec<Subflow> = known.subflows.iter().copied().filter(is_left).collect();
        let is_stranded =
            |subflow: &&Subflow| has_other && self.fresh && self.interface(subflow).is_none();
        let stranded: Vec<Subflow> = known.subflows.iter().filter(is_stranded).copied().collect();
        for subflow in stranded {
            let why = format!("its address {} was removed", subflow.ends.local.ip());
            if let Some(id) = subflow.id {
                // A FIN from that address would not arrive (RFC 8684, section 3.4.2).
                self.step(Act::Withdraw(id), 0, why.clone());
            }
            self.step(Act::Close(subflow.ends), 0, why);
        }
        for subflow in left {
            let is_forbidden = self.group.forbidden.contains(&subflow.ends.local.ip());
            let why = match (has_other, is_forbidden && may_be_cut) {
                (true, _) => "another subflow works",
                (false, true) => "its interface must carry no more data",
                (false, false) => continue,
            };
            let interface = self.interface(&subflow).unwrap_or_default();
            self.step(Act::Close(subflow.ends), interface, why.into());
        }
    }

    /// `None` if no interface has its address.
    fn interface(&self, subflow: &Subflow) -> Option<u32> {
        let owner = self.owners.get(&subflow.ends.local.ip()).copied();
        // Interfaces may share an address.
        let bound = subflow
            .bound
            .filter(|index| self.group.roles.contains_key(index));
        owner.and(bound).or(owner)
    }

    /// `None` outside the daemon's control.
    fn role(&self, subflow: &Subflow) -> Option<Role> {
        self.group.roles.get(&self.interface(subflow)?).copied()
    }

    fn step(&mut self, act: Act, interface: u32, why: String) {
        self.plan.steps.push(Step {
            token: self.token,
            act,
            interface,
            why,
        });
    }
}

/// The peer's addresses for a place: the initial one, those it had a subflow to, and with
/// `fullmesh` all announced ones. A place of the other family has no initial one: the first
/// announced one replaces it.
fn remotes(known: &Known, place: &Wanted) -> BTreeSet<SocketAddr> {
    let had = known
        .pairs
        .iter()
        .filter(|((address, _), attempts)| *address == place.address && attempts.had);
    let fits = |remote: &&SocketAddr| remote.is_ipv4() == place.address.is_ipv4();
    let is_other = !fits(&&known.remote) && !known.has_one_family;
    let most = if place.fullmesh {
        usize::MAX
    } else {
        usize::from(is_other)
    };
    let offered = known.offered.values().filter(fits).take(most);
    had.map(|((_, remote), _)| remote)
        .chain(offered)
        .chain([&known.remote])
        .filter(fits)
        .copied()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_an_address_is_its_hash_and_each_refusal_adds_one() {
        // FNV-1a of "foob" is 0x3f5076ef. 256 mod 255 = 1, so the remainder is that of the sum of
        // its bytes: 63 + 80 + 118 + 239 = 500 = 255 + 245.
        let address = IpAddr::from(*b"foob");
        assert_eq!(
            [0, 1, 9, 10].map(|refusals| number(address, refusals).0),
            [246, 247, 255, 1]
        );
    }
}
