//! The state of the screen, and how keys and answers change it: pure. Times count from the start.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use joulepath_live::Request;
use joulepath_live::status::{InterfaceStatus, Status};
use joulepath_model::live::Intent;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::asker::{Answer, Problem};

/// Answers whose rates are kept: one minute.
pub(super) const HISTORY: usize = 60;
/// How long a message stays.
const MESSAGE_STAYS: Duration = Duration::from_secs(10);

/// Intents to choose from; `None` is the configured one.
pub(super) const CHOICES: [(Option<Intent>, &str); Intent::ALL.len() + 1] = {
    let mut choices = [(None, "as configured"); Intent::ALL.len() + 1];
    let mut at = 0;
    while at < Intent::ALL.len() {
        choices[at] = (Some(Intent::ALL[at]), Intent::ALL[at].sentence());
        at += 1;
    }
    choices
};

/// Content of the lower part of the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Reasons and events.
    Overview,
    /// A choice of intents for an interface or the machine, and the marked one.
    Intents { of: Option<String>, at: usize },
    /// What holds connections back.
    Why,
    /// What keys do.
    Help,
}

/// The effect of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    Ask(Request),
    Redraw,
    Suspend,
    Quit,
}

/// Why there is no status, and since when.
#[derive(Clone, Debug)]
pub(super) struct Trouble {
    pub(super) problem: Problem,
    pub(super) since: Duration,
}

#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) socket: String,
    pub(super) color: bool,
    /// The last status and its time.
    pub(super) status: Option<(Status, Duration)>,
    pub(super) trouble: Option<Trouble>,
    pub(super) mode: Mode,
    /// The result of a command and its time.
    message: Option<(String, Duration)>,
    marked: usize,
    /// Rates of both directions by interface, bit/s, latest last.
    history: BTreeMap<String, VecDeque<f64>>,
}

impl State {
    pub(super) fn new(socket: String, color: bool) -> Self {
        State {
            socket,
            color,
            status: None,
            trouble: None,
            mode: Mode::Overview,
            message: None,
            marked: 0,
            history: BTreeMap::new(),
        }
    }

    /// Interfaces that may be used, in the daemon's order.
    pub(super) fn interfaces(&self) -> Vec<&InterfaceStatus> {
        let all = self
            .status
            .iter()
            .flat_map(|(status, _)| &status.interfaces);
        all.filter(|one| one.allowed).collect()
    }

    /// Index of the marked interface.
    pub(super) fn marked(&self) -> usize {
        self.marked.min(self.interfaces().len().saturating_sub(1))
    }

    /// Rates of an interface, bit/s, latest last.
    pub(super) fn rates(&self, name: &str) -> Option<&VecDeque<f64>> {
        self.history.get(name)
    }

    /// True if this user is known to have no right to command.
    pub(super) fn is_read_only(&self) -> bool {
        self.status
            .as_ref()
            .is_some_and(|(status, _)| status.may_command == Some(false))
    }

    /// The message to show now.
    pub(super) fn message(&self, now: Duration) -> Option<&str> {
        let (text, said) = self.message.as_ref()?;
        (now.saturating_sub(*said) < MESSAGE_STAYS).then_some(text)
    }

    pub(super) fn on_answer(&mut self, answer: Answer, now: Duration) {
        match answer.result {
            Ok(status) => {
                if answer.request == Request::Status {
                    self.remember_rates(&status);
                }
                self.status = Some((status, now));
                self.trouble = None;
            }
            Err(problem) if answer.request != Request::Status => {
                self.message = Some((problem.what, now));
            }
            Err(problem) => {
                let since = self.trouble.as_ref().map_or(now, |trouble| trouble.since);
                self.trouble = Some(Trouble { problem, since });
            }
        }
    }

    fn remember_rates(&mut self, status: &Status) {
        self.history
            .retain(|name, _| status.interfaces.iter().any(|one| one.name == *name));
        for one in &status.interfaces {
            let rates = self.history.entry(one.name.clone()).or_default();
            if rates.len() == HISTORY {
                rates.pop_front();
            }
            rates.push_back(one.received_bps + one.sent_bps);
        }
    }

    pub(super) fn on_key(&mut self, key: KeyEvent, now: Duration) -> Option<Wish> {
        if key.kind == KeyEventKind::Release {
            return None;
        }
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return match key.code {
                KeyCode::Char('c') => Some(Wish::Quit),
                KeyCode::Char('l') => Some(Wish::Redraw),
                KeyCode::Char('z') => Some(Wish::Suspend),
                _ => None,
            };
        }
        match self.mode.clone() {
            Mode::Overview => self.on_key_of_overview(key.code, now),
            Mode::Intents { of, at } => self.on_key_of_intents(key.code, of, at, now),
            Mode::Why | Mode::Help => {
                self.mode = Mode::Overview;
                (key.code == KeyCode::Char('q')).then_some(Wish::Quit)
            }
        }
    }

    fn on_key_of_overview(&mut self, key: KeyCode, now: Duration) -> Option<Wish> {
        match key {
            KeyCode::Char('q') => return Some(Wish::Quit),
            KeyCode::Char('?' | 'h') => self.mode = Mode::Help,
            KeyCode::Char('w') => self.mode = Mode::Why,
            KeyCode::Up | KeyCode::Char('k') => self.marked = self.marked().saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => self.marked = self.marked() + 1,
            KeyCode::Char('i') if self.may_command(now) => self.choose_intent(None),
            KeyCode::Enter if self.may_command(now) => {
                let marked = self
                    .interfaces()
                    .get(self.marked())
                    .map(|one| one.name.clone());
                if marked.is_some() {
                    self.choose_intent(marked);
                }
            }
            KeyCode::Char('p') if self.may_command(now) => {
                let is_paused = self
                    .status
                    .as_ref()
                    .is_some_and(|(status, _)| status.paused);
                let (request, said) = match is_paused {
                    true => (Request::Resume, "asked to resume"),
                    false => (Request::Pause, "asked to pause"),
                };
                self.message = Some((said.into(), now));
                return Some(Wish::Ask(request));
            }
            _ => {}
        }
        None
    }

    /// True if a command can be sent; otherwise shows why not.
    fn may_command(&mut self, now: Duration) -> bool {
        let why_not = if self.status.is_none() || self.trouble.is_some() {
            "no daemon answers"
        } else if self.is_read_only() {
            "you may not send commands: run as root, or see `commanders` in the configuration"
        } else {
            return true;
        };
        self.message = Some((why_not.into(), now));
        false
    }

    fn choose_intent(&mut self, of: Option<String>) {
        let in_force = match &of {
            Some(name) => self
                .interfaces()
                .iter()
                .find(|one| one.name == *name)
                .map(|one| one.intent),
            None => self.status.as_ref().map(|(status, _)| status.intent),
        };
        let at = CHOICES
            .iter()
            .position(|(intent, _)| *intent == in_force)
            .unwrap_or(0);
        self.mode = Mode::Intents { of, at };
    }

    fn on_key_of_intents(
        &mut self,
        key: KeyCode,
        of: Option<String>,
        at: usize,
        now: Duration,
    ) -> Option<Wish> {
        match key {
            KeyCode::Up | KeyCode::Char('k') => {
                self.mode = Mode::Intents {
                    of,
                    at: at.saturating_sub(1),
                };
            }
            KeyCode::Down | KeyCode::Char('j') => {
                self.mode = Mode::Intents {
                    of,
                    at: (at + 1).min(CHOICES.len() - 1),
                };
            }
            KeyCode::Enter => {
                self.mode = Mode::Overview;
                let (intent, _) = CHOICES[at];
                let word = intent.map_or("the configured intent", Intent::word);
                let what = of.as_deref().unwrap_or("this machine");
                self.message = Some((format!("asked for {word} on {what}"), now));
                return Some(Wish::Ask(Request::SetIntent {
                    interface: of,
                    intent,
                }));
            }
            KeyCode::Esc | KeyCode::Char('i' | 'q') => self.mode = Mode::Overview,
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::{answer, gone, state, status};
    use super::*;

    const NOW: Duration = Duration::from_secs(61);

    fn press(state: &mut State, key: KeyCode) -> Option<Wish> {
        state.on_key(KeyEvent::from(key), NOW)
    }

    #[test]
    fn keys_set_the_intent_of_the_machine_or_the_marked_interface() {
        let mut state = state();
        assert_eq!(press(&mut state, KeyCode::Char('i')), None);
        // `frugal` is in force and marked; the next entry is `balanced`.
        assert_eq!(press(&mut state, KeyCode::Down), None);
        let set = Request::SetIntent {
            interface: None,
            intent: Some(Intent::Balanced),
        };
        assert_eq!(press(&mut state, KeyCode::Enter), Some(Wish::Ask(set)));
        assert_eq!(state.mode, Mode::Overview);
        assert_eq!(
            state.message(NOW),
            Some("asked for balanced on this machine")
        );
        assert_eq!(state.message(NOW + MESSAGE_STAYS), None);
        for key in [KeyCode::Down, KeyCode::Enter] {
            assert_eq!(press(&mut state, key), None);
        }
        // Down to the last entry, the configured intent.
        for _ in 0..20 {
            press(&mut state, KeyCode::Char('j'));
        }
        let set = Request::SetIntent {
            interface: Some("wwan0".into()),
            intent: None,
        };
        assert_eq!(press(&mut state, KeyCode::Enter), Some(Wish::Ask(set)));
        press(&mut state, KeyCode::Char('i'));
        assert_eq!(press(&mut state, KeyCode::Esc), None);
        assert_eq!(state.mode, Mode::Overview);
    }

    #[test]
    fn one_key_starts_and_ends_a_pause() {
        let mut state = state();
        assert_eq!(
            press(&mut state, KeyCode::Char('p')),
            Some(Wish::Ask(Request::Pause))
        );
        answer(
            &mut state,
            Ok(Status {
                paused: true,
                ..status()
            }),
            61,
        );
        assert_eq!(
            press(&mut state, KeyCode::Char('p')),
            Some(Wish::Ask(Request::Resume))
        );
    }

    #[test]
    fn no_command_is_sent_to_an_absent_or_refusing_daemon() {
        let mut read_only = state();
        answer(
            &mut read_only,
            Ok(Status {
                may_command: Some(false),
                ..status()
            }),
            61,
        );
        let mut gone_again = state();
        answer(&mut gone_again, Err(gone()), 61);
        for (mut state, why) in [
            (read_only, "you may not send commands"),
            (gone_again, "no daemon answers"),
            (State::new("/x".into(), false), "no daemon answers"),
        ] {
            for key in [KeyCode::Char('i'), KeyCode::Char('p'), KeyCode::Enter] {
                assert_eq!(press(&mut state, key), None);
                assert_eq!(state.mode, Mode::Overview);
                assert!(
                    state.message(NOW).unwrap().starts_with(why),
                    "{:?}",
                    state.message(NOW)
                );
            }
            assert_eq!(press(&mut state, KeyCode::Char('q')), Some(Wish::Quit));
        }
    }

    #[test]
    fn a_refused_command_is_reported_and_the_status_stays() {
        let mut state = state();
        let problem = Problem {
            what: "you have no right".into(),
            remedy: String::new(),
        };
        state.on_answer(
            Answer {
                request: Request::Pause,
                result: Err(problem),
            },
            NOW,
        );
        assert!(state.trouble.is_none() && state.status.is_some());
        assert_eq!(state.message(NOW), Some("you have no right"));
    }

    #[test]
    fn control_keys_work_in_every_mode_and_key_releases_do_nothing() {
        for mode in [
            Mode::Overview,
            Mode::Help,
            Mode::Intents { of: None, at: 0 },
        ] {
            let mut state = State { mode, ..state() };
            let control = |key| KeyEvent::new(KeyCode::Char(key), KeyModifiers::CONTROL);
            assert_eq!(state.on_key(control('c'), NOW), Some(Wish::Quit));
            assert_eq!(state.on_key(control('z'), NOW), Some(Wish::Suspend));
            assert_eq!(state.on_key(control('l'), NOW), Some(Wish::Redraw));
            let released = KeyEvent {
                kind: KeyEventKind::Release,
                ..control('c')
            };
            assert_eq!(state.on_key(released, NOW), None);
        }
    }

    #[test]
    fn rates_are_kept_for_a_minute_and_dropped_with_their_device() {
        let mut state = state();
        assert_eq!(state.rates("wlp0s20f3").unwrap().len(), HISTORY);
        // 12.345678 Mbit/s received and 0.345678 Mbit/s sent.
        assert_eq!(
            state.rates("wlp0s20f3").unwrap().back(),
            Some(&12_691_356.0)
        );
        let mut fewer = status();
        fewer.interfaces.remove(0);
        answer(&mut state, Ok(fewer), 61);
        assert!(state.rates("wlp0s20f3").is_none());
    }
}
