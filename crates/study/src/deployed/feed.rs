//! What the daemon would see of the simulated paths.

use std::collections::BTreeMap;

use joulepath_kernel::route::Counters;
use joulepath_live::measure::{Looked, Measured, Measurer, rate_bps};
use joulepath_live::record::Look;
use joulepath_live::snapshot::{Interface, Snapshot};
use joulepath_model::units::Nanos;
use joulepath_packet::{PathStatus, Session, Status};

use super::stretch::{Stretch, WIRE};

/// Taken for the RTT of a path without subflows.
const UNTRIED_RTT: Nanos = Nanos::from_millis(50);
/// Payload of a full segment, bytes.
const SEGMENT: u64 = 1448;
/// Data in flight of which nothing arrives for so many looks is not answered.
const STALLED_LOOKS: u32 = 2;

/// Measures as the daemon does, with what it remembers.
#[derive(Debug, Default)]
pub(super) struct Feed {
    measurer: Measurer,
    status: Status,
    /// Payload that earlier stretches have brought, received and sent, by path.
    before: BTreeMap<String, [u64; 2]>,
    /// What was known at the beginning of the record.
    known: BTreeMap<String, (Option<f64>, u64)>,
    rtts: BTreeMap<String, Nanos>,
    stalls: BTreeMap<String, (u64, u32)>,
}

impl Feed {
    /// The median RTT of each interface that has an address in these looks; where there is none, the one
    /// before.
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

    /// The machine as it would be seen: what is no matter of paths is as it was.
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
        let paths: BTreeMap<&str, PathStatus> =
            stretch.names().zip(self.status.paths.iter().copied()).collect();
        let measured = self.measure(look, stretch, &paths);
        let open = paths.values().filter(|path| path.open).count();
        let mut snapshot = look.snapshot.clone();
        for one in &mut snapshot.interfaces {
            let Some(measured) = measured.get(&one.name) else { continue };
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

    /// The stretch is over: what it has brought is remembered.
    pub(super) fn end(&mut self, stretch: &Stretch, session: Option<&mut Session>) {
        let Some(session) = session else { return };
        session.status(&mut self.status);
        for (name, path) in stretch.names().zip(&self.status.paths) {
            let direction = usize::from(stretch.is_upload());
            self.before.entry(name.to_owned()).or_default()[direction] += path.delivered_bytes;
        }
        self.stalls.clear();
    }

    /// By the daemon's own code, from counters as a device would have them.
    fn measure(
        &mut self,
        look: &Look,
        stretch: &Stretch,
        paths: &BTreeMap<&str, PathStatus>,
    ) -> BTreeMap<String, Measured> {
        let present = look.snapshot.interfaces.iter().filter(|one| self.rtts.contains_key(&one.name));
        let looked: Vec<Looked> = present
            .map(|one| {
                let mut payload = self.before.get(&one.name).copied().unwrap_or_default();
                let now = paths.get(one.name.as_str()).map_or(0, |path| path.delivered_bytes);
                payload[usize::from(stretch.is_upload())] += now;
                let [received_bytes, sent_bytes] = payload.map(|bytes| (bytes as f64 * WIRE) as u64);
                let [received_packets, sent_packets] = payload.map(|bytes| bytes.div_ceil(SEGMENT));
                let counters = Counters { received_bytes, received_packets, sent_bytes, sent_packets };
                Looked { name: &one.name, device: one.index, addresses: &[], counters: Some(counters) }
            })
            .collect();
        self.measurer.count_all(look.snapshot.now, &looked)
    }

    fn observe(&mut self, one: &mut Interface, measured: &Measured) {
        let known = (one.capacity_bps, one.carried_bytes);
        let (capacity_bps, carried_bytes) = *self.known.entry(one.name.clone()).or_insert(known);
        one.rate_bps = rate_bps(measured);
        one.capacity_bps = measured.capacity_bps.into_iter().chain(capacity_bps).reduce(f64::max);
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
