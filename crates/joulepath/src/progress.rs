//! A progress bar on stderr, for what lasts.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Nothing is shown before this.
const PATIENCE: Duration = Duration::from_secs(1);

/// Counts runs; shown only on a terminal, and only once it lasts.
pub(crate) struct Progress {
    bar: ProgressBar,
    since: Instant,
    may_show: bool,
}

impl Progress {
    /// For `runs` runs; never shown if `quiet`.
    pub(crate) fn new(runs: usize, quiet: bool) -> Self {
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} runs, {eta} left {msg}")
            .expect("the template is well-formed");
        let bar =
            ProgressBar::with_draw_target(Some(runs as u64), ProgressDrawTarget::hidden()).with_style(style);
        Progress { bar, since: Instant::now(), may_show: !quiet && io::stderr().is_terminal() }
    }

    /// One more run is done.
    pub(crate) fn advance(&mut self) {
        if self.may_show && self.since.elapsed() > PATIENCE {
            self.may_show = false;
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.inc(1);
    }

    /// Takes the bar away.
    pub(crate) fn finish(self) {
        self.bar.finish_and_clear();
    }
}
