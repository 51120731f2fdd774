//! The screen as a function of state and size.
//!
//! ```text
//!   head          intent, paused, interfaces, connections, battery
//!   trouble       if the daemon does not answer
//!   table         a row per path, and their sum
//!   lower part    reasons, quotas, warnings, events; or a choice of intents; or help
//!   foot          a message, or the sources of joules; keys
//! ```

use std::time::Duration;

use joulepath_live::decide::Role;
use joulepath_live::status::{InterfaceStatus, QuotaStatus, Status};
use ratatui::Frame;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::columns::{Column, columns};
use super::state::{CHOICES, Mode, State};
use crate::figures::{self, duration};
use crate::why;

/// Least size, columns and lines.
const LEAST: (u16, u16) = (40, 12);
/// Height of the foot.
const FOOT: usize = 2;
/// Least lines for events, including their heading.
const EVENTS: usize = 4;
/// Width of the bar of a quota.
const BAR: usize = 20;

const KEYS: [(&str, &str); 9] = [
    ("i", "change the intent of this machine"),
    ("↑ ↓", "mark an interface"),
    ("Enter", "change the intent of the marked interface"),
    ("p", "pause (undo all changes, only count), or resume"),
    ("w", "what holds connections back, and what fixes it"),
    ("Ctrl-L", "redraw"),
    ("Ctrl-Z", "back to the shell; `fg` returns"),
    ("?", "this list; any key closes it"),
    ("q", "quit; the daemon keeps running"),
];

/// Text styles. Without colour, emphasis is bold or faint.
#[derive(Clone, Copy)]
struct Ink {
    color: bool,
}

impl Ink {
    fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    fn faint(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    fn marked(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    fn of(self, color: Color) -> Style {
        if self.color {
            Style::new().fg(color)
        } else {
            Style::new()
        }
    }

    fn bad(self) -> Style {
        self.of(Color::Red).add_modifier(Modifier::BOLD)
    }

    fn role(self, role: Role) -> Style {
        match role {
            Role::Regular => self.of(Color::Green),
            Role::Backup => self.of(Color::Yellow),
            Role::Unused => self.faint(),
        }
    }
}

pub(super) fn draw(frame: &mut Frame, state: &State, now: Duration) {
    let area = frame.area();
    if area.width < LEAST.0 || area.height < LEAST.1 {
        let (columns, lines) = LEAST;
        let text = format!("Too small: {columns} columns and {lines} lines are needed. q quits.");
        frame.render_widget(
            Paragraph::new(wrap(&text, area.width.into(), "").join("\n")),
            area,
        );
        return;
    }
    let page = Page {
        state,
        now,
        width: area.width.into(),
        ink: Ink { color: state.color },
    };
    let lines = page.lines(area.height.into());
    frame.render_widget(Paragraph::new(lines), area);
}

struct Page<'a> {
    state: &'a State,
    now: Duration,
    width: usize,
    ink: Ink,
}

impl Page<'_> {
    /// Exactly `height` lines.
    fn lines(&self, height: usize) -> Vec<Line<'static>> {
        let mut lines = self.head();
        lines.extend(self.trouble());
        lines.push(Line::default());
        if let Some((status, _)) = &self.state.status {
            lines.extend(self.table(height));
            lines.push(Line::default());
            let left = height.saturating_sub(lines.len() + FOOT);
            lines.extend(match &self.state.mode {
                Mode::Overview => self.overview(status, left),
                Mode::Intents { of, at } => self.intents(status, of.as_deref(), *at),
                Mode::Why => self.why(status, left),
                Mode::Help => self.help(),
            });
        } else if self.state.mode == Mode::Help {
            lines.extend(self.help());
        }
        lines.resize(height - FOOT, Line::default());
        lines.extend(self.foot());
        lines
    }

    fn head(&self) -> Vec<Line<'static>> {
        let Some((status, _)) = &self.state.status else {
            let text = format!("joulepath top · {}", self.state.socket);
            return vec![Line::styled(self.cut(&text), self.ink.strong())];
        };
        let mut lines = self.wrapped(&figures::head(status).join(" · "), "", self.ink.strong());
        if status.paused {
            let said = "Paused: all changes are undone and traffic is only counted. p resumes.";
            lines.extend(self.wrapped(said, "", self.ink.of(Color::Yellow)));
        }
        lines
    }

    /// Why the screen is out of date.
    fn trouble(&self) -> Vec<Line<'static>> {
        let Some(trouble) = &self.state.trouble else {
            let waits = self.state.status.is_none();
            return if waits {
                vec![Line::raw("Asking the daemon …")]
            } else {
                vec![]
            };
        };
        let mut said = trouble.problem.what.clone();
        if !trouble.problem.remedy.is_empty() {
            said += &format!(" ({})", trouble.problem.remedy);
        }
        let mut lines = self.wrapped(&said, "", self.ink.bad());
        let tried = duration(self.now.saturating_sub(trouble.since).as_secs_f64());
        let again = match &self.state.status {
            Some((_, at)) => {
                let old = duration(self.now.saturating_sub(*at).as_secs_f64());
                format!("Retrying every second. This status is {old} old.")
            }
            None => format!("Retrying every second, for {tried} so far."),
        };
        lines.extend(self.wrapped(&again, "", Style::new()));
        lines
    }

    fn table(&self, height: usize) -> Vec<Line<'static>> {
        let interfaces = self.state.interfaces();
        let (names, columns) = columns(self.state, self.width);
        let row = |name: &str, cell: &dyn Fn(&Column) -> String| {
            let mut text = format!("{name:<names$.names$}");
            for column in &columns {
                let (width, cell) = (column.width, cell(column));
                text += &match column.left {
                    true => format!(" {cell:<width$.width$}"),
                    false => format!(" {cell:>width$.width$}"),
                };
            }
            text.trim_end().to_owned()
        };
        let heads = [0, 1].map(|k| row(["inter-", "face"][k], &|column| column.head[k].to_owned()));
        let mut lines: Vec<Line> = heads
            .into_iter()
            .map(|head| Line::styled(head, self.ink.faint()))
            .collect();
        if interfaces.is_empty() {
            let said = "No usable interface: none that is hardware or configured has an address and a \
                        default route.";
            lines.extend(self.wrapped(said, "", Style::new()));
            return lines;
        }
        // At most half of the screen, around the marked row.
        let room = (height / 2).saturating_sub(4).max(2);
        let marked = self.state.marked();
        let first = marked
            .saturating_sub(room - 1)
            .min(interfaces.len().saturating_sub(room));
        for (place, one) in interfaces.iter().enumerate().skip(first).take(room) {
            let text = row(&one.name, &|column| (column.cell)(one, self.state));
            lines.push(self.row_of(one, text, names, place == marked));
        }
        if interfaces.len() > 1 {
            let sum = row("all", &|column| {
                column.sum.map(|sum| sum(&interfaces)).unwrap_or_default()
            });
            lines.push(Line::styled(sum, self.ink.strong()));
        }
        let hidden = interfaces.len().saturating_sub(room);
        if hidden > 0 {
            let said = format!("{} not shown: ↑ ↓, or a taller window", hidden);
            lines.push(Line::styled(self.cut(&said), self.ink.faint()));
        }
        lines
    }

    fn row_of(
        &self,
        one: &InterfaceStatus,
        text: String,
        names: usize,
        marked: bool,
    ) -> Line<'static> {
        if self.state.trouble.is_some() {
            return Line::styled(text, self.ink.faint());
        }
        let cut = text
            .char_indices()
            .nth(names)
            .map_or(text.len(), |(at, _)| at);
        let (name, rest) = text.split_at(cut);
        let style = self.ink.role(one.role);
        let name_style = if marked {
            self.ink.marked()
        } else {
            self.ink.strong()
        };
        Line::from(vec![
            Span::styled(name.to_owned(), name_style),
            Span::styled(rest.to_owned(), style),
        ])
    }

    /// Warnings, reasons and events, in at most `room` lines.
    fn overview(&self, status: &Status, room: usize) -> Vec<Line<'static>> {
        let mut lines = vec![];
        for warning in &status.warnings {
            lines.extend(self.wrapped(
                &format!("warning: {warning}"),
                "  ",
                self.ink.of(Color::Yellow),
            ));
        }
        if let Some(said) = figures::machine(status) {
            lines.extend(self.wrapped(&said, "  ", Style::new()));
        }
        if let Some(said) = why::line(status) {
            lines.extend(self.wrapped(
                &said.replace("`joulepath why`", "w"),
                "  ",
                self.ink.of(Color::Yellow),
            ));
        }
        for one in self.state.interfaces() {
            lines.extend(self.reason(one));
        }
        let events = if status.events.is_empty() { 0 } else { EVENTS };
        let most = room.saturating_sub(events);
        if lines.len() > most {
            lines.truncate(most.saturating_sub(1));
            lines.push(Line::styled(
                "… a taller window shows more",
                self.ink.faint(),
            ));
        }
        if events > 0 {
            if lines.len() + EVENTS < room {
                lines.push(Line::default());
            }
            lines.push(Line::styled("Events", self.ink.strong()));
            lines.extend(self.events(status).take(room.saturating_sub(lines.len())));
        }
        lines
    }

    fn reason(&self, one: &InterfaceStatus) -> Vec<Line<'static>> {
        let mut reason = format!("{}: {}", one.name, one.reason.with(&one.notes));
        if one.wanted != one.role
            && self
                .state
                .status
                .as_ref()
                .is_some_and(|(status, _)| !status.paused)
        {
            reason += &format!("; will be {}", word(one.wanted));
        }
        if let Some(signal) = &one.signal_strength {
            reason += &format!("; {}", figures::signal(signal));
        }
        let mut lines = self.wrapped(&reason, "  ", Style::new());
        for (address, why) in &one.conflicts {
            lines.extend(self.wrapped(
                &format!("  {address}: {why}"),
                "    ",
                self.ink.of(Color::Yellow),
            ));
        }
        if let Some(quota) = &one.quota {
            lines.push(self.quota(quota));
        }
        lines
    }

    /// A bar up to the hard limit, or to the soft limit if there is no hard one.
    fn quota(&self, quota: &QuotaStatus) -> Line<'static> {
        let said = format!(" {}", figures::quota(quota));
        let Some(bound) = quota.hard_bytes.or(quota.soft_bytes) else {
            return Line::raw(said);
        };
        let share = if bound == 0 {
            1.0
        } else {
            (quota.used_bytes as f64 / bound as f64).min(1.0)
        };
        let full = (share * BAR as f64).round() as usize;
        let is_soft = quota
            .soft_bytes
            .is_some_and(|soft| quota.used_bytes >= soft);
        let style = match share {
            1.0 => self.ink.bad(),
            _ if is_soft => self.ink.of(Color::Yellow),
            _ => self.ink.of(Color::Green),
        };
        let bar = format!("  {}{}", "█".repeat(full), "░".repeat(BAR - full));
        let rest: String = said
            .chars()
            .take(self.width.saturating_sub(bar.chars().count()))
            .collect();
        Line::from(vec![Span::styled(bar, style), Span::raw(rest)])
    }

    fn events<'s>(&'s self, status: &'s Status) -> impl Iterator<Item = Line<'static>> + 's {
        let answered = self.state.status.as_ref().map_or(self.now, |(_, at)| *at);
        let since = self.now.saturating_sub(answered).as_secs_f64();
        status.events.iter().map(move |event| {
            let ago = format!("{:>7}", duration(event.ago_s + since));
            let text = self.cut(&format!("{ago}  {}", event.text));
            let (ago, text) = text.split_at(ago.len().min(text.len()));
            Line::from(vec![
                Span::styled(ago.to_owned(), self.ink.faint()),
                Span::raw(text.to_owned()),
            ])
        })
    }

    fn intents(&self, status: &Status, of: Option<&str>, at: usize) -> Vec<Line<'static>> {
        let (title, in_force) = match of {
            None => ("Intent of this machine".to_owned(), status.intent),
            Some(name) => {
                let one = status.interfaces.iter().find(|one| one.name == name);
                (
                    format!("Intent of {name}"),
                    one.map_or(status.intent, |one| one.intent),
                )
            }
        };
        let mut lines = vec![Line::styled(title, self.ink.strong())];
        for (place, (intent, what)) in CHOICES.iter().enumerate() {
            let word = intent.map_or("configured", |intent| intent.word());
            let now = if *intent == Some(in_force) {
                "•"
            } else {
                " "
            };
            let text = self.cut(&format!("{now} {word:<13} {what}"));
            let style = if place == at {
                self.ink.marked()
            } else {
                Style::new()
            };
            lines.push(Line::styled(text, style));
        }
        lines.push(Line::styled(
            self.cut("↑ ↓ choose, Enter sets it until the daemon restarts, Esc leaves the list"),
            self.ink.faint(),
        ));
        lines
    }

    /// What holds connections back, in at most `room` lines.
    fn why(&self, status: &Status, room: usize) -> Vec<Line<'static>> {
        let mut lines = vec![Line::styled(
            "What holds connections back",
            self.ink.strong(),
        )];
        let said = match status.why.as_deref() {
            None => {
                "Not examined: the daemon needs some seconds of listings, and lists hosts with many sockets \
                     too rarely. `joulepath why` watches by itself."
            }
            Some([]) => "Nothing was found that can be fixed.",
            Some(_) => "",
        };
        lines.extend(self.wrapped(said, "", Style::new()));
        for (title, sentences) in status.why.iter().flatten().map(why::parts) {
            lines.extend(self.wrapped(&title, "  ", self.ink.of(Color::Yellow)));
            for (label, sentence) in sentences {
                let indent = " ".repeat(12);
                lines.extend(self.wrapped(
                    &format!("  {label:<10}{sentence}"),
                    &indent,
                    Style::new(),
                ));
            }
        }
        if lines.len() > room {
            lines.truncate(room.saturating_sub(1));
            lines.push(Line::styled(
                "… a taller window shows more",
                self.ink.faint(),
            ));
        }
        lines
    }

    fn help(&self) -> Vec<Line<'static>> {
        let key = |(key, what): &(&str, &str)| {
            self.wrapped(&format!("{key:<8}{what}"), "        ", Style::new())
        };
        let mut lines: Vec<Line> = KEYS.iter().flat_map(key).collect();
        let said = "Power and joules are attributed to a path from its traffic by its energy model. \
                    See `joulepath live --help`.";
        lines.extend(self.wrapped(said, "", self.ink.faint()));
        lines
    }

    fn foot(&self) -> [Line<'static>; FOOT] {
        let said = match self.state.message(self.now) {
            Some(message) => Line::styled(self.cut(message), self.ink.of(Color::Yellow)),
            None => Line::styled(self.cut(&self.sources()), self.ink.faint()),
        };
        let keys = match self.state.mode {
            Mode::Intents { .. } => "↑ ↓ choose  Enter set  Esc leave",
            Mode::Why | Mode::Help => "any key goes back",
            Mode::Overview if self.state.is_read_only() => "read-only  w why  ? help  q quit",
            Mode::Overview => "i intent  ↑ ↓ Enter for one  p pause  w why  ? help  q quit",
        };
        [said, Line::styled(self.cut(keys), self.ink.strong())]
    }

    /// Sources of joules.
    fn sources(&self) -> String {
        let of = |one: &&InterfaceStatus| {
            Some(format!(
                "{} {} by {}",
                one.name,
                one.energy_quality.as_deref()?,
                figures::profile(one)?
            ))
        };
        let known: Vec<String> = self.state.interfaces().iter().filter_map(of).collect();
        if known.is_empty() {
            String::new()
        } else {
            format!("Joules: {}", known.join(", "))
        }
    }

    fn wrapped(&self, text: &str, indent: &str, style: Style) -> Vec<Line<'static>> {
        wrap(text, self.width, indent)
            .into_iter()
            .map(|line| Line::styled(line, style))
            .collect()
    }

    /// Cuts a text to the width.
    fn cut(&self, text: &str) -> String {
        if text.chars().count() <= self.width {
            return text.to_owned();
        }
        text.chars().take(self.width - 1).chain(['…']).collect()
    }
}

fn word(role: Role) -> &'static str {
    match role {
        Role::Unused => "unused",
        Role::Backup => "a backup",
        Role::Regular => "regular",
    }
}

fn wrap(text: &str, width: usize, indent: &str) -> Vec<String> {
    let options = textwrap::Options::new(width).subsequent_indent(indent);
    let options = options.word_splitter(textwrap::WordSplitter::NoHyphenation);
    textwrap::wrap(text, options)
        .into_iter()
        .map(|line| line.into_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use ratatui::crossterm::event::{KeyCode, KeyEvent};

    use joulepath_live::status::SignalStatus;

    use super::super::samples::{self, answer, gone, state, status};
    use super::*;

    const NOW: Duration = Duration::from_secs(61);

    fn drawn(state: &State, width: u16, height: u16) -> TestBackend {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, state, NOW)).unwrap();
        terminal.backend().clone()
    }

    fn text(state: &State, width: u16, height: u16) -> String {
        drawn(state, width, height).to_string()
    }

    fn press(state: &mut State, keys: &[KeyCode]) {
        for &key in keys {
            state.on_key(KeyEvent::from(key), NOW);
        }
    }

    #[test]
    fn a_usual_terminal_shows_the_essentials() {
        insta::assert_snapshot!(text(&state(), 80, 24));
    }

    #[test]
    fn a_measured_machine_shows_the_unexplained_power() {
        let mut state = state();
        answer(
            &mut state,
            Ok(Status {
                machine: Some(samples::machine()),
                ..status()
            }),
            60,
        );
        let words = text(&state, 132, 43)
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        assert!(
            words.contains("machine: 8.00 W measured by hwmon:powerz: 1.25 W attributed"),
            "{words}"
        );
    }

    #[test]
    fn a_signal_has_a_column_if_one_is_known() {
        let mut state = state();
        assert!(!text(&state, 132, 43).contains("signal"));
        let mut status = status();
        status.interfaces[0].signal_strength = Some(SignalStatus {
            dbm: -67.4,
            age_s: 0.5,
            source: "nl80211".into(),
        });
        answer(&mut state, Ok(status), 60);
        let text = text(&state, 132, 43);
        assert!(text.contains("signal") && text.contains(" -67 "), "{text}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            words.contains("; signal -67 dBm, 0.5 s old, by nl80211"),
            "{text}"
        );
    }

    #[test]
    fn a_small_terminal_omits_columns() {
        insta::assert_snapshot!(text(&state(), 60, 20));
    }

    #[test]
    fn a_large_terminal_shows_the_last_minute() {
        insta::assert_snapshot!(text(&state(), 132, 43));
    }

    #[test]
    fn intents_are_chosen_from_a_list() {
        let mut state = state();
        press(&mut state, &[KeyCode::Down, KeyCode::Enter, KeyCode::Down]);
        insta::assert_snapshot!(text(&state, 80, 24));
    }

    #[test]
    fn what_holds_connections_back_is_a_line_and_with_w_a_panel() {
        let mut state = state();
        let said = |state: &State| text(state, 100, 30);
        assert!(!said(&state).contains("In the way"));
        press(&mut state, &[KeyCode::Char('w')]);
        assert!(said(&state).contains("Not examined"), "{}", said(&state));
        answer(
            &mut state,
            Ok(Status {
                why: Some(vec![]),
                ..status()
            }),
            60,
        );
        assert!(
            said(&state).contains("Nothing was found"),
            "{}",
            said(&state)
        );
        answer(
            &mut state,
            Ok(Status {
                why: Some(vec![samples::hindrance()]),
                ..status()
            }),
            60,
        );
        insta::assert_snapshot!(said(&state));
        press(&mut state, &[KeyCode::Esc]);
        let said = said(&state);
        assert!(
            said.contains("In the way: 192.0.2.9:443: the program uses plain TCP")
                && said.contains("(w)")
        );
    }

    #[test]
    fn help_describes_the_keys() {
        let mut state = state();
        press(&mut state, &[KeyCode::Char('?')]);
        insta::assert_snapshot!(text(&state, 80, 24));
    }

    #[test]
    fn an_absent_daemon_is_shown_with_the_age_of_the_data() {
        let mut state = state();
        answer(&mut state, Err(gone()), 61);
        let text = text(&state, 80, 24);
        assert!(
            text.contains("no daemon listens at /run/joulepath/live.sock"),
            "{text}"
        );
        assert!(text.contains("This status is 1 s old"), "{text}");
        assert!(text.contains("wlp0s20f3"), "{text}");
        answer(&mut state, Ok(status()), 62);
        assert!(!self::text(&state, 80, 24).contains("no daemon"));
        let mut state = State::new("/x".into(), false);
        assert!(self::text(&state, 80, 24).contains("Asking the daemon"));
        answer(&mut state, Err(gone()), 1);
        assert!(
            self::text(&state, 80, 24).contains("for 60 s so far"),
            "{}",
            self::text(&state, 80, 24)
        );
    }

    #[test]
    fn a_user_without_rights_sees_read_only() {
        let mut state = state();
        answer(
            &mut state,
            Ok(Status {
                may_command: Some(false),
                ..status()
            }),
            60,
        );
        assert!(text(&state, 80, 24).contains("read-only"));
        press(&mut state, &[KeyCode::Char('i')]);
        assert!(text(&state, 80, 24).contains("you may not send commands"));
    }

    #[test]
    fn a_paused_daemon_is_shown_as_paused() {
        let mut state = state();
        answer(
            &mut state,
            Ok(Status {
                paused: true,
                ..status()
            }),
            60,
        );
        assert!(text(&state, 80, 24).contains("Paused: all changes are undone"));
    }

    #[test]
    fn the_screen_has_no_colours_if_they_are_off() {
        let mut state = state();
        let colors = |state: &State| {
            let backend = drawn(state, 80, 24);
            let cells = backend.buffer().content().iter();
            cells
                .filter(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset)
                .count()
        };
        assert_eq!(colors(&state), 0);
        state.color = true;
        assert!(colors(&state) > 100);
        let (plain, colored) = (
            text(&super::super::samples::state(), 80, 24),
            text(&state, 80, 24),
        );
        assert_eq!(plain, colored);
    }

    /// At every size, nothing panics and the last line says how to quit.
    #[test]
    fn every_size_can_be_drawn() {
        let mut many = status();
        many.interfaces = (0..40)
            .map(|k| InterfaceStatus {
                name: format!("ppp{k}"),
                ..many.interfaces[1].clone()
            })
            .collect();
        let mut crowded = state();
        answer(&mut crowded, Ok(many), 60);
        press(&mut crowded, &[KeyCode::Down; 30]);
        let mut gone_again = state();
        answer(&mut gone_again, Err(gone()), 61);
        let mut choosing = state();
        press(&mut choosing, &[KeyCode::Char('i')]);
        for state in [
            state(),
            crowded,
            gone_again,
            choosing,
            State::new("/x".into(), true),
        ] {
            for (width, height) in
                (1..150).flat_map(|width| [1, 5, 12, 15, 24, 60].map(|h| (width, h)))
            {
                let text = text(&state, width, height);
                if width >= 60 && height >= 12 {
                    let last = text.lines().last().unwrap();
                    assert!(
                        last.contains("quit") || last.contains("leave"),
                        "{width}×{height}\n{text}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_marked_row_is_visible() {
        let mut many = status();
        many.interfaces = (0..40)
            .map(|k| InterfaceStatus {
                name: format!("ppp{k}"),
                ..many.interfaces[1].clone()
            })
            .collect();
        let mut state = state();
        answer(&mut state, Ok(many), 60);
        press(&mut state, &[KeyCode::Down; 30]);
        let text = text(&state, 80, 24);
        assert!(
            text.contains("ppp30 ") && text.contains("32 not shown"),
            "{text}"
        );
    }
}
