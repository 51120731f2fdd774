//! A path loses large packets without notice: joins and small packets pass, full segments get no
//! answer.

use super::joins::idle_share;
use super::silence::{self, Silent};
use crate::finding::{Finding, Fix, Remedy};
use crate::subject::Subject;

pub(super) const NAME: &str = "mtu";

/// The handshake was answered at most this long before the first data that got no answer, s.
const JUST_S: f64 = 2.0;

pub(super) fn find(subject: &Subject<'_>) -> Option<Finding> {
    let lost: Vec<_> = silence::all(subject).into_iter().filter(is_hole).collect();
    let worst = lost
        .iter()
        .max_by(|a, b| a.unanswered_s.total_cmp(&b.unanswered_s))?;
    let (info, flow) = (worst.flow.info()?, worst.flow);
    let (name, remote) = (flow.name(subject.host), subject.remote.ip());
    let from = flow.socket.local.ip();
    let is_probing = subject
        .host
        .number("net.ipv4.tcp_mtu_probing", 0)
        .is_some_and(|value| value > 0);
    let check = format!(
        "`ping -M do -s {} -I {from} {remote}` gets no answer, a smaller packet does; lower the MTU of the \
         route where the path is narrow, and let ICMP pass",
        info.send_mss_bytes
    );
    let fix = match is_probing {
        true => Fix::advice(check),
        false => Fix::commands(["sysctl -w net.ipv4.tcp_mtu_probing=1"]).or(check),
    };
    Some(Finding {
        cause: NAME,
        verdict: format!(
            "{name} loses large packets without notice: its MTU is smaller than the segments"
        ),
        evidence: vec![
            format!(
                "the handshake was answered; of {} segments of up to {} bytes none was, for at least {:.1} s",
                info.data_segments_out, info.send_mss_bytes, worst.unanswered_s
            ),
            format!(
                "{} bytes acknowledged in its whole life; {} timeouts in a row",
                info.acked_bytes, info.backoff
            ),
        ],
        cost: idle_share(subject, lost.len()),
        fix,
        remedy: Some(Remedy::Add(flow.device.into_iter().collect())),
        gain: None,
    })
}

/// True if the path answered the handshake at once, and no full segment ever after.
pub(super) fn is_hole(silent: &Silent<'_, '_>) -> bool {
    let Some(info) = silent.flow.info() else {
        return false;
    };
    let (Some(heard_s), false) = (silent.heard_s, silent.has_paused) else {
        return false;
    };
    let is_full = info.data_segments_out > 0 && info.sent_bytes >= u64::from(info.send_mss_bytes);
    is_full
        && info.acked_bytes < u64::from(info.send_mss_bytes)
        && heard_s - silent.begun_s <= JUST_S
}
