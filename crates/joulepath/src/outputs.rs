//! What `compare` writes, and where.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::Builder;

use crate::cli::CompareOptions;
use crate::failure::Failure;

/// Where a format goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sink {
    /// Instead of the table.
    Stdout,
    /// Beside the table.
    File(PathBuf),
}

/// Everything that was asked for besides the table.
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
    /// What the options ask for; `stem` names the page if only its folder is given.
    ///
    /// # Errors
    /// If two outputs would go to one place, or one would replace a scenario.
    pub(crate) fn plan(options: &CompareOptions, stem: &str) -> Result<Self, Failure> {
        let outputs = Outputs {
            report: options.report.as_deref().map(|place| page(place, stem)),
            json: options.json.clone().map(sink),
            csv: options.csv.clone().map(sink),
            runs_csv: options.runs_csv.clone(),
        };
        outputs.check().map(|()| outputs)
    }

    fn check(&self) -> Result<(), Failure> {
        if self.json == Some(Sink::Stdout) && self.csv == Some(Sink::Stdout) {
            return Err(Failure::usage("--json and --csv cannot both go to stdout")
                .help("name a file for one of them: --csv results.csv"));
        }
        let files: Vec<&Path> = self.files().collect();
        for (index, file) in files.iter().enumerate() {
            if file.extension().is_some_and(|extension| extension == "toml") {
                return Err(Failure::usage(format!("{} would be replaced by results", file.display()))
                    .help("results do not go to a .toml file; name the scenario before the options"));
            }
            if files[..index].contains(file) {
                return Err(Failure::usage(format!("two results would go to {}", file.display())));
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
        [self.report.as_deref()].into_iter().chain(of_sinks).chain([self.runs_csv.as_deref()]).flatten()
    }

    /// Whether stdout is free for the table.
    pub(crate) fn shows_table(&self) -> bool {
        self.json != Some(Sink::Stdout) && self.csv != Some(Sink::Stdout)
    }

    /// The page of one variant.
    pub(crate) fn report_of(&self, variant: Option<&str>) -> Option<PathBuf> {
        let page = self.report.clone()?;
        let Some(variant) = variant else { return Some(page) };
        let part = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
        let (stem, extension) = (part(page.file_stem()), part(page.extension()));
        Some(page.with_file_name(format!("{stem}-{variant}.{extension}")))
    }

    /// Creates the folders: whoever may not write learns it before the study.
    ///
    /// # Errors
    /// If one cannot be created.
    pub(crate) fn make_folders(&self) -> Result<(), Failure> {
        self.files().try_for_each(make_folder)
    }
}

/// Creates the folder that `file` is in.
///
/// # Errors
/// If it cannot be created.
pub(crate) fn make_folder(file: &Path) -> Result<(), Failure> {
    let Some(folder) = file.parent() else { return Ok(()) };
    let what = format!("cannot create the folder {}", folder.display());
    fs::create_dir_all(folder).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => Failure::io(what, error)
            .help("a file is in the way; the name of a page ends in .html, other names are folders"),
        _ => Failure::io(what, error),
    })
}

fn sink(file: Option<PathBuf>) -> Sink {
    match file {
        Some(path) if path.as_os_str() != "-" => Sink::File(path),
        _ => Sink::Stdout,
    }
}

/// The page itself, or the page called `stem` in a folder.
pub(crate) fn page(place: &Path, stem: &str) -> PathBuf {
    match place.extension().and_then(|extension| extension.to_str()) {
        Some("html" | "htm") => place.to_path_buf(),
        _ => place.join(format!("{stem}.html")),
    }
}

/// Writes a file whole or not at all: a reader never sees half of it, and a full disk leaves the old one.
///
/// # Errors
/// If it cannot be written.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    write_to(path, text).map_err(|error| Failure::io(format!("cannot write {}", path.display()), error))
}

fn write_to(path: &Path, text: &str) -> io::Result<()> {
    // What a link points to is replaced, not the link.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let before = fs::metadata(&path).ok();
    match &before {
        // Devices and pipes are not replaced by files.
        Some(old) if !old.is_file() => {
            return fs::OpenOptions::new().write(true).open(&path)?.write_all(text.as_bytes());
        }
        Some(old) if old.permissions().readonly() => {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file is read-only"));
        }
        _ => {}
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = Builder::new();
    builder.prefix(".joulepath-");
    #[cfg(unix)]
    let builder = builder.permissions(match before {
        Some(old) => old.permissions(),
        None => std::os::unix::fs::PermissionsExt::from_mode(0o666),
    });
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(&path).map_err(|error| error.error)?;
    Ok(())
}
