//! MPTCP has fallen back to TCP: the peer or a middlebox does not speak it.

use super::joins::unused_share;
use crate::finding::{Finding, Fix};
use crate::subject::Subject;

pub(super) const NAME: &str = "fallback";

/// Counters of fallbacks, and what each means.
const REASONS: [(&str, &str); 9] = [
    ("MPTcpExtMPCapableFallbackSYNACK", "the SYN/ACK had no MP_CAPABLE: the server does not speak MPTCP"),
    ("MPTcpExtMPCapableFallbackACK", "the third ACK had no MP_CAPABLE: a middlebox removed it"),
    ("MPTcpExtMPCapableDataFallback", "the first data had no DSS: a middlebox removed it"),
    ("MPTcpExtMPFallbackTokenInit", "no token was free"),
    ("MPTcpExtDataCsumErr", "a checksum was wrong: a middlebox changes data"),
    ("MPTcpExtDSSCorruptionFallback", "the DSS was corrupt: a middlebox changes data"),
    ("MPTcpExtDssFallback", "data arrived without a mapping"),
    ("MPTcpExtInfiniteMapRx", "the peer sent an infinite mapping"),
    ("MPTcpExtMD5SigFallback", "TCP MD5 signatures exclude MPTCP"),
];

pub(super) fn find(subject: &Subject<'_>) -> Option<Finding> {
    let others = subject.alternatives();
    if !subject.connection()?.info.fallback || others.is_empty() || subject.is_idle() {
        return None;
    }
    let mut evidence = vec!["the socket is MPTCP, and its connection has the fallback flag".to_owned()];
    for (name, meaning) in REASONS {
        let (all, _) = subject.counter(name);
        if all > 0 {
            evidence.push(format!("{} = {all} on this host: {meaning}", name.trim_start_matches("MPTcpExt")));
        }
    }
    Some(Finding {
        cause: NAME,
        verdict: format!("{} or a middlebox does not speak MPTCP: it is plain TCP", subject.remote.ip()),
        evidence,
        cost: unused_share(subject, others.len()),
        fix: Fix::advice(
            "on the server: `sysctl -w net.mptcp.enabled=1`, and start the program with `joulepath run`; if \
             it is not yours, `joulepath relay` through a server that is",
        ),
        remedy: None,
        gain: None,
    })
}
