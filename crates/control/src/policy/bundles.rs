//! The registered bundles.

/// Parts of a bundle under one policy name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyInfo {
    /// Name on the command line.
    pub name: &'static str,
    /// Title in tables.
    pub title: &'static str,
    /// Congestion controller, by its registry name.
    pub cc: &'static str,
    /// Packet scheduler, by its registry name.
    pub scheduler: &'static str,
    /// Path selector, by its registry name, or `all`.
    pub selector: &'static str,
    /// Rate allocator, by its registry name.
    pub allocator: Option<&'static str>,
    /// Source of the bundle.
    pub paper: &'static str,
    /// One line of description.
    pub summary: &'static str,
}

const fn minrtt(
    name: &'static str,
    title: &'static str,
    cc: &'static str,
    paper: &'static str,
    summary: &'static str,
) -> PolicyInfo {
    PolicyInfo {
        name,
        title,
        cc,
        scheduler: "minrtt",
        selector: "all",
        allocator: None,
        paper,
        summary,
    }
}

/// LIA and minrtt on the paths chosen by the selector of the bundle's name.
const fn selected(
    name: &'static str,
    title: &'static str,
    paper: &'static str,
    summary: &'static str,
) -> PolicyInfo {
    PolicyInfo {
        selector: name,
        ..minrtt(name, title, "lia", paper, summary)
    }
}

/// Every bundle. `single` takes the path's name: `single:wifi`.
pub const POLICIES: [PolicyInfo; 21] = [
    minrtt(
        "uncoupled",
        "uncoupled",
        "reno",
        "baseline",
        "NewReno on every subflow",
    ),
    minrtt(
        "mptcp",
        "MPTCP",
        "lia",
        "RFC 6356",
        "standard MPTCP as the papers use it",
    ),
    PolicyInfo {
        allocator: Some("eemptcp"),
        ..minrtt(
            "eemptcp",
            "EEMPTCP",
            "eemptcp",
            "000",
            "LIA moved towards the most efficient rate split",
        )
    },
    selected(
        "es-mptcp",
        "ES-MPTCP",
        "001",
        "the paths with the best trade of throughput for energy",
    ),
    minrtt(
        "dts",
        "DTS",
        "dts",
        "002",
        "traffic shifts to paths with little queueing delay",
    ),
    minrtt(
        "edts",
        "extended DTS",
        "edts",
        "002",
        "DTS that also pays for queues and energy in the network",
    ),
    PolicyInfo {
        scheduler: "allotted",
        allocator: Some("so-mptcp"),
        ..minrtt(
            "so-mptcp",
            "so-MPTCP",
            "lia",
            "003",
            "data waits until the queue is worth a path's energy",
        )
    },
    minrtt(
        "cwa",
        "CWA",
        "cwa",
        "004",
        "LIA that cuts the window of the slowest path",
    ),
    PolicyInfo {
        scheduler: "proactive",
        ..minrtt(
            "cwa-proactive",
            "CWA + proactive",
            "cwa",
            "004",
            "CWA, and slow paths carry later segments",
        )
    },
    PolicyInfo {
        scheduler: "emtcp",
        ..minrtt(
            "emtcp",
            "eMTCP",
            "lia",
            "Chen et al. 2013",
            "traffic is offloaded to the cheapest interface",
        )
    },
    selected(
        "emptcp",
        "eMPTCP",
        "Lim et al. 2015",
        "WiFi, cellular or both by forecast rates",
    ),
    selected(
        "pluntke",
        "Pluntke",
        "Pluntke et al. 2011",
        "one path per second, by a decision process",
    ),
    PolicyInfo {
        scheduler: "mainline",
        ..minrtt(
            "linux",
            "Linux default",
            "cubic",
            "Linux 6",
            "the default of mainline Linux: CUBIC, uncoupled",
        )
    },
    minrtt(
        "single",
        "single",
        "reno",
        "baseline",
        "one path only: `single:wifi`",
    ),
    minrtt(
        "ecmtcp",
        "ecMTCP",
        "ecmtcp",
        "Le et al. 2012",
        "LIA bounded by the path's energy cost",
    ),
    PolicyInfo {
        scheduler: "redundant",
        ..minrtt(
            "redundant",
            "redundant",
            "lia",
            "baseline",
            "every segment on every path: the energy's upper bound",
        )
    },
    selected(
        "single-best",
        "single best",
        "baseline",
        "the path with the least energy per bit, alone",
    ),
    selected(
        "backup",
        "backup",
        "RFC 8684",
        "one path, the others as backups",
    ),
    selected(
        "overflow",
        "overflow",
        "Joulepath",
        "the cheapest path; the next only while it is full",
    ),
    selected(
        "quota",
        "quota",
        "Joulepath",
        "the most expensive path carries a data allowance, then is the last resort",
    ),
    PolicyInfo {
        cc: "hybrid",
        ..selected(
            "joule",
            "joule",
            "Joulepath",
            "the paths with the fewest joules for the demand",
        )
    },
];
