//! Tests the packet view of the playground (`make web`) and the pictures of charts in headless
//! Chromium, through the page's own controls.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::OnceLock;
use std::time::Duration;

use joulepath_testbed::browser::{AXE, Failed, WATCH, ensure, once, open, run};
use serde_json::Value;

const HARNESS: &str = include_str!("packets.html");
/// Time for everything in the browser.
const LIMIT: Duration = Duration::from_secs(300);
/// Claims that the user wants little motion.
const STILL: &str = "const asked = matchMedia; window.matchMedia = query => \
    query.includes(\"reduced-motion\") ? { matches: true } : asked.call(window, query);";
/// Half a unit of the last place of joules on the page.
const ROUNDING_J: f64 = 0.005_001;

fn main() -> ExitCode {
    run(
        || (!page().is_file()).then(|| "the page: run `scripts/web.py`".to_owned()),
        &[
            (
                "the_packets_end_with_the_joules_of_the_answer",
                the_packets_end_with_the_joules_of_the_answer,
            ),
            (
                "keys_and_controls_move_the_time",
                keys_and_controls_move_the_time,
            ),
            (
                "reduced_motion_plays_nothing_by_itself",
                reduced_motion_plays_nothing_by_itself,
            ),
            (
                "packets_fit_every_width_and_axe_has_no_findings",
                packets_fit_every_width_and_axe_has_no_findings,
            ),
            (
                "several_connections_are_refused_with_the_reason",
                several_connections_are_refused_with_the_reason,
            ),
            (
                "packets_are_saved_as_captures",
                packets_are_saved_as_captures,
            ),
            (
                "charts_are_copied_as_pictures",
                charts_are_copied_as_pictures,
            ),
            (
                "thousands_of_packets_are_drawn",
                thousands_of_packets_are_drawn,
            ),
        ],
    )
}

fn the_packets_end_with_the_joules_of_the_answer() -> Result<(), Failed> {
    let seen = &seen()?["moves"];
    let rows = seen["answer"]["rows"].as_array().ok_or("no rows")?;
    for (pane, policy) in ["mptcp", "joule"].into_iter().enumerate() {
        let row = rows
            .iter()
            .find(|row| row["policy"] == policy)
            .ok_or("no row")?;
        let expected = row["energy_j"]["mean"].as_f64().ok_or("no energy")?;
        let shown = seen["joules"][pane].as_f64().ok_or("no joules")?;
        ensure(
            (shown - expected).abs() < ROUNDING_J,
            (policy, shown, expected),
        )?;
        ensure(
            seen["idle"][pane] == "idle" && seen["waiting"][pane] == 0,
            &seen["idle"],
        )?;
    }
    Ok(())
}

fn keys_and_controls_move_the_time() -> Result<(), Failed> {
    let seen = &seen()?["moves"];
    ensure(seen["playing"] == true && seen["paused"] == true, seen)?;
    // A step is a tenth of a second of the picture's time.
    ensure(
        seen["step"]
            .as_f64()
            .is_some_and(|step| (step - 0.01).abs() < 0.0015),
        &seen["step"],
    )?;
    ensure(
        seen["scrubbed"] == 2.0 && seen["window"].as_u64() > Some(0),
        &seen["scrubbed"],
    )?;
    let drawn = seen["drawn"].as_array().ok_or("no drawings")?;
    ensure(
        drawn.len() == 6 && drawn.iter().all(|one| one == true),
        drawn,
    )
}

fn reduced_motion_plays_nothing_by_itself() -> Result<(), Failed> {
    let seen = &seen()?["still"];
    ensure(seen["playing"] == false && seen["seconds"] == 0.0, seen)?;
    // 2.5 s at one change per second.
    ensure(
        seen["instants"]
            .as_u64()
            .is_some_and(|count| (2..=4).contains(&count)),
        seen,
    )
}

fn packets_fit_every_width_and_axe_has_no_findings() -> Result<(), Failed> {
    let seen = &seen()?["moves"];
    let views = seen["views"].as_array().ok_or("no views")?;
    ensure(views.len() == 8, views.len())?;
    for view in views {
        let is_within = view["scroll_width"].as_u64() <= view["width"].as_u64();
        let is_whole =
            view["cut"] == Value::Array(vec![]) && view["findings"] == Value::Array(vec![]);
        ensure(is_within && is_whole, view)?;
    }
    ensure(seen["failures"] == Value::Array(vec![]), &seen["failures"])
}

fn packets_are_saved_as_captures() -> Result<(), Failed> {
    let captures = &seen()?["moves"]["captures"];
    for end in 0..2 {
        let capture = &captures[end];
        // The type of the first block of pcapng.
        let magic = capture["magic"] == serde_json::json!([0x0A, 0x0D, 0x0D, 0x0A]);
        ensure(magic && capture["bytes"].as_u64() > Some(100_000), captures)?;
    }
    Ok(())
}

fn several_connections_are_refused_with_the_reason() -> Result<(), Failed> {
    let refusal = &seen()?["moves"]["refusal"];
    ensure(
        refusal
            .as_str()
            .is_some_and(|text| text.contains("one connection")),
        refusal,
    )
}

fn charts_are_copied_as_pictures() -> Result<(), Failed> {
    let seen = &seen()?["moves"];
    let svg = seen["svg"].as_str().unwrap_or_default();
    let is_alone = !svg.contains("foreignObject") && !svg.contains("var(--");
    ensure(svg.starts_with("<svg") && is_alone, svg)?;
    for row in seen["answer"]["rows"].as_array().ok_or("no rows")? {
        ensure(
            row["label"]
                .as_str()
                .is_some_and(|label| svg.contains(label)),
            (&row["label"], svg),
        )?;
    }
    let png = &seen["png"];
    ensure(
        png["magic"] == serde_json::json!([0x89, 0x50, 0x4e, 0x47]),
        png,
    )?;
    ensure(png["bytes"].as_u64() > Some(2_000), png)
}

/// Prints the time of a drawing with its numbers; a frame of 60 in a second has 16.7 ms. It is no
/// condition, because other programs delay it.
fn thousands_of_packets_are_drawn() -> Result<(), Failed> {
    let seen = &seen()?["crowded"];
    let times = seen["ms"].as_array().ok_or("no times")?;
    let mut times: Vec<f64> = times.iter().filter_map(Value::as_f64).collect();
    times.sort_by(f64::total_cmp);
    ensure(
        times.len() == 40 && seen["packets"].as_u64() >= Some(5_000),
        seen,
    )?;
    eprintln!(
        "{} packets: least {:.1}, median {:.1} ms for a drawing",
        seen["packets"], times[0], times[20]
    );
    Ok(())
}

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/web/index.html")
}

/// What the harness saw.
fn seen() -> Result<&'static Value, Failed> {
    static SEEN: OnceLock<Result<Value, String>> = OnceLock::new();
    once(&SEEN, || {
        let page = std::fs::read_to_string(page())?;
        let (before, rest) = page
            .split_once("<meta http-equiv")
            .ok_or("the page has no policy")?;
        let (_, after) = rest.split_once('>').ok_or("the page has no policy")?;
        // Its own policy forbids other scripts.
        let checked = format!("{before}<script>{WATCH}</script><script>{AXE}</script>{after}");
        let still = format!("{before}<script>{STILL}</script>{after}");
        let posted = open(
            &[
                ("/harness", HARNESS),
                ("/checked", &checked),
                ("/still", &still),
            ],
            LIMIT,
        )?;
        let seen: Value = serde_json::from_str(&posted)?;
        ensure(seen["failure"].is_null(), &seen["failure"])?;
        Ok(seen)
    })
}
