//! Connections that have not said yet who they are or what they want: they must not keep others
//! from entering.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::timeout;

use crate::destination::canonical;

/// Most connections that wait, each with a descriptor.
pub(crate) const MOST: usize = 256;
/// Most of one address; of IPv6, of one network of 64 bits.
const MOST_OF_ONE: usize = 64;
/// Time for the request.
const PATIENCE: Duration = Duration::from_secs(10);

/// The connections that wait. A further one pushes out the oldest of its address, or of all.
#[derive(Default)]
pub(crate) struct Waiting(Mutex<VecDeque<Entered>>);

struct Entered {
    from: IpAddr,
    /// Dropped to push it out.
    stay: Arc<oneshot::Sender<()>>,
}

impl Waiting {
    /// Lets a connection wait; it is admitted while `room` has places.
    pub(crate) fn enter(self: &Arc<Self>, peer: IpAddr, room: &Arc<Semaphore>) -> Place {
        let from = network(peer);
        let (stay, pushed_out) = oneshot::channel();
        let stay = Arc::new(stay);
        let weak = Arc::downgrade(&stay);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.iter().filter(|other| other.from == from).count() >= MOST_OF_ONE {
            if let Some(oldest) = all.iter().position(|other| other.from == from) {
                all.remove(oldest);
            }
        } else if all.len() >= MOST {
            all.pop_front();
        }
        all.push_back(Entered { from, stay });
        drop(all);
        Place {
            waiting: Arc::clone(self),
            stay: weak,
            pushed_out,
            room: Arc::clone(room),
        }
    }
}

/// The place of a connection that waits.
pub(crate) struct Place {
    waiting: Arc<Waiting>,
    stay: std::sync::Weak<oneshot::Sender<()>>,
    pushed_out: oneshot::Receiver<()>,
    room: Arc<Semaphore>,
}

impl Place {
    /// The request, if it comes in time. It counts against the limit of connections only with
    /// [`Place::admitted`].
    pub(crate) async fn until<T>(&mut self, request: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            request = timeout(PATIENCE, request) => request.ok(),
            _ = &mut self.pushed_out => None,
        }
    }

    /// Waits for room; `None` if there will never be any.
    pub(crate) async fn admitted(self) -> Option<OwnedSemaphorePermit> {
        let room = Arc::clone(&self.room);
        drop(self);
        room.acquire_owned().await.ok()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some(own) = self.stay.upgrade() else {
            return;
        };
        let mut all = self
            .waiting
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        all.retain(|other| !Arc::ptr_eq(&other.stay, &own));
    }
}

/// An IPv6 host has a network of 64 bits to itself.
fn network(peer: IpAddr) -> IpAddr {
    match canonical((peer, 0).into()).ip() {
        IpAddr::V6(peer) => Ipv6Addr::from_bits(peer.to_bits() >> 64 << 64).into(),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;
    use crate::shared::block_on;

    fn peer(number: u8) -> IpAddr {
        [192, 0, 2, number].into()
    }

    #[test]
    fn silent_connections_push_out_the_oldest_of_their_own_address_only() {
        block_on(async {
            let (waiting, room) = (Arc::new(Waiting::default()), Arc::new(Semaphore::new(1)));
            let mut other = waiting.enter(peer(1), &room);
            let mut silent: Vec<_> = (0..=MOST_OF_ONE)
                .map(|_| waiting.enter("2001:db8::1".parse().unwrap(), &room))
                .collect();
            let mut last = silent.pop().unwrap();
            let neighbour: IpAddr = "2001:db8::ffff".parse().unwrap();
            let mut newest = waiting.enter(neighbour, &room);
            for pushed_out in &mut silent[..2] {
                assert_eq!(pushed_out.until(pending::<()>()).await, None);
            }
            for stays in [&mut silent[2], &mut last, &mut newest, &mut other] {
                assert_eq!(stays.until(ready(1)).await, Some(1));
            }
            drop(silent);
            assert_eq!(waiting.0.lock().unwrap().len(), 3);
            Ok(())
        })
        .unwrap();
    }

    #[test]
    fn silent_connections_of_many_addresses_are_bounded_and_take_no_room() {
        block_on(async {
            let (waiting, room) = (Arc::new(Waiting::default()), Arc::new(Semaphore::new(1)));
            let places: Vec<_> = (0..1000_u32)
                .map(|n| waiting.enter(IpAddr::from(n.to_be_bytes()), &room))
                .collect();
            assert_eq!(waiting.0.lock().unwrap().len(), MOST);
            let mut user = waiting.enter(peer(1), &room);
            assert_eq!(user.until(ready(())).await, Some(()));
            assert!(user.admitted().await.is_some());
            drop(places);
            assert!(waiting.0.lock().unwrap().is_empty());
            Ok(())
        })
        .unwrap();
    }
}
