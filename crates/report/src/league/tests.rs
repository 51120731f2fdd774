use joulepath_model::result::RunResult;

use super::*;

const SEEDS: usize = 2;

/// A scenario whose limit is 1 bit/J and whose fastest path has a goodput of 1: a policy's efficiency is its
/// share of the limit, its goodput its work.
fn cell(runs: [(f64, f64); SEEDS]) -> Cell {
    let run =
        |(bits_per_joule, goodput_bps)| RunResult { bits_per_joule, goodput_bps, ..RunResult::default() };
    let task = Task::Endless { bottlenecks: vec![vec![0]] };
    let singles = Singles::of(vec![Some(vec![run((1.0, 1.0)); SEEDS])], &task);
    let with = Yardstick { limit: 1.0, limit_kind: "tcp-friendly".into(), task, shared: vec![] };
    Cell::of(&runs.map(run), &singles, &with)
}

fn scenario(name: &str, family: &str) -> ScenarioRow {
    ScenarioRow {
        name: name.into(),
        family: family.into(),
        title: name.into(),
        source: None,
        sha256: String::new(),
        set: BTreeMap::new(),
        limit_bits_per_joule: 1.0,
        limit_kind: "tcp-friendly".into(),
        work: "endless".into(),
        deadline_s: None,
        thriftiest_path: None,
        fastest_path: None,
        competing_tcps: 0,
    }
}

fn player(name: &str) -> Player {
    Player { policy: name.into(), label: name.into(), parts: String::new(), baseline: None }
}

/// `good` is twice as good as `bad` and `twin` everywhere, up to 5 %; `bad` and `twin` are the same; `absent`
/// is the best but has not run on one scenario.
fn league() -> League {
    let players = ["bad", "good", "twin", "absent"].map(player);
    let result = |i: usize| {
        let noise = 1.0 + 0.05 * ((i * 7 % 5) as f64 / 2.0 - 1.0);
        let bad = || cell([(0.4, 0.9), (0.42 * noise, 0.9)]);
        let good = cell([(0.8 * noise, 0.9), (0.84, 0.95)]);
        let absent = if i == 3 { Err("no such radio".to_owned()) } else { Ok(cell([(1.0, 1.0); SEEDS])) };
        let family = if i < 4 { "first" } else { "second" };
        ScenarioResult {
            row: scenario(&format!("s{i}"), family),
            cells: vec![Ok(bad()), Ok(good), Ok(bad()), absent],
        }
    };
    let results: Vec<ScenarioResult> = (0..12).map(result).collect();
    let family = |name: &str| FamilyRow { name: name.into(), what: "invented".into() };
    let played = Played {
        engine: "packet",
        seeds: SEEDS as u32,
        draw_seed: 7,
        families: vec![family("first"), family("second")],
        players: &players,
        results: &results,
        left_out: vec![],
        partial: false,
    };
    League::of(Provenance::default(), played)
}

#[test]
fn a_clear_difference_makes_two_tiers_and_what_is_missing_has_none() {
    let league = league();
    let order: Vec<(&str, Option<usize>)> =
        league.policies.iter().map(|row| (row.policy.as_str(), row.tier)).collect();
    assert_eq!(order, [("good", Some(1)), ("bad", Some(2)), ("absent", None)]);
    assert_eq!(league.policies[2].missing().collect::<Vec<_>>(), [("s3", "no such radio")]);
}

#[test]
fn policies_that_never_differ_are_one_row() {
    let league = league();
    assert_eq!(league.policies[1].also, ["twin"]);
    assert!(table(&league, 80).contains("twin did in every run what bad did"));
}

/// Work of `bad` is 0.9 everywhere, so its score is 0.9 times its share of the limit.
#[test]
fn the_score_is_the_share_of_the_limit_times_the_work() {
    let league = league();
    let bad = &league.policies[1];
    let mean = |summary: &Option<SummaryRow>| summary.as_ref().unwrap().mean.mean;
    assert_eq!(mean(&bad.work), 0.9);
    assert!((mean(&bad.score) / mean(&bad.of_limit) - 0.9).abs() < 1e-3);
    assert!(bad.in_family("second", Metric::Score).unwrap() > 0.3);
}

#[test]
fn the_table_has_80_columns_and_the_short_one_a_line_for_each_tier() {
    let league = league();
    let text = table(&league, 80);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains("draws 7") && text.contains("Missing: absent in s3: no such radio."), "{text}");
    let short = short_markdown(&league);
    assert!(short.lines().count() <= 12 && short.contains("| 1 | good |") && short.contains("| 2 | bad |"));
    let full = full_markdown(&league);
    assert!(full.contains("| first | 4 | invented |") && full.contains("| – | absent |"), "{full}");
}

/// `bad` is beaten in both; `good` has the most goodput that has run, `absent` more of both.
#[test]
fn the_picture_has_a_dot_for_each_policy_and_a_line_where_nobody_is_beaten() {
    let svg = front(&league()).unwrap();
    assert_eq!(svg.matches("<circle").count(), 3);
    assert_eq!(svg.matches("class=\"dot first\"").count(), 1);
    assert_eq!(svg.matches("class=\"staircase\"").count(), 1);
    assert!(svg.contains(">good</text>") && !svg.contains("NaN"), "{svg}");
}

#[test]
fn json_has_one_line_for_each_policy_with_its_families_and_scenarios() {
    let text = league().json().unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(text.lines().filter(|line| line.contains("\"policy\":")).count(), 3);
    assert_eq!(value["policies"][0]["scenarios"]["s0"]["work"]["mean"], 0.925);
    assert_eq!(value["policies"][2]["scenarios"]["s3"]["missing"], "no such radio");
    assert_eq!(value["draw_seed"], 7);
}

#[test]
fn the_page_holds_the_picture_and_every_policy() {
    let page = html(&league()).unwrap();
    assert!(page.contains("<svg") && page.matches("<tr><th scope=\"row\"").count() == 6, "{page}");
}
