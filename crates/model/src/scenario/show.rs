//! Writes a scenario as TOML with all defaults filled in. It loads again to the same scenario.

use std::fmt::{self, Write};

use super::book::path_history;
use super::document::quoted;
use super::exact::Exact;
use super::lengths::ReceiveBuffer;
use super::link_keys;
use super::parts::{EnergyKind, Medium, RelayWord, TopologyWord};
use super::read::Named;
use super::resolve::CHANGED;
use super::written::{list, rate, rate_by_signal, signal};
use super::{
    Competitor, ConnectionGroup, CrossPattern, CrossTraffic, Direction, LinkIndex, RelayKind,
    RelaySpec, Scenario, Transport, Workload,
};
use crate::energy::{DeviceEnergy, HostCurve, InterfaceEnergy, InterfaceModel, RrcModel, Stage};
use crate::network::{ChannelSpec, ChannelTiming, LinkSpec, RateSpec};
use crate::topology::{TopologyKind, TopologySpec};
use crate::units::{BitRate, Dbm, Nanos};

/// The scenario as TOML: all defaults filled in, all names resolved.
///
/// [`load`](super::load) turns this text into an equal scenario again, given the same traces.
pub fn show(scenario: &Scenario) -> String {
    let mut page = Page(String::new());
    page.scenario(scenario)
        .expect("writing to a String does not fail");
    page.0
}

/// What is the same for all connections.
struct Shared {
    workload: bool,
    receive: bool,
    send: bool,
}

/// TOML text under construction.
pub(super) struct Page(pub(super) String);

impl Page {
    pub(super) fn key(&mut self, key: &str, value: impl fmt::Display) -> fmt::Result {
        writeln!(self.0, "{key} = {value}")
    }

    pub(super) fn section(&mut self, header: &str) -> fmt::Result {
        writeln!(self.0, "\n{header}")
    }

    fn scenario(&mut self, scenario: &Scenario) -> fmt::Result {
        self.key("title", quoted(&scenario.title))?;
        if let Some(source) = &scenario.source {
            self.key("source", quoted(source))?;
        }
        self.key("duration", scenario.duration.exact())?;
        self.key("warm_up", scenario.warm_up.exact())?;
        match &scenario.topology {
            Some(topology) => self.topology(scenario, topology)?,
            None => self.network(scenario)?,
        }
        self.transport(&scenario.transport)?;
        self.device(&scenario.device)?;
        if scenario.topology.is_none() {
            self.connections(scenario)?;
        }
        for competitor in &scenario.competitors {
            self.competitor(scenario, competitor)?;
        }
        for cross in &scenario.cross {
            self.cross(scenario, cross)?;
        }
        self.section("[compare]")?;
        self.key(
            "policies",
            list(
                scenario
                    .compare
                    .policies
                    .iter()
                    .map(|policy| quoted(&policy.to_string())),
            ),
        )?;
        self.key("seeds", scenario.compare.seeds)?;
        self.key("background", scenario.compare.background.exact())
    }

    fn receive_memory(&mut self, scenario: &Scenario) -> fmt::Result {
        let Some(memory) = scenario.receive_memory() else {
            return Ok(());
        };
        self.key("memory", memory.initial.exact())?;
        self.key("max_memory", memory.most.exact())
    }

    fn network(&mut self, scenario: &Scenario) -> fmt::Result {
        for path in 0..scenario.paths.len() {
            self.path(scenario, path)?;
        }
        for channel in &scenario.channels {
            self.channel(channel)?;
        }
        for (down, up) in shared_links(scenario) {
            self.section("[[link]]")?;
            self.key("name", quoted(base_name(down)))?;
            self.link(down)?;
            self.section("[link.up]")?;
            self.link(up)?;
        }
        Ok(())
    }

    /// The topology and the common settings of its connections.
    fn topology(&mut self, scenario: &Scenario, topology: &TopologySpec) -> fmt::Result {
        let group = &scenario.connections[0];
        self.section("[topology]")?;
        let word = |word: TopologyWord| quoted(word.word());
        match topology.kind {
            TopologyKind::FatTree { k } => {
                self.key("kind", word(TopologyWord::FatTree))?;
                self.key("k", k)?;
            }
            TopologyKind::Vl2 {
                d_a,
                d_i,
                hosts_per_tor,
            } => {
                self.key("kind", word(TopologyWord::Vl2))?;
                self.key("d_a", d_a)?;
                self.key("d_i", d_i)?;
                self.key("hosts_per_tor", hosts_per_tor)?;
            }
            TopologyKind::Bcube { n, k } => {
                self.key("kind", word(TopologyWord::Bcube))?;
                self.key("n", n)?;
                self.key("k", k)?;
            }
            TopologyKind::Vpc { hosts, interfaces } => {
                self.key("kind", word(TopologyWord::Vpc))?;
                self.key("hosts", hosts)?;
                self.key("interfaces", interfaces)?;
            }
        }
        self.key("rate", topology.rate.exact())?;
        if topology.kind.has_switch_links() {
            self.key("switch_rate", topology.switch_rate.exact())?;
        }
        self.key("delay", topology.delay.exact())?;
        self.key("queue", topology.queue.exact())?;
        if let Some(threshold) = &topology.ecn_threshold {
            self.key("ecn_threshold", threshold.exact())?;
        }
        self.key("subflows", topology.subflows)?;
        self.key("routing", quoted(topology.routing.word()))?;
        self.key("traffic", quoted(topology.traffic.word()))?;
        self.key("spread", group.spread.exact())?;
        self.key("energy", energy(&scenario.paths[0].energy))?;
        let switch = &topology.switch;
        let text = format!(
            "{{ port = {}, idle = {} }}",
            switch.port.exact(),
            switch.idle.exact()
        );
        self.key("switch", text)?;
        self.section("[receiver]")?;
        self.key("buffer", receive_buffer(group))?;
        self.receive_memory(scenario)?;
        self.section("[sender]")?;
        self.key("buffer", group.send_buffer.exact())?;
        self.section("[workload]")?;
        self.work(group)
    }

    fn path(&mut self, scenario: &Scenario, index: usize) -> fmt::Result {
        let path = &scenario.paths[index];
        self.section("[[path]]")?;
        self.key("name", quoted(&path.name))?;
        let via = path.down.iter().filter(|&&link| link != path.radio.0);
        self.key(
            "via",
            list(via.map(|&link| quoted(base_name(&scenario.links[link])))),
        )?;
        let by_signal = |up: usize| {
            path.signal
                .as_ref()
                .and_then(|signal| signal.rates[up].as_ref())
        };
        self.link_with(&scenario.links[path.radio.0], by_signal(0))?;
        self.key("start", path.start.exact())?;
        self.key("backup", path.backup)?;
        match &path.signal {
            Some(signal) => {
                self.key("signal", self::signal(&signal.spec))?;
                self.key("energy", energy_by_signal(&path.energy))?;
            }
            None => self.key("energy", energy(&path.energy))?,
        }
        if let Some(network) = &path.network {
            self.key("network", quoted(network))?;
        }
        if !path.history.is_empty() {
            self.key("history", path_history(&path.history))?;
        }
        if let Some(relay) = path.relay {
            self.key("relay", self::relay(relay, &scenario.channels))?;
        }
        self.section("[path.up]")?;
        self.link_with(&scenario.links[path.radio.1], by_signal(1))
    }

    fn link(&mut self, link: &LinkSpec) -> fmt::Result {
        self.link_with(link, None)
    }

    /// A link whose rate may follow from the signal of its path.
    fn link_with(
        &mut self,
        link: &LinkSpec,
        by_signal: Option<&Vec<(Dbm, BitRate)>>,
    ) -> fmt::Result {
        let has_rate = link.rate != RateSpec::Unlimited;
        let rate = has_rate.then(|| match by_signal {
            None => rate(&link.rate),
            Some(table) => rate_by_signal(table),
        });
        for (key, value) in link_keys::written(link, rate) {
            self.key(key, value)?;
        }
        Ok(())
    }

    fn channel(&mut self, channel: &ChannelSpec) -> fmt::Result {
        self.section("[[channel]]")?;
        self.key("name", quoted(&channel.name))?;
        self.key("rate", channel.rate.exact())?;
        let preset = ChannelTiming::PRESETS
            .iter()
            .find(|(_, timing)| *timing == channel.timing);
        self.key("timing", quoted(preset.map_or("", |&(name, _)| name)))?;
        self.key("queue", format!("\"{} packets\"", channel.queue))?;
        self.key("retry_limit", channel.retry_limit)?;
        self.key("frame_error", channel.frame_error.exact())
    }

    fn transport(&mut self, transport: &Transport) -> fmt::Result {
        self.section("[transport]")?;
        self.key("mss", transport.mss.exact())?;
        self.key("header", transport.header.exact())?;
        self.key("ack_size", transport.ack_size.exact())?;
        self.key(
            "initial_window",
            format!("\"{} packets\"", transport.initial_window),
        )?;
        self.key("rto_min", transport.rto_min.exact())?;
        self.key("rto_initial", transport.rto_initial.exact())?;
        self.key("rto_max", transport.rto_max.exact())?;
        self.key("max_retries", transport.max_retries)?;
        if let Some(delay) = transport.delayed_ack {
            self.key("delayed_ack", delay.exact())?;
        }
        self.key("recovery", quoted(transport.recovery.word()))?;
        self.key("ecn", transport.ecn)?;
        self.key("dup_threshold", transport.dup_threshold)?;
        self.key("processing_delay", transport.processing_delay.exact())
    }

    pub(super) fn device(&mut self, device: &DeviceEnergy) -> fmt::Result {
        self.section("[device]")?;
        self.key("shared_base", device.shared_base.exact())?;
        self.key("sharing_factor", format!("{:?}", device.sharing_factor))?;
        let Some(host) = &device.host else {
            return Ok(());
        };
        self.section("[device.host]")?;
        match host.curve {
            HostCurve::Wired { exponent } => {
                self.key("medium", quoted(Medium::Wired.word()))?;
                self.key("exponent", format!("{exponent:?}"))?;
            }
            HostCurve::Wifi => self.key("medium", quoted(Medium::Wifi.word()))?,
        }
        self.key("delay_weight", format!("{:?}", host.delay_weight))?;
        self.key("subflow_weight", format!("{:?}", host.subflow_weight))?;
        self.key("unit", host.unit.exact())
    }

    /// The connections. What is the same for all is written once: an override changes it for all.
    fn connections(&mut self, scenario: &Scenario) -> fmt::Result {
        let [first, rest @ ..] = &scenario.connections[..] else {
            return Ok(());
        };
        let all = |same: &dyn Fn(&ConnectionGroup) -> bool| rest.iter().all(same);
        let work = |group: &ConnectionGroup| (group.workload, group.direction);
        let shared = Shared {
            workload: all(&|group| work(group) == work(first)),
            receive: all(&|group| receive_buffer(group) == receive_buffer(first)),
            send: all(&|group| group.send_buffer == first.send_buffer),
        };
        if shared.receive || scenario.receive_memory().is_some() {
            self.section("[receiver]")?;
        }
        if shared.receive {
            self.key("buffer", receive_buffer(first))?;
        }
        self.receive_memory(scenario)?;
        if shared.send {
            self.section("[sender]")?;
            self.key("buffer", first.send_buffer.exact())?;
        }
        if shared.workload {
            self.section("[workload]")?;
            self.work(first)?;
        }
        for group in &scenario.connections {
            self.connection(scenario, group, &shared)?;
        }
        Ok(())
    }

    fn connection(
        &mut self,
        scenario: &Scenario,
        group: &ConnectionGroup,
        shared: &Shared,
    ) -> fmt::Result {
        self.section("[[connection]]")?;
        self.key("name", quoted(&group.name))?;
        self.key("count", group.count)?;
        self.key(
            "paths",
            list(
                group
                    .paths
                    .iter()
                    .map(|&path| quoted(&scenario.paths[path].name)),
            ),
        )?;
        self.key("start", group.start.exact())?;
        self.key("spread", group.spread.exact())?;
        if !shared.receive {
            self.key("receive_buffer", receive_buffer(group))?;
        }
        if !shared.send {
            self.key("send_buffer", group.send_buffer.exact())?;
        }
        if shared.workload {
            return Ok(());
        }
        self.section("[connection.workload]")?;
        self.work(group)
    }

    fn work(&mut self, group: &ConnectionGroup) -> fmt::Result {
        self.workload(&group.workload)?;
        self.key("direction", quoted(group.direction.word()))
    }

    fn workload(&mut self, workload: &Workload) -> fmt::Result {
        match workload {
            Workload::Bulk => self.key("kind", quoted("bulk")),
            Workload::File { size } => {
                self.key("kind", quoted("file"))?;
                self.key("size", size.exact())
            }
            Workload::Messages {
                mean_gap,
                size,
                tolerance,
            } => {
                self.key("kind", quoted("messages"))?;
                self.key("mean_gap", mean_gap.exact())?;
                self.key("size", size.exact())?;
                // The texts and hashes of scenarios without a tolerance stay the same.
                if *tolerance > Nanos::ZERO {
                    self.key("tolerance", tolerance.exact())
                } else {
                    Ok(())
                }
            }
            Workload::Stream {
                rate,
                interval,
                on,
                off,
            } => {
                self.key("kind", quoted("stream"))?;
                self.key("rate", rate.exact())?;
                self.key("interval", interval.exact())?;
                self.key("on", on.exact())?;
                self.key("off", off.exact())
            }
            Workload::Requests { size, think } => {
                self.key("kind", quoted("requests"))?;
                self.key("size", size.exact())?;
                self.key("think", think.exact())
            }
        }
    }

    fn competitor(&mut self, scenario: &Scenario, competitor: &Competitor) -> fmt::Result {
        self.section("[[competitor]]")?;
        self.key("name", quoted(&competitor.name))?;
        self.key("count", competitor.count)?;
        match scenario
            .paths
            .iter()
            .find(|path| path.down == competitor.down)
        {
            Some(path) => self.key("path", quoted(&path.name))?,
            None => {
                let via = competitor
                    .down
                    .iter()
                    .map(|&link| quoted(base_name(&scenario.links[link])));
                self.key("via", list(via))?;
            }
        }
        self.key("cc", quoted(&competitor.cc))?;
        self.key("start", competitor.start.exact())?;
        self.key("spread", competitor.spread.exact())?;
        match competitor.size {
            Some(size) => self.key("size", size.exact()),
            None => Ok(()),
        }
    }

    fn cross(&mut self, scenario: &Scenario, cross: &CrossTraffic) -> fmt::Result {
        self.section("[[cross]]")?;
        let of_path =
            |link| move |radio: (LinkIndex, LinkIndex)| radio.0 == link || radio.1 == link;
        let key = if scenario
            .paths
            .iter()
            .any(|path| of_path(cross.link)(path.radio))
        {
            "path"
        } else {
            "link"
        };
        let link = &scenario.links[cross.link];
        self.key(key, quoted(base_name(link)))?;
        let upwards = link.name.ends_with(".up");
        let direction = if upwards {
            Direction::Upload
        } else {
            Direction::Download
        };
        self.key("direction", quoted(direction.word()))?;
        match cross.pattern {
            CrossPattern::Constant { rate } => {
                self.key("kind", quoted("constant"))?;
                self.key("rate", rate.exact())?;
            }
            CrossPattern::Poisson { rate } => {
                self.key("kind", quoted("poisson"))?;
                self.key("rate", rate.exact())?;
            }
            CrossPattern::Pareto {
                rate,
                mean_burst,
                mean_gap,
                shape,
            } => {
                self.key("kind", quoted("pareto"))?;
                self.key("rate", rate.exact())?;
                self.key("mean_burst", mean_burst.exact())?;
                self.key("mean_gap", mean_gap.exact())?;
                self.key("shape", format!("{shape:?}"))?;
            }
        }
        self.key("packet", cross.packet.exact())?;
        self.key("start", cross.start.exact())?;
        self.key("stop", cross.stop.exact())
    }
}

/// Both directions of each shared link.
fn shared_links(scenario: &Scenario) -> impl Iterator<Item = (&LinkSpec, &LinkSpec)> {
    let own: Vec<LinkIndex> = scenario
        .paths
        .iter()
        .flat_map(|path| [path.radio.0, path.radio.1])
        .collect();
    let shared: Vec<&LinkSpec> = (0..scenario.links.len())
        .filter(|link| !own.contains(link))
        .map(|link| &scenario.links[link])
        .collect();
    let pairs: Vec<_> = shared
        .chunks_exact(2)
        .map(|pair| (pair[0], pair[1]))
        .collect();
    pairs.into_iter()
}

/// Name of a link in the scenario, without its direction.
fn base_name(link: &LinkSpec) -> &str {
    link.name
        .rsplit_once('.')
        .map_or(&link.name, |(base, _)| base)
}

fn relay(relay: RelaySpec, channels: &[ChannelSpec]) -> String {
    let channel = quoted(&channels[relay.channel].name);
    match relay.kind {
        RelayKind::Ip => format!(
            "{{ kind = {}, channel = {channel} }}",
            quoted(RelayWord::Ip.word())
        ),
        RelayKind::Tcp { buffer } => {
            let kind = quoted(RelayWord::Tcp.word());
            format!("{{ kind = {kind}, channel = {channel}, buffer = \"{buffer} packets\" }}")
        }
    }
}

/// All numbers of a model, and the name of its profile, if any.
pub(super) fn energy(energy: &InterfaceEnergy) -> String {
    let base = energy
        .profile
        .strip_suffix(CHANGED)
        .unwrap_or(&energy.profile);
    let origin = match crate::energy::profile(base) {
        Some(_) => format!("profile = {}, ", quoted(base)),
        None if energy.profile == "inline" => String::new(),
        None => format!("origin = {}, ", quoted(&energy.profile)),
    };
    format!("{{ {origin}{} }}", numbers(&energy.model))
}

/// A profile whose power follows from the signal; otherwise as [`energy`].
fn energy_by_signal(energy: &InterfaceEnergy) -> String {
    let (Some(_), InterfaceModel::Rrc(model)) = (energy.radio(), &energy.model) else {
        return self::energy(energy);
    };
    let base = energy
        .profile
        .strip_suffix(CHANGED)
        .unwrap_or(&energy.profile);
    format!("{{ profile = {}, {} }}", quoted(base), states(model))
}

/// All numbers of a model.
pub(super) fn numbers(model: &InterfaceModel) -> String {
    let (kind, numbers) = match model {
        InterfaceModel::Linear {
            down,
            up,
            sunk,
            sunk_while,
        } => {
            let sunk_while = quoted(sunk_while.word());
            let numbers = format!(
                "per_mbps = {}, up_per_mbps = {}, active = {}, sunk_while = {sunk_while}",
                down.exact(),
                up.exact(),
                sunk.exact()
            );
            (EnergyKind::Linear, numbers)
        }
        InterfaceModel::Rrc(model) => (EnergyKind::Rrc, rrc(model)),
        InterfaceModel::Slotted {
            transfer,
            idle,
            slot,
        } => {
            let (transfer, idle, slot) = (transfer.exact(), idle.exact(), slot.exact());
            (
                EnergyKind::Slotted,
                format!("per_mbps = {transfer}, idle = {idle}, slot = {slot}"),
            )
        }
    };
    format!("model = {}, {numbers}", quoted(kind.word()))
}

fn rrc(model: &RrcModel) -> String {
    let (down, up, active) = (model.down.exact(), model.up.exact(), model.active.exact());
    format!(
        "per_mbps = {down}, up_per_mbps = {up}, active = {active}, {}",
        states(model)
    )
}

/// The numbers of a radio besides its power while active.
fn states(model: &RrcModel) -> String {
    let stage = |stage: &Stage| {
        format!(
            "{{ power = {}, duration = {} }}",
            stage.power.exact(),
            stage.duration.exact()
        )
    };
    format!(
        "inactivity = {}, promotion = {}, tail = {}, idle = {}",
        model.inactivity.exact(),
        stage(&model.promotion),
        list(model.tail.iter().map(stage)),
        model.idle.exact()
    )
}

/// The receive buffer of a connection, as written.
fn receive_buffer(group: &ConnectionGroup) -> String {
    match group.receive_memory {
        Some(_) => quoted(ReceiveBuffer::AUTO),
        None => group.receive_buffer.exact(),
    }
}
