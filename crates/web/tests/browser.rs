//! Tests the playground (`make web`) in headless Chromium through its own controls: its JSON has the bytes of
//! the command line, hostile links do nothing, and axe finds no violation of accessibility rules.
//!
//! A server on the loopback interface gives out the page and `harness.html`, which drives it and posts what
//! it saw. Without Chromium, the page or the command line's program the tests are reported as ignored; with
//! `JOULEPATH_REQUIRE_BROWSER=1` they fail.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use serde::Deserialize;
use serde_json::{Value, json};

const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
/// Data centres: a run takes minutes, more than the page allows.
const LARGE: [&str; 3] = ["papers/002-bcube", "papers/002-fattree", "papers/002-vl2"];
/// Most policies of each scenario.
const POLICIES: usize = 3;
const WIDTHS: [u32; 3] = [360, 768, 1280];
/// Time for everything in the browser.
const LIMIT: Duration = Duration::from_secs(300);

const HARNESS: &str = include_str!("harness.html");
/// Checks accessibility.
const AXE: &str = include_str!("../../report/tests/vendor/axe/axe.min.js");
/// Records errors and warnings from before any other script.
const WATCH: &str = "window.failures = []; \
    addEventListener(\"error\", event => failures.push(event.message)); \
    addEventListener(\"unhandledrejection\", event => failures.push(String(event.reason))); \
    for (const kind of [\"error\", \"warn\"]) console[kind] = (...all) => failures.push(all.join(\" \"));";

/// What the harness saw.
#[derive(Debug, Deserialize)]
struct Seen {
    /// JSON by scenario, or the failure.
    answers: BTreeMap<String, String>,
    views: Vec<View>,
    controls: Value,
}

/// Measurements of the page at a width, in a theme, with a tab open.
#[derive(Debug, Deserialize)]
struct View {
    width: u32,
    theme: String,
    tab: String,
    scroll_width: u32,
    /// Elements that extend beyond the page.
    cut: Vec<String>,
    /// Violations of accessibility rules.
    findings: Vec<String>,
    /// Errors and warnings of scripts.
    failures: Vec<String>,
    /// Height of the answer, which its own script sends.
    height: u32,
}

fn main() -> ExitCode {
    let trial = |name: &str, check: fn() -> Result<(), Failed>| {
        Trial::ignorable_test(name, move || match lacking() {
            None => check().map(|()| Completion::Completed),
            Some(lacking)
                if std::env::var_os("JOULEPATH_REQUIRE_BROWSER").is_some_and(|value| value == "1") =>
            {
                Err(format!("needs {lacking}, and JOULEPATH_REQUIRE_BROWSER asks for it").into())
            }
            Some(lacking) => Ok(Completion::ignored_with(format!("needs {lacking}"))),
        })
    };
    let trials = vec![
        trial("the_json_has_the_bytes_of_the_command_line", the_json_has_the_bytes_of_the_command_line),
        trial(
            "the_page_fits_its_width_and_axe_has_no_findings",
            the_page_fits_its_width_and_axe_has_no_findings,
        ),
        trial("a_hostile_link_runs_nothing", a_hostile_link_runs_nothing),
        trial("mistakes_are_shown_with_line_and_fix", mistakes_are_shown_with_line_and_fix),
        trial("a_run_can_be_cancelled", a_run_can_be_cancelled),
        trial("form_text_and_link_are_one_document", form_text_and_link_are_one_document),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn the_json_has_the_bytes_of_the_command_line() -> Result<(), Failed> {
    let seen = seen()?;
    ensure(seen.answers.len() == scenarios()?.len(), seen.answers.len())?;
    for (name, answer) in &seen.answers {
        let policies = scenarios()?.remove(name).unwrap_or_default();
        let arguments = ["compare", name, "--policies", &policies, "--seeds", "2", "--json"];
        // The last word is not part of the page's command. Both can be built at different commits.
        let expected = without_commit(&command_line(&arguments)?).replacen(" --json\"", "\"", 1);
        let answer = without_commit(answer);
        let differs = expected.lines().zip(answer.lines()).find(|(a, b)| a != b);
        ensure(answer == expected, (name, differs, answer.len(), expected.len()))?;
    }
    Ok(())
}

fn the_page_fits_its_width_and_axe_has_no_findings() -> Result<(), Failed> {
    let views = &seen()?.views;
    ensure(views.len() == WIDTHS.len() * 4, views.len())?;
    for view in views {
        ensure(view.scroll_width <= view.width && view.cut.is_empty(), view)?;
        ensure(view.findings.is_empty() && view.failures.is_empty(), view)?;
        // Its script ran: without it the answer keeps its least height.
        ensure(view.height > 1000 && !view.theme.is_empty() && !view.tab.is_empty(), view)?;
    }
    Ok(())
}

fn a_hostile_link_runs_nothing() -> Result<(), Failed> {
    let found = &seen()?.controls;
    ensure(found["ran"] == 0 && found["hostile"]["pictures"] == 0, found)?;
    ensure(found["hostile"]["toml"] == true, &found["hostile"])?;
    contains(&found["hostile"]["note"], "made with Joulepath 0.0.1")?;
    contains(&found["bomb"], "holds more than 512 kB")?;
    contains(&found["damaged"], "this link is damaged")
}

fn mistakes_are_shown_with_line_and_fix() -> Result<(), Failed> {
    let found = &seen()?.controls;
    contains(&found["line"], "Line 5")?;
    contains(&found["line"], "Mbit/s")?;
    ensure(found["deep"].as_str().is_some_and(|text| text.len() > 10), &found["deep"])?;
    contains(&found["policy"], "mptcp")
}

fn a_run_can_be_cancelled() -> Result<(), Failed> {
    let cancelled = &seen()?.controls["cancelled"];
    ensure(cancelled["text"] == "Cancelled.", cancelled)?;
    ensure(cancelled["took_ms"].as_f64().is_some_and(|ms| ms < 1000.0), cancelled)
}

fn form_text_and_link_are_one_document() -> Result<(), Failed> {
    let found = &seen()?.controls;
    for part in ["edited", "stale", "fresh", "link"] {
        ensure(found[part] == true, (part, found))?;
    }
    ensure(found["answer"]["title"] == "B # not a comment", &found["answer"])
}

fn ensure(holds: bool, seen: impl std::fmt::Debug) -> Result<(), Failed> {
    if holds { Ok(()) } else { Err(format!("{seen:?}").into()) }
}

fn contains(text: &Value, part: &str) -> Result<(), Failed> {
    ensure(text.as_str().is_some_and(|text| text.contains(part)), (part, text))
}

fn without_commit(json: &str) -> String {
    json.lines()
        .filter(|line| !line.trim_start().starts_with("\"commit\":"))
        .map(|line| format!("{line}\n"))
        .collect()
}

/// What the tests lack on this machine.
fn lacking() -> Option<String> {
    let page = page();
    if browser().is_none() {
        Some("Chromium: none in PATH".to_owned())
    } else if !page.is_file() {
        Some("the page: run `scripts/web.py`".to_owned())
    } else if !program().is_file() {
        Some("the command line: run `cargo build -p joulepath`".to_owned())
    } else {
        None
    }
}

fn browser() -> Option<PathBuf> {
    let folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
    BROWSERS
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|path| path.is_file())
}

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/web/index.html")
}

/// The command line, built with these tests.
fn program() -> PathBuf {
    let test = std::env::current_exe().expect("a program has a path");
    test.parent().and_then(Path::parent).expect("it is in target/PROFILE/deps").join("joulepath")
}

fn command_line(arguments: &[&str]) -> Result<String, Failed> {
    let output = Command::new(program()).args(arguments).stderr(Stdio::piped()).output()?;
    ensure(output.status.success(), String::from_utf8_lossy(&output.stderr))?;
    Ok(String::from_utf8(output.stdout)?)
}

/// The shipped scenarios but the large ones, each with its first policies.
fn scenarios() -> Result<BTreeMap<String, String>, Failed> {
    #[derive(Deserialize)]
    struct Listed {
        name: String,
        policies: Vec<String>,
    }
    let listed: Vec<Listed> = serde_json::from_str(&command_line(&["list", "scenarios", "--json"])?)?;
    let first =
        |listed: Listed| (listed.name, listed.policies[..POLICIES.min(listed.policies.len())].join(","));
    Ok(listed.into_iter().filter(|one| !LARGE.contains(&one.name.as_str())).map(first).collect())
}

fn seen() -> Result<&'static Seen, Failed> {
    static SEEN: OnceLock<Result<Seen, String>> = OnceLock::new();
    match SEEN.get_or_init(|| drive().map_err(|failed| failed.message().unwrap_or("failed").to_owned())) {
        Ok(seen) => Ok(seen),
        Err(error) => Err(error.clone().into()),
    }
}

/// Lets the harness drive the page.
fn drive() -> Result<Seen, Failed> {
    let scenarios: Vec<Value> =
        scenarios()?.iter().map(|(name, policies)| json!({ "name": name, "policies": policies })).collect();
    let plan = json!({ "scenarios": scenarios, "widths": WIDTHS }).to_string().replace('<', "\\u003c");
    let page = std::fs::read_to_string(page())?;
    let (before, rest) = page.split_once("<meta http-equiv").ok_or("the page has no policy")?;
    let (_, after) = rest.split_once('>').ok_or("the page has no policy")?;
    // Its own policy forbids other scripts.
    let checked = format!("{before}<script>{WATCH}</script><script>{AXE}</script>{after}");
    let harness = HARNESS.replacen("/*PLAN*/null", &plan, 1);

    let listener = TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let folder = tempfile::tempdir()?;
    let browser = Command::new(browser().expect("the tests are ignored without one"))
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--remote-debugging-port=0", "--window-size=1400,1600"])
        .arg(format!("--user-data-dir={}", folder.path().display()))
        .arg(format!("http://{}/harness", listener.local_addr()?))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let _ended = Ended(browser);
    let since = Instant::now();
    while since.elapsed() < LIMIT {
        match listener.accept() {
            Ok((stream, _)) => {
                if let Some(done) =
                    serve(stream, &[("/harness", &harness), ("/checked", &checked), ("/", &page)])?
                {
                    let result: Value = serde_json::from_str(&done)?;
                    ensure(result["failure"].is_null(), &result["failure"])?;
                    return Ok(serde_json::from_value(result)?);
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(5))
            }
            Err(error) => return Err(error.into()),
        }
    }
    Err(format!("the browser has not come to its end in {} s", LIMIT.as_secs()).into())
}

/// Kills the browser at the end.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Answers one HTTP request with one of the pages. Returns the body that was posted.
fn serve(stream: TcpStream, pages: &[(&str, &String)]) -> Result<Option<String>, Failed> {
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
            length = value.trim().parse()?;
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let mut words = first.split_whitespace();
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let page = pages.iter().find(|(name, _)| *name == path).map(|(_, page)| page.as_str());
    let (status, content) = match (method, page) {
        ("GET", Some(page)) => ("200 OK", page),
        ("POST", _) => ("200 OK", ""),
        _ => ("404 Not Found", ""),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        content.len()
    );
    let mut stream = reader.into_inner();
    stream.write_all(head.as_bytes())?;
    stream.write_all(content.as_bytes())?;
    Ok((method == "POST").then(|| String::from_utf8_lossy(&body).into_owned()))
}
