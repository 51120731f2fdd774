//! Input of the daemon's code, from the simulated paths.

use std::collections::BTreeMap;

use joulepath_kernel::route::Counters;
use joulepath_live::measure::{Looked, Measured, Measurer, rate_bps};
use joulepath_live::record::Look;
use joulepath_live::snapshot::{Interface, Snapshot};
use joulepath_model::units::Nanos;
use joulepath_packet::{PathStatus, Session, Status};

use super::stretch::{Stretch, WIRE};

/// RTT of a path without subflows.
const UNTRIED_RTT: Nanos = Nanos::from_millis(50);
/// Payload of a full segment, bytes.
const SEGMENT: u64 = 1448;
/// Polls without an ACK after which data in flight counts as unanswered.
const STALLED_LOOKS: u32 = 2;

/// The daemon's measuring, with its memory.
#[derive(Debug, Default)]
pub(super) struct Feed {
    measurer: Measurer,
    status: Status,
    /// Payload of earlier stretches by path, received and sent, bytes.
    before: BTreeMap<String, [u64; 2]>,
    /// Capacity, bit/s, and carried bytes of each path at the start of the record.
    known: BTreeMap<String, (Option<f64>, u64)>,
    rtts: BTreeMap<String, Nanos>,
    stalls: BTreeMap<String, (u64, u32)>,
}

impl Feed {
    /// Median RTT of each interface with an address in these polls; without one, its previous
    /// median.
    pub(super) fn typical_rtt(&mut self, looks: &[Look]) -> BTreeMap<String, Nanos> {
        let mut seen: BTreeMap<String, Vec<Nanos>> = BTreeMap::new();
        for one in looks.iter().flat_map(|look| &look.snapshot.interfaces) {
            if !one.addresses.is_empty() {
                seen.entry(one.name.clone()).or_default().extend(one.rtt);
            }
        }
        for (name, mut all) in seen {
            all.sort_unstable();
            let median = all.get(all.len() / 2).copied();
            let known = self.rtts.entry(name).or_insert(UNTRIED_RTT);
            *known = median.unwrap_or(*known);
        }
        self.rtts.clone()
    }

    /// Snapshot of the machine. Everything but the paths is copied from the record.
    pub(super) fn snapshot(
        &mut self,
        look: &Look,
        stretch: &Stretch,
        session: Option<&mut Session>,
    ) -> Snapshot {
        let is_idle = session.is_none();
        self.status.paths.clear();
        if let Some(session) = session {
            session.status(&mut self.status);
        }
        let paths: BTreeMap<&str, PathStatus> = stretch
            .names()
            .zip(self.status.paths.iter().copied())
            .collect();
        let measured = self.measure(look, stretch, &paths);
        let open = paths.values().filter(|path| path.open).count();
        let mut snapshot = look.snapshot.clone();
        for one in &mut snapshot.interfaces {
            let Some(measured) = measured.get(&one.name) else {
                continue;
            };
            self.observe(one, measured);
            if !is_idle {
                let path = paths.get(one.name.as_str()).copied().unwrap_or_default();
                let stalled = stretch.is_upload() && self.is_stalled(&one.name, &path);
                one.rtt = path.srtt.filter(|_| path.open);
                one.subflows = usize::from(path.open);
                one.healthy = usize::from(path.open && !stalled);
                one.sole = usize::from(path.open && open == 1 && !stalled);
                one.stalled = stalled;
                one.lost = 0;
            }
        }
        snapshot
    }

    /// Ends the stretch and remembers its traffic.
    pub(super) fn end(&mut self, stretch: &Stretch, session: Option<&mut Session>) {
        let Some(session) = session else { return };
        session.status(&mut self.status);
        for (name, path) in stretch.names().zip(&self.status.paths) {
            let direction = usize::from(stretch.is_upload());
            self.before.entry(name.to_owned()).or_default()[direction] += path.delivered_bytes;
        }
        self.stalls.clear();
    }

    /// Measures with the daemon's own code, from counters like a device's.
    fn measure(
        &mut self,
        look: &Look,
        stretch: &Stretch,
        paths: &BTreeMap<&str, PathStatus>,
    ) -> BTreeMap<String, Measured> {
        let present = look
            .snapshot
            .interfaces
            .iter()
            .filter(|one| self.rtts.contains_key(&one.name));
        let looked: Vec<Looked> = present
            .map(|one| {
                let mut payload = self.before.get(&one.name).copied().unwrap_or_default();
                let now = paths
                    .get(one.name.as_str())
                    .map_or(0, |path| path.delivered_bytes);
                payload[usize::from(stretch.is_upload())] += now;
                let [received_bytes, sent_bytes] =
                    payload.map(|bytes| (bytes as f64 * WIRE) as u64);
                let [received_packets, sent_packets] = payload.map(|bytes| bytes.div_ceil(SEGMENT));
                let counters = Counters {
                    received_bytes,
                    received_packets,
                    sent_bytes,
                    sent_packets,
                };
                Looked {
                    name: &one.name,
                    device: one.index,
                    addresses: &[],
                    counters: Some(counters),
                }
            })
            .collect();
        self.measurer.count_all(look.snapshot.now, &looked)
    }

    fn observe(&mut self, one: &mut Interface, measured: &Measured) {
        let known = (one.capacity_bps, one.carried_bytes);
        let (capacity_bps, carried_bytes) = *self.known.entry(one.name.clone()).or_insert(known);
        one.rate_bps = rate_bps(measured);
        one.capacity_bps = measured
            .capacity_bps
            .into_iter()
            .chain(capacity_bps)
            .reduce(f64::max);
        one.carried_bytes = carried_bytes + measured.carried_bytes;
        one.silent = measured.silent;
    }

    /// Whether data in flight gets no answer.
    fn is_stalled(&mut self, name: &str, path: &PathStatus) -> bool {
        let (delivered, looks) = self.stalls.entry(name.to_owned()).or_default();
        let waits = path.open && path.in_flight > 0 && path.delivered_bytes == *delivered;
        (*delivered, *looks) = (path.delivered_bytes, if waits { *looks + 1 } else { 0 });
        *looks >= STALLED_LOOKS
    }
}
