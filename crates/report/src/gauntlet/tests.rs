use super::*;

fn contender(name: &str) -> Contender {
    Contender {
        policy: name.into(),
        label: name.into(),
        parts: format!("what {name} is made of"),
        start: Start::Cold,
        is_single: false,
    }
}

fn draw(family: &str, number: usize) -> DrawRow {
    DrawRow {
        name: format!("{family}-check-{number:04}"),
        family: family.into(),
        title: "two radios".into(),
        sha256: String::new(),
        limit_bits_per_joule: 1.0,
        link_limit_bits_per_joule: None,
        deadline_s: None,
        best_path: Some("single:a".into()),
        competing_tcps: 2,
    }
}

/// 20 draws of two families. `rude` has more of the limit, but competitors keep 0.7 in every fifth draw, and
/// it takes 1.5 in every fourth; `absent` did not run in one.
fn gauntlet() -> Gauntlet {
    let contenders = [contender("polite"), contender("rude"), contender("absent"), Contender::best_path()];
    let result = |i: usize| {
        let family = if i.is_multiple_of(2) { "f1-bulk" } else { "f4-competitors" };
        let limit = 0.5 + 0.01 * i as f64;
        let made_up = |times: f64, kept: f64, share: f64| {
            Ok(Measures::made_up(&[
                (Metric::Limit, times * limit),
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
        let absent = if i == 3 { Err("no such radio".to_owned()) } else { made_up(0.9, 1.0, 1.0) };
        let row = draw(family, i);
        DrawResult { row, cells: vec![made_up(1.0, 1.0, 0.9), rude, absent, made_up(1.0, 1.0, 1.0)] }
    };
    let results: Vec<DrawResult> = (0..20).map(result).collect();
    let family = |name: &str, judged_by: Vec<Metric>| FamilyRow {
        name: name.into(),
        what: format!("what {name} is"),
        judged_by,
    };
    let played = Played {
        engine: "packet",
        range: "check",
        first_draw: 1,
        draws: 10,
        seeds: 1,
        seal: None,
        families: vec![
            family("f1-bulk", vec![Metric::Limit, Metric::Link, Metric::Single]),
            family("f4-competitors", vec![Metric::Kept, Metric::Share, Metric::Limit]),
        ],
        contenders: &contenders,
        results: &results,
        left_out: vec![],
        partial: false,
    };
    Gauntlet::of(Provenance::default(), played)
}

#[test]
fn who_harms_and_who_takes_too_much_is_marked() {
    let found = gauntlet();
    let marks: Vec<(bool, bool)> =
        found.contenders.iter().map(|row| (row.takes_too_much, row.harms)).collect();
    assert_eq!(marks, [(false, false), (true, true), (false, false), (false, false)]);
    let rude = found.contenders[1].beside;
    assert_eq!((rude.beside_tcps, rude.kept_below_090, rude.kept_below_080), (20, 4, 4));
    assert_eq!((rude.on_quiet_links, rude.share_above_120, rude.worse_than_single), (20, 5, 0));
    // 0.9 of the best single path is more than 5 % worse, in each of the 19 draws in which it ran.
    let absent = found.contenders[2].beside;
    assert_eq!((absent.beside_single, absent.worse_than_single), (19, 19));
}

/// Limits of `polite` in f1-bulk: 0.50, 0.52, … 0.68: the median is 0.59, the tenth 0.9 of the way from the
/// first to the second, 0.518.
#[test]
fn median_tenth_and_worst_are_those_of_the_family() {
    let found = gauntlet();
    let limit = &found.contenders[0].families["f1-bulk"][&Metric::Limit];
    assert_eq!((limit.n, limit.median.mean, limit.p10.mean, limit.worst), (10, 0.59, 0.518, 0.5));
    assert_eq!(limit.worst_in, "f1-bulk-check-0000");
    let share = &found.contenders[1].families["f4-competitors"][&Metric::Share];
    assert_eq!((share.n, share.worst), (10, 1.0));
}

#[test]
fn tables_have_80_columns_and_say_what_is_missing() {
    let found = gauntlet();
    let text = table(&found, 80);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    for what in [
        "10 draws each of 2 families, range check, packet engine, 1 seed each",
        "f1-bulk: what f1-bulk is, 10 draws",
        "rude†‡",
        "best path alone",
        "Missing: absent in f4-competitors-check-0003: no such radio.",
        "All start cold",
        "4 of 20",
    ] {
        assert!(text.contains(what), "{what}\n{text}");
    }
    // The link limit is not measured.
    let line = text.lines().find(|line| line.starts_with("polite")).unwrap();
    assert!(line.contains("59±") && line.contains('–'), "{line}");
}

#[test]
fn the_widest_numbers_stay_apart() {
    let mut found = gauntlet();
    for contender in &mut found.contenders {
        for quantiles in contender.families.values_mut().flat_map(BTreeMap::values_mut) {
            (quantiles.median.lo, quantiles.median.mean, quantiles.median.hi) = (0.0, 9.99, 19.98);
            (quantiles.p10.mean, quantiles.worst) = (9.99, 9.99);
        }
    }
    let text = table(&found, 80);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let line = text.lines().filter(|line| line.starts_with("polite")).nth(1).unwrap();
    let parts: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(
        parts[1..],
        ["9.99±9.99", "9.99", "9.99", "9.99±9.99", "9.99", "9.99", "999±999", "999", "999"]
    );
}

#[test]
fn a_seal_is_said_on_every_page() {
    let mut found = gauntlet();
    found.seal = Some(Seal {
        date: "2026-01-02T03:04:05Z".into(),
        commit: "c0ffee".into(),
        entry: "abcdef".into(),
        earlier: 2,
        earlier_here: 1,
    });
    for text in [table(&found, 80).replace("\n  ", " "), markdown(&found), html(&found).unwrap()] {
        let said =
            "Sealed draws, run on 2026-01-02T03:04:05Z at commit c0ffee; sealed draws had been run 2 times";
        assert!(text.contains(said), "{text}");
    }
    assert!(found.json().unwrap().contains("\"earlier_here\":1"));
}

#[test]
fn pages_hold_the_words_of_the_terminal() {
    let found = gauntlet();
    let page = html(&found).unwrap();
    for what in ["<h2 id=\"f1-bulk-title\">", "rude†‡", "what rude is made of", "4 of 20"] {
        assert!(page.contains(what), "{what}");
    }
    let page = markdown(&found);
    assert!(page.contains("| rude†‡ |") && page.contains("| *best path alone* |"), "{page}");
    let columns = |line: &str| line.matches('|').count();
    let tables = page.split("\n\n").filter(|part| part.starts_with('|'));
    for table in tables {
        let widths: Vec<usize> = table.lines().map(columns).collect();
        assert!(widths.iter().all(|width| *width == widths[0]), "{table}");
    }
}

#[test]
fn json_and_csv_hold_every_draw_and_what_is_unknown_is_empty() {
    let found = gauntlet();
    let json: serde_json::Value = serde_json::from_str(&found.json().unwrap()).unwrap();
    assert_eq!(json["contenders"][0]["draws"]["f1-bulk-check-0000"]["limit"], 0.5);
    assert_eq!(json["contenders"][2]["draws"]["f4-competitors-check-0003"]["missing"], "no such radio");
    let csv = found.csv().unwrap();
    assert_eq!(csv.lines().count(), 1 + 4 * 20);
    assert_eq!(
        csv.lines().next().unwrap(),
        "range,family,draw,policy,start,limit,link,single,time,goodput,kept,share,quiet_share,jain"
    );
    assert!(csv.contains("check,f4-competitors,f4-competitors-check-0003,absent,cold,,,,,,,,,"), "{csv}");
    assert!(csv.contains("check,f1-bulk,f1-bulk-check-0000,polite,cold,0.5,,1,,,1,0.9,0.9,"), "{csv}");
}
