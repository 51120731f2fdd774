//! Takes the terminal, and restores it however the program ends.

use std::io::{self, Stdout, stdout};
use std::mem::ManuallyDrop;
use std::panic;
use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGTSTP};

use super::draw;
use super::state::State;

/// The terminal while it is ours. Ratatui's destructor is not run: it writes to stderr if it cannot
/// show the cursor, and panics if stderr is closed. [`leave`] shows the cursor.
pub(super) struct Screen {
    terminal: ManuallyDrop<Terminal<CrosstermBackend<Stdout>>>,
}

impl Screen {
    /// Takes the terminal. A panic restores it before printing its message.
    pub(super) fn enter() -> io::Result<Self> {
        let told = panic::take_hook();
        panic::set_hook(Box::new(move |why| {
            leave();
            told(why);
        }));
        let screen = Screen { terminal: new()? };
        take()?;
        Ok(screen)
    }

    pub(super) fn draw(&mut self, state: &State, now: Duration) -> io::Result<()> {
        self.terminal.draw(|frame| draw::draw(frame, state, now))?;
        Ok(())
    }

    /// Clears the screen before the next drawing. `Terminal::clear` would query the cursor and fail
    /// on a terminal that does not answer.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        execute!(stdout(), Clear(ClearType::All))?;
        self.terminal = new()?;
        Ok(())
    }

    /// Restores the terminal and stops the process until a shell continues it.
    pub(super) fn suspend(&mut self) -> io::Result<()> {
        leave();
        signal_hook::low_level::emulate_default_handler(SIGTSTP)?;
        take()?;
        self.clear()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        leave();
    }
}

fn new() -> io::Result<ManuallyDrop<Terminal<CrosstermBackend<Stdout>>>> {
    Ok(ManuallyDrop::new(Terminal::new(CrosstermBackend::new(
        stdout(),
    ))?))
}

fn take() -> io::Result<()> {
    enable_raw_mode()?;
    execute!(stdout(), EnterAlternateScreen, Hide)
}

/// Errors are ignored: there is nowhere to report them.
fn leave() {
    let _ = execute!(stdout(), LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}

/// Signals that would leave the terminal in raw mode.
pub(super) struct Signals {
    caught: signal_hook::iterator::Signals,
    ends: Option<i32>,
    suspends: bool,
}

impl Signals {
    /// Starts to catch them.
    pub(super) fn caught() -> io::Result<Self> {
        let caught = signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGTERM, SIGTSTP])?;
        Ok(Signals {
            caught,
            ends: None,
            suspends: false,
        })
    }

    fn look(&mut self) {
        for signal in self.caught.pending() {
            match signal {
                SIGTSTP => self.suspends = true,
                signal => self.ends = Some(signal),
            }
        }
    }

    /// The signal that asks the program to end.
    pub(super) fn that_ends(&mut self) -> Option<i32> {
        self.look();
        self.ends
    }

    /// True once after a signal that asks the program to stop.
    pub(super) fn that_suspends(&mut self) -> bool {
        self.look();
        std::mem::take(&mut self.suspends)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::process::Command;

    use joulepath_testbed::pty::Pty;
    use rustix::termios::{LocalModes, tcgetattr};

    use super::*;

    /// Environment variable that makes this test binary panic in a terminal.
    const PANICS: &str = "JOULEPATH_TEST_PANICS_ON_SCREEN";

    #[test]
    fn a_panic_restores_the_terminal_before_its_message() {
        if std::env::var_os(PANICS).is_some() {
            let mut screen = Screen::enter().unwrap();
            let state = State::new("/x".into(), false);
            screen.draw(&state, Duration::ZERO).unwrap();
            let stdin = std::io::stdin();
            assert!(
                !tcgetattr(&stdin)
                    .unwrap()
                    .local_modes
                    .contains(LocalModes::ICANON)
            );
            panic!("for a test");
        }
        let pty = Pty::open();
        let before = tcgetattr(&pty.line).unwrap();
        let this = "top::screen::tests::a_panic_restores_the_terminal_before_its_message";
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", this, "--nocapture"])
            .env(PANICS, "1")
            .env("TERM", "xterm");
        let mut child = command
            .stdin(pty.stream())
            .stdout(pty.stream())
            .stderr(pty.stream())
            .spawn()
            .unwrap();
        let Pty {
            keyboard: mut from,
            line,
        } = pty;
        let reader = std::thread::spawn(move || {
            let (mut output, mut buffer) = (vec![], [0; 4096]);
            // Reading fails when the other end is closed.
            while let Ok(read @ 1..) = from.read(&mut buffer) {
                output.extend(&buffer[..read]);
            }
            String::from_utf8_lossy(&output).into_owned()
        });
        assert!(!child.wait().unwrap().success());
        let after = tcgetattr(&line).unwrap();
        assert_eq!(
            (after.local_modes, after.input_modes),
            (before.local_modes, before.input_modes)
        );
        drop((line, command));
        let output = reader.join().unwrap();
        let place = |text: &str| {
            output
                .find(text)
                .unwrap_or_else(|| panic!("{text:?} in {output:?}"))
        };
        let (entered, left) = (place("\u{1b}[?1049h"), place("\u{1b}[?1049l"));
        assert!(
            entered < left && left < place("for a test") && left < place("\u{1b}[?25h"),
            "{output:?}"
        );
    }
}
