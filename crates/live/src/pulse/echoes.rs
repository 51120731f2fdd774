//! The sockets for echoes.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::net::IpAddr;

use joulepath_kernel::route::Echo;

use super::Question;

/// Sockets by interface index and address.
#[derive(Debug, Default)]
pub(crate) struct Echoes(BTreeMap<(u32, IpAddr), Echo>);

impl Echoes {
    /// Asks. Errors are silence.
    pub(crate) fn ask(&mut self, question: Question) {
        let key = (question.device, question.source);
        let echo = match self.0.entry(key) {
            Entry::Occupied(known) => known.into_mut(),
            // Without the right to ask, no server answers.
            Entry::Vacant(none) => match Echo::open(question.device, question.source) {
                Ok(echo) => none.insert(echo),
                Err(_) => return,
            },
        };
        if echo.ask(question.server, question.sequence).is_err() {
            // The address may be gone, and come back.
            self.0.remove(&key);
        }
    }

    /// The echoes that have arrived: interface indexes and sequence numbers.
    pub(crate) fn answers(&self) -> Vec<(u32, u16)> {
        let of = |(&(device, _), echo): (&(u32, IpAddr), &Echo)| {
            let all = echo.answers();
            all.into_iter().map(move |sequence| (device, sequence))
        };
        self.0.iter().flat_map(of).collect()
    }
}
