//! What changes in a network namespace: devices, addresses, routes, rules.
//!
//! The kernel tells of changes, but not of all: IPv4 routes that go with a device or an address are not
//! mentioned, a route that replaces another does not name it, and what is not read in time is dropped
//! (`ENOBUFS`). So a notice is taken as a hint only. What it is about is listed again and compared with what
//! was known, and the difference is told. Lost notices are the same case: everything is listed again. What
//! changes and changes back before it is looked at is not told.

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

/// What has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", content = "what", rename_all = "kebab-case")]
pub enum Change {
    /// A device is new, or is as it is now.
    Link(Link),
    /// A device has gone. Its addresses and routes are told apart.
    LinkGone(Link),
    /// An address is new, or is as it is now.
    Address(Address),
    /// An address has gone.
    AddressGone(Address),
    /// A route is new.
    Route(Route),
    /// A route has gone. One that was changed is told as gone and as new.
    RouteGone(Route),
    /// A rule is new.
    Rule(Rule),
    /// A rule has gone.
    RuleGone(Rule),
}

/// What there is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// Devices, by their indices.
    pub links: BTreeMap<u32, Link>,
    /// Addresses.
    pub addresses: BTreeSet<Address>,
    /// Routes.
    pub routes: BTreeSet<Route>,
    /// Rules.
    pub rules: BTreeSet<Rule>,
}

/// What has to be listed again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Stale {
    links: bool,
    addresses: bool,
    routes: bool,
    rules: bool,
}

/// Watches the network namespace in which it was opened. Nothing of it needs a capability.
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
    /// Begins to watch; [`Self::view`] is what there is now.
    ///
    /// # Errors
    /// As [`Routing::links`].
    pub fn open() -> Result<Self> {
        let notices = Netlink::open(None).doing("opening an rtnetlink socket")?;
        // Before the first list: what changes after it must be told.
        for group in group::ALL {
            notices.join(group).doing("subscribing to changes of the network")?;
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

    /// Sets how many bytes of notices may wait to be read. With more of it a list is taken again less often.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) if the socket does not take it.
    pub fn set_room(&self, bytes: usize) -> Result<()> {
        self.notices.set_room(bytes).doing("making room for changes of the network")
    }

    /// What there is, with all changes that [`Self::next_within`] has told or will tell without waiting.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// How often notices were lost. Nothing is missing for that: all was listed again.
    pub fn overruns(&self) -> u64 {
        self.overruns
    }

    /// The next change; none if there was none before `patience` had passed.
    ///
    /// # Errors
    /// As [`Routing::links`]. What could not be listed is listed with the next call.
    pub fn next_within(&mut self, patience: Duration) -> Result<Option<Change>> {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(change) = self.changes.pop_front() {
                return Ok(Some(change));
            }
            if self.stale == Stale::default()
                && !ready(self.notices.as_fd(), PollFlags::IN, deadline)
                    .doing("waiting for changes of the network")?
            {
                return Ok(None);
            }
            self.hear()?;
            self.refresh()?;
        }
    }

    /// Reads all notices that have come.
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
                Err(failure) => return Err(failure.doing("hearing of changes of the network")),
            }
        }
    }

    /// Lists what is stale, and notes the differences.
    fn refresh(&mut self) -> Result<()> {
        if self.stale.links {
            let links = self.routing.links()?;
            let links = links.into_iter().map(|link| (link.index, link)).collect();
            let old = std::mem::replace(&mut self.view.links, links);
            note_links(&old, &self.view.links, &mut self.changes);
            self.stale.links = false;
        }
        if self.stale.addresses {
            let old =
                std::mem::replace(&mut self.view.addresses, self.routing.addresses()?.into_iter().collect());
            note_addresses(&old, &self.view.addresses, &mut self.changes);
            self.stale.addresses = false;
        }
        if self.stale.routes {
            let old = std::mem::replace(&mut self.view.routes, self.routing.routes()?.into_iter().collect());
            note(&old, &self.view.routes, Change::Route, Change::RouteGone, &mut self.changes);
            self.stale.routes = false;
        }
        if self.stale.rules {
            let old = std::mem::replace(&mut self.view.rules, self.routing.rules()?.into_iter().collect());
            note(&old, &self.view.rules, Change::Rule, Change::RuleGone, &mut self.changes);
            self.stale.rules = false;
        }
        Ok(())
    }
}

/// To wait for changes. They may also be there without that: call [`Monitor::next_within`] until it returns
/// none.
impl AsFd for Monitor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.notices.as_fd()
    }
}

impl Stale {
    const ALL: Self = Stale { links: true, addresses: true, routes: true, rules: true };

    /// With a device or an address go routes, of which the kernel does not tell. It does not tell of routes
    /// whose nexthop object has changed, either.
    fn note(&mut self, kind: u16) {
        match kind {
            kind::NEW_LINK | kind::DEL_LINK => {
                (self.links, self.addresses, self.routes) = (true, true, true);
            }
            kind::NEW_ADDRESS | kind::DEL_ADDRESS => (self.addresses, self.routes) = (true, true),
            kind::NEW_ROUTE | kind::DEL_ROUTE | kind::NEW_NEXTHOP | kind::DEL_NEXTHOP => self.routes = true,
            kind::NEW_RULE | kind::DEL_RULE => self.rules = true,
            _ => {}
        }
    }
}

fn note_links(old: &BTreeMap<u32, Link>, new: &BTreeMap<u32, Link>, changes: &mut VecDeque<Change>) {
    let gone = old.iter().filter(|(index, _)| !new.contains_key(index));
    changes.extend(gone.map(|(_, link)| Change::LinkGone(link.clone())));
    let changed = new.iter().filter(|(index, link)| old.get(index) != Some(link));
    changes.extend(changed.map(|(_, link)| Change::Link(link.clone())));
}

/// One whose flags have changed is as it is now, and has not gone.
fn note_addresses(old: &BTreeSet<Address>, new: &BTreeSet<Address>, changes: &mut VecDeque<Change>) {
    let key = |address: &Address| (address.device, address.address, address.length, address.peer);
    let stay: BTreeSet<_> = new.iter().map(key).collect();
    let gone = old.iter().filter(|address| !stay.contains(&key(address)));
    changes.extend(gone.copied().map(Change::AddressGone));
    changes.extend(new.difference(old).copied().map(Change::Address));
}

/// What has gone is told before what is new: a changed route must not be removed after it was added.
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
    fn a_link_that_changes_makes_addresses_and_routes_stale_too() {
        let mut stale = Stale::default();
        stale.note(kind::DEL_LINK);
        assert_eq!(stale, Stale { rules: false, ..Stale::ALL });
        let mut stale = Stale::default();
        stale.note(kind::NEW_RULE);
        assert_eq!(stale, Stale { rules: true, ..Stale::default() });
    }
}
