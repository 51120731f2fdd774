//! `joulepath cc`: our congestion controllers in the running kernel.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use comfy_table::{CellAlignment, Table, TableStyle};
use joulepath_controllers::Controller;
use joulepath_linux::cc::pinned::{self, Change};
use joulepath_linux::cc::{SubflowState, default};
use serde_json::{Value, json};

use crate::cli::cc::{CcCommand, CcDefaultOptions, CcJson, CcNames};
use crate::failure::{Exit, Failure};
use crate::show::print_json;
use crate::terminal;

/// Runs the command.
///
/// # Errors
/// Without root, or if the kernel cannot do it.
pub(crate) fn cc(command: &CcCommand) -> Result<Exit, Failure> {
    match command {
        CcCommand::List(options) => list(options),
        CcCommand::Load(names) => load(names),
        CcCommand::Unload(names) => unload(names),
        CcCommand::Default(options) => set_default(options),
        CcCommand::Status(options) => status(options),
    }
}

/// A controller by its own name or by the kernel's: `lia`, `jp_lia`.
fn find(name: &str) -> Result<Controller, Failure> {
    let own = name.strip_prefix(pinned::PREFIX).unwrap_or(name);
    Controller::by_name(own)
        .map_err(|error| Failure::new(Exit::Usage, error).help("`joulepath cc list` shows what there is"))
}

fn list(options: &CcJson) -> Result<Exit, Failure> {
    let available = pinned::available()?;
    let default = default::get()?;
    let rows: Vec<_> = Controller::all()
        .map(|controller| {
            let name = pinned::kernel_name(controller);
            let state = match () {
                () if available.contains(&name) => "loaded",
                () if replaced_by_kernel(controller, &available) => "in the kernel",
                () => "",
            };
            (controller, name, state)
        })
        .collect();
    if options.json {
        let entry = |(controller, name, state): &(Controller, String, &str)| {
            json!({"name": controller.name(), "kernel_name": name, "loaded": *state == "loaded",
                "built_in": available.iter().any(|other| other == controller.name()), "default": *name == default,
                "summary": controller.summary(), "paper": controller.paper()})
        };
        return print_json(&rows.iter().map(entry).collect::<Vec<_>>());
    }
    let mut table = plain(["name", "in the kernel", "state", "what it does"]);
    for (controller, name, state) in &rows {
        let summary = textwrap::fill(controller.summary(), 44);
        let state = if *name == default { "default" } else { state };
        table.add_row([controller.name(), name, state, &summary]);
    }
    terminal::print(&format!("{table}\n\nThe kernel also has: {}. Default: {default}.\n", others(&available)))
}

fn others(available: &[String]) -> String {
    let ours: BTreeSet<_> = Controller::all().map(pinned::kernel_name).collect();
    available.iter().filter(|name| !ours.contains(*name)).cloned().collect::<Vec<_>>().join(", ")
}

/// Ours would only repeat what the kernel's own does better: it has been there for years.
fn replaced_by_kernel(controller: Controller, available: &[String]) -> bool {
    matches!(controller.name(), "cubic" | "dctcp") && available.iter().any(|name| name == controller.name())
}

fn load(names: &CcNames) -> Result<Exit, Failure> {
    let available = pinned::available()?;
    let controllers = match names.all {
        true => Controller::all().filter(|&controller| !replaced_by_kernel(controller, &available)).collect(),
        false => names.names.iter().map(|name| find(name)).collect::<Result<Vec<_>, _>>()?,
    };
    for controller in controllers {
        if replaced_by_kernel(controller, &available) {
            let name = controller.name();
            return Err(Failure::message(Exit::Unsupported, format!("the kernel has its own {name}"))
                .help(format!("choose it by its name, {name}: nothing needs to be loaded")));
        }
        let change = pinned::load(controller)?;
        let done = match change {
            Change::Loaded => "loaded",
            Change::Replaced => "replaced, sockets in use go over to it",
        };
        terminal::say(&format!("{}: {done}", pinned::kernel_name(controller)));
    }
    Ok(Exit::Ok)
}

fn unload(names: &CcNames) -> Result<Exit, Failure> {
    let controllers = match names.all {
        true => pinned::loaded()?,
        false => {
            let find = |name: &String| find(name).map(pinned::kernel_name);
            names.names.iter().map(find).collect::<Result<_, _>>()?
        }
    };
    for name in controllers {
        if default::get()? == name {
            let before = default::restore()?;
            let before = before.ok_or_else(|| {
                Failure::message(Exit::Failed, format!("{name} is the default of this namespace"))
                    .help("name another first: joulepath cc default cubic")
            })?;
            terminal::say(&format!("default: {before} again"));
        }
        let users = pinned::subflows(&name).map_or(0, |subflows| subflows.len());
        pinned::unload(&name)?;
        let kept = match users {
            0 => String::new(),
            1 => ", one socket keeps it until it closes".into(),
            _ => format!(", {users} sockets keep it until they close"),
        };
        terminal::say(&format!("{name}: unloaded{kept}"));
    }
    Ok(Exit::Ok)
}

fn set_default(options: &CcDefaultOptions) -> Result<Exit, Failure> {
    let Some(name) = &options.name else {
        if !options.restore {
            return terminal::print(&format!("{}\n", default::get()?));
        }
        let before = default::restore()?;
        let before = before.ok_or_else(|| {
            Failure::message(
                Exit::Failed,
                "nothing to restore: no default was set here since the machine started",
            )
        })?;
        terminal::say(&format!("default: {before} again"));
        return Ok(Exit::Ok);
    };
    let available = pinned::available()?;
    let name = match Controller::by_name(name) {
        Ok(controller) if !available.contains(name) => pinned::kernel_name(controller),
        _ => name.clone(),
    };
    let before = default::set(&name)?;
    terminal::say(&format!(
        "default: {name}, was {before}; `joulepath cc default --restore` puts back the first"
    ));
    Ok(Exit::Ok)
}

/// Subflows of one connection of one controller; plain TCP sockets are connections of their own.
type Connections = BTreeMap<(u32, Option<u32>, (IpAddr, u16)), Vec<SubflowState>>;

fn connections(subflows: Vec<SubflowState>) -> Connections {
    let mut connections = Connections::new();
    for subflow in subflows {
        let nowhere = (IpAddr::from([0, 0, 0, 0]), 0);
        let plain = if subflow.token.is_some() { nowhere } else { subflow.local };
        connections.entry((subflow.netns, subflow.token, plain)).or_default().push(subflow);
    }
    for subflows in connections.values_mut() {
        subflows.sort_by_key(|subflow| (subflow.local_id, subflow.local));
    }
    connections
}

fn status(options: &CcJson) -> Result<Exit, Failure> {
    let mut loaded = vec![];
    for name in pinned::loaded()? {
        let connections = connections(pinned::subflows(&name)?);
        loaded.push((name, connections));
    }
    if options.json {
        let controllers: Vec<Value> = loaded.iter().map(|(name, all)| machine(name, all)).collect();
        return print_json(&json!({"default": default::get()?, "controllers": controllers}));
    }
    if loaded.is_empty() {
        return terminal::print("No controller is loaded. `joulepath cc load olia` loads one.\n");
    }
    let mut text = String::new();
    for (name, connections) in &loaded {
        let sockets: usize = connections.values().map(Vec::len).sum();
        text +=
            &format!("{name}: {}, {}\n", count(connections.len(), "connection"), count(sockets, "socket"));
        if !connections.is_empty() {
            text += &format!("{}\n", table(connections));
        }
    }
    terminal::print(&format!("{text}Default: {}.\n", default::get()?))
}

fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

fn table(connections: &Connections) -> Table {
    let mut table = plain(["token", "from", "to", "cwnd", "srtt", "rate", "α", "cost"]);
    for column in 3..8 {
        table.column_mut(column).expect("eight columns").set_cell_alignment(CellAlignment::Right);
    }
    for ((_, token, _), subflows) in connections {
        for subflow in subflows {
            table.add_row([
                token.map_or("TCP".into(), |token| format!("{token:08x}")),
                subflow.local.0.to_string(),
                subflow.remote.0.to_string(),
                subflow.cwnd.to_string(),
                format!("{:.1} ms", f64::from(subflow.srtt_us) / 1e3),
                format!("{:.2} Mbit/s", subflow.rate_bps() / 1e6),
                told(subflow.control.target_share),
                told(subflow.control.energy_cost),
            ]);
        }
    }
    table
}

/// What the control plane said; zero: nothing.
fn told(value: f64) -> String {
    if value == 0.0 { "–".into() } else { format!("{value:.3}") }
}

fn machine(name: &str, connections: &Connections) -> Value {
    let subflow = |subflow: &SubflowState| {
        json!({"local": subflow.local.0, "local_port": subflow.local.1, "remote": subflow.remote.0,
            "remote_port": subflow.remote.1, "local_id": subflow.local_id, "ifindex": subflow.ifindex,
            "coupled": subflow.coupled, "cwnd_packets": subflow.cwnd, "ssthresh_packets": subflow.ssthresh,
            "srtt_us": subflow.srtt_us, "base_rtt_us": subflow.base_rtt_us, "mss_bytes": subflow.mss,
            "rate_bps": subflow.rate_bps(), "delivered_packets": subflow.delivered,
            "retransmitted_packets": subflow.retransmitted, "loss_episodes": subflow.losses,
            "target_share": subflow.control.target_share, "energy_cost": subflow.control.energy_cost,
            "path_price": subflow.control.path_price, "loss_probability": subflow.control.loss})
    };
    let connection = |(&(netns, token, _), subflows): (&(u32, Option<u32>, _), &Vec<SubflowState>)| json!({"netns": netns, "token": token, "subflows": subflows.iter().map(subflow).collect::<Vec<_>>()});
    json!({"name": name, "sockets": connections.values().map(Vec::len).sum::<usize>(),
        "connections": connections.iter().map(connection).collect::<Vec<_>>()})
}

/// A table without lines.
fn plain<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_style(TableStyle::new()).set_header(header);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table
}
