//! What a verdict claims is compared with what was measured: connections of the engine whose
//! statistics are changed to those of links that it does not model.

use joulepath_kernel::mptcp::diag::{Listing, TcpSocket};
use joulepath_kernel::mptcp::{AddressId, TcpInfo};
use joulepath_kernel::route::Address;
use joulepath_why::finding::Finding;
use joulepath_why::observation::Observation;
use joulepath_why::report::findings;
use joulepath_why::subject::Subject;

use crate::draw::{Draw, Half};
use crate::host::Config;
use crate::world::World;
use crate::{any_healthy, healthy};

const MSS: u32 = 1460;

/// A healthy upload over as many interfaces.
fn upload(interfaces: usize) -> World {
    let mut world = healthy(&mut Draw::new(Half::Judging, 7));
    world.controller = "reno";
    world.config = Config::good(interfaces);
    world
}

/// Changes the sockets of each sample; `change` gets the number of the sample and of the subflow.
fn with(
    mut seen: Observation<'static>,
    change: impl Fn(usize, usize, &mut TcpSocket),
) -> Vec<Finding> {
    for (number, sample) in seen.samples.iter_mut().enumerate() {
        let Listing {
            connections, plain, ..
        } = sample.listing.to_mut();
        for sockets in connections
            .iter_mut()
            .map(|one| &mut one.subflows)
            .chain([plain])
        {
            sockets
                .iter_mut()
                .enumerate()
                .for_each(|(flow, socket)| change(number, flow, socket));
        }
    }
    let subjects = Subject::all(&seen);
    findings(&subjects[0])
}

fn names(found: &[Finding]) -> Vec<&str> {
    found.iter().map(|finding| finding.cause).collect()
}

/// Sets the statistics of a sender: delivered packets and losses of each interval.
fn deliver(
    info: &mut TcpInfo,
    number: usize,
    delivered: impl Fn(usize) -> u32,
    lost: impl Fn(usize) -> u32,
) {
    let packets: u32 = (0..number).map(delivered).sum();
    let again: u32 = (0..number).map(lost).sum();
    info.delivered_packets = packets;
    info.retransmitted_segments = again;
    info.data_segments_out = packets + again;
    info.sent_bytes = u64::from(packets + again) * u64::from(MSS);
    info.retransmitted_bytes = u64::from(again) * u64::from(MSS);
    (info.min_rtt_us, info.srtt_us) = (20_000, 22_000);
    (info.cwnd_packets, info.unacked_packets) = (12, 12);
}

#[test]
fn losses_at_a_steady_rate_are_a_policer_s_and_those_of_a_changing_rate_are_random() {
    let steady = |number: usize| 130 + (number * 7 % 5) as u32;
    let shaken = |number: usize| [137, 118, 133, 125, 141, 116, 130, 122][number % 8];
    let changing = |number: usize| [60, 150, 90, 210, 70, 120, 45, 170][number % 8];
    let seen = |delivered: fn(usize) -> u32| {
        with(upload(1).observe(1), |number, _, socket| {
            if let Some(info) = &mut socket.info {
                deliver(info, number, delivered, |number| 2 + (number % 3) as u32);
            }
        })
    };
    let policed = seen(steady);
    assert_eq!(names(&policed), ["policer"]);
    assert!(!policed[0].is_fixable(), "{policed:?}");
    // On a busy machine.
    assert_eq!(names(&seen(shaken)), ["policer"]);
    assert_eq!(names(&seen(changing)), ["random-loss"]);
}

/// As measured behind a token bucket: the window grows until the bucket is empty.
#[test]
fn losses_in_clusters_are_not_random_and_are_a_policer_s_below_a_highest_rate() {
    let sawtooth = |number: usize| [90, 105, 120, 130, 85, 100, 115, 135][number % 8];
    let changing = |number: usize| [60, 150, 90, 210, 70, 120, 45, 170][number % 8];
    let clusters = |number: usize| if number % 4 == 3 { 14 } else { 0 };
    let seen = |delivered: fn(usize) -> u32| {
        with(upload(1).observe(1), |number, _, socket| {
            if let Some(info) = &mut socket.info {
                deliver(info, number, delivered, clusters);
            }
        })
    };
    assert_eq!(names(&seen(sawtooth)), ["policer"]);
    assert!(!names(&seen(changing)).contains(&"random-loss"));
}

#[test]
fn the_program_s_pacing_limit_is_named_where_it_is_used() {
    let seen = |is_mptcp: bool, limit_part: f64| {
        let mut world = upload(2 - usize::from(is_mptcp));
        world.config.is_mptcp = is_mptcp;
        with(world.observe(1), |number, _, socket| {
            if let Some(info) = &mut socket.info {
                deliver(info, number, |_| 100, |_| 0);
                (info.cwnd_packets, info.not_sent_bytes) = (40, 80_000);
                let sent_bytes_per_s = f64::from(100 * MSS) / 0.25;
                info.max_pacing_rate_bytes_per_s = Some((sent_bytes_per_s / limit_part) as u64);
            }
        })
    };
    assert_eq!(names(&seen(true, 0.97)).first(), Some(&"pacing-limit"));
    assert!(!names(&seen(true, 0.5)).contains(&"pacing-limit"));
    // MPTCP sockets refuse the limit, and a second path would carry nothing.
    assert_eq!(names(&seen(false, 0.97)), ["pacing-limit"]);
    assert!(names(&seen(false, 0.5)).contains(&"plain-tcp"));
}

#[test]
fn data_that_a_local_queue_holds_back_is_not_in_a_small_buffer() {
    // The subflows hold all that the connection may write, and their windows have room.
    let world = World {
        buffer: crate::world::Buffer::Send,
        ..upload(2)
    };
    let found = with(world.observe(1), |_, _, socket| {
        if let Some(info) = &mut socket.info {
            info.cwnd_packets *= 3;
            info.not_sent_bytes = 400_000;
        }
    });
    assert!(!names(&found).contains(&"send-buffer"), "{found:?}");
}

#[test]
fn delays_of_this_host_s_other_work_are_no_shared_bottleneck() {
    let world = World {
        stream_bps: Some(2e6),
        ..upload(2)
    };
    let found = with(world.observe(1), |number, _, socket| {
        if let Some(info) = &mut socket.info {
            info.srtt_us = info.min_rtt_us + [3_000, 9_000, 5_000, 14_000][number % 4];
        }
    });
    assert_eq!(names(&found), ["application"]);
}

#[test]
fn no_fix_lowers_a_limit_or_shapes_a_device() {
    for number in 0..60 {
        let mut world = any_healthy(&mut Draw::new(Half::Judging, number));
        world.buffer_bytes /= 12.0;
        world.paths[0].queue *= 8.0;
        let seen = world.observe(number);
        let most = |name: &str| seen.host.number(name, 2).expect("it is set");
        let subjects = Subject::all(&seen);
        for command in findings(&subjects[0])
            .iter()
            .flat_map(|one| &one.fix.commands)
        {
            assert!(!command.starts_with("tc "), "{command}");
            let Some((name, values)) = command
                .strip_prefix("sysctl -w ")
                .and_then(|line| line.split_once('='))
            else {
                continue;
            };
            if let Some(value) = values.trim_matches('"').split(' ').nth(2) {
                assert!(
                    value.parse::<u64>().unwrap() > most(name),
                    "{command}: {}",
                    most(name)
                );
            }
        }
    }
}

#[test]
fn nothing_is_said_of_a_connection_within_this_host() {
    let mut seen = upload(2).observe(7);
    assert_eq!(Subject::all(&seen).len(), 1);
    let server = Subject::all(&seen)[0].remote.ip();
    let own = Address {
        address: server,
        ..seen.host.addresses[0]
    };
    seen.host.addresses.push(own);
    assert!(Subject::all(&seen).is_empty());
}

#[test]
fn a_backup_at_the_peer_s_first_address_is_changed_by_that_address() {
    let of = |id: u8| {
        let found = with(upload(2).observe(7), |_, flow, socket| {
            if let (1, Some(membership), Some(info)) =
                (flow, &mut socket.membership, &mut socket.info)
            {
                (membership.backup_remotely, membership.remote_id) = (true, AddressId(id));
                info.sent_bytes = 0;
            }
        });
        found
            .into_iter()
            .find(|one| one.cause == "backup")
            .and_then(|one| one.fix.advice)
            .unwrap()
    };
    assert!(
        of(3).contains("`ip mptcp endpoint change id 3 nobackup`"),
        "{}",
        of(3)
    );
    let peer = Subject::all(&upload(2).observe(7))[0].remote.ip();
    assert!(
        of(0).contains(&format!("`ip mptcp endpoint change {peer} nobackup`")),
        "{}",
        of(0)
    );
}
