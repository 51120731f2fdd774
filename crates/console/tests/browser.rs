//! Tests the page of `joulepath status --serve` in headless Chromium at 400 and 1280 pixels, light
//! and dark: nothing is cut off, axe finds no violation of accessibility rules, and its script
//! renews it under its own content security policy.
//!
//! A daemon that always gives the same answer stands behind it. Without Chromium the tests are
//! reported as ignored; with `JOULEPATH_REQUIRE_BROWSER=1` they fail.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use joulepath_console::board::Board;
use joulepath_testbed::browser::{self, AXE, Failed, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

const VIEWS: [(u32, &str); 4] = [
    (400, "light"),
    (400, "dark"),
    (1280, "light"),
    (1280, "dark"),
];
/// The answer of a daemon: a unit test of this crate keeps it equal to its sample.
const STATUS: &str = include_str!("status.json");
/// Of a look at all views.
const LIMIT: Duration = Duration::from_secs(120);

/// Loads the page at every width and theme.
const PROBE: &str = r#"<!doctype html><meta charset="utf-8"><body><script>
const nameOf = node => `${node.tagName}.${node.className}`;
async function look(width, theme) {
  const frame = document.body.appendChild(document.createElement("iframe"));
  frame.style.cssText = `border: 0; height: 800px; width: ${width}px`;
  const loaded = new Promise(done => { frame.onload = done; });
  frame.srcdoc = HTML;
  await loaded;
  const page = frame.contentDocument;
  page.documentElement.style.colorScheme = theme;
  const runOnly = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"];
  const { violations } = await frame.contentWindow.axe.run({ runOnly, resultTypes: ["violations"] });
  const isOut = node => node.getBoundingClientRect().right > width + 1 && !node.closest(".scroll");
  const found = {
    width, theme,
    scroll_width: page.documentElement.scrollWidth,
    cut: [...page.body.querySelectorAll("*")].filter(isOut).map(nameOf).slice(0, 5),
    findings: violations.flatMap(({ id, nodes }) =>
      nodes.slice(0, 3).map(node => `${id}: ${node.html} ${node.failureSummary}`)),
    ground: getComputedStyle(page.body).backgroundColor,
  };
  frame.remove();
  return found;
}
(async () => {
  const all = [];
  for (const [width, theme] of VIEWS) all.push(await look(width, theme));
  await fetch("/", { method: "POST", body: JSON.stringify(all) });
})();
</script>"#;

/// Measurements of the page in a frame.
#[derive(Debug, Deserialize)]
struct Measured {
    width: u32,
    theme: String,
    scroll_width: u32,
    /// Elements that extend beyond the page outside of a scrolling box.
    cut: Vec<String>,
    /// Violations of accessibility rules.
    findings: Vec<String>,
    /// Colour of the background.
    ground: String,
}

fn main() -> ExitCode {
    browser::run(
        || None,
        &[
            (
                "nothing_is_cut_off_in_light_and_dark",
                nothing_is_cut_off_in_light_and_dark,
            ),
            ("axe_has_no_findings", axe_has_no_findings),
            (
                "the_page_renews_itself_under_its_own_policy",
                the_page_renews_itself_under_its_own_policy,
            ),
        ],
    )
}

fn nothing_is_cut_off_in_light_and_dark() -> Result<(), Failed> {
    let all = measured()?;
    for view in all {
        ensure(view.scroll_width <= view.width && view.cut.is_empty(), view)?;
        // The style was loaded, and follows the theme: #f6f7f9 and #0f1317.
        let ground = if view.theme == "light" {
            "rgb(246, 247, 249)"
        } else {
            "rgb(15, 19, 23)"
        };
        ensure(view.ground == ground, view)?;
    }
    ensure(all.len() == VIEWS.len(), all.len())
}

fn axe_has_no_findings() -> Result<(), Failed> {
    measured()?
        .iter()
        .try_for_each(|view| ensure(view.findings.is_empty(), view))
}

/// The browser asks for the page, its style and its script, and then again and again for the page.
fn the_page_renews_itself_under_its_own_policy() -> Result<(), Failed> {
    let served = Served::start()?;
    let before = served.asked.load(Ordering::Relaxed);
    let page = dump(&served.url, served.folder.path())?;
    ensure(
        page.contains("In the way") || page.contains("wlp0s20f3"),
        &page,
    )?;
    let asked = served.asked.load(Ordering::Relaxed) - before;
    ensure(asked >= 3, asked)
}

/// A page with a daemon behind it.
struct Served {
    url: String,
    /// Requests that the daemon has answered.
    asked: Arc<AtomicUsize>,
    folder: tempfile::TempDir,
}

impl Served {
    fn start() -> Result<Self, Failed> {
        let folder = tempfile::tempdir()?;
        let socket = folder.path().join("live.sock");
        let listener = UnixListener::bind(&socket)?;
        let asked = Arc::new(AtomicUsize::new(0));
        let answered = asked.clone();
        let answer = json!({ "parameters": serde_json::from_str::<Value>(STATUS)? }).to_string();
        thread::spawn(move || {
            for mut client in listener.incoming().flatten() {
                let mut line = String::new();
                if client
                    .try_clone()
                    .is_ok_and(|read| BufReader::new(read).read_line(&mut line).is_ok())
                {
                    answered.fetch_add(1, Ordering::Relaxed);
                    // A client that is gone needs no answer.
                    let _ = writeln!(client, "{answer}");
                }
            }
        });
        let board = Board::open(([127, 0, 0, 1], 0).into(), &socket, None)?;
        let url = board.url();
        thread::spawn(move || board.serve());
        Ok(Served { url, asked, folder })
    }

    /// The body of an answer.
    fn get(&self, path: &str) -> Result<String, Failed> {
        let host = self.url.trim_start_matches("http://").trim_end_matches('/');
        let mut stream = TcpStream::connect(host)?;
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer
            .split_once("\r\n\r\n")
            .ok_or("the answer has no head")?
            .1
            .to_owned())
    }
}

fn measured() -> Result<&'static [Measured], Failed> {
    static ALL: OnceLock<Result<Vec<Measured>, String>> = OnceLock::new();
    browser::once(&ALL, measure).map(Vec::as_slice)
}

fn measure() -> Result<Vec<Measured>, Failed> {
    let served = Served::start()?;
    let style = format!(
        "<style>{}</style><script>{AXE}</script>",
        served.get("/board.css")?
    );
    let html = served
        .get("/")?
        .replace("<link rel=\"stylesheet\" href=\"/board.css\">", &style);
    // Each line that a status can have is on the page, so that all are looked at.
    for part in [
        "with all paths always",
        "The daemon steers",
        "On MPTCP",
        "machine:",
        "signal",
        "another program",
    ] {
        ensure(html.contains(part), (part, &html))?;
    }
    let html = html.replace("<script src=\"/board.js\" defer></script>", "");
    let json = |value: Value| value.to_string().replace('<', "\\u003c");
    let probe =
        PROBE
            .replacen("VIEWS", &json(json!(VIEWS)), 1)
            .replacen("HTML", &json(html.into()), 1);
    Ok(serde_json::from_str(&browser::open(
        &[("/", &probe)],
        LIMIT,
    )?)?)
}

/// The document after 20 s of the browser's clock.
fn dump(address: &str, folder: &Path) -> Result<String, Failed> {
    let output = Command::new(browser::program().ok_or("the tests are ignored without a browser")?)
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
            "--virtual-time-budget=20000",
            "--timeout=120000",
            "--dump-dom",
        ])
        .arg(format!(
            "--user-data-dir={}",
            folder.join("profile").display()
        ))
        .arg(address)
        .stderr(Stdio::null())
        .output()?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
