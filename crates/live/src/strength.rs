//! Signal strengths from commands of the configuration, and of modems. A thread for each command
//! runs it again and again; the daemon takes the last reading and never waits.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use joulepath_model::live::LiveConfig;
use joulepath_model::scenario::BORNE_DB;
use joulepath_model::units::Nanos;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::modems::Followed;
use crate::snapshot::{Interface, STALE, Strength, StrengthSource};

/// Time from the end of a command to its next start.
const EVERY: Duration = Duration::from_secs(5);
/// Longest time that a command may take.
const LIMIT: Duration = Duration::from_secs(3);
/// Most bytes that a command may print.
const MOST_BYTES: usize = 4096;
/// Time that the processes of a killed command may take to go.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// Values of a signal, dBm. Above them is no antenna's: 0 is what a tool prints that does not know.
const RANGE: std::ops::RangeInclusive<f64> = -160.0..=-1.0;

/// The last reading of a command, and why the last run gave none.
#[derive(Debug, Default)]
struct Latest {
    last: Option<(Instant, f64)>,
    trouble: Option<String>,
}

/// A command that runs again and again.
#[derive(Debug)]
struct Asked {
    command: String,
    reading: Arc<Mutex<Latest>>,
    /// Dropped to end the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Asked {
    fn start(command: &str, every: Duration, limit: Duration) -> Self {
        let reading = Arc::new(Mutex::new(Latest::default()));
        let (stop, stopped) = mpsc::channel::<()>();
        let (its, text) = (reading.clone(), command.to_owned());
        let thread = thread::spawn(move || {
            loop {
                let until = Instant::now() + limit;
                let is_stopped =
                    || matches!(stopped.try_recv(), Err(mpsc::TryRecvError::Disconnected));
                let ran = run(&text, until, &is_stopped);
                let mut reading = its.lock().unwrap_or_else(PoisonError::into_inner);
                let broken = matches!(ran, Err(Failure::Lingers));
                match ran {
                    Ok(dbm) => {
                        *reading = Latest {
                            last: Some((Instant::now(), dbm)),
                            trouble: None,
                        }
                    }
                    Err(failure) => reading.trouble = Some(failure.to_string()),
                }
                drop(reading);
                // Processes that escape their group would pile up.
                if broken || stopped.recv_timeout(every) == Err(RecvTimeoutError::Disconnected) {
                    return;
                }
            }
        });
        Asked {
            command: command.to_owned(),
            reading,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// The last reading, if it is not too old, and the trouble.
    fn now(&self) -> (Option<Strength>, Option<String>) {
        let reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let strength = reading.last.map(|(at, dbm)| {
            let age = Nanos::from_secs_f64(at.elapsed().as_secs_f64());
            Strength {
                dbm,
                age,
                source: StrengthSource::Command,
            }
        });
        (
            strength.filter(|one| one.age < STALE),
            reading.trouble.clone(),
        )
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A panic of that thread is its own message.
            let _ = thread.join();
        }
    }
}

/// Why a command gave no reading.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("it cannot be started: {0}")]
    NotStarted(std::io::Error),
    #[error("it took longer than {} s", LIMIT.as_secs())]
    Late,
    #[error("it took longer than {} s, and its processes cannot be ended; it runs no more", LIMIT.as_secs())]
    Lingers,
    #[error("it printed more than {MOST_BYTES} bytes")]
    Long,
    #[error("it failed with {0}")]
    Failed(std::process::ExitStatus),
    #[error("its output does not begin with a signal, a number from -160 to -1 (dBm)")]
    NoNumber,
}

/// Runs a command once, at most 3 s, and reads the number that it prints, dBm.
///
/// # Errors
/// Why it gave no reading.
pub fn read(command: &str) -> Result<f64, String> {
    run(command, Instant::now() + LIMIT, &|| false).map_err(|failure| failure.to_string())
}

/// Runs a command until `until`, and reads its number.
fn run(command: &str, until: Instant, is_stopped: &dyn Fn() -> bool) -> Result<f64, Failure> {
    let mut child = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        // A process group of its own, so that all its processes can be killed.
        .process_group(0)
        .spawn()
        .map_err(Failure::NotStarted)?;
    let stdout = child.stdout.take().expect("stdout is piped");
    let (send, output) = mpsc::channel();
    thread::spawn(move || {
        let mut text = vec![];
        // What was read before an error counts as the output.
        let _ = stdout.take(MOST_BYTES as u64 + 1).read_to_end(&mut text);
        let _ = send.send(text);
    });
    let tick = Duration::from_millis(20);
    let text = loop {
        match output.recv_timeout(tick) {
            Ok(text) => break text,
            Err(_) if Instant::now() < until && !is_stopped() => {}
            Err(_) => {
                kill(&mut child);
                let ended = output.recv_timeout(LAST_WORDS).is_ok();
                return Err(if ended {
                    Failure::Late
                } else {
                    Failure::Lingers
                });
            }
        }
    };
    if text.len() > MOST_BYTES {
        kill(&mut child);
        return Err(Failure::Long);
    }
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < until && !is_stopped() => thread::sleep(tick),
            _ => {
                kill(&mut child);
                return Err(Failure::Late);
            }
        }
    };
    if !status.success() {
        return Err(Failure::Failed(status));
    }
    number(&String::from_utf8_lossy(&text)).ok_or(Failure::NoNumber)
}

fn kill(child: &mut Child) {
    if let Ok(Some(group)) = i32::try_from(child.id()).map(Pid::from_raw) {
        // It may have ended by itself.
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
}

/// The first word, as dBm.
fn number(text: &str) -> Option<f64> {
    let word = text.split_whitespace().next()?;
    let word = word.strip_suffix("dBm").unwrap_or(word);
    word.parse::<f64>().ok().filter(|dbm| RANGE.contains(dbm))
}

/// All commands, by interface, and the modems.
#[derive(Debug, Default)]
pub(crate) struct Strengths {
    asked: BTreeMap<String, Asked>,
    /// `None` while no interface can be a modem's.
    modems: Option<Followed>,
}

impl Strengths {
    /// Fills in the strengths of interfaces with a command, and of modems. Starts and ends commands
    /// as the configuration and the interfaces come and go.
    pub(crate) fn take(&mut self, config: &LiveConfig, interfaces: &mut [Interface]) {
        let command = |name: &str| {
            config
                .interface(name)
                .and_then(|known| known.strength.as_deref())
        };
        let is_present = |name: &str| interfaces.iter().any(|one| one.name == *name);
        self.asked.retain(|name, asked| {
            is_present(name) && command(name) == Some(asked.command.as_str())
        });
        // ModemManager names the interfaces that are modems.
        let may_be_modem =
            |one: &&Interface| one.usable && one.strength.is_none() && command(&one.name).is_none();
        let wanted: BTreeSet<String> = interfaces
            .iter()
            .filter(may_be_modem)
            .map(|one| one.name.clone())
            .collect();
        if !wanted.is_empty() || self.modems.is_some() {
            let modems = self.modems.get_or_insert_with(Followed::start);
            for interface in interfaces
                .iter_mut()
                .filter(|one| wanted.contains(&one.name))
            {
                interface.strength = modems.strength(&interface.name);
            }
            modems.want(wanted);
        }
        for interface in interfaces {
            let Some(command) = command(&interface.name) else {
                continue;
            };
            let start = || Asked::start(command, EVERY, LIMIT);
            let asked = self
                .asked
                .entry(interface.name.clone())
                .or_insert_with(start);
            interface.strength = asked.now().0;
        }
    }

    /// Commands without a reading, as warnings.
    pub(crate) fn troubles(&self) -> Vec<String> {
        let trouble = |(name, asked): (&String, &Asked)| {
            let why = asked.now().1?;
            Some(format!("{name}: `signal_strength` gives no reading: {why}"))
        };
        let commands = self.asked.iter().filter_map(trouble);
        commands
            .chain(self.modems.iter().flat_map(Followed::troubles))
            .collect()
    }
}

/// Warnings about calibrated profiles that are used at a signal further from those of the
/// calibration than a calibration itself may spread.
pub(crate) fn outside(config: &LiveConfig, interfaces: &[Interface]) -> Vec<String> {
    let warning = |one: &Interface| {
        let [low, high] = config.interface(&one.name)?.measured_at?;
        let dbm = one.strength?.dbm;
        let is_far = dbm < low.0 - BORNE_DB || dbm > high.0 + BORNE_DB;
        is_far.then(|| {
            format!(
                "{}: the profile was calibrated at {:.0} to {:.0} dBm, and the signal is over \
                 {BORNE_DB:.1} dB outside: its joules may be off by over 15 %. Run `joulepath calibrate` at \
                 this signal, or use a profile by signal",
                one.name, low.0, high.0
            )
        })
    };
    interfaces.iter().filter_map(warning).collect()
}

#[cfg(test)]
mod tests {
    use joulepath_model::scenario::read_live;
    use joulepath_model::units::Dbm;

    use super::*;
    use crate::samples::seen;

    /// A result within `limit_ms`.
    fn ran(command: &str, limit_ms: u64) -> Result<f64, String> {
        let until = Instant::now() + Duration::from_millis(limit_ms);
        run(command, until, &|| false).map_err(|failure| failure.to_string())
    }

    #[test]
    fn the_first_word_of_a_command_is_its_reading() {
        assert_eq!(ran("echo -95.5", 5000), Ok(-95.5));
        assert_eq!(ran("printf ' -101dBm (RSRP)\\nmore'", 5000), Ok(-101.0));
        for text in ["", "--", "n/a -95", "-200", "0", "-0.5", "3", "NaN", "-inf"] {
            let said = ran(&format!("printf '%s' '{text}'"), 5000).unwrap_err();
            assert!(said.contains("-160 to -1"), "{text}: {said}");
        }
        assert!(
            ran("echo -95; exit 3", 5000)
                .unwrap_err()
                .contains("exit status: 3")
        );
    }

    #[test]
    fn a_command_that_hangs_or_floods_is_killed() {
        let begun = Instant::now();
        assert!(ran("sleep 60", 100).unwrap_err().contains("longer"));
        // The shell waits for its child, which keeps the pipe open.
        assert!(
            ran("echo -95; sleep 60", 100)
                .unwrap_err()
                .contains("longer")
        );
        assert!(
            ran("exec >&-; sleep 60", 100)
                .unwrap_err()
                .contains("longer")
        );
        assert!(ran("yes dBm", 20_000).unwrap_err().contains("4096 bytes"));
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "{:?}",
            begun.elapsed()
        );
    }

    #[test]
    fn readings_follow_the_command_and_end_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("dbm");
        std::fs::write(&file, "-90\n").unwrap();
        let every = Duration::from_millis(10);
        let asked = Asked::start(
            &format!("cat {}", file.display()),
            every,
            Duration::from_secs(5),
        );
        let wait_for = |what: &dyn Fn() -> bool| {
            let until = Instant::now() + Duration::from_secs(20);
            while !what() {
                assert!(Instant::now() < until, "{:?}", asked.now());
                thread::sleep(every);
            }
        };
        let dbm = || asked.now().0.map(|one| one.dbm);
        wait_for(&|| dbm() == Some(-90.0));
        std::fs::write(&file, "-104\n").unwrap();
        wait_for(&|| dbm() == Some(-104.0));
        // A failure keeps the last reading, which grows old, and is reported.
        std::fs::remove_file(&file).unwrap();
        wait_for(&|| asked.now().1.is_some());
        let age = || asked.now().0.unwrap().age;
        let before = age();
        wait_for(&|| age() > before);
        drop(asked);
    }

    #[test]
    fn a_calibrated_profile_far_from_its_signals_is_a_warning() {
        let text = "intent = \"frugal\"\n[[interface]]\nname = \"wlan0\"\n";
        let mut config = read_live(text).unwrap_or_else(|errors| panic!("{errors}"));
        config.interfaces[0].measured_at = Some([Dbm(-62.0), Dbm(-58.0)]);
        let said = |dbm: Option<f64>, name: &str| {
            let mut one = seen(2, name);
            one.strength = dbm.map(|dbm| Strength {
                dbm,
                age: Nanos::ZERO,
                source: StrengthSource::Nl80211,
            });
            outside(&config, &[one])
        };
        // 15 % of the power at 2.2 % per dB are 6.9 dB.
        for near in [Some(-68.8), Some(-51.2), None] {
            assert_eq!(said(near, "wlan0"), Vec::<String>::new());
        }
        for far in [-69.0, -51.0] {
            let said = said(Some(far), "wlan0");
            assert!(
                said[0].starts_with("wlan0: the profile was calibrated at -62 to -58 dBm"),
                "{said:?}"
            );
            assert!(said[0].contains("over 6.9 dB"), "{said:?}");
        }
        assert_eq!(said(Some(-90.0), "eth0"), Vec::<String>::new());
    }

    #[test]
    fn only_interfaces_with_a_command_are_asked_as_long_as_they_exist() {
        let text = "intent = \"frugal\"\n[[interface]]\nname = \"wwan0\"\n\
                    signal_strength = { command = \"echo -95\" }\n";
        let config = read_live(text).unwrap_or_else(|errors| panic!("{errors}"));
        let mut strengths = Strengths::default();
        let mut all = [seen(2, "wlan0"), seen(3, "wwan0")];
        let until = Instant::now() + Duration::from_secs(20);
        while all[1].strength.is_none() {
            assert!(Instant::now() < until);
            strengths.take(&config, &mut all);
            thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(
            (all[0].strength, all[1].strength.unwrap().dbm),
            (None, -95.0)
        );
        assert_eq!(strengths.troubles(), Vec::<String>::new());
        strengths.take(&config, &mut all[..1]);
        assert!(strengths.asked.is_empty());
    }
}
