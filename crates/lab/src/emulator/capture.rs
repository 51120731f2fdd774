//! The packets of a run as pcapng: one file for each end.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use joulepath_kernel::error::Doing;
use joulepath_model::energy::meter::{EnergyReading, RadioPhase, RadioState};
use joulepath_model::units::Nanos;
use joulepath_pcapng::{Packet, RAW, interface, packet, section, statistics};

use crate::error::Result;

/// Names of the files: of the client's end and of the server's.
const FILES: [&str; 2] = ["client.pcapng", "server.pcapng"];

pub(super) struct Capture {
    files: [BufWriter<File>; 2],
    /// Names of the device's interfaces, and the interface of each tunnel.
    names: Vec<String>,
    interfaces: Vec<Option<usize>>,
    /// By interface: the last phase of the radio.
    phases: Vec<RadioPhase>,
    /// Why the files are incomplete.
    pub(super) failure: Option<String>,
}

impl Capture {
    /// Files in `folder` with an interface for each tunnel of the device; `tunnels`: their names.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub(super) fn create(
        folder: &Path,
        title: &str,
        tunnels: impl Iterator<Item = Option<String>>,
    ) -> Result<Self> {
        let mut names = vec![];
        let interfaces = tunnels
            .map(|name| {
                names.push(name?);
                Some(names.len() - 1)
            })
            .collect();
        let create = |file: &str| -> io::Result<BufWriter<File>> {
            let mut file = BufWriter::new(File::create(folder.join(file))?);
            file.write_all(&section(title, "joulepath lab"))?;
            for name in &names {
                file.write_all(&interface(RAW, name, &format!("path {name}")))?;
            }
            Ok(file)
        };
        let [client, server] = FILES.map(create);
        let doing = format!("writing captures into {}", folder.display());
        Ok(Capture {
            files: [client.doing(&doing)?, server.doing(&doing)?],
            phases: vec![RadioPhase::Idle; names.len()],
            names,
            interfaces,
            failure: None,
        })
    }

    /// A packet passes an end of a tunnel: 0 is the client's, 1 the server's.
    pub(super) fn see(
        &mut self,
        end: usize,
        at_ns: u64,
        tunnel: usize,
        data: &[u8],
        comments: Vec<String>,
    ) {
        let Some(interface) = self.interfaces[tunnel] else {
            return;
        };
        let block = packet(
            &Packet {
                interface,
                at: Nanos(at_ns),
                data,
                length: data.len() as u32,
            },
            comments,
        );
        self.write(end, &block);
    }

    /// Comments on radios whose phase has changed. `read` gives the energy so far.
    pub(super) fn changes(
        &mut self,
        states: impl Iterator<Item = RadioState>,
        read: impl FnOnce() -> EnergyReading,
    ) -> Vec<String> {
        let states: Vec<RadioState> = states.collect();
        let mut changed: Vec<usize> = (0..states.len()).collect();
        changed.retain(|&index| states[index].phase != self.phases[index]);
        if changed.is_empty() {
            return vec![];
        }
        let energy = read();
        let comment = |index: usize| {
            let RadioState { phase, since } = states[index];
            self.phases[index] = phase;
            phase.comment(
                &self.names[index],
                since,
                energy.interfaces[index].total_j(),
            )
        };
        changed.into_iter().map(comment).collect()
    }

    /// Writes the joules of the whole run, tails included.
    pub(super) fn finish(&mut self, at_ns: u64, energy: &EnergyReading) {
        for (index, split) in energy.interfaces.iter().enumerate() {
            let comment = format!("{:.3} J in all", split.total_j());
            self.write(0, &statistics(index, Nanos(at_ns), &comment));
        }
        for end in 0..self.files.len() {
            if let Err(error) = self.files[end].flush() {
                self.fail(&error);
            }
        }
    }

    /// The first failure ends both files, which stay readable.
    fn write(&mut self, end: usize, block: &[u8]) {
        if self.failure.is_some() {
            return;
        }
        if let Err(error) = self.files[end].write_all(block) {
            self.fail(&error);
        }
    }

    fn fail(&mut self, error: &io::Error) {
        self.failure.get_or_insert(error.to_string());
    }
}
