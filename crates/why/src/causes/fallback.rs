//! MPTCP has fallen back to TCP, in the handshake or later.

use super::joins::{add, unused_share};
use crate::finding::{Finding, Fix};
use crate::subject::Subject;

pub(super) const NAME: &str = "fallback";

/// Counters of fallbacks, and what each means.
const REASONS: [(&str, &str); 9] = [
    (
        "MPTcpExtMPCapableFallbackSYNACK",
        "SYN/ACKs without MP_CAPABLE",
    ),
    (
        "MPTcpExtMPCapableFallbackACK",
        "third ACKs without MP_CAPABLE: a middlebox removed it",
    ),
    (
        "MPTcpExtMPCapableDataFallback",
        "first data without DSS: a middlebox removed it",
    ),
    ("MPTcpExtMPFallbackTokenInit", "no token was free"),
    (
        "MPTcpExtDataCsumErr",
        "wrong checksums: a middlebox changes data",
    ),
    (
        "MPTcpExtDSSCorruptionFallback",
        "corrupt DSS: a middlebox changes data",
    ),
    (
        "MPTcpExtDssFallback",
        "data without a mapping: a middlebox removed the DSS",
    ),
    (
        "MPTcpExtInfiniteMapRx",
        "infinite mappings of the peer: DSS was removed on the way there",
    ),
    ("MPTcpExtMD5SigFallback", "TCP MD5 signatures exclude MPTCP"),
];
/// Of these, the reasons of a fallback in the handshake.
const HANDSHAKE: [usize; 3] = [0, 3, 8];

pub(super) fn find(subject: &Subject<'_>) -> Option<Finding> {
    let others = subject.alternatives();
    let info = &subject.connection()?.info;
    if !info.fallback
        || others.is_empty()
        || subject.is_idle()
        || super::dropped::is_dropped(subject)
    {
        return None;
    }
    let (remote, over) = (
        subject.remote.ip(),
        subject.flows.first()?.name(subject.host),
    );
    let mut evidence =
        vec!["the socket is MPTCP, and its connection has the fallback flag".to_owned()];
    // The peer's key arrives with MP_CAPABLE.
    let is_midway = info.remote_key_received;
    for (index, (name, meaning)) in REASONS.into_iter().enumerate() {
        let (all, _) = subject.counter(name);
        if all > 0 && HANDSHAKE.contains(&index) != is_midway {
            evidence.push(format!(
                "{} = {all} on this host: {meaning}",
                name.trim_start_matches("MPTcpExt")
            ));
        }
    }
    let others_passed = elsewhere(subject);
    let speaks = others_passed.is_some();
    evidence.extend(others_passed);
    let (verdict, fix) = match (is_midway, speaks) {
        (true, _) => (
            format!(
                "the connection with {remote} fell back after its handshake: a middlebox changes or removes \
                 MPTCP"
            ),
            Fix::advice(format!(
                "a proxy or firewall on {over} or before {remote} rewrites TCP: let option 30 pass there, or \
                 begin connections over another interface"
            )),
        ),
        (false, true) => (
            format!(
                "a middlebox on {over} removes MPTCP: {remote} speaks it over another interface"
            ),
            Fix::advice(
                "let TCP option 30 pass there, or begin connections over the other interface",
            ),
        ),
        (false, false) => (
            format!(
                "the answer of {remote} came without MPTCP: the server does not speak it, or a middlebox \
                 removes it"
            ),
            Fix::advice(format!(
                "`joulepath run -- curl http://check.mptcp.dev` tells: if it reports MPTCP, {over} passes it \
                 and the server lacks it (there: `sysctl -w net.mptcp.enabled=1`, and start the program with \
                 `joulepath run`; else `joulepath relay` through a server that has it); if not, a middlebox \
                 on {over} removes TCP option 30: begin connections over another interface"
            )),
        ),
    };
    Some(Finding {
        cause: NAME,
        verdict,
        evidence,
        cost: unused_share(subject, others.len()),
        fix,
        remedy: add(&others),
        gain: None,
    })
}

/// Other connections to the same server that kept MPTCP over another interface: the server speaks
/// it.
pub(super) fn elsewhere(subject: &Subject<'_>) -> Option<String> {
    let own = subject.flows.first()?.device;
    let device = subject
        .multipath_to_peer()
        .into_iter()
        .find(|device| Some(*device) != own)?;
    let name = subject.host.device_name(device);
    Some(format!(
        "another connection to {} over {name} has MPTCP: the server speaks it",
        subject.remote
    ))
}
