//! A device's history as a versioned TOML file.

use std::fmt::Write as _;

use super::declare::table;
use super::document::{Document, quoted};
use super::error::{Problems, ScenarioErrors};
use super::exact::Exact;
use super::parts::RawHistory;
use super::read::{At, Read};
use crate::history::{Book, Estimate, Network, PathHistory};
use crate::units::{BitRate, Nanos, Probability};

/// The version that is written and read.
const VERSION: u32 = 1;

table! {
    /// Estimates of the networks that a device has used.
    struct RawBook in "a history" {
        /// Version of the format.
        version: At<u32>,
        /// Networks.
        network: Vec<RawNetwork> = [],
    }
}

table! {
    /// One network, seen from one interface.
    struct RawNetwork in "[[network]]" {
        /// Name of the interface.
        interface: String,
        /// Network that the interface was attached to.
        network: Option<String>,
        /// Time of the last use, s since 1970.
        seen: u32,
        /// Number of visits.
        visits: u32 = 1,
        /// Estimates.
        known: RawHistory,
    }
}

/// Reads a history.
///
/// # Errors
/// All problems, each with its position and fix.
pub fn read_history(text: &str) -> Result<Book, ScenarioErrors> {
    let mut problems = Problems::default();
    let document = Document::new(text, &[]);
    let raw = document.parse(&mut problems).and_then(|root| RawBook::read(&root, &mut problems));
    let book = raw.and_then(|raw| book(raw, &mut problems));
    problems.finish(document.text, book).map_err(|errors| errors.of("the history"))
}

fn book(raw: RawBook, out: &mut Problems) -> Option<Book> {
    if raw.version.value != VERSION {
        out.note_with_help(
            &raw.version.span,
            format!("version {} is not known: this program reads version {VERSION}", raw.version.value),
            "write a new file with this program, or read this one with the program that wrote it",
        );
        return None;
    }
    let network = |raw: RawNetwork| {
        let known = raw.known.resolve(out)?;
        let RawNetwork { interface, network, seen, visits, .. } = raw;
        Some(Network { interface, network, seen_s: seen, visits, known })
    };
    let networks: Vec<Option<Network>> = raw.network.into_iter().map(network).collect();
    networks.into_iter().collect::<Option<_>>().map(Book::new)
}

/// Writes a history that [`read_history`] reads.
pub fn write_history(book: &Book) -> String {
    let mut text = format!(
        "# What this device knows of the networks that it has used. Estimates are log-normal: `rate_spread`\n\
         # is the factor of one standard deviation. Written by joulepath; it may be edited.\n\
         version = {VERSION}\n"
    );
    for Network { interface, network, seen_s, visits, known } in book.networks() {
        let network = network.as_deref().map(|name| format!("network = {}\n", quoted(name)));
        let _ = write!(
            text,
            "\n[[network]]\ninterface = {}\n{}seen = {seen_s}\nvisits = {visits}\nknown = {}\n",
            quoted(interface),
            network.unwrap_or_default(),
            path_history(known)
        );
    }
    text
}

/// A path's history as an inline table: the value of `history` in a scenario's path.
pub fn path_history(known: &PathHistory) -> String {
    let mut keys = vec![];
    let mut estimate = |name: &str, estimate: Option<Estimate>, write: &dyn Fn(f64) -> String| {
        if let Some(Estimate { median, spread }) = estimate {
            keys.push(format!("{name} = {}, {name}_spread = {spread:.3}", write(median)));
        }
    };
    estimate("rate", known.rate_bps, &|bps| BitRate::from_bps(bps.max(1.0) as u64).exact());
    estimate("rtt", known.rtt_s, &|s| Nanos::from_secs_f64(s).max(Nanos(1)).exact());
    estimate("loss", known.loss, &|p| Probability::new(p).unwrap_or_default().exact());
    if known.age_days > 0.0 {
        keys.push(format!("age_days = {:.4}", known.age_days));
    }
    format!("{{ {} }}", keys.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Visit;

    #[test]
    fn a_written_history_reads_back_unchanged() {
        let mut book = Book::default();
        let visit = Visit { rate_bps: Some(18_500_000.0), rtt_s: Some(0.0215), loss: Some(0.004) };
        book.learn("wifi", Some("home \"5 GHz\""), 1_763_865_600, visit);
        book.learn("lte", None, 1_763_865_700, Visit { rate_bps: Some(6e6), ..Visit::default() });
        let text = write_history(&book);
        let again = read_history(&text).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
        assert_eq!(write_history(&again), text);
        let known = again.recall("wifi", Some("home \"5 GHz\""), 1_763_865_600);
        assert_eq!(known.rate_bps, Some(Estimate { median: 18.5e6, spread: 1.5 }));
        assert_eq!((known.rtt_s.unwrap().median, known.loss.unwrap().median), (0.0215, 0.004));
        assert_eq!(again.networks()[0].known.loss, None);
        assert_eq!(read_history("version = 1").unwrap(), Book::default());
    }

    #[test]
    fn problems_are_reported_with_position_and_fix() {
        let network = "version = 1\n[[network]]\ninterface = \"wifi\"\nseen = 5\n";
        for (text, message) in [
            ("version = 2", "1:11: version 2 is not known: this program reads version 1; write a new file"),
            ("networks = []", "`networks` is not a key of a history; did you mean `network`?"),
            (network, "[[network]] needs the key `known`"),
            (&format!("{network}known = {{ rate = \"9 Mbit\" }}"), "5:18: "),
            (&format!("{network}known = {{ rate = \"9 Mbit/s\", rate_spread = 0.5 }}"), "at least 1"),
            (&format!("{network}known = {{ loss = \"0 %\" }}"), "above 0"),
        ] {
            let errors = read_history(text).expect_err(text).to_string();
            assert!(errors.starts_with("the history has") && errors.contains(message), "{text}: {errors}");
        }
    }
}
