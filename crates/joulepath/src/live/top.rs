//! `joulepath top`: how the daemon stands, on a screen that updates, and keys to command it.
//!
//! ```text
//!   keys ──► state ──► Wish ──► asker ──► daemon      the asker has a thread of its own: a daemon that
//!              ▲                  │                   hangs does not keep keys from working
//!              └───── Answer ─────┘
//!   (state, size, now) ──► draw ──► screen
//! ```

mod asker;
mod columns;
mod draw;
#[cfg(test)]
pub(super) mod samples;
mod screen;
mod state;

use std::io::{self, IsTerminal};
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::time::{Duration, Instant};

use joulepath_live::Request;
use ratatui::crossterm::event::{self, Event};

use self::asker::Answer;
use self::screen::{Screen, Signals};
use self::state::{State, Wish};
use crate::cli::top::TopOptions;
use crate::failure::{Exit, Failure};
use crate::terminal;

/// Longest wait for a key before answers and signals are looked at.
const TICK: Duration = Duration::from_millis(100);
/// The screen is drawn at least this often: ages grow.
const REDRAWN: Duration = Duration::from_secs(1);

/// Shows the daemon until the user has seen enough.
///
/// # Errors
/// If stdout is no terminal that can be drawn on.
pub(crate) fn top(options: &TopOptions) -> Result<Exit, Failure> {
    refuse_what_is_no_terminal()?;
    let socket = &options.socket.socket;
    let mut signals = Signals::caught().map_err(lost)?;
    let (requests, answers) = asker::start(socket.clone());
    let mut state = State::new(socket.display().to_string(), terminal::stdout().1);
    let mut screen = Screen::enter().map_err(lost)?;
    let ended = until_end(&mut screen, &mut state, &requests, &answers, &mut signals);
    drop(screen);
    if let Some(signal) = ended? {
        // Who has sent it sees that the process ended by it.
        signal_hook::low_level::emulate_default_handler(signal).map_err(lost)?;
    }
    Ok(Exit::Ok)
}

fn refuse_what_is_no_terminal() -> Result<(), Failure> {
    let why = if !io::stdout().is_terminal() {
        "stdout is not a terminal"
    } else if std::env::var("TERM").is_ok_and(|term| term == "dumb") {
        "this terminal cannot place text (TERM is dumb)"
    } else {
        return Ok(());
    };
    let failure = Failure::message(Exit::Usage, format!("`joulepath top` cannot draw: {why}"));
    Err(failure.help("`joulepath status` says the same once, with --json for programs"))
}

/// Until a key or a signal ends it; the signal, if it was one.
fn until_end(
    screen: &mut Screen,
    state: &mut State,
    requests: &Sender<Request>,
    answers: &Receiver<Answer>,
    signals: &mut Signals,
) -> Result<Option<i32>, Failure> {
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
        if signals.that_suspends() {
            screen.suspend().map_err(lost)?;
            has_changed = true;
        }
        if has_changed {
            screen.draw(state, begun.elapsed()).map_err(lost)?;
            drawn = Some(Instant::now());
        }
        if !event::poll(TICK).map_err(lost)? {
            continue;
        }
        drawn = None;
        let Event::Key(key) = event::read().map_err(lost)? else { continue };
        match state.on_key(key, begun.elapsed()) {
            None => {}
            Some(Wish::Ask(request)) => requests.send(request).map_err(|_| asker_ended())?,
            Some(Wish::Redraw) => screen.clear().map_err(lost)?,
            Some(Wish::Suspend) => screen.suspend().map_err(lost)?,
            Some(Wish::Quit) => return Ok(None),
        }
    }
}

fn asker_ended() -> Failure {
    Failure::message(Exit::Failed, "the thread that asks the daemon has ended")
}

fn lost(error: io::Error) -> Failure {
    Failure::io("cannot use the terminal", error)
}
