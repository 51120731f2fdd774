//! Limits per user: places and processor time. Pure.

use std::collections::BTreeMap;

use joulepath_model::units::Nanos;

/// Most clients in total.
pub(super) const MOST_CLIENTS: usize = 32;
/// Most clients of one unprivileged user.
pub(super) const OF_A_USER: usize = 8;
/// Places reserved for privileged users.
const RESERVED: usize = 8;
/// A client idle for this long makes room for a new one.
const MAKES_ROOM: Nanos = Nanos::from_secs(1);
/// A client idle for this long is disconnected.
pub(super) const IDLE: Nanos = Nanos::from_secs(30);
/// Processor time that a user may take at once.
const AT_ONCE: Nanos = Nanos::from_millis(100);
/// Shortest wait of a user over the limit, because each wait costs the daemon a poll.
const LEAST_WAIT: Nanos = Nanos::from_millis(50);
/// A user may use 1/`PART` of a processor in the long run, a privileged user 1/`PRIVILEGED_PART`.
const PART: u64 = 50;
const PRIVILEGED_PART: u64 = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) uid: u32,
    /// Root or the daemon's own user.
    pub(super) privileged: bool,
}

/// A connected client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Holder<I> {
    pub(super) id: I,
    pub(super) owner: Owner,
    /// Time of its last request, or of its connection.
    pub(super) heard: Nanos,
}

/// The place for a new client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place<I> {
    Free,
    /// This client makes room.
    Of(I),
    None,
}

/// Finds a place for a new client.
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

/// The client that makes room first; `None` if all were active recently.
pub(super) fn idle_longest<'a, I: Copy + 'a>(
    all: impl Iterator<Item = &'a Holder<I>>,
    now: Nanos,
) -> Option<I> {
    let idle = all.filter(|one| now.saturating_sub(one.heard) >= MAKES_ROOM);
    idle.min_by_key(|one| one.heard).map(|one| one.id)
}

/// Processor time that users have taken and not yet paid off by waiting.
#[derive(Clone, Debug, Default)]
pub(super) struct Debts(BTreeMap<u32, Debt>);

#[derive(Clone, Copy, Debug)]
struct Debt {
    /// Processor time owed.
    left: Nanos,
    at: Nanos,
}

impl Debts {
    /// Charges processor time to a user.
    pub(super) fn charge(&mut self, owner: Owner, time: Nanos, now: Nanos) {
        let left = self.left(owner, now).saturating_add(time);
        self.0.insert(owner.uid, Debt { left, at: now });
        let is_owed = |uid: &u32, debt: &mut Debt| {
            paid(
                *debt,
                Owner {
                    uid: *uid,
                    privileged: false,
                },
                now,
            )
            .0 > 0
                || *uid == owner.uid
        };
        self.0.retain(is_owed);
    }

    /// When the user may be served again; `None` if now.
    pub(super) fn waits_until(&self, owner: Owner, now: Nanos) -> Option<Nanos> {
        let over = self.left(owner, now).saturating_sub(AT_ONCE);
        let wait = Nanos(over.0.saturating_mul(part(owner))).max(LEAST_WAIT);
        (over.0 > 0).then(|| now.saturating_add(wait))
    }

    fn left(&self, owner: Owner, now: Nanos) -> Nanos {
        self.0
            .get(&owner.uid)
            .map_or(Nanos::ZERO, |&debt| paid(debt, owner, now))
    }
}

fn part(owner: Owner) -> u64 {
    if owner.privileged {
        PRIVILEGED_PART
    } else {
        PART
    }
}

fn paid(debt: Debt, owner: Owner, now: Nanos) -> Nanos {
    debt.left
        .saturating_sub(Nanos(now.saturating_sub(debt.at).0 / part(owner)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: Owner = Owner {
        uid: 0,
        privileged: true,
    };

    fn user(uid: u32) -> Owner {
        Owner {
            uid,
            privileged: false,
        }
    }

    /// The given number of clients of each user, all idle for `MAKES_ROOM`.
    fn holders(of: &[(Owner, usize)]) -> Vec<Holder<usize>> {
        let owners = of
            .iter()
            .flat_map(|&(owner, count)| std::iter::repeat_n(owner, count));
        owners
            .enumerate()
            .map(|(id, owner)| Holder {
                id,
                owner,
                heard: Nanos(id as u64),
            })
            .collect()
    }

    const SOON: Nanos = Nanos::from_millis(500);
    const LATER: Nanos = Nanos::from_secs(2);

    #[test]
    fn root_always_finds_a_reserved_place() {
        let of: Vec<_> = (1..=9).map(|uid| (user(uid), OF_A_USER)).collect();
        let mut all = vec![];
        for (owner, count) in of {
            for _ in 0..count {
                if place(&all, owner, SOON) == Place::Free {
                    all.push(Holder {
                        id: all.len(),
                        owner,
                        heard: Nanos::ZERO,
                    });
                }
            }
        }
        assert_eq!(all.len(), MOST_CLIENTS - RESERVED);
        for _ in 0..RESERVED {
            assert_eq!(place(&all, ROOT, SOON), Place::Free);
            all.push(Holder {
                id: all.len(),
                owner: ROOT,
                heard: Nanos::ZERO,
            });
        }
        // Its own idle clients make room; other users' clients would not be enough.
        assert_eq!(place(&all, ROOT, SOON), Place::None);
        assert_eq!(place(&all, ROOT, LATER), Place::Of(MOST_CLIENTS - RESERVED));
    }

    #[test]
    fn only_a_users_own_idle_clients_make_room_beyond_the_users_share() {
        let all = holders(&[(user(1), 3), (user(2), OF_A_USER)]);
        assert_eq!(place(&all, user(1), SOON), Place::Free);
        assert_eq!(place(&all, user(2), SOON), Place::None);
        assert_eq!(place(&all, user(2), LATER), Place::Of(3));
        // All places of users are taken: the client that is idle longest makes room.
        let all = holders(&[(user(1), 8), (user(2), 8), (user(3), 8)]);
        assert_eq!(place(&all, user(4), LATER), Place::Of(0));
        assert_eq!(
            place(&holders(&[(ROOT, MOST_CLIENTS)]), user(4), LATER),
            Place::None
        );
    }

    #[test]
    fn a_user_over_the_processor_share_waits_and_others_do_not() {
        let mut debts = Debts::default();
        let (mut now, mut taken) = (Nanos::from_secs(10), Nanos::ZERO);
        let begun = now;
        // All that the user may take, in pieces of 3 ms.
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
        // 2 % of 100 s, plus 100 ms at once.
        let most = (now.saturating_sub(begun).0 / PART) + AT_ONCE.0 + Nanos::from_millis(3).0;
        assert!(taken.0 <= most && taken > Nanos::from_secs(2), "{taken:?}");
        assert_eq!(debts.waits_until(user(2), now), None);
        // A debt of a nanosecond must not cause an immediate poll.
        debts.charge(user(3), AT_ONCE.saturating_add(Nanos(1)), now);
        assert_eq!(
            debts.waits_until(user(3), now),
            Some(now.saturating_add(LEAST_WAIT))
        );
        // A user's debt stays when another user is charged.
        debts.charge(user(1), AT_ONCE.saturating_add(AT_ONCE), now);
        let waits = debts.waits_until(user(1), now);
        assert!(waits.is_some());
        debts.charge(user(2), Nanos(1), now);
        assert_eq!(debts.waits_until(user(1), now), waits);
        // A paid debt is forgotten.
        debts.charge(user(2), Nanos(1), Nanos::from_secs(1000));
        assert_eq!(debts.0.len(), 1);
    }
}
