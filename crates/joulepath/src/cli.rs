//! Commands and options.

mod advise;
mod benchmark;
mod bill;
mod calibrate;
pub(crate) mod cc;
mod compare;
mod gap;
mod groups;
pub(crate) mod lab;
pub(crate) mod live;
mod map;
pub(crate) mod meant;
mod meter;
mod profile;
pub(crate) mod relay;
mod reproduce;
pub(crate) mod run;
mod shared;
mod study;
pub(crate) mod switch;
pub(crate) mod top;
mod why;
mod words;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

pub(crate) use advise::AdviseOptions;
pub(crate) use benchmark::BenchmarkOptions;
pub(crate) use bill::BillOptions;
pub(crate) use calibrate::CalibrateOptions;
use cc::CcCommand;
pub(crate) use compare::CompareOptions;
pub(crate) use gap::GapOptions;
pub(crate) use groups::command;
use joulepath_study::commands::key_value;
use lab::LabOptions;
use live::{LiveOptions, StatusOptions};
pub(crate) use map::MapOptions;
pub(crate) use meter::MeterOptions;
pub(crate) use profile::{ProfileCheckOptions, ProfileCommand};
use relay::RelayCommand;
pub(crate) use reproduce::ReproduceOptions;
use run::RunOptions;
pub(crate) use shared::Changes;
pub(crate) use study::{StudyCommand, StudyOptions, StudyReportOptions};
use switch::OnOptions;
use top::TopOptions;
pub(crate) use why::WhyOptions;

use crate::complete;

/// Version, and the commit that it was built from.
const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (commit ",
    env!("JOULEPATH_COMMIT"),
    ")"
);

const EXAMPLES: &str = "\
Examples:
  joulepath list scenarios
  joulepath compare papers/000-table1 --seeds 5
  joulepath compare home-wifi-lte --report \\
      --policies 'mptcp,mptcp[cc=olia]'
  joulepath show quick > my.toml

Exit codes: 0 ok, 1 failed, 2 wrong usage or input, 3 not supported here,
4 permission, 5 partly done, 130 interrupted.";

const EXPLAIN_EXAMPLES: &str = "\
Example:
  joulepath explain lia --state - <<'.'
    {\"subflows\": [{\"cwnd\": 12, \"srtt_us\": 50000},
                  {\"cwnd\": 30, \"srtt_us\": 80000}]}
  .

Fields of a subflow: cwnd (packets) and srtt_us are required. base_rtt_us, last_rtt_us, acked_since_loss, \
acked_between_losses (packets), target_share, loss (0 to 1), energy_cost and path_price are optional.";

const DOCTOR_HELP: &str = "Changes nothing. Exit codes: 0 the kernel engine can run, 3 something is missing, \
                           4 only rights are missing.";

/// Multipath TCP that spends fewer joules per bit: compare policies on a scenario.
#[derive(Debug, Parser)]
#[command(name = "joulepath", version = VERSION, about, after_help = EXAMPLES)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run policies on a scenario and compare goodput, energy and time.
    #[command(after_help = compare::HELP)]
    Compare(Box<CompareOptions>),
    /// List policies, controllers, schedulers, energy models, scenarios.
    List(ListOptions),
    /// Print a scenario as TOML, with every default filled in.
    Show(ShowOptions),
    /// Print the JSON schema of scenario, live or study files.
    Schema(SchemaOptions),
    /// Show a congestion controller's step beside its formula.
    #[command(after_help = EXPLAIN_EXAMPLES)]
    Explain(ExplainOptions),
    /// Choose the interfaces for one transfer, by joules and seconds.
    #[command(after_help = advise::HELP)]
    Advise(AdviseOptions),
    /// Bill a capture or a HAR file: joules by radio, host, request.
    #[command(after_help = bill::HELP)]
    Bill(BillOptions),
    /// Check what this machine can run, and say what is missing.
    #[command(after_help = DOCTOR_HELP)]
    Doctor(DoctorOptions),
    /// List this machine's power meters and read them.
    #[command(after_help = meter::HELP)]
    Meter(MeterOptions),
    /// Measure the energy model of a radio with a power meter.
    #[command(after_help = calibrate::HELP)]
    Calibrate(Box<CalibrateOptions>),
    /// Judge an energy profile that was measured.
    #[command(subcommand)]
    Profile(ProfileCommand),
    /// Load congestion controllers into the running kernel.
    #[command(subcommand, after_help = cc::HELP)]
    Cc(CcCommand),
    /// Run a program on a scenario's emulated radios; bytes and joules.
    #[command(after_help = lab::HELP, args_conflicts_with_subcommands = true)]
    Lab(LabOptions),
    /// Switch on: the daemon, the first subflow, the named services.
    #[command(after_help = switch::ON_HELP)]
    On(OnOptions),
    /// Switch off, and put everything back.
    #[command(after_help = switch::OFF_HELP)]
    Off,
    /// Run the daemon: manage the MPTCP paths of all interfaces.
    #[command(after_help = live::HELP, args_conflicts_with_subcommands = true)]
    Live(LiveOptions),
    /// Show what the daemon does and why: paths, quotas, joules.
    #[command(after_help = live::STATUS_HELP)]
    Status(StatusOptions),
    /// Show the daemon on a screen that updates.
    #[command(after_help = top::HELP)]
    Top(TopOptions),
    /// Find what holds connections back, and the command that fixes it.
    #[command(after_help = why::HELP)]
    Why(WhyOptions),
    /// Run a program whose TCP connections become MPTCP.
    #[command(after_help = run::HELP)]
    Run(RunOptions),
    /// Use several paths to any server, through a server of your own.
    #[command(subcommand, after_help = relay::HELP)]
    Relay(RelayCommand),
    /// Measure how far the simulator is from the kernel.
    #[command(after_help = gap::HELP)]
    Gap(GapOptions),
    /// Check which claims of the five papers hold, and where.
    #[command(after_help = reproduce::HELP)]
    Reproduce(ReproduceOptions),
    /// Rank policies on families of scenarios: energy, worst cases, harm.
    #[command(after_help = benchmark::HELP)]
    Benchmark(Box<BenchmarkOptions>),
    /// Draw which policy wins where, over two keys of a scenario.
    #[command(after_help = map::HELP)]
    #[command(override_usage = "joulepath map [OPTIONS] --x <AXIS> --y <AXIS> <SCENARIO>")]
    Map(Box<MapOptions>),
    /// Run many points of a scenario into a Parquet dataset.
    #[command(after_help = study::HELP)]
    #[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
    Study(StudyOptions),
    /// Print a completion script for bash, zsh, fish and other shells.
    Completions {
        /// Which shell.
        shell: Shell,
    },
    /// Write the manual pages, one for each command, into a folder: for packages.
    #[command(hide = true)]
    Man {
        /// The folder; created if absent.
        folder: PathBuf,
    },
}

/// Options of `list`.
#[derive(Debug, Args)]
pub(crate) struct ListOptions {
    /// What to list.
    #[arg(value_enum)]
    pub(crate) what: Listed,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Listed {
    /// Bundles of controller, scheduler, path selection and rate allocation.
    Policies,
    /// Congestion controllers with their parameters.
    Controllers,
    /// Packet schedulers with their options.
    Schedulers,
    /// Path selectors with their options.
    Selectors,
    /// Rate allocators.
    Allocators,
    /// Energy models of interfaces and devices.
    Energy,
    /// Scenarios in this binary.
    Scenarios,
}

/// Options of `show`.
#[derive(Debug, Args)]
pub(crate) struct ShowOptions {
    /// A scenario file, or the name of a shipped scenario.
    #[arg(add = complete::scenarios())]
    pub(crate) scenario: OsString,
    #[command(flatten)]
    pub(crate) changes: Changes,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `schema`.
#[derive(Debug, Args)]
pub(crate) struct SchemaOptions {
    /// The file that the schema describes.
    #[arg(value_enum, default_value_t = SchemaOf::Scenario)]
    pub(crate) of: SchemaOf,
}

/// What has a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaOf {
    /// The scenario file.
    Scenario,
    /// The configuration of `joulepath live`.
    Live,
    /// The file of `joulepath study`.
    Study,
}

/// Options of `explain`.
#[derive(Debug, Args)]
pub(crate) struct ExplainOptions {
    /// A congestion controller (`joulepath list controllers`).
    #[arg(add = complete::controllers())]
    pub(crate) controller: String,
    /// The state of a connection as JSON; `-` reads it from stdin.
    #[arg(long, value_name = "FILE")]
    pub(crate) state: PathBuf,
    /// Set a parameter of the controller. May be repeated.
    #[arg(long, value_name = "NAME=VALUE", value_parser = key_value)]
    pub(crate) param: Vec<(String, String)>,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorOptions {
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the udev rule that lets the group `joulepath` read RAPL's energy counters, and nothing
    /// else.
    #[arg(long, conflicts_with = "json")]
    pub(crate) udev_rule: bool,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    /// Help and `man` at 80 columns, which indents by 7, would break longer commands.
    #[test]
    fn examples_fit_narrow_terminals() {
        fn check(command: &clap::Command) {
            let help = command
                .get_after_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            for line in help.lines().filter(|line| line.starts_with(' ')) {
                assert!(line.chars().count() <= 71, "{}: {line}", command.get_name());
            }
            command.get_subcommands().for_each(check);
        }
        check(&Cli::command());
    }
}
