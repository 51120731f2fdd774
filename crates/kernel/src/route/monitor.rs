//! Reports changes of devices, addresses, routes and rules in a network namespace.
//!
//! The kernel's notifications are incomplete: it does not report IPv4 routes that disappear with a
//! device or an address, a route that replaces another does not name it, and unread notifications
//! are dropped (`ENOBUFS`). So a notification is only a hint. The monitor lists its subject again,
//! compares the list with the known state, and reports the difference. After lost notifications it
//! lists everything. A change that is reverted before the next list is not reported.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use serde::{Deserialize, Serialize};

use super::address::Address;
use super::entry::Route;
use super::link::Link;
use super::routing::Routing;
use super::rule::Rule;
use super::uapi::{group, kind};
use crate::error::{Doing, Result};
use crate::netlink::{Failure, Netlink};
use crate::wait::ready;

/// A change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", content = "what", rename_all = "kebab-case")]
pub enum Change {
    /// A device is new or has changed.
    Link(Link),
    /// A device is gone. Changes of its addresses and routes are reported separately.
    LinkGone(Link),
    /// An address is new or has changed.
    Address(Address),
    /// An address is gone.
    AddressGone(Address),
    /// A route is new.
    Route(Route),
    /// A route is gone. A changed route is reported as gone and as new.
    RouteGone(Route),
    /// A rule is new.
    Rule(Rule),
    /// A rule is gone.
    RuleGone(Rule),
}

/// The current state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// Devices, by index.
    pub links: BTreeMap<u32, Link>,
    /// Addresses.
    pub addresses: BTreeSet<Address>,
    /// Routes.
    pub routes: BTreeSet<Route>,
    /// Rules.
    pub rules: BTreeSet<Rule>,
}

/// The parts to list again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Stale {
    links: bool,
    addresses: bool,
    routes: bool,
    rules: bool,
}

/// Watches the network namespace in which it was opened. Needs no capability.
#[derive(Debug)]
pub struct Monitor {
    notices: Netlink,
    routing: Routing,
    view: View,
    stale: Stale,
    changes: VecDeque<Change>,
    overruns: u64,
}

impl Monitor {
    /// Starts to watch; [`Self::view`] is the current state.
    ///
    /// # Errors
    /// As [`Routing::links`].
    pub fn open() -> Result<Self> {
        let notices = Netlink::open(None).doing("opening an rtnetlink socket")?;
        // Subscribe before the first list, so that no change in between is missed.
        for group in group::ALL {
            notices
                .join(group)
                .doing("subscribing to network changes")?;
        }
        let (view, stale) = (View::default(), Stale::ALL);
        let mut monitor = Monitor {
            notices,
            routing: Routing::open()?,
            view,
            stale,
            changes: VecDeque::new(),
            overruns: 0,
        };
        monitor.refresh()?;
        monitor.changes.clear();
        Ok(monitor)
    }

    /// Sets how many bytes of unread notifications the socket holds. A larger value makes repeated
    /// lists rarer.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) if the socket does not take it.
    pub fn set_room(&self, bytes: usize) -> Result<()> {
        self.notices
            .set_room(bytes)
            .doing("setting the buffer size for network changes")
    }

    /// The current state, including all changes that [`Self::next_within`] has returned or will
    /// return without waiting.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// How often notifications were lost. No change is missing: everything was listed again.
    pub fn overruns(&self) -> u64 {
        self.overruns
    }

    /// The next change; `None` if none comes within `patience`.
    ///
    /// # Errors
    /// As [`Routing::links`]. The next call repeats a failed list.
    pub fn next_within(&mut self, patience: Duration) -> Result<Option<Change>> {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(change) = self.changes.pop_front() {
                return Ok(Some(change));
            }
            if self.stale == Stale::default()
                && !ready(self.notices.as_fd(), PollFlags::IN, deadline)
                    .doing("waiting for network changes")?
            {
                return Ok(None);
            }
            self.hear()?;
            self.refresh()?;
        }
    }

    /// Reads all notifications that have arrived.
    fn hear(&mut self) -> Result<()> {
        loop {
            let stale = &mut self.stale;
            let heard = self.notices.notices(|reply| {
                stale.note(reply.kind);
                Ok(())
            });
            match heard {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(Failure::Overrun) => {
                    self.overruns += 1;
                    self.stale = Stale::ALL;
                }
                Err(failure) => return Err(failure.doing("reading network changes")),
            }
        }
    }

    /// Lists the stale parts, and records the differences.
    fn refresh(&mut self) -> Result<()> {
        if self.stale.links {
            let links = self.routing.links()?;
            let links = links.into_iter().map(|link| (link.index, link)).collect();
            let old = std::mem::replace(&mut self.view.links, links);
            note_links(&old, &self.view.links, &mut self.changes);
            self.stale.links = false;
        }
        if self.stale.addresses {
            let old = std::mem::replace(
                &mut self.view.addresses,
                self.routing.addresses()?.into_iter().collect(),
            );
            note_addresses(&old, &self.view.addresses, &mut self.changes);
            self.stale.addresses = false;
        }
        if self.stale.routes {
            let old = std::mem::replace(
                &mut self.view.routes,
                self.routing.routes()?.into_iter().collect(),
            );
            note(
                &old,
                &self.view.routes,
                Change::Route,
                Change::RouteGone,
                &mut self.changes,
            );
            self.stale.routes = false;
        }
        if self.stale.rules {
            let old = std::mem::replace(
                &mut self.view.rules,
                self.routing.rules()?.into_iter().collect(),
            );
            note(
                &old,
                &self.view.rules,
                Change::Rule,
                Change::RuleGone,
                &mut self.changes,
            );
            self.stale.rules = false;
        }
        Ok(())
    }
}

/// To wait for changes. Changes may be pending without it: call [`Monitor::next_within`] until it
/// returns `None`.
impl AsFd for Monitor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.notices.as_fd()
    }
}

impl Stale {
    const ALL: Self = Stale {
        links: true,
        addresses: true,
        routes: true,
        rules: true,
    };

    /// Routes disappear with a device or an address, or change with their nexthop object, without a
    /// notification of their own.
    fn note(&mut self, kind: u16) {
        match kind {
            kind::NEW_LINK | kind::DEL_LINK => {
                (self.links, self.addresses, self.routes) = (true, true, true);
            }
            kind::NEW_ADDRESS | kind::DEL_ADDRESS => (self.addresses, self.routes) = (true, true),
            kind::NEW_ROUTE | kind::DEL_ROUTE | kind::NEW_NEXTHOP | kind::DEL_NEXTHOP => {
                self.routes = true
            }
            kind::NEW_RULE | kind::DEL_RULE => self.rules = true,
            _ => {}
        }
    }
}

fn note_links(
    old: &BTreeMap<u32, Link>,
    new: &BTreeMap<u32, Link>,
    changes: &mut VecDeque<Change>,
) {
    let gone = old.iter().filter(|(index, _)| !new.contains_key(index));
    changes.extend(gone.map(|(_, link)| Change::LinkGone(link.clone())));
    let changed = new
        .iter()
        .filter(|(index, link)| old.get(index) != Some(link));
    changes.extend(changed.map(|(_, link)| Change::Link(link.clone())));
}

/// An address whose flags changed has changed; it is not gone.
fn note_addresses(
    old: &BTreeSet<Address>,
    new: &BTreeSet<Address>,
    changes: &mut VecDeque<Change>,
) {
    let key = |address: &Address| {
        (
            address.device,
            address.address,
            address.length,
            address.peer,
        )
    };
    let stay: BTreeSet<_> = new.iter().map(key).collect();
    let gone = old.iter().filter(|address| !stay.contains(&key(address)));
    changes.extend(gone.copied().map(Change::AddressGone));
    changes.extend(new.difference(old).copied().map(Change::Address));
}

/// Reports what is gone before what is new: a reader must not remove a changed route after it has
/// added it.
fn note<T: Ord + Clone>(
    old: &BTreeSet<T>,
    new: &BTreeSet<T>,
    is_new: fn(T) -> Change,
    is_gone: fn(T) -> Change,
    changes: &mut VecDeque<Change>,
) {
    changes.extend(old.difference(new).cloned().map(is_gone));
    changes.extend(new.difference(old).cloned().map(is_new));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_link_makes_addresses_and_routes_stale() {
        let mut stale = Stale::default();
        stale.note(kind::DEL_LINK);
        assert_eq!(
            stale,
            Stale {
                rules: false,
                ..Stale::ALL
            }
        );
        let mut stale = Stale::default();
        stale.note(kind::NEW_RULE);
        assert_eq!(
            stale,
            Stale {
                rules: true,
                ..Stale::default()
            }
        );
    }
}
