//! The slotted model of 003 over a sweep of V: energy falls as O(1/V), the queue grows as O(V).
//!
//! `cargo run --release -p joulepath-control --example so_mptcp`

use joulepath_control::allocate::so_mptcp::simulate;
use joulepath_control::allocate::{EnergyShape, SlotPath, SoMptcp};
use rand_core::Rng;
use rand_pcg::Pcg64Mcg;

const SLOTS: usize = 100_000;
/// Mean arrivals per slot, packets.
const LOAD: f64 = 35.0;

/// A Poisson variate by Knuth's product of uniforms.
fn poisson(random: &mut Pcg64Mcg) -> f64 {
    let (limit, mut product, mut count) = (libm::exp(-LOAD), 1.0, -1.0);
    while product > limit {
        product *= f64::from(random.next_u32()) / f64::from(u32::MAX);
        count += 1.0;
    }
    count
}

fn main() {
    // 20, 30 and 60 packets per slot at 5, 10 and 20 J per packet.
    let paths = [(5.0, 20.0), (10.0, 30.0), (20.0, 60.0)]
        .map(|(cost_j, capacity)| SlotPath::within(cost_j, capacity));
    println!("{:>6} {:>8} {:>14} {:>15}", "V", "shape", "energy J/slot", "queue, packets");
    for shape in [EnergyShape::Linear, EnergyShape::Convex] {
        for v in [0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0] {
            let mut random = Pcg64Mcg::new(7);
            let arrivals = (0..SLOTS).map(|_| poisson(&mut random));
            let means = simulate(&mut SoMptcp::new(v, shape), &paths, arrivals);
            println!("{v:>6} {:>8} {:>14.1} {:>15.1}", format!("{shape:?}"), means.energy_j, means.queue);
        }
    }
}
