//! The worker: creates the devices, requests priority, and carries packets until its parent closes
//! the channel.

use joulepath_model::network::DeliveryTrace;
use joulepath_model::scenario::{self, Scenario};

use crate::error::{Error, Result};
use crate::worker::Parent;
use joulepath_kernel::namespace::Namespace;
use joulepath_kernel::route::Routing;
use joulepath_kernel::tun::Tun;

use super::capture::Capture;
use super::device::Device;
use super::messages::{Event, Spec, TunnelSpec};
use super::network::{Network, Route};
use super::priority;
use super::pump::{Ends, Pump};
use super::recorder::Recorder;

/// Role of the worker.
pub(crate) const ROLE: &str = "emulator";

/// Packets that a TUN device holds until the emulator reads them: more than any window.
const DEVICE_QUEUE_PACKETS: u32 = 20_000;
/// TCP sends one segment at a time to the device, as in the simulator.
const SEGMENTS_AT_ONCE: u32 = 1;

/// The worker [`ROLE`].
pub(crate) fn run(parent: &mut Parent) -> Result<()> {
    let Some(spec) = parent.receive::<Spec>()? else {
        return Ok(());
    };
    let scenario = spec.scenario()?;
    let (client, server) = (Namespace::at(&spec.client)?, Namespace::at(&spec.server)?);
    let ends = spec
        .tunnels
        .iter()
        .map(|tunnel| ends(tunnel, &client, &server))
        .collect::<Result<Vec<_>>>()?;
    // A real-time process must leave CPU time for the network stack. It does so at the rates of
    // radios, but not at those of wires.
    let realtime =
        spec.realtime && priority::is_modest(&scenario, &spec.tunnels) && priority::acquire();
    let devices = ends
        .iter()
        .map(|both| both.each_ref().map(Tun::index))
        .collect();
    let capture = capture(&scenario, &spec)?;
    parent.send(&Event::Ready { devices, realtime })?;
    let build = move || network(&scenario, &spec);
    Pump::new(ends, parent, capture)?.run(&build)
}

impl Spec {
    /// The scenario, exactly as the parent has it.
    fn scenario(&self) -> Result<Scenario> {
        let trace = |name: &str| {
            let found = self.traces.iter().find(|trace| trace.source == name);
            let found = found.ok_or_else(|| format!("the trace {name} was not sent"))?;
            Ok(DeliveryTrace {
                source: found.source.clone(),
                opportunities_ms: found.opportunities_ms.clone(),
            })
        };
        scenario::load(&self.scenario, &trace).map_err(|errors| {
            Error::Run(format!("the emulator's scenario: {:?}", errors.problems()))
        })
    }
}

/// Creates the two devices of a tunnel.
fn ends(tunnel: &TunnelSpec, client: &Namespace, server: &Namespace) -> Result<Ends> {
    let end = |namespace: &Namespace| -> Result<Tun> {
        Ok(namespace.enter_thread(|| {
            let tun = Tun::new(&tunnel.name)?;
            let mut routing = Routing::open()?;
            routing.shape_device(
                tun.index(),
                tunnel.mtu,
                DEVICE_QUEUE_PACKETS,
                SEGMENTS_AT_ONCE,
            )?;
            Ok::<_, joulepath_kernel::Error>(tun)
        })??)
    };
    Ok([end(client)?, end(server)?])
}

/// Creates the files for the packets of the device's tunnels.
fn capture(scenario: &Scenario, spec: &Spec) -> Result<Option<Capture>> {
    let Some(folder) = &spec.packets else {
        return Ok(None);
    };
    let tunnels = spec.tunnels.iter();
    let names = tunnels.map(|tunnel| Some(scenario.paths[tunnel.path?].name.clone()));
    Capture::create(folder, &scenario.title, names).map(Some)
}

/// Creates links, meter and recorder at time 0.
fn network(scenario: &Scenario, spec: &Spec) -> (Network, Option<Recorder>) {
    let paths: Vec<usize> = spec
        .tunnels
        .iter()
        .filter_map(|tunnel| tunnel.path)
        .collect();
    let mut interfaces = 0..;
    let interfaces: Vec<Option<usize>> = spec
        .tunnels
        .iter()
        .map(|tunnel| tunnel.path.and_then(|_| interfaces.next()))
        .collect();
    let route = |(tunnel, interface): (&TunnelSpec, &Option<usize>)| {
        let radio = tunnel.path.zip(*interface).map(|(path, interface)| {
            let radio = scenario.paths[path].radio;
            ([radio.0, radio.1], interface)
        });
        Route {
            links: [tunnel.down.clone(), tunnel.up.clone()],
            radio,
        }
    };
    let routes: Vec<Route> = spec.tunnels.iter().zip(&interfaces).map(route).collect();
    let recorder = spec.series.then(|| Recorder::new(scenario, &routes));
    let device = Device::new(scenario, &paths, interfaces, spec.services);
    (Network::new(scenario, spec.seed, routes, device), recorder)
}
