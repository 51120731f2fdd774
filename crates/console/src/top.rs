//! `joulepath top`: the daemon's state on a live screen, with keys for commands.
//!
//! ```text
//!   keys ──► state ──► Wish ──► asker ──► daemon      the asker has its own thread, so that keys work
//!              ▲                  │                   even if the daemon hangs
//!              └───── Answer ─────┘
//!   (state, size, now) ──► draw ──► screen
//! ```
//! Keys have their own thread, too: crossterm's `read` and `poll` do not return when the terminal
//! is gone or in the middle of an escape sequence, but signals must always end the program.

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

/// Longest wait for a key before answers and signals are checked.
const TICK: Duration = Duration::from_millis(100);
/// The screen is redrawn at least this often, because it shows ages.
const REDRAWN: Duration = Duration::from_secs(1);

/// Shows the daemon at a control socket until the user quits. Returns the signal that ended it, if
/// any; SIGHUP also stands for a closed terminal. The terminal is restored, so the caller may end
/// by that signal.
///
/// # Errors
/// If the terminal cannot be used.
pub fn watch(socket: &Path, color: bool) -> io::Result<Option<i32>> {
    let mut signals = Signals::caught()?;
    let (requests, answers) = asker::start(socket.to_path_buf());
    let mut state = State::new(socket.display().to_string(), color);
    let mut screen = Screen::enter()?;
    let keys = Keys::read()?;
    match until_end(
        &mut screen,
        &mut state,
        (&requests, &answers),
        &mut signals,
        &keys,
    ) {
        // The terminal is gone: the drawing error does not matter.
        Err(_) if keys.have_ended() => Ok(Some(SIGHUP)),
        ended => ended,
    }
}

/// Runs until a key or a signal ends it. Returns that signal.
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
            // The thread has already sent its error.
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
