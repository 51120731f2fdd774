//! A progress bar on stderr, for what lasts.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Nothing is shown before this.
const PATIENCE: Duration = Duration::from_secs(1);

/// Counts runs; shown only on a terminal, and only once it lasts.
pub(crate) struct Progress {
    bar: ProgressBar,
    since: Instant,
    may_show: bool,
}

impl Progress {
    /// For `runs` runs, of which each takes `takes` if that is known; never shown if `quiet`.
    pub(crate) fn new(runs: usize, takes: Option<Duration>, quiet: bool) -> Self {
        let left = if takes.is_some() { "about {msg} in all, {elapsed} of it gone" } else { "{eta} left" };
        let style = ProgressStyle::with_template(&format!("{{bar:30}} {{pos}}/{{len}} runs, {left}"))
            .expect("the template is well-formed");
        let bar =
            ProgressBar::with_draw_target(Some(runs as u64), ProgressDrawTarget::hidden()).with_style(style);
        let mut progress =
            Progress { bar, since: Instant::now(), may_show: !quiet && io::stderr().is_terminal() };
        if let Some(takes) = takes {
            let all = takes.saturating_mul(u32::try_from(runs).unwrap_or(u32::MAX));
            progress.bar.set_message(HumanDuration(all).to_string());
            if all > PATIENCE {
                progress.show();
                progress.bar.enable_steady_tick(PATIENCE);
            }
        }
        progress
    }

    /// One more run is done.
    pub(crate) fn advance(&mut self) {
        if self.since.elapsed() > PATIENCE {
            self.show();
        }
        self.bar.inc(1);
    }

    fn show(&mut self) {
        if std::mem::take(&mut self.may_show) {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }

    /// Takes the bar away.
    pub(crate) fn finish(self) {
        self.bar.finish_and_clear();
    }
}
