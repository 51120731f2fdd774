//! `joulepath top` in a terminal: what is on the screen, what keys do, and what it leaves behind.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use joulepath_testbed::observe::wait_until;
use joulepath_testbed::pty::Pty;
use rustix::process::{Pid, Signal, WaitStatus, kill_process};
use rustix::termios::{LocalModes, Termios, Winsize, tcgetattr, tcsetwinsize};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::run::{folder, joulepath};

/// What is waited for comes within this time, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);
/// Size of the terminal.
const LINES: NonZero<u16> = nonzero(24);
const COLUMNS: NonZero<u16> = nonzero(80);

const fn nonzero(size: u16) -> NonZero<u16> {
    NonZero::new(size).expect("a size is not zero")
}

fn status(intent: &str, may_command: bool, paused: bool) -> Value {
    let spent = json!({ "received_bytes": 5_000_000, "sent_bytes": 0, "energy_j": 12.5 });
    let reason = json!({ "code": "of-a-newer-version", "text": "it is the first" });
    let interface = |name: &str, role: &str| {
        json!({
            "name": name, "intent": intent, "role": role, "wanted": role, "reason": reason,
            "allowed": true, "addresses": [], "conflicts": {}, "received_bps": 8e6, "sent_bps": 0.0,
            "capacity_bps": null, "rtt_s": 0.02, "subflows": 3, "backup_subflows": 0,
            "retransmitted_bytes": 0, "quota": null, "total": spent, "today": spent, "month": spent,
            "energy_profile": "wifi-huang2012", "energy_quality": "modelled", "power_w": 1.5,
        })
    };
    json!({
        "schema": 2, "version": "0.1.0", "intent": intent, "configured_intent": "frugal", "paused": paused,
        "config": "live.toml", "up_s": 5.0, "connections": 2, "fallen_back": 0, "changes": 1,
        "battery": null, "today": "2026-11-23",
        "interfaces": [interface("wlan0", "regular"), interface("wwan0", "backup")],
        "warnings": [], "events": [{ "ago_s": 3.0, "text": "wlan0: regular" }],
        "may_command": may_command,
    })
}

/// Answers like a daemon, and notes what it is commanded.
struct Daemon {
    socket: PathBuf,
    commands: Arc<Mutex<Vec<Value>>>,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Daemon {
    fn start(folder: &Path, may_command: bool) -> Self {
        let socket = folder.join("live.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let (commands, ends) = (
            Arc::new(Mutex::new(vec![])),
            Arc::new(AtomicBool::new(false)),
        );
        let (noted, asked_to_end) = (commands.clone(), ends.clone());
        let thread = thread::spawn(move || {
            let (mut intent, mut paused) = ("frugal".to_owned(), false);
            for stream in listener.incoming().map_while(Result::ok) {
                if asked_to_end.load(Ordering::SeqCst) {
                    return;
                }
                let mut line = String::new();
                BufReader::new(&stream).read_line(&mut line).unwrap();
                let request: Value = serde_json::from_str(&line).unwrap();
                match request["method"].as_str().unwrap() {
                    "set-intent" => {
                        intent = request["parameters"]["intent"].as_str().unwrap().to_owned();
                        noted.lock().unwrap().push(request);
                    }
                    "pause" => paused = true,
                    _ => {}
                }
                let answer = json!({ "parameters": status(&intent, may_command, paused) });
                let _ = writeln!(&stream, "{answer}");
            }
        });
        Daemon {
            socket,
            commands,
            ends,
            thread: Some(thread),
        }
    }

    fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let Some(thread) = self.thread.take() else {
            return;
        };
        self.ends.store(true, Ordering::SeqCst);
        let _ = std::os::unix::net::UnixStream::connect(&self.socket);
        thread.join().unwrap();
        std::fs::remove_file(&self.socket).unwrap();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if !thread::panicking() {
            self.end();
        }
    }
}

/// The program in a terminal of 80 × 24, and what the terminal shows.
struct Top {
    child: Child,
    keyboard: File,
    /// Waits for the program's end and returns the state of the terminal.
    line: OwnedFd,
    before: Termios,
    output: mpsc::Receiver<Vec<u8>>,
    screen: vt100::Parser,
}

/// The program in this terminal.
fn command(folder: &Path, pty: &Pty) -> Command {
    tcsetwinsize(
        &pty.line,
        Winsize {
            ws_row: 24,
            ws_col: 80,
            ws_xpixel: 0,
            ws_ypixel: 0,
        },
    )
    .unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_joulepath"));
    command
        .args(["top", "--socket", "live.sock"])
        .current_dir(folder);
    command.env_remove("NO_COLOR").env("TERM", "xterm-256color");
    command
        .stdin(pty.stream())
        .stdout(pty.stream())
        .stderr(pty.stream());
    command
}

impl Top {
    fn start(folder: &Path, environment: &[(&str, &str)]) -> Self {
        let pty = Pty::open();
        let before = tcgetattr(&pty.line).unwrap();
        let child = command(folder, &pty)
            .envs(environment.iter().copied())
            .spawn()
            .unwrap();
        let Pty { keyboard, line } = pty;
        let (send, output) = mpsc::channel();
        let mut from = keyboard.try_clone().unwrap();
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(read) = from.read(&mut buffer) {
                if read == 0 || send.send(buffer[..read].to_vec()).is_err() {
                    return;
                }
            }
        });
        Top {
            child,
            keyboard,
            line,
            before,
            output,
            screen: vt100::Parser::new(LINES, COLUMNS, 0),
        }
    }

    fn look(&mut self) -> String {
        if let Ok(bytes) = self.output.recv_timeout(Duration::from_millis(20)) {
            self.screen.process(&bytes);
        }
        while let Ok(bytes) = self.output.try_recv() {
            self.screen.process(&bytes);
        }
        self.screen.screen().contents()
    }

    /// Waits until the screen shows a text.
    #[track_caller]
    fn shows(&mut self, text: &str) {
        self.until(text, |screen| screen.contains(text));
    }

    #[track_caller]
    fn until(&mut self, what: &str, is_so: impl Fn(&str) -> bool) {
        let begun = Instant::now();
        while !is_so(&self.look()) {
            assert!(begun.elapsed() < PATIENCE, "{what}\n{}", self.look());
        }
    }

    fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    fn is_raw(&self) -> bool {
        !tcgetattr(&self.line)
            .unwrap()
            .local_modes
            .contains(LocalModes::ICANON)
    }

    /// How it ended; the terminal is as it was.
    #[track_caller]
    fn ended(mut self) -> std::process::ExitStatus {
        let begun = Instant::now();
        let status = loop {
            self.look();
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(begun.elapsed() < PATIENCE, "it does not end");
        };
        self.is_as_before();
        status
    }

    /// Waits for the rest of the output, which may come later than the end of the program.
    #[track_caller]
    fn is_as_before(&mut self) {
        let begun = Instant::now();
        while self.screen.screen().alternate_screen() && begun.elapsed() < PATIENCE {
            self.look();
        }
        let now = tcgetattr(&self.line).unwrap();
        assert_eq!(now.local_modes, self.before.local_modes);
        assert_eq!(now.input_modes, self.before.input_modes);
        assert_eq!(now.output_modes, self.before.output_modes);
        let screen = self.screen.screen();
        assert!(
            !screen.alternate_screen() && !screen.hide_cursor(),
            "{}",
            screen.contents()
        );
    }
}

impl Drop for Top {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn with_daemon(may_command: bool) -> (TempDir, Daemon, Top) {
    let folder = folder();
    let daemon = Daemon::start(folder.path(), may_command);
    let top = Top::start(folder.path(), &[]);
    (folder, daemon, top)
}

#[test]
fn keys_set_the_intent_and_q_leaves_the_terminal_as_it_was() {
    let (_folder, daemon, mut top) = with_daemon(true);
    top.shows("MPTCP: 2 connections · frugal · 1 of 2 interfaces used, 1 backup");
    assert!(top.is_raw());
    for shown in [
        "wlan0 regular    8.0",
        "all",
        "wwan0: it is the first",
        "3 s  wlan0: regular",
    ] {
        top.shows(shown);
    }
    top.press("i");
    top.shows("Intent of this machine");
    // Four places down: balanced, fast, handover, interactive. The arrow is what a terminal sends
    // for it.
    top.press("\u{1b}[B");
    top.press("jjj\r");
    top.shows("interactive · configured: frugal");
    assert_eq!(
        daemon.commands.lock().unwrap()[0]["parameters"]["intent"],
        "interactive"
    );
    top.press("p");
    top.shows("Paused: all changes are undone");
    top.press("?");
    top.shows("quit; the daemon keeps running");
    top.press("x");
    top.until("the help goes", |screen| {
        !screen.contains("quit; the daemon keeps running")
    });
    top.press("q");
    assert!(top.ended().success());
}

#[test]
fn a_signal_ends_it_and_the_terminal_is_as_it_was() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let (_folder, _daemon, mut top) = with_daemon(true);
        top.shows("frugal");
        top.signal(signal);
        let ended = std::os::unix::process::ExitStatusExt::signal(&top.ended());
        assert_eq!(ended, Some(signal.as_raw()));
    }
}

/// In the middle of an escape sequence, too.
#[test]
fn a_signal_ends_it_while_it_waits_for_the_rest_of_a_key() {
    let (_folder, _daemon, mut top) = with_daemon(true);
    top.shows("frugal");
    top.press("\u{1b}[1;");
    wait_until("the program has read it", || {
        rustix::io::ioctl_fionread(&top.line).unwrap() == 0
    });
    top.signal(Signal::TERM);
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&top.ended()),
        Some(Signal::TERM.as_raw())
    );
}

#[test]
fn it_ends_with_its_terminal() {
    let folder = folder();
    let _daemon = Daemon::start(folder.path(), true);
    let pty = Pty::open();
    let mut child = command(folder.path(), &pty).spawn().unwrap();
    let Pty { mut keyboard, line } = pty;
    let mut screen = vt100::Parser::new(LINES, COLUMNS, 0);
    while !screen.screen().contents().contains("frugal") {
        let mut buffer = [0; 4096];
        let read = keyboard.read(&mut buffer).unwrap();
        screen.process(&buffer[..read]);
    }
    drop((keyboard, line));
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begun.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("it goes on without a terminal");
        }
        thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&status),
        Some(Signal::HUP.as_raw())
    );
}

#[test]
fn ctrl_c_is_a_key_and_a_stopped_program_has_given_the_terminal_back() {
    let (_folder, _daemon, mut top) = with_daemon(true);
    top.shows("frugal");
    top.signal(Signal::TSTP);
    let options = rustix::process::WaitOptions::UNTRACED;
    let pid = Pid::from_child(&top.child);
    let (_, stopped): (Pid, WaitStatus) = rustix::process::waitpid(Some(pid), options)
        .unwrap()
        .unwrap();
    assert!(stopped.stopped());
    top.is_as_before();
    top.signal(Signal::CONT);
    top.shows("frugal · 1 of 2 interfaces used, 1 backup");
    assert!(top.is_raw());
    top.press("\u{3}");
    assert!(top.ended().success());
}

#[test]
fn the_screen_shows_when_a_daemon_stops_and_starts() {
    let (folder, daemon, mut top) = with_daemon(true);
    top.shows("frugal · 1 of 2");
    daemon.stop();
    top.shows("no daemon listens at live.sock");
    top.shows("Retrying every second. This status is");
    top.press("p");
    top.shows("no daemon answers");
    let _daemon = Daemon::start(folder.path(), true);
    top.until("it is there again", |screen| {
        !screen.contains("no daemon listens")
    });
    top.press("q");
    assert!(top.ended().success());
}

#[test]
fn before_a_daemon_is_there_it_waits_for_one() {
    let folder = folder();
    let mut top = Top::start(folder.path(), &[]);
    top.shows("no daemon listens at live.sock (start it: sudo joulepath on)");
    let _daemon = Daemon::start(folder.path(), true);
    top.shows("frugal · 1 of 2");
    top.press("q");
    assert!(top.ended().success());
}

#[test]
fn a_user_without_rights_only_watches() {
    let (_folder, daemon, mut top) = with_daemon(false);
    top.shows("read-only  w why  ? help  q quit");
    top.press("i");
    top.shows("you may not send commands");
    top.press("q");
    assert!(top.ended().success());
    assert_eq!(daemon.commands.lock().unwrap().len(), 0);
}

#[test]
fn a_terminal_without_colours_gets_none() {
    let colors = |environment: &[(&str, &str)]| {
        let folder = folder();
        let _daemon = Daemon::start(folder.path(), true);
        let mut top = Top::start(folder.path(), environment);
        top.shows("wlan0 regular");
        let screen = top.screen.screen();
        let cells = (0..24).flat_map(|row| (0..80).map(move |column| (row, column)));
        let colored = cells.filter(|&(row, column)| {
            screen
                .cell(row, column)
                .is_some_and(|cell| cell.fgcolor() != vt100::Color::Default)
        });
        let count = colored.count();
        top.press("q");
        assert!(top.ended().success());
        count
    };
    assert!(colors(&[]) > 0);
    assert_eq!(colors(&[("NO_COLOR", "1")]), 0);
}

#[test]
fn a_screen_that_becomes_small_is_drawn_anew() {
    let (_folder, _daemon, mut top) = with_daemon(true);
    top.shows("frugal");
    let small = Winsize {
        ws_row: 5,
        ws_col: 30,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&top.line, small).unwrap();
    top.screen.screen_mut().set_size(nonzero(5), nonzero(30));
    // The pty is not its controlling terminal, from which the signal would come.
    top.signal(Signal::WINCH);
    top.shows("Too small: 40 columns");
    top.press("q");
    assert!(top.ended().success());
}

#[test]
fn a_stdout_that_is_no_terminal_is_refused() {
    let said = joulepath(&["top"]);
    assert_eq!(
        (said.code, said.stdout.as_str()),
        (Some(2), ""),
        "{}",
        said.stderr
    );
    assert!(
        said.stderr.contains("stdout is not a terminal"),
        "{}",
        said.stderr
    );
    assert!(said.stderr.contains("joulepath status"), "{}", said.stderr);
}
