//! The device's memory of its networks as a file: read before runs, written after them.
//!
//! A simulation has no date. Each entry's age counts from the latest entry, so that a file gives
//! the same results on any day.

use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use joulepath_model::history::{Book, PathHistory, SALT_SUFFIX, Salt, Visit};
use joulepath_model::result::RunResult;
use joulepath_model::scenario::{Scenario, Workload, path_history};

use crate::error::{Error, Kind, Result};
use crate::files::{self, By};
use crate::source::Overrides;

/// Maximum size of a history, bytes.
const MAX_BYTES: u64 = 16 << 20;
/// Maximum size of its salt, bytes.
const MAX_SALT_BYTES: u64 = 1 << 10;

/// A book of networks, with the salt of their ids. Without the salt, named networks are unknown.
#[derive(Clone, Debug, Default)]
pub struct History {
    book: Book,
    salt: Option<Salt>,
}

/// Reads a history and the salt beside it.
///
/// # Errors
/// If the file does not exist, or is not a history; if the salt is not one.
pub fn read(path: &Path) -> Result<History> {
    let doing = format!("cannot read the history {}", path.display());
    let content = files::read_named(path, By::Argument, MAX_BYTES, &doing)?;
    let quotable = content.may_be_quoted;
    let refused = |why: String| Error::Refused {
        doing: doing.clone(),
        why: if quotable {
            why
        } else {
            "the user who called sudo may not read it".to_owned()
        },
        help: "a history is a JSON file; `joulepath compare … --record FILE` writes one".to_owned(),
        kind: Kind::Failed,
    };
    let text = String::from_utf8(content.bytes).map_err(|error| {
        refused(format!(
            "byte {} is not UTF-8 text",
            error.utf8_error().valid_up_to()
        ))
    })?;
    let book = Book::parse(&text).map_err(refused)?;
    let beside = beside(path);
    let salt = match beside.try_exists() {
        Ok(false) => None,
        _ => {
            let doing = format!("cannot read the salt {}", beside.display());
            let content = files::read_named(&beside, By::Argument, MAX_SALT_BYTES, &doing)?;
            let salt = str::from_utf8(&content.bytes).ok().and_then(Salt::parse);
            Some(salt.ok_or_else(|| Error::Refused {
                doing,
                why: "it does not have 64 hexadecimal digits".to_owned(),
                help: "remove it and the history, and record a new one".to_owned(),
                kind: Kind::Failed,
            })?)
        }
    };
    Ok(History { book, salt })
}

/// Reads a history; an empty one if there is no such file. Fails like [`read`].
///
/// # Errors
/// All mistakes of an existing file.
pub fn read_or_begin(path: &Path) -> Result<History> {
    match path.try_exists() {
        Ok(false) => Ok(History::default()),
        _ => read(path),
    }
}

/// The file of the salt.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(SALT_SUFFIX);
    name.into()
}

/// Creates the salt of the history `path`, readable by its owner only.
fn create_salt(path: &Path) -> Result<Salt> {
    let beside = beside(path);
    let create = || {
        let mut bytes = [0; 32];
        std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        let salt = Salt::new(bytes);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(&beside)?.write_all(salt.text().as_bytes())?;
        io::Result::Ok(salt)
    };
    create().map_err(|source| Error::file(format!("cannot write {}", beside.display()), source))
}

impl History {
    /// The id of the network `name` of a scenario's path; `Err` if it has a name and there is no
    /// salt.
    fn id(&self, name: Option<&str>) -> std::result::Result<Option<String>, ()> {
        name.map(|name| self.salt.as_ref().map(|salt| salt.id(name)).ok_or(()))
            .transpose()
    }

    /// What is known about the network `network` (`None`: its only one) of the interface
    /// `interface`. A network that was seen from another interface only is known, too. Its age
    /// counts from the latest entry.
    pub fn known(&self, interface: &str, network: Option<&str>) -> Option<PathHistory> {
        let id = self.id(network).ok()?;
        let own = self.book.network(interface, id.as_deref());
        let entry = own.or_else(|| self.book.of_network(id.as_deref()?))?;
        Some(entry.at(self.book.latest_s())).filter(|known| !known.is_empty())
    }

    /// Overrides that make `scenario` start with the knowledge about its networks, and the names of
    /// paths on unknown networks.
    pub fn overrides(&self, scenario: &Scenario) -> (Overrides, Vec<String>) {
        let (mut set, mut unknown) = (vec![], vec![]);
        for path in &scenario.paths {
            match self.known(&path.name, path.network.as_deref()) {
                Some(known) => {
                    set.push((format!("path.{}.history", path.name), path_history(&known)))
                }
                None => unknown.push(path.name.clone()),
            }
        }
        (set, unknown)
    }
}

/// Records what runs observe of networks and adds it to a history.
pub struct Recorder {
    file: PathBuf,
    history: History,
    policy: String,
    /// For each path: name, network, and whether its rate shows its capacity.
    paths: Vec<(String, Option<String>, bool)>,
    /// Visits by seed.
    seen: Vec<(u64, Vec<Visit>)>,
}

impl Recorder {
    /// Records runs of `policy` on `scenario`. `file` need not exist.
    ///
    /// # Errors
    /// If the file exists and is not a history, or cannot be written.
    pub fn new(file: &Path, scenario: &Scenario, policy: &str) -> Result<Self> {
        let mut history = read_or_begin(file)?;
        files::prepare(file)?;
        if history.salt.is_none() && scenario.paths.iter().any(|path| path.network.is_some()) {
            history.salt = Some(create_salt(file)?);
        }
        let is_busy =
            |workload: Workload| matches!(workload, Workload::Bulk | Workload::File { .. });
        let path = |(i, path): (usize, &joulepath_model::scenario::PathSpec)| {
            let mut users = scenario
                .connections
                .iter()
                .filter(|group| group.paths.contains(&i));
            let shows_rate = users.all(|group| group.count == 1 && is_busy(group.workload));
            (path.name.clone(), path.network.clone(), shows_rate)
        };
        let paths = scenario.paths.iter().enumerate().map(path).collect();
        Ok(Recorder {
            file: file.to_owned(),
            history,
            policy: policy.to_owned(),
            paths,
            seen: vec![],
        })
    }

    /// Records a run. Ignores runs of other policies and runs without series.
    pub fn hear(&mut self, run: &RunResult) {
        if run.policy == self.policy {
            let visit = |(i, (_, _, shows_rate)): (usize, &(String, Option<String>, bool))| {
                visit(run, i, *shows_rate)
            };
            self.seen
                .push((run.seed, self.paths.iter().enumerate().map(visit).collect()));
        }
    }

    /// Writes the history with every run as a visit at `now_s`, s since 1970, in the order of the
    /// seeds. Returns the number of runs.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(mut self, now_s: u32) -> Result<usize> {
        self.seen.sort_by_key(|(seed, _)| *seed);
        for (_, visits) in &self.seen {
            for ((name, network, _), visit) in self.paths.iter().zip(visits) {
                let id = self
                    .history
                    .id(network.as_deref())
                    .expect("it has a salt if a network has a name");
                self.history.book.learn(name, id.as_deref(), now_s, *visit);
            }
        }
        files::write(&self.file, &self.history.book.text())?;
        Ok(self.seen.len())
    }
}

/// Observations of path `i` in a run: the median of its rates while it carried data, if only the
/// path limited them.
fn visit(run: &RunResult, i: usize, shows_rate: bool) -> Visit {
    let path = &run.paths[i];
    let samples = run
        .series
        .iter()
        .filter(|_| shows_rate)
        .filter_map(|series| series.goodput_bps.get(i));
    let mut rates: Vec<f64> = samples
        .flatten()
        .copied()
        .filter(|&rate| rate > 0.0)
        .collect();
    rates.sort_by(f64::total_cmp);
    Visit {
        rate_bps: rates.get(rates.len() / 2).copied(),
        rtt_s: path.mean_rtt_s,
        loss: (path.segments > 0).then_some(path.loss_event_rate),
    }
}

#[cfg(test)]
mod tests {
    use joulepath_model::result::{PathResult, Series};
    use joulepath_model::scenario::{load, load_with};

    use super::*;

    const HOME: &str = "title = \"t\"\nduration = \"10 s\"\n\
        [[path]]\nname = \"wifi\"\nnetwork = \"home\"\nrate = \"9 Mbit/s\"\ndelay = \"5 ms\"\n\
        energy = \"free\"\n\
        [[path]]\nname = \"lte\"\nrate = \"4 Mbit/s\"\ndelay = \"20 ms\"\nenergy = \"free\"\n\
        [workload]\nkind = \"bulk\"\n";

    fn scenario(text: &str) -> Scenario {
        load(text, &|_| Err("no traces".into())).unwrap_or_else(|errors| panic!("{errors}"))
    }

    /// A run on both paths; their goodput at three instants, Mbit/s.
    fn run(policy: &str, seed: u64, mbps: [[f64; 2]; 3]) -> RunResult {
        let path = |name: &str, i: usize| PathResult {
            name: name.to_owned(),
            segments: if mbps[2][i] > 0.0 { 100 } else { 0 },
            mean_rtt_s: (mbps[2][i] > 0.0).then_some(0.03),
            loss_event_rate: 0.01,
            share: 0.5,
            goodput_bps: 1e6,
            energy_j: 1.0,
            retransmissions: 0,
            timeouts: 0,
            mean_cwnd: 10.0,
        };
        let of_path = |i: usize| mbps.iter().map(|rates| 1e6 * rates[i]).collect();
        let series = Series {
            goodput_bps: vec![of_path(0), of_path(1)],
            ..Series::default()
        };
        RunResult {
            policy: policy.to_owned(),
            seed,
            paths: vec![path("wifi", 0), path("lte", 1)],
            series: Some(series),
            ..RunResult::default()
        }
    }

    #[test]
    fn runs_start_with_the_observations_of_earlier_runs() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("history.json");
        let home = scenario(HOME);
        let mut recorder = Recorder::new(&file, &home, "joule").unwrap();
        recorder.hear(&run("joule", 2, [[0.0, 0.0], [8.0, 0.0], [9.0, 0.0]]));
        recorder.hear(&run("mptcp", 1, [[1.0, 1.0]; 3]));
        recorder.hear(&run("joule", 1, [[2.0, 0.0], [0.0, 0.0], [7.0, 0.0]]));
        assert_eq!(recorder.finish(1_000_000).unwrap(), 2);
        let history = read(&file).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(!text.contains("home"), "{text}");
        // Medians 7 and 9 Mbit/s; the second visit has weight one half: √63. LTE was never used.
        let id = history.salt.as_ref().unwrap().id("home");
        let known = history.book.recall("wifi", Some(&id), 1_000_000);
        assert!(
            (known.rate_bps.unwrap().median / 1e6 - 63f64.sqrt()).abs() < 1e-6,
            "{known:?}"
        );
        let (set, unknown) = history.overrides(&home);
        assert_eq!(unknown, ["lte"]);
        let warm = load_with(HOME, &set, &|_| Err("no traces".into())).unwrap();
        assert_eq!(
            warm.paths[0]
                .history
                .rate_bps
                .map(|rate| rate.median.round()),
            Some(7_937_253.0)
        );
        assert!(warm.paths[1].history.is_empty());
        // Another network of the same interface is unknown.
        let train = scenario(&HOME.replace("home", "train"));
        assert_eq!(history.overrides(&train).1.len(), 2);
        // The same network is known from another interface, but not without the salt.
        let other = scenario(&HOME.replace("\"wifi\"", "\"wlan0\""));
        assert_eq!(history.overrides(&other).1, ["lte"]);
        let unsalted = History {
            salt: None,
            ..history
        };
        assert_eq!(unsalted.overrides(&home).1.len(), 2);
        #[cfg(unix)]
        {
            let salt = std::fs::metadata(beside(&file)).unwrap().permissions();
            assert_eq!(
                std::os::unix::fs::PermissionsExt::mode(&salt) & 0o777,
                0o600
            );
        }
    }

    #[test]
    fn a_historys_age_counts_from_its_latest_entry() {
        let mut book = Book::default();
        let rate = |bps| Visit {
            rate_bps: Some(bps),
            ..Visit::default()
        };
        let salt = Salt::new([7; 32]);
        book.learn("wifi", Some(&salt.id("home")), 1_000_000, rate(9e6));
        book.learn("lte", None, 1_000_000 + 86_400, rate(3e6));
        let (set, _) = History {
            book,
            salt: Some(salt),
        }
        .overrides(&scenario(HOME));
        let warm =
            load_with(HOME, &set, &|_| Err("no traces".into())).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!([0, 1].map(|i| warm.paths[i].history.age_days), [1.0, 0.0]);
        assert_eq!(warm.paths[1].history.rate_bps.unwrap().median, 3e6);
    }

    #[test]
    fn files_that_are_not_histories_stay_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("scenario.toml");
        std::fs::write(&file, HOME).unwrap();
        let error = Recorder::new(&file, &scenario(HOME), "joule")
            .err()
            .unwrap()
            .to_string();
        assert!(
            error.contains("cannot read the history") && error.contains("line 1 column"),
            "{error}"
        );
        assert_eq!(std::fs::read_to_string(&file).unwrap(), HOME);
        let missing = read(&folder.path().join("none.toml")).unwrap_err();
        assert!(
            missing.to_string().contains("cannot read the history"),
            "{missing}"
        );
    }
}
