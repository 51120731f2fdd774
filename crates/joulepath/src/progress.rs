//! Progress on stderr: a bar for long commands, and failures.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use joulepath_study::event::{Event, FailedRun};

use crate::terminal;

/// Time before the bar appears.
const PATIENCE: Duration = Duration::from_secs(1);

/// Shows events of running commands.
pub(crate) struct Watcher {
    quiet: bool,
    /// Report failed runs at once, rather than with the results.
    tells_failures: bool,
    /// Show runs per second.
    tells_rate: bool,
    bar: Option<Bar>,
}

impl Watcher {
    /// No bar if `quiet`.
    pub(crate) fn new(quiet: bool) -> Self {
        Watcher {
            quiet,
            tells_failures: true,
            tells_rate: false,
            bar: None,
        }
    }

    /// For commands that report failed runs with their results.
    pub(crate) fn silent_on_failures(quiet: bool) -> Self {
        Watcher {
            tells_failures: false,
            ..Watcher::new(quiet)
        }
    }

    /// For studies: long, and some points may fail.
    pub(crate) fn of_study(quiet: bool) -> Self {
        Watcher {
            tells_rate: true,
            ..Watcher::silent_on_failures(quiet)
        }
    }

    /// Handles an event.
    pub(crate) fn hear(&mut self, event: Event<'_>) {
        match event {
            Event::Begin { runs, takes } => {
                self.finish();
                self.bar = Some(Bar::new(runs, takes, self.quiet, self.tells_rate));
            }
            Event::Finished(_) | Event::Step => self.advance(),
            Event::Again(failed) => {
                self.tell(&format!("note: {}; it is tried again", in_words(failed)))
            }
            Event::Failed(failed) => {
                self.advance();
                if self.tells_failures {
                    self.tell(&format!("error: {}", in_words(failed)));
                }
            }
            Event::Note(note) => self.tell(&format!("note: {note}")),
        }
    }

    /// Removes the bar.
    pub(crate) fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.bar.finish_and_clear();
        }
    }

    fn advance(&mut self) {
        if let Some(bar) = &mut self.bar {
            bar.advance();
        }
    }

    /// Prints a sentence above the bar.
    fn tell(&self, sentence: &str) {
        match &self.bar {
            Some(bar) => bar.bar.suspend(|| terminal::tell(sentence)),
            None => terminal::tell(sentence),
        }
    }
}

fn in_words(failed: &FailedRun) -> String {
    let FailedRun {
        scenario,
        policy,
        engine,
        seed,
        error,
    } = failed;
    format!("{scenario}, `{policy}`, {engine} engine, seed {seed}: {error}")
}

/// Counts runs. Appears only on a terminal, after [`PATIENCE`].
struct Bar {
    bar: ProgressBar,
    since: Instant,
    may_show: bool,
}

impl Bar {
    /// For `runs` runs of `takes` each, if known. Never appears if `quiet`.
    fn new(runs: usize, takes: Option<Duration>, quiet: bool, rate: bool) -> Self {
        let left = match takes {
            Some(_) => "about {msg} in all, {elapsed} of it gone",
            None if rate => "{per_sec}, {eta} left",
            None => "{eta} left",
        };
        let style =
            ProgressStyle::with_template(&format!("{{bar:30}} {{pos}}/{{len}} runs, {left}"))
                .expect("the template is well-formed");
        let bar = ProgressBar::with_draw_target(Some(runs as u64), ProgressDrawTarget::hidden())
            .with_style(style);
        let mut progress = Bar {
            bar,
            since: Instant::now(),
            may_show: !quiet && io::stderr().is_terminal(),
        };
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

    /// Counts one run.
    fn advance(&mut self) {
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
}
