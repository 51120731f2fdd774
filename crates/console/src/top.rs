//! `joulepath top`: how the daemon stands, on a screen that updates, and keys to command it.
//!
//! ```text
//!   keys ──► state ──► Wish ──► asker ──► daemon      the asker has a thread of its own: a daemon that
//!              ▲                  │                   hangs does not keep keys from working
//!              └───── Answer ─────┘
//!   (state, size, now) ──► draw ──► screen
//! ```
//! Keys are read in a thread of their own, too: crossterm's `read` and `poll` return neither when the
//! terminal has gone nor in the middle of an escape sequence, and signals must end the program in any case.

mod asker;
mod columns;
mod draw;
mod keys;
#[cfg(test)]
pub(crate) mod samples;
mod screen;
mod state;

use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::time::{Duration, Instant};

use joulepath_live::Request;
use ratatui::crossterm::event::Event;
use signal_hook::consts::SIGHUP;

use self::asker::Answer;
use self::keys::Keys;
use self::screen::{Screen, Signals};
use self::state::{State, Wish};

/// Longest wait for a key before answers and signals are looked at.
const TICK: Duration = Duration::from_millis(100);
/// The screen is drawn at least this often: ages grow.
const REDRAWN: Duration = Duration::from_secs(1);

/// Shows the daemon behind a control socket until the user has seen enough. Returns the signal that ended it,
/// if one did (SIGHUP also stands for a terminal that has gone): the terminal is as it was before, and the
/// caller may end by it.
///
/// # Errors
/// If the terminal cannot be used.
pub fn watch(socket: &Path, color: bool) -> io::Result<Option<i32>> {
    let mut signals = Signals::caught()?;
    let (requests, answers) = asker::start(socket.to_path_buf());
    let mut state = State::new(socket.display().to_string(), color);
    let mut screen = Screen::enter()?;
    let keys = Keys::read()?;
    match until_end(&mut screen, &mut state, (&requests, &answers), &mut signals, &keys) {
        // What could not be drawn was for nobody.
        Err(_) if keys.have_ended() => Ok(Some(SIGHUP)),
        ended => ended,
    }
}

/// Until a key or a signal ends it; the signal, if it was one.
fn until_end(
    screen: &mut Screen,
    state: &mut State,
    (requests, answers): (&Sender<Request>, &Receiver<Answer>),
    signals: &mut Signals,
    keys: &Keys,
) -> io::Result<Option<i32>> {
    let begun = Instant::now();
    let mut drawn: Option<Instant> = None;
    loop {
        let mut has_changed = drawn.is_none_or(|at| at.elapsed() >= REDRAWN);
        loop {
            match answers.try_recv() {
                Ok(answer) => state.on_answer(answer, begun.elapsed()),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return Err(asker_ended()),
            }
            has_changed = true;
        }
        if let Some(signal) = signals.that_ends() {
            return Ok(Some(signal));
        }
        if keys.have_ended() {
            return Ok(Some(SIGHUP));
        }
        if signals.that_suspends() {
            screen.suspend()?;
            has_changed = true;
        }
        if has_changed {
            screen.draw(state, begun.elapsed())?;
            drawn = Some(Instant::now());
        }
        let event = match keys.events.recv_timeout(TICK) {
            Err(RecvTimeoutError::Timeout) => continue,
            // Its reason was the last thing that it sent.
            Err(RecvTimeoutError::Disconnected) => return Ok(Some(SIGHUP)),
            Ok(event) => event?,
        };
        drawn = None;
        let Event::Key(key) = event else { continue };
        match state.on_key(key, begun.elapsed()) {
            None => {}
            Some(Wish::Ask(request)) => requests.send(request).map_err(|_| asker_ended())?,
            Some(Wish::Redraw) => screen.clear()?,
            Some(Wish::Suspend) => screen.suspend()?,
            Some(Wish::Quit) => return Ok(None),
        }
    }
}

fn asker_ended() -> io::Error {
    io::Error::other("the thread that asks the daemon has ended")
}
