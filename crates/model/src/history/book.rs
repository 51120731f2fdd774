//! All networks that a device remembers, each with its estimates.

use super::estimate::{Estimate, PathHistory};

/// Seconds of a day.
const DAY_S: f64 = 86_400.0;
/// Losses below this count as this, because 0 has no logarithm.
const LEAST_LOSS: f64 = 1e-6;

/// One network as one interface sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Name of the interface, which is the name of a scenario's path.
    pub interface: String,
    /// Network that the interface was attached to; none if it has only one.
    pub network: Option<String>,
    /// Time of the last use, s since 1970.
    pub seen_s: u32,
    /// Number of visits.
    pub visits: u32,
    /// The estimates at the time of the last use: their age is 0.
    pub known: PathHistory,
}

/// Measurements from one visit to a network; `None` where there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Visit {
    /// Rate while more data was waiting, bit/s.
    pub rate_bps: Option<f64>,
    /// Smoothed RTT, s.
    pub rtt_s: Option<f64>,
    /// Loss events per packet.
    pub loss: Option<f64>,
}

/// Networks by interface and name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Book {
    networks: Vec<Network>,
}

impl Book {
    /// A book of these networks. If a network has two entries, the later entry counts.
    pub fn new(networks: Vec<Network>) -> Self {
        let mut book = Book::default();
        networks.into_iter().for_each(|network| match book.place(&network.interface, network.network()) {
            Ok(place) => book.networks[place] = network,
            Err(place) => book.networks.insert(place, network),
        });
        book
    }

    /// All networks, sorted by name.
    pub fn networks(&self) -> &[Network] {
        &self.networks
    }

    /// Time of the latest use of any network, s since 1970; 0 if there is none.
    pub fn latest_s(&self) -> u32 {
        self.networks.iter().map(|network| network.seen_s).max().unwrap_or(0)
    }

    /// Estimates of a network at `now_s`; empty if it was never used.
    pub fn recall(&self, interface: &str, network: Option<&str>, now_s: u32) -> PathHistory {
        let Ok(place) = self.place(interface, network) else { return PathHistory::default() };
        let Network { seen_s, known, .. } = &self.networks[place];
        PathHistory { age_days: days(*seen_s, now_s), ..*known }
    }

    /// Adds the measurements of a visit at `now_s`. A visit without any changes nothing.
    pub fn learn(&mut self, interface: &str, network: Option<&str>, now_s: u32, visit: Visit) {
        if visit == Visit::default() {
            return;
        }
        let place = self.place(interface, network).unwrap_or_else(|place| {
            let (interface, network) = (interface.to_owned(), network.map(str::to_owned));
            let known = PathHistory::default();
            self.networks.insert(place, Network { interface, network, seen_s: now_s, visits: 0, known });
            place
        });
        let entry = &mut self.networks[place];
        let (visits, days) = (entry.visits, days(entry.seen_s, now_s));
        let learn = |known: Option<Estimate>, seen: Option<f64>| match (known, seen) {
            (Some(known), Some(value)) => Some(known.learn(value, visits, days)),
            (None, Some(value)) => Some(Estimate::first(value)),
            (known, None) => known.map(|known| known.aged(days)),
        };
        entry.known = PathHistory {
            rate_bps: learn(entry.known.rate_bps, visit.rate_bps.filter(|&rate| rate > 0.0)),
            rtt_s: learn(entry.known.rtt_s, visit.rtt_s.filter(|&rtt| rtt > 0.0)),
            loss: learn(entry.known.loss, visit.loss.map(|loss| loss.max(LEAST_LOSS))),
            age_days: 0.0,
        };
        (entry.visits, entry.seen_s) = (visits.saturating_add(1), now_s.max(entry.seen_s));
    }

    fn place(&self, interface: &str, network: Option<&str>) -> Result<usize, usize> {
        self.networks.binary_search_by_key(&(interface, network), |entry| (&entry.interface, entry.network()))
    }
}

impl Network {
    fn network(&self) -> Option<&str> {
        self.network.as_deref()
    }
}

fn days(from_s: u32, to_s: u32) -> f64 {
    f64::from(to_s.saturating_sub(from_s)) / DAY_S
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(bps: f64) -> Visit {
        Visit { rate_bps: Some(bps), ..Visit::default() }
    }

    #[test]
    fn networks_of_one_interface_are_kept_apart() {
        let mut book = Book::default();
        book.learn("wifi", Some("home"), 1000, rate(20e6));
        book.learn("wifi", Some("train"), 2000, rate(2e6));
        book.learn("lte", None, 1500, rate(8e6));
        let names: Vec<_> = book.networks().iter().map(|n| (&*n.interface, n.network())).collect();
        assert_eq!(names, [("lte", None), ("wifi", Some("home")), ("wifi", Some("train"))]);
        let known = |network| book.recall("wifi", network, 2000).rate_bps.map(|rate| rate.median);
        assert_eq!((known(Some("home")), known(Some("train")), known(None)), (Some(20e6), Some(2e6), None));
        assert_eq!(book.latest_s(), 2000);
    }

    #[test]
    fn a_visit_without_measurements_changes_nothing_and_zero_loss_has_a_logarithm() {
        let mut book = Book::default();
        book.learn("wifi", None, 5, Visit::default());
        assert_eq!(book, Book::default());
        book.learn("wifi", None, 5, Visit { loss: Some(0.0), ..rate(1e6) });
        let known = book.recall("wifi", None, 5 + 2 * 86_400);
        assert_eq!((known.loss.unwrap().median, known.age_days), (LEAST_LOSS, 2.0));
        assert_eq!(known.rtt_s, None);
        // A quantity that the second visit did not measure has aged meanwhile.
        book.learn("wifi", None, 5 + 86_400, rate(1e6));
        let entry = &book.networks()[0];
        assert_eq!((entry.visits, entry.seen_s), (2, 86_405));
        assert!(entry.known.loss.unwrap().spread > Estimate::first(1.0).spread);
    }
}
