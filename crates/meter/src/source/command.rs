//! Any program that prints watts, one number per line.

use std::io::{ErrorKind, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use joulepath_model::units::Watts;

use crate::error::{Error, Kind, Result};
use crate::meter::{About, Meter, Quality, Reading, Unit, Value};

/// Longest line accepted, bytes.
const LONGEST_LINE: usize = 4096;
/// How long a program may take to exit after closing its output.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Size of a read, bytes.
const CHUNK: usize = 64 << 10;
/// A program that writes more than this between two reads is throttled, bytes.
const FLOOD: usize = 4096;
/// Pause of a throttled read. The full pipe blocks the program meanwhile.
const PAUSE: Duration = Duration::from_millis(10);
/// Descriptions of the measurement, normal and throttled.
const MEASURES: &str = "what the program measures";
const MEASURES_SOME: &str =
    "what the program measures; it prints too fast, so most lines are dropped";

/// A program and its newest lines.
struct Program {
    about: About,
    child: Child,
    output: Arc<Newest>,
    /// Its stderr.
    complaints: Arc<Newest>,
    limit: Duration,
    broken: Option<Error>,
}

/// The newest line of a stream. Older lines are dropped, so memory use is bounded.
#[derive(Default)]
struct Newest {
    state: Mutex<State>,
    news: Condvar,
}

#[derive(Default)]
struct State {
    /// Taken by the reader.
    line: Option<(Instant, Vec<u8>)>,
    /// True if lines came too fast to be used.
    is_flooded: bool,
    has_ended: bool,
}

impl Newest {
    /// Follows a stream in a background thread until it ends.
    fn of(stream: impl Read + Send + 'static) -> Arc<Self> {
        let newest = Arc::new(Newest::default());
        let its = newest.clone();
        thread::spawn(move || {
            its.follow(stream);
            its.state().has_ended = true;
            its.news.notify_all();
        });
        newest
    }

    fn follow(&self, mut stream: impl Read) {
        let (mut chunk, mut begun) = (vec![0; CHUNK], Vec::new());
        loop {
            let read = match stream.read(&mut chunk) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Ok(read) if read > 0 => &chunk[..read],
                _ => break,
            };
            let mut lines = read.rsplitn(3, |byte| *byte == b'\n');
            let rest = lines.next().unwrap_or_default();
            if let Some(last) = lines.next() {
                // Only the first line of a chunk can have begun earlier.
                if lines.next().is_some() {
                    begun.clear();
                }
                extend(&mut begun, last);
                self.put(std::mem::take(&mut begun));
            }
            extend(&mut begun, rest);
            if begun.len() == LONGEST_LINE {
                self.put(std::mem::take(&mut begun));
            }
            if read.len() > FLOOD {
                self.state().is_flooded = true;
                thread::sleep(PAUSE);
            }
        }
        if !begun.is_empty() {
            self.put(begun);
        }
    }

    fn put(&self, line: Vec<u8>) {
        self.state().line = Some((Instant::now(), line));
        self.news.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The newest line not yet taken. Waits for one up to `limit` or the end of the stream.
    fn take(&self, limit: Duration) -> Option<(Instant, Vec<u8>)> {
        let waits = |state: &mut State| state.line.is_none() && !state.has_ended;
        let (mut state, _) = self
            .news
            .wait_timeout_while(self.state(), limit, waits)
            .unwrap_or_else(PoisonError::into_inner);
        state.line.take()
    }
}

/// Appends up to the longest line.
fn extend(line: &mut Vec<u8>, more: &[u8]) {
    line.extend_from_slice(&more[..more.len().min(LONGEST_LINE - line.len())]);
}

/// Starts `command` in a shell. A reading waits at most `limit` for a line.
///
/// # Errors
/// If there is no shell.
pub fn command(command: &str, limit: Duration) -> Result<Box<dyn Meter>> {
    let mut child = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A process group of its own, so that all its processes can be killed.
        .process_group(0)
        .spawn()
        .map_err(|error| Error::io(format!("cannot start `{command}`"), &error))?;
    let output = child.stdout.take().expect("stdout is piped");
    let errors = child.stderr.take().expect("stderr is piped");
    let about = About {
        name: "command".into(),
        place: command.into(),
        measures: MEASURES.into(),
        quality: Quality::Given,
        unit: Unit::Watts,
    };
    let (output, complaints) = (Newest::of(output), Newest::of(errors));
    Ok(Box::new(Program {
        about,
        child,
        output,
        complaints,
        limit,
        broken: None,
    }))
}

impl Program {
    /// The newest line since the last reading. Waits for one if there is none.
    fn newest(&mut self) -> Result<(Instant, Vec<u8>)> {
        if let Some(line) = self.output.take(self.limit) {
            return Ok(line);
        }
        if self.output.state().has_ended {
            return Err(self.ended());
        }
        let message = format!("the meter's program printed nothing for {:?}", self.limit);
        Err(self.with_last_words(message, Duration::ZERO))
    }

    fn ended(&mut self) -> Error {
        let until = Instant::now() + LAST_WORDS;
        let status = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break format!("ended with {status}"),
                Ok(None) if Instant::now() < until => thread::sleep(Duration::from_millis(5)),
                _ => break "closed its output".to_owned(),
            }
        };
        // The last line on stderr may still be on its way.
        self.with_last_words(format!("the meter's program {status}"), LAST_WORDS)
    }

    /// `message` with the program's last line on stderr, which may take up to `wait` to arrive.
    fn with_last_words(&mut self, message: String, wait: Duration) -> Error {
        let last = self
            .complaints
            .take(wait)
            .map(|(_, line)| String::from_utf8_lossy(&line).trim().to_owned());
        let said = last
            .filter(|words| !words.is_empty())
            .map(|words| format!("; last line on stderr: {words}"));
        Error::new(Kind::Failed, message + &said.unwrap_or_default()).help(format!(
            "run `{}` by hand: it should print watts, one number per line",
            self.about.place
        ))
    }
}

/// A number in watts, with or without the unit.
fn watts(line: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(line).ok()?.trim();
    let number = text.strip_suffix('W').unwrap_or(text).trim_end();
    number.parse::<f64>().ok().filter(|watts| watts.is_finite())
}

impl Meter for Program {
    fn about(&self) -> &About {
        &self.about
    }

    fn read(&mut self) -> Result<Reading> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        let read = self.newest().and_then(|(at, line)| match watts(&line) {
            Some(watts) => Ok(Reading {
                at,
                value: Value::Power(Watts(watts)),
            }),
            None => {
                let shown: String = String::from_utf8_lossy(&line)
                    .trim()
                    .chars()
                    .take(60)
                    .collect();
                let message =
                    format!("the meter's program printed `{shown}`, which is not a number");
                Err(self.with_last_words(message, Duration::ZERO))
            }
        });
        if self.output.state().is_flooded {
            self.about.measures = MEASURES_SOME.to_owned();
        }
        // The broken line may be half of a number, so later lines are not trusted either.
        self.broken = read.as_ref().err().cloned();
        read
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let group = self.child.id();
        if let Ok(None) = self.child.try_wait() {
            let group = libc::pid_t::try_from(group).expect("process numbers are small");
            // SAFETY: a plain system call; the child has not been waited for, so its process group
            // still exists.
            unsafe { libc::kill(-group, libc::SIGKILL) };
        }
        let _ = self.child.wait();
    }
}
