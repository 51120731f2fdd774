//! Random choices: the pairs of hosts that communicate, and their routes.

use joulepath_model::random::Stream;
use joulepath_model::topology::TrafficPattern;

use crate::graph::Node;

/// The shuffle of Fisher and Yates.
pub(crate) fn shuffle<T>(items: &mut [T], stream: &mut Stream) {
    for i in (1..items.len()).rev() {
        items.swap(i, stream.below(i as u64 + 1) as usize);
    }
}

/// The first `wanted` elements of a random order of 0 … `of` − 1. A smaller `wanted` gives the same
/// elements without the last.
pub(crate) fn some_of(of: u32, wanted: u32, stream: &mut Stream) -> Vec<u32> {
    let mut items: Vec<u32> = (0..of).collect();
    let wanted = wanted.min(of) as usize;
    for i in 0..wanted {
        let other = i + stream.below((items.len() - i) as u64) as usize;
        items.swap(i, other);
    }
    items.truncate(wanted);
    items
}

/// The peer of each host's connection.
pub(crate) fn peers(pattern: TrafficPattern, hosts: u32, stream: &mut Stream) -> Vec<Node> {
    match pattern {
        TrafficPattern::Permutation => derangement(hosts, stream),
        TrafficPattern::Random => {
            let other = |host| {
                let other = stream.below(u64::from(hosts - 1)) as u32;
                if other >= host { other + 1 } else { other }
            };
            (0..hosts).map(other).collect()
        }
    }
}

/// A permutation without fixed points; all have the same probability. Draws uniform permutations
/// until one has no fixed point, which takes e draws on average.
fn derangement(hosts: u32, stream: &mut Stream) -> Vec<Node> {
    loop {
        let mut peers: Vec<Node> = (0..hosts).collect();
        shuffle(&mut peers, stream);
        if (0..hosts).all(|host| peers[host as usize] != host) {
            return peers;
        }
    }
}
