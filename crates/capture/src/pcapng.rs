//! Captures as pcapng.

use joulepath_pcapng::{IPV4, Packet, interface, packet, section, statistics};

use crate::End;
use crate::capture::Capture;
use crate::radios::Change;

impl Capture<'_> {
    /// The capture at `end`: an interface for each path, packets with headers only, and comments
    /// with drops, requests, and, at the client, phases of radios and joules. `title` is its
    /// comment.
    pub fn pcapng(&self, end: End, title: &str) -> Vec<u8> {
        let mut bytes = section(title, "joulepath, simulated");
        for path in &self.scenario.paths {
            let description = format!("path {}, at the {}", path.name, end.name());
            bytes.extend(interface(IPV4, &path.name, &description));
        }
        let changes = match end {
            End::Client => self.radio_changes(),
            End::Server => vec![],
        };
        let mut changes = changes.iter().peekable();
        for seen in self.packets(end) {
            let mut comments: Vec<String> = seen.comment().into_iter().collect();
            while let Some(change) = changes.next_if(|change| change.at <= seen.at) {
                comments.push(self.phase_comment(change));
            }
            let (data, length) = seen.segment.headers();
            let captured = Packet {
                interface: seen.path,
                at: seen.at,
                data: &data,
                length,
            };
            bytes.extend(packet(&captured, comments));
        }
        if end == End::Client {
            let rest: Vec<String> = changes.map(|change| self.phase_comment(change)).collect();
            for (number, path) in self.trace.paths.iter().enumerate() {
                let joules = path.energy_j.last().copied().unwrap_or_default();
                let mut comment = format!("{joules:.3} J in all");
                if number == 0 {
                    rest.iter().for_each(|text| comment += &format!("; {text}"));
                }
                bytes.extend(statistics(number, self.trace.until, &comment));
            }
        }
        bytes
    }

    fn phase_comment(&self, change: &Change) -> String {
        change.phase.comment(
            &self.scenario.paths[change.path].name,
            change.at,
            change.energy_j,
        )
    }
}
