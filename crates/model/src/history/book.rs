//! All networks that a device remembers, each with its estimates.

use super::estimate::{Estimate, PathHistory};

/// Seconds of a day.
const DAY_S: f64 = 86_400.0;
/// Losses below this count as this, because 0 has no logarithm.
const LEAST_LOSS: f64 = 1e-6;
/// Most networks in a book; the network unused for the longest time goes first.
const MOST_NETWORKS: usize = 500;

/// One network as one interface sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Kind of the interface (`wifi`, `ethernet`), or the name of a scenario's path.
    pub interface: String,
    /// Id of the network that the interface was attached to; none if it has only one.
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
        networks.into_iter().for_each(|network| {
            match book.place(&network.interface, network.network()) {
                Ok(place) => book.networks[place] = network,
                Err(place) => book.networks.insert(place, network),
            }
        });
        book
    }

    /// All networks, sorted by name.
    pub fn networks(&self) -> &[Network] {
        &self.networks
    }

    /// Time of the latest use of any network, s since 1970; 0 if there is none.
    pub fn latest_s(&self) -> u32 {
        self.networks
            .iter()
            .map(|network| network.seen_s)
            .max()
            .unwrap_or(0)
    }

    /// Estimates of a network at `now_s`; empty if it was never used.
    pub fn recall(&self, interface: &str, network: Option<&str>, now_s: u32) -> PathHistory {
        let Ok(place) = self.place(interface, network) else {
            return PathHistory::default();
        };
        self.networks[place].at(now_s)
    }

    /// The entry of a network as one interface sees it.
    pub fn network(&self, interface: &str, network: Option<&str>) -> Option<&Network> {
        self.place(interface, network)
            .ok()
            .map(|place| &self.networks[place])
    }

    /// The entry of a network that was used last, whatever the interface.
    pub fn of_network(&self, network: &str) -> Option<&Network> {
        let all = self
            .networks
            .iter()
            .filter(|entry| entry.network() == Some(network));
        all.max_by_key(|entry| entry.seen_s)
    }

    /// Removes the entries for which `is_forgotten`. Returns their number.
    pub fn forget(&mut self, is_forgotten: impl Fn(&Network) -> bool) -> usize {
        let before = self.networks.len();
        self.networks.retain(|entry| !is_forgotten(entry));
        before - self.networks.len()
    }

    /// Removes the entries whose estimates are too old to say anything at `now_s`.
    pub fn forget_faded(&mut self, now_s: u32) -> usize {
        self.forget(|entry| {
            let known = entry.at(now_s);
            [known.rate_now(), known.rtt_now(), known.loss_now()]
                .iter()
                .all(Option::is_none)
        })
    }

    /// Adds the measurements of a visit at `now_s`. A visit without any changes nothing.
    pub fn learn(&mut self, interface: &str, network: Option<&str>, now_s: u32, visit: Visit) {
        if visit == Visit::default() {
            return;
        }
        let place = self.place(interface, network).unwrap_or_else(|place| {
            let (interface, network) = (interface.to_owned(), network.map(str::to_owned));
            let known = PathHistory::default();
            self.networks.insert(
                place,
                Network {
                    interface,
                    network,
                    seen_s: now_s,
                    visits: 0,
                    known,
                },
            );
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
            rate_bps: learn(
                entry.known.rate_bps,
                visit.rate_bps.filter(|&rate| rate > 0.0),
            ),
            rtt_s: learn(entry.known.rtt_s, visit.rtt_s.filter(|&rtt| rtt > 0.0)),
            loss: learn(
                entry.known.loss,
                visit.loss.map(|loss| loss.max(LEAST_LOSS)),
            ),
            age_days: 0.0,
        };
        (entry.visits, entry.seen_s) = (visits.saturating_add(1), now_s.max(entry.seen_s));
        while self.networks.len() > MOST_NETWORKS {
            let oldest = (0..self.networks.len()).min_by_key(|&at| self.networks[at].seen_s);
            self.networks.remove(oldest.expect("there are some"));
        }
    }

    fn place(&self, interface: &str, network: Option<&str>) -> Result<usize, usize> {
        self.networks
            .binary_search_by_key(&(interface, network), |entry| {
                (&entry.interface, entry.network())
            })
    }
}

impl Network {
    /// The estimates with their age at `now_s`.
    pub fn at(&self, now_s: u32) -> PathHistory {
        PathHistory {
            age_days: days(self.seen_s, now_s),
            ..self.known
        }
    }

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
        Visit {
            rate_bps: Some(bps),
            ..Visit::default()
        }
    }

    #[test]
    fn networks_of_one_interface_are_kept_apart() {
        let mut book = Book::default();
        book.learn("wifi", Some("home"), 1000, rate(20e6));
        book.learn("wifi", Some("train"), 2000, rate(2e6));
        book.learn("lte", None, 1500, rate(8e6));
        let names: Vec<_> = book
            .networks()
            .iter()
            .map(|n| (&*n.interface, n.network()))
            .collect();
        assert_eq!(
            names,
            [
                ("lte", None),
                ("wifi", Some("home")),
                ("wifi", Some("train"))
            ]
        );
        let known = |network| {
            book.recall("wifi", network, 2000)
                .rate_bps
                .map(|rate| rate.median)
        };
        assert_eq!(
            (known(Some("home")), known(Some("train")), known(None)),
            (Some(20e6), Some(2e6), None)
        );
        assert_eq!(book.latest_s(), 2000);
    }

    #[test]
    fn a_book_has_bounded_size_and_forgets_on_request_and_with_time() {
        let mut book = Book::default();
        for number in 0..MOST_NETWORKS as u32 + 3 {
            book.learn(
                "wifi",
                Some(&format!("{number:04}")),
                1000 + number,
                rate(1e6),
            );
        }
        assert_eq!(book.networks().len(), MOST_NETWORKS);
        // The three oldest are gone.
        assert!(
            book.network("wifi", Some("0002")).is_none()
                && book.network("wifi", Some("0003")).is_some()
        );
        assert_eq!(book.forget(|one| one.network.as_deref() == Some("0003")), 1);
        book.learn("ethernet", Some("0004"), 9000, rate(5e6));
        assert_eq!(
            book.of_network("0004").map(|one| one.interface.as_str()),
            Some("ethernet")
        );
        assert_eq!(book.forget_faded(1000), 0);
        // From 1.5 to 20 at 1.3 a day: (ln² 20 - ln² 1.5) / ln² 1.3 = 128 days.
        assert_eq!(book.forget_faded(1000 + 127 * 86_400), 0);
        assert_eq!(book.forget_faded(10_000 + 129 * 86_400), MOST_NETWORKS);
        assert_eq!(book, Book::default());
    }

    #[test]
    fn a_visit_without_measurements_changes_nothing_and_zero_loss_has_a_logarithm() {
        let mut book = Book::default();
        book.learn("wifi", None, 5, Visit::default());
        assert_eq!(book, Book::default());
        book.learn(
            "wifi",
            None,
            5,
            Visit {
                loss: Some(0.0),
                ..rate(1e6)
            },
        );
        let known = book.recall("wifi", None, 5 + 2 * 86_400);
        assert_eq!(
            (known.loss.unwrap().median, known.age_days),
            (LEAST_LOSS, 2.0)
        );
        assert_eq!(known.rtt_s, None);
        // A quantity that the second visit did not measure has aged meanwhile.
        book.learn("wifi", None, 5 + 86_400, rate(1e6));
        let entry = &book.networks()[0];
        assert_eq!((entry.visits, entry.seen_s), (2, 86_405));
        assert!(entry.known.loss.unwrap().spread > Estimate::first(1.0).spread);
    }
}
