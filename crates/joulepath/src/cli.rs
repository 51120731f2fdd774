//! Commands and options.

mod league;
mod map;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use joulepath_model::scenario::MAX_SEEDS;
use joulepath_model::units::Nanos;

use league::LEAGUE_HELP;
pub(crate) use league::LeagueOptions;
use map::MAP_HELP;
pub(crate) use map::{MapMetric, MapOptions};

/// Version, and the commit that it was built from.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (commit ", env!("JOULEPATH_COMMIT"), ")");

const EXAMPLES: &str = "\
Examples:
  joulepath list scenarios
  joulepath compare papers/000-table1 --seeds 5
  joulepath compare home-wifi-lte --policies 'single:wifi,mptcp,mptcp[cc=olia]' --report
  joulepath show quick > my.toml

Exit codes: 0 ok, 1 failed, 2 usage, 3 not supported here, 4 permission, 5 partly done.";

const COMPARE_EXAMPLES: &str = "\
Examples:
  joulepath compare home-wifi-lte
  joulepath compare my.toml --policies 'uncoupled,mptcp,mptcp[cc=olia],eemptcp' --seeds 30 --report
  joulepath compare my.toml --set path.wifi.loss='2 %' --set workload.size='1 MB'
  joulepath compare papers/001-3g-wlan --variant 64kB --json
  joulepath compare papers/002-fig17 --all-variants --csv all.csv

SCENARIO is a file, or the name of a shipped scenario (`joulepath list scenarios`).
A policy is the name of a bundle or of a controller, with overrides in brackets: `mptcp[cc=ewtcp,a=1/sqrt(n)]`.
The first policy is what the others are compared with. Every policy runs with the same seeds.
Ctrl-C once: no new runs; those that have finished are reported, exit code 5. Twice: stop at once.";

const EXPLAIN_EXAMPLES: &str = "\
Example:
  echo '{\"subflows\": [{\"cwnd\": 12, \"srtt_us\": 50000}, {\"cwnd\": 30, \"srtt_us\": 80000}]}' |
    joulepath explain lia --state -

Fields of a subflow: cwnd (packets) and srtt_us are required; base_rtt_us, last_rtt_us, acked_since_loss,
acked_between_losses (packets), target_share, loss (0 to 1), energy_cost and path_price are optional.";

const ADVISE_HELP: &str = "\
Examples:
  joulepath advise --path wifi:rate=20Mbit/s,rtt=30ms,loss=0.5%,energy=wifi-huang2012 \\
                   --path lte:rate=40Mbit/s,rtt=50ms,energy=lte-huang2012 --size 10MB --deadline 8s
  joulepath advise --path a:rate=10Mbit/s,rtt=30ms,energy=137mW/Mbps+132.9mW \\
                   --path b:rate=20Mbit/s,rtt=60ms,energy=52mW/Mbps+1288mW --size 1MB --device phone2015 --json

A path is NAME:rate=…,rtt=…,loss=…,energy=… with units; without loss there is none. Energy is a profile
(`joulepath list energy`), or slope+power while used. Nothing is simulated; a path's rate is what TCP would get under
its loss and RTT, or the link's if that is less.";

const DOCTOR_HELP: &str = "\
Nothing is changed by looking. Exit codes: 0 the kernel engine can run, 3 something is missing, 4 only rights are.";

const CC_HELP: &str = "\
Examples:
  joulepath cc load olia lia
  joulepath cc default olia
  joulepath cc status
  joulepath cc unload --all

A loaded controller is chosen by the name jp_NAME: by setsockopt TCP_CONGESTION, or as the default of a namespace.
On plain TCP, and where MPTCP has fallen back to it, the coupled ones behave as NewReno.";

const LAB_HELP: &str = "\
Examples:
  joulepath lab home-wifi-lte --serve 8000 -- curl -o /dev/null 'http://{server}:8000/file'
  joulepath lab my.toml --policy olia --set path.wifi.loss='2 %' -- iperf3 -c '{server}' -R
  joulepath lab clean

{server} in the command becomes the address of the lab's server, which is also in $JOULEPATH_SERVER. The lab has no way to
the outside but what --serve shares. The command speaks MPTCP if `mptcpize` is installed, or if it asks for it itself.
stdin and stdout are the command's; the bill goes to stderr, or with --json to stdout. Needs root.";

const GAP_HELP: &str = "\
Examples:
  joulepath gap --quick
  joulepath gap --runs gap.jsonl --seeds 2
  joulepath gap my.toml --policies mptcp,dts --seeds 5 --json

Differences are the kernel's value over the simulator's; of shares, the points of the path that differs most. The simulator
uses the kernel's packet scheduler. All shipped scenarios take about 18 minutes in real time, one run at a time, and the
machine should have nothing else to do. Needs root.";

const REPRODUCE_HELP: &str = "\
Examples:
  joulepath reproduce --list
  joulepath reproduce 000 --quick
  joulepath reproduce 000-fig4 004 --full
  joulepath reproduce --full --docs docs/papers

ID is an experiment, or how its name begins: `000`, `002-fig1`. Each has a claim, a rule that was fixed before anything ran, and
a verdict: reproduced, direction only, not reproduced, cannot be. The same command goes on where it was interrupted: finished
runs are kept in the folder --out. Two- and three-radio experiments are measured a second time in the kernel's own stack
(--full only; needs root).";

/// Multipath TCP that spends fewer joules per bit: compare policies on a scenario.
#[derive(Debug, Parser)]
#[command(name = "joulepath", version = VERSION, about, after_help = EXAMPLES, disable_help_subcommand = true)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run policies on a scenario and set them side by side: goodput, energy, joules per bit, share of the limit.
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(Box<CompareOptions>),
    /// Name what there is: policies, controllers, schedulers, energy profiles, shipped scenarios.
    List(ListOptions),
    /// Print what was understood of a scenario, with every default filled in, as TOML that loads again.
    Show(ShowOptions),
    /// Print the JSON schema of the scenario file, for editors.
    Schema,
    /// Show what a congestion controller does in a given state: the code beside the formula.
    #[command(after_help = EXPLAIN_EXAMPLES)]
    Explain(ExplainOptions),
    /// Say which interfaces to use for a transfer, with which split, at how many joules and seconds.
    #[command(after_help = ADVISE_HELP)]
    Advise(AdviseOptions),
    /// Say what of Joulepath this machine can run, why not, and what mends it.
    #[command(after_help = DOCTOR_HELP)]
    Doctor(DoctorOptions),
    /// Load our congestion controllers into the running kernel, for any program to choose.
    #[command(subcommand, after_help = CC_HELP)]
    Cc(CcCommand),
    /// Run any program inside the emulated radios of a scenario, and say what it cost in joules and bytes.
    #[command(after_help = LAB_HELP, args_conflicts_with_subcommands = true)]
    Lab(LabOptions),
    /// Run the same scenarios in the simulator and in the kernel, and say how far apart they are.
    #[command(after_help = GAP_HELP)]
    Gap(GapOptions),
    /// Say which claims of the five papers hold: run their experiments, with intervals and verdicts.
    #[command(after_help = REPRODUCE_HELP)]
    Reproduce(ReproduceOptions),
    /// Run all policies on all of the papers' scenarios: joules per bit, goodput, fairness to TCP, in one order.
    #[command(after_help = LEAGUE_HELP)]
    League(LeagueOptions),
    /// Draw which policy wins where, over two keys of a scenario.
    #[command(after_help = MAP_HELP)]
    Map(Box<MapOptions>),
    /// Print a completion script for a shell.
    Completions {
        /// Which shell.
        shell: Shell,
    },
}

/// Which scenario, and what is changed in it.
#[derive(Debug, Args)]
pub(crate) struct Changes {
    /// Change one key of the scenario: a dotted key and its value. May be repeated.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) set: Vec<(String, String)>,
    /// Use this variant of the scenario (`joulepath list scenarios` names them).
    #[arg(long, value_name = "NAME")]
    pub(crate) variant: Option<String>,
}

/// What an engine in real time is forgiven.
#[derive(Debug, Args)]
pub(crate) struct Timekeeping {
    /// Latest that packets may leave the kernel engine's emulated links; a run in which one in a hundred was later has failed.
    /// 1 ms if absent; more on a machine that others keep busy.
    #[arg(long, value_name = "TIME")]
    pub(crate) max_lateness: Option<Nanos>,
}

/// Options of `compare`.
#[derive(Debug, Args)]
#[command(override_usage = "joulepath compare <SCENARIO> [OPTIONS]")]
pub(crate) struct CompareOptions {
    /// A scenario file, or the name of a shipped scenario.
    #[arg(value_name = "SCENARIO", required_unless_present_any = ["json", "csv", "report"])]
    pub(crate) scenario: Option<String>,
    #[command(flatten)]
    pub(crate) changes: Changes,
    /// Compare every variant of the scenario.
    #[arg(long, conflicts_with = "variant")]
    pub(crate) all_variants: bool,
    /// Policies, separated by commas; those of the scenario if absent.
    #[arg(short, long, value_name = "LIST")]
    pub(crate) policies: Option<String>,
    /// Number of seeds for each policy; the scenario's if absent, of the kernel engine at most 3.
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_SEEDS)))]
    pub(crate) seeds: Option<u32>,
    /// The first seed.
    #[arg(long, value_name = "K", default_value_t = 1)]
    pub(crate) first_seed: u64,
    /// Simulated time, as in the scenario file: the same as --set duration=….
    #[arg(long, value_name = "TIME")]
    pub(crate) duration: Option<String>,
    /// What runs the scenario.
    #[arg(long, value_enum, default_value_t = Engine::Packet)]
    pub(crate) engine: Engine,
    #[command(flatten)]
    pub(crate) timekeeping: Timekeeping,
    /// Number of runs at a time; all cores if absent. The results do not depend on it. The kernel engine does one at a time.
    #[arg(short, long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Write an HTML page: into a folder, or to a file that ends in .html.
    #[arg(long, value_name = "DIR|FILE", num_args = 0..=1, default_missing_value = "joulepath-report")]
    pub(crate) report: Option<PathBuf>,
    /// JSON instead of the table, or to a file beside it.
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    pub(crate) json: Option<Option<PathBuf>>,
    /// CSV instead of the table, or to a file beside it: one line for each policy.
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    pub(crate) csv: Option<Option<PathBuf>>,
    /// CSV with one line for each run.
    #[arg(long, value_name = "FILE")]
    pub(crate) runs_csv: Option<PathBuf>,
    /// Show every column, however wide the table becomes.
    #[arg(long)]
    pub(crate) wide: bool,
    /// Say nothing on stderr but errors.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// What can run a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Engine {
    /// Every segment, ACK, queue and timer, simulated.
    Packet,
    /// The differential equations: means only, no packets. One run of each policy says all.
    Fluid,
    /// The machine's own MPTCP stack over emulated links, in real time. Needs root.
    Kernel,
    /// The machine's real interfaces. Not in this version.
    Live,
}

/// Options of `list`.
#[derive(Debug, Args)]
pub(crate) struct ListOptions {
    /// What to name.
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
    pub(crate) scenario: String,
    #[command(flatten)]
    pub(crate) changes: Changes,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `explain`.
#[derive(Debug, Args)]
pub(crate) struct ExplainOptions {
    /// A congestion controller (`joulepath list controllers`).
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

/// Options of `advise`.
#[derive(Debug, Args)]
pub(crate) struct AdviseOptions {
    /// A path of the device and what it costs. May be repeated.
    #[arg(long, value_name = "NAME:KEY=VALUE,…", required = true)]
    pub(crate) path: Vec<String>,
    /// How much is to be downloaded.
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: String,
    /// When it must be there.
    #[arg(long, value_name = "TIME", conflicts_with = "rate")]
    pub(crate) deadline: Option<String>,
    /// At which rate it is made or played: neither faster nor slower.
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<String>,
    /// A device (`joulepath list energy`), or a power, that burns while any interface is active; nothing if absent.
    #[arg(long, value_name = "NAME|POWER")]
    pub(crate) device: Option<String>,
    /// Count on the rates of the links, whatever their loss would leave to TCP.
    #[arg(long)]
    pub(crate) link_rates: bool,
    /// Write an HTML page with the front as a plot: into a folder, or to a file that ends in .html.
    #[arg(long, value_name = "DIR|FILE", num_args = 0..=1, default_missing_value = "joulepath-report")]
    pub(crate) report: Option<PathBuf>,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `lab`.
#[derive(Debug, Args)]
#[command(
    override_usage = "joulepath lab <SCENARIO> [OPTIONS] -- <COMMAND>...\n       joulepath lab clean [--json]"
)]
pub(crate) struct LabOptions {
    #[command(subcommand)]
    pub(crate) command: Option<LabCommand>,
    /// A scenario file, or the name of a shipped scenario.
    #[arg(value_name = "SCENARIO")]
    pub(crate) scenario: Option<String>,
    #[command(flatten)]
    pub(crate) changes: Changes,
    /// The policy. Its congestion controller runs as eBPF; the packet scheduler is the kernel's.
    #[arg(short, long, value_name = "POLICY", default_value = "mptcp")]
    pub(crate) policy: String,
    /// Which random numbers the links draw.
    #[arg(long, value_name = "K", default_value_t = 1)]
    pub(crate) seed: u64,
    /// IPv6 instead of IPv4.
    #[arg(long)]
    pub(crate) ipv6: bool,
    /// Share the TCP server at 127.0.0.1:PORT of this machine into the lab. May be repeated.
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) serve: Vec<u16>,
    /// The bill as JSON on stdout; what the command prints goes to stderr.
    #[arg(long)]
    pub(crate) json: bool,
    /// The program to run, and its arguments.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) run: Vec<String>,
}

/// What else `lab` can do.
#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// End what labs have left behind that were killed.
    Clean(LabCleanOptions),
}

/// Options of `lab clean`.
#[derive(Debug, Args)]
pub(crate) struct LabCleanOptions {
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `gap`.
#[derive(Debug, Args)]
pub(crate) struct GapOptions {
    /// Scenario files, or names of shipped scenarios; without any, those of `fidelity/`.
    #[arg(value_name = "SCENARIO")]
    pub(crate) scenarios: Vec<String>,
    /// Policies, separated by commas; those of each scenario if absent.
    #[arg(short, long, value_name = "LIST")]
    pub(crate) policies: Option<String>,
    /// Number of seeds, the same for both engines.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) seeds: u32,
    /// The first seed.
    #[arg(long, value_name = "K", default_value_t = 1)]
    pub(crate) first_seed: u64,
    #[command(flatten)]
    pub(crate) timekeeping: Timekeeping,
    /// Three scenarios under two policies: less than two minutes.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Keep finished runs in this file; those that it has already are not done again.
    #[arg(long, value_name = "FILE")]
    pub(crate) runs: Option<PathBuf>,
    /// Write the tables into this page, between its two marks.
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Say nothing on stderr but errors.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

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

/// Options of `doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorOptions {
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the udev rule that lets the group `joulepath` read RAPL's energy counters, and nothing else.
    #[arg(long, conflicts_with = "json")]
    pub(crate) udev_rule: bool,
}

/// What `cc` does.
#[derive(Debug, Subcommand)]
pub(crate) enum CcCommand {
    /// Name the controllers, and say which are loaded.
    List(CcJson),
    /// Load some; one that is loaded is replaced by this program's, in one step. They stay until they are unloaded.
    Load(CcNames),
    /// Take some out of the kernel's list. Sockets that use one keep it until they close.
    Unload(CcNames),
    /// Say or set what new sockets of this network namespace get; what it was is remembered.
    Default(CcDefaultOptions),
    /// Show who uses the loaded ones: connections, and of each subflow window, RTT, rate, target share and cost.
    Status(CcJson),
}

/// Controllers by name.
#[derive(Debug, Args)]
pub(crate) struct CcNames {
    /// Names: `olia`, or `jp_olia` as the kernel calls it.
    #[arg(required_unless_present = "all", value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// All of them.
    #[arg(long, conflicts_with = "names")]
    pub(crate) all: bool,
}

/// Options of `cc default`.
#[derive(Debug, Args)]
pub(crate) struct CcDefaultOptions {
    /// A controller of the kernel, or a loaded one of ours. Without: print the default.
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

/// `key=value`; the value may contain more equals signs.
fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.trim().to_owned())),
        _ => Err("write a key, an equals sign and a value".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_value_may_contain_equals_signs() {
        assert_eq!(key_value("a.b = x=y"), Ok(("a.b".to_owned(), "x=y".to_owned())));
        assert!(key_value("a.b").is_err() && key_value("=1").is_err());
    }
}
