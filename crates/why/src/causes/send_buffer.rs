//! This host's send buffer is smaller than the bandwidth-delay product.

use super::window::{Limit, blocked, cost, enough_bytes, send_limits_bytes, unequal};
use crate::finding::{Finding, Fix, Remedy};
use crate::subject::Subject;
use crate::words::{kb, percent};

pub(super) const NAME: &str = "send-buffer";
const SYSCTL: &str = "net.ipv4.tcp_wmem";
/// The kernel's default maximum, bytes.
const DEFAULT: u64 = 4 << 20;

pub(super) fn find(subject: &Subject<'_>) -> Option<Finding> {
    let blocked = blocked(subject).filter(|blocked| blocked.limit == Limit::SendBuffer)?;
    if !blocked.is_too_small() || unequal(subject, &blocked).is_some() {
        return None;
    }
    let [least, default, most] = [0, 1, 2].map(|n| subject.host.number(SYSCTL, n));
    let (before, now) = send_limits_bytes(subject)?;
    if now > before {
        // What limits is the time that growth takes, which ends by itself.
        return None;
    }
    let bytes = enough_bytes(&blocked, most, DEFAULT);
    let set = format!(
        "sysctl -w {SYSCTL}=\"{} {} {bytes}\"",
        least.unwrap_or(4096),
        default.unwrap_or(16_384)
    );
    Some(Finding {
        cause: NAME,
        verdict: "this host's send buffer limits the upload".into(),
        evidence: vec![
            format!(
                "the send buffer of {} was full in {} of the time, with room in the congestion windows",
                kb(blocked.bytes),
                percent(blocked.share)
            ),
            format!(
                "the congestion windows hold {}",
                kb(blocked.needed_bytes.unwrap_or(0.0))
            ),
        ],
        cost: cost(subject, &blocked),
        fix: match most {
            // The maximum holds for each subflow.
            Some(most) if most >= 2 * u64::from(now) => Fix::advice(
                "the program sets SO_SNDBUF, which ends the automatic growth: remove that",
            ),
            _ => Fix::commands([set]),
        },
        remedy: Some(Remedy::SendBuffer(bytes / 2)),
        gain: None,
    })
}
