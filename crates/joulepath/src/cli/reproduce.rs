//! Options of `reproduce`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{ArgGroup, Args};

use crate::complete;
use joulepath_study::commands::key_value;

pub(super) const HELP: &str = "\
Examples:
  joulepath reproduce --list
  joulepath reproduce 000 --quick
  joulepath reproduce 000-fig4 004 --full
  joulepath reproduce --full --docs docs/papers
  joulepath reproduce --search --out results --docs docs/papers \\
      --markdown docs/reproduce.md
  joulepath reproduce 004-fig5 --at scheduler=minrtt \\
      --at queue='200 packets'
  joulepath reproduce --from results/reproduction/full.json \\
      --docs target/docs/papers

ID is an experiment, or how names begin: `000`, `003-fig2`. Each has a claim, a rule that was fixed \
before anything ran, and a verdict (docs/reproduce.md lists them). An interrupted \
command resumes: finished runs are stored in the folder --out. Experiments with two and three radios are \
measured a second time in the kernel's own stack (--full only; needs root).

--search finds where a claim holds: over the tested range of what its paper leaves open, declared with a \
reason for each parameter, by a Latin hypercube that is refined at the border. --at shows a claim at one \
setting of that range, and `--at usual` at the default setting, the shipped scenario.";

/// `KEY=VALUE`, or `usual`, which changes nothing.
fn point(text: &str) -> Result<Option<(String, String)>, String> {
    match text.trim() {
        "usual" => Ok(None),
        text => key_value(text).map(Some),
    }
}

/// Options of `reproduce`.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("claims").args(["search", "from"])))]
pub(crate) struct ReproduceOptions {
    /// Experiments, by name or by how it begins; all of them if absent.
    #[arg(value_name = "ID", add = complete::experiments())]
    pub(crate) ids: Vec<String>,
    /// Some experiments with few seeds, in less than two minutes. This is the default.
    #[arg(long, conflicts_with = "full")]
    pub(crate) quick: bool,
    /// All experiments with all seeds, and the second measurement in the kernel.
    #[arg(long)]
    pub(crate) full: bool,
    /// Search where each claim holds, over what its paper leaves open. Writes claims.json,
    /// claims.html and finished runs into the folder --out.
    #[arg(long, conflicts_with_all = ["full", "list", "no_kernel", "at"])]
    pub(crate) search: bool,
    /// Settings of each tested range before refinement; each range has its own number if absent.
    #[arg(long, value_name = "N", requires = "search")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) points: Option<u32>,
    /// First seed of a search; its points are drawn with it, too.
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u64).range(0..=1_000_000_000))]
    pub(crate) seed: u64,
    /// Show experiments at one setting of their tested range: a parameter that the search varies
    /// and its value, or `usual` for the default. May be repeated.
    #[arg(long, value_name = "KEY=VALUE", value_parser = point)]
    #[arg(conflicts_with_all = ["full", "list", "docs"])]
    pub(crate) at: Vec<Option<(String, String)>>,
    /// Skip the second measurement.
    #[arg(long)]
    pub(crate) no_kernel: bool,
    /// List the experiments with claim and source, and run nothing.
    #[arg(long)]
    pub(crate) list: bool,
    /// Run nothing: write the HTML page of stored results, full.json or claims.json, into the
    /// folder --out, and the pages that --docs and --markdown name.
    #[arg(long, value_name = "FILE")]
    #[arg(conflicts_with_all = ["ids", "quick", "full", "at", "list"])]
    pub(crate) from: Option<PathBuf>,
    /// Simulated runs at a time; all cores if absent.
    #[arg(short, long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Folder for results, page and finished runs.
    #[arg(
        short,
        long,
        value_name = "DIR",
        default_value = "joulepath-reproduction"
    )]
    pub(crate) out: PathBuf,
    /// Keep the rows of the folder's full.json, quick.json or claims.json that this command leaves
    /// out.
    #[arg(long, conflicts_with_all = ["from", "list", "at"])]
    pub(crate) merge: bool,
    /// Put the HTML page into another folder, or into a file that ends in .html.
    #[arg(long, value_name = "DIR|FILE", num_args = 0..=1, default_missing_value = "joulepath-report")]
    pub(crate) report: Option<PathBuf>,
    /// Write the results into the papers' pages (000.md …) of this folder, too.
    #[arg(long, value_name = "DIR")]
    pub(crate) docs: Option<PathBuf>,
    /// Write the number of claims with each verdict into this page, between its marks `verdicts`.
    #[arg(long, value_name = "FILE", requires = "claims")]
    pub(crate) markdown: Option<PathBuf>,
    /// As JSON on stdout.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print only errors on stderr.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}
