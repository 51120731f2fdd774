//! Samples of a run whose length nobody knows beforehand.

/// How many are kept at most.
const MOST: usize = 1024;

/// Samples at a steady interval. When there are 1024, every other one goes and the interval doubles: a short
/// transfer in a long scenario has as many as a full one. They hold running totals, whose differences are
/// taken at the end: thinning out loses nothing.
#[derive(Clone, Debug)]
pub struct Samples<T> {
    interval_ns: u64,
    kept: Vec<T>,
}

impl<T> Samples<T> {
    /// None yet; the first ones are `interval_ns` apart.
    pub fn every(interval_ns: u64) -> Self {
        Samples { interval_ns, kept: vec![] }
    }

    /// Time from one sample to the next, ns.
    pub fn interval_ns(&self) -> u64 {
        self.interval_ns
    }

    /// Adds the next one.
    pub fn push(&mut self, sample: T) {
        self.kept.push(sample);
        if self.kept.len() >= MOST {
            let mut nth = 0;
            self.kept.retain(|_| {
                nth += 1;
                nth % 2 == 0
            });
            self.interval_ns *= 2;
        }
    }

    /// Forgets all of them; the interval stays.
    pub fn clear(&mut self) {
        self.kept.clear();
    }

    /// Those that are kept, in order.
    pub fn kept(&self) -> &[T] {
        &self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_stays_evenly_spaced_however_long_it_goes_on() {
        let mut samples = Samples::every(10);
        let mut now_ns = 0;
        for _ in 0..5000 {
            now_ns += samples.interval_ns();
            samples.push(now_ns);
        }
        // The 1024th sample doubles the interval, and so does every 512th after it: 1 + ⌊(5000 − 1024)/512⌋ =
        // 8 times.
        assert_eq!(samples.interval_ns(), 10 << 8);
        let kept = samples.kept();
        assert!((512..1024).contains(&kept.len()));
        assert!(kept.windows(2).all(|pair| pair[1] - pair[0] == samples.interval_ns()));
        assert_eq!(kept.last(), Some(&now_ns));
    }
}
