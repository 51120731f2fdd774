mod adoption;
mod kills;

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;

use joulepath_kernel::Error;
use joulepath_kernel::mptcp::Token;
use joulepath_kernel::mptcp::diag::Connection;
use joulepath_kernel::mptcp::path_manager::{KERNEL, USER_SPACE};
use joulepath_model::scenario::read_live;

use super::*;
use crate::decide::{Decider, Overrides};
use crate::samples::connection;
use crate::snapshot::{Interface, Snapshot};

/// A kernel and a disk that outlive the process, and the point at which it is killed.
#[derive(Debug, Default)]
struct World {
    endpoints: Vec<Endpoint>,
    limits: Option<Limits>,
    /// Controller of new sockets; `None`: [`CUBIC`].
    controller: Option<String>,
    /// Path manager of new connections; `None`: [`KERNEL`].
    manager: Option<String>,
    /// As text, so that tests also cover serialisation.
    journal: Option<String>,
    /// Steps until the process is killed.
    left: Option<usize>,
    steps: usize,
    refuses: Option<IpAddr>,
    /// The disk is full.
    full: bool,
    /// Addresses whose initial subflows were closed.
    closed: Vec<IpAddr>,
    connections: Vec<Connection>,
    /// Zero: the time passed to the actor.
    time: Nanos,
    /// Connections that lost their last subflow.
    cut: Vec<Token>,
}

struct Killed;

#[derive(Clone, Debug, Default)]
pub(super) struct Fake(Rc<RefCell<World>>);

const CUBIC: &str = "cubic";
pub(super) const DEFAULT: Limits = Limits {
    accepted_addresses: 0,
    extra_subflows: 2,
};

impl Fake {
    /// A change that outlives the process, which may be killed before it.
    fn step(&self) {
        let mut world = self.0.borrow_mut();
        world.steps += 1;
        if let Some(left) = &mut world.left {
            match left.checked_sub(1) {
                Some(fewer) => *left = fewer,
                None => {
                    drop(world);
                    resume_unwind(Box::new(Killed));
                }
            }
        }
    }

    fn refusal(what: &str) -> Error {
        Error::io(what, std::io::Error::from_raw_os_error(17))
    }

    pub(super) fn endpoints_now(&self) -> Vec<Endpoint> {
        self.0.borrow().endpoints.clone()
    }

    pub(super) fn limits_now(&self) -> Limits {
        self.0.borrow().limits.unwrap_or(DEFAULT)
    }

    pub(super) fn controller_now(&self) -> String {
        self.0
            .borrow()
            .controller
            .clone()
            .unwrap_or_else(|| CUBIC.into())
    }

    fn manager_now(&self) -> String {
        self.0
            .borrow()
            .manager
            .clone()
            .unwrap_or_else(|| KERNEL.into())
    }

    /// Starts a process.
    pub(super) fn actor(&self) -> Actor<Fake, Fake> {
        Actor::open(self.clone(), self.clone()).unwrap()
    }

    /// Runs a process that is killed at `step`. Returns true if it got that far.
    pub(super) fn killed_at(&self, step: usize, work: impl FnOnce(&mut Actor<Fake, Fake>)) -> bool {
        self.0.borrow_mut().left = Some(step);
        let ended = catch_unwind(AssertUnwindSafe(|| work(&mut self.actor())));
        self.0.borrow_mut().left = None;
        match ended {
            Ok(()) => false,
            Err(panic) if panic.is::<Killed>() => true,
            Err(panic) => resume_unwind(panic),
        }
    }
}

impl Fake {
    /// Starts a connection with subflows on these addresses.
    pub(super) fn connects(&self, token: u32, hosts: &[u8]) {
        self.0.borrow_mut().connections.push(connection(
            token,
            &hosts.iter().map(|&host| ip(host)).collect::<Vec<_>>(),
        ));
    }

    /// The clock when connections are listed, if later than the time passed to the actor.
    pub(super) fn is_at(&self, time: Nanos) {
        self.0.borrow_mut().time = time;
    }

    pub(super) fn ends(&self, token: u32) {
        self.0
            .borrow_mut()
            .connections
            .retain(|one| one.info.token != Token(token));
    }

    pub(super) fn cut(&self) -> Vec<Token> {
        self.0.borrow().cut.clone()
    }

    pub(super) fn finds(&self, endpoint: Endpoint) {
        self.0.borrow_mut().endpoints.push(endpoint);
    }

    pub(super) fn fill(&self, full: bool) {
        self.0.borrow_mut().full = full;
    }

    pub(super) fn steps(&self) -> usize {
        self.0.borrow().steps
    }

    pub(super) fn journal(&self) -> Option<String> {
        self.0.borrow().journal.clone()
    }
}

impl World {
    /// Closes subflows as the kernel does, for connections that had an endpoint at their start.
    fn close(&mut self, endpoint: &Endpoint) {
        for connection in &mut self.connections {
            connection
                .subflows
                .retain(|subflow| subflow.local.ip() != endpoint.address);
            if connection.subflows.is_empty() && !self.cut.contains(&connection.info.token) {
                self.cut.push(connection.info.token);
            }
        }
    }
}

impl Table for Fake {
    fn time(&self) -> Nanos {
        self.0.borrow().time
    }

    fn connections(&mut self) -> Result<Vec<Connection>> {
        Ok(self.0.borrow().connections.clone())
    }

    fn endpoints(&mut self) -> Result<Vec<Endpoint>> {
        Ok(self.endpoints_now())
    }

    fn limits(&mut self) -> Result<Limits> {
        Ok(self.limits_now())
    }

    fn add(&mut self, endpoint: &Endpoint) -> Result<()> {
        self.step();
        let mut world = self.0.borrow_mut();
        if world.refuses == Some(endpoint.address) {
            return Err(Self::refusal("adding"));
        }
        if let Some(place) = world
            .endpoints
            .iter()
            .position(|there| there.is_at(endpoint.address))
        {
            // Like `mptcp_pm_nl_append_new_local_addr`.
            if !world.endpoints[place].is_implicit() || endpoint.id.is_some() {
                return Err(Self::refusal("adding"));
            }
            let id = world.endpoints[place].id;
            world.endpoints[place] = Endpoint {
                id,
                ..endpoint.clone()
            };
            return Ok(());
        }
        if world.endpoints.iter().any(|there| there.id == endpoint.id) {
            return Err(Self::refusal("adding"));
        }
        world.endpoints.push(endpoint.clone());
        Ok(())
    }

    fn delete(&mut self, id: AddressId) -> Result<()> {
        self.step();
        let mut world = self.0.borrow_mut();
        let before = world.endpoints.len();
        for gone in world
            .endpoints
            .clone()
            .iter()
            .filter(|there| there.id == Some(id))
        {
            world.close(gone);
        }
        world.endpoints.retain(|there| there.id != Some(id));
        if world.endpoints.len() < before {
            Ok(())
        } else {
            Err(Self::refusal("removing"))
        }
    }

    fn delete_first(&mut self, address: IpAddr) -> Result<()> {
        self.step();
        self.0.borrow_mut().closed.push(address);
        Ok(())
    }

    fn set_flags(&mut self, id: AddressId, backup: bool, fullmesh: bool) -> Result<()> {
        self.step();
        let mut world = self.0.borrow_mut();
        let there = world
            .endpoints
            .iter_mut()
            .find(|there| there.id == Some(id));
        let there = there.ok_or_else(|| Self::refusal("changing"))?;
        (there.backup, there.fullmesh) = (backup, fullmesh);
        Ok(())
    }

    fn set_limits(&mut self, limits: Limits) -> Result<()> {
        self.step();
        self.0.borrow_mut().limits = Some(limits);
        Ok(())
    }

    fn value(&mut self, setting: Setting) -> Result<String> {
        Ok(match setting {
            Setting::Controller => self.controller_now(),
            Setting::Manager => self.manager_now(),
        })
    }

    fn set_value(&mut self, setting: Setting, name: &str) -> Result<()> {
        self.step();
        let known: &[&str] = match setting {
            Setting::Controller => &[CUBIC, "reno", "bbr"],
            Setting::Manager => &[KERNEL, USER_SPACE],
        };
        if !known.contains(&name) {
            return Err(Self::refusal("setting"));
        }
        let mut world = self.0.borrow_mut();
        *match setting {
            Setting::Controller => &mut world.controller,
            Setting::Manager => &mut world.manager,
        } = Some(name.into());
        Ok(())
    }
}

impl Store for Fake {
    fn read(&self) -> Result<Option<Journal>> {
        Ok(self
            .0
            .borrow()
            .journal
            .as_ref()
            .map(|text| serde_json::from_str(text).unwrap()))
    }

    fn write(&mut self, journal: &Journal) -> Result<()> {
        self.step();
        if self.0.borrow().full {
            return Err(Error::io(
                "writing",
                std::io::Error::from(std::io::ErrorKind::StorageFull),
            ));
        }
        self.0.borrow_mut().journal = Some(serde_json::to_string(journal).unwrap());
        Ok(())
    }

    fn remove(&mut self) -> Result<()> {
        self.step();
        self.0.borrow_mut().journal = None;
        Ok(())
    }
}

pub(super) fn ip(host: u8) -> IpAddr {
    [198, 18, 0, host].into()
}

pub(super) fn wanted(host: u8, backup: bool) -> Wanted {
    Wanted {
        address: ip(host),
        interface: u32::from(host),
        backup,
        signal: false,
        fullmesh: false,
        renew: false,
        laminar: false,
    }
}

pub(super) fn of_others(host: u8) -> Endpoint {
    Endpoint {
        id: Some(AddressId(host)),
        ..Endpoint::subflow(ip(host), 77)
    }
}

/// The backup flags by the last byte of the address.
pub(super) fn there(fake: &Fake) -> Vec<(u8, bool)> {
    let host = |address: IpAddr| match address {
        IpAddr::V4(address) => address.octets()[3],
        IpAddr::V6(_) => 0,
    };
    fake.endpoints_now()
        .iter()
        .map(|there| (host(there.address), there.backup))
        .collect()
}

pub(super) const NOW: Nanos = Nanos::from_secs(1000);

#[test]
fn wanted_endpoints_are_added_others_removed_and_undo_restores_the_table() {
    let fake = Fake::default();
    fake.0.borrow_mut().endpoints.push(of_others(1));
    let mut actor = fake.actor();
    let outcome = actor
        .reconcile(
            Some(&[wanted(2, false), wanted(3, true), wanted(4, true)]),
            &[],
            NOW,
        )
        .unwrap();
    assert_eq!((outcome.changes, outcome.conflicts.len()), (4, 0));
    assert_eq!(there(&fake), [(1, false), (2, false), (3, true), (4, true)]);
    assert_eq!(
        fake.limits_now(),
        Limits {
            extra_subflows: 3,
            ..DEFAULT
        }
    );
    // Repeating it changes nothing and writes nothing.
    let steps = fake.0.borrow().steps;
    actor
        .reconcile(
            Some(&[wanted(2, false), wanted(3, true), wanted(4, true)]),
            &[],
            NOW,
        )
        .unwrap();
    assert_eq!(fake.0.borrow().steps, steps);
    // A change of priority keeps the endpoint and its id.
    let id = fake.endpoints_now()[2].id;
    actor
        .reconcile(Some(&[wanted(2, true), wanted(3, false)]), &[], NOW)
        .unwrap();
    assert_eq!(there(&fake), [(1, false), (2, true), (3, false)]);
    assert_eq!(
        (fake.endpoints_now()[2].id, fake.limits_now()),
        (id, DEFAULT)
    );
    actor.reconcile(None, &[], NOW).unwrap();
    assert_eq!(
        (fake.endpoints_now(), fake.limits_now()),
        (vec![of_others(1)], DEFAULT)
    );
    assert_eq!(fake.0.borrow().journal, None);
}

#[test]
fn a_full_disk_prevents_changes_but_not_undo() {
    let fake = Fake::default();
    fake.0.borrow_mut().endpoints.push(of_others(1));
    let fill = |full| fake.0.borrow_mut().full = full;
    let mut actor = fake.actor();
    fill(true);
    actor
        .reconcile(Some(&[wanted(2, false), wanted(3, true)]), &[], NOW)
        .unwrap_err();
    assert_eq!(
        (there(&fake), fake.limits_now()),
        (vec![(1, false)], DEFAULT)
    );
    fill(false);
    actor
        .reconcile(Some(&[wanted(2, false), wanted(3, true)]), &[], NOW)
        .unwrap();
    let before = there(&fake);
    assert_eq!(before, [(1, false), (2, false), (3, true)]);
    fill(true);
    let other = [wanted(2, true), wanted(3, true), wanted(4, false)];
    actor.reconcile(Some(&other), &[], NOW).unwrap_err();
    assert_eq!(there(&fake), before);
    // The same process restores everything, and so does the next one.
    let left = fake.0.borrow().journal.clone();
    actor.undo(NOW).unwrap();
    assert_eq!(
        (fake.endpoints_now(), fake.limits_now()),
        (vec![of_others(1)], DEFAULT)
    );
    fill(false);
    actor
        .reconcile(Some(&[wanted(2, false), wanted(3, true)]), &[], NOW)
        .unwrap();
    assert_eq!(fake.0.borrow().journal, left);
    fill(true);
    fake.actor().undo(NOW).unwrap();
    assert_eq!(
        (fake.endpoints_now(), fake.limits_now()),
        (vec![of_others(1)], DEFAULT)
    );
}

#[test]
fn an_endpoint_of_another_program_is_left_alone_and_reported() {
    let fake = Fake::default();
    fake.0.borrow_mut().endpoints.push(of_others(2));
    let mut actor = fake.actor();
    let outcome = actor.reconcile(Some(&[wanted(2, true)]), &[], NOW).unwrap();
    assert!(
        outcome.conflicts[&(ip(2), 2)].contains("another program"),
        "{outcome:?}"
    );
    actor.undo(NOW).unwrap();
    assert_eq!(fake.endpoints_now(), [of_others(2)]);
}

#[test]
fn an_endpoint_of_another_program_where_none_is_wanted_is_reported() {
    let fake = Fake::default();
    let announces = Endpoint {
        subflow: false,
        signal: true,
        ..of_others(4)
    };
    fake.0
        .borrow_mut()
        .endpoints
        .extend([of_others(2), announces]);
    let mut outcome = fake
        .actor()
        .reconcile(Some(&[wanted(3, false)]), &[], NOW)
        .unwrap();
    assert_eq!(outcome.conflicts.len(), 0);
    outcome.disputes([2, 3, 4, 5].map(|host| (ip(host), 9)).into_iter());
    assert_eq!(outcome.conflicts.keys().collect::<Vec<_>>(), [&(ip(2), 9)]);
    assert_eq!(outcome.of_another().collect::<Vec<_>>(), [(ip(2), 9)]);
}

#[test]
fn an_endpoint_created_by_the_kernel_is_replaced() {
    let fake = Fake::default();
    let implicit = Endpoint {
        subflow: false,
        interface: None,
        ..of_others(2)
    };
    fake.0.borrow_mut().endpoints.push(implicit);
    let mut actor = fake.actor();
    let outcome = actor.reconcile(Some(&[wanted(2, true)]), &[], NOW).unwrap();
    assert_eq!((outcome.changes, there(&fake)), (1, vec![(2, true)]));
    assert_eq!(fake.endpoints_now()[0].id, Some(AddressId(2)));
    actor
        .reconcile(Some(&[wanted(2, false)]), &[], NOW)
        .unwrap();
    assert_eq!(there(&fake), [(2, false)]);
    actor.undo(NOW).unwrap();
    assert_eq!(there(&fake), []);
}

#[test]
fn endpoints_changed_by_others_are_theirs_and_removed_ones_return_at_growing_intervals() {
    let fake = Fake::default();
    let mut actor = fake.actor();
    let all = [wanted(2, false), wanted(3, false), wanted(4, false)];
    actor.reconcile(Some(&all), &[], NOW).unwrap();
    {
        let mut world = fake.0.borrow_mut();
        world.endpoints[0].backup = true;
        world.endpoints.remove(1);
        world.limits = Some(Limits {
            extra_subflows: 7,
            ..DEFAULT
        });
    }
    let outcome = actor.reconcile(Some(&all), &[], NOW).unwrap();
    assert_eq!(there(&fake), [(2, true), (4, false)]);
    assert_eq!(outcome.conflicts.len(), 2);
    assert_eq!(outcome.again, Some(NOW + Nanos::from_secs(30)));
    actor
        .reconcile(Some(&all), &[], NOW + Nanos::from_secs(31))
        .unwrap();
    assert_eq!(there(&fake), [(2, true), (4, false), (3, false)]);
    fake.0
        .borrow_mut()
        .endpoints
        .retain(|there| there.address != ip(3));
    let outcome = actor
        .reconcile(Some(&all), &[], NOW + Nanos::from_secs(40))
        .unwrap();
    assert_eq!(outcome.again, Some(NOW + Nanos::from_secs(40 + 60)));
    actor.undo(NOW).unwrap();
    // The endpoint and the limits that another program changed are left alone.
    assert_eq!(
        (there(&fake), fake.limits_now().extra_subflows),
        (vec![(2, true)], 7)
    );
}

#[test]
fn a_refused_endpoint_is_reported_and_does_not_block_others() {
    let fake = Fake::default();
    fake.0.borrow_mut().refuses = Some(ip(2));
    let mut actor = fake.actor();
    let outcome = actor
        .reconcile(Some(&[wanted(2, false), wanted(3, false)]), &[], NOW)
        .unwrap();
    assert_eq!(
        (there(&fake), outcome.conflicts.len()),
        (vec![(3, false)], 1)
    );
    fake.0.borrow_mut().refuses = None;
    // At exactly that instant, which is when the daemon polls again.
    let again = outcome.again.unwrap();
    assert_eq!(again, NOW + Nanos::from_secs(30));
    actor
        .reconcile(Some(&[wanted(2, false), wanted(3, false)]), &[], again)
        .unwrap();
    assert_eq!(there(&fake), [(3, false), (2, false)]);
    actor.undo(NOW).unwrap();
    assert_eq!(there(&fake), []);
}

/// Sets a controller. Returns the outcome.
#[test]
fn a_renewed_endpoint_gets_an_unused_id() {
    let fake = Fake::default();
    let mut actor = fake.actor();
    let mut round = |renew| {
        let all = [
            wanted(2, false),
            Wanted {
                renew,
                ..wanted(3, true)
            },
        ];
        assert_eq!(
            actor
                .reconcile(Some(&all), &[], NOW)
                .unwrap()
                .conflicts
                .len(),
            0
        );
        assert_eq!(there(&fake), [(2, false), (3, true)]);
        fake.endpoints_now()
            .iter()
            .map(|there| there.id.unwrap())
            .collect::<Vec<_>>()
    };
    let before = round(false);
    let after = round(true);
    assert!(
        after[0] == before[0] && !before.contains(&after[1]),
        "{before:?} {after:?}"
    );
}

fn control(actor: &mut Actor<Fake, Fake>, wanted: Option<&str>, now: Nanos) -> Outcome {
    let mut outcome = Outcome::default();
    actor
        .set(Setting::Controller, wanted, now, &mut outcome)
        .unwrap();
    outcome
}

#[test]
fn a_controller_is_set_for_an_intent_and_restored() {
    let fake = Fake::default();
    let mut actor = fake.actor();
    assert_eq!(control(&mut actor, None, NOW), Outcome::default());
    assert_eq!(
        (fake.0.borrow().steps, &fake.0.borrow().journal),
        (0, &None)
    );
    for (wanted, changes) in [("bbr", 1), ("bbr", 0), ("reno", 1)] {
        let outcome = control(&mut actor, Some(wanted), NOW);
        assert_eq!(
            outcome,
            Outcome {
                changes,
                ..Outcome::default()
            }
        );
        assert_eq!(fake.controller_now(), wanted);
    }
    // Another intent asks for none: the original controller returns, not the one in between.
    control(&mut actor, None, NOW);
    assert_eq!(
        (fake.controller_now().as_str(), actor.has_something()),
        (CUBIC, false)
    );
    control(&mut actor, Some("bbr"), NOW);
    actor
        .reconcile(Some(&[wanted(2, false)]), &[], NOW)
        .unwrap();
    assert_eq!(actor.undo(NOW).unwrap().changes, 2);
    assert_eq!(
        (fake.controller_now().as_str(), &fake.0.borrow().journal),
        (CUBIC, &None)
    );
    // Setting the present value is no change.
    control(&mut actor, Some(CUBIC), NOW);
    assert_eq!(actor.undo(NOW).unwrap().changes, 0);
}

#[test]
fn a_foreign_controller_stays_and_a_refused_one_is_retried() {
    let fake = Fake::default();
    let mut actor = fake.actor();
    control(&mut actor, Some("bbr"), NOW);
    fake.0.borrow_mut().controller = Some("reno".into());
    let outcome = control(&mut actor, Some("bbr"), NOW);
    assert!(outcome.settings[&Setting::Controller].contains("another program has set reno"));
    actor.undo(NOW).unwrap();
    assert_eq!(fake.controller_now(), "reno");

    let outcome = control(&mut actor, Some("jp_joule"), NOW);
    assert!(
        outcome.settings.contains_key(&Setting::Controller) && !actor.has_something(),
        "{outcome:?}"
    );
    assert_eq!(outcome.again, Some(NOW + Nanos::from_secs(30)));
    let steps = fake.0.borrow().steps;
    let outcome = control(&mut actor, Some("jp_joule"), NOW + Nanos::from_secs(29));
    assert_eq!(
        (
            outcome.settings.contains_key(&Setting::Controller),
            fake.0.borrow().steps
        ),
        (true, steps)
    );
    let outcome = control(&mut actor, Some("jp_joule"), NOW + Nanos::from_secs(30));
    assert_eq!(outcome.again, Some(NOW + Nanos::from_secs(30 + 60)));
    assert_eq!(fake.controller_now(), "reno");
}

#[test]
fn a_start_restores_the_path_manager_of_a_killed_daemon_unless_changed_since() {
    let fake = Fake::default();
    let choose = |wanted| {
        let mut outcome = Outcome::default();
        fake.actor()
            .set(Setting::Manager, wanted, NOW, &mut outcome)
            .unwrap();
        outcome
    };
    assert_eq!(choose(Some(USER_SPACE)).changes, 1);
    assert_eq!(fake.manager_now(), USER_SPACE);
    // The next process has another configuration.
    fake.actor().undo_setting(Setting::Manager, NOW).unwrap();
    assert_eq!(
        (fake.manager_now().as_str(), fake.actor().has_something()),
        (KERNEL, false)
    );
    choose(Some(USER_SPACE));
    fake.0.borrow_mut().manager = Some(KERNEL.into());
    let said = choose(Some(USER_SPACE)).settings;
    assert!(
        said[&Setting::Manager].contains("another program has set kernel"),
        "{said:?}"
    );
}

#[test]
fn a_value_that_another_program_restored_leaves_no_record() {
    let fake = Fake::default();
    // Killed between the record and the change: the record covers both values.
    let record = |actor: &mut Actor<Fake, Fake>| drop(control(actor, Some("bbr"), NOW));
    assert!(fake.killed_at(1, record));
    let mut actor = fake.actor();
    assert!(fake.controller_now() == CUBIC && actor.has_something());
    control(&mut actor, None, NOW);
    assert_eq!(
        (fake.controller_now().as_str(), actor.has_something()),
        (CUBIC, false)
    );
}

/// A record of a version that set no controllers.
#[test]
fn the_journal_of_an_older_version_is_undone() {
    let fake = Fake::default();
    let left = Endpoint {
        id: Some(AddressId(1)),
        subflow: true,
        ..Endpoint::subflow(ip(2), 2)
    };
    fake.0.borrow_mut().endpoints = vec![of_others(9), left];
    fake.0.borrow_mut().limits = Some(Limits {
        extra_subflows: 3,
        ..DEFAULT
    });
    fake.0.borrow_mut().journal = Some(include_str!("journal-0.1.0.json").into());
    let mut actor = fake.actor();
    assert_eq!(actor.undo(NOW).unwrap().changes, 2);
    assert_eq!(
        (fake.endpoints_now(), fake.limits_now()),
        (vec![of_others(9)], DEFAULT)
    );
}
