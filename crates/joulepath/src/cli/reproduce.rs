//! Options of `reproduce`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

pub(super) const HELP: &str = "\
Examples:
  joulepath reproduce --list
  joulepath reproduce 000 --quick
  joulepath reproduce 000-fig4 004 --full
  joulepath reproduce --full --docs docs/papers

ID is an experiment, or how its name begins: `000`, `002-fig1`. Each has a claim, a rule that was fixed before
anything ran, and a verdict: reproduced, direction only, not reproduced, cannot be. The same command goes on
where it was interrupted: finished runs are stored in the folder --out. Two- and three-radio experiments are
measured a second time in the kernel's own stack (--full only; needs root).";

/// Options of `reproduce`.
#[derive(Debug, Args)]
pub(crate) struct ReproduceOptions {
    /// Experiments, by name or by how it begins; all of them if absent.
    #[arg(value_name = "ID")]
    pub(crate) ids: Vec<String>,
    /// Some experiments with few seeds, in less than two minutes. This is the default.
    #[arg(long, conflicts_with = "full")]
    pub(crate) quick: bool,
    /// All experiments with all seeds, and the second measurement in the kernel.
    #[arg(long)]
    pub(crate) full: bool,
    /// Leave the second measurement out.
    #[arg(long)]
    pub(crate) no_kernel: bool,
    /// Name the experiments with claim and source, and run nothing.
    #[arg(long)]
    pub(crate) list: bool,
    /// Simulated runs at a time; all cores if absent.
    #[arg(short, long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Folder for results, page and finished runs.
    #[arg(short, long, value_name = "DIR", default_value = "joulepath-reproduction")]
    pub(crate) out: PathBuf,
    /// Write the results into the papers' pages (000.md …) of this folder, too.
    #[arg(long, value_name = "DIR")]
    pub(crate) docs: Option<PathBuf>,
    /// As JSON on stdout.
    #[arg(long)]
    pub(crate) json: bool,
    /// Say nothing on stderr but errors.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}
