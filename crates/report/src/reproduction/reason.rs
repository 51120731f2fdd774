//! The rule that combines findings into a verdict and a sentence with its reason.

use std::cmp::Reverse;

use super::{Finding, Rule, Verdict};

/// Joint result of an experiment's findings.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The verdict.
    pub verdict: Verdict,
    /// The reading of the paper with this verdict, if there are several.
    pub reading: Option<String>,
    /// The reason, from the findings' own numbers; empty without findings.
    pub reason: String,
}

/// Maximum number of findings in a reason.
const NAMED: usize = 3;

/// Under one reading all findings must hold: the weakest verdict counts. Among several readings of
/// what the paper leaves open, the one under which most findings hold counts and is named; of
/// several such ones, that with the strongest verdict, then the first. Findings without a reading
/// belong to all.
pub fn judge(findings: &[Finding]) -> Judged {
    let mut readings: Vec<Option<&str>> = vec![];
    for reading in findings
        .iter()
        .filter(|f| f.verdict.is_some())
        .filter_map(|f| f.reading.as_deref())
    {
        if !readings.contains(&Some(reading)) {
            readings.push(Some(reading));
        }
    }
    if readings.is_empty() {
        readings.push(None);
    }
    let under = |reading: Option<&str>| -> Vec<&Finding> {
        findings
            .iter()
            .filter(|f| f.reading.is_none() || f.reading.as_deref() == reading)
            .collect()
    };
    let verdict =
        |of: &[&Finding]| Verdict::weakest(of.iter().filter_map(|finding| finding.verdict));
    let several = readings.len() > 1;
    let holds = |of: &[&Finding]| {
        of.iter()
            .filter(|f| f.verdict == Some(Verdict::Reproduced))
            .count()
    };
    let rank = |reading: &Option<&str>| {
        let of = under(*reading);
        (Reverse(holds(&of)), verdict(&of))
    };
    let reading = readings
        .into_iter()
        .min_by_key(rank)
        .expect("there is at least one reading");
    let of_reading = under(reading);
    let best = verdict(&of_reading);
    Judged {
        verdict: best,
        reading: reading.filter(|_| several).map(str::to_owned),
        reason: reason(&of_reading, best),
    }
}

/// The deciding findings with their numbers.
fn reason(findings: &[&Finding], verdict: Verdict) -> String {
    let judged: Vec<&&Finding> = findings
        .iter()
        .filter(|finding| finding.verdict.is_some())
        .collect();
    let decide: Vec<&&&Finding> = judged
        .iter()
        .filter(|f| f.verdict == Some(verdict))
        .collect();
    if decide.is_empty() {
        return String::new();
    }
    let all = judged.len();
    let count = match decide.len() {
        n if n == all && all == 1 => String::new(),
        n if n == all => format!("all {all} findings are {}: ", verdict.name()),
        n => format!(
            "{n} of {all} findings {} {}: ",
            if n == 1 { "is" } else { "are" },
            verdict.name()
        ),
    };
    let mut named: Vec<String> = decide
        .iter()
        .take(NAMED)
        .map(|finding| said(finding))
        .collect();
    if decide.len() > NAMED {
        named.push(format!("and {} more", decide.len() - NAMED));
    }
    let rivals: Vec<String> = findings
        .iter()
        .filter(|f| f.rival && f.measured.is_some())
        .map(|finding| said(finding))
        .collect();
    let not_judged = if rivals.is_empty() {
        ""
    } else {
        "; claimed but not judged: "
    };
    count + &named.join("; ") + not_judged + &rivals.join("; ")
}

/// The first findings with their numbers, judged or not; empty if nothing was measured.
pub fn shown(findings: &[Finding]) -> String {
    let measured = findings.iter().filter(|finding| finding.measured.is_some());
    measured
        .take(NAMED)
        .map(said)
        .collect::<Vec<_>>()
        .join("; ")
}

/// Text such as `goodput, EEMPTCP ÷ MPTCP: 1.11 [1.09, 1.13], stated 2.02`.
fn said(finding: &Finding) -> String {
    let shown = finding.shown();
    let unit = if finding.unit.is_empty() {
        String::new()
    } else {
        format!(" {}", finding.unit)
    };
    let run = finding.run.map_or(String::new(), |(low, high)| {
        let decimals = super::digits::digits_after_point(low.abs().max(high.abs()), 3);
        format!(" (one run: {low:.decimals$} to {high:.decimals$})")
    });
    let same = finding
        .measured
        .is_some_and(|ours| ours.lo == ours.hi && ours.mean == 1.0 && finding.n > 1);
    let exactly = if same { ", the same to the byte" } else { "" };
    let stated = if finding.verdict.is_some() {
        // "Similar" has bounds of ours.
        let is_ours =
            matches!(finding.rule, Rule::Within { low, high } if low <= 1.0 && 1.0 <= high);
        let word = if is_ours { "required" } else { "stated" };
        format!(", {word} {}", shown.stated)
    } else {
        String::new()
    };
    format!(
        "{}: {}{unit}{run}{exactly}{stated}",
        finding.what_and_where(),
        shown.measured(" ")
    )
}

#[cfg(test)]
mod tests {
    use joulepath_model::result::Estimate;

    use super::*;

    fn finding(what: &str, mean: f64, reading: Option<&str>) -> Finding {
        let ours = Some(Estimate {
            mean,
            lo: mean - 0.01,
            hi: mean + 0.01,
        });
        let finding = Finding::new(what, "", Rule::Above { than: 1.0 }, ours, 10);
        reading.map_or(finding.clone(), |reading| finding.under(reading))
    }

    #[test]
    fn the_weakest_verdict_counts_within_a_reading_and_the_strongest_among_readings() {
        let all = [
            finding("a", 1.2, Some("small")),
            finding("b", 0.8, Some("small")),
            finding("a", 1.2, Some("large")),
            finding("b", 1.3, Some("large")),
        ];
        let judged = judge(&all);
        assert_eq!(
            (judged.verdict, judged.reading.as_deref()),
            (Verdict::Reproduced, Some("large"))
        );
        let with_common = [&all[..], &[finding("c", 0.5, None)]].concat();
        assert_eq!(
            judge(&with_common).verdict,
            Verdict::NotReproduced,
            "a finding without a reading belongs to all"
        );
    }

    #[test]
    fn the_reading_under_which_most_findings_hold_counts() {
        let all = [
            finding("a", 0.8, Some("100 segments")),
            finding("b", 0.8, Some("100 segments")),
            finding("a", 1.2, Some("4 MiB")),
            finding("b", 0.8, Some("4 MiB")),
        ];
        let judged = judge(&all);
        // Both fail; the second has one finding that holds.
        assert_eq!(
            (judged.verdict, judged.reading.as_deref()),
            (Verdict::NotReproduced, Some("4 MiB"))
        );
        assert!(
            judged
                .reason
                .starts_with("1 of 2 findings is not reproduced: b"),
            "{}",
            judged.reason
        );
        // The first has none that holds, but nothing against it.
        let undecided = [
            finding("a", 1.0, Some("undecided")),
            finding("b", 1.0, Some("undecided")),
            finding("a", 1.2, Some("half")),
            finding("b", 0.8, Some("half")),
        ];
        assert_eq!(judge(&undecided).reading.as_deref(), Some("half"));
    }

    #[test]
    fn a_reason_names_what_the_claim_includes_but_nobody_can_judge() {
        let rival = Finding {
            verdict: None,
            rule: Rule::Shown,
            rival: true,
            ..finding("energy ÷ X's", 2.2, None)
        };
        let judged = judge(&[finding("a", 1.2, None), rival]);
        assert_eq!(judged.verdict, Verdict::Reproduced);
        assert!(
            judged
                .reason
                .ends_with("; claimed but not judged: energy ÷ X's: 2.20 [2.19, 2.21]"),
            "{judged:?}"
        );
        let shown = Finding {
            verdict: None,
            rule: Rule::Shown,
            ..finding("b", 2.2, None)
        };
        assert!(
            !judge(&[finding("a", 1.2, None), shown])
                .reason
                .contains("not judged")
        );
    }

    #[test]
    fn a_reason_has_the_numbers_of_the_findings_that_decide() {
        let said = judge(&[finding("a", 1.2, None), finding("b", 0.8, None)]).reason;
        assert_eq!(
            said,
            "1 of 2 findings is not reproduced: b: 0.800 [0.790, 0.810], stated > 1"
        );
        // Other numbers give another reason: its text is generated.
        let said = judge(&[finding("a", 1.2, None), finding("b", 1.1, None)]).reason;
        assert!(
            said.starts_with("all 2 findings are reproduced: a: 1.20 ["),
            "{said}"
        );
        assert_eq!(judge(&[]).reason, "");
        // Bounds around 1 are ours, others the paper's.
        let within = |low, high| Finding {
            rule: Rule::Within { low, high },
            ..finding("d", 1.3, None)
        };
        let said = |low, high| judge(&[within(low, high)]).reason;
        assert!(said(0.9, 1.1).ends_with(", required 0.9 to 1.1"));
        assert!(said(0.4, 0.5).ends_with(", stated 0.4 to 0.5"));
        let same = Finding::new(
            "x",
            "",
            Rule::Above { than: 1.0 },
            Some(Estimate {
                mean: 1.0,
                lo: 1.0,
                hi: 1.0,
            }),
            9,
        );
        assert!(judge(&[same]).reason.contains("the same to the byte"));
    }
}
