//! Commands of clients, and rereading the configuration.

use std::io::Read;

use joulepath_kernel::reactor::{Interest, thread_cpu_ns};
use joulepath_model::live::Intent;
use joulepath_model::units::Nanos;

use super::{Daemon, Key, networks, now, rules};
use crate::config::load_for;
use crate::decide::Overrides;
use crate::error::{Error, Result};
use crate::server::{ClientId, Heard, Refusal, Request, Served};
use crate::status::Status;

impl Daemon<'_> {
    /// Accepts waiting clients.
    pub(super) fn accept(&mut self) {
        let accepted = self.server.accept(now());
        accepted.gone.into_iter().for_each(|id| self.let_go(id));
        accepted.new.into_iter().for_each(|id| self.watch(id));
        if self.server.is_paused()
            && let Some(source) = self.listener.take()
        {
            // Cannot fail: the listener is registered.
            let _ = self.reactor.remove(&self.server, source);
        }
    }

    /// Serves clients that were throttled and disconnects idle ones.
    pub(super) fn look_after_clients(&mut self, say: &mut dyn FnMut(&str)) -> Result<()> {
        let due = self.server.due(now());
        due.gone.into_iter().for_each(|id| self.let_go(id));
        for id in due.served {
            self.watch(id);
            self.serve(id, say);
        }
        if due.accepts && self.listener.is_none() {
            self.listener = Some(
                self.reactor
                    .add(&self.server, Interest::Read, Key::Listener)?,
            );
        }
        Ok(())
    }

    fn watch(&mut self, id: ClientId) {
        let Some(file) = self.server.file(id) else {
            return;
        };
        match self.reactor.add(file, Interest::Read, Key::Client(id)) {
            Ok(source) => drop(self.sources.insert(id, source)),
            Err(_) => self.server.close(id),
        }
    }

    fn unwatch(&mut self, id: ClientId) {
        if let (Some(source), Some(file)) = (self.sources.remove(&id), self.server.file(id)) {
            // Closing the file removes it in any case.
            let _ = self.reactor.remove(file, source);
        }
    }

    fn let_go(&mut self, id: ClientId) {
        self.unwatch(id);
        self.server.close(id);
    }

    /// Answers a client.
    pub(super) fn serve(&mut self, id: ClientId, say: &mut dyn FnMut(&str)) {
        let (begun, now) = (thread_cpu_ns(), now());
        let before = (self.overrides.clone(), self.paused);
        let Heard {
            requests,
            asker,
            mut then,
        } = self.server.hear(id, now);
        // The status before the command. It is built on demand: most malformed requests do not need
        // it.
        let mut status = None;
        for request in requests {
            let answer = request.and_then(|request| {
                let read = || {
                    self.read_counters(now, say);
                    self.status(now)
                };
                let status = status.get_or_insert_with(read).as_ref();
                self.command(request, status)?;
                let refusal = || Refusal::new("not-ready", "the daemon is still starting".into());
                let status = status.cloned().ok_or_else(refusal)?;
                let status = if asker.privileged {
                    status
                } else {
                    status.seen_by(asker.uid)
                };
                Ok(Status {
                    may_command: Some(asker.may_command),
                    ..status
                })
            });
            if !self.server.tell(id, &answer) {
                then = Served::Goes;
                break;
            }
        }
        self.server
            .charge(id, Nanos(thread_cpu_ns().saturating_sub(begun)), now);
        match then {
            Served::Stays => {}
            Served::Waits => self.unwatch(id),
            Served::Goes => self.let_go(id),
        }
        if (&self.overrides, self.paused) != (&before.0, before.1) {
            say(&told_of_command(&before, &self.overrides, self.paused));
            self.next_look = Nanos::ZERO;
        }
    }

    fn command(&mut self, request: Request, status: Option<&Status>) -> Result<(), Refusal> {
        let known = |name: &String| {
            status
                .iter()
                .any(|s| s.interfaces.iter().any(|one| one.name == *name))
        };
        let Overrides {
            machine,
            interfaces,
        } = &mut self.overrides;
        match request {
            Request::Status => {}
            Request::Pause => self.paused = true,
            Request::Resume => self.paused = false,
            Request::Forget { network } => {
                let forgotten = self
                    .networks
                    .forget(network.as_deref(), self.accounts.midnight_s());
                if let (0, Some(name)) = (forgotten, network) {
                    let message =
                        format!("no network `{name}` is remembered; `joulepath status` shows ids");
                    return Err(Refusal::new("invalid-parameter", message));
                }
            }
            Request::SetIntent {
                interface: None,
                intent,
            } => *machine = intent,
            Request::SetIntent {
                interface: Some(name),
                ..
            } if !known(&name) => {
                return Err(Refusal::new(
                    "invalid-parameter",
                    format!("there is no interface `{name}`"),
                ));
            }
            Request::SetIntent {
                interface: Some(name),
                intent: Some(intent),
            } => {
                interfaces.insert(name, intent);
            }
            Request::SetIntent {
                interface: Some(name),
                intent: None,
            } => drop(interfaces.remove(&name)),
        }
        Ok(())
    }

    /// Rereads the configuration. A bad file changes nothing.
    pub(super) fn reload(&mut self, say: &mut dyn FnMut(&str)) {
        let _ = self.reload.read(&mut [0; 64]);
        match load_for(&self.path, self.chosen) {
            Err(error) => {
                let text = format!(
                    "the configuration was not reloaded: {}",
                    in_one_line(&error)
                );
                self.reload_failure = Some(text.clone());
                say(&text);
            }
            Ok(config) => {
                if config.control.socket != self.config.control.socket
                    || config.state != self.config.state
                {
                    say("changes of `socket` and `state` take effect at the next start");
                }
                let (rules, warnings) = rules(&config);
                self.server.set_rules(rules);
                self.rules_warnings = warnings;
                if config.meter != self.config.meter {
                    self.accounts
                        .measure_by(config.meter.as_ref().map(self.open_gauge));
                }
                if config.memory != self.config.memory {
                    self.networks.close(self.accounts.midnight_s());
                    self.networks = networks(&config);
                }
                let recorded = self
                    .recorder
                    .as_mut()
                    .map(|recorder| recorder.reload(&config));
                self.recorded(recorded, say);
                self.config = config;
                self.overrides = Overrides::default();
                self.decider.reconfigured();
                self.accounts.reconfigured();
                self.reload_failure = None;
                self.looked_rarely = None;
                say("the configuration was reloaded");
                if let Err(error) = self.choose_manager() {
                    say(&error.to_string());
                    self.reload_failure = Some(error.to_string());
                }
            }
        }
        self.next_look = Nanos::ZERO;
    }
}

fn told_of_command(before: &(Overrides, bool), overrides: &Overrides, paused: bool) -> String {
    match (before.1, paused) {
        (false, true) => {
            return "paused: all changes are undone, except endpoints that connections need".into();
        }
        (true, false) => return "resumed".into(),
        _ => {}
    }
    if before.0.machine != overrides.machine {
        return match overrides.machine {
            Some(intent) => format!("the intent is set to {}", intent.word()),
            None => "the intent is reset to the configured one".into(),
        };
    }
    let word =
        |intent: Option<&Intent>| intent.map_or("the configured one", |intent| intent.word());
    let names = overrides
        .interfaces
        .keys()
        .chain(before.0.interfaces.keys());
    let changed =
        names.filter(|&name| overrides.interfaces.get(name) != before.0.interfaces.get(name));
    let all: Vec<String> = changed
        .map(|name| format!("{name}: {}", word(overrides.interfaces.get(name))))
        .collect();
    format!("intents set: {}", all.join(", "))
}

/// Joins the lines of an error that lists several problems.
fn in_one_line(error: &Error) -> String {
    error
        .to_string()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}
