//! Emulated radios: one process that carries every packet of a lab through the simulator's links, in real time.
//!
//! ```text
//!   client's namespace                                  server's namespace
//!   TUN wifi ──┐        ┌──────────────────────┐        ┌── TUN wifi
//!   TUN lte  ──┼─epoll──┤ network: link, link… ├─write──┼── TUN lte
//!              └────────┤ device: joules       ├────────┘
//!                       └──────────────────────┘
//! ```
//!
//! | module | what |
//! |---|---|
//! | [`messages`] | the spec, the commands, the answers |
//! | `network` | links with packets on them; no clock, no I/O |
//! | `packet` | what is read in a packet, and the ECN mark |
//! | `device` | energy and open subflows |
//! | `pump` | the loop: TUN devices, timer, commands |
//! | `lateness`, `recorder` | how well it kept time; time series |

pub mod messages;

mod device;
mod lateness;
mod network;
mod packet;
mod priority;
mod pump;
mod recorder;

use joulepath_model::network::DeliveryTrace;
use joulepath_model::scenario::{self, Scenario};

use crate::error::{Error, Result};
use crate::namespace::Namespace;
use crate::route::Routing;
use crate::tun::Tun;
use crate::worker::Parent;

use self::device::Device;
use self::messages::{Event, LineSpec, Spec};
use self::network::{Line, Network};
use self::pump::{Pair, Pump};

/// Packets that a TUN device holds for the emulator, which comes for them at once: more than any window.
const DEVICE_QUEUE_PACKETS: u32 = 20_000;
/// TCP hands down one segment at a time, as the simulator's does.
const SEGMENTS_AT_ONCE: u32 = 1;

/// The worker `emulator`.
pub(crate) fn run(parent: &mut Parent) -> Result<()> {
    let Some(spec) = parent.receive::<Spec>()? else { return Ok(()) };
    let scenario = spec.scenario()?;
    let (client, server) = (Namespace::at(&spec.client)?, Namespace::at(&spec.server)?);
    let pairs: Vec<Pair> =
        spec.lines.iter().map(|line| pair(line, &client, &server)).collect::<Result<_>>()?;
    // A real-time process must leave the stack some time: it does at the rates of radios, not at those of wires.
    let realtime = spec.realtime && priority::is_modest(&scenario, &spec.lines) && priority::acquire();
    let devices = pairs.iter().map(|pair| pair.each_ref().map(Tun::index)).collect();
    parent.send(&Event::Ready { devices, realtime })?;
    let build = move || network(&scenario, &spec);
    Pump::new(pairs, parent)?.run(&build)
}

impl Spec {
    /// The scenario, exactly as the sender has it.
    fn scenario(&self) -> Result<Scenario> {
        let trace = |name: &str| {
            let found = self.traces.iter().find(|trace| trace.source == name);
            let found = found.ok_or_else(|| format!("the trace {name} was not sent"))?;
            Ok(DeliveryTrace {
                source: found.source.clone(),
                opportunities_ms: found.opportunities_ms.clone(),
            })
        };
        scenario::load(&self.scenario, &trace)
            .map_err(|errors| Error::Run(format!("the emulator's scenario: {:?}", errors.problems())))
    }
}

/// The two ends of a line.
fn pair(line: &LineSpec, client: &Namespace, server: &Namespace) -> Result<Pair> {
    let end = |namespace: &Namespace| {
        namespace.enter_thread(|| -> Result<Tun> {
            let tun = Tun::new(&line.name)?;
            Routing::open()?.shape_device(tun.index(), line.mtu, DEVICE_QUEUE_PACKETS, SEGMENTS_AT_ONCE)?;
            Ok(tun)
        })?
    };
    Ok([end(client)?, end(server)?])
}

/// Links and meter at time 0, and what to sample.
fn network(scenario: &Scenario, spec: &Spec) -> (Network, Option<recorder::Recorder>) {
    let paths: Vec<usize> = spec.lines.iter().filter_map(|line| line.path).collect();
    let mut interfaces = 0..;
    let interfaces: Vec<Option<usize>> =
        spec.lines.iter().map(|line| line.path.and_then(|_| interfaces.next())).collect();
    let line = |(line, interface): (&LineSpec, &Option<usize>)| {
        let radio = line.path.zip(*interface).map(|(path, interface)| {
            let radio = scenario.paths[path].radio;
            ([radio.0, radio.1], interface)
        });
        Line { routes: [line.down.clone(), line.up.clone()], radio }
    };
    let lines: Vec<Line> = spec.lines.iter().zip(&interfaces).map(line).collect();
    let recorder = spec.series.then(|| recorder::Recorder::new(scenario, &lines));
    let device = Device::new(scenario, &paths, interfaces);
    (Network::new(scenario, spec.seed, lines, device), recorder)
}
