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
    /// Those that went last.
    gone: Vec<T>,
}

impl<T> Samples<T> {
    /// None yet; the first ones are `interval_ns` apart.
    pub fn every(interval_ns: u64) -> Self {
        Samples { interval_ns, kept: vec![], gone: vec![] }
    }

    /// Time from one sample to the next, ns.
    pub fn interval_ns(&self) -> u64 {
        self.interval_ns
    }

    /// What [`Self::interval_ns`] will be at `end_ns` if samples are added until then, the first one an
    /// interval after 0.
    pub fn last_interval_ns(&self, end_ns: u64) -> u64 {
        let mut times = Samples::every(self.interval_ns);
        let mut now_ns = 0;
        while end_ns - now_ns >= times.interval_ns {
            now_ns += times.interval_ns;
            times.push(());
        }
        times.interval_ns
    }

    /// Adds the next one.
    pub fn push(&mut self, sample: T) {
        self.kept.push(sample);
        if self.kept.len() >= MOST {
            self.gone.clear();
            let all = std::mem::replace(&mut self.kept, Vec::with_capacity(MOST));
            for (place, sample) in all.into_iter().enumerate() {
                if place % 2 == 0 { self.gone.push(sample) } else { self.kept.push(sample) }
            }
            self.interval_ns *= 2;
        }
    }

    /// A sample that is not kept any more, for its memory.
    pub fn recycle(&mut self) -> Option<T> {
        self.gone.pop()
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
        assert_eq!(Samples::<()>::every(10).last_interval_ns(now_ns), 10 << 8);
        assert_eq!(Samples::<()>::every(10).last_interval_ns(10 * 1024 - 1), 10);
        assert_eq!(Samples::<()>::every(10).last_interval_ns(10 * 1024), 20);
        let kept = samples.kept();
        assert!((512..1024).contains(&kept.len()));
        assert!(kept.windows(2).all(|pair| pair[1] - pair[0] == samples.interval_ns()));
        assert_eq!(kept.last(), Some(&now_ns));
    }

    #[test]
    fn what_went_comes_back_once_and_what_is_kept_does_not() {
        let mut samples = Samples::every(10);
        (1..1024).for_each(|time| samples.push(time));
        assert_eq!(samples.recycle(), None, "none has gone yet");
        samples.push(1024);
        // Of 1 to 1024 the odd ones go.
        let mut gone: Vec<i32> = std::iter::from_fn(|| samples.recycle()).collect();
        gone.sort_unstable();
        assert_eq!(gone, (0..512).map(|i| 2 * i + 1).collect::<Vec<i32>>());
        assert!(samples.kept().iter().all(|time| time % 2 == 0));
    }
}
