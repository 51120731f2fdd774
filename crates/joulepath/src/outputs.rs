//! What `compare` writes, and where.

use std::path::{Path, PathBuf};

pub(crate) use joulepath_study::files::page;
use joulepath_study::files::{self, of_variant};

use crate::cli::CompareOptions;
use crate::failure::Failure;
use crate::terminal;

/// Where a format goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sink {
    /// Instead of the table.
    Stdout,
    /// Beside the table.
    File(PathBuf),
}

/// Outputs besides the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outputs {
    /// The HTML page.
    pub(crate) report: Option<PathBuf>,
    /// The comparison.
    pub(crate) json: Option<Sink>,
    /// One line for each policy.
    pub(crate) csv: Option<Sink>,
    /// One line for each run.
    pub(crate) runs_csv: Option<PathBuf>,
}

impl Outputs {
    /// The outputs that the options name. `stem` names the page if only its folder is given.
    ///
    /// # Errors
    /// If two outputs would go to one place, or one would replace a scenario.
    pub(crate) fn plan(options: &CompareOptions, stem: &str) -> Result<Self, Failure> {
        let outputs = Outputs {
            report: options.report.as_deref().map(|place| page(place, stem)),
            json: options.json.clone().map(sink),
            csv: options.csv.clone().map(|file| sink(Some(file))),
            runs_csv: options.runs_csv.clone(),
        };
        outputs.check().map(|()| outputs)
    }

    fn check(&self) -> Result<(), Failure> {
        let csv = (self.csv == Some(Sink::Stdout)).then_some(Path::new("-"));
        check_csv(csv, self.json == Some(Sink::Stdout))?;
        let files: Vec<&Path> = self.files().collect();
        for (index, file) in files.iter().enumerate() {
            if file
                .extension()
                .is_some_and(|extension| extension == "toml")
            {
                return Err(Failure::usage(format!(
                    "{} would be replaced by results",
                    file.display()
                ))
                .help("results do not go to a .toml file; name the scenario before the options"));
            }
            if files[..index].contains(file) {
                return Err(Failure::usage(format!(
                    "two results would go to {}",
                    file.display()
                )));
            }
        }
        Ok(())
    }

    /// The files to be written, the page first.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        let of_sinks = [&self.json, &self.csv].map(|sink| match sink {
            Some(Sink::File(path)) => Some(path.as_path()),
            _ => None,
        });
        [self.report.as_deref()]
            .into_iter()
            .chain(of_sinks)
            .chain([self.runs_csv.as_deref()])
            .flatten()
    }

    /// Whether stdout is free for the table.
    pub(crate) fn shows_table(&self) -> bool {
        self.json != Some(Sink::Stdout) && self.csv != Some(Sink::Stdout)
    }

    /// The page of one variant.
    pub(crate) fn report_of(&self, variant: Option<&str>) -> Option<PathBuf> {
        let page = self.report.clone()?;
        Some(variant.map_or(page.clone(), |variant| of_variant(&page, variant)))
    }

    /// Creates the folders and checks that the files can be written, before anything runs.
    ///
    /// # Errors
    /// If one cannot be created, or a file is a symbolic link.
    pub(crate) fn prepare(&self) -> Result<(), Failure> {
        Ok(self.files().try_for_each(files::prepare)?)
    }
}

fn sink(file: Option<PathBuf>) -> Sink {
    match file {
        Some(path) if !is_stdout(&path) => Sink::File(path),
        _ => Sink::Stdout,
    }
}

/// True for `-`.
pub(crate) fn is_stdout(file: &Path) -> bool {
    file.as_os_str() == "-"
}

/// Refuses JSON and CSV that would both go to stdout.
pub(crate) fn check_csv(csv: Option<&Path>, json: bool) -> Result<(), Failure> {
    match csv.is_some_and(is_stdout) && json {
        true => Err(Failure::usage("--json and --csv cannot both go to stdout")
            .help("name a file for one of them: --csv results.csv")),
        false => Ok(()),
    }
}

/// Writes CSV to stdout, or into a file whose name it prints.
pub(crate) fn write_csv(file: &Path, text: &str, quiet: bool) -> Result<(), Failure> {
    match is_stdout(file) {
        true => terminal::data(text).map(drop),
        false => write_named("csv", file, text, quiet),
    }
}

/// Writes a page and prints its name on stderr unless `quiet`.
///
/// # Errors
/// If the page cannot be written.
pub(crate) fn write_page(file: &Path, html: &str, quiet: bool) -> Result<(), Failure> {
    write_named("report", file, html, quiet)
}

/// As [`write_page`] for other files: `name` stands before the file's name.
pub(crate) fn write_named(name: &str, file: &Path, text: &str, quiet: bool) -> Result<(), Failure> {
    files::write(file, text)?;
    if !quiet {
        terminal::say(&format!("{name}: {}", file.display()));
    }
    Ok(())
}
