//! Any program that prints watts, a number a line.

use std::io::{ErrorKind, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use joulepath_model::units::Watts;

use crate::error::{Error, Kind, Result};
use crate::meter::{About, Meter, Quality, Reading, Unit, Value};

/// Longest line that is taken for a number, bytes.
const LONGEST_LINE: usize = 4096;
/// How long a program that closed its output may take to end.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// How much is read at once, bytes.
const CHUNK: usize = 64 << 10;
/// A program that has written so much since the last look, in bytes, writes faster than anybody measures.
const FLOOD: usize = 4096;
/// It is then read after this time again, and waits meanwhile: its pipe is full.
const PAUSE: Duration = Duration::from_millis(10);
/// What is measured, and what becomes of a flood.
const MEASURES: &str = "what the program measures";
const MEASURES_SOME: &str =
    "what the program measures; it prints faster than is of use, most lines are dropped";

/// A program and its newest lines.
struct Program {
    about: About,
    child: Child,
    output: Arc<Newest>,
    /// What it writes to stderr.
    complaints: Arc<Newest>,
    limit: Duration,
    broken: Option<Error>,
}

/// The newest line of a stream. Older ones are dropped, so that a stream takes no more memory the longer it
/// is.
#[derive(Default)]
struct Newest {
    state: Mutex<State>,
    news: Condvar,
}

#[derive(Default)]
struct State {
    /// Taken by the reader.
    line: Option<(Instant, Vec<u8>)>,
    /// Lines came faster than they could be of use.
    is_flooded: bool,
    has_ended: bool,
}

impl Newest {
    /// Follows a stream, in a thread of its own, until it ends.
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
                // Only the first line of a chunk may have begun before it.
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

    /// The newest line that was not taken; waits for one until `limit` has passed or the stream has ended.
    fn take(&self, limit: Duration) -> Option<(Instant, Vec<u8>)> {
        let waits = |state: &mut State| state.line.is_none() && !state.has_ended;
        let (mut state, _) =
            self.news.wait_timeout_while(self.state(), limit, waits).unwrap_or_else(PoisonError::into_inner);
        state.line.take()
    }
}

/// Appends as much as a line may have.
fn extend(line: &mut Vec<u8>, more: &[u8]) {
    line.extend_from_slice(&more[..more.len().min(LONGEST_LINE - line.len())]);
}

/// Starts `command` through the shell. A reading waits at most `limit` for a line.
///
/// # Errors
/// If there is no shell.
pub fn command(command: &str, limit: Duration) -> Result<Box<dyn Meter>> {
    let mut child = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A group of its own, so that what the shell starts ends with it.
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
    Ok(Box::new(Program { about, child, output, complaints, limit, broken: None }))
}

impl Program {
    /// The newest line; waits for one if there is none since the last reading.
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
        // Its last complaint may still be on the way.
        self.with_last_words(format!("the meter's program {status}"), LAST_WORDS)
    }

    /// `message` with what the program said last to stderr, which may come within `wait`.
    fn with_last_words(&mut self, message: String, wait: Duration) -> Error {
        let last =
            self.complaints.take(wait).map(|(_, line)| String::from_utf8_lossy(&line).trim().to_owned());
        let said = last.filter(|words| !words.is_empty()).map(|words| format!("; its last words: {words}"));
        Error::new(Kind::Failed, message + &said.unwrap_or_default())
            .help(format!("run `{}` by hand: it should print watts, one number a line", self.about.place))
    }
}

/// Watts: a number, and perhaps its unit.
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
            Some(watts) => Ok(Reading { at, value: Value::Power(Watts(watts)) }),
            None => {
                let shown: String = String::from_utf8_lossy(&line).trim().chars().take(60).collect();
                let message = format!("the meter's program printed `{shown}`, which is no number");
                Err(self.with_last_words(message, Duration::ZERO))
            }
        });
        if self.output.state().is_flooded {
            self.about.measures = MEASURES_SOME.to_owned();
        }
        // What is not a number once may be half of one later: such a program is not trusted again.
        self.broken = read.as_ref().err().cloned();
        read
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let group = self.child.id();
        if let Ok(None) = self.child.try_wait() {
            let group = libc::pid_t::try_from(group).expect("process numbers are small");
            // SAFETY: a plain system call; the child has not been waited for, so the group is still its own.
            unsafe { libc::kill(-group, libc::SIGKILL) };
        }
        let _ = self.child.wait();
    }
}
