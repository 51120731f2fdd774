use joulepath_model::result::RunResult;

use std::collections::BTreeMap;

use joulepath_model::result::Provenance;

use super::*;

const SEEDS: usize = 2;

/// A scenario with a limit of 1 bit/J whose fastest path has a goodput of 1, so that a policy's
/// efficiency is its share of the limit and its goodput is its work.
fn cell(runs: [(f64, f64); SEEDS]) -> Cell {
    let run = |(bits_per_joule, goodput_bps)| RunResult {
        bits_per_joule,
        goodput_bps,
        ..RunResult::default()
    };
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
    let singles = Singles::of(vec![Some(vec![run((1.0, 1.0)); SEEDS])], &with);
    Cell::of(&runs.map(run), &singles, &with)
}

fn scenario(name: String, family: &str) -> ScenarioRow {
    ScenarioRow {
        title: name.clone(),
        name,
        family: family.into(),
        source: None,
        sha256: String::new(),
        changed: BTreeMap::new(),
        reference_bits_per_joule: 1.0,
        reference_kind: "tcp-reference".into(),
        link_bound_bits_per_joule: None,
        work: "endless".into(),
        deadline_s: None,
        baselines: vec![],
        competing_tcps: 2,
        oracle: None,
    }
}

fn entry(name: &str) -> Entry {
    let parts = format!("what {name} is made of");
    Entry {
        policy: name.into(),
        label: name.into(),
        parts,
        start: Start::Cold,
        baseline: None,
    }
}

fn extent(kind: Kind, seeds: u32) -> Extent {
    Extent {
        kind,
        engine: "packet".into(),
        seeds,
        seeds_beside_tcps: None,
        scenario_seed: (kind == Kind::Ranked).then_some(7),
        random_set: (kind == Kind::Random).then(|| "check".to_owned()),
        first: 1,
        scenarios_of_each: 10,
        sealed: None,
        partial: false,
        oracle: None,
    }
}

fn family(name: &str, columns: &[Metric]) -> FamilyRow {
    FamilyRow {
        name: name.into(),
        what: format!("what {name} is"),
        columns: columns.to_vec(),
    }
}

/// `good` is about twice as good as `bad` and `twin` everywhere, within 5 %; `bad` and `twin` are
/// equal; `absent` is best but has not run on one scenario.
fn ranked() -> Benchmark {
    let entries = ["bad", "good", "twin", "absent"].map(entry);
    let result = |i: usize| {
        let noise = 1.0 + 0.05 * ((i * 7 % 5) as f64 / 2.0 - 1.0);
        let bad = || cell([(0.4, 0.9), (0.42 * noise, 0.9)]);
        let good = cell([(0.8 * noise, 0.9), (0.84, 0.95)]);
        let absent = if i == 3 {
            Err("no such radio".to_owned())
        } else {
            Ok(cell([(1.0, 1.0); SEEDS]))
        };
        let family = if i < 4 { "first" } else { "second" };
        ScenarioResult {
            row: scenario(format!("s{i}"), family),
            cells: vec![Ok(bad()), Ok(good), Ok(bad()), absent],
        }
    };
    let results: Vec<ScenarioResult> = (0..12).map(result).collect();
    let families = ["first", "second"]
        .map(|name| family(name, &[Metric::Score]))
        .to_vec();
    let measured = Measured {
        families,
        entries: &entries,
        results: &results,
        left_out: vec![],
    };
    Benchmark::of(
        Provenance::default(),
        extent(Kind::Ranked, SEEDS as u32),
        measured,
    )
}

#[test]
fn a_clear_difference_makes_two_tiers_and_incomplete_policies_have_none() {
    let found = ranked();
    let order: Vec<(&str, Option<usize>)> = found
        .policies
        .iter()
        .map(|row| (row.entry.policy.as_str(), row.tier))
        .collect();
    assert_eq!(
        order,
        [("good", Some(1)), ("bad", Some(2)), ("absent", None)]
    );
    assert_eq!(
        found.policies[2].missing().collect::<Vec<_>>(),
        [("s3", "no such radio")]
    );
}

#[test]
fn identical_policies_share_a_row() {
    let found = ranked();
    assert_eq!(found.policies[1].also, ["twin"]);
    assert!(
        table(&found, 80, "wider").contains("Same result in every run, so one row: twin as bad.")
    );
}

/// The work of `bad` is 0.9 everywhere, so its score is 0.9 times its share of the limit.
#[test]
fn the_score_is_the_share_of_the_limit_times_the_work() {
    let found = ranked();
    let bad = &found.policies[1];
    let mean = |metric| bad.mean(metric).unwrap();
    assert_eq!(mean(Metric::Work), 0.9);
    assert!((mean(Metric::Score) / mean(Metric::TcpReference) - 0.9).abs() < 1e-3);
    let in_family = &bad.families["second"][&Metric::Score];
    assert!(
        matches!(in_family, OfFamily::Mean { mean } if *mean > 0.3),
        "{in_family:?}"
    );
}

#[test]
fn tables_fit_80_columns_and_the_short_one_has_a_line_for_each_tier() {
    let found = ranked();
    let text = table(&found, 80, "wider");
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    assert!(
        text.contains("scenario seed 7") && text.contains("Missing: absent in s3: no such radio."),
        "{text}"
    );
    let short = short_markdown(&found);
    assert!(
        short.lines().count() <= 12
            && short.contains("| 1 | good |")
            && short.contains("| 2 | bad |")
    );
    let full = markdown(&found);
    assert!(
        full.contains("first (4): what first is;") && full.contains("| absent | – |"),
        "{full}"
    );
}

/// `bad` is inferior in both; `good` has the highest goodput of the complete policies, `absent`
/// more of both.
#[test]
fn the_picture_has_a_dot_for_each_policy_and_a_line_along_the_front() {
    let svg = front(&ranked()).unwrap();
    assert_eq!(svg.matches("<circle").count(), 3);
    assert_eq!(svg.matches("class=\"dot first\"").count(), 1);
    assert_eq!(svg.matches("class=\"guide dashed\"").count(), 1);
    assert!(
        svg.contains(">good</text>") && !svg.contains("NaN"),
        "{svg}"
    );
}

#[test]
fn json_of_ranked_families_has_one_line_for_each_policy_with_its_families_and_scenarios() {
    let text = ranked().json().unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        text.lines()
            .filter(|line| line.contains("\"policy\":"))
            .count(),
        3
    );
    assert_eq!(
        value["policies"][0]["scenarios"]["s0"]["work"]["mean"],
        0.925
    );
    assert_eq!(
        value["policies"][2]["scenarios"]["s3"]["missing"],
        "no such radio"
    );
    assert_eq!(value["scenario_seed"], 7);
}

#[test]
fn the_page_of_ranked_families_has_the_picture_and_every_policy() {
    let page = html(&ranked()).unwrap();
    assert!(
        page.contains("<svg") && page.matches("<th scope=\"row\"").count() == 6,
        "{page}"
    );
}

/// 20 scenarios of two families. `rude` has a higher share of the limit, but competitors keep 0.7
/// in every fifth scenario, and it takes 1.5 shares in every fourth; `absent` did not run on one.
fn random() -> Benchmark {
    let mut entries = ["polite", "rude", "absent"].map(entry).to_vec();
    let realisable = Entry::baseline(Baseline::First, "cubic + minrtt".into());
    entries.extend(
        [realisable]
            .into_iter()
            .chain(Entry::hindsight(Kind::Random)),
    );
    let result = |i: usize| {
        let family = if i.is_multiple_of(2) {
            "f1-bulk"
        } else {
            "f4-competitors"
        };
        let limit = 0.5 + 0.01 * i as f64;
        let made_up = |times: f64, kept: f64, share: f64| {
            Ok(Cell::made_up(&[
                (Metric::TcpReference, times * limit),
                (Metric::Single, times),
                (Metric::Kept, kept),
                (Metric::Share, share),
                (Metric::QuietShare, share),
            ]))
        };
        let rude = made_up(
            1.2,
            if i.is_multiple_of(5) { 0.7 } else { 1.0 },
            if i.is_multiple_of(4) { 1.5 } else { 1.0 },
        );
        let absent = if i == 3 {
            Err("no such radio".to_owned())
        } else {
            made_up(0.9, 1.0, 1.0)
        };
        let row = scenario(format!("{family}-check-{i:04}"), family);
        let first = made_up(if i == 5 { 0.6 } else { 0.8 }, 1.0, 1.0);
        let cells = vec![
            made_up(1.0, 1.0, 0.9),
            rude,
            absent,
            first,
            made_up(1.0, 1.0, 1.0),
        ];
        ScenarioResult { row, cells }
    };
    let results: Vec<ScenarioResult> = (0..20).map(result).collect();
    let families = vec![
        family(
            "f1-bulk",
            &[Metric::TcpReference, Metric::LinkBound, Metric::Single],
        ),
        family(
            "f4-competitors",
            &[Metric::Kept, Metric::Share, Metric::TcpReference],
        ),
    ];
    let measured = Measured {
        families,
        entries: &entries,
        results: &results,
        left_out: vec![],
    };
    Benchmark::of(Provenance::default(), extent(Kind::Random, 1), measured)
}

fn quantiles<'a>(row: &'a Row, family: &str, metric: Metric) -> &'a Quantiles {
    let OfFamily::Quantiles(found) = &row.families[family][&metric] else {
        panic!("{family}")
    };
    found
}

#[test]
fn policies_that_harm_or_take_too_much_are_marked() {
    let found = random();
    let marks: Vec<(bool, bool)> = found
        .policies
        .iter()
        .map(|row| (row.takes_too_much, row.harms))
        .collect();
    let nothing = (false, false);
    assert_eq!(marks, [nothing, (true, true), nothing, nothing, nothing]);
    let rude = found.policies[1].harm.unwrap();
    assert_eq!(
        (rude.beside_tcps, rude.kept_below_090, rude.kept_below_080),
        (20, 4, 4)
    );
    assert_eq!((rude.on_quiet_links, rude.share_above_120), (20, 5));
}

/// The first path has 0.8 of the share of `polite`, and 0.6 on one scenario of ten of the second
/// family. The geometric mean of nine ratios 1.25 and one of 1.667 is 1.2865.
#[test]
fn policies_are_compared_with_the_best_realisable_baseline_of_each_family() {
    let mut found = random();
    let versus =
        |found: &Benchmark, row: usize, family: &str| found.policies[row].versus[family].clone();
    let polite = versus(&found, 0, "f1-bulk");
    assert_eq!(
        (polite.baseline.as_str(), polite.n),
        ("single:FIRST[cc=cubic]", 10)
    );
    assert_eq!(
        (polite.mean.mean, polite.mean.lo, polite.worse),
        (1.25, 1.25, 0.0)
    );
    let polite = versus(&found, 0, "f4-competitors");
    assert_eq!(polite.mean.mean, 1.286);
    assert!(polite.mean.lo >= 1.25 && polite.mean.hi > polite.mean.mean);
    // The best path in hindsight is no baseline that a device can run, so that the first path meets
    // itself.
    let first = versus(&found, 3, "f4-competitors");
    assert_eq!((first.mean.mean, first.worse), (1.0, 0.0));
    let text = table(&found, usize::MAX, "wider");
    assert!(
        text.contains("baseline `single:FIRST[cc=cubic]`") && text.contains("1.29 ±"),
        "{text}"
    );

    found.policies[0].versus.get_mut("f1-bulk").unwrap().worse = 0.3;
    let line = |found: &Benchmark, what: &str| {
        let text = table(found, usize::MAX, "wider");
        text.lines()
            .find(|line| line.starts_with(what))
            .unwrap()
            .to_owned()
    };
    let worse = line(&found, "worse than that baseline");
    assert!(worse.contains("≤ 10") && worse.contains("30 f1"), "{worse}");
    let mean = line(&found, "÷ best realisable baseline");
    assert!(
        mean.contains("> 1.00") && mean.contains("1.25 f1"),
        "{mean}"
    );
}

/// Of `rude`, four of ten shared scenarios keep 0.7.
#[test]
fn targets_count_the_shared_scenarios_with_harm() {
    let mut found = random();
    for scenario in &mut found.scenarios {
        scenario.family = scenario.family.replace("f4-competitors", "f5-shared");
    }
    let text = table(&found, usize::MAX, "wider");
    let line = text
        .lines()
        .find(|line| line.starts_with("f5-shared: scenarios"))
        .unwrap();
    assert!(
        line.contains("95; 0.80") && line.contains("100; 1.00") && line.contains("80; 0.70"),
        "{line}"
    );
    assert!(
        !text.contains("p95 delay ÷ MPTCP's, worst"),
        "streams are not measured\n{text}"
    );
}

/// Limits of `polite` in f1-bulk: 0.50, 0.52, … 0.68. The median is 0.59; the worst 10 % are 0.9 of
/// the way from the first to the second value, 0.518.
#[test]
fn quantiles_are_computed_for_each_family() {
    let found = random();
    let limit = quantiles(&found.policies[0], "f1-bulk", Metric::TcpReference);
    assert_eq!(
        (limit.n, limit.median.mean, limit.worst_10.mean, limit.worst),
        (10, 0.59, 0.518, 0.5)
    );
    assert_eq!(limit.worst_in, "f1-bulk-check-0000");
    let share = quantiles(&found.policies[1], "f4-competitors", Metric::Share);
    assert_eq!((share.n, share.worst), (10, 1.0));
}

#[test]
fn tables_of_random_families_fit_80_columns_and_name_missing_runs() {
    let found = random();
    let text = table(&found, 80, "wider");
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    for what in [
        "10 scenarios of each of 2 families, set check, packet engine, 1 seed each",
        "f1-bulk: what f1-bulk is, 10 scenarios",
        "rude†‡",
        "best path in",
        "first path",
        "Missing: absent in f4-competitors-check-0003: no such radio.",
        "All policies start cold",
        "4 of 20",
    ] {
        assert!(text.contains(what), "{what}\n{text}");
    }
    // The link limit is not measured.
    let line = text
        .lines()
        .find(|line| line.starts_with("polite"))
        .unwrap();
    assert!(line.contains("59 ±5") && line.contains('–'), "{line}");
}

#[test]
fn wide_numbers_stay_separated() {
    let mut found = random();
    for row in &mut found.policies {
        for of_family in row.families.values_mut().flat_map(BTreeMap::values_mut) {
            let OfFamily::Quantiles(quantiles) = of_family else {
                panic!("{of_family:?}")
            };
            (
                quantiles.median.lo,
                quantiles.median.mean,
                quantiles.median.hi,
            ) = (0.0, 9.99, 19.98);
            (quantiles.worst_10.mean, quantiles.worst) = (9.99, 9.99);
        }
    }
    let numbers = |width: usize| -> Vec<String> {
        let text = table(&found, width, "wider");
        assert!(
            text.lines()
                .all(|line| line.chars().count() <= width.max(120)),
            "{text}"
        );
        let line = text
            .lines()
            .filter(|line| line.starts_with("polite"))
            .nth(1)
            .unwrap();
        line.split_whitespace().skip(1).map(str::to_owned).collect()
    };
    let all = "9.99 ±9.99 9.99 9.99 ±9.99 9.99 999 ±999 999 1.29 ±0.06 0";
    assert_eq!(numbers(usize::MAX), all.split(' ').collect::<Vec<_>>());
    // 80 columns have no room for intervals.
    let narrow = table(&found, 80, "wider");
    assert!(
        narrow.lines().all(|line| line.chars().count() <= 80),
        "{narrow}"
    );
    assert!(
        narrow.contains("interval hidden; wider") || narrow.contains("intervals hidden; wider"),
        "{narrow}"
    );
    let plain = numbers(80)
        .into_iter()
        .filter(|part| !part.starts_with('±'));
    assert_eq!(
        plain.collect::<Vec<_>>(),
        ["9.99", "9.99", "9.99", "9.99", "999", "999", "1.29", "0"]
    );
}

#[test]
fn every_page_states_a_sealed_run() {
    let mut found = random();
    found.extent.sealed = Some(Sealed {
        date: "2026-01-02T03:04:05Z".into(),
        commit: "c0ffee".into(),
        entry: "abcdef".into(),
        earlier: 2,
        earlier_here: 1,
        without_result: 3,
        reason: Some("a table was missing".into()),
    });
    for text in [
        table(&found, 80, "wider").replace("\n  ", " "),
        markdown(&found),
        html(&found).unwrap(),
    ] {
        let said = "Sealed scenarios, run on 2026-01-02T03:04:05Z at commit c0ffee; sealed scenarios had \
                    been run 2 times before, 1 of them at this commit, and 3 starts had no result. Reason: a \
                    table was missing.";
        assert!(text.contains(said), "{text}");
    }
    assert!(found.json().unwrap().contains("\"earlier_here\":1"));
}

#[test]
fn pages_contain_the_words_of_the_terminal() {
    let found = random();
    let page = html(&found).unwrap();
    for what in [
        "<h2 id=\"f1-bulk-title\">",
        "rude†‡",
        "what rude is made of",
        "4 of 20",
    ] {
        assert!(page.contains(what), "{what}");
    }
    let page = markdown(&found);
    assert!(
        page.contains("| rude†‡ |") && page.contains("| best path in hindsight |"),
        "{page}"
    );
    let columns = |line: &str| line.matches('|').count();
    let tables = page.split("\n\n").filter(|part| part.starts_with('|'));
    for table in tables {
        let widths: Vec<usize> = table.lines().map(columns).collect();
        assert!(widths.iter().all(|width| *width == widths[0]), "{table}");
    }
}

#[test]
fn json_and_csv_contain_every_scenario_and_unknown_values_are_empty() {
    let found = random();
    let json: serde_json::Value = serde_json::from_str(&found.json().unwrap()).unwrap();
    assert_eq!(
        json["policies"][0]["scenarios"]["f1-bulk-check-0000"]["tcp_reference"],
        0.5
    );
    assert_eq!(
        json["policies"][2]["scenarios"]["f4-competitors-check-0003"]["missing"],
        "no such radio"
    );
    let csv = found.csv().unwrap();
    assert_eq!(csv.lines().count(), 1 + 5 * 20);
    assert_eq!(
        csv.lines().next().unwrap(),
        "random_set,family,scenario,policy,start,baseline,tcp_reference,link_bound,single,time,time_to_mptcp,\
         joules,goodput,kept,share,quiet_share,jain"
    );
    assert!(
        csv.contains("check,f4-competitors,f4-competitors-check-0003,absent,cold,,,,,,,,,,,,"),
        "{csv}"
    );
    assert!(
        csv.contains("check,f1-bulk,f1-bulk-check-0000,polite,cold,,0.5,,1,,,,,1,0.9,0.9,"),
        "{csv}"
    );
}

#[test]
fn hindsight_has_columns_only_if_asked_for() {
    let mut found = random();
    assert!(!found.json().unwrap().contains("oracle"));
    found.extent.oracle = Some(OracleExtent {
        portfolio: "two policies".into(),
        search_runs: None,
    });
    let head = |found: &Benchmark| found.csv().unwrap().lines().next().unwrap().to_owned();
    assert!(head(&found).ends_with(",jain,oracle"), "{}", head(&found));
    let text = table(&found, 80, "wider").replace("\n  ", " ");
    assert!(
        text.contains("chosen in hindsight on each scenario: two policies."),
        "{text}"
    );
    found.extent.oracle.as_mut().unwrap().search_runs = Some(200);
    assert!(
        head(&found).ends_with(",oracle,searched"),
        "{}",
        head(&found)
    );
    let text = table(&found, 80, "wider").replace("\n  ", " ");
    assert!(text.contains("finds in 200 runs per scenario"), "{text}");
}
