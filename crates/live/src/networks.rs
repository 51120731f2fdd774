//! What the daemon remembers of the networks that its interfaces were attached to: rate, RTT and
//! loss of earlier visits.
//!
//! A visit begins when an interface gets a network, and ends with it, or after [`LONGEST_VISIT`].
//! What identifies a network is its SSID, or the hardware address of its router; without either
//! nothing is remembered. The file has neither: [`Book::text`].

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use joulepath_kernel::error::Doing;
use joulepath_kernel::state::State;
use joulepath_kernel::{Error, Result};
use joulepath_model::history::{Book, Network, PathHistory, SALT_SUFFIX, Salt, Visit};
use joulepath_model::units::Nanos;

use crate::machine::Look;
use crate::measure::Measured;
use crate::snapshot::{Interface, Place, Remembered};
use crate::status::NetworkStatus;

/// The file in the folder of the daemon's state.
const NAME: &str = "networks.json";
/// A visit is written down after this time, and the next one begins.
const LONGEST_VISIT: Nanos = Nanos::from_secs(3600);
/// Bytes after which a visit's own highest rate counts, and the remembered rate no longer.
const ENOUGH_BYTES: u64 = 5_000_000;
/// Bytes that must have been sent before retransmissions give a loss rate: an upper bound of the
/// loss events, which `tcp_info` does not count.
const ENOUGH_SENT_BYTES: u64 = 1_000_000;
/// Digits of an id that people see.
const SHOWN_DIGITS: usize = 8;
/// Fewest digits that `forget` takes for an id.
const LEAST_DIGITS: usize = 6;

/// A visit that lasts.
#[derive(Clone, Debug)]
struct Ongoing {
    place: Place,
    since: Nanos,
    carried_bytes: u64,
    sent_bytes: u64,
    most_bps: f64,
    /// Sum and number of RTTs, s.
    rtts: (f64, u32),
    /// Retransmitted by open subflows at the last poll.
    retransmitted: u64,
    /// Retransmitted in this visit.
    retransmitted_bytes: u64,
}

impl Ongoing {
    fn begin(place: Place, now: Nanos, measured: &Measured) -> Self {
        Ongoing {
            place,
            since: now,
            carried_bytes: 0,
            sent_bytes: 0,
            most_bps: 0.0,
            rtts: (0.0, 0),
            retransmitted: measured.retransmitted_bytes,
            retransmitted_bytes: 0,
        }
    }

    fn take(&mut self, measured: &Measured) {
        self.carried_bytes += measured.passed.received_bytes + measured.passed.sent_bytes;
        self.sent_bytes += measured.passed.sent_bytes;
        self.most_bps = self
            .most_bps
            .max(measured.received_bps)
            .max(measured.sent_bps);
        if let Some(rtt) = measured.rtt.filter(|_| measured.passed.packets > 0) {
            self.rtts = (self.rtts.0 + rtt.as_secs_f64(), self.rtts.1 + 1);
        }
        // Subflows that close take their counts with them.
        self.retransmitted_bytes += measured
            .retransmitted_bytes
            .saturating_sub(self.retransmitted);
        self.retransmitted = measured.retransmitted_bytes;
    }

    /// Its measurements; `known` is what was remembered of the network.
    fn visit(&self, known: &PathHistory) -> Visit {
        let is_more = |bps: f64| known.rate_now().is_some_and(|rate| bps > rate.median);
        let is_busy = self.carried_bytes >= ENOUGH_BYTES;
        let rate = Some(self.most_bps).filter(|&bps| bps > 0.0 && (is_busy || is_more(bps)));
        let (sum, number) = self.rtts;
        let part = self.retransmitted_bytes as f64 / self.sent_bytes.max(1) as f64;
        Visit {
            rate_bps: rate,
            rtt_s: (is_busy && number > 0).then(|| sum / f64::from(number)),
            loss: (self.sent_bytes >= ENOUGH_SENT_BYTES).then(|| part.min(1.0)),
        }
    }
}

/// The daemon's memory of networks.
#[derive(Default)]
pub(crate) struct Networks {
    book: Book,
    /// `None` if the daemon remembers nothing.
    salt: Option<Salt>,
    /// Where the book is stored; `None` if that failed.
    state: Option<State>,
    ongoing: BTreeMap<String, Ongoing>,
    /// Why the book is not stored.
    pub(crate) trouble: Option<String>,
}

impl Networks {
    /// Opens the memory in `folder`. If that fails, the daemon remembers until it ends.
    pub(crate) fn open(folder: &str) -> Self {
        let opened = State::lasting(Path::new(folder)).and_then(|state| {
            let (book, salt) = read(&state)?;
            let salt = match salt {
                Some(salt) => salt,
                None => {
                    let salt = random()?;
                    state.write_private(&salt_name(), &salt.text())?;
                    salt
                }
            };
            Ok((book, salt, state))
        });
        match opened {
            Ok((book, salt, state)) => Networks {
                book,
                salt: Some(salt),
                state: Some(state),
                ..Networks::default()
            },
            Err(error) => Networks {
                salt: random().ok(),
                trouble: Some(not_kept(&error)),
                ..Networks::default()
            },
        }
    }

    /// Opens the memory read-only: creates and writes nothing.
    pub(crate) fn look_at(folder: &str) -> Self {
        let read = || read(&State::lasting(Path::new(folder))?);
        match Path::new(folder).exists().then(read) {
            Some(Ok((book, salt))) => Networks {
                book,
                salt,
                ..Networks::default()
            },
            None => Networks::default(),
            Some(Err(error)) => Networks {
                trouble: Some(not_kept(&error)),
                ..Networks::default()
            },
        }
    }

    /// Takes in a poll, and gives interfaces what is remembered of their networks. `unix_s`: s
    /// since 1970.
    pub(crate) fn take(&mut self, look: &mut Look, now: Nanos, unix_s: u32) {
        if self.salt.is_none() {
            return;
        }
        let is_over = |name: &String, one: &Ongoing| {
            look.places.get(name) != Some(&one.place)
                || now.saturating_sub(one.since) >= LONGEST_VISIT
        };
        let over: Vec<String> = self
            .ongoing
            .iter()
            .filter(|(name, one)| is_over(name, one))
            .map(|(name, _)| name.clone())
            .collect();
        for name in &over {
            self.end(name, unix_s);
        }
        if !over.is_empty() {
            self.save(unix_s);
        }
        for interface in &mut look.interfaces {
            let Some(place) = look.places.get(&interface.name) else {
                continue;
            };
            let measured = look
                .measured
                .get(&interface.name)
                .copied()
                .unwrap_or_default();
            match self.ongoing.get_mut(&interface.name) {
                Some(ongoing) => ongoing.take(&measured),
                None => {
                    let begun = Ongoing::begin(place.clone(), now, &measured);
                    self.ongoing.insert(interface.name.clone(), begun);
                }
            }
            interface.remembered = self.remembered(interface, unix_s);
        }
    }

    /// What is remembered of an interface's network, until this visit's own measurements suffice.
    fn remembered(&self, interface: &Interface, unix_s: u32) -> Option<Remembered> {
        let ongoing = self.ongoing.get(&interface.name)?;
        let known = self.entry(&ongoing.place)?.at(unix_s);
        let is_measured = ongoing.carried_bytes >= ENOUGH_BYTES;
        let remembered = Remembered {
            rate_bps: known
                .rate_now()
                .filter(|_| !is_measured)
                .map(|rate| rate.median),
            rtt: known.rtt_now().map(|rtt| Nanos::from_secs_f64(rtt.median)),
        };
        (remembered != Remembered::default()).then_some(remembered)
    }

    fn entry(&self, place: &Place) -> Option<&Network> {
        self.book
            .network(place.kind, Some(&self.salt.as_ref()?.id(&place.name)))
    }

    /// Writes down the visit of an interface.
    fn end(&mut self, name: &str, unix_s: u32) {
        let (Some(ongoing), Some(salt)) = (self.ongoing.remove(name), &self.salt) else {
            return;
        };
        let (kind, id) = (ongoing.place.kind, salt.id(&ongoing.place.name));
        let known = self.book.recall(kind, Some(&id), unix_s);
        self.book
            .learn(kind, Some(&id), unix_s, ongoing.visit(&known));
    }

    /// Ends all visits.
    pub(crate) fn close(&mut self, unix_s: u32) {
        let names: Vec<String> = self.ongoing.keys().cloned().collect();
        names.iter().for_each(|name| self.end(name, unix_s));
        self.save(unix_s);
    }

    fn save(&mut self, unix_s: u32) {
        self.book.forget_faded(unix_s);
        if let Some(state) = &self.state {
            self.trouble = state
                .write_private(NAME, &self.book.text())
                .err()
                .map(|error| not_kept(&error));
        }
    }

    /// Forgets the networks of this name or id, or all. Present visits begin anew. Returns the
    /// number of networks.
    pub(crate) fn forget(&mut self, network: Option<&str>, unix_s: u32) -> usize {
        let is_id = |text: &str| {
            text.len() >= LEAST_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        let named = network
            .zip(self.salt.as_ref())
            .map(|(name, salt)| salt.id(name));
        let is_meant = |id: Option<&str>| match network {
            None => true,
            Some(text) => id.is_some_and(|id| {
                named.as_deref() == Some(id) || is_id(text) && id.starts_with(text)
            }),
        };
        let salt = self.salt.clone();
        self.ongoing.retain(|_, one| {
            !is_meant(
                salt.as_ref()
                    .map(|salt| salt.id(&one.place.name))
                    .as_deref(),
            )
        });
        let forgotten = self.book.forget(|entry| is_meant(entry.network.as_deref()));
        self.save(unix_s);
        forgotten
    }

    /// Number of networks; `None` if the daemon remembers nothing.
    pub(crate) fn number(&self) -> Option<usize> {
        self.salt.is_some().then(|| self.book.networks().len())
    }

    /// The network of an interface.
    pub(crate) fn status(
        &self,
        places: &BTreeMap<String, Place>,
        name: &str,
        unix_s: u32,
    ) -> Option<NetworkStatus> {
        let place = places.get(name)?;
        let id = self.salt.as_ref()?.id(&place.name);
        let entry = self.book.network(place.kind, Some(&id));
        let known = entry.map(|entry| entry.at(unix_s)).unwrap_or_default();
        Some(NetworkStatus {
            id: id[..SHOWN_DIGITS].to_owned(),
            kind: place.kind.to_owned(),
            visits: entry.map_or(0, |entry| entry.visits),
            age_days: entry.map(|_| known.age_days),
            rate_bps: known.rate_now(),
            rtt_s: known.rtt_now(),
            loss: known.loss_now(),
        })
    }
}

fn salt_name() -> String {
    format!("{NAME}{SALT_SUFFIX}")
}

fn read(state: &State) -> Result<(Book, Option<Salt>)> {
    let refused = |name: String, why: String| Error::Unsupported {
        what: state.path().join(name).display().to_string(),
        why,
        remedy: "remove networks.json and networks.json.salt, then restart the daemon".into(),
    };
    let Some(text) = state.read_private(&salt_name())? else {
        return Ok((Book::default(), None));
    };
    let salt = Salt::parse(&text)
        .ok_or_else(|| refused(salt_name(), "it does not have 64 hexadecimal digits".into()))?;
    let book = match state.read_private(NAME)? {
        None => Book::default(),
        Some(text) => Book::parse(&text).map_err(|why| refused(NAME.into(), why))?,
    };
    Ok((book, Some(salt)))
}

fn random() -> Result<Salt> {
    let mut bytes = [0; 32];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    read.doing("reading /dev/urandom")?;
    Ok(Salt::new(bytes))
}

fn not_kept(error: &Error) -> String {
    format!(
        "networks are remembered only until the daemon ends: {}",
        error.with_remedy()
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::placing::Passed;
    use crate::samples::seen;

    const DAY_S: u32 = 86_400;
    const S: fn(u64) -> Nanos = Nanos::from_secs;

    fn place(name: &str) -> Option<Place> {
        Some(Place {
            kind: "wifi",
            name: name.into(),
        })
    }

    /// A poll that has received `bytes` in 2 s on wlan0.
    fn look(place: Option<Place>, bytes: u64) -> Look {
        let measured = Measured {
            passed: Passed {
                received_bytes: bytes,
                sent_bytes: bytes / 4,
                packets: bytes / 1000,
            },
            received_bps: bytes as f64 * 4.0,
            rtt: Some(Nanos::from_millis(30)),
            ..Measured::default()
        };
        Look {
            interfaces: vec![Interface {
                capacity_bps: None,
                rtt: None,
                ..seen(2, "wlan0")
            }],
            measured: [("wlan0".to_owned(), measured)].into(),
            places: place
                .into_iter()
                .map(|place| ("wlan0".to_owned(), place))
                .collect(),
            ..Look::default()
        }
    }

    /// A visit with 4 polls of 2 s each.
    fn visit(networks: &mut Networks, name: &str, bytes: u64, unix_s: u32) -> Option<Remembered> {
        let first = &mut look(place(name), 0);
        networks.take(first, S(0), unix_s);
        (1..=3).for_each(|poll| networks.take(&mut look(place(name), bytes), S(2 * poll), unix_s));
        networks.take(&mut look(None, 0), S(8), unix_s);
        first.interfaces[0].remembered
    }

    #[test]
    fn a_network_is_remembered_from_the_second_visit_on_and_over_restarts() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Networks::open(folder.path().to_str().unwrap());
        let mut networks = open();
        assert_eq!(visit(&mut networks, "home", 5_000_000, 1000), None);
        assert_eq!(visit(&mut networks, "train", 0, 1000), None);
        // 5 MB in 2 s: 20 Mbit/s.
        let remembered = visit(&mut networks, "home", 10_000_000, 1000 + DAY_S).unwrap();
        assert_eq!(remembered.rate_bps, Some(20e6));
        assert_eq!(remembered.rtt.map(Nanos::as_secs_f64), Some(0.03));
        // Traffic of the train's visit was too little to say anything.
        assert_eq!(networks.number(), Some(1));
        let mut again = open();
        // √(20 · 40) Mbit/s.
        let remembered = visit(&mut again, "home", 0, 1000 + 2 * DAY_S).unwrap();
        assert!(
            (remembered.rate_bps.unwrap() - 28.284e6).abs() < 1e3,
            "{remembered:?}"
        );
        assert_eq!(visit(&mut again, "train", 0, 1000), None);
        // 200 days later nothing is left.
        assert_eq!(visit(&mut again, "home", 0, 1000 + 200 * DAY_S), None);
    }

    #[test]
    fn the_file_has_no_names_and_only_its_owner_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        let mut networks = Networks::open(folder.path().to_str().unwrap());
        visit(&mut networks, "home", 5_000_000, 1000);
        for name in [NAME.to_owned(), salt_name()] {
            let path = folder.path().join(&name);
            assert_eq!(
                path.metadata().unwrap().permissions().mode() & 0o777,
                0o600,
                "{name}"
            );
            assert!(!std::fs::read_to_string(path).unwrap().contains("home"));
        }
        let salt = std::fs::read_to_string(folder.path().join(salt_name())).unwrap();
        let other = tempfile::tempdir().unwrap();
        Networks::open(other.path().to_str().unwrap());
        assert_ne!(
            salt,
            std::fs::read_to_string(other.path().join(salt_name())).unwrap()
        );
    }

    #[test]
    fn networks_are_forgotten_by_name_by_id_or_all_together() {
        let folder = tempfile::tempdir().unwrap();
        let mut networks = Networks::open(folder.path().to_str().unwrap());
        for name in ["home", "train", "office", "cafe"] {
            visit(&mut networks, name, 5_000_000, 1000);
        }
        let places = look(place("train"), 0).places;
        let train = networks.status(&places, "wlan0", 1000).unwrap();
        assert_eq!(
            (train.visits, train.rate_bps.map(|rate| rate.median)),
            (1, Some(20e6))
        );
        assert_eq!(networks.forget(Some("nowhere"), 1000), 0);
        assert_eq!(networks.forget(Some("home"), 1000), 1);
        assert_eq!(networks.forget(Some(&train.id), 1000), 1);
        assert_eq!(networks.status(&places, "wlan0", 1000).unwrap().visits, 0);
        // A visit that goes on is forgotten, too: it begins anew.
        networks.take(&mut look(place("cafe"), 0), S(0), 1000);
        networks.take(&mut look(place("cafe"), 9_000_000), S(2), 1000);
        assert_eq!(networks.forget(None, 1000), 2);
        networks.take(&mut look(None, 0), S(4), 1000);
        assert_eq!(networks.number(), Some(0));
        assert_eq!(
            Networks::open(folder.path().to_str().unwrap()).number(),
            Some(0)
        );
    }

    #[test]
    fn a_long_visit_is_written_down_every_hour_and_its_own_rate_replaces_the_memory() {
        let folder = tempfile::tempdir().unwrap();
        let mut networks = Networks::open(folder.path().to_str().unwrap());
        visit(&mut networks, "home", 5_000_000, 1000);
        let mut take = |s, bytes| {
            let mut look = look(place("home"), bytes);
            networks.take(&mut look, S(s), 1000);
            (
                look.interfaces[0].remembered.unwrap().rate_bps,
                networks.book.networks()[0].visits,
            )
        };
        assert_eq!(take(100, 0), (Some(20e6), 1));
        // A throttled network: 1 Mbit/s. After 5 MB that counts.
        assert_eq!(take(102, 250_000), (Some(20e6), 1));
        assert_eq!(take(104, 4_000_000).0, None);
        assert_eq!(take(3699, 0).1, 1);
        assert_eq!(take(3700, 0).1, 2);
    }

    #[test]
    fn damaged_files_are_reported_and_stay_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_str().unwrap();
        assert_eq!(Networks::look_at(path).number(), None);
        drop(Networks::open(path));
        std::fs::write(folder.path().join(NAME), "{").unwrap();
        let mut networks = Networks::open(path);
        assert!(
            networks
                .trouble
                .as_ref()
                .is_some_and(|said| said.contains("networks.json"))
        );
        visit(&mut networks, "home", 5_000_000, 1000);
        assert_eq!(
            std::fs::read_to_string(folder.path().join(NAME)).unwrap(),
            "{"
        );
    }
}
