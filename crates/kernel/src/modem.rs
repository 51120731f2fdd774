//! Signals of modems, from ModemManager over the system's D-Bus. ModemManager is never started;
//! without it there is no modem.

use std::collections::{BTreeMap, HashMap};
use std::env;
use std::path::{Path, PathBuf};

use zbus::{ObjectPath, OwnedObjectPath, OwnedVariant, Variant};

use crate::bus::{Bus, Properties};
use crate::error::{Doing, Result};

const PROGRAM: &str = "org.freedesktop.ModemManager1";
const ROOT: &str = "/org/freedesktop/ModemManager1";
const OBJECTS: &str = "org.freedesktop.DBus.ObjectManager";
const MODEM: &str = "org.freedesktop.ModemManager1.Modem";
const SIGNAL: &str = "org.freedesktop.ModemManager1.Modem.Signal";
const BEARER: &str = "org.freedesktop.ModemManager1.Bearer";
/// `MM_MODEM_PORT_TYPE_NET`.
const NET_PORT: u32 = 2;
/// Values of RSRP, dBm.
const RANGE: std::ops::Range<f64> = -160.0..0.0;

/// A modem's name at ModemManager.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Modem(pub String);

/// What ModemManager knows of a modem's signal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModemSignal {
    /// RSRP of 5G, else of LTE, dBm; `None` on other networks, and before the first measurement.
    pub dbm: Option<f64>,
    /// Seconds from one measurement to the next; 0: none.
    pub every_s: u32,
}

/// The modems of this machine.
#[derive(Debug)]
pub struct Modems {
    bus: Bus,
}

/// The socket of the system's bus: of `DBUS_SYSTEM_BUS_ADDRESS`, if it names one.
#[must_use]
pub fn system_bus() -> PathBuf {
    let address = env::var("DBUS_SYSTEM_BUS_ADDRESS").ok();
    let path = address
        .as_deref()
        .and_then(|address| address.strip_prefix("unix:path="));
    path.map_or("/run/dbus/system_bus_socket".into(), |path| {
        path.split([',', ';']).next().unwrap_or(path).into()
    })
}

impl Modems {
    /// Connects to the bus at `socket`; `None` without a bus.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) if the bus refuses this user or does not answer.
    pub fn open(socket: &Path) -> Result<Option<Self>> {
        let bus =
            Bus::open(socket).doing(format!("connecting to D-Bus at {}", socket.display()))?;
        Ok(bus.map(|bus| Modems { bus }))
    }

    /// Modems whose signal ModemManager can measure, by their network interfaces. Empty without
    /// ModemManager.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) if the bus or ModemManager does not answer.
    pub fn interfaces(&mut self) -> Result<BTreeMap<String, Modem>> {
        self.list().doing("listing the modems of ModemManager")
    }

    fn list(&mut self) -> std::io::Result<BTreeMap<String, Modem>> {
        if !self.bus.has(PROGRAM)? {
            return Ok(BTreeMap::new());
        }
        type Objects = HashMap<OwnedObjectPath, BTreeMap<String, Properties>>;
        let (objects,): (Objects,) =
            self.bus
                .call([PROGRAM, ROOT, OBJECTS], "GetManagedObjects", &())?;
        let mut found = BTreeMap::new();
        for (path, interfaces) in &objects {
            let Some(modem) = interfaces
                .get(MODEM)
                .filter(|_| interfaces.contains_key(SIGNAL))
            else {
                continue;
            };
            let name = Modem(path.as_str().to_owned());
            // With several connections over one port, each has an interface that only its bearer
            // names.
            for bearer in paths(modem.get("Bearers")) {
                // A bearer may vanish after the list.
                let bearer = self
                    .bus
                    .properties(PROGRAM, &bearer, BEARER)
                    .unwrap_or_default();
                if let Some(Variant::Str(interface)) = bearer.get("Interface").map(|value| &**value)
                {
                    found.insert(interface.as_str().to_owned(), name.clone());
                }
            }
            found.extend(net_ports(modem.get("Ports")).map(|port| (port, name.clone())));
        }
        found.remove("");
        Ok(found)
    }

    /// The signal of a modem.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) if the modem is gone, or ModemManager does not answer.
    pub fn signal(&mut self, modem: &Modem) -> Result<ModemSignal> {
        let all = self
            .bus
            .properties(PROGRAM, &modem.0, SIGNAL)
            .doing("reading a modem's signal")?;
        let every_s = match all.get("Rate").map(|rate| &**rate) {
            Some(Variant::U32(rate)) => *rate,
            _ => 0,
        };
        let dbm = ["Nr5g", "Lte"]
            .into_iter()
            .find_map(|network| rsrp(all.get(network)));
        Ok(ModemSignal {
            dbm: dbm.filter(|_| every_s > 0),
            every_s,
        })
    }

    /// Makes ModemManager measure the signal every so many seconds; 0: not at all.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) if ModemManager refuses: this user may not, or the modem is
    /// off.
    pub fn measure(&mut self, modem: &Modem, every_s: u32) -> Result<()> {
        let set = self
            .bus
            .call::<_, ()>([PROGRAM, &modem.0, SIGNAL], "Setup", &(every_s,));
        set.doing("asking ModemManager to measure the signal")
    }
}

/// The value `rsrp` of a network's dictionary.
fn rsrp(network: Option<&OwnedVariant>) -> Option<f64> {
    let Variant::Dict(values) = &**network? else {
        return None;
    };
    let is_rsrp = |key: &Variant<'_>| matches!(key, Variant::Str(key) if key.as_str() == "rsrp");
    let (_, value) = values.iter().find(|(key, _)| is_rsrp(key))?;
    let value = match value {
        Variant::Variant(value) => value,
        value => value,
    };
    match value {
        Variant::F64(dbm) => Some(*dbm).filter(|dbm| RANGE.contains(dbm)),
        _ => None,
    }
}

/// Interfaces among a modem's ports.
fn net_ports(ports: Option<&OwnedVariant>) -> impl Iterator<Item = String> {
    elements(ports).iter().filter_map(|port| {
        let Variant::Structure(port) = port else {
            return None;
        };
        match port.fields() {
            [Variant::Str(name), Variant::U32(NET_PORT)] => Some(name.as_str().to_owned()),
            _ => None,
        }
    })
}

/// The paths of a list.
fn paths(list: Option<&OwnedVariant>) -> Vec<String> {
    let path = |one: &Variant<'_>| match one {
        Variant::ObjectPath(path) => Some(ObjectPath::as_str(path).to_owned()),
        _ => None,
    };
    elements(list).iter().filter_map(path).collect()
}

fn elements(list: Option<&OwnedVariant>) -> &[Variant<'static>] {
    match list.map(|list| &**list) {
        Some(Variant::Array(array)) => array.inner(),
        _ => &[],
    }
}
