//! Options of `live` and `status`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use joulepath_model::live::{First, Intent, Manager};
use joulepath_study::commands::local_address;

use super::shared::Timekeeping;
use super::words::{self, IntentWord};
use crate::complete;

pub(super) const HELP: &str = "\
Examples:
  joulepath live --sample > live.toml
  joulepath live --config live.toml --dry-run
  sudo joulepath live --config live.toml
  sudo joulepath live set-intent interactive
  sudo joulepath live set-intent off --interface wwan0
  sudo joulepath live forget CafeWifi
  joulepath live --config live.toml --simulate > here.toml
  joulepath compare here.toml
  sudo joulepath live --record today.jsonl
  joulepath live --replay today.jsonl
  sudo joulepath live --undo

SIGHUP reads the configuration again. SIGTERM and Ctrl-C put everything back, without cutting off a \
connection. What a killed daemon leaves behind, the next one takes over, or --undo puts back. \
docs/live-toml.md has all keys of the configuration; `joulepath schema live` prints the JSON schema.";

pub(super) const STATUS_HELP: &str = "\
Examples:
  joulepath status
  joulepath status --json
  sudo joulepath status --serve 127.0.0.1:7077   # for a browser

docs/live-toml.md describes the JSON, the metrics and the page.";

const JUDGE_HELP: &str = "\
Examples:
  sudo joulepath live judge live/file
  sudo joulepath live judge home.toml --seeds 3 --logs said
  sudo joulepath live judge --runs judge.jsonl --json judge.json \\
      --markdown docs/live-results.md

The daemon is compared with plain MPTCP on all paths, with the endpoints that NetworkManager and mptcpd \
set by default, and with the policies of the scenario's [compare]. A run takes as long as its scenario. \
Needs root.";

/// Where packages put the configuration.
const CONFIG: &str = "/etc/joulepath/live.toml";
/// The configuration's default.
pub(crate) const SOCKET: &str = "/run/joulepath/live.sock";

/// Options of `live`.
#[derive(Debug, Args)]
pub(crate) struct LiveOptions {
    #[command(subcommand)]
    pub(crate) command: Option<LiveCommand>,
    /// The configuration.
    #[arg(long, value_name = "FILE", default_value = CONFIG)]
    pub(crate) config: PathBuf,
    /// Path manager, in place of the configuration's: `kernel` treats all connections alike,
    /// `userspace` lets the daemon open and close subflows of each connection.
    #[arg(long, value_name = "WHO", conflicts_with = "undo")]
    pub(crate) pm: Option<Manager>,
    /// Intent, in place of the configuration's.
    #[arg(long, value_name = "WORD", value_parser = words::intents(), conflicts_with = "undo")]
    pub(crate) intent: Option<Intent>,
    /// Where new connections start, in place of the configuration's: `leave` or `steer`.
    #[arg(long, value_name = "WORD", conflicts_with = "undo")]
    pub(crate) first: Option<First>,
    /// Take over the endpoints that other programs have set on interfaces that the daemon may use,
    /// and give them back at the end as they were.
    #[arg(long, conflicts_with = "undo")]
    pub(crate) adopt: bool,
    /// Put the programs of the configuration's mptcp tables on MPTCP: by BPF until this process
    /// ends, or where the kernel cannot, by systemd drop-ins, which --undo removes.
    #[arg(long, conflicts_with_all = ["dry_run", "undo", "simulate", "record", "replay", "keep"])]
    pub(crate) programs: bool,
    /// Print a configuration to begin with, every key explained.
    #[arg(long, exclusive = true)]
    pub(crate) sample: bool,
    /// Print what the daemon would do, and why; change nothing.
    #[arg(long, group = "offline")]
    pub(crate) dry_run: bool,
    /// With --dry-run or --replay: as JSON.
    #[arg(long, requires = "offline")]
    pub(crate) json: bool,
    /// Print a scenario from the running daemon's measurements, for `compare` and `map`.
    #[arg(long, conflicts_with_all = ["dry_run", "undo", "replay"])]
    pub(crate) simulate: bool,
    /// Record the inputs of all decisions in this new file, JSON lines, about 1 kB each.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["dry_run", "undo", "simulate"])]
    pub(crate) record: Option<PathBuf>,
    /// Repeat recorded decisions and print them; fail if one differs.
    #[arg(long, value_name = "FILE", group = "offline")]
    #[arg(conflicts_with_all = ["undo", "record", "config"])]
    pub(crate) replay: Option<PathBuf>,
    /// At the end, leave endpoints and limits as they are, for the next start or --undo.
    #[arg(long, conflicts_with_all = ["dry_run", "undo", "simulate", "replay"])]
    pub(crate) keep: bool,
    /// Put back what a killed daemon has left. Endpoints that a connection needs stay until it
    /// ends: a process in the background waits for that, and the exit code is 5.
    #[arg(long, conflicts_with_all = ["dry_run", "config"])]
    pub(crate) undo: bool,
    /// With --undo: wait until everything is put back, or a daemon has taken over.
    #[arg(long, requires = "undo")]
    pub(crate) wait: bool,
}

/// Commands to the running daemon, and `judge`.
#[derive(Debug, Subcommand)]
pub(crate) enum LiveCommand {
    /// Set another intent, until the daemon ends or reads its configuration again.
    SetIntent(SetIntentOptions),
    /// Put everything back, and keep counting bytes.
    Pause(SocketOptions),
    /// Resume after a pause.
    Resume(SocketOptions),
    /// Forget what the daemon remembers of networks: rate, RTT and loss.
    Forget(ForgetOptions),
    /// Run the daemon on the emulated radios of scenarios, and measure what its choice of paths
    /// costs.
    #[command(after_help = JUDGE_HELP)]
    Judge(JudgeOptions),
}

/// Options of `live judge`.
#[derive(Debug, Args)]
pub(crate) struct JudgeOptions {
    /// Scenario files, each with the daemon's configuration (`home.toml`, `daemon/home.toml`), or
    /// names of shipped scenarios; all of `live/` if absent.
    #[arg(value_name = "SCENARIO", add = complete::scenarios())]
    pub(crate) scenarios: Vec<String>,
    /// Number of seeds.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) seeds: u32,
    /// The first seed.
    #[arg(long, value_name = "K", default_value_t = 1)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) timekeeping: Timekeeping,
    /// Store finished runs in this file, and run none of them again.
    #[arg(long, value_name = "FILE")]
    pub(crate) runs: Option<PathBuf>,
    /// Write the daemons' logs into this folder, a file for each run.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) logs: Option<PathBuf>,
    /// Write the tables into this page, between its two marks.
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// Write the results as JSON into this file; without a name, to stdout.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub(crate) json: Option<PathBuf>,
    /// Print only errors on stderr.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// Options of `live set-intent`.
#[derive(Debug, Args)]
pub(crate) struct SetIntentOptions {
    /// The intent; `configured` is that of the configuration.
    #[arg(value_name = "WORD", value_parser = words::settable())]
    pub(crate) intent: IntentWord,
    /// For this interface only.
    #[arg(long, value_name = "NAME")]
    pub(crate) interface: Option<String>,
    #[command(flatten)]
    pub(crate) socket: SocketOptions,
}

/// Options of `live forget`.
#[derive(Debug, Args)]
pub(crate) struct ForgetOptions {
    /// The network: its SSID, its router's hardware address, or its id, as `joulepath status` shows
    /// it.
    #[arg(value_name = "NETWORK", required_unless_present = "all")]
    pub(crate) network: Option<String>,
    /// All networks.
    #[arg(long, conflicts_with = "network")]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) socket: SocketOptions,
}

/// Where the daemon listens.
#[derive(Debug, Args)]
pub(crate) struct SocketOptions {
    /// The daemon's control socket.
    #[arg(long, value_name = "PATH", default_value = SOCKET)]
    pub(crate) socket: PathBuf,
}

/// Options of `status`.
#[derive(Debug, Args)]
pub(crate) struct StatusOptions {
    #[command(flatten)]
    pub(crate) socket: SocketOptions,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// As OpenMetrics text, for Prometheus.
    #[arg(long, conflicts_with = "json")]
    pub(crate) metrics: bool,
    /// As a page for a browser at this address, until Ctrl-C. It changes nothing and needs no
    /// daemon.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = local_address)]
    #[arg(conflicts_with_all = ["json", "metrics"])]
    pub(crate) serve: Option<SocketAddr>,
    /// With --serve: only the address that it prints opens the page. Always on for root; required
    /// for an address that other hosts reach.
    #[arg(long, requires = "serve")]
    pub(crate) token: bool,
}
