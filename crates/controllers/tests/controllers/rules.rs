//! Controllers as rules: the same numbers as the C code, and no text that stops or breaks a
//! program.

use joulepath_controllers::{
    Capability, Connection, Controller, LossKind, RULE_PRESETS, RuleError, Rules, Subflow, within,
};
use proptest::prelude::*;

use crate::hosted::live;

fn hosted(name: &str, text: &str) -> Controller {
    Rules::parse(text).unwrap().host(name).unwrap()
}

fn preset(name: &str) -> &'static str {
    RULE_PRESETS
        .iter()
        .find(|(known, _)| *known == name)
        .unwrap()
        .1
}

fn wrong(text: &str) -> RuleError {
    Rules::parse(text).unwrap_err()
}

/// Two subflows: 10 packets in 20 ms at 400 nJ/bit, 30 packets in 60 ms at 100 nJ/bit.
fn two() -> Connection {
    let mut connection = Connection::new(2);
    for (i, (cwnd, srtt_us, energy)) in [(10, 20_000, 400.0), (30, 60_000, 100.0)]
        .into_iter()
        .enumerate()
    {
        let subflow = &mut connection.subflows[i];
        *subflow = Subflow {
            cwnd,
            ssthresh: 8,
            srtt_us,
            flags: Subflow::ESTABLISHED,
            ..Subflow::default()
        };
        subflow.own.set_energy_cost(energy);
        subflow.own.last_rtt_us = srtt_us + 5_000;
        subflow.own.base_rtt_us = srtt_us / 2;
    }
    connection
}

fn increase(name: &str, expression: &str, i: usize) -> f64 {
    let controller = hosted(name, &format!("on_ack: cwnd += {expression}"));
    within(&mut controller.hosting(2), || {
        controller.increase(&two(), i)
    })
}

fn after(name: &str, text: &str, kind: LossKind) -> u32 {
    let controller = hosted(name, text);
    within(&mut controller.hosting(2), || {
        controller.ssthresh_after(&two(), 0, kind)
    })
}

/// Window and fraction of both subflows.
fn windows(connection: &Connection) -> [(u32, u32, f64); 2] {
    [0, 1].map(|i| {
        let subflow = &connection.subflows[i];
        (subflow.cwnd, subflow.ssthresh, subflow.own.fraction())
    })
}

#[test]
fn reno_as_rules_has_the_windows_of_the_c_code_to_the_last_bit() {
    let rules = live(hosted("rulesreno", preset("Reno")));
    let reno = live(Controller::by_name("reno").unwrap());
    for (a, b) in rules.iter().zip(&reno) {
        assert_eq!(windows(a), windows(b));
    }
    assert!(reno.last().unwrap().subflows[0].cwnd > 20);
}

/// C reuses an increase for 16 packets and rounds it to 17 bits.
#[test]
fn lia_as_rules_has_the_increases_of_the_c_code() {
    let (rules, lia) = (
        hosted("ruleslia", preset("LIA")),
        Controller::by_name("lia").unwrap(),
    );
    for state in live(lia) {
        for i in 0..2 {
            let (own, c) = within(&mut rules.hosting(2), || {
                (rules.increase(&state, i), lia.increase(&state, i))
            });
            assert!((own - c).abs() <= 1e-4 * c, "{own} {c}");
        }
    }
}

#[test]
fn expressions_have_the_usual_meaning() {
    let cases = [
        ("0.1 + 0.2 * 3", 0.7),
        ("-(0.5 - 1) ^ 2", -0.25),
        ("2 ^ 3 ^ 2 / 1024", 0.5),
        ("1.5e-1 - .05", 0.1),
        ("acked / sum(cwnd)", 1.0 / 40.0),
        ("max(cwnd) / 100 + min(cwnd) / 1000", 0.31),
        ("max(0.1, 0.3, 0.2) - min(0.2, 0.1)", 0.2),
        ("sum(cwnd * own.srtt / srtt) / 100", 0.2),
        ("if(srtt < 0.03, 0.25, 0.75)", 0.25),
        ("(n == 2) + (1 > 1) + (1 >= 1) - (2 != 2)", 2.0),
        ("rtt - srtt + min_rtt + sqrt(0.01)", 0.005 + 0.01 + 0.1),
        ("min(energy) / energy", 0.25),
        ("ssthresh / 100", 0.08),
        // Beyond two packets.
        ("cwnd", 2.0),
        // The sum of a rule over several lines.
        ("(0.1 # one\n + 0.2)", 0.3),
    ];
    for (k, (expression, expected)) in cases.into_iter().enumerate() {
        let found = increase(&format!("usual{k}"), expression, 0);
        assert!(
            (found - expected).abs() < 1e-9,
            "{expression}: {found} {expected}"
        );
    }
    assert!((increase("usualb", "sum(cwnd * own.srtt / srtt) / 100", 1) - 0.6).abs() < 1e-9);
}

#[test]
fn assignments_change_the_window_as_written() {
    let change = |name: &str, rule: &str| {
        let controller = hosted(name, &format!("let part = 0.05\non_ack: cwnd {rule}"));
        within(&mut controller.hosting(2), || {
            controller.increase(&two(), 0)
        })
    };
    for (k, (rule, expected)) in [
        ("-= part", -0.05),
        ("*= 1 + part", 0.5),
        ("/= 1.25", -2.0),
        ("= cwnd + part", 0.05),
    ]
    .into_iter()
    .enumerate()
    {
        let found = change(&format!("assign{k}"), rule);
        assert!((found - expected).abs() < 1e-8, "{rule}: {found}");
    }
    let text = "on_ack: cwnd += 0\non_loss: cwnd -= 3\non_timeout: cwnd = 1";
    assert_eq!(after("assigna", text, LossKind::FastRetransmit), 7);
    assert_eq!(after("assignb", text, LossKind::Ecn), 7);
    assert_eq!(after("assignc", text, LossKind::Timeout), 2);
    assert_eq!(after("assignd", "on_ack: cwnd += 0", LossKind::Timeout), 5);
    assert_eq!(
        after(
            "assigne",
            "on_ack: cwnd += 0\non_loss: cwnd = 1e300",
            LossKind::Ecn
        ),
        1 << 20
    );
}

#[test]
fn a_division_by_zero_and_a_huge_number_leave_a_finite_window() {
    let cases = [
        ("1 / 0", 2.0),
        ("-1 / 0", -2.0),
        ("0 / 0", 0.0),
        ("1e999 - 1e999", 0.0),
        ("9 ^ 9 ^ 9 ^ 9", 2.0),
        ("sqrt(-1)", 0.0),
        ("0 * (1 / 0)", 0.0),
    ];
    for (k, (expression, expected)) in cases.into_iter().enumerate() {
        assert_eq!(
            increase(&format!("huge{k}"), expression, 0),
            expected,
            "{expression}"
        );
    }
}

#[test]
fn rules_declare_what_they_read() {
    let capabilities = |name, expression: &str| {
        hosted(name, &format!("on_ack: cwnd += {expression}"))
            .capabilities()
            .collect::<Vec<_>>()
    };
    assert_eq!(capabilities("reads1", "1 / cwnd"), [Capability::Uncoupled]);
    assert_eq!(capabilities("reads2", "1 / sum(cwnd)"), []);
    assert_eq!(
        capabilities("reads3", "min(energy)"),
        [Capability::ReadsEnergyCost]
    );
    let both = [
        Capability::ReadsPathPrice,
        Capability::ReadsDelay,
        Capability::Uncoupled,
    ];
    assert_eq!(capabilities("reads4", "price * min_rtt"), both);
}

#[test]
fn a_mistake_has_line_column_and_fix() {
    let of = |text| {
        let RuleError {
            line,
            column,
            message,
            help,
        } = wrong(text);
        (line, column, message, help)
    };
    let is = |text, line, column, message: &str, help: &str| {
        let found = of(text);
        assert_eq!((found.0, found.1), (line, column), "{text}: {found:?}");
        assert!(
            found.2.contains(message) && found.3.contains(help),
            "{text}: {found:?}"
        );
    };
    is("", 1, 1, "no rule `on_ack`", "cwnd += 1 / cwnd");
    is(
        "on_loss: cwnd /= 2",
        1,
        1,
        "no rule `on_ack`",
        "cwnd += 1 / cwnd",
    );
    is(
        "# α\non_ack: cwnd += 1 / cwdn",
        2,
        21,
        "`cwdn` is not known",
        "did you mean `cwnd`?",
    );
    is(
        "on_ack: cwnd += 1 +",
        1,
        20,
        "the end of the line",
        "both sides",
    );
    is("on_ack: cwnd + 1", 1, 14, "an assignment, not `+`", "+=");
    is("on_ack: srtt += 1", 1, 9, "changes `cwnd`, not `srtt`", "");
    is("on_ack cwnd += 1", 1, 8, "must be `:`", "");
    is(
        "on_akc: cwnd += 1",
        1,
        1,
        "no rule begins with `on_akc`",
        "on_loss",
    );
    is(
        "on_ack: cwnd += 1 2",
        1,
        19,
        "`2` does not belong",
        "one rule per line",
    );
    is("on_ack: cwnd += 1 $ 2", 1, 19, "`$` cannot be read", "");
    is("on_ack: cwnd += 1.2.3", 1, 17, "cannot be read", "");
    is(
        "on_ack: cwnd += mean(cwnd)",
        1,
        17,
        "no function `mean`",
        "sum, min",
    );
    is(
        "on_ack: cwnd += if(1, 2)",
        1,
        17,
        "2 arguments",
        "if(condition, then, else)",
    );
    is(
        "on_ack: cwnd += sum(max(cwnd))",
        1,
        21,
        "inside another",
        "let total",
    );
    is("on_ack: cwnd += (1", 1, 19, "must be `)`", "parenthesis");
    is(
        "on_ack: cwnd += 1\non_ack: cwnd += 2",
        2,
        1,
        "two rules `on_ack`",
        "",
    );
    is(
        "let cwnd = 1",
        1,
        5,
        "has a meaning already",
        "another name",
    );
    is("let a = 1\nlet a = 2", 2, 5, "has a meaning already", "");
    is("let 3 = 1", 1, 5, "a name must follow", "");
}

#[test]
fn deep_and_long_texts_are_refused() {
    let deep = |open: &str, close: &str| {
        let text = format!(
            "on_ack: cwnd += {}1{}",
            open.repeat(1_000),
            close.repeat(1_000)
        );
        wrong(&text).message
    };
    assert!(deep("(", ")").contains("nested more than 32"));
    assert!(deep("-", "").contains("nested more than 32"));
    assert!(deep("2^", "").contains("nested more than 32"));
    assert!(
        wrong(&format!("on_ack: cwnd += 1{}", " + 1".repeat(900)))
            .message
            .contains("more than 256 steps")
    );
    assert!(wrong(&" ".repeat(5_000)).message.contains("more than 4 kB"));
}

#[test]
fn the_presets_compile_and_a_shipped_name_is_refused() {
    for (name, text) in RULE_PRESETS {
        assert!(Rules::parse(text).is_ok(), "{name}");
    }
    assert!(Rules::parse(preset("LIA")).unwrap().host("lia").is_err());
}

proptest! {
    /// Pieces of the language in any order: a mistake, or windows between 2 and 2^20.
    #[test]
    fn any_text_is_refused_or_keeps_windows_within_bounds(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "cwnd", "srtt", "sum(", "min(", "if(", ")", "(", ",", "+", "-", "*", "/", "^", "<", "1e18", "0",
            "own.rtt", "n", "\n", "let a =", "a", "on_loss: cwnd =", "#", "é", ".", "energy",
        ]), 0..30),
    ) {
        let text = format!("on_ack: cwnd += {}", pieces.join(" "));
        if let Ok(rules) = Rules::parse(&text) {
            let controller = rules.host("anytext").unwrap();
            let last = live(controller).pop().unwrap();
            prop_assert!(last.subflows[..2].iter().all(|subflow| (1..=1 << 20).contains(&subflow.cwnd)));
        }
    }

    #[test]
    fn any_characters_are_refused_or_compile(text in "\\PC{0,200}") {
        let _ = Rules::parse(&text);
    }
}
