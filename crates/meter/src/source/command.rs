//! Any program that prints watts, a number a line.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

use joulepath_model::units::Watts;

use crate::error::{Error, Kind, Result};
use crate::meter::{About, Meter, Quality, Reading, Unit, Value};

/// Longest line that is taken for a number, bytes.
const LONGEST_LINE: u64 = 4096;
/// How long a program that closed its output may take to end.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// A program and its lines.
struct Program {
    about: About,
    child: Child,
    lines: Receiver<(Instant, Vec<u8>)>,
    /// The last line that it wrote to stderr.
    complaints: Receiver<String>,
    complaint: Option<String>,
    limit: Duration,
    broken: Option<Error>,
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
    let (sender, lines) = channel();
    thread::spawn(move || {
        let mut output = BufReader::new(output);
        while let Some(line) = next_line(&mut output) {
            if sender.send((Instant::now(), line)).is_err() {
                return;
            }
        }
    });
    let (sender, complaints) = channel();
    thread::spawn(move || {
        let mut errors = BufReader::new(errors);
        while let Some(line) = next_line(&mut errors) {
            let text = String::from_utf8_lossy(&line).trim().to_owned();
            if !text.is_empty() && sender.send(text).is_err() {
                return;
            }
        }
    });
    let about = About {
        name: "command".into(),
        place: command.into(),
        measures: "what the program measures".into(),
        quality: Quality::Given,
        unit: Unit::Watts,
    };
    Ok(Box::new(Program { about, child, lines, complaints, complaint: None, limit, broken: None }))
}

/// The next line, cut at [`LONGEST_LINE`]; none at the end.
fn next_line(from: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    match from.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(line),
    }
}

impl Program {
    /// The newest line; waits for one if there is none since the last reading.
    fn newest(&mut self) -> Result<(Instant, Vec<u8>)> {
        let mut newest = match self.lines.recv_timeout(self.limit) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => {
                let message = format!("the meter's program printed nothing for {:?}", self.limit);
                return Err(self.with_last_words(message));
            }
            Err(RecvTimeoutError::Disconnected) => return Err(self.ended()),
        };
        loop {
            match self.lines.try_recv() {
                Ok(line) => newest = line,
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => return Ok(newest),
            }
        }
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
        if let Ok(last) = self.complaints.recv_timeout(LAST_WORDS) {
            self.complaint = Some(last);
        }
        self.with_last_words(format!("the meter's program {status}"))
    }

    fn with_last_words(&mut self, message: String) -> Error {
        while let Ok(complaint) = self.complaints.try_recv() {
            self.complaint = Some(complaint);
        }
        let said = self.complaint.as_ref().map(|words| format!("; its last words: {words}"));
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
                Err(self
                    .with_last_words(format!("the meter's program printed `{shown}`, which is no number")))
            }
        });
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
