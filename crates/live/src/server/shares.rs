//! How much of the daemon each user may have: places, and processor time. Pure.

use std::collections::BTreeMap;

use joulepath_model::units::Nanos;

/// Most clients at once.
pub(super) const MOST_CLIENTS: usize = 32;
/// Most clients of one user without rights.
pub(super) const OF_A_USER: usize = 8;
/// Places that only the privileged can have.
const RESERVED: usize = 8;
/// A client that has asked nothing for so long makes room for one that comes.
const MAKES_ROOM: Nanos = Nanos::from_secs(1);
/// A client that has asked nothing for so long is let go.
pub(super) const IDLE: Nanos = Nanos::from_secs(30);
/// Processor time that a user may take at once.
const AT_ONCE: Nanos = Nanos::from_millis(100);
/// A user who has taken more waits at least this long, because each wait costs the daemon a turn.
const LEAST_WAIT: Nanos = Nanos::from_millis(50);
/// In the long run a user has one part in so many of a processor, the privileged in so many.
const PART: u64 = 50;
const PRIVILEGED_PART: u64 = 10;

/// Who a client is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) uid: u32,
    /// Root, and the daemon's own user.
    pub(super) privileged: bool,
}

/// A client that has a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Holder<I> {
    pub(super) id: I,
    pub(super) owner: Owner,
    /// When it asked last, or came.
    pub(super) heard: Nanos,
}

/// Where a client that comes is put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place<I> {
    Free,
    /// This one makes room.
    Of(I),
    None,
}

/// Finds a place for a client that comes.
pub(super) fn place<I: Copy>(all: &[Holder<I>], comes: Owner, now: Nanos) -> Place<I> {
    let others = all.iter().filter(|one| !one.owner.privileged).count();
    let own = all.iter().filter(|one| one.owner == comes).count();
    let is_rival = |one: &&Holder<I>| match comes.privileged {
        true => one.owner.privileged,
        false if own >= OF_A_USER => one.owner == comes,
        false => !one.owner.privileged,
    };
    let is_free = all.len() < MOST_CLIENTS
        && (comes.privileged || (own < OF_A_USER && others < MOST_CLIENTS - RESERVED));
    if is_free {
        return Place::Free;
    }
    idle_longest(all.iter().filter(is_rival), now).map_or(Place::None, Place::Of)
}

/// The client that makes room first; none if all have asked something of late.
pub(super) fn idle_longest<'a, I: Copy + 'a>(
    all: impl Iterator<Item = &'a Holder<I>>,
    now: Nanos,
) -> Option<I> {
    let idle = all.filter(|one| now.saturating_sub(one.heard) >= MAKES_ROOM);
    idle.min_by_key(|one| one.heard).map(|one| one.id)
}

/// Processor time that users have taken and not paid off by waiting.
#[derive(Clone, Debug, Default)]
pub(super) struct Debts(BTreeMap<u32, Debt>);

#[derive(Clone, Copy, Debug)]
struct Debt {
    /// Processor time.
    left: Nanos,
    at: Nanos,
}

impl Debts {
    /// Notes processor time that a user has taken.
    pub(super) fn charge(&mut self, owner: Owner, time: Nanos, now: Nanos) {
        let left = self.left(owner, now).saturating_add(time);
        self.0.insert(owner.uid, Debt { left, at: now });
        let is_owed = |uid: &u32, debt: &mut Debt| {
            paid(*debt, Owner { uid: *uid, privileged: false }, now).0 > 0 || *uid == owner.uid
        };
        self.0.retain(is_owed);
    }

    /// Until when a user has to wait; none if he need not.
    pub(super) fn waits_until(&self, owner: Owner, now: Nanos) -> Option<Nanos> {
        let over = self.left(owner, now).saturating_sub(AT_ONCE);
        let wait = Nanos(over.0.saturating_mul(part(owner))).max(LEAST_WAIT);
        (over.0 > 0).then(|| now.saturating_add(wait))
    }

    fn left(&self, owner: Owner, now: Nanos) -> Nanos {
        self.0.get(&owner.uid).map_or(Nanos::ZERO, |&debt| paid(debt, owner, now))
    }
}

fn part(owner: Owner) -> u64 {
    if owner.privileged { PRIVILEGED_PART } else { PART }
}

fn paid(debt: Debt, owner: Owner, now: Nanos) -> Nanos {
    debt.left.saturating_sub(Nanos(now.saturating_sub(debt.at).0 / part(owner)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: Owner = Owner { uid: 0, privileged: true };

    fn user(uid: u32) -> Owner {
        Owner { uid, privileged: false }
    }

    /// So many clients of each of these users, all `MAKES_ROOM` old.
    fn holders(of: &[(Owner, usize)]) -> Vec<Holder<usize>> {
        let owners = of.iter().flat_map(|&(owner, count)| std::iter::repeat_n(owner, count));
        owners.enumerate().map(|(id, owner)| Holder { id, owner, heard: Nanos(id as u64) }).collect()
    }

    const SOON: Nanos = Nanos::from_millis(500);
    const LATER: Nanos = Nanos::from_secs(2);

    #[test]
    fn root_always_finds_a_place_that_others_cannot_have() {
        let of: Vec<_> = (1..=9).map(|uid| (user(uid), OF_A_USER)).collect();
        let mut all = vec![];
        for (owner, count) in of {
            for _ in 0..count {
                if place(&all, owner, SOON) == Place::Free {
                    all.push(Holder { id: all.len(), owner, heard: Nanos::ZERO });
                }
            }
        }
        assert_eq!(all.len(), MOST_CLIENTS - RESERVED);
        for _ in 0..RESERVED {
            assert_eq!(place(&all, ROOT, SOON), Place::Free);
            all.push(Holder { id: all.len(), owner: ROOT, heard: Nanos::ZERO });
        }
        // Its own idle ones make room for it; those of others would not be enough.
        assert_eq!(place(&all, ROOT, SOON), Place::None);
        assert_eq!(place(&all, ROOT, LATER), Place::Of(MOST_CLIENTS - RESERVED));
    }

    #[test]
    fn a_user_has_a_share_and_only_his_own_idle_clients_make_room_for_more_of_it() {
        let all = holders(&[(user(1), 3), (user(2), OF_A_USER)]);
        assert_eq!(place(&all, user(1), SOON), Place::Free);
        assert_eq!(place(&all, user(2), SOON), Place::None);
        assert_eq!(place(&all, user(2), LATER), Place::Of(3));
        // All the places of users are taken, by users who have theirs: whoever is idle longest makes room.
        let all = holders(&[(user(1), 8), (user(2), 8), (user(3), 8)]);
        assert_eq!(place(&all, user(4), LATER), Place::Of(0));
        assert_eq!(place(&holders(&[(ROOT, MOST_CLIENTS)]), user(4), LATER), Place::None);
    }

    #[test]
    fn a_user_who_takes_processor_time_waits_until_it_is_his_part_and_others_do_not() {
        let mut debts = Debts::default();
        let (mut now, mut taken) = (Nanos::from_secs(10), Nanos::ZERO);
        let begun = now;
        // As much as he may, in pieces of 3 ms.
        while now < Nanos::from_secs(110) {
            match debts.waits_until(user(1), now) {
                Some(until) => {
                    assert!(until >= now.saturating_add(LEAST_WAIT));
                    now = until;
                }
                None => {
                    debts.charge(user(1), Nanos::from_millis(3), now);
                    taken = taken.saturating_add(Nanos::from_millis(3));
                }
            }
        }
        // 2 % of 100 s, and 100 ms at once.
        let most = (now.saturating_sub(begun).0 / PART) + AT_ONCE.0 + Nanos::from_millis(3).0;
        assert!(taken.0 <= most && taken > Nanos::from_secs(2), "{taken:?}");
        assert_eq!(debts.waits_until(user(2), now), None);
        // A debt of a nanosecond is no reason to look at him again at once.
        debts.charge(user(3), AT_ONCE.saturating_add(Nanos(1)), now);
        assert_eq!(debts.waits_until(user(3), now), Some(now.saturating_add(LEAST_WAIT)));
        // What a user owes stays when another one takes time.
        debts.charge(user(1), AT_ONCE.saturating_add(AT_ONCE), now);
        let waits = debts.waits_until(user(1), now);
        assert!(waits.is_some());
        debts.charge(user(2), Nanos(1), now);
        assert_eq!(debts.waits_until(user(1), now), waits);
        // What is paid off is forgotten.
        debts.charge(user(2), Nanos(1), Nanos::from_secs(1000));
        assert_eq!(debts.0.len(), 1);
    }
}
