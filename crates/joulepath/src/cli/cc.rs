//! Options of `cc`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::complete;

pub(super) const HELP: &str = "\
Examples:
  joulepath cc load olia lia
  joulepath cc default olia
  joulepath cc default bbr3 --boot
  joulepath cc status
  joulepath cc unload --all
  joulepath cc new mine
  joulepath cc check mine.h
  joulepath cc test mine.h
  joulepath cc load ./mine.h

A loaded controller has the name jp_NAME: for setsockopt TCP_CONGESTION, or as the default of a namespace. \
On plain TCP, and where MPTCP has fallen back to it, coupled controllers behave as NewReno.";

/// What `cc` does.
#[derive(Debug, Subcommand)]
pub(crate) enum CcCommand {
    /// List the controllers, and which are loaded.
    List(CcJson),
    /// Load controllers, until they are unloaded. Loading again replaces a controller, also under
    /// sockets in use. A header of your own, `./mine.h`, is compiled by clang and registered as
    /// jp_mine.
    Load(CcNames),
    /// Unload controllers. Sockets keep theirs until they close; namespaces get back the default
    /// that they had.
    Unload(CcNames),
    /// Print or set the controller of new sockets in this network namespace.
    Default(CcDefaultOptions),
    /// Write NAME.h, a commented header to begin a controller of your own with.
    New(CcNewOptions),
    /// Check a controller of your own: defined in every state, bounded, writes only to its own
    /// subflow, declares what it reads, and computes the examples in its comments. Asks the
    /// kernel's verifier, too, where that is possible. Loads nothing.
    Check(CcCheckOptions),
    /// Run test cases on a controller in the packet engine: those of the BBR draft, RFC 9438 and
    /// RFC 9743, or your own. Each is a scenario with checks of states and values.
    Test(CcTestOptions),
    /// Show the connections that use loaded controllers, in all namespaces: window, RTT, rate,
    /// target share and cost of each subflow.
    Status(CcJson),
}

/// Controllers by name.
#[derive(Debug, Args)]
pub(crate) struct CcNames {
    /// Names: `olia` or `jp_olia`; for a controller of your own the header, `./mine.h`.
    #[arg(required_unless_present_any = ["all", "config"], value_name = "NAME")]
    #[arg(add = complete::controllers())]
    pub(crate) names: Vec<String>,
    /// All of them.
    #[arg(long, conflicts_with = "names")]
    pub(crate) all: bool,
    /// The controllers that the daemon's configuration names in `[controllers]`.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["names", "all"])]
    pub(crate) config: Option<PathBuf>,
}

/// Options of `cc new`.
#[derive(Debug, Args)]
pub(crate) struct CcNewOptions {
    /// Its name: at most 12 small letters, digits and _.
    pub(crate) name: String,
}

/// Options of `cc check`.
#[derive(Debug, Args)]
pub(crate) struct CcCheckOptions {
    /// The C header.
    pub(crate) header: PathBuf,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `cc test`.
#[derive(Debug, Args)]
pub(crate) struct CcTestOptions {
    /// A controller: its name, or the C header or the rules of one of your own.
    #[arg(add = complete::controllers())]
    pub(crate) controller: String,
    /// A suite by name or file. Default: all suites for this controller.
    #[arg(long, value_name = "SUITE")]
    pub(crate) cases: Vec<String>,
    /// Only this case of the suite.
    #[arg(long = "case", value_name = "CASE", requires = "cases")]
    pub(crate) only: Vec<String>,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `cc default`.
#[derive(Debug, Args)]
pub(crate) struct CcDefaultOptions {
    /// A controller of the kernel, a loaded one, or a header of your own, which is loaded first. If
    /// absent, print the default.
    #[arg(add = complete::controllers())]
    pub(crate) name: Option<String>,
    /// Also set it at each boot, by a service of systemd, and load NAME first where needed.
    #[arg(long, requires = "name")]
    pub(crate) boot: bool,
    /// Restore the default from before `cc default`, and remove the service of `--boot`.
    #[arg(long, conflicts_with = "name")]
    pub(crate) restore: bool,
}

/// For scripts.
#[derive(Debug, Args)]
pub(crate) struct CcJson {
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
