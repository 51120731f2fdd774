//! Writes the configuration of the daemon as TOML with all defaults filled in. It reads again to
//! the same configuration.

use std::fmt;

use super::document::quoted;
use super::exact::Exact;
use super::show::{Page, energy};
use super::written::list;
use crate::live::{
    ControlConfig, InterfaceConfig, LiveConfig, MeterConfig, OnMptcp, Programs, Quota, Rule,
};

/// The configuration as TOML that [`read_live`](super::read_live) reads again.
pub fn show_live(config: &LiveConfig) -> String {
    let mut page = Page(String::new());
    page.live(config)
        .expect("writing to a String does not fail");
    page.0
}

impl Page {
    fn live(&mut self, config: &LiveConfig) -> fmt::Result {
        self.key("intent", quoted(config.intent.word()))?;
        self.key("pm", quoted(config.manager.word()))?;
        self.key("first", quoted(config.first.word()))?;
        if let Some(after) = config.open_after {
            let (bytes, age) = (after.bytes.exact(), after.age.exact());
            self.key("open_after", format!("{{ bytes = {bytes}, age = {age} }}"))?;
        }
        self.optional("tolerance", config.tolerance.as_ref())?;
        self.optional("battery_below", config.battery_below.as_ref())?;
        self.key("transfer", config.transfer.exact())?;
        self.optional("deadline", config.deadline.as_ref())?;
        self.optional("rate", config.rate.as_ref())?;
        self.key("handover_budget", config.handover_budget.exact())?;
        self.key("sample", config.sample.exact())?;
        self.key(
            "allow",
            list(config.allow.iter().map(|pattern| quoted(pattern))),
        )?;
        self.key(
            "bypass",
            list(config.bypass.iter().map(|pattern| quoted(pattern))),
        )?;
        self.key("adopt", config.adopt)?;
        self.key("memory", config.memory)?;
        self.key("state", quoted(&config.state))?;
        self.device(&config.device)?;
        for interface in &config.interfaces {
            self.interface(interface)?;
        }
        for rule in &config.rules {
            self.rule(rule)?;
        }
        for programs in &config.mptcp {
            self.on_mptcp(programs)?;
        }
        if !config.controllers.is_empty() {
            self.section("[controllers]")?;
            for (intent, name) in &config.controllers {
                self.key(intent.word(), quoted(name))?;
            }
        }
        if let Some(meter) = &config.meter {
            self.section("[meter]")?;
            match meter {
                MeterConfig::Name(name) => self.key("name", quoted(name))?,
                MeterConfig::Command(command) => self.key("command", quoted(command))?,
            }
        }
        let ControlConfig {
            socket,
            readers,
            commanders,
        } = &config.control;
        self.section("[control]")?;
        self.key("socket", quoted(socket))?;
        for (key, group) in [("readers", readers), ("commanders", commanders)] {
            if let Some(group) = group {
                self.key(key, quoted(group))?;
            }
        }
        Ok(())
    }

    fn interface(&mut self, interface: &InterfaceConfig) -> fmt::Result {
        self.section("[[interface]]")?;
        self.key("name", quoted(&interface.name))?;
        if let Some(intent) = interface.intent {
            self.key("intent", quoted(intent.word()))?;
        }
        if let Some(cost) = interface.cost {
            self.key("cost", cost)?;
        }
        self.key("metered", interface.metered)?;
        if let Some(bounds) = &interface.quota {
            self.key("quota", quota(bounds))?;
        }
        self.optional("battery_below", interface.battery_below.as_ref())?;
        self.optional("rate", interface.rate.as_ref())?;
        if let Some(model) = &interface.energy {
            self.key("energy", energy(model))?;
        }
        self.key("fullmesh", interface.fullmesh)?;
        self.key("signal", interface.signal)?;
        let command = interface.strength.as_ref();
        command.map_or(Ok(()), |text| {
            self.key(
                "signal_strength",
                format!("{{ command = {} }}", quoted(text)),
            )
        })
    }

    fn rule(&mut self, rule: &Rule) -> fmt::Result {
        self.section("[[rule]]")?;
        self.key("intent", quoted(rule.intent.word()))?;
        self.optional("tolerance", rule.tolerance.as_ref())?;
        let remote = rule.remote.map(|remote| remote.to_string());
        for (key, text) in [
            ("program", &rule.program),
            ("user", &rule.user),
            ("cgroup", &rule.cgroup),
            ("remote", &remote),
        ] {
            if let Some(text) = text {
                self.key(key, quoted(text))?;
            }
        }
        rule.port.map_or(Ok(()), |port| self.key("port", port))
    }

    fn on_mptcp(&mut self, OnMptcp { programs, intent }: &OnMptcp) -> fmt::Result {
        self.section("[[mptcp]]")?;
        match programs {
            Programs::Unit(name) => self.key("unit", quoted(name))?,
            Programs::Program(name) => self.key("program", quoted(name))?,
            Programs::User(name) => self.key("user", quoted(name))?,
            Programs::All => self.key("all", true)?,
        }
        intent.map_or(Ok(()), |intent| self.key("intent", quoted(intent.word())))
    }

    fn optional(&mut self, key: &str, value: Option<&impl Exact>) -> fmt::Result {
        value.map_or(Ok(()), |value| self.key(key, value.exact()))
    }
}

fn quota(quota: &Quota) -> String {
    let bound = |(key, bytes): (&str, Option<_>)| {
        bytes.map(|bytes| format!("{key} = {}, ", Exact::exact(&bytes)))
    };
    let bounds: String = [("soft", quota.soft), ("hard", quota.hard)]
        .into_iter()
        .filter_map(bound)
        .collect();
    format!("{{ {bounds}period_day = {} }}", quota.period_day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::read_live;

    #[test]
    fn a_shown_configuration_reads_back_unchanged() {
        let full = r#"
intent = "overflow"
pm = "userspace"
open_after = { bytes = "1 MB", age = "1500 ms" }
battery_below = "20 %"
deadline = "8 s"
allow = ["veth*", "ppp0"]
bypass = ["tun0"]
adopt = true
device = { preset = "phone2015" }
[[interface]]
name = "wlan*"
cost = 1
rate = "20 Mbit/s"
energy = "wifi-huang2012"
[[interface]]
name = "wwan0"
intent = "handover"
metered = true
battery_below = "30 %"
quota = { soft = "8 GB", period_day = 31 }
energy = { profile = "lte-huang2012", idle = "30 mW" }
fullmesh = true
signal_strength = { command = 'modem --get "rsrp"' }
[[rule]]
intent = "off"
program = '/usr/bin/"x"'
cgroup = "*.service"
[[rule]]
intent = "handover"
tolerance = "90 s"
user = "1000"
port = 22
remote = "2001:db8::/32"
[[mptcp]]
unit = "nginx"
intent = "aggregate"
[[mptcp]]
program = "/usr/bin/*"
[[mptcp]]
user = "ann"
[[mptcp]]
all = true
[controllers]
frugal = "jp_joule"
balanced = "jp_joule"
overflow = "bbr"
[meter]
command = 'read-it --port "a b"'
[control]
commanders = "joulepath"
"#;
        let waits = "intent = \"saver\"\npm = \"userspace\"\ntolerance = \"2 min\"";
        for text in [
            full,
            waits,
            "intent = \"off\"",
            "intent = \"fast\"",
            "intent = \"frugal\"\nrate = \"3 Mbit/s\"",
        ] {
            let config = read_live(text).unwrap();
            let shown = show_live(&config);
            assert_eq!(
                read_live(&shown).unwrap_or_else(|errors| panic!("{errors}\n{shown}")),
                config
            );
        }
    }
}
