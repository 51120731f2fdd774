//! Tests pages in a browser, at 400 and 1600 pixels, light and dark: scripts run, nothing is cut
//! off, every chart has a name, axe finds no violation of accessibility rules.
//!
//! One Chromium loads all pages, each in a frame of its own width, because windows have a minimum
//! width. `JOULEPATH_PAGES=FOLDER` writes them into an existing folder. Without Chromium the tests
//! are reported as ignored; with `JOULEPATH_REQUIRE_BROWSER=1` they fail.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::OnceLock;
use std::time::Duration;

use joulepath_model::metric::Quantity;
use joulepath_model::result::{
    Comparison, Estimate, Manifest, PathResult, Provenance, RunResult, ScenarioRef, Series,
};
use joulepath_report::benchmark::{
    self, Benchmark, Cell, Entry, Extent, FamilyRow, Kind, Metric, ScenarioResult, ScenarioRow,
    Singles, Start, Task, Yardstick,
};
use joulepath_report::study::{
    self, ALONG_METRICS, Along, AlongLine, POLICY_METRICS, Places, Study, StudyRow,
};
use joulepath_report::table::{self, Column, Line, Table};
use joulepath_report::{
    AdvicePage, AdviceRange, AdviceWay, MapAxis, MapPage, Playground, PolicyRuns, StoredResults,
    advice_html, html_with, map_html, summarise,
};
use joulepath_testbed::browser::{self, AXE, Failed, WATCH, ensure};
use serde::Deserialize;

/// Time for all pages.
const LIMIT: Duration = Duration::from_secs(300);
/// Width and theme of each view.
const VIEWS: [(u32, &str); 4] = [
    (400, "light"),
    (400, "dark"),
    (1600, "light"),
    (1600, "dark"),
];
/// Narrower than this, one column.
const NARROW: u32 = 600;
/// More policies than a comparison's page has.
const POLICIES: u32 = 11;
const PATHS: usize = 3;

/// Measurements of a page in a frame.
#[derive(Clone, Debug, Deserialize)]
struct Measured {
    name: String,
    width: u32,
    theme: String,
    /// Errors and warnings of scripts.
    failures: Vec<String>,
    /// Violations of accessibility rules: rule, element and reason.
    findings: Vec<String>,
    /// Width over which the page scrolls sideways.
    scroll_width: u32,
    /// Elements that extend beyond the page outside of a scrolling box.
    cut: Vec<String>,
    /// Accessible names of the charts.
    names: Vec<String>,
    /// Number of charts without a name or focus.
    mute: u32,
    /// All visible text.
    text: String,
    /// Link to the playground, and the comparison in it.
    tried: Option<(String, String)>,
}

fn main() -> ExitCode {
    browser::run(
        || None,
        &[
            (
                "the_faults_of_a_broken_page_are_found",
                the_faults_of_a_broken_page_are_found,
            ),
            ("no_script_fails", no_script_fails),
            ("nothing_is_cut_off", nothing_is_cut_off),
            ("axe_has_no_findings", axe_has_no_findings),
            (
                "every_chart_has_a_name_and_takes_the_focus",
                every_chart_has_a_name_and_takes_the_focus,
            ),
            (
                "no_number_is_missing_its_value",
                no_number_is_missing_its_value,
            ),
            (
                "a_link_opens_the_comparison_in_the_playground",
                a_link_opens_the_comparison_in_the_playground,
            ),
        ],
    )
}

/// Control: the tests find the faults of a broken page.
fn the_faults_of_a_broken_page_are_found() -> Result<(), Failed> {
    let page = of("broken", 400)?;
    ensure(
        page.failures
            .iter()
            .any(|failure| failure.contains("nowhere is not defined")),
        &page.failures,
    )?;
    ensure(
        page.scroll_width > 400 && page.cut == ["DIV.wide"],
        (&page.cut, page.scroll_width),
    )?;
    ensure(
        page.findings
            .iter()
            .any(|finding| finding.starts_with("html-has-lang")),
        &page.findings,
    )?;
    ensure(page.mute == 1, page.mute)
}

fn no_script_fails() -> Result<(), Failed> {
    pages()?
        .iter()
        .try_for_each(|page| ensure(page.failures.is_empty(), page))
}

fn nothing_is_cut_off() -> Result<(), Failed> {
    let fits = |page: &Measured| page.scroll_width <= page.width && page.cut.is_empty();
    pages()?.iter().try_for_each(|page| {
        ensure(
            fits(page),
            (&page.name, page.width, page.scroll_width, &page.cut),
        )
    })
}

fn axe_has_no_findings() -> Result<(), Failed> {
    let clean = |page: &Measured| {
        ensure(
            page.findings.is_empty(),
            (&page.name, page.width, &page.theme, &page.findings),
        )
    };
    pages()?.iter().try_for_each(clean)
}

fn every_chart_has_a_name_and_takes_the_focus() -> Result<(), Failed> {
    for page in pages()? {
        ensure(page.mute == 0, (&page.name, page.mute))?;
        let least = match page.name.as_str() {
            // Five quantities over time; two policies on a wide screen.
            "comparison" if page.width > NARROW => 10,
            "comparison" => 5,
            // One policy equals the first everywhere; a sentence replaces its map.
            "map" => POLICIES as usize - 1,
            "advice" | "benchmark" => 1,
            "search" => 5,
            // Energy and goodput along a range; along words they are lists.
            "study" => 2,
            // Its bars are lists.
            _ => 50,
        };
        ensure(
            page.names.len() >= least,
            (&page.name, page.width, page.names.len()),
        )?;
    }
    Ok(())
}

fn no_number_is_missing_its_value() -> Result<(), Failed> {
    for page in pages()? {
        let all = page.names.join("\n") + &page.text;
        for wrong in ["NaN", "undefined", "Infinity", "[object Object]"] {
            ensure(!all.contains(wrong), (&page.name, wrong))?;
        }
    }
    Ok(())
}

fn a_link_opens_the_comparison_in_the_playground() -> Result<(), Failed> {
    for page in pages()? {
        let (is_comparison, tried) = (page.name == "comparison", &page.tried);
        ensure(tried.is_some() == is_comparison, (&page.name, tried))?;
        let Some((link, question)) = tried else {
            continue;
        };
        ensure(
            link.starts_with("https://example.org/web/#v=0.1.0&s="),
            link,
        )?;
        ensure(question == QUESTION, question)?;
    }
    Ok(())
}

/// All pages but the broken one.
fn pages() -> Result<Vec<Measured>, Failed> {
    Ok(measured()?
        .iter()
        .filter(|page| page.name != "broken")
        .cloned()
        .collect())
}

fn of(name: &str, width: u32) -> Result<Measured, Failed> {
    let found = measured()?
        .iter()
        .find(|page| page.name == name && page.width == width);
    found
        .cloned()
        .ok_or_else(|| format!("no page {name} of {width} pixels").into())
}

fn measured() -> Result<&'static [Measured], Failed> {
    static ALL: OnceLock<Result<Vec<Measured>, String>> = OnceLock::new();
    browser::once(&ALL, measure).map(Vec::as_slice)
}

/// Loads every page at every width and records the measurements.
const PROBE: &str = r#"<!doctype html><meta charset="utf-8"><body><script>
const pages = PAGES;
const WATCH = WATCHES;
const rest = ms => new Promise(done => setTimeout(done, ms));
const nameOf = node => `${node.tagName}.${[...node.classList].join(".")}`;
/** The link to the playground, and the comparison in it. */
async function tried(page) {
  const link = page.querySelector("[id=try]:not([hidden]) a")?.href;
  if (!link) return null;
  const text = atob(link.split("&s=")[1].replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(text, letter => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return [link, await new Response(stream).text()];
}
async function look({ name, width, theme, html }) {
  const frame = document.body.appendChild(document.createElement("iframe"));
  frame.style.cssText = `border: 0; height: 800px; width: ${width}px`;
  const loaded = new Promise(done => { frame.onload = done; });
  frame.srcdoc = html.replace("<head>", WATCH);
  await loaded;
  const page = frame.contentDocument;
  page.documentElement.dataset.theme = theme;
  for (const experiment of page.querySelectorAll("details.experiment")) experiment.open = true;
  await rest(100);
  const charts = [...page.querySelectorAll(".plot, svg.heat")];
  const isNamed = chart =>
    chart.getAttribute("role") === "img" && chart.getAttribute("aria-label")
    && (chart.tabIndex === 0 || chart.matches(".square"));
  const isOut = node =>
    node.getBoundingClientRect().right > width + 1 && !node.closest(".scroll, .unseen, svg");
  const runOnly = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"];
  const rules = { runOnly, resultTypes: ["violations"] };
  const parts = { include: [["html"]], exclude: [[".plot > svg"]] };
  // Rules of colour depend on the theme, others on the width: long pages are checked once for each.
  const isChecked = html.length < 250_000 || (width < 1000) === (theme === "light");
  const { violations } = isChecked ? await frame.contentWindow.axe.run(parts, rules) : { violations: [] };
  const reasons = ({ id, nodes }) => nodes.slice(0, 3)
    .map(node => `${id} (${nodes.length}): ${node.html.slice(0, 200)} ${node.failureSummary}`);
  const found = {
    name, width, theme,
    findings: violations.flatMap(reasons),
    failures: frame.contentWindow.failures,
    scroll_width: page.documentElement.scrollWidth,
    cut: [...page.body.querySelectorAll("*")].filter(isOut).map(nameOf).slice(0, 5),
    names: charts.map(chart => chart.getAttribute("aria-label") ?? ""),
    mute: charts.filter(chart => !isNamed(chart)).length,
    text: page.body.innerText,
    tried: await tried(page),
  };
  frame.remove();
  return found;
}
(async () => {
  const all = [];
  for (const page of pages) all.push(await look(page));
  await fetch("/done", { method: "POST", body: JSON.stringify(all) });
})();
</script>"#;

fn measure() -> Result<Vec<Measured>, Failed> {
    let framed = |(name, html): &(&str, String)| {
        VIEWS.map(|(width, theme)| {
            serde_json::json!({ "name": name, "width": width, "theme": theme, "html": html })
        })
    };
    let all = all_pages();
    if let Some(folder) = std::env::var_os("JOULEPATH_PAGES").map(PathBuf::from) {
        let write = |(name, html): &(&str, String)| {
            std::fs::write(folder.join(name).with_extension("html"), html)
        };
        all.iter().try_for_each(write)?;
    }
    let frames: Vec<_> = all.iter().flat_map(framed).collect();
    let json = |value: &serde_json::Value| value.to_string().replace('<', "\\u003c");
    let watch = format!("<head><script>{WATCH}</script><script>{AXE}</script>");
    let probe = PROBE.replacen("PAGES", &json(&frames.into()), 1).replacen(
        "WATCHES",
        &json(&watch.into()),
        1,
    );
    let posted = browser::open(&[("/", &probe)], LIMIT)?;
    Ok(serde_json::from_str(&posted)?)
}

fn all_pages() -> Vec<(&'static str, String)> {
    let shipped = |file: &str| {
        let file = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("../../results")
            .join(file);
        let json = std::fs::read_to_string(file).expect("the results are in the repository");
        StoredResults::parse(&json)
            .and_then(|stored| stored.html())
            .expect("the results are a page")
    };
    let playground = Playground {
        address: "https://example.org/web/",
        question: QUESTION,
    };
    vec![
        (
            "comparison",
            html_with(&comparison(), Some(playground)).expect("a comparison is a page"),
        ),
        ("map", map_html(&map()).expect("a map is a page")),
        (
            "advice",
            advice_html(&advice()).expect("an advice is a page"),
        ),
        (
            "benchmark",
            benchmark::html(&ranked()).expect("a benchmark is a page"),
        ),
        ("reproduction", shipped("reproduction/full.json")),
        ("search", shipped("claims.json")),
        ("study", study::html(&study()).expect("a study is a page")),
        ("broken", BROKEN.to_owned()),
    ]
}

/// As many policies as the comparison, in two engines, along a range and along words.
fn study() -> Study {
    let estimate = |mean: f64| {
        Some(Estimate {
            mean,
            lo: 0.95 * mean,
            hi: 1.05 * mean,
        })
    };
    let row = |engine: &str, policy: u32| StudyRow {
        engine: engine.into(),
        policy: label(policy),
        runs: 123_456,
        failed: 78,
        estimates: POLICY_METRICS
            .into_iter()
            .zip(
                [
                    4e-7 - 1e-8 * f64::from(policy),
                    2.5e6 + 1e5 * f64::from(policy),
                    8e6,
                    12.3,
                ]
                .map(estimate),
            )
            .collect(),
        ratio: Some((1.0 + 0.1 * f64::from(policy), None)),
    };
    let line = |policy: u32| AlongLine {
        policy: label(policy),
        estimates: (0..8)
            .map(|i| {
                let joules_per_bit = estimate(4e-7 + 1e-8 * f64::from(i * policy));
                let goodput_bps = (i != 3).then(|| 8e6 - 1e5 * f64::from(i));
                let both = [joules_per_bit, goodput_bps.and_then(estimate)];
                ALONG_METRICS.into_iter().zip(both).collect()
            })
            .collect(),
    };
    let along = |engine: &str, keys: &[&str], places: Places| Along {
        engine: engine.into(),
        keys: keys.iter().map(|&key| key.into()).collect(),
        places,
        lines: (0..POLICIES).map(line).collect(),
    };
    let losses = (0..8).map(|i| 0.001 * 1.9_f64.powi(i)).collect();
    let words = (0..8)
        .map(|i| format!("trace-of-a-drive-{i}.txt"))
        .collect();
    let range = Places::Numbers {
        quantity: Quantity::Share,
        log: true,
        values: losses,
    };
    Study {
        title: "Loss and traces in a title that is long enough to be wrapped on a phone".into(),
        scenario: "three.toml".into(),
        design: "latin-hypercube",
        points: 65_536,
        runs: 1_441_792,
        done: 1_000_000,
        rows: ["packet", "fluid"]
            .into_iter()
            .flat_map(|engine| (0..POLICIES).map(move |policy| row(engine, policy)))
            .collect(),
        along: vec![
            along(
                "packet",
                &["path.wifi.loss", "path.lte.loss", "path.umts.loss"],
                range,
            ),
            along("fluid", &["path.wifi.rate"], Places::Texts(words)),
        ],
        failures: vec![("the path's rate is no number with a unit ".repeat(8), 78)],
        command: "joulepath study report sweep".into(),
        version: "0.1.0".into(),
        commit: "33b56abc0ffee".into(),
    }
}

/// As many policies as the real benchmark, on four scenarios.
fn ranked() -> Benchmark {
    let entry = |i: u32| Entry {
        policy: format!("p{i}"),
        label: format!("MPTCP [cc=controller-{i}] (recon.)"),
        parts: "reno + minrtt".into(),
        start: Start::Cold,
        baseline: None,
    };
    let entries: Vec<Entry> = (0..30).map(entry).collect();
    let with = Yardstick {
        kind: Kind::Ranked,
        limit: 1.0,
        reference_kind: "tcp-reference".into(),
        link_bound: None,
        task: Task::Endless {
            bottlenecks: vec![vec![0]],
        },
        shared: vec![],
    };
    let run = |bits_per_joule, goodput_bps| RunResult {
        bits_per_joule,
        goodput_bps,
        ..RunResult::default()
    };
    let singles = Singles::of(vec![Some(vec![run(1.0, 1.0)])], &with);
    let cell = |i: u32, s: u32| {
        Ok(Cell::of(
            &[run(
                0.3 + 0.02 * f64::from(i * 7 % 30),
                1.6 - 0.03 * f64::from(i + s % 3),
            )],
            &singles,
            &with,
        ))
    };
    let result = |s: u32| ScenarioResult {
        row: ScenarioRow {
            name: format!("bulk-1-{s:02}"),
            family: "bulk".into(),
            title: "WiFi + LTE".into(),
            source: None,
            sha256: String::new(),
            changed: BTreeMap::new(),
            reference_bits_per_joule: 1.0,
            reference_kind: "tcp-reference".into(),
            link_bound_bits_per_joule: None,
            work: "endless".into(),
            deadline_s: None,
            baselines: vec![],
            competing_tcps: 0,
            oracle: None,
        },
        cells: (0..30).map(|i| cell(i, s)).collect(),
    };
    let results: Vec<ScenarioResult> = (0..4).map(result).collect();
    let family = FamilyRow {
        name: "bulk".into(),
        what: "data without end".into(),
        columns: vec![Metric::Score],
    };
    let extent = Extent {
        kind: Kind::Ranked,
        engine: "packet".into(),
        seeds: 1,
        seeds_beside_tcps: None,
        scenario_seed: Some(1),
        random_set: None,
        first: 1,
        scenarios_of_each: 4,
        sealed: None,
        partial: false,
        oracle: None,
    };
    let measured = benchmark::Measured {
        families: vec![family],
        entries: &entries,
        results: &results,
        left_out: vec![],
    };
    Benchmark::of(Provenance::default(), extent, measured)
}

/// A comparison in a link to the playground.
const QUESTION: &str =
    r#"{"name":"three.toml","toml":"title = \"<b>\"","policies":"mptcp","seeds":12}"#;

const BROKEN: &str = "<!doctype html><html><head></head><body>\
    <div class=\"wide\" style=\"width: 2000px\">wide</div><div class=\"plot\"></div>\
    <script>nowhere();</script></body></html>";

fn label(policy: u32) -> String {
    format!("MPTCP [cc=controller-{policy},with=an-option-that-is-long] (recon.)")
}

/// Many policies with long names, and a TCP competitor.
fn comparison() -> Comparison {
    let seeds: Vec<u64> = (1..=12).collect();
    let scenario = ScenarioRef {
        title: "Three radios in a title that is long enough to be wrapped on a phone".into(),
        file: "three.toml".into(),
        source: Some("000, section V, table 1".into()),
        duration_s: 60.0,
        paths: ["wifi", "lte", "umts"].map(String::from).to_vec(),
        workload: "bulk".into(),
        rivals: 1,
    };
    let policies = (0..POLICIES).map(|policy| PolicyRuns {
        policy: format!("p{policy}"),
        label: label(policy),
        parts: "lia + minrtt".into(),
        uncoupled: policy == 0,
        runs: seeds.iter().map(|&seed| run(policy, seed)).collect(),
    });
    Comparison {
        rows: summarise(&scenario, &[], policies.collect()),
        scenario,
        engine: "packet".into(),
        seeds: seeds.len() as u32,
        manifest: Manifest {
            scenario_sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
                .into(),
            version: "0.1.0".into(),
            commit: "33b56abc0ffee".into(),
            seeds,
            command: "joulepath compare three.toml --policies ".to_owned() + &"p,".repeat(60),
        },
        references: vec![],
        notes: vec![],
        background: None,
        partial: false,
    }
}

fn run(policy: u32, seed: u64) -> RunResult {
    let goodput_bps = 2.3456e6 - 0.1e6 * f64::from(policy) + 0.05e6 * (seed % 5) as f64;
    let path = |name: &str| PathResult {
        name: name.into(),
        share: 1.0 / PATHS as f64,
        goodput_bps: goodput_bps / PATHS as f64,
        energy_j: 50.0,
        segments: 1000,
        retransmissions: 20,
        timeouts: 1,
        mean_rtt_s: Some(0.1),
        mean_cwnd: 12.3,
        loss_event_rate: 0.01,
    };
    let by_path = |of: f64| {
        vec![
            (0..120)
                .map(|i| of * (1.0 + f64::from(i % 7) / 7.0))
                .collect();
            PATHS
        ]
    };
    RunResult {
        seed,
        measured_s: 60.0,
        goodput_bps,
        energy_j: 150.0,
        power_w: 2.5,
        bits_per_joule: 60.0 * goodput_bps / 150.0,
        paths: ["wifi", "lte", "umts"].map(path).to_vec(),
        competitors_bps: 1.5e6,
        connections_bps: vec![goodput_bps],
        series: Some(Series {
            time_s: (1..=120).map(|i| f64::from(i) / 2.0).collect(),
            goodput_bps: by_path(goodput_bps),
            cwnd: by_path(10.0),
            rtt_s: by_path(0.1),
            queue: by_path(5.0),
            power_w: by_path(0.8),
            ..Series::default()
        }),
        ..RunResult::default()
    }
}

fn map() -> MapPage {
    let points = 12;
    let axis = |title: &str, values: &[&str]| MapAxis {
        title: title.into(),
        values: values.iter().map(|&value| value.into()).collect(),
    };
    MapPage {
        title: "WiFi + LTE".into(),
        answer: "Best: policy 0 at 9 % of the points.".into(),
        chips: vec!["quick".into()],
        metric: "bits per joule".into(),
        more_is_better: true,
        x: axis("path.wifi.loss", &["0.1 %", "0.3 %", "1 %", "3 %"]),
        y: axis("path.lte.delay", &["5 ms", "15 ms", "50 ms"]),
        policies: (0..POLICIES).map(label).collect(),
        values: (0..POLICIES)
            .map(|p| {
                (0..points)
                    .map(|i| Some(f64::from(1 + (p + i) % 7)))
                    .collect()
            })
            .collect(),
        best: (0..points as usize)
            .map(|i| Some(i % POLICIES as usize))
            .collect(),
        clear: (0..points).map(|i| i % 3 != 0).collect(),
        all_tie: (0..points).map(|i| i == 6).collect(),
        checked: vec![(1, Some(2)), (3, None)],
        regions: regions(),
        notes: vec!["Capital: the best.".into()],
        command: "joulepath map quick".into(),
        version: "0.1.0".into(),
        commit: "33b56abc0ffee".into(),
        partial: false,
    }
}

/// A line for each policy.
fn regions() -> Table {
    let line = |policy: u32| {
        let cells = [
            table::Cell::text(format!("policy {policy}")),
            table::Cell::count(9),
        ];
        Line::new(cells).swatch(policy as usize).badge("A", true)
    };
    Table::new([Column::words("policy"), Column::numbers("best", "%")])
        .with((0..POLICIES).map(line))
}

/// More sets of interfaces than colours.
fn advice() -> AdvicePage {
    let way = |set: u32| AdviceWay {
        interfaces: format!("interface-{set} + another-one"),
        split: "67.8/32.2".into(),
        rates: "19.5/9.73".into(),
        time: format!("{}", 2 + set),
        energy: format!("{}", 30 - set),
        seconds: f64::from(2 + set),
        joules: f64::from(30 - set),
        is_best: set == 3,
    };
    AdvicePage {
        title: "10 MB over wifi, lte".into(),
        chips: vec!["within 3 s".into()],
        reason: "Use wifi and lte together: 18.3 J within the deadline of 3 s.".into(),
        ways: (0..10).map(way).collect(),
        line: (0..10)
            .map(|set| [f64::from(2 + set), f64::from(30 - set)])
            .collect(),
        deadline_s: Some(5.0),
        ranges: vec![AdviceRange {
            sizes: "any".into(),
            interfaces: "wifi + lte".into(),
        }],
        paths: Table::new([Column::words("path"), Column::words("energy")]).with([Line::new(
            ["wifi", "137.01 mW/Mbps down, 283.17 mW/Mbps up"].map(table::Cell::text),
        )]),
        notes: vec!["Joules are modelled, not measured.".into()],
        command: "joulepath advise --size 10MB ".to_owned() + &"--path wifi ".repeat(30),
        version: "0.1.0".into(),
        commit: "33b56abc0ffee".into(),
    }
}
