//! WiFi clients that change their access point. They have no carrier for a moment, but keep
//! address, route and subflows: to open another path would wake its radio for nothing.

use std::collections::BTreeMap;

use joulepath_kernel::route::Link;
use joulepath_model::units::Nanos;

/// A client that lacks a carrier for longer is lost. WPA2 takes up to half a second, 802.1X about
/// one.
const LONGEST: Nanos = Nanos::from_millis(1500);

/// The WiFi clients that have a carrier, or lack one for a moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Roaming {
    /// Without a carrier: since when.
    clients: BTreeMap<u32, Option<Nanos>>,
}

impl Roaming {
    /// Takes in a poll; `clients` are indexes of WiFi clients.
    pub(crate) fn observe<'a>(
        &mut self,
        now: Nanos,
        links: impl Iterator<Item = &'a Link>,
        clients: &[u32],
    ) {
        let before = std::mem::take(&mut self.clients);
        for link in links.filter(|link| link.up && clients.contains(&link.index)) {
            let since = match (link.is_usable(), before.get(&link.index)) {
                (true, _) => None,
                (false, Some(since)) => Some(since.unwrap_or(now)),
                // It had none before either.
                (false, None) => continue,
            };
            if since.is_none_or(|since| now < end(since)) {
                self.clients.insert(link.index, since);
            }
        }
    }

    /// Indexes of the clients that lack a carrier for a moment.
    pub(crate) fn now(&self) -> impl Iterator<Item = u32> {
        self.clients
            .iter()
            .filter(|(_, since)| since.is_some())
            .map(|(&index, _)| index)
    }

    /// When the first of them counts as lost.
    pub(crate) fn until(&self) -> Option<Nanos> {
        self.clients
            .values()
            .flatten()
            .map(|&since| end(since))
            .min()
    }
}

fn end(since: Nanos) -> Nanos {
    since.saturating_add(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::link;

    const MS: fn(u64) -> Nanos = Nanos::from_millis;

    /// What a client with index 2 is after each state: time, ms, and whether it has a carrier.
    fn roams(states: &[(u64, bool)]) -> Vec<bool> {
        let mut roaming = Roaming::default();
        let mut after = |&(ms, carrier): &(u64, bool)| {
            roaming.observe(MS(ms), [&link(2, "wlan0", carrier)].into_iter(), &[2]);
            roaming.now().any(|index| index == 2)
        };
        states.iter().map(&mut after).collect()
    }

    #[test]
    fn a_client_without_a_carrier_for_less_than_one_and_a_half_seconds_roams() {
        assert_eq!(
            roams(&[(0, true), (100, false), (1599, false), (2000, true)]),
            [false, true, true, false]
        );
        // It is lost until it has a carrier again.
        let states = [
            (0, true),
            (100, false),
            (1600, false),
            (1700, false),
            (1800, true),
            (1900, false),
        ];
        assert_eq!(roams(&states), [false, true, false, false, false, true]);
        // Without a carrier from the start it is not connected.
        assert_eq!(roams(&[(0, false), (100, false)]), [false, false]);
    }

    #[test]
    fn only_a_client_that_is_up_roams() {
        let mut roaming = Roaming::default();
        let links = |carrier, up| {
            [2, 3].map(|index| Link {
                up,
                ..link(index, "wlan", carrier)
            })
        };
        let mut observe = |ms, links: [Link; 2]| {
            roaming.observe(MS(ms), links.iter(), &[2]);
            (roaming.now().collect::<Vec<_>>(), roaming.until())
        };
        assert_eq!(observe(0, links(true, true)), (vec![], None));
        // Interface 3 is an access point, or a wire.
        assert_eq!(observe(10, links(false, true)), (vec![2], Some(MS(1510))));
        assert_eq!(observe(20, links(false, false)), (vec![], None));
    }
}
