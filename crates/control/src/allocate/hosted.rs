//! Allocators of the program that holds this library, such as the classes of an interpreter.

use std::fmt;

use joulepath_model::units::Nanos;

use crate::adopted::{Adopted, Hooked, Host};
use crate::options::PartInfo;
use crate::select::{Demand, PathSnapshot};

/// What is known of a path before its connection begins.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownPath {
    /// Its name in the scenario.
    pub name: String,
    /// What one TCP connection gets by the scenario's random loss and RTT, at most the rate of the slowest
    /// link, bit/s: what EEMPTCP solves its problem for at first. Infinite if nothing limits it.
    pub expected_bps: f64,
}

/// A connection when its allocator is asked.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// The present; zero before the connection begins.
    pub now: Nanos,
    /// What waits.
    pub demand: Demand,
    /// Payload of a full segment, bytes.
    pub mss_bytes: f64,
    /// The paths, in the order of the connection.
    pub paths: &'a [PathSnapshot],
}

/// What a hosted allocator does for one connection.
pub trait AllocatorHooks: Send {
    /// The share of the traffic that each path shall carry, which add up to 1; none: they stay what they are.
    /// The first call comes before the connection begins, with every path closed.
    fn shares(&mut self, seen: &Seen) -> Option<Vec<f64>>;
}

/// Makes the hooks of a connection with these paths.
pub type OpenAllocator = Box<dyn Fn(&[KnownPath]) -> Box<dyn AllocatorHooks> + Send + Sync>;

/// What a hosted allocator is.
pub struct AllocatorHost {
    info: PartInfo,
    period: Nanos,
    open: OpenAllocator,
}

impl Host for AllocatorHost {
    type Hooks = dyn AllocatorHooks;

    fn info(&self) -> &PartInfo {
        &self.info
    }
}

impl PartialEq for AllocatorHost {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl fmt::Debug for AllocatorHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AllocatorHost({})", self.info.name)
    }
}

static ADOPTED: Adopted<AllocatorHost> = Adopted::new();

impl AllocatorHost {
    /// Makes an allocator known under its name, which is asked once in `period`: one of ours keeps its name,
    /// an earlier one of this name is replaced for whoever asks from now on. It is never freed.
    pub fn adopt(name: &str, summary: &str, period: Nanos, open: OpenAllocator) {
        ADOPTED.add(AllocatorHost { info: PartInfo::hosted(name, summary), period, open });
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.info.name
    }
}

/// What is known of a hosted allocator.
pub(super) fn find(name: &str) -> Option<&'static AllocatorHost> {
    ADOPTED.find(name)
}

/// A hosted allocator in one connection.
#[derive(Debug)]
pub struct Hosted {
    part: Hooked<AllocatorHost>,
    paths: Vec<KnownPath>,
    asked: Nanos,
}

impl Hosted {
    pub(crate) fn of(host: &'static AllocatorHost, paths: Vec<KnownPath>) -> Self {
        Hosted { part: Hooked::of(host), paths, asked: Nanos::ZERO }
    }

    /// New shares if there are any.
    pub(crate) fn ask(&mut self, seen: &Seen) -> Option<Vec<f64>> {
        self.asked = seen.now;
        let paths = &self.paths;
        self.part.hooks(|host| (host.open)(paths)).shares(seen)
    }

    /// The same, once in a period.
    pub(super) fn look(&mut self, seen: &Seen) -> Option<Vec<f64>> {
        let due = self.asked.saturating_add(self.part.host.period);
        if seen.now < due { None } else { self.ask(seen) }
    }
}
