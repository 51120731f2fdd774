//! Hosted controllers run under the bookkeeping of the C code.

use joulepath_controllers::{
    Ack, AckFlags, AdoptError, Area, Capability, Connection, Controller, Event, Hook, Hooks, Host,
    LossKind, Subflow, within,
};

/// Forwards every call to a controller of `cc/`, and counts the calls of each hook.
struct Through {
    inner: Controller,
    area: [Area; 8],
}

impl Hooks for Through {
    fn start(&mut self, _: &mut Connection, _: usize) {}

    fn increase(&mut self, connection: &Connection, i: usize) -> f64 {
        self.inner.increase(connection, i)
    }

    fn ssthresh(&mut self, connection: &Connection, i: usize, kind: LossKind) -> u32 {
        self.inner.ssthresh_after(connection, i, kind)
    }

    fn ack(&mut self, _: &mut Connection, _: usize, _: &Event) {}

    fn round(&mut self, _: &mut Connection, _: usize, _: &Event) {}

    fn loss(&mut self, _: &mut Connection, _: usize, _: LossKind) {}

    fn restart(&mut self, _: &mut Connection, _: usize) {}

    fn control(&mut self, connection: &mut Connection, i: usize, event: &Event) {
        connection.subflows[i].cwnd = event.acked * 3;
        connection.subflows[i]
            .own
            .set_pacing_rate_bytes_per_s(u64::from(event.mss));
        self.area[i] = Area::default();
    }
}

fn host(name: &str, like: &str, capabilities: Vec<Capability>) -> Result<Controller, AdoptError> {
    let inner = Controller::by_name(like).unwrap();
    Controller::host(Host {
        name: name.to_owned(),
        title: name.to_owned(),
        summary: "a copy".to_owned(),
        min_cwnd: inner.min_cwnd(),
        cache_acks: 16,
        capabilities,
        hooks: vec![Hook::Increase, Hook::Ssthresh],
        open: Box::new(move |_| {
            Box::new(Through {
                inner,
                area: Default::default(),
            })
        }),
    })
}

fn start(controller: Controller) -> Connection {
    let mut connection = Connection::new(2);
    let mut hosting = controller.hosting(2);
    for i in 0..2 {
        let flags = Subflow::ESTABLISHED;
        connection.subflows[i] = Subflow {
            cwnd: 10,
            ssthresh: 30,
            flags,
            ..Subflow::default()
        };
        within(&mut hosting, || controller.init(&mut connection, i));
    }
    connection
}

/// 4000 ACKs, rounds and losses of two subflows.
pub(crate) fn live(controller: Controller) -> Vec<Connection> {
    let (mut hosting, mut connection) = (controller.hosting(2), start(controller));
    let mut lives = vec![];
    for step in 0..4_000u32 {
        let i = usize::from(step % 3 == 0);
        connection.now_us += 900;
        connection.subflows[i].srtt_us = 20_000 + 60_000 * i as u32 + step % 700;
        let rtt_us = connection.subflows[i].srtt_us + step % 90;
        let flags = AckFlags::CWND_LIMITED.with(AckFlags::ROUND_END, step % 17 == 0);
        within(&mut hosting, || {
            controller.on_ack(
                &mut connection,
                i,
                Ack {
                    acked: 1 + step % 2,
                    rtt_us,
                    flags,
                },
            )
        });
        if step % 211 == 0 {
            let kind = if step % 422 == 0 {
                LossKind::Timeout
            } else {
                LossKind::FastRetransmit
            };
            let ssthresh = within(&mut hosting, || {
                controller.on_loss(&mut connection, i, kind)
            });
            (connection.subflows[i].ssthresh, connection.subflows[i].cwnd) = (ssthresh, ssthresh);
        }
        lives.push(connection);
    }
    lives
}

/// LIA reuses its increase for 16 packets, so this also compares the cached increases.
#[test]
fn hooks_that_compute_lia_run_exactly_like_lia() {
    let hosted = host("hostedlia", "lia", vec![]).unwrap();
    assert_eq!(Controller::by_name("hostedlia").unwrap(), hosted);
    assert!(hosted.is_hosted() && hosted.is_adopted() && !hosted.has(Capability::OwnsWindow));
    let lia = live(Controller::by_name("lia").unwrap());
    assert_eq!(live(hosted), lia);
    assert!(lia.last().unwrap().subflows[0].cwnd > 20);
}

#[test]
fn a_hosted_controller_that_owns_its_window_gets_every_event_and_paces() {
    let hosted = host("hostedowner", "lia", vec![Capability::OwnsWindow]).unwrap();
    let (mut hosting, mut connection) = (hosted.hosting(2), start(hosted));
    let event = Event {
        acked: 7,
        mss: 1_250,
        ..Event::default()
    };
    within(&mut hosting, || {
        hosted.control(&mut connection, 1, &event, &mut Area::default())
    });
    assert_eq!(connection.subflows[1].cwnd, 21);
    assert_eq!(hosted.pacing_rate_bytes_per_s(&connection, 1), Some(1_250));
    // A window of 0 would stop the connection, so the bookkeeping keeps one packet.
    let nothing = Event::default();
    within(&mut hosting, || {
        hosted.control(&mut connection, 1, &nothing, &mut Area::default())
    });
    assert_eq!(connection.subflows[1].cwnd, 1);
}

#[test]
fn without_lent_hooks_a_call_changes_no_window() {
    let hosted = host("hostedalone", "lia", vec![]).unwrap();
    let mut connection = start(hosted);
    let before = connection;
    hosted.on_ack(
        &mut connection,
        0,
        Ack {
            acked: 1,
            rtt_us: 20_000,
            flags: AckFlags::CWND_LIMITED,
        },
    );
    assert_eq!(connection, before);
    assert_eq!(hosted.increase(&connection, 0), 0.0);
}

#[test]
fn built_in_names_are_refused() {
    assert_eq!(
        host("olia", "lia", vec![]).unwrap_err(),
        AdoptError::Taken("olia".to_owned())
    );
    assert!(Controller::all().all(|ours| !ours.is_hosted() && ours.hosting(2).is_none()));
}
