//! Tests the playground (`make web`) in headless Chromium through its own controls: its JSON has
//! the bytes of the command line, hostile links do nothing, and axe finds no violation of
//! accessibility rules.
//!
//! `harness.html` drives the page and posts what it saw. Without Chromium, the page or the command
//! line's program the tests are reported as ignored; with `JOULEPATH_REQUIRE_BROWSER=1` they fail.
//! `JOULEPATH_WEB=all`, as `make test-web` sets it, compares all shipped scenarios and policies
//! instead of a part.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use joulepath_testbed::browser::{self, AXE, Failed, WATCH, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

/// Data centres: a run takes minutes, more than the page allows.
const LARGE: [&str; 3] = ["papers/002-bcube", "papers/002-fattree", "papers/002-vl2"];
/// Of the papers' scenarios, one in so many is compared, unless all are. The others always are.
const ONE_IN: usize = 4;
/// Most policies of each scenario, unless all are compared.
const POLICIES: usize = 3;
const WIDTHS: [u32; 4] = [360, 768, 1280, 1920];
/// Time for one part of the harness: for all scenarios and policies, an hour.
const LIMIT: Duration = Duration::from_secs(900);
const LIMIT_OF_ALL: Duration = Duration::from_secs(3600);

const HARNESS: &str = include_str!("harness.html");

/// Measurements of the page at a width, in a theme, with a tab or a panel open.
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
    /// Height of a comparison, which its own script sends.
    height: Option<u32>,
    /// Controls that the keyboard does not reach.
    unreachable: Vec<String>,
}

fn main() -> ExitCode {
    browser::run(
        lacking,
        &[
            (
                "the_json_has_the_bytes_of_the_command_line",
                the_json_has_the_bytes_of_the_command_line,
            ),
            (
                "the_page_fits_its_width_works_by_keyboard_and_axe_has_no_findings",
                the_page_fits_its_width_works_by_keyboard_and_axe_has_no_findings,
            ),
            (
                "a_map_and_an_advice_have_the_bytes_of_the_command_line",
                a_map_and_an_advice_have_the_bytes_of_the_command_line,
            ),
            (
                "the_editor_completes_keys_and_values",
                the_editor_completes_keys_and_values,
            ),
            (
                "cards_add_and_remove_paths_competitors_and_traces",
                cards_add_and_remove_paths_competitors_and_traces,
            ),
            (
                "the_gallery_has_the_papers_claims",
                the_gallery_has_the_papers_claims,
            ),
            ("a_hostile_link_runs_nothing", a_hostile_link_runs_nothing),
            (
                "mistakes_are_shown_with_line_and_fix",
                mistakes_are_shown_with_line_and_fix,
            ),
            ("a_run_can_be_cancelled", a_run_can_be_cancelled),
            (
                "form_text_and_link_are_one_document",
                form_text_and_link_are_one_document,
            ),
            (
                "rules_are_a_policy_with_the_command_lines_numbers",
                rules_are_a_policy_with_the_command_lines_numbers,
            ),
            (
                "mistakes_in_rules_are_shown_next_to_them",
                mistakes_in_rules_are_shown_next_to_them,
            ),
            (
                "a_saved_report_opens_its_question",
                a_saved_report_opens_its_question,
            ),
            (
                "the_tab_key_reaches_every_control_in_order",
                the_tab_key_reaches_every_control_in_order,
            ),
            (
                "keys_choose_axes_complete_and_compare",
                keys_choose_axes_complete_and_compare,
            ),
        ],
    )
}

fn the_json_has_the_bytes_of_the_command_line() -> Result<(), Failed> {
    let answers: BTreeMap<String, String> = serde_json::from_value(seen("answers")?.clone())?;
    ensure(answers.len() == scenarios()?.len(), answers.len())?;
    for (name, answer) in &answers {
        let policies = scenarios()?.remove(name).unwrap_or_default();
        let arguments = [
            "compare",
            name,
            "--policies",
            &policies,
            "--seeds",
            "2",
            "--json",
        ];
        // The last word is not part of the page's command. Both can be built at different commits.
        let expected = without_commit(&command_line(&arguments)?).replacen(" --json\"", "\"", 1);
        let answer = without_commit(answer);
        let differs = expected.lines().zip(answer.lines()).find(|(a, b)| a != b);
        let is_same = answer == expected || {
            // The page does not repeat runs with a random background.
            let [ours, theirs] = [&answer, &expected].map(|text| without_background(text));
            theirs? == ours? && expected.contains("\"tcp_share_background\": {")
        };
        ensure(is_same, (name, differs, answer.len(), expected.len()))?;
    }
    Ok(())
}

/// The JSON without what runs with a random background add.
fn without_background(json: &str) -> Result<Value, Failed> {
    let mut all: Value = serde_json::from_str(json)?;
    let added = [
        "background",
        "tcp_share_background",
        "competitors_background_bps",
    ];
    if let Some(top) = all.as_object_mut() {
        added.iter().for_each(|key| drop(top.remove(*key)));
    }
    for row in all["rows"].as_array_mut().into_iter().flatten() {
        if let Some(row) = row.as_object_mut() {
            added.iter().for_each(|key| drop(row.remove(*key)));
        }
    }
    Ok(all)
}

fn the_page_fits_its_width_works_by_keyboard_and_axe_has_no_findings() -> Result<(), Failed> {
    let views: Vec<View> = serde_json::from_value(seen("views")?.clone())?;
    // Two themes; form, text, map and advice.
    ensure(views.len() == WIDTHS.len() * 8, views.len())?;
    for view in &views {
        ensure(view.scroll_width <= view.width && view.cut.is_empty(), view)?;
        ensure(view.findings.is_empty() && view.failures.is_empty(), view)?;
        // Its script ran: without it the answer keeps its least height.
        ensure(view.height.is_none_or(|height| height > 1000), view)?;
        ensure(
            view.unreachable.is_empty() && !view.theme.is_empty() && !view.tab.is_empty(),
            view,
        )?;
    }
    Ok(())
}

fn a_hostile_link_runs_nothing() -> Result<(), Failed> {
    let found = seen("controls")?;
    ensure(
        found["ran"] == 0 && found["hostile"]["pictures"] == 0,
        found,
    )?;
    ensure(found["hostile"]["toml"] == true, &found["hostile"])?;
    contains(&found["hostile"]["note"], "made with Joulepath 0.0.1")?;
    contains(&found["bomb"], "holds more than 512 kB")?;
    contains(&found["damaged"], "this link is damaged")
}

fn mistakes_are_shown_with_line_and_fix() -> Result<(), Failed> {
    let found = seen("controls")?;
    contains(&found["line"], "Line 5")?;
    contains(&found["line"], "Mbit/s")?;
    for (field, note) in [("field", "Mbit/s"), ("seeds", "from 1 to 1000")] {
        let found = &found[field];
        ensure(
            found["invalid"] == "true" && found["can_run"] == false,
            found,
        )?;
        contains(&found["note"], note)?;
    }
    ensure(
        found["deep"].as_str().is_some_and(|text| text.len() > 10),
        &found["deep"],
    )?;
    contains(&found["policy"], "mptcp")
}

fn a_run_can_be_cancelled() -> Result<(), Failed> {
    let cancelled = &seen("controls")?["cancelled"];
    ensure(cancelled["text"] == "Cancelled.", cancelled)?;
    ensure(
        cancelled["took_ms"].as_f64().is_some_and(|ms| ms < 1000.0),
        cancelled,
    )
}

fn form_text_and_link_are_one_document() -> Result<(), Failed> {
    let found = seen("controls")?;
    for part in ["edited", "stale", "fresh", "link"] {
        ensure(found[part] == true, (part, found))?;
    }
    ensure(
        found["answer"]["title"] == "B # not a comment",
        &found["answer"],
    )
}

fn a_map_and_an_advice_have_the_bytes_of_the_command_line() -> Result<(), Failed> {
    let found = seen("panels")?;
    // LTE's delay in `home-wifi-lte` is 25 ms: a range from its quarter to four times it.
    ensure(
        found["dragged"] == json!(["path.lte.delay", "6.3 ms", "100 ms"]),
        &found["dragged"],
    )?;
    ensure(
        found["map_page"] == true && found["map_link"] == true,
        found,
    )?;
    let [x, y] = [
        "path.wifi.loss=0.025 %..0.4 %:3log",
        "path.lte.delay=6.3 ms..100 ms:3log",
    ];
    let policies = ["--policies", "single:wifi,mptcp"];
    let mut arguments = vec![
        "map",
        "home-wifi-lte",
        "--x",
        x,
        "--y",
        y,
        "--spot-check",
        "1",
        "--json",
    ];
    arguments.extend(policies);
    same(&found["map"], &command_line(&arguments)?)?;

    let wifi = "wifi:rate=20Mbit/s,rtt=30ms,loss=1%,energy=wifi6-2021";
    let rate = found["advice_rate"].as_str().ok_or("there is no rate")?;
    // 30 of 100 steps from 0.1 to 1000 Mbit/s: 0.1 · 10^(4 · 0.3) = 1.58.
    ensure(rate == "1.6", rate)?;
    let lte = format!("lte:rate={rate}Mbit/s,rtt=50ms,loss=0%,energy=lte-2021");
    let expected = command_line(&[
        "advise", "--size", "25MB", "--path", wifi, "--path", &lte, "--json",
    ])?;
    same(&found["advice"], &expected)?;
    contains(&found["advice_words"], "% of the battery")?;
    contains(&found["refused"], "cannot be met")?;
    ensure(
        found["advice_scenario"] == "25 MB over wifi, lte",
        &found["advice_scenario"],
    )
}

fn the_editor_completes_keys_and_values() -> Result<(), Failed> {
    let found = seen("edits")?;
    contains(&found["key"], "jitter = ")?;
    contains(&found["key"], "Variation of the delay")?;
    ensure(found["completed"] == "jitter = ", &found["completed"])?;
    let values = found["values"].as_array().ok_or("there are no values")?;
    let is_wifi = |value: &Value| {
        value
            .as_str()
            .is_some_and(|value| value.starts_with("\"wifi"))
    };
    ensure(
        values.contains(&json!("\"wifi-huang2012\"")) && values.iter().all(is_wifi),
        values,
    )?;
    ensure(found["closed"] == true, found)
}

fn cards_add_and_remove_paths_competitors_and_traces() -> Result<(), Failed> {
    let found = seen("edits")?;
    ensure(found["paths"] == true, found)?;
    ensure(
        found["competitors"].as_f64().is_some_and(|bps| bps > 0.0),
        &found["competitors"],
    )?;
    ensure(found["trace"]["problems"] == "", &found["trace"])?;
    contains(&found["trace"]["note"], "my-drive.trace, 2 kB")?;
    contains(&found["trace"]["note"], "A link holds them.")?;
    ensure(
        found["trace"]["sha"]
            .as_str()
            .is_some_and(|sha| sha.len() == 64),
        &found["trace"],
    )?;
    ensure(found["trace_link"] == true, found)?;
    contains(&found["missing"], "my-drive.trace")
}

fn the_gallery_has_the_papers_claims() -> Result<(), Failed> {
    let found = seen("edits")?;
    // Claims whose comparison has mistakes.
    ensure(found["claims"] == json!([]), &found["claims"])?;
    contains(&found["claim"], "The paper (000, section V")?;
    contains(&found["claim"], "Move the loss, see where it holds.")?;
    ensure(found["claim_map"] == true, found)
}

fn rules_are_a_policy_with_the_command_lines_numbers() -> Result<(), Failed> {
    let found = seen("own")?;
    ensure(
        found["presets"] == json!(["", "Reno", "LIA", "Power-aware"]),
        &found["presets"],
    )?;
    // The policies of the scenario, and the own one.
    let added = json!(["uncoupled", "mptcp", "own"]);
    ensure(
        found["added"] == json!([added, added, added]),
        &found["added"],
    )?;
    ensure(
        found["packets"] == json!(["mptcp[cc=reno]", "own"]),
        &found["packets"],
    )?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("own.rules");
    std::fs::write(&file, found["rules"].as_str().ok_or("there are no rules")?)?;
    let cc = file.to_str().ok_or("the folder is no text")?;
    let policies = "mptcp[cc=reno],own";
    let expected = command_line(&[
        "compare",
        "quick",
        "--cc",
        cc,
        "--policies",
        policies,
        "--seeds",
        "2",
        "--json",
    ])?;
    same(&found["answer"], &expected)?;
    let rows: Value = serde_json::from_str(&expected)?;
    let goodput = |row: usize| &rows["rows"][row]["goodput_bps"]["mean"];
    ensure(
        goodput(0).is_number() && goodput(0) == goodput(1),
        &rows["rows"],
    )?;
    contains(
        &found["as_command"],
        "joulepath compare quick --cc own.rules --policies 'mptcp[cc=reno],own' --seeds 2",
    )?;
    contains(&found["as_command"], "from the file own.rules")?;
    contains(&found["as_python"], "policies=\"mptcp[cc=reno]\"")?;
    contains(&found["as_python"], "left out")?;
    contains(&found["as_rules"], "on_ack: cwnd += 1 / cwnd")?;
    ensure(
        found["huge"].as_f64().is_some_and(|bps| bps > 0.0),
        &found["huge"],
    )?;
    ensure(
        found["winner"] == "Most data per joule: own (your own rules)",
        &found["winner"],
    )?;
    ensure(
        found["removed"] == json!(["mptcp[cc=reno]"]),
        &found["removed"],
    )?;
    contains(&found["without"], "`own` has no rules")
}

fn mistakes_in_rules_are_shown_next_to_them() -> Result<(), Failed> {
    let found = seen("own")?;
    contains(&found["mistake"], "Line 2, column 21")?;
    contains(&found["mistake"], "did you mean `cwnd`?")?;
    ensure(found["off"] == true && found["marked"] == "cwdn", found)
}

fn a_saved_report_opens_its_question() -> Result<(), Failed> {
    let found = seen("own")?;
    let linked = &found["linked"];
    ensure(
        linked["rules"] == found["rules"] && linked["policies"] == "mptcp[cc=reno]",
        linked,
    )?;
    same(
        &linked["json"],
        found["answer"].as_str().ok_or("there is no answer")?,
    )
}

fn the_tab_key_reaches_every_control_in_order() -> Result<(), Failed> {
    let found = seen("keyboard")?;
    let expected = found["expected"]
        .as_array()
        .ok_or("there are no controls")?;
    ensure(
        expected.len() > 30 && found["visited"] == found["expected"],
        found,
    )?;
    ensure(found["back"] == 1, &found["back"])
}

fn keys_choose_axes_complete_and_compare() -> Result<(), Failed> {
    let found = seen("keyboard")?;
    ensure(found["mode"] == true, found)?;
    let axis = found["axis"].as_str().ok_or("there is no axis")?;
    ensure(found["chip"] == format!("Vertical axis: {axis}"), found)?;
    ensure(found["completed"] == "jitter = ", &found["completed"])
}

/// Equal but for the manifest, which has commit and command. Numbers are read to the last bit.
fn same(answer: &Value, expected: &str) -> Result<(), Failed> {
    let told = |text: &str| -> Result<Value, Failed> {
        let mut json: Value = serde_json::from_str(text)?;
        json.as_object_mut()
            .ok_or("the answer is no table")?
            .remove("manifest");
        Ok(json)
    };
    let (answer, expected) = (
        told(answer.as_str().ok_or("there is no answer")?)?,
        told(expected)?,
    );
    ensure(answer == expected, (answer, expected))
}

fn contains(text: &Value, part: &str) -> Result<(), Failed> {
    ensure(
        text.as_str().is_some_and(|text| text.contains(part)),
        (part, text),
    )
}

fn without_commit(json: &str) -> String {
    json.lines()
        .filter(|line| !line.trim_start().starts_with("\"commit\":"))
        .map(|line| format!("{line}\n"))
        .collect()
}

/// What the tests lack on this machine, besides Chromium.
fn lacking() -> Option<String> {
    if !page().is_file() {
        Some("the page: run `make web`".to_owned())
    } else if !program().is_file() {
        Some("the command line: run `cargo build -p joulepath`".to_owned())
    } else {
        None
    }
}

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/web/index.html")
}

/// The command line, built with these tests.
fn program() -> PathBuf {
    let test = std::env::current_exe().expect("a program has a path");
    test.parent()
        .and_then(Path::parent)
        .expect("it is in target/PROFILE/deps")
        .join("joulepath")
}

fn command_line(arguments: &[&str]) -> Result<String, Failed> {
    let output = Command::new(program())
        .args(arguments)
        .stderr(Stdio::piped())
        .output()?;
    ensure(
        output.status.success(),
        String::from_utf8_lossy(&output.stderr),
    )?;
    Ok(String::from_utf8(output.stdout)?)
}

/// The shipped scenarios that are compared, each with its policies.
fn scenarios() -> Result<BTreeMap<String, String>, Failed> {
    #[derive(Deserialize)]
    struct Listed {
        name: String,
        policies: Vec<String>,
    }
    let listed: Vec<Listed> =
        serde_json::from_str(&command_line(&["list", "scenarios", "--json"])?)?;
    let all = is_all();
    let is_chosen = |index: usize, name: &str| {
        !LARGE.contains(&name) && (all || !name.contains('/') || index.is_multiple_of(ONE_IN))
    };
    let most = if all { usize::MAX } else { POLICIES };
    let first = |one: Listed| {
        (
            one.name,
            one.policies[..most.min(one.policies.len())].join(","),
        )
    };
    let chosen = listed
        .into_iter()
        .enumerate()
        .filter(|(index, one)| is_chosen(*index, &one.name));
    Ok(chosen.map(|(_, one)| first(one)).collect())
}

/// True if all scenarios and policies are compared.
fn is_all() -> bool {
    std::env::var_os("JOULEPATH_WEB").is_some_and(|value| value == "all")
}

/// What the harness saw in one of its parts, which runs once, in a browser of its own.
fn seen(part: &str) -> Result<&'static Value, Failed> {
    type Kept = OnceLock<Result<Value, String>>;
    static PARTS: [(&str, Kept); 7] = [
        ("views", Kept::new()),
        ("controls", Kept::new()),
        ("panels", Kept::new()),
        ("edits", Kept::new()),
        ("own", Kept::new()),
        ("keyboard", Kept::new()),
        ("answers", Kept::new()),
    ];
    let (name, kept) = PARTS
        .iter()
        .find(|(name, _)| *name == part)
        .ok_or("the harness has no such part")?;
    browser::once(kept, || drive(name))
}

/// Lets the harness drive the page through one of its parts. They wait for each other, because some
/// measure time.
fn drive(part: &str) -> Result<Value, Failed> {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let since = Instant::now();
    let scenarios: Vec<Value> = scenarios()?
        .iter()
        .map(|(name, policies)| json!({ "name": name, "policies": policies }))
        .collect();
    let plan = json!({ "part": part, "scenarios": scenarios, "widths": WIDTHS });
    let plan = plan.to_string().replace('<', "\\u003c");
    let page = std::fs::read_to_string(page())?;
    let (before, rest) = page
        .split_once("<meta http-equiv")
        .ok_or("the page has no policy")?;
    let (_, after) = rest.split_once('>').ok_or("the page has no policy")?;
    // Its own policy forbids other scripts.
    let checked = format!("{before}<script>{WATCH}</script><script>{AXE}</script>{after}");
    let harness = HARNESS.replacen("/*PLAN*/null", &plan, 1);
    let limit = if is_all() && part == "answers" {
        LIMIT_OF_ALL
    } else {
        LIMIT
    };
    let posted = browser::open(
        &[("/harness", &harness), ("/checked", &checked), ("/", &page)],
        limit,
    )?;
    let mut result: Value = serde_json::from_str(&posted)?;
    eprintln!("{part}: {:.0} s", since.elapsed().as_secs_f64());
    ensure(result["failure"].is_null(), &result["failure"])?;
    Ok(result["seen"].take())
}
