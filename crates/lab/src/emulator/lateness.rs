//! A histogram of packets' lateness with bins of constant relative width.

use serde::{Deserialize, Serialize};

/// Bins per doubling of the lateness: quantiles are exact to 1/16.
const BINS_PER_OCTAVE: usize = 16;
const OCTAVES: usize = 40;

/// Times between when packets were due and when they left.
#[derive(Clone, Debug)]
pub(super) struct Histogram {
    bins: Vec<u64>,
    count: u64,
    max_ns: u64,
}

/// Summary of a histogram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lateness {
    /// Number of packets.
    pub packets: u64,
    /// The median, ns.
    pub p50_ns: u64,
    /// 99th percentile, ns.
    pub p99_ns: u64,
    /// Maximum, ns.
    pub max_ns: u64,
}

impl Histogram {
    pub(super) fn new() -> Self {
        Histogram {
            bins: vec![0; BINS_PER_OCTAVE * OCTAVES],
            count: 0,
            max_ns: 0,
        }
    }

    pub(super) fn add(&mut self, late_ns: u64) {
        let last = self.bins.len() - 1;
        self.bins[bin(late_ns).min(last)] += 1;
        self.count += 1;
        self.max_ns = self.max_ns.max(late_ns);
    }

    /// The lowest lateness that a fraction `q` of all packets does not exceed, rounded up to the
    /// end of its bin.
    fn quantile(&self, q: f64) -> u64 {
        let rank = (q * self.count as f64).ceil() as u64;
        let mut seen = 0;
        let found = self.bins.iter().position(|&n| {
            seen += n;
            seen >= rank.max(1)
        });
        found.map_or(0, |bin| (floor_of(bin + 1) - 1).min(self.max_ns))
    }

    pub(super) fn report(&self) -> Lateness {
        Lateness {
            packets: self.count,
            p50_ns: self.quantile(0.5),
            p99_ns: self.quantile(0.99),
            max_ns: self.max_ns,
        }
    }
}

/// Below 16 each value has its own bin; above, each doubling has 16 bins.
fn bin(value: u64) -> usize {
    let octave = (value | 0xF).ilog2() as usize - 3;
    if octave == 0 {
        return value as usize;
    }
    octave * BINS_PER_OCTAVE + (value >> (octave - 1)) as usize - BINS_PER_OCTAVE
}

/// The smallest value of a bin.
fn floor_of(bin: usize) -> u64 {
    let (octave, rest) = (bin / BINS_PER_OCTAVE, (bin % BINS_PER_OCTAVE) as u64);
    if octave == 0 {
        rest
    } else {
        (BINS_PER_OCTAVE as u64 + rest) << (octave - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_in_its_bin() {
        let mut last = 0;
        for value in (0..100_000).chain((17..39).map(|shift| 1 << shift)) {
            let bin = bin(value);
            assert!(bin >= last, "{value}");
            assert!(
                floor_of(bin) <= value && value < floor_of(bin + 1),
                "{value} in bin {bin}"
            );
            last = bin;
        }
    }

    #[test]
    fn quantiles_are_exact_to_a_bin() {
        let mut histogram = Histogram::new();
        (1..=1000).for_each(|us| histogram.add(us * 1000));
        let Lateness {
            packets,
            p50_ns,
            p99_ns,
            max_ns,
        } = histogram.report();
        assert_eq!((packets, max_ns), (1000, 1_000_000));
        // 500 µs and 990 µs, at most a sixteenth larger.
        assert!((500_000..532_000).contains(&p50_ns), "{p50_ns}");
        assert!((990_000..=1_000_000).contains(&p99_ns), "{p99_ns}");
    }

    #[test]
    fn an_empty_histogram_is_zero() {
        assert_eq!(Histogram::new().report(), Lateness::default());
    }
}
