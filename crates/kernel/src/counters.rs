//! The counters of TCP and MPTCP in a network namespace, as `nstat` shows them.

use std::collections::BTreeMap;
use std::fs;

use crate::error::{Doing, Result};

/// Of the calling thread's namespace: `/proc/net` is that of the process.
const FILE: &str = "/proc/thread-self/net/netstat";

/// The extended counters of TCP, IP and MPTCP in the calling thread's namespace since its creation,
/// by name: `TcpExtTCPTimeouts`, `MPTcpExtMPJoinSynTx`.
///
/// # Errors
/// [`Error::Io`](crate::Error::Io) without `/proc`.
pub fn read() -> Result<BTreeMap<String, u64>> {
    let text = fs::read_to_string(FILE).doing("reading the counters of TCP")?;
    Ok(parse(&text))
}

/// Pairs of lines: names, then values, each after the group's name.
fn parse(text: &str) -> BTreeMap<String, u64> {
    let lines: Vec<&str> = text.lines().collect();
    let mut all = BTreeMap::new();
    for pair in lines.chunks_exact(2) {
        let (mut names, mut values) = (pair[0].split_whitespace(), pair[1].split_whitespace());
        let (Some(group), Some(same)) = (names.next(), values.next()) else {
            continue;
        };
        if group != same {
            continue;
        }
        let group = group.trim_end_matches(':');
        // Some counters are gauges, and may be negative.
        let known = names
            .zip(values)
            .filter_map(|(name, value)| Some((name, value.parse().ok()?)));
        all.extend(known.map(|(name, value)| (format!("{group}{name}"), value)));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_have_the_name_of_their_group() {
        let text =
            "TcpExt: TCPTimeouts TCPDelivered\nTcpExt: 3 -1\nMPTcpExt: MPJoinSynTx\nMPTcpExt: 2\n";
        let expected = [("TcpExtTCPTimeouts", 3), ("MPTcpExtMPJoinSynTx", 2)];
        assert_eq!(
            parse(text),
            expected
                .map(|(name, value)| (name.to_owned(), value))
                .into()
        );
    }

    #[test]
    fn a_damaged_file_has_no_counters() {
        assert_eq!(parse("TcpExt: A B\nIpExt: 1 2\nTcpExt:"), BTreeMap::new());
    }
}
