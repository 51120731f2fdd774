//! The loaded controllers and their sockets: `joulepath cc status`.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use joulepath_kernel::capability::Task;
use joulepath_kernel::cc::{LoadedController, PREFIX, SubflowState, Users, View};
use joulepath_kernel::namespace::{Cookie, Place};
use serde_json::{Value, json};

use crate::words::{columns, count};

/// Identifies a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Identity {
    /// An MPTCP connection of this host.
    Token(u32),
    /// A TCP connection: both ends, the smaller first, so that its two sockets within one namespace
    /// match.
    Ends((IpAddr, u16), (IpAddr, u16)),
}

/// Subflows by namespace and connection.
type Connections<'a> = BTreeMap<(Cookie, Identity), Vec<&'a SubflowState>>;

fn connections(subflows: &[SubflowState]) -> Connections<'_> {
    let mut connections = Connections::new();
    for subflow in subflows {
        let identity = match subflow.token {
            Some(token) => Identity::Token(token),
            None => Identity::Ends(
                subflow.local.min(subflow.remote),
                subflow.local.max(subflow.remote),
            ),
        };
        connections
            .entry((subflow.netns, identity))
            .or_default()
            .push(subflow);
    }
    for subflows in connections.values_mut() {
        subflows.sort_by_key(|subflow| (subflow.local_id, subflow.local));
    }
    connections
}

/// Says which processes could not be examined, and why.
pub fn unseen(hidden: usize) -> String {
    let processes = if hidden == 1 {
        "one process".to_owned()
    } else {
        format!("{hidden} processes")
    };
    let why = match Task::Inspection.denial() {
        Some(denial) => denial.to_string(),
        None => "which has rights that this one lacks".into(),
    };
    format!("{processes} could not be examined ({why})")
}

/// The status as text: a table per controller, a row per socket.
pub fn text(view: &View) -> String {
    let mut text = String::new();
    for controller in &view.controllers {
        let connections = connections(&controller.subflows);
        text += &heading(controller, connections.len());
        if !connections.is_empty() {
            text += &format!("{}\n", table(&connections, view));
        }
    }
    if view.controllers.is_empty() {
        text += "No controller is loaded. `joulepath cc load olia` loads one.\n";
    }
    for users in &view.namespaces {
        match &users.place {
            Place::Own => text += &format!("Default: {}.\n", users.default),
            place if users.default.starts_with(PREFIX) => {
                text += &format!("Default of {place}: {}.\n", users.default);
            }
            _ => {}
        }
    }
    if let Some(name) = &view.unfinished {
        text += &format!("Note: loading or unloading {name} is in progress or was interrupted; ");
        text += "the next `cc load`, `cc unload` or `cc default` completes it.\n";
    }
    if view.hidden > 0 {
        text += &format!("Note: {}.\n", unseen(view.hidden));
    }
    text
}

fn heading(controller: &LoadedController, connections: usize) -> String {
    let sockets = controller.subflows.len();
    let mut text = format!(
        "{}: {}, {}",
        controller.name,
        count(connections, "connection"),
        count(sockets, "socket")
    );
    match controller.stayed() {
        0 => {}
        stayed => text += &format!(", {stayed} of an earlier load"),
    }
    if !controller.registered {
        text += "; another program has detached it, `joulepath cc load` restores it";
    }
    text + "\n"
}

/// Names namespaces only if some socket is in another namespace.
fn table(connections: &Connections<'_>, view: &View) -> String {
    let own = view.namespaces.first().map(|users| users.cookie);
    let elsewhere = connections.keys().any(|(netns, _)| Some(*netns) != own);
    let header = [
        "token", "from", "to", "cwnd", "srtt", "rate", "α", "cost", "in",
    ];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for ((netns, identity), subflows) in connections {
        for subflow in subflows {
            rows.push(vec![
                match identity {
                    Identity::Token(token) => format!("{token:08x}"),
                    Identity::Ends(..) => "TCP".into(),
                },
                SocketAddr::from(subflow.local).to_string(),
                SocketAddr::from(subflow.remote).to_string(),
                subflow.cwnd.to_string(),
                format!("{:.1} ms", f64::from(subflow.srtt_us) / 1e3),
                format!("{:.2} Mbit/s", subflow.rate_bps() / 1e6),
                told(subflow.heard.target_share),
                told(subflow.heard.energy_cost),
                name_of(*netns, view),
            ]);
        }
    }
    if !elsewhere {
        rows.iter_mut().for_each(|row| row.truncate(8));
    }
    columns(&rows, 3..8)
}

/// Short name of a namespace.
fn name_of(netns: Cookie, view: &View) -> String {
    match view
        .namespaces
        .iter()
        .find(|users| users.cookie == netns)
        .map(|users| &users.place)
    {
        Some(Place::Own) => "here".into(),
        Some(Place::Name(name)) => name.clone(),
        Some(Place::Process { pid, name }) => format!("{name} ({pid})"),
        Some(Place::File(path)) => path.display().to_string(),
        None => "unreachable".into(),
    }
}

/// A value from the control plane; 0 means none.
fn told(value: f64) -> String {
    if value == 0.0 {
        "–".into()
    } else {
        format!("{value:.3}")
    }
}

/// The status as JSON, with all fields of the sockets.
pub fn json(view: &View) -> Value {
    let namespace = |users: &Users| {
        json!({"cookie": users.cookie, "place": users.place.to_string(), "default": users.default,
            "own": users.place == Place::Own})
    };
    let own = view.namespaces.first().map(|users| &users.default);
    json!({"default": own, "controllers": view.controllers.iter().map(controller).collect::<Vec<_>>(),
        "namespaces": view.namespaces.iter().map(namespace).collect::<Vec<_>>(), "hidden": view.hidden,
        "unfinished": view.unfinished})
}

fn controller(controller: &LoadedController) -> Value {
    let connection = |((netns, identity), subflows): (&(Cookie, Identity), &Vec<&SubflowState>)| {
        let token = match identity {
            Identity::Token(token) => Some(token),
            Identity::Ends(..) => None,
        };
        let subflows: Vec<Value> = subflows
            .iter()
            .map(|state| subflow(state, controller.loaded_ns))
            .collect();
        json!({"netns": netns, "token": token, "subflows": subflows})
    };
    let connections = connections(&controller.subflows);
    json!({"name": controller.name, "registered": controller.registered, "sockets": controller.subflows.len(),
        "stayed_sockets": controller.stayed(),
        "connections": connections.iter().map(connection).collect::<Vec<_>>()})
}

fn subflow(subflow: &SubflowState, current_ns: Option<u64>) -> Value {
    json!({"local": subflow.local.0, "local_port": subflow.local.1, "remote": subflow.remote.0,
        "remote_port": subflow.remote.1, "local_id": subflow.local_id, "ifindex": subflow.ifindex,
        "current_load": current_ns.map(|current| current == subflow.loaded_ns),
        "coupled": subflow.coupled, "cwnd_packets": subflow.cwnd, "ssthresh_packets": subflow.ssthresh,
        "srtt_us": subflow.srtt_us, "base_rtt_us": subflow.base_rtt_us, "mss_bytes": subflow.mss,
        "rate_bps": subflow.rate_bps(), "delivered_packets": subflow.delivered,
        "retransmitted_packets": subflow.retransmitted, "loss_episodes": subflow.losses,
        "target_share": subflow.heard.target_share, "energy_cost": subflow.heard.energy_cost,
        "path_price": subflow.heard.path_price, "loss_probability": subflow.heard.loss,
        "pacing_bytes_per_s": subflow.heard.pacing})
}
