//! Pages in headless Chromium. A server on the loopback interface gives out the pages; a script in
//! the first one looks at the others and posts what it saw.
//!
//! A page presses a key by posting its name to [`PRESS`]: the browser gets the key as if from a
//! keyboard, unlike an event of a script, which moves no focus. The reply comes when the page has
//! handled the key.

use std::env;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

pub use libtest_mimic::Failed;
use libtest_mimic::{Arguments, Completion, Trial};
use serde_json::{Value, json};

/// The axe library, which finds violations of accessibility rules.
pub const AXE: &str = include_str!("../axe/axe.min.js");

/// Records errors and warnings in `failures`. It must run before any other script of a page.
pub const WATCH: &str = "window.failures = []; \
    addEventListener(\"error\", event => failures.push(event.message)); \
    addEventListener(\"unhandledrejection\", event => failures.push(String(event.reason))); \
    for (const kind of [\"error\", \"warn\"]) console[kind] = (...all) => failures.push(all.join(\" \"));";

const PROGRAMS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
/// Where a page posts the name of a key: `Tab`, `Shift+Tab`, `Enter`.
pub const PRESS: &str = "/press";
/// Interval at which new connections are accepted.
const PAUSE: Duration = Duration::from_millis(2);

/// A test: its name and its check.
pub type Test = (&'static str, fn() -> Result<(), Failed>);

/// Runs tests that need Chromium and what `lacking` names. Where one is missing, all are ignored
/// with that reason; with `JOULEPATH_REQUIRE_BROWSER=1` they fail.
#[must_use]
pub fn run(lacking: fn() -> Option<String>, tests: &[Test]) -> ExitCode {
    let is_required = env::var_os("JOULEPATH_REQUIRE_BROWSER").is_some_and(|value| value == "1");
    let missing = move || match program() {
        None => Some("Chromium: none in PATH".to_owned()),
        Some(_) => lacking(),
    };
    let trial = |&(name, check): &Test| {
        Trial::ignorable_test(name, move || match missing() {
            None => check().map(|()| Completion::Completed),
            Some(what) if is_required => {
                Err(format!("needs {what}, and JOULEPATH_REQUIRE_BROWSER asks for it").into())
            }
            Some(what) => Ok(Completion::ignored_with(format!("needs {what}"))),
        })
    };
    libtest_mimic::run(&Arguments::from_args(), tests.iter().map(trial).collect()).exit_code()
}

/// An error that shows `seen` unless `holds`.
///
/// # Errors
/// `holds` is false.
pub fn ensure(holds: bool, seen: impl std::fmt::Debug) -> Result<(), Failed> {
    if holds {
        Ok(())
    } else {
        Err(format!("{seen:?}").into())
    }
}

/// The value of `make`, which runs once for all tests of a binary.
///
/// # Errors
/// The error of `make`, in each test.
pub fn once<T>(
    kept: &'static OnceLock<Result<T, String>>,
    make: impl FnOnce() -> Result<T, Failed>,
) -> Result<&'static T, Failed> {
    let said = |failed: Failed| failed.message().unwrap_or("failed").to_owned();
    kept.get_or_init(|| make().map_err(said))
        .as_ref()
        .map_err(|error| error.clone().into())
}

/// Opens the first of `pages` (path on the server, HTML) in Chromium. Returns the first body that a
/// page posts.
///
/// # Errors
/// There is no Chromium, it does not start, or nothing was posted within `limit`.
pub fn open(pages: &[(&str, &str)], limit: Duration) -> Result<String, Failed> {
    let program = program().ok_or("there is no Chromium in PATH")?;
    let (first, _) = pages.first().ok_or("there is no page to open")?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let profile = tempfile::tempdir()?;
    // The protocol's pipes are the descriptors 3 and 4.
    let mut browser = Command::new("sh")
        .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null"])
        .arg(program)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ])
        .args([
            "--disable-dev-shm-usage",
            "--remote-debugging-pipe",
            "--window-size=2000,1600",
        ])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("http://{}{first}", listener.local_addr()?))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let pipes = (browser.stdin.take(), browser.stdout.take());
    let (Some(commands), Some(replies)) = pipes else {
        return Err("Chromium has no pipes".into());
    };
    let tools = Mutex::new(Tools {
        commands,
        replies: BufReader::new(replies),
        last: 0,
        session: None,
    });
    let since = Instant::now();
    let (sender, posts) = mpsc::channel();
    // Ends the browser before it waits for the threads.
    let tools = &tools;
    std::thread::scope(move |scope| {
        let mut browser = Running(browser);
        loop {
            match listener.accept() {
                // A browser opens connections in advance, on which nothing comes: each has a
                // thread.
                Ok((stream, _)) => {
                    let sender = sender.clone();
                    scope.spawn(move || sender.send(serve(stream, pages, tools)));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
            match posts.recv_timeout(PAUSE) {
                Ok(Ok(Some(posted))) => return Ok(posted),
                Ok(Err(error)) => return Err(error.into()),
                Ok(Ok(None)) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
            if let Some(status) = browser.0.try_wait()? {
                return Err(format!("Chromium ended before its page did: {status}").into());
            }
            if since.elapsed() > limit {
                return Err(format!("the page posted nothing in {} s", limit.as_secs()).into());
            }
        }
    })
}

/// The Chromium in `PATH`.
#[must_use]
pub fn program() -> Option<PathBuf> {
    let folders: Vec<PathBuf> = env::split_paths(&env::var_os("PATH")?).collect();
    let all = PROGRAMS
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    all.into_iter().find(|path| path.is_file())
}

/// The DevTools protocol of a browser: JSON ended by a zero byte.
struct Tools {
    commands: ChildStdin,
    replies: BufReader<ChildStdout>,
    /// Number of the last command.
    last: u64,
    /// The session with the first page, once it is attached.
    session: Option<String>,
}

impl Tools {
    /// The result of a command.
    fn ask(&mut self, method: &str, parameters: &Value) -> io::Result<Value> {
        self.last += 1;
        let mut command = json!({ "id": self.last, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            command["sessionId"] = json!(session);
        }
        self.commands.write_all(format!("{command}\0").as_bytes())?;
        loop {
            let mut bytes = vec![];
            self.replies.read_until(0, &mut bytes)?;
            if bytes.pop().is_none() {
                return Err(io::Error::other("Chromium ended"));
            }
            let reply: Value = serde_json::from_slice(&bytes)?;
            // Others are events.
            if reply["id"] != self.last {
                continue;
            }
            return match reply.get("error") {
                Some(error) => Err(io::Error::other(format!("{method}: {error}"))),
                None => Ok(reply["result"].clone()),
            };
        }
    }

    /// Starts a session with the page, and gives it the focus, which a window without a screen
    /// lacks.
    fn attach(&mut self) -> io::Result<()> {
        if self.session.is_some() {
            return Ok(());
        }
        let targets = self.ask("Target.getTargets", &json!({}))?;
        let all = targets["targetInfos"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        let page = all.iter().find(|target| target["type"] == "page");
        let target =
            page.ok_or_else(|| io::Error::other("Chromium has no page"))?["targetId"].clone();
        let attached = self.ask(
            "Target.attachToTarget",
            &json!({ "targetId": target, "flatten": true }),
        )?;
        self.session = attached["sessionId"].as_str().map(str::to_owned);
        self.ask(
            "Emulation.setFocusEmulationEnabled",
            &json!({ "enabled": true }),
        )
        .map(drop)
    }

    /// Presses and releases a key of [`KEYS`].
    fn press(&mut self, name: &str) -> io::Result<()> {
        let (modifiers, plain) = match name.split_once('+') {
            Some(("Shift", key)) => (8, key),
            Some(("Ctrl", key)) => (2, key),
            _ => (0, name),
        };
        let known = KEYS.iter().find(|(key, ..)| *key == plain);
        let &(key, code, text) =
            known.ok_or_else(|| io::Error::other(format!("no key `{name}`")))?;
        let (key_value, text) = if key == "Space" {
            (" ", text)
        } else {
            (key, text)
        };
        let mut event = json!({
            "type": if text.is_empty() || modifiers == 2 { "rawKeyDown" } else { "keyDown" },
            "key": key_value, "code": key, "windowsVirtualKeyCode": code, "modifiers": modifiers,
        });
        if !text.is_empty() && modifiers != 2 {
            event["text"] = json!(text);
        }
        self.ask("Input.dispatchKeyEvent", &event)?;
        event["type"] = json!("keyUp");
        self.ask("Input.dispatchKeyEvent", &event).map(drop)
    }
}

/// Keys that a page can press: name, Windows' number, the text that they write.
const KEYS: [(&str, u32, &str); 8] = [
    ("Tab", 9, ""),
    ("Enter", 13, "\r"),
    ("Escape", 27, ""),
    ("Space", 32, " "),
    ("ArrowLeft", 37, ""),
    ("ArrowRight", 39, ""),
    ("ArrowUp", 38, ""),
    ("ArrowDown", 40, ""),
];

/// A browser that ends with this value.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Answers one HTTP request with one of the pages. Returns the body that was posted.
fn serve(
    stream: TcpStream,
    pages: &[(&str, &str)],
    tools: &Mutex<Tools>,
) -> io::Result<Option<String>> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let mut reader = BufReader::new(stream);
    let (mut first, mut length) = (String::new(), 0);
    // A browser opens connections in advance.
    if reader.read_line(&mut first).unwrap_or(0) == 0 {
        return Ok(None);
    }
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let mut words = first.split_whitespace();
    let (method, path) = (
        words.next().unwrap_or_default(),
        words.next().unwrap_or_default(),
    );
    let page = pages
        .iter()
        .find(|(name, _)| *name == path)
        .map(|(_, page)| *page);
    let is_press = method == "POST" && path == PRESS;
    if page.is_some() || is_press {
        let mut tools = tools.lock().unwrap_or_else(PoisonError::into_inner);
        // Before the page's scripts run: a focus that comes later would move what they have
        // focused.
        tools.attach()?;
        if is_press {
            tools.press(&String::from_utf8_lossy(&body))?;
        }
    }
    let (status, content) = match (method, page) {
        ("GET", Some(page)) => ("200 OK", page),
        ("POST", _) => ("200 OK", ""),
        _ => ("404 Not Found", ""),
    };
    let mut stream = reader.into_inner();
    // A page that was left does not read its answer.
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{content}",
        content.len()
    );
    Ok((method == "POST" && !is_press).then(|| String::from_utf8_lossy(&body).into_owned()))
}
