//! Search results: sentences, pages, pictures.

use std::collections::BTreeMap;

use joulepath_report::search::{
    Claim, Fit, Holds, Open, PointState, Search, SearchedBox, Tried, When, region_svg, search_json,
    search_markdown, search_summary, search_table, sentence,
};

use joulepath_report::search_html;

use crate::markup::assert_well_formed;

fn claim(id: &str, verdict: Holds) -> Claim {
    let at = BTreeMap::from([
        ("queue".to_owned(), "200 packets".to_owned()),
        ("scheduler".into(), "minrtt".into()),
    ]);
    let mut claim = Claim {
        id: id.to_owned(),
        verdict,
        sentence: String::new(),
        part_holds: 0.25,
        part_fails: 0.5,
        part_undecided: 0.25,
        intervals: BTreeMap::from([
            ("holds".into(), (0.07, 0.59)),
            ("fails".into(), (0.22, 0.78)),
        ]),
        nearest: (verdict == Holds::When).then_some(at),
        changed: vec!["queue".to_owned()],
        deciding: vec!["queue".to_owned(), "scheduler".to_owned()],
        command: format!("joulepath reproduce {id} --at 'queue=200 packets'"),
        compare: vec!["joulepath compare quick".to_owned()],
        title: "goodput".to_owned(),
        claim: "A carries more than B & C".to_owned(),
        source: "004, figure 4".to_owned(),
        cause: "what cuts cost".to_owned(),
        in_box: Some("004, radios".to_owned()),
        states: vec![
            PointState::Fails,
            PointState::Holds,
            PointState::Undecided,
            PointState::Fails,
        ],
        part_direction: 0.4,
        when: When {
            conditions: vec!["queue > 100 packets".into()],
            holding: 93,
            points: 100,
            ran: 120,
        },
        not_searched: vec![],
        made: None,
        reason: "goodput, A ÷ B: 0.9 [0.8, 0.95], stated > 1".to_owned(),
        findings: vec![],
    };
    claim.sentence = sentence(&claim);
    claim
}

fn found() -> Search {
    let claims = vec![
        claim("004-fig4", Holds::When),
        claim("004-fig5", Holds::Nowhere),
        claim("004-dT", Holds::Erratum),
        claim("000-alg1", Holds::Undetermined),
    ];
    let open = |key: &str, values: &str, choices: &[&str]| Open {
        key: key.into(),
        values: values.into(),
        usual: "50 packets".into(),
        reason: "not said: a | b < c".into(),
        choices: choices.iter().map(|&choice| choice.to_owned()).collect(),
    };
    let tried = |a: f64, b: f64| Tried {
        values: vec!["x".into(), "y".into()],
        places: vec![a, b],
    };
    Search {
        counts: Search::count(&claims),
        claims,
        boxes: vec![SearchedBox {
            name: "004, radios".into(),
            parameters: vec![
                open("queue", "10 to 1000 packets, logarithmic", &[]),
                open("scheduler", "first-free, minrtt", &["first-free", "minrtt"]),
            ],
            hypercube: 3,
            seeds: 5,
            points: vec![
                tried(0.35, 0.25),
                tried(0.9, 0.75),
                tried(0.5, 0.25),
                tried(0.1, 0.25),
            ],
        }],
        fits: vec![Fit {
            in_box: "004, radios".into(),
            numbers: 3,
            loss: 1.5,
            worst: 2.5,
            worst_number: "goodput, stated 6".into(),
            fits: false,
            usual_loss: Some(3.0),
            at: BTreeMap::from([("queue".into(), "200 packets".into())]),
            changed: vec!["queue".into()],
            points: 4,
        }],
        version: "0.1.0".into(),
        commit: "c0ffee".into(),
        command: "joulepath reproduce --search".into(),
        seed: 1,
        runs: 100,
        run_s: 61.0,
        cores: 2,
        partial: false,
        merged: false,
        left_out: vec![],
    }
}

#[test]
fn a_sentence_gives_region_fraction_and_nearest_point() {
    let said = claim("004-fig4", Holds::When).sentence;
    assert_eq!(
        said,
        "Holds when queue > 100 packets (93 of 100 new settings there); in 25 % [7, 59] of the tested range; \
         nearest to the default setting: queue = 200 packets."
    );
    let said = claim("004-fig4", Holds::Nowhere).sentence;
    assert!(
        said.starts_with("Contradicted throughout: at none of 4 settings"),
        "{said}"
    );
    assert!(
        said.contains("stated sign, but not the size, in 40 %") && said.contains("0.9 [0.8, 0.95]"),
        "{said}"
    );
    assert!(
        claim("004-dT", Holds::Erratum)
            .sentence
            .starts_with("Erratum: goodput")
    );
}

/// Fields and words that scripts rely on.
#[test]
fn json_has_the_documented_fields_and_words() {
    let json: serde_json::Value = serde_json::from_str(&search_json(&found()).unwrap()).unwrap();
    let claims = json["claims"].as_array().unwrap();
    for claim in claims {
        for key in [
            "id",
            "verdict",
            "part_holds",
            "part_fails",
            "part_undecided",
            "nearest",
            "deciding",
            "command",
        ] {
            assert!(claim.get(key).is_some(), "{key} is missing in {claim}");
        }
    }
    let verdicts: Vec<&str> = claims
        .iter()
        .map(|claim| claim["verdict"].as_str().unwrap())
        .collect();
    assert_eq!(
        verdicts,
        [
            "holds when",
            "contradicted throughout",
            "erratum",
            "undetermined"
        ]
    );
    assert_eq!(claims[0]["nearest"]["queue"], "200 packets");
    assert!(claims[1]["nearest"].is_null());
    let back: Search = serde_json::from_value(json).unwrap();
    assert_eq!(back, found());
}

#[test]
fn rows_and_their_causes_are_counted() {
    let claims = [claim("a-1", Holds::When), claim("a-2", Holds::When)];
    let count = Search::count(&claims)["holds when"];
    assert_eq!((count.rows, count.causes), (2, 1));
}

#[test]
fn a_page_is_well_formed_and_loads_nothing() {
    let page = search_html(&found()).unwrap();
    assert_well_formed(&page);
    for loads in ["src=", "@import", "url(", "fetch("] {
        assert!(!page.contains(loads), "{loads}");
    }
    assert!(
        page.contains("id=\"004-fig4\"")
            && page.contains("<svg")
            && page.contains("not said: a | b &#60; c")
    );
}

#[test]
fn a_picture_shows_each_point_by_a_shape() {
    let all = found();
    let svg = region_svg(&all, &all.claims[0]).unwrap();
    assert_eq!(svg.matches("class=\"dot first").count(), 1, "one holds");
    assert_eq!(svg.matches("class=\"mark cross").count(), 2, "two fail");
    assert_eq!(
        svg.matches("class=\"dot hollow").count(),
        1,
        "one is undecided"
    );
    assert!(
        svg.contains(">scheduler<") && svg.contains(">queue, logarithmic<"),
        "{svg}"
    );
    assert_eq!(
        region_svg(&all, &all.claims[1]),
        None,
        "what holds nowhere has no region"
    );
}

#[test]
fn a_papers_page_starts_with_one_sentence_for_each_claim() {
    let text = search_markdown(&found(), "004", "where");
    for part in [
        "- `004-fig4`, A carries more than B & C: **Holds when queue > 100 packets",
        "![`004-fig4`: where it holds](where/004-fig4.svg)",
        "joulepath reproduce 004-fig4 --at 'queue=200 packets'",
        "None of 4 settings fits all of them",
        "| `queue` | 10 to 1000 packets, logarithmic | 50 packets | not said: a \\| b < c |",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    assert!(!text.contains("000-alg1"), "{text}");
    assert_eq!(search_markdown(&found(), "009", "where"), "");
    assert!(search_summary(&found()).contains("000-alg1"));
}

#[test]
fn the_terminal_shows_every_claim_within_its_width() {
    let text = search_table(&found(), 80, false);
    for id in ["004-fig4", "004-fig5", "004-dT", "000-alg1"] {
        assert!(text.contains(id), "{id}");
    }
    let counts = "1 holds in a part of the tested range, 1 contradicted throughout, 1 undetermined, \
                  1 erratum; 1 independent cause in all";
    assert!(
        text.split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .contains(counts),
        "{text}"
    );
    assert!(
        text.lines()
            .filter(|line| !line.contains("joulepath"))
            .all(|line| line.chars().count() <= 80),
        "{text}"
    );
}
