//! What passes between the device and each port of the server.

use std::collections::BTreeMap;

use joulepath_model::energy::Traffic;
use joulepath_model::energy::attribution::{Attribution, PhaseEnergy};

use super::messages::{Served, Service};

/// Further services count as one, [`Service::OTHER`].
const MOST: usize = 64;

/// All services, in the order of their first packets.
#[derive(Debug, Default)]
pub(super) struct Services {
    indexes: BTreeMap<Service, usize>,
    all: Vec<Served>,
}

impl Services {
    /// The index of a service, which is also the cause of its joules.
    pub(super) fn index(&mut self, service: Service) -> usize {
        let known = match self.indexes.contains_key(&service) || self.all.len() < MOST {
            true => service,
            false => Service::OTHER,
        };
        *self.indexes.entry(known).or_insert_with(|| {
            self.all.push(Served::of(known));
            self.all.len() - 1
        })
    }

    /// Counts a packet that has arrived. A packet without payload ends no pause.
    pub(super) fn count(
        &mut self,
        index: usize,
        now_ns: u64,
        direction: Traffic,
        size: u32,
        payload: u32,
    ) {
        let served = &mut self.all[index];
        served.packets += 1;
        match direction {
            Traffic::Down => served.down_bytes += u64::from(size),
            Traffic::Up => served.up_bytes += u64::from(size),
        }
        if payload == 0 {
            return;
        }
        match served.last_ns {
            Some(last_ns) => {
                served.longest_pause_ns = served.longest_pause_ns.max(now_ns - last_ns);
            }
            None => served.first_ns = Some(now_ns),
        }
        served.last_ns = Some(now_ns);
    }

    /// Forgets what has passed. Indexes stay.
    pub(super) fn clear(&mut self) {
        for served in &mut self.all {
            *served = Served::of(served.service);
        }
    }

    /// All services with their joules.
    pub(super) fn read(&self, attribution: &Attribution) -> Vec<Served> {
        let causes = attribution.causes();
        let energy = |index: usize| causes.get(index).copied().unwrap_or_default();
        let served = |(index, served): (usize, &Served)| Served {
            energy: energy(index),
            ..*served
        };
        self.all.iter().enumerate().map(served).collect()
    }
}

impl Served {
    fn of(service: Service) -> Self {
        Served {
            service,
            down_bytes: 0,
            up_bytes: 0,
            packets: 0,
            first_ns: None,
            last_ns: None,
            longest_pause_ns: 0,
            energy: PhaseEnergy::default(),
        }
    }
}
