//! This host's receive buffer is smaller than the bandwidth-delay product of a download.

use joulepath_kernel::mptcp::diag::SocketMemory;

use super::window::{Limit, blocked, cost, enough_bytes, is_read_slowly, unequal};
use crate::finding::{Finding, Fix, Remedy};
use crate::subject::Subject;
use crate::words::{kb, mbit, percent};

pub(super) const NAME: &str = "receive-buffer";
const SYSCTL: &str = "net.ipv4.tcp_rmem";
/// The kernel's default maximum, bytes.
pub(super) const DEFAULT: u64 = 6 << 20;
const MODERATE: &str = "net.ipv4.tcp_moderate_rcvbuf";

/// What the kernel can still do about the size of the buffer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Growth {
    /// It has the largest size, or its size is unknown.
    Ended,
    /// It grew during the observation and may grow further.
    GoesOn,
    /// It is smaller and does not grow: automatic growth is off.
    Off,
    /// It is smaller and does not grow: the program has set its size.
    Set,
}

pub(super) fn find(subject: &Subject<'_>) -> Option<Finding> {
    let blocked = blocked(subject).filter(|blocked| blocked.limit == Limit::OwnWindow)?;
    if unequal(subject, &blocked).is_some() || is_read_slowly(subject) {
        return None;
    }
    let [least, default, most] = [0, 1, 2].map(|n| subject.host.number(SYSCTL, n));
    let bytes = enough_bytes(&blocked, most, DEFAULT);
    let fix = match growth(subject, most) {
        // What limits is the time that growth takes, which ends by itself.
        Growth::GoesOn => return None,
        Growth::Ended => Fix::commands([format!(
            "sysctl -w {SYSCTL}=\"{} {} {bytes}\"",
            least.unwrap_or(4096),
            default.unwrap_or(131_072)
        )]),
        Growth::Off => Fix::commands([format!("sysctl -w {MODERATE}=1")]),
        Growth::Set => {
            Fix::advice("the program sets SO_RCVBUF, which ends the automatic growth: remove that")
        }
    };
    let memory =
        limits_bytes(subject).map(|(_, now)| format!("the buffer has {}; ", kb(f64::from(now))));
    let most = most.map_or_else(
        || format!("{SYSCTL} is unknown"),
        |most| format!("{SYSCTL}: at most {}", kb(most as f64)),
    );
    Some(Finding {
        cause: NAME,
        verdict: "this host's receive buffer limits the download".into(),
        evidence: vec![
            format!(
                "{} in flight at {}: {} of the window of {} that this host offers",
                kb(blocked.share * blocked.bytes),
                mbit(subject.rate_bps()),
                percent(blocked.share),
                kb(blocked.bytes)
            ),
            format!("{}{most}", memory.unwrap_or_default()),
        ],
        cost: cost(subject, &blocked),
        fix,
        remedy: Some(Remedy::ReceiveBuffer(bytes / 2)),
        gain: None,
    })
}

fn growth(subject: &Subject<'_>, most: Option<u64>) -> Growth {
    let (Some((before, now)), Some(most)) = (limits_bytes(subject), most) else {
        return Growth::Ended;
    };
    match () {
        () if u64::from(now) >= most => Growth::Ended,
        () if now > before => Growth::GoesOn,
        () if subject.host.number(MODERATE, 0) == Some(0) => Growth::Off,
        () => Growth::Set,
    }
}

/// Size of the buffer at the begin and at the end of the observation, bytes of memory. Of plain TCP
/// only the end is known.
fn limits_bytes(subject: &Subject<'_>) -> Option<(u32, u32)> {
    let limit = |memory: Option<SocketMemory>| Some(memory?.receive_limit_bytes);
    match subject.mptcp[..] {
        [first, .., last] => Some((limit(first.memory)?, limit(last.memory)?)),
        [only] => Some((limit(only.memory)?, limit(only.memory)?)),
        [] => limit(subject.flows.first()?.socket.memory).map(|now| (now, now)),
    }
}
