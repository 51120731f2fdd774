//! What holds connections back, as text.

use joulepath_live::kept::Kept;
use joulepath_live::status::{Hindrance, Status};
use joulepath_why::finding::{Cost, Finding, Gain};
use joulepath_why::gather;
use joulepath_why::observation::{Observation, SCHEMA, Sample};
use joulepath_why::report::{Examined, Report, examine};
use joulepath_why::wanted::Wanted;
use textwrap::{Options, fill};

use crate::words::count;

/// Connections with a finding that `status` has.
const MOST_HINDRANCES: usize = 5;
/// Peers to which the daemon looks up routes, of each address.
const MOST_PEERS: usize = 16;
/// Differences of rate and RTT below this part are none.
const SAME: f64 = 0.02;

/// The findings. `all`: also connections without any.
pub fn text(report: &Report, width: usize, all: bool) -> String {
    let mut text = String::new();
    let shown = report.connections.iter().filter(|one| all || !one.findings.is_empty());
    for connection in shown {
        text += &fill(&title(connection), Options::new(width).subsequent_indent("  "));
        text.push('\n');
        for (number, finding) in connection.findings.iter().enumerate() {
            text += &part(number + 1, finding, width);
        }
        if connection.findings.is_empty() {
            text += "  nothing found\n";
        }
        text.push('\n');
    }
    text + &last(report) + "\n"
}

/// The costliest finding in one line; `None` if nothing was found.
pub fn line(status: &Status) -> Option<String> {
    let worst = status.why.as_ref()?.first()?;
    Some(format!("In the way: {}: {} (`joulepath why`).", worst.remote, worst.verdict))
}

/// The findings that can be fixed, one for each connection, the costliest first.
pub fn hindrances(report: &Report) -> Vec<Hindrance> {
    let of = |one: &Examined| {
        let finding = one.findings.iter().find(|finding| finding.is_fixable())?.clone();
        Some(Hindrance {
            remote: one.remote.clone(),
            cause: finding.cause.into(),
            verdict: finding.verdict,
            evidence: finding.evidence,
            cost: finding.cost.share,
            how: finding.cost.how,
            fix: finding.fix.commands,
            advice: finding.fix.advice,
            uid: one.uid,
        })
    };
    report.connections.iter().filter_map(of).take(MOST_HINDRANCES).collect()
}

/// What holds connections back, from the daemon's listings. Gains are not predicted: that takes seconds.
pub fn explain(kept: &[Kept]) -> Vec<Hindrance> {
    let (Some(first), Some(last)) = (kept.first(), kept.last()) else { return vec![] };
    // Without routes nothing can be said.
    let Ok(host) = gather::host(Some(&last.listing), MOST_PEERS) else { return vec![] };
    let sample = |one: &Kept| Sample {
        at_s: one.at.saturating_sub(first.at).as_secs_f64(),
        listing: one.listing.clone(),
        counters: one.counters.clone(),
    };
    let seen = Observation { schema: SCHEMA, samples: kept.iter().map(sample).collect(), host };
    hindrances(&examine(&seen, |subject| Wanted::Busy.has(subject), &mut |_, _| None))
}

/// A title, then labelled sentences.
pub(crate) type Parts = (String, Vec<(&'static str, String)>);

/// A hindrance in words.
pub(crate) fn parts(one: &Hindrance) -> Parts {
    let evidence = one.evidence.iter().map(|sentence| ("evidence", sentence.clone()));
    let cost = Cost { share: one.cost, how: one.how.clone() };
    let fix = one.fix.iter().chain(&one.advice).map(|command| ("fix", command.clone()));
    let all = evidence.chain([("cost", self::cost(&cost))]).chain(fix);
    (format!("{}: {}: {}", one.remote, one.cause, one.verdict), all.collect())
}

fn title(one: &Examined) -> String {
    let program =
        one.program.as_ref().map_or(String::new(), |program| format!("{} ({}) ", program.name, program.pid));
    let subflows =
        if one.protocol == "mptcp" { format!(", {}", count(one.subflows, "subflow")) } else { String::new() };
    let rates = format!("{} up, {} down", mbit(one.sent_bps), mbit(one.received_bps));
    format!("{program}{} → {}: {}{subflows}, {rates}", one.local, one.remote, one.protocol)
}

fn part(number: usize, finding: &Finding, width: usize) -> String {
    let head = format!("{number}. ");
    let mut text = fill(
        &format!("{}: {}", finding.cause, finding.verdict),
        Options::new(width).initial_indent(&format!("  {head}")).subsequent_indent("     "),
    ) + "\n";
    let mut say = |label: &str, sentence: &str| {
        let options = Options::new(width).initial_indent("     ").subsequent_indent("               ");
        text += &fill(&format!("{label:<10}{sentence}"), options);
        text.push('\n');
    };
    finding.evidence.iter().for_each(|sentence| say("evidence", sentence));
    say("cost", &cost(&finding.cost));
    if let Some(gain) = &finding.gain {
        say("predicted", &gained(gain));
    }
    for command in &finding.fix.commands {
        say("fix", command);
    }
    if let Some(advice) = &finding.fix.advice {
        say(if finding.fix.commands.is_empty() { "fix" } else { "" }, advice);
    }
    text
}

fn cost(cost: &Cost) -> String {
    if cost.share > 0.0 { format!("{:.0} %: {}", cost.share * 100.0, cost.how) } else { cost.how.clone() }
}

fn gained(gain: &Gain) -> String {
    let Gain { before_bps, after_bps, before_rtt_s, after_rtt_s } = gain;
    let is_same = |a: f64, b: f64| (a - b).abs() <= SAME * a;
    let rate = match is_same(*before_bps, *after_bps) {
        true => format!("{} as before", mbit(*before_bps)),
        false => format!("{} becomes {}", mbit(*before_bps), mbit(*after_bps)),
    };
    let rtt = match is_same(*before_rtt_s, *after_rtt_s) {
        true => String::new(),
        false => format!(", RTT {:.0} ms becomes {:.0} ms", before_rtt_s * 1e3, after_rtt_s * 1e3),
    };
    format!("{rate}{rtt} (packet engine, on the fitted paths)")
}

fn last(report: &Report) -> String {
    let examined = count(report.connections.len(), "connection");
    let found: usize = report.connections.iter().map(|one| one.findings.len()).sum();
    match (report.connections.len(), found) {
        (0, _) => format!("No connection to examine; watched for {:.1} s.", report.seconds),
        (_, 0) => format!("Nothing holds {examined} back; watched for {:.1} s.", report.seconds),
        _ => format!("{} on {examined}; watched for {:.1} s.", count(found, "finding"), report.seconds),
    }
}

fn mbit(bps: f64) -> String {
    format!("{} Mbit/s", crate::figures::short(bps / 1e6))
}
