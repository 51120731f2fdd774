//! Options of `cc`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

pub(super) const HELP: &str = "\
Examples:
  joulepath cc load olia lia
  joulepath cc default olia
  joulepath cc status
  joulepath cc unload --all
  joulepath cc new mine && joulepath cc check mine.h && joulepath cc load ./mine.h

A loaded controller is chosen by the name jp_NAME: by setsockopt TCP_CONGESTION, or as the default of a
namespace. On plain TCP, and where MPTCP has fallen back to it, the coupled ones behave as NewReno.";

/// What `cc` does.
#[derive(Debug, Subcommand)]
pub(crate) enum CcCommand {
    /// Name the controllers, and say which are loaded.
    List(CcJson),
    /// Load some, until they are unloaded. One that is loaded is replaced, and sockets in use go over to the
    /// new one. A header of your own, `./mine.h`, is compiled by clang and registered as jp_mine.
    Load(CcNames),
    /// Take some out of the kernel's list. Sockets that use one keep it until they close; every namespace
    /// that has it as its default gets back what it had.
    Unload(CcNames),
    /// Say or set what new sockets of this network namespace get; what it was is remembered.
    Default(CcDefaultOptions),
    /// Write a header NAME.h to begin a controller of your own with: commented, with a parameter and an
    /// example.
    New(CcNewOptions),
    /// Try the properties that our controllers have on one of your own: defined in every state, bounded,
    /// writes to its own subflow only, says what it reads; and the examples in its comments. The kernel's
    /// verifier is asked, too, where that is possible; nothing is loaded.
    Check(CcCheckOptions),
    /// Show who uses the loaded ones, in all namespaces: connections, and of each subflow window, RTT, rate,
    /// target share and cost.
    Status(CcJson),
}

/// Controllers by name.
#[derive(Debug, Args)]
pub(crate) struct CcNames {
    /// Names: `olia`, or `jp_olia` as the kernel calls it; of one of your own the header, `./mine.h`.
    #[arg(required_unless_present_any = ["all", "config"], value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// All of them.
    #[arg(long, conflicts_with = "names")]
    pub(crate) all: bool,
    /// Those of ours that the daemon's configuration names in `[controllers]`.
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

/// Options of `cc default`.
#[derive(Debug, Args)]
pub(crate) struct CcDefaultOptions {
    /// A controller of the kernel, or a loaded one of ours or yours; a header of your own is loaded first.
    /// Without: print the default.
    pub(crate) name: Option<String>,
    /// Put back what it was before it was set here.
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
