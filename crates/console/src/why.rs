//! What holds connections back, as text.

use std::borrow::Cow;
use std::path::Path;

use joulepath_live::decide::Role;
use joulepath_live::here;
use joulepath_live::kept::Kept;
use joulepath_live::reason::Reason;
use joulepath_live::status::{Hindrance, InterfaceStatus, Status};
use joulepath_model::live::Intent;
use joulepath_why::finding::{Cost, Finding, Gain, Remedy};
use joulepath_why::gather;
use joulepath_why::observation::{Daemon, Managed, Observation, SCHEMA, Sample};
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
    let shown = report
        .connections
        .iter()
        .filter(|one| all || !one.findings.is_empty());
    for connection in shown {
        text += &fill(
            &title(connection),
            Options::new(width).subsequent_indent("  "),
        );
        text.push('\n');
        for (number, finding) in connection.findings.iter().enumerate() {
            text += &part(number + 1, finding, width);
        }
        if connection.findings.is_empty() {
            text += "  nothing found\n";
        }
        text.push('\n');
    }
    text + &fill(&last(report), width) + "\n"
}

/// The costliest finding in one line; `None` if nothing was found.
pub fn line(status: &Status) -> Option<String> {
    let worst = status.why.as_ref()?.first()?;
    Some(format!(
        "In the way: {}: {} (`joulepath why`).",
        worst.remote, worst.verdict
    ))
}

/// The findings that can be fixed, one for each connection, the costliest first.
pub fn hindrances(report: &Report) -> Vec<Hindrance> {
    let of = |one: &Examined| {
        let finding = one
            .findings
            .iter()
            .find(|finding| finding.is_fixable())?
            .clone();
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
    report
        .connections
        .iter()
        .filter_map(of)
        .take(MOST_HINDRANCES)
        .collect()
}

/// What holds connections back, from the daemon's listings. Gains are not predicted: that takes
/// seconds.
pub fn explain(kept: &[Kept], status: &Status) -> Vec<Hindrance> {
    let (Some(first), Some(last)) = (kept.first(), kept.last()) else {
        return vec![];
    };
    // Without routes nothing can be said.
    let Ok(mut host) = gather::host(Some(&last.listing), MOST_PEERS) else {
        return vec![];
    };
    host.daemon = decided(status, None);
    let samples = kept.iter().map(|one| Sample {
        at_s: one.at.saturating_sub(first.at).as_secs_f64(),
        listing: Cow::Borrowed(&one.listing),
        counters: Cow::Borrowed(&one.counters),
    });
    let seen = Observation {
        schema: SCHEMA,
        samples: samples.collect(),
        host,
    };
    hindrances(&examine(
        &seen,
        |subject| Wanted::Busy.has(subject),
        &mut |_, _| None,
    ))
}

/// The daemon of this network namespace and what it has decided; `None` if none runs, or it changes
/// nothing. `usual`: where its control socket is unless configured.
pub fn daemon(usual: &Path) -> Option<Daemon> {
    let here = here::find(usual)?;
    let other = here.socket.filter(|socket| socket != usual);
    match here.status {
        Some(status) => decided(&status, other.as_deref()),
        None => Some(Daemon::default()),
    }
}

fn decided(status: &Status, socket: Option<&Path>) -> Option<Daemon> {
    if status.intent == Intent::Off && !status.paused {
        return None;
    }
    let socket = socket.map_or(String::new(), |socket| {
        format!(" --socket {}", socket.display())
    });
    let managed = |one: &InterfaceStatus| Managed {
        name: one.name.clone(),
        is_wanted: !status.paused && (one.role == Role::Regular || one.wanted == Role::Regular),
        reason: one.reason.to_string(),
        command: command(status, one).map(|command| command + &socket),
        rate_bps: one
            .network
            .as_ref()
            .and_then(|one| one.rate_bps)
            .map(|rate| rate.median)
            .or(one.capacity_bps),
    };
    let interfaces = status
        .interfaces
        .iter()
        .filter(|one| one.allowed)
        .map(managed)
        .collect();
    let tunnels = status
        .first
        .tunnels
        .iter()
        .map(|one| (one.name.clone(), one.bypass))
        .collect();
    Some(Daemon {
        intent: status.intent.word().into(),
        interfaces,
        tunnels,
    })
}

/// The daemon's command that lets connections use an interface.
fn command(status: &Status, one: &InterfaceStatus) -> Option<String> {
    let of_machine = "joulepath live set-intent aggregate".to_owned();
    match one.reason {
        Reason::HardQuota { .. } | Reason::Down | Reason::NoAddress | Reason::NoRoute => None,
        _ if status.paused => Some("joulepath live resume".into()),
        _ if one.intent != status.intent => Some(format!("{of_machine} --interface {}", one.name)),
        _ => Some(of_machine),
    }
}

/// A title, then labelled sentences.
pub(crate) type Parts = (String, Vec<(&'static str, String)>);

/// A hindrance in words.
pub(crate) fn parts(one: &Hindrance) -> Parts {
    let evidence = one
        .evidence
        .iter()
        .map(|sentence| ("evidence", sentence.clone()));
    let cost = Cost {
        share: one.cost,
        how: one.how.clone(),
    };
    let fix = one
        .fix
        .iter()
        .chain(&one.advice)
        .map(|command| ("fix", command.clone()));
    let all = evidence.chain([("cost", self::cost(&cost))]).chain(fix);
    (
        format!("{}: {}: {}", one.remote, one.cause, one.verdict),
        all.collect(),
    )
}

fn title(one: &Examined) -> String {
    let program = one.program.as_ref().map_or(String::new(), |program| {
        format!("{} ({}) ", program.name, program.pid)
    });
    let subflows = if one.protocol == "mptcp" {
        format!(", {}", count(one.subflows, "subflow"))
    } else {
        String::new()
    };
    let rates = format!("{} up, {} down", mbit(one.sent_bps), mbit(one.received_bps));
    format!(
        "{program}{} → {}: {}{subflows}, {rates}",
        one.local, one.remote, one.protocol
    )
}

fn part(number: usize, finding: &Finding, width: usize) -> String {
    let head = format!("{number}. ");
    let mut text = fill(
        &format!("{}: {}", finding.cause, finding.verdict),
        Options::new(width)
            .initial_indent(&format!("  {head}"))
            .subsequent_indent("     "),
    ) + "\n";
    let mut say = |label: &str, sentence: &str| {
        let options = Options::new(width)
            .initial_indent("     ")
            .subsequent_indent("               ");
        text += &fill(&format!("{label:<10}{sentence}"), options);
        text.push('\n');
    };
    finding
        .evidence
        .iter()
        .for_each(|sentence| say("evidence", sentence));
    say("cost", &cost(&finding.cost));
    if let Some(gain) = &finding.gain {
        match finding.remedy {
            Some(Remedy::Add(_)) => say("predicted", &added(gain)),
            _ => say("predicted", &gained(gain)),
        }
    }
    for command in &finding.fix.commands {
        say("fix", command);
    }
    if let Some(advice) = &finding.fix.advice {
        say(
            if finding.fix.commands.is_empty() {
                "fix"
            } else {
                ""
            },
            advice,
        );
    }
    text
}

fn cost(cost: &Cost) -> String {
    if cost.share > 0.0 {
        format!("{:.0} %: {}", cost.share * 100.0, cost.how)
    } else {
        cost.how.clone()
    }
}

fn added(gain: &Gain) -> String {
    let Gain {
        before_bps,
        after_bps,
        ..
    } = gain;
    match after_bps - before_bps > SAME * before_bps {
        true => format!(
            "{} becomes at least {} (the daemon's memory, and what other connections get on that path)",
            mbit(*before_bps),
            mbit(*after_bps)
        ),
        false => format!(
            "at least {} as before; the rate of the other path is unknown",
            mbit(*before_bps)
        ),
    }
}

fn gained(gain: &Gain) -> String {
    let Gain {
        before_bps,
        after_bps,
        at_least,
        before_rtt_s,
        after_rtt_s,
    } = gain;
    let is_same = |a: f64, b: f64| (a - b).abs() <= SAME * a;
    let rate = match is_same(*before_bps, *after_bps) {
        true if *at_least => format!("at least {}, as now: no path was full", mbit(*before_bps)),
        true => format!("{} as before", mbit(*before_bps)),
        false => {
            let bound = if *at_least { "at least " } else { "" };
            format!("{} becomes {bound}{}", mbit(*before_bps), mbit(*after_bps))
        }
    };
    let rtt = match is_same(*before_rtt_s, *after_rtt_s) {
        true => String::new(),
        false => format!(
            ", RTT {:.0} ms becomes {:.0} ms",
            before_rtt_s * 1e3,
            after_rtt_s * 1e3
        ),
    };
    format!("{rate}{rtt} (packet engine, on the fitted paths)")
}

fn last(report: &Report) -> String {
    let examined = count(report.connections.len(), "connection");
    let found: usize = report
        .connections
        .iter()
        .map(|one| one.findings.len())
        .sum();
    match (report.connections.len(), found) {
        (0, _) => format!(
            "No connection to examine; watched for {:.1} s.",
            report.seconds
        ),
        (_, 0) => format!(
            "Nothing holds {examined} back; watched for {:.1} s.",
            report.seconds
        ),
        _ => format!(
            "{} on {examined}; watched for {:.1} s.",
            count(found, "finding"),
            report.seconds
        ),
    }
}

fn mbit(bps: f64) -> String {
    format!("{} Mbit/s", crate::figures::short(bps / 1e6))
}

#[cfg(test)]
mod tests {
    use joulepath_kernel::mptcp::diag::{Listing, TcpSocket};
    use joulepath_kernel::mptcp::{TcpInfo, TcpState};
    use joulepath_live::status::TunnelStatus;
    use joulepath_model::units::Nanos;
    use serde_json::{Value, json};

    use super::*;

    /// An upload over reno with full windows, no queue, and 1 % of the segments lost.
    fn kept(second: u64) -> Kept {
        const COUNTS: [&str; 18] = [
            "backoff",
            "rtt_variation_us",
            "ssthresh_packets",
            "lost_packets",
            "acked_bytes",
            "received_bytes",
            "segments_out",
            "data_segments_in",
            "not_sent_bytes",
            "retransmitted_bytes",
            "busy_us",
            "receive_window_limited_us",
            "send_buffer_limited_us",
            "delivered_packets",
            "marked_packets",
            "heard_ms",
            "data_sent_ms",
            "receive_rtt_us",
        ];
        let mut info: serde_json::Map<String, Value> = COUNTS
            .iter()
            .map(|name| ((*name).to_owned(), json!(0)))
            .collect();
        let set = json!({
            "state": "established", "recovery": "open", "app_limited": false, "rto_us": 240_000,
            "send_mss_bytes": 1460, "srtt_us": 40_000, "min_rtt_us": 40_000, "cwnd_packets": 20,
            "unacked_packets": 20, "retransmitted_segments": 5 * second, "pacing_rate_bytes_per_s": null,
            "delivery_rate_bytes_per_s": 2_000_000, "data_segments_out": 500 * second,
            "sent_bytes": 730_000 * second, "send_window_bytes": 4_000_000, "receive_window_bytes": 60_000,
            "timeouts": null,
        });
        info.extend(set.as_object().unwrap().clone());
        let info: TcpInfo = serde_json::from_value(info.into()).unwrap();
        let socket = TcpSocket {
            local: ([192, 0, 2, 1], 40_000).into(),
            remote: ([198, 51, 100, 9], 443).into(),
            interface: None,
            state: TcpState::Established,
            timer_ms: 0,
            uid: 1000,
            inode: 99,
            congestion: Some("reno".into()),
            memory: None,
            info: Some(info),
            membership: None,
        };
        let listing = Listing {
            plain: vec![socket],
            ..Listing::default()
        };
        Kept {
            at: Nanos::from_secs(100 + second),
            listing,
            counters: Default::default(),
        }
    }

    #[test]
    fn the_daemon_s_listings_are_explained() {
        let all: Vec<Kept> = (0..20).step_by(2).map(kept).collect();
        let status = crate::top::samples::status();
        let found = explain(&all, &status);
        let one = found
            .iter()
            .find(|one| one.remote == "198.51.100.9:443")
            .unwrap();
        // Interfaces of this machine could carry it, too: `plain-tcp` may cost more.
        assert!(
            ["random-loss", "plain-tcp"].contains(&one.cause.as_str()),
            "{found:?}"
        );
        assert_eq!((one.uid, found.len()), (Some(1000), 1));
        assert!(!one.fix.is_empty() && !one.evidence.is_empty() && one.cost > 0.0);
        assert_eq!(explain(&[], &status), []);
        // Without traffic there is nothing to examine.
        let idle = vec![kept(2); 5];
        assert_eq!(explain(&idle, &status), []);
    }

    #[test]
    fn a_path_that_the_daemon_spares_has_the_daemon_s_own_command() {
        let mut status = crate::top::samples::status();
        status.intent = Intent::Frugal;
        for one in &mut status.interfaces {
            (one.role, one.wanted, one.intent, one.allowed) =
                (Role::Unused, Role::Unused, Intent::Frugal, true);
            one.reason = Reason::OnlyPath;
        }
        let first = |status: &Status| {
            let socket = Path::new("/tmp/live.sock");
            let one = decided(status, Some(socket)).unwrap().interfaces.remove(0);
            (one.is_wanted, one.command)
        };
        let set = "joulepath live set-intent aggregate";
        assert_eq!(
            first(&status),
            (false, Some(format!("{set} --socket /tmp/live.sock")))
        );
        status.interfaces[0].reason = Reason::HardQuota {
            used_bytes: 2,
            quota_bytes: 1,
        };
        assert_eq!(first(&status), (false, None));
        status.interfaces[0].wanted = Role::Regular;
        assert!(first(&status).0);
        status.paused = true;
        assert!(!first(&status).0);
        status.first.tunnels = vec![TunnelStatus {
            name: "office".into(),
            general: true,
            bypass: true,
        }];
        assert_eq!(
            decided(&status, None).unwrap().tunnels,
            [("office".to_owned(), true)].into()
        );
        // A daemon that is off changes nothing: its interfaces are the user's.
        (status.paused, status.intent) = (false, Intent::Off);
        assert_eq!(decided(&status, None), None);
    }
}
