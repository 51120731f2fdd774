//! `joulepath study`: many points of a scenario into a dataset.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use joulepath_report::study::html;
use joulepath_study::event::Event;
use joulepath_study::files;
use joulepath_study::sweep::{Dataset, Outcome, Runner, Shard, Sweep, Writer, page};

use crate::cli::{StudyCommand, StudyOptions, StudyReportOptions};
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::outputs;
use crate::progress::Watcher;
use crate::provenance::provenance;
use crate::terminal;

/// Time between two lines of a log, if stderr is no terminal.
const EVERY: Duration = Duration::from_secs(60);

/// Runs the command.
///
/// # Errors
/// If the study is wrong, its folder holds something else, or a file cannot be written.
pub(crate) fn study(options: &StudyOptions) -> Result<Exit, Failure> {
    if let Some(StudyCommand::Report(options)) = &options.command {
        return report(options);
    }
    let file = options
        .file
        .as_deref()
        .ok_or_else(|| Failure::usage("there is no file of a study"))?;
    let sweep = Sweep::open(file)?;
    let shard: Shard = options
        .shard
        .as_deref()
        .map_or(Ok(Shard::default()), str::parse)?;
    let stem = file
        .file_stem()
        .map_or_else(|| PathBuf::from("study"), PathBuf::from);
    let folder = options.out.clone().unwrap_or(stem);
    let by = provenance();
    let mut writer = Writer::open(&sweep, &folder, shard, &by)?;
    let cancel = interrupt::token();
    let mut watcher = Watcher::of_study(options.quiet);
    let mut log = Log::new(!options.quiet && !io::stderr().is_terminal());
    let mut hear = |event: Event<'_>| {
        log.hear(&event);
        watcher.hear(event);
    };
    let outcome =
        Runner::new(&sweep, options.jobs, &by.commit).run(&mut writer, shard, &mut hear, &cancel);
    watcher.finish();
    let outcome = outcome?;
    tell_failures(&outcome);
    let Outcome {
        runs, before, done, ..
    } = outcome;
    let of_part = if shard == Shard::default() {
        String::new()
    } else {
        format!(" of part {shard}")
    };
    let stopped = if outcome.partial {
        "; the same command goes on"
    } else {
        ""
    };
    terminal::print(&format!(
        "{}: {} of {runs} runs{of_part}, {done} of them now{stopped}\n",
        folder.display(),
        before + done
    ))?;
    Ok(if outcome.partial || outcome.failed > 0 {
        Exit::Partial
    } else {
        Exit::Ok
    })
}

/// Writes the page of a dataset.
fn report(options: &StudyReportOptions) -> Result<Exit, Failure> {
    let dataset = Dataset::open(&options.folder)?;
    let name = options.folder.canonicalize().ok();
    let name = name
        .as_deref()
        .and_then(|folder| folder.file_name())
        .unwrap_or_default();
    let stem = if name.is_empty() {
        "study".to_owned()
    } else {
        name.to_string_lossy().into_owned()
    };
    let place = options.report.clone().unwrap_or_default();
    let file = outputs::page(&place, &stem);
    files::prepare(&file)?;
    let cancel = interrupt::token();
    let study = page(&dataset, &provenance(), &cancel)?;
    if cancel.is_set() {
        return Ok(Exit::Partial);
    }
    outputs::write_page(&file, &html(&study)?, false)?;
    Ok(Exit::Ok)
}

/// Reports how many runs failed, and why the first did.
fn tell_failures(outcome: &Outcome) {
    let Some(first) = &outcome.first_failure else {
        return;
    };
    terminal::tell(&format!(
        "error: {} runs failed, the first: {}, `{}`, {} engine, seed {}: {}; their rows have it in `error`",
        outcome.failed, first.scenario, first.policy, first.engine, first.seed, first.error
    ));
}

/// A line per minute: runs done, rate, time left.
struct Log {
    is_on: bool,
    began: Instant,
    told: Instant,
    runs: u64,
    done: u64,
}

impl Log {
    fn new(is_on: bool) -> Self {
        let now = Instant::now();
        Log {
            is_on,
            began: now,
            told: now,
            runs: 0,
            done: 0,
        }
    }

    fn hear(&mut self, event: &Event<'_>) {
        match event {
            Event::Begin { runs, .. } => self.runs = *runs as u64,
            Event::Finished(_) | Event::Failed(_) => self.done += 1,
            _ => {}
        }
        if self.is_on && self.told.elapsed() >= EVERY {
            self.told = Instant::now();
            terminal::say(&line(self.done, self.runs, self.began.elapsed()));
        }
    }
}

/// The line after `elapsed`.
fn line(done: u64, runs: u64, elapsed: Duration) -> String {
    let rate = done as f64 / elapsed.as_secs_f64();
    let left = if rate > 0.0 {
        format!(", {:.0} min left", (runs - done) as f64 / rate / 60.0)
    } else {
        String::new()
    };
    format!("{done} of {runs} runs, {rate:.1}/s{left}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 600 runs in 60 s are 10/s; the other 5400 take 9 min.
    #[test]
    fn a_line_has_the_rate_and_the_time_left() {
        assert_eq!(
            line(600, 6000, Duration::from_secs(60)),
            "600 of 6000 runs, 10.0/s, 9 min left"
        );
        assert_eq!(
            line(0, 6000, Duration::from_secs(60)),
            "0 of 6000 runs, 0.0/s"
        );
    }
}
