//! The file that holds a [`Book`]: JSON that the daemon and the simulator read and write, and the
//! salt beside it.
//!
//! A network's name (an SSID, a router's hardware address) is not in the file. The file has the
//! name's [id](Salt::id), which only the holder of the salt can compute.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::book::{Book, Network};
use super::estimate::{Estimate, PathHistory};

/// Version of the format.
pub const VERSION: u32 = 1;
/// The salt of the file F is in the file F with this appended.
pub const SALT_SUFFIX: &str = ".salt";
/// Bytes of a hash that make an id.
const ID_BYTES: usize = 16;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    version: u32,
    networks: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    interface: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    network: Option<String>,
    seen: u32,
    visits: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rate_bps: Option<Estimate>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rtt_s: Option<Estimate>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    loss: Option<Estimate>,
}

impl Book {
    /// Reads the file's text.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn parse(text: &str) -> Result<Self, String> {
        let written: Written = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if written.version != VERSION {
            return Err(format!(
                "it has version {}, this program reads version {VERSION}",
                written.version
            ));
        }
        for (number, entry) in written.networks.iter().enumerate() {
            for (key, estimate) in [
                ("rate_bps", entry.rate_bps),
                ("rtt_s", entry.rtt_s),
                ("loss", entry.loss),
            ] {
                if estimate.is_some_and(|estimate| !estimate.is_valid()) {
                    let fix = "a median is above 0, a spread at least 1";
                    return Err(format!("`{key}` of network {} is wrong: {fix}", number + 1));
                }
            }
        }
        let network = |entry: Entry| Network {
            interface: entry.interface,
            network: entry.network,
            seen_s: entry.seen,
            visits: entry.visits,
            known: PathHistory {
                rate_bps: entry.rate_bps,
                rtt_s: entry.rtt_s,
                loss: entry.loss,
                age_days: 0.0,
            },
        };
        Ok(Book::new(
            written.networks.into_iter().map(network).collect(),
        ))
    }

    /// The file's text.
    pub fn text(&self) -> String {
        let entry = |network: &Network| Entry {
            interface: network.interface.clone(),
            network: network.network.clone(),
            seen: network.seen_s,
            visits: network.visits,
            rate_bps: network.known.rate_bps,
            rtt_s: network.known.rtt_s,
            loss: network.known.loss,
        };
        let written = Written {
            version: VERSION,
            networks: self.networks().iter().map(entry).collect(),
        };
        serde_json::to_string_pretty(&written).expect("finite numbers and texts") + "\n"
    }
}

/// Random bytes of one machine, which make ids of networks' names.
#[derive(Clone, PartialEq, Eq)]
pub struct Salt([u8; 32]);

/// The salt is a secret: no log shows it.
impl std::fmt::Debug for Salt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Salt(…)")
    }
}

impl Salt {
    /// A salt of these random bytes.
    pub fn new(bytes: [u8; 32]) -> Self {
        Salt(bytes)
    }

    /// Reads the salt's file: 64 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim_end();
        if text.len() != 64 || !text.is_ascii() {
            return None;
        }
        let mut bytes = [0; 32];
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
        }
        Some(Salt(bytes))
    }

    /// The text of the salt's file.
    pub fn text(&self) -> String {
        hex(&self.0) + "\n"
    }

    /// The id of a network's name: 32 hexadecimal digits.
    pub fn id(&self, name: &str) -> String {
        // A truncated hash of salt and name cannot be extended, so this needs no HMAC.
        hex(&Sha256::new()
            .chain_update(self.0)
            .chain_update(name)
            .finalize()[..ID_BYTES])
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Visit;

    #[test]
    fn a_written_history_reads_back_unchanged() {
        let mut book = Book::default();
        let visit = Visit {
            rate_bps: Some(18_500_000.0),
            rtt_s: Some(0.0215),
            loss: Some(0.004),
        };
        book.learn("wifi", Some("0a1b"), 1_763_865_600, visit);
        book.learn(
            "wifi",
            Some("0a1b"),
            1_763_965_600,
            Visit {
                rate_bps: Some(3e6),
                ..visit
            },
        );
        book.learn(
            "lte",
            None,
            1_763_865_700,
            Visit {
                rate_bps: Some(6e6),
                ..Visit::default()
            },
        );
        assert_eq!(Book::parse(&book.text()), Ok(book));
        assert_eq!(
            Book::parse("{\"version\": 1, \"networks\": []}"),
            Ok(Book::default())
        );
    }

    #[test]
    fn a_wrong_file_is_refused_with_the_place() {
        let with = |keys: &str| {
            format!(
                "{{\"version\": 1, \"networks\": [{{\"interface\": \"wifi\", \"visits\": 1, {keys}}}]}}"
            )
        };
        for (text, message) in [
            ("version = 1", "line 1 column 1"),
            (
                "{\"version\": 2, \"networks\": []}",
                "it has version 2, this program reads version 1",
            ),
            (
                "{\"version\": 1, \"network\": []}",
                "unknown field `network`",
            ),
            (&with("\"rate_bps\": null"), "missing field `seen`"),
            (
                &with("\"seen\": 5, \"rate_bps\": {\"median\": 0, \"spread\": 2}"),
                "`rate_bps` of network 1 is wrong: a median is above 0",
            ),
            (
                &with("\"seen\": 5, \"loss\": {\"median\": 1, \"spread\": 0.5}"),
                "`loss` of network 1 is wrong",
            ),
        ] {
            let error = Book::parse(text).expect_err(text);
            assert!(error.contains(message), "{text}: {error}");
        }
    }

    #[test]
    fn an_id_depends_on_salt_and_name_and_shows_neither() {
        let zero = Salt::new([0; 32]);
        // (head -c 32 /dev/zero; printf home) | sha256sum
        assert_eq!(zero.id("home"), "770305081ad99b6971f6047220443310");
        assert_ne!(zero.id("home"), zero.id("train"));
        assert_ne!(zero.id("home"), Salt::new([1; 32]).id("home"));
        let salt = Salt::new(std::array::from_fn(|at| 7 * at as u8));
        assert!(Salt::parse(&salt.text()) == Some(salt));
        assert!(Salt::parse("00").is_none() && Salt::parse(&"zz".repeat(32)).is_none());
    }
}
