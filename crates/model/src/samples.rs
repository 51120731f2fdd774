//! Samples of a run of unknown length.

/// Largest number of samples kept.
const MOST: usize = 1024;

/// Samples at a regular interval. At 1024 samples every other one is dropped and the interval
/// doubles, so a short transfer in a long scenario has as many samples as a full one. Samples hold
/// running totals, and their differences are taken at the end, so thinning loses nothing.
#[derive(Clone, Debug)]
pub struct Samples<T> {
    interval_ns: u64,
    kept: Vec<T>,
    /// The samples dropped last.
    gone: Vec<T>,
}

impl<T> Samples<T> {
    /// No samples yet; the first will be `interval_ns` apart.
    pub fn every(interval_ns: u64) -> Self {
        Samples {
            interval_ns,
            kept: vec![],
            gone: vec![],
        }
    }

    /// Time from one sample to the next, ns.
    pub fn interval_ns(&self) -> u64 {
        self.interval_ns
    }

    /// The value of [`Self::interval_ns`] at `end_ns` if samples are added until then, the first of
    /// them one interval after 0.
    pub fn last_interval_ns(&self, end_ns: u64) -> u64 {
        let mut times = Samples::every(self.interval_ns);
        let mut now_ns = 0;
        while end_ns - now_ns >= times.interval_ns {
            now_ns += times.interval_ns;
            times.push(());
        }
        times.interval_ns
    }

    /// Adds a sample.
    pub fn push(&mut self, sample: T) {
        self.kept.push(sample);
        if self.kept.len() >= MOST {
            self.gone.clear();
            let all = std::mem::replace(&mut self.kept, Vec::with_capacity(MOST));
            for (place, sample) in all.into_iter().enumerate() {
                if place % 2 == 0 {
                    self.gone.push(sample)
                } else {
                    self.kept.push(sample)
                }
            }
            self.interval_ns *= 2;
        }
    }

    /// Takes a dropped sample, to reuse its memory.
    pub fn recycle(&mut self) -> Option<T> {
        self.gone.pop()
    }

    /// Removes all samples; the interval stays.
    pub fn clear(&mut self) {
        self.kept.clear();
    }

    /// The samples kept, in order.
    pub fn kept(&self) -> &[T] {
        &self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_stay_evenly_spaced_in_long_runs() {
        let mut samples = Samples::every(10);
        let mut now_ns = 0;
        for _ in 0..5000 {
            now_ns += samples.interval_ns();
            samples.push(now_ns);
        }
        // The 1024th sample doubles the interval, and so does every 512th after it: 1 + ⌊(5000 −
        // 1024)/512⌋ = 8 times.
        assert_eq!(samples.interval_ns(), 10 << 8);
        assert_eq!(Samples::<()>::every(10).last_interval_ns(now_ns), 10 << 8);
        assert_eq!(Samples::<()>::every(10).last_interval_ns(10 * 1024 - 1), 10);
        assert_eq!(Samples::<()>::every(10).last_interval_ns(10 * 1024), 20);
        let kept = samples.kept();
        assert!((512..1024).contains(&kept.len()));
        assert!(
            kept.windows(2)
                .all(|pair| pair[1] - pair[0] == samples.interval_ns())
        );
        assert_eq!(kept.last(), Some(&now_ns));
    }

    #[test]
    fn each_dropped_sample_is_recycled_once() {
        let mut samples = Samples::every(10);
        (1..1024).for_each(|time| samples.push(time));
        assert_eq!(samples.recycle(), None, "none has gone yet");
        samples.push(1024);
        // Of 1 to 1024 the odd numbers are dropped.
        let mut gone: Vec<i32> = std::iter::from_fn(|| samples.recycle()).collect();
        gone.sort_unstable();
        assert_eq!(gone, (0..512).map(|i| 2 * i + 1).collect::<Vec<i32>>());
        assert!(samples.kept().iter().all(|time| time % 2 == 0));
    }
}
