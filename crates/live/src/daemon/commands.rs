//! What clients say, and the configuration when it is read again.

use std::io::Read;

use joulepath_kernel::reactor::Interest;
use joulepath_model::live::Intent;
use joulepath_model::units::Nanos;

use super::{Daemon, Key, rules};
use crate::config::load_for;
use crate::decide::Overrides;
use crate::error::{Error, Result};
use crate::server::{ClientId, Refusal, Request};
use crate::status::Status;

impl Daemon<'_> {
    pub(super) fn accept(&mut self) -> Result<()> {
        for id in self.server.accept() {
            let Some(file) = self.server.file(id) else { continue };
            let source = self.reactor.add(file, Interest::Read, Key::Client(id))?;
            self.sources.insert(id, source);
        }
        Ok(())
    }

    /// Answers a client.
    pub(super) fn serve(&mut self, id: ClientId, say: &mut dyn FnMut(&str)) {
        let before = (self.overrides.clone(), self.paused);
        let (mut overrides, mut paused) = before.clone();
        let status = self.status();
        let known = |name: &String| status.iter().any(|s| s.interfaces.iter().any(|one| one.name == *name));
        let stays = self.server.serve(id, |request, may_command| {
            match request {
                Request::Status => {}
                Request::Pause => paused = true,
                Request::Resume => paused = false,
                Request::SetIntent { interface: None, intent } => overrides.machine = intent,
                Request::SetIntent { interface: Some(name), .. } if !known(&name) => {
                    return Err(Refusal::new("invalid-parameter", format!("there is no interface `{name}`")));
                }
                Request::SetIntent { interface: Some(name), intent: Some(intent) } => {
                    overrides.interfaces.insert(name, intent);
                }
                Request::SetIntent { interface: Some(name), intent: None } => {
                    overrides.interfaces.remove(&name);
                }
            }
            let status = status.clone().map(|status| Status { may_command: Some(may_command), ..status });
            status.ok_or_else(|| Refusal::new("not-ready", "the first look is not over".into()))
        });
        if !stays {
            if let (Some(source), Some(file)) = (self.sources.remove(&id), self.server.file(id)) {
                // It ends with its file in any case.
                let _ = self.reactor.remove(file, source);
            }
            self.server.close(id);
        }
        if (&overrides, paused) != (&before.0, before.1) {
            say(&told_of_command(&before, &overrides, paused));
            (self.overrides, self.paused) = (overrides, paused);
            self.next_look = Nanos::ZERO;
        }
    }

    /// Reads the configuration again. A bad one changes nothing.
    pub(super) fn reload(&mut self, say: &mut dyn FnMut(&str)) {
        let _ = self.reload.read(&mut [0; 64]);
        match load_for(&self.path, self.manager_first) {
            Err(error) => {
                let text = format!("the configuration stays as it was: {}", in_one_line(&error));
                self.failure = Some(text.clone());
                say(&text);
            }
            Ok(config) => {
                if config.control.socket != self.config.control.socket || config.state != self.config.state {
                    say("`socket` and `state` count from the next start on");
                }
                let (rules, warnings) = rules(&config);
                self.server.set_rules(rules);
                self.rules_warnings = warnings;
                if config.meter != self.config.meter {
                    self.accounts.measure_by(config.meter.as_ref().map(self.open_gauge));
                }
                let recorded = self.recorder.as_mut().map(|recorder| recorder.reload(&config));
                self.recorded(recorded, say);
                self.config = config;
                self.overrides = Overrides::default();
                self.decider.reconfigured();
                self.accounts.reconfigured();
                self.failure = None;
                self.looked_rarely = None;
                say("the configuration was read again");
                if let Err(error) = self.choose_manager() {
                    self.fail(&error.to_string(), say);
                }
            }
        }
        self.next_look = Nanos::ZERO;
    }
}

fn told_of_command(before: &(Overrides, bool), overrides: &Overrides, paused: bool) -> String {
    match (before.1, paused) {
        (false, true) => return "paused: everything is put back".into(),
        (true, false) => return "goes on".into(),
        _ => {}
    }
    if before.0.machine != overrides.machine {
        return match overrides.machine {
            Some(intent) => format!("the intent is set to {}", intent.word()),
            None => "the intent is the configured one again".into(),
        };
    }
    let word = |intent: Option<&Intent>| intent.map_or("the configured one", |intent| intent.word());
    let names = overrides.interfaces.keys().chain(before.0.interfaces.keys());
    let changed = names.filter(|&name| overrides.interfaces.get(name) != before.0.interfaces.get(name));
    let all: Vec<String> =
        changed.map(|name| format!("{name}: {}", word(overrides.interfaces.get(name)))).collect();
    format!("intents are set: {}", all.join(", "))
}

/// Of several problems of a file each has a line.
fn in_one_line(error: &Error) -> String {
    error.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}
