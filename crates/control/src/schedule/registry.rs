//! The schedulers by name. A new scheduler needs a line here and a file in this folder.

use joulepath_model::units::Nanos;

use super::rescue::Rescue;
use super::scheduler::{Features, Offload, PacketScheduler};
use super::view::{Backlog, PathView, Placement};
use super::{allotted, blest, daps, ecf, emtcp, first_free, hosted, mainline, min_rtt, placing};
use super::{proactive, redundant, round_robin, sttf};
use crate::energy::PathEnergy;
use crate::options::{self, OptionError, PartInfo};

/// Declares [`Scheduler`] and [`SCHEDULERS`], and dispatches each call.
macro_rules! schedulers {
    (listed: { $($(#[$doc:meta])* $name:ident($scheduler:ty),)* }
     unlisted: { $($(#[$its_doc:meta])* $unlisted:ident($its:ty),)* }) => {
        schedulers! { @all $($(#[$doc])* $name($scheduler),)* $($(#[$its_doc])* $unlisted($its),)* }

        const INFOS: &[PartInfo] = &[$(<$scheduler>::INFO,)*];

        impl Scheduler {
            fn new(name: &str, mss_bytes: u32) -> Option<Self> {
                $(if name == <$scheduler>::INFO.name {
                    return Some(Scheduler::$name(<$scheduler>::new(mss_bytes)));
                })*
                None
            }
        }
    };
    (@all $($(#[$doc:meta])* $name:ident($scheduler:ty),)*) => {
        /// A packet scheduler with its state: one per connection. [`PacketScheduler`] documents the
        /// calls.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Scheduler {
            $($(#[$doc])* $name($scheduler),)*
        }

        impl Scheduler {
            /// Its properties and inputs.
            pub fn features(&self) -> Features {
                match self { $(Scheduler::$name(_) => <$scheduler>::FEATURES,)* }
            }

            /// See [`PacketScheduler::TAKES_THE_ONLY_CHOICE`].
            pub fn takes_the_only_choice(&self) -> bool {
                match self { $(Scheduler::$name(_) => <$scheduler>::TAKES_THE_ONLY_CHOICE,)* }
            }

            /// See [`PacketScheduler::offloads`].
            pub fn offloads(&self) -> Offload {
                match self { $(Scheduler::$name(one) => one.offloads(),)* }
            }

            /// See [`PacketScheduler::takes_over`].
            pub fn takes_over(&self, paths: &[PathView], carried: u8) -> Option<usize> {
                match self { $(Scheduler::$name(one) => one.takes_over(paths, carried),)* }
            }

            /// See [`PacketScheduler::copies_repairs`].
            pub fn copies_repairs(&self) -> bool {
                match self { $(Scheduler::$name(one) => one.copies_repairs(),)* }
            }

            /// See [`PacketScheduler::begin`].
            pub fn begin(&mut self, next_byte: u64, window_bytes: u64) {
                match self { $(Scheduler::$name(one) => one.begin(next_byte, window_bytes),)* }
            }

            /// See [`PacketScheduler::at`].
            pub fn at(&mut self, now: Nanos) {
                match self { $(Scheduler::$name(one) => one.at(now),)* }
            }

            /// See [`PacketScheduler::pick`].
            #[inline]
            pub fn pick(&mut self, paths: &[PathView], carried: u8, segment_bytes: u32) -> Option<usize> {
                debug_assert!(paths.len() <= super::MAX_SUBFLOWS);
                match self { $(Scheduler::$name(one) => one.pick(paths, carried, segment_bytes),)* }
            }

            /// See [`PacketScheduler::place`].
            #[inline]
            pub fn place(
                &mut self,
                paths: &[PathView],
                segment_bytes: u32,
                backlog: &Backlog,
            ) -> Option<Placement> {
                match self { $(Scheduler::$name(one) => one.place(paths, segment_bytes, backlog),)* }
            }

            /// See [`PacketScheduler::placed`].
            #[inline]
            pub fn placed(&mut self, placement: Placement) {
                match self { $(Scheduler::$name(one) => one.placed(placement),)* }
            }

            /// See [`PacketScheduler::rescue`].
            #[inline]
            pub fn rescue(&mut self, paths: &[PathView], now: Nanos, carried: u8) -> Option<Rescue> {
                match self { $(Scheduler::$name(one) => one.rescue(paths, now, carried),)* }
            }

            /// See [`PacketScheduler::learn_costs`].
            pub fn learn_costs(&mut self, costs: &[PathEnergy]) {
                match self { $(Scheduler::$name(one) => one.learn_costs(costs),)* }
            }

            /// See [`PacketScheduler::forget`].
            pub fn forget(&mut self, path: usize) {
                match self { $(Scheduler::$name(one) => one.forget(path),)* }
            }

            /// See [`PacketScheduler::acknowledged`].
            pub fn acknowledged(&mut self, path: usize, view: &PathView) {
                match self { $(Scheduler::$name(one) => one.acknowledged(path, view),)* }
            }

            /// See [`PacketScheduler::send_buffer_bytes`].
            pub fn send_buffer_bytes(&self, paths: &[PathView]) -> Option<u64> {
                match self { $(Scheduler::$name(one) => one.send_buffer_bytes(paths),)* }
            }

            /// See [`PacketScheduler::allot`].
            pub fn allot(&mut self, packets: &[f64]) {
                match self { $(Scheduler::$name(one) => one.allot(packets),)* }
            }

            fn set(&mut self, option: &str, value: &str) -> Result<(), OptionError> {
                match self { $(Scheduler::$name(one) => one.set(option, value),)* }
            }
        }
    };
}

schedulers! {
    listed: {
        /// `round-robin`: turns of equal length.
        RoundRobin(round_robin::RoundRobin),
        /// `first-free`: the first subflow with space, in the connection's order.
        FirstFree(first_free::FirstFree),
        /// `minrtt`: the subflow with the smallest smoothed RTT among those with space.
        MinRtt(min_rtt::MinRtt),
        /// `mainline`: the default scheduler of Linux 6, the least time to drain the queue.
        Mainline(mainline::Mainline),
        /// `blest`: waits for the fast subflow if a slow segment would block the window.
        Blest(blest::Blest),
        /// `ecf`: earliest completion first.
        Ecf(ecf::Ecf),
        /// `daps`: in order of arrival.
        Daps(daps::Daps),
        /// `sttf`: shortest transfer time first.
        Sttf(sttf::Sttf),
        /// `placing`: in order, without queues while the window binds.
        Placing(placing::Placing),
        /// `redundant`: everything everywhere.
        Redundant(redundant::Redundant),
        /// `emtcp`: cheapest interface first.
        Emtcp(emtcp::Emtcp),
        /// `proactive`: slow paths carry later segments.
        Proactive(proactive::Proactive),
        /// `allotted`: spends the packets that an allocator allots.
        Allotted(allotted::Allotted),
    }
    unlisted: {
        /// A scheduler of the host program.
        Hosted(hosted::Hosted),
    }
}

/// All built-in schedulers.
pub static SCHEDULERS: &[PartInfo] = INFOS;

/// The registry's description of a scheduler.
pub(crate) fn info(name: &str) -> Result<&'static PartInfo, OptionError> {
    options::find("scheduler", SCHEDULERS, name)
        .or_else(|unknown| hosted::find(name).map(|host| &host.info).ok_or(unknown))
}

impl Scheduler {
    /// The scheduler called `name`, with `options` in the order written. `mss_bytes` is the payload
    /// of a full segment.
    ///
    /// # Errors
    /// An unknown name or option, or an invalid value; the message names valid ones.
    pub fn by_name(
        name: &str,
        options: &[(String, String)],
        mss_bytes: u32,
    ) -> Result<Self, OptionError> {
        let info = info(name)?;
        let hosted = || hosted::find(name).map(|host| Scheduler::Hosted(hosted::Hosted::of(host)));
        let mut scheduler = Self::new(name, mss_bytes)
            .or_else(hosted)
            .expect("every row has a scheduler");
        for (option, value) in options {
            if !info.options.contains(&option.as_str()) {
                return Err(OptionError::unknown_option(info.name, option, info.options));
            }
            scheduler.set(option, value)?;
        }
        Ok(scheduler)
    }
}
