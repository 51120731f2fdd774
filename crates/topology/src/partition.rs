//! Partition of a network for simulation on several cores.
//!
//! Hosts are divided into equal ranges of whole units: pods of a FatTree, racks below one pair of
//! aggregation switches of VL2, hosts of a BCube with the same highest digit, single hosts of a
//! virtual private cloud. A switch whose neighbours below are all in one part belongs to that part,
//! so units are not cut. The other switches connect all units; they are divided into equal ranges,
//! because each carries the same average traffic.

use crate::graph::{Arc, Node};
use crate::{Network, Shape};

/// Most parts: a part's number is one byte.
const MOST: usize = 255;

impl Network {
    /// The part of each node, by number, for at most `parts` parts; fewer if the network has fewer
    /// units. Both directions of a cable between two parts cross the cut.
    pub fn partition(&self, parts: usize) -> Vec<u8> {
        let unit = self.hosts_of_unit().max(1);
        let units = (self.hosts / unit) as usize;
        let parts = parts.clamp(1, MOST).min(units.max(1));
        let of_host = |host: Node| share((host / unit) as usize, units, parts);
        let mut of: Vec<Option<u8>> = (0..self.hosts).map(|host| Some(of_host(host))).collect();
        of.resize((self.hosts + self.switches) as usize, None);
        for layer in 0..self.layers.len() {
            place_layer(&mut of, self.arcs(), layer);
        }
        let left = of.iter().filter(|part| part.is_none()).count();
        let mut placed = 0;
        let mut deal = || {
            placed += 1;
            share(placed - 1, left, parts)
        };
        of.into_iter()
            .map(|part| part.unwrap_or_else(&mut deal))
            .collect()
    }

    /// Number of consecutive hosts that should stay together.
    fn hosts_of_unit(&self) -> u32 {
        match self.shape {
            Shape::FatTree(tree) => tree.hosts_of_pod(),
            Shape::Vl2(vl2) => vl2.hosts_of_pair(),
            Shape::Bcube(bcube) => bcube.hosts_of_digit(),
            Shape::Vpc(_) => 1,
        }
    }
}

/// The part of item `index` of `count` items that are divided into equal ranges.
fn share(index: usize, count: usize, parts: usize) -> u8 {
    u8::try_from(index * parts / count.max(1)).expect("there are at most 255 parts")
}

/// Assigns each upper end of a layer's cables to the part of its lower ends, if they agree.
fn place_layer(of: &mut [Option<u8>], arcs: &[Arc], layer: usize) {
    // For each upper node: the part of its lower ends so far; the inner `None` if they disagree.
    let mut said: Vec<Option<Option<u8>>> = vec![None; of.len()];
    // A cable is two arcs; the first is upwards.
    for up in arcs.iter().step_by(2).filter(|arc| arc.layer == layer) {
        let (below, above) = (of[up.from as usize], up.to as usize);
        said[above] = match said[above] {
            None => Some(below),
            Some(before) => Some(before.filter(|_| before == below)),
        };
    }
    for (part, said) in of.iter_mut().zip(said) {
        *part = part.or(said.flatten());
    }
}

#[cfg(test)]
mod tests {
    use joulepath_model::scenario::load;

    use super::*;

    fn network(topology: &str) -> Network {
        let text = format!(
            "title = \"test\"\nduration = \"1 s\"\n[topology]\n{topology}\nrate = \"100 Mbit/s\"\n\
             queue = \"20 packets\"\n"
        );
        let scenario = load(&text, &|trace| Err(format!("no trace {trace}")));
        let scenario = scenario.unwrap_or_else(|errors| panic!("{errors}\n{text}"));
        Network::new(scenario.topology.as_ref().unwrap())
    }

    /// Number of nodes in each part, and number of cables between parts.
    fn cut(topology: &str, parts: usize) -> (Vec<usize>, usize) {
        let network = network(topology);
        let of = network.partition(parts);
        assert_eq!(of.len(), (network.hosts + network.switches) as usize);
        let count = usize::from(*of.iter().max().unwrap()) + 1;
        let sizes = (0..count).map(|part| {
            of.iter()
                .filter(|&&other| usize::from(other) == part)
                .count()
        });
        let crosses = |arc: &&Arc| of[arc.from as usize] != of[arc.to as usize];
        let crossing = network.arcs().iter().filter(crosses).count();
        assert_eq!(crossing % 2, 0);
        (sizes.collect(), crossing / 2)
    }

    /// k = 4: 16 hosts, 8 edge, 8 aggregation and 4 core switches. The 4 cables of a pod to the
    /// core lead to 4 core switches. With two parts half of these are in the other part: 4 pods × 4
    /// cables / 2. With four parts, three of four.
    #[test]
    fn a_fat_tree_is_cut_between_pods() {
        let tree = "kind = \"fat-tree\"\nk = 4";
        assert_eq!(cut(tree, 1), (vec![36], 0));
        assert_eq!(cut(tree, 2), (vec![18, 18], 8));
        assert_eq!(cut(tree, 4), (vec![9; 4], 12));
        // There are four pods.
        assert_eq!(cut(tree, 9), (vec![9; 4], 12));
        // One part has two pods, two parts have one pod each. The first part has the first of the
        // four core switches and one more.
        assert_eq!(cut(tree, 3).0, [18, 9, 9]);
    }

    /// D_A = 4, D_I = 4: 4 racks below two pairs of aggregation switches, 2 intermediate switches.
    /// Each part has one pair, and each of its two cables to the other part's intermediate switch
    /// crosses the cut.
    #[test]
    fn a_vl2_is_cut_between_pairs_of_aggregation_switches() {
        let vl2 = "kind = \"vl2\"\nd_a = 4\nd_i = 4\nhosts_per_tor = 3";
        assert_eq!(cut(vl2, 2), (vec![11, 11], 4));
    }

    /// BCube(4, 1): 16 hosts, 4 switches per level. Switches of level 0 connect hosts with the same
    /// highest digit. With two parts, two of the four cables of each switch of level 1 cross the
    /// cut.
    #[test]
    fn a_bcube_is_cut_at_its_highest_digit() {
        assert_eq!(cut("kind = \"bcube\"\nn = 4\nk = 1", 2), (vec![12, 12], 8));
    }

    /// 8 hosts with 2 interfaces: each part has 4 hosts and a switch, of which 4 cables cross the
    /// cut.
    #[test]
    fn a_cloud_is_cut_between_hosts() {
        assert_eq!(
            cut("kind = \"vpc\"\nhosts = 8\ninterfaces = 2", 2),
            (vec![5, 5], 8)
        );
    }
}
