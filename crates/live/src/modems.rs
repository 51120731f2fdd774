//! Signal strengths of modems, from ModemManager. A thread asks for all of them; the daemon takes
//! the last readings and never waits.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use joulepath_kernel::Result;
use joulepath_kernel::modem::{Modem, ModemSignal, Modems, system_bus};
use joulepath_model::units::Nanos;

use crate::snapshot::{STALE, Strength, StrengthSource};

/// Time between two measurements of a signal, s, unless ModemManager has been told another one.
const EVERY_S: u32 = 5;
/// Time between two readings of known modems.
const SOON: Duration = Duration::from_secs(EVERY_S as u64);
/// Time between two searches for modems, and between two attempts after a refusal.
const RARELY: Duration = Duration::from_secs(60);
/// A measurement that ModemManager repeats this rarely is never recent.
const TOO_RARE_S: u32 = (STALE.0 / 1_000_000_000) as u32;

/// What the thread needs of ModemManager.
trait Source: Sized {
    fn open(socket: &Path) -> Result<Option<Self>>;
    fn interfaces(&mut self) -> Result<BTreeMap<String, Modem>>;
    fn signal(&mut self, modem: &Modem) -> Result<ModemSignal>;
    fn measure(&mut self, modem: &Modem, every_s: u32) -> Result<()>;
}

impl Source for Modems {
    fn open(socket: &Path) -> Result<Option<Self>> {
        Modems::open(socket)
    }

    fn interfaces(&mut self) -> Result<BTreeMap<String, Modem>> {
        Modems::interfaces(self)
    }

    fn signal(&mut self, modem: &Modem) -> Result<ModemSignal> {
        Modems::signal(self, modem)
    }

    fn measure(&mut self, modem: &Modem, every_s: u32) -> Result<()> {
        Modems::measure(self, modem, every_s)
    }
}

/// The last reading of an interface, and why there is none.
#[derive(Clone, Debug, Default, PartialEq)]
struct Latest {
    /// When it was read, dBm, and the time between two measurements, s.
    last: Option<(Instant, f64, u32)>,
    trouble: Option<String>,
}

/// The thread's state.
struct Asker<S> {
    socket: PathBuf,
    source: Option<S>,
    modems: BTreeMap<String, Modem>,
    /// When modems were searched for, and for which interfaces.
    searched: Option<(Instant, BTreeSet<String>)>,
    /// Modems whose signal is measured because of this process.
    measured: BTreeSet<Modem>,
    /// Modems that are not measured, and since when.
    refused: BTreeMap<Modem, (Instant, String)>,
}

impl<S: Source> Asker<S> {
    fn new(socket: &Path) -> Self {
        Asker {
            socket: socket.to_owned(),
            source: None,
            modems: BTreeMap::new(),
            searched: None,
            measured: BTreeSet::new(),
            refused: BTreeMap::new(),
        }
    }

    /// Reads the signals of all modems among these interfaces. Returns the time until the next
    /// call.
    fn round(
        &mut self,
        wanted: &BTreeSet<String>,
        latest: &mut BTreeMap<String, Latest>,
    ) -> Duration {
        let read = self.read(wanted);
        let failed = read.as_ref().err().map(ToString::to_string);
        let Ok(read) = read else {
            // The connection may be out of order, and modems may have new names.
            (self.source, self.searched) = (None, None);
            for one in latest.values_mut() {
                one.trouble.clone_from(&failed);
            }
            return SOON;
        };
        *latest = read;
        if latest.is_empty() { RARELY } else { SOON }
    }

    fn read(&mut self, wanted: &BTreeSet<String>) -> Result<BTreeMap<String, Latest>> {
        if self.source.is_none() {
            self.source = S::open(&self.socket)?;
        }
        let Some(source) = &mut self.source else {
            return Ok(BTreeMap::new());
        };
        let is_due =
            |(at, names): &(Instant, BTreeSet<String>)| at.elapsed() >= RARELY || names != wanted;
        if self.searched.as_ref().is_none_or(is_due) {
            self.modems = source.interfaces()?;
            self.searched = Some((Instant::now(), wanted.clone()));
        }
        let present: BTreeMap<&String, &Modem> = self
            .modems
            .iter()
            .filter(|(name, _)| wanted.contains(*name))
            .collect();
        let idle = |modem: &&Modem| !present.values().any(|one| one == modem);
        for modem in self
            .measured
            .iter()
            .filter(idle)
            .cloned()
            .collect::<Vec<_>>()
        {
            self.measured.remove(&modem);
            restore(source, &modem);
        }
        let mut found = BTreeMap::new();
        for (name, modem) in present {
            let signal = source.signal(modem)?;
            let is_due = self
                .refused
                .get(modem)
                .is_none_or(|(at, _)| at.elapsed() >= RARELY);
            if signal.every_s > 0 {
                self.refused.remove(modem);
            } else if is_due {
                match source.measure(modem, EVERY_S) {
                    Ok(()) => drop(self.measured.insert(modem.clone())),
                    Err(error) => drop(
                        self.refused
                            .insert(modem.clone(), (Instant::now(), error.to_string())),
                    ),
                }
            }
            let trouble = match self.refused.get(modem) {
                Some((_, why)) => Some(why.clone()),
                None if signal.every_s >= TOO_RARE_S => Some(format!(
                    "ModemManager measures it every {} s only; `mmcli -m any --signal-setup={EVERY_S}` \
                     makes that {EVERY_S} s",
                    signal.every_s
                )),
                None => None,
            };
            let last = signal.dbm.map(|dbm| (Instant::now(), dbm, signal.every_s));
            found.insert(name.clone(), Latest { last, trouble });
        }
        Ok(found)
    }

    /// Ends the measurements of this process.
    fn end(mut self) {
        if let Some(source) = &mut self.source {
            self.measured
                .iter()
                .for_each(|modem| restore(source, modem));
        }
    }
}

/// Ends a measurement, unless another program has chosen another time since. A modem that is gone
/// needs no end.
fn restore(source: &mut impl Source, modem: &Modem) {
    if source
        .signal(modem)
        .is_ok_and(|signal| signal.every_s == EVERY_S)
    {
        let _ = source.measure(modem, 0);
    }
}

/// The signals of modems among the interfaces that the daemon names.
#[derive(Debug)]
pub(crate) struct Followed {
    latest: Arc<Mutex<BTreeMap<String, Latest>>>,
    wanted: BTreeSet<String>,
    /// Dropped to end the thread.
    tell: Option<Sender<BTreeSet<String>>>,
    thread: Option<JoinHandle<()>>,
}

impl Followed {
    /// Of the machine's ModemManager.
    pub(crate) fn start() -> Self {
        Self::start_with(Asker::<Modems>::new(&system_bus()))
    }

    fn start_with<S: Source + Send + 'static>(mut asker: Asker<S>) -> Self {
        let latest = Arc::new(Mutex::new(BTreeMap::new()));
        let (tell, told) = mpsc::channel::<BTreeSet<String>>();
        let shared = latest.clone();
        let thread = thread::spawn(move || {
            let (mut wanted, mut known) = (BTreeSet::new(), BTreeMap::new());
            let mut wait = RARELY;
            loop {
                match told.recv_timeout(wait) {
                    Ok(names) => wanted = names,
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return asker.end(),
                }
                wait = asker.round(&wanted, &mut known);
                *shared.lock().unwrap_or_else(PoisonError::into_inner) = known.clone();
            }
        });
        Followed {
            latest,
            wanted: BTreeSet::new(),
            tell: Some(tell),
            thread: Some(thread),
        }
    }

    /// Sets the interfaces whose signals are wanted.
    pub(crate) fn want(&mut self, names: BTreeSet<String>) {
        if names != self.wanted {
            self.wanted = names;
            // The thread ends only after this value.
            let _ = self
                .tell
                .as_ref()
                .map(|tell| tell.send(self.wanted.clone()));
        }
    }

    fn known(&self) -> BTreeMap<String, Latest> {
        self.latest
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The reading of an interface. Its age is the longest that the measurement can be ago.
    pub(crate) fn strength(&self, name: &str) -> Option<Strength> {
        let (at, dbm, every_s) = self.known().get(name)?.last?;
        let age = Nanos::from_secs_f64(at.elapsed().as_secs_f64() + f64::from(every_s));
        let strength = Strength {
            dbm,
            age,
            source: StrengthSource::ModemManager,
        };
        (age < STALE).then_some(strength)
    }

    /// Modems without a reading, as warnings.
    pub(crate) fn troubles(&self) -> Vec<String> {
        let trouble = |(name, latest): (String, Latest)| {
            latest
                .trouble
                .map(|why| format!("{name}: no signal from ModemManager: {why}"))
        };
        self.known().into_iter().filter_map(trouble).collect()
    }
}

impl Drop for Followed {
    fn drop(&mut self) {
        self.tell = None;
        if let Some(thread) = self.thread.take() {
            // A panic of that thread is its own message.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use joulepath_kernel::Error;

    use super::*;

    /// A ModemManager with one modem, wwan0.
    #[derive(Debug)]
    struct State {
        dbm: f64,
        every_s: u32,
        refuses: bool,
        is_present: bool,
        searches: usize,
    }

    struct Fake;

    static STATE: Mutex<State> = Mutex::new(State {
        dbm: -100.0,
        every_s: 0,
        refuses: false,
        is_present: true,
        searches: 0,
    });
    /// Tests with [`STATE`] take turns.
    static TURN: Mutex<()> = Mutex::new(());

    fn state() -> std::sync::MutexGuard<'static, State> {
        STATE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failure(why: &str) -> Error {
        Error::io("asking", std::io::Error::other(why.to_owned()))
    }

    impl Source for Fake {
        fn open(_: &Path) -> Result<Option<Self>> {
            Ok(Some(Fake))
        }

        fn interfaces(&mut self) -> Result<BTreeMap<String, Modem>> {
            state().searches += 1;
            let found = state()
                .is_present
                .then(|| ("wwan0".to_owned(), Modem("/Modem/0".into())));
            Ok(found.into_iter().collect())
        }

        fn signal(&mut self, _: &Modem) -> Result<ModemSignal> {
            let state = state();
            let dbm = Some(state.dbm).filter(|_| state.every_s > 0);
            if state.is_present {
                Ok(ModemSignal {
                    dbm,
                    every_s: state.every_s,
                })
            } else {
                Err(failure("gone"))
            }
        }

        fn measure(&mut self, _: &Modem, every_s: u32) -> Result<()> {
            let mut state = state();
            if state.refuses {
                return Err(failure("Core.Unauthorized"));
            }
            state.every_s = every_s;
            Ok(())
        }
    }

    fn names(all: &[&str]) -> BTreeSet<String> {
        all.iter().map(|name| (*name).to_owned()).collect()
    }

    /// Runs rounds on a ModemManager in this state.
    fn with<T>(begin: State, test: impl FnOnce(&mut Asker<Fake>) -> T) -> T {
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        *state() = begin;
        test(&mut Asker::new(Path::new("/nowhere")))
    }

    fn present(every_s: u32, refuses: bool) -> State {
        State {
            dbm: -100.0,
            every_s,
            refuses,
            is_present: true,
            searches: 0,
        }
    }

    fn dbm(latest: &BTreeMap<String, Latest>) -> Option<f64> {
        latest.get("wwan0")?.last.map(|(_, dbm, _)| dbm)
    }

    #[test]
    fn a_modem_is_measured_while_it_is_wanted_and_as_before_afterwards() {
        with(present(0, false), |asker| {
            let mut latest = BTreeMap::new();
            assert_eq!(asker.round(&names(&["eth0", "wwan0"]), &mut latest), SOON);
            assert_eq!((dbm(&latest), state().every_s), (None, EVERY_S));
            asker.round(&names(&["eth0", "wwan0"]), &mut latest);
            assert_eq!((dbm(&latest), state().searches), (Some(-100.0), 1));
            // Not wanted any more: nothing is measured, and the next search is far.
            assert_eq!(asker.round(&names(&["eth0"]), &mut latest), RARELY);
            assert_eq!((dbm(&latest), state().every_s), (None, 0));
        });
    }

    #[test]
    fn what_another_program_has_set_stays() {
        with(present(10, false), |asker| {
            let mut latest = BTreeMap::new();
            asker.round(&names(&["wwan0"]), &mut latest);
            assert_eq!(dbm(&latest), Some(-100.0));
            asker.round(&names(&[]), &mut latest);
            assert_eq!(state().every_s, 10);
        });
        with(present(0, false), |asker| {
            asker.round(&names(&["wwan0"]), &mut BTreeMap::new());
            state().every_s = 2;
            asker.round(&names(&[]), &mut BTreeMap::new());
            assert_eq!(state().every_s, 2);
        });
    }

    #[test]
    fn a_refusal_and_a_rare_measurement_are_troubles() {
        with(present(0, true), |asker| {
            let mut latest = BTreeMap::new();
            asker.round(&names(&["wwan0"]), &mut latest);
            let said = latest["wwan0"].trouble.clone().unwrap();
            assert!(said.contains("Core.Unauthorized"), "{said}");
            // It is not asked again at once, and the trouble ends when somebody else sets it.
            state().refuses = false;
            asker.round(&names(&["wwan0"]), &mut latest);
            assert_eq!(
                (state().every_s, latest["wwan0"].trouble.is_some()),
                (0, true)
            );
            state().every_s = 5;
            asker.round(&names(&["wwan0"]), &mut latest);
            assert_eq!(
                (dbm(&latest), latest["wwan0"].trouble.clone()),
                (Some(-100.0), None)
            );
        });
        with(present(60, false), |asker| {
            let mut latest = BTreeMap::new();
            asker.round(&names(&["wwan0"]), &mut latest);
            assert!(
                latest["wwan0"]
                    .trouble
                    .as_ref()
                    .unwrap()
                    .contains("every 60 s only")
            );
        });
    }

    #[test]
    fn a_modem_that_vanishes_and_returns_is_found_again() {
        with(present(5, false), |asker| {
            let mut latest = BTreeMap::new();
            asker.round(&names(&["wwan0"]), &mut latest);
            state().is_present = false;
            assert_eq!(asker.round(&names(&["wwan0"]), &mut latest), SOON);
            assert!(latest["wwan0"].trouble.as_ref().unwrap().contains("gone"));
            assert_eq!(asker.round(&names(&["wwan0"]), &mut latest), RARELY);
            assert_eq!(latest, BTreeMap::new());
            state().is_present = true;
            asker.searched = None;
            asker.round(&names(&["wwan0"]), &mut latest);
            assert_eq!(dbm(&latest), Some(-100.0));
        });
    }

    #[test]
    fn a_reading_is_as_old_as_its_measurement_can_be_and_the_end_ends_it() {
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        *state() = present(0, false);
        let mut followed = Followed::start_with(Asker::<Fake>::new(Path::new("/nowhere")));
        let until = Instant::now() + Duration::from_secs(20);
        // Each new list of interfaces is a round at once.
        let mut number = 0;
        while followed.strength("wwan0").is_none() {
            assert!(Instant::now() < until, "{:?}", state());
            number += 1;
            followed.want(names(&["wwan0", &format!("eth{number}")]));
            thread::sleep(Duration::from_millis(10));
        }
        let strength = followed.strength("wwan0").unwrap();
        assert_eq!(
            (strength.dbm, strength.source),
            (-100.0, StrengthSource::ModemManager)
        );
        assert!(
            strength.age >= Nanos::from_secs(5) && strength.age < Nanos::from_secs(30),
            "{strength:?}"
        );
        assert_eq!(
            (followed.strength("eth1"), followed.troubles()),
            (None, vec![])
        );
        drop(followed);
        assert_eq!(state().every_s, 0);
    }
}
