//! Modems of a simulated ModemManager, on a message bus of the test's own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use joulepath_kernel::bus::{Bus, Kind, Message, Properties};
use joulepath_kernel::modem::{Modem, ModemSignal, Modems};
use joulepath_testbed::observe::wait_until;
use zbus::{ObjectPath, OwnedVariant, Variant};

const NAME: &str = "org.freedesktop.ModemManager1";

/// A message bus of its own.
struct Daemon {
    process: Child,
    folder: tempfile::TempDir,
}

impl Daemon {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = format!(
            r#"<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
             "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
            <busconfig><listen>unix:path={}/bus</listen><auth>EXTERNAL</auth><policy context="default">
            <allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/></policy></busconfig>"#,
            folder.path().display()
        );
        let file = folder.path().join("bus.conf");
        fs::write(&file, config).unwrap();
        let mut command = Command::new("dbus-daemon");
        command
            .arg(format!("--config-file={}", file.display()))
            .args(["--nofork", "--nopidfile"]);
        let process = command.stdin(Stdio::null()).spawn().unwrap();
        let daemon = Daemon { process, folder };
        wait_until("the bus answers", || {
            matches!(Bus::open(&daemon.socket()), Ok(Some(_)))
        });
        daemon
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("bus")
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have died; then the test has failed already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

type Objects = BTreeMap<&'static str, BTreeMap<&'static str, Properties>>;

fn properties(all: Vec<(&str, Variant<'static>)>) -> Properties {
    all.into_iter()
        .map(|(name, value)| (name.to_owned(), OwnedVariant::try_from(value).unwrap()))
        .collect()
}

/// Values of a network, as ModemManager's `a{sv}`.
fn network(rsrp: Option<f64>) -> Variant<'static> {
    let values: BTreeMap<String, Variant<'static>> = rsrp
        .into_iter()
        .map(|dbm| ("rsrp".to_owned(), Variant::F64(dbm)))
        .collect();
    Variant::from(values)
}

fn signal(rate: u32, nr: Option<f64>, lte: Option<f64>) -> Properties {
    properties(vec![
        ("Rate", Variant::U32(rate)),
        ("Nr5g", network(nr)),
        ("Lte", network(lte)),
    ])
}

fn path(text: &'static str) -> ObjectPath<'static> {
    ObjectPath::try_from(text).unwrap()
}

const FIRST: &str = "/org/freedesktop/ModemManager1/Modem/0";
const SECOND: &str = "/org/freedesktop/ModemManager1/Modem/1";
const OLD: &str = "/org/freedesktop/ModemManager1/Modem/2";
const BEARER: &str = "/org/freedesktop/ModemManager1/Bearer/4";
const MODEM: &str = "org.freedesktop.ModemManager1.Modem";
const SIGNAL: &str = "org.freedesktop.ModemManager1.Modem.Signal";

/// Three modems: one whose bearer has its own interface, one on LTE, and one without a signal.
fn objects() -> Objects {
    let modem = |ports: Vec<(&str, u32)>, bearers: Vec<ObjectPath<'static>>| {
        let ports: Vec<(String, u32)> = ports
            .into_iter()
            .map(|(name, kind)| (name.to_owned(), kind))
            .collect();
        properties(vec![
            ("Ports", Variant::from(ports)),
            ("Bearers", Variant::from(bearers)),
        ])
    };
    let bearer = properties(vec![("Interface", Variant::from("qmapmux0.0".to_owned()))]);
    let first = modem(
        vec![("cdc-wdm0", 6), ("wwan0", 2), ("ttyUSB2", 3)],
        vec![path(BEARER)],
    );
    let second = modem(vec![("wwan1", 2)], vec![]);
    let old = modem(vec![("wwan2", 2)], vec![]);
    Objects::from([
        (
            FIRST,
            [(MODEM, first), (SIGNAL, signal(0, None, None))].into(),
        ),
        (
            SECOND,
            [(MODEM, second), (SIGNAL, signal(10, None, Some(-101.0)))].into(),
        ),
        (OLD, [(MODEM, old)].into()),
        (
            BEARER,
            [("org.freedesktop.ModemManager1.Bearer", bearer)].into(),
        ),
    ])
}

/// A call that ends the simulated ModemManager.
const STOP: &str = "Stop";
/// Longer than a call takes on a busy machine: a message of which a part has arrived when the time
/// ends is lost.
const PATIENCE: Duration = Duration::from_secs(10);

/// Answers calls as ModemManager until [`STOP`], or until `stop` is dropped. Sends every rate of
/// `Setup` with the modem.
fn serve(socket: &Path, refuses: bool, stop: &Receiver<()>, set: &Sender<(String, u32)>) {
    let mut bus = Bus::open(socket).unwrap().unwrap();
    assert!(bus.own(NAME).unwrap());
    let mut all = objects();
    let mut measured = -90.0;
    while stop.try_recv() != Err(mpsc::TryRecvError::Disconnected) {
        let Ok((serial, call)) = bus.receive(Instant::now() + PATIENCE) else {
            continue;
        };
        if call.kind != Kind::Call {
            continue;
        }
        let text = |code| call.text(code).unwrap_or_default().to_owned();
        let fields = [
            (Message::REPLY_TO, Variant::U32(serial)),
            (Message::DESTINATION, Variant::from(text(Message::SENDER))),
        ];
        let object = text(Message::PATH);
        let reply = match text(Message::MEMBER).as_str() {
            STOP => return,
            "GetManagedObjects" => {
                let managed: BTreeMap<String, _> = all
                    .iter()
                    .filter(|(path, _)| path.contains("/Modem/"))
                    .map(|(path, interfaces)| (path.to_string(), interfaces.clone()))
                    .collect();
                let managed: std::collections::HashMap<ObjectPath<'_>, _> = managed
                    .iter()
                    .map(|(path, all)| (ObjectPath::try_from(path.as_str()).unwrap(), all))
                    .collect();
                Message::new(Kind::Return, &fields, &(managed,))
            }
            "GetAll" => {
                let (interface,): (String,) = call.arguments().unwrap();
                let found = all
                    .get(object.as_str())
                    .and_then(|one| one.get(interface.as_str()));
                Message::new(
                    Kind::Return,
                    &fields,
                    &(found.cloned().unwrap_or_default(),),
                )
            }
            "Setup" if refuses => {
                let mut fields = fields.to_vec();
                let name = "org.freedesktop.ModemManager1.Error.Core.Unauthorized";
                fields.push((Message::ERROR, Variant::from(name)));
                Message::new(Kind::Failure, &fields, &("PolicyKit authorization failed",))
            }
            "Setup" => {
                let (rate,): (u32,) = call.arguments().unwrap();
                measured -= 1.0;
                let now = signal(rate, Some(measured).filter(|_| rate > 0), Some(-120.0));
                all.get_mut(object.as_str()).unwrap().insert(SIGNAL, now);
                set.send((object, rate)).unwrap();
                Message::new(Kind::Return, &fields, &())
            }
            other => panic!("{other} is no method of ModemManager that the daemon needs"),
        };
        bus.send(&reply.unwrap()).unwrap();
    }
}

/// Runs `test` with the modems of a simulated ModemManager. Returns the rates that it was asked
/// for.
fn with_modems<T>(refuses: bool, test: impl FnOnce(&mut Modems) -> T) -> (T, Vec<(String, u32)>) {
    let daemon = Daemon::start();
    let (set, asked) = mpsc::channel();
    let (stop, stopped) = mpsc::channel();
    let result = thread::scope(|scope| {
        let socket = daemon.socket();
        scope.spawn(move || serve(&socket, refuses, &stopped, &set));
        let mut bus = Bus::open(&daemon.socket()).unwrap().unwrap();
        wait_until("ModemManager has its name", || bus.has(NAME).unwrap());
        let result = test(&mut Modems::open(&daemon.socket()).unwrap().unwrap());
        drop(stop);
        let fields = [
            (Message::DESTINATION, Variant::from(NAME)),
            (Message::PATH, Variant::from(path("/"))),
            (Message::MEMBER, Variant::from(STOP)),
        ];
        bus.send(&Message::new(Kind::Call, &fields, &()).unwrap())
            .unwrap();
        result
    });
    (result, asked.try_iter().collect())
}

#[test(needs(tool("dbus-daemon")))]
fn a_bus_without_modem_manager_has_no_modems() {
    let daemon = Daemon::start();
    let mut modems = Modems::open(&daemon.socket()).unwrap().unwrap();
    assert!(modems.interfaces().unwrap().is_empty());
}

#[test(needs(tool("dbus-daemon")))]
fn modems_are_found_by_their_ports_and_by_the_interfaces_of_their_bearers() {
    let (found, _) = with_modems(false, |modems| modems.interfaces().unwrap());
    let names: Vec<&str> = found.keys().map(String::as_str).collect();
    // wwan2's modem reports no signal; cdc-wdm0 is no network interface.
    assert_eq!(names, ["qmapmux0.0", "wwan0", "wwan1"]);
    assert_eq!(found["qmapmux0.0"], found["wwan0"]);
    assert_ne!(found["wwan0"], found["wwan1"]);
}

#[test(needs(tool("dbus-daemon")))]
fn a_signal_is_5gs_or_ltes_and_none_before_it_is_measured() {
    let (signals, asked) = with_modems(false, |modems| {
        let found = modems.interfaces().unwrap();
        let lte = modems.signal(&found["wwan1"]).unwrap();
        let before = modems.signal(&found["wwan0"]).unwrap();
        modems.measure(&found["wwan0"], 5).unwrap();
        let measured = modems.signal(&found["wwan0"]).unwrap();
        modems.measure(&found["wwan0"], 0).unwrap();
        [
            lte,
            before,
            measured,
            modems.signal(&found["wwan0"]).unwrap(),
        ]
    });
    let expected = [(Some(-101.0), 10), (None, 0), (Some(-91.0), 5), (None, 0)];
    assert_eq!(
        signals,
        expected.map(|(dbm, every_s)| ModemSignal { dbm, every_s })
    );
    assert_eq!(asked, [5, 0].map(|rate| (FIRST.to_owned(), rate)));
}

#[test(needs(tool("dbus-daemon")))]
fn the_refusal_of_modem_manager_is_named() {
    let (said, _) = with_modems(true, |modems| {
        let found: BTreeMap<String, Modem> = modems.interfaces().unwrap();
        let refused = modems.measure(&found["wwan0"], 5).unwrap_err().to_string();
        // The connection remains in order.
        assert_eq!(modems.signal(&found["wwan1"]).unwrap().dbm, Some(-101.0));
        refused
    });
    assert!(
        said.contains("Core.Unauthorized: PolicyKit authorization failed"),
        "{said}"
    );
}
