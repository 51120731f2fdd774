//! The cause `receive-buffer` while Linux grows receive buffers.

use joulepath_why::finding::Finding;
use joulepath_why::observation::Observation;
use joulepath_why::report::findings;
use joulepath_why::subject::Subject;

use crate::draw::{Draw, Half};
use crate::world::Buffer;
use crate::{ATTEMPTS, healthy, pays_without, small};

/// A download that its receive buffer limits, and the buffer's memory, which is the third value of
/// `net.ipv4.tcp_rmem`.
fn limited() -> (Observation<'static>, u32) {
    let world = (0..ATTEMPTS).find_map(|number| {
        let mut draw = Draw::new(Half::Judging, number);
        let mut world = healthy(&mut draw);
        world.upload = false;
        pays_without(&mut world, &mut draw, |world, draw| {
            small(world, draw, Buffer::Own)
        })?;
        Some(world)
    });
    let observation = world
        .expect("a small buffer costs rate in some world")
        .observe(1);
    let memory = observation.samples[0].listing.connections[0]
        .memory
        .unwrap();
    (observation, memory.receive_limit_bytes)
}

/// The finding when tcp_rmem allows `most` bytes, and the buffer has `limit(i, n)` in sample `i` of
/// `n`.
fn with(
    mut observation: Observation<'_>,
    most: u32,
    moderate: u8,
    limit: impl Fn(usize, usize) -> u32,
) -> Option<Finding> {
    let sysctls = &mut observation.host.sysctls;
    sysctls.insert("net.ipv4.tcp_rmem".into(), format!("4096 131072 {most}"));
    sysctls.insert("net.ipv4.tcp_moderate_rcvbuf".into(), moderate.to_string());
    let samples = observation.samples.len();
    for (at, sample) in observation.samples.iter_mut().enumerate() {
        for connection in &mut sample.listing.to_mut().connections {
            connection.memory.as_mut().unwrap().receive_limit_bytes = limit(at, samples);
        }
    }
    let subjects = Subject::all(&observation);
    findings(&subjects[0])
        .into_iter()
        .find(|finding| finding.cause == "receive-buffer")
}

#[test]
fn a_buffer_at_the_end_of_its_growth_gets_a_larger_maximum() {
    let (observation, memory) = limited();
    let finding = with(observation, memory, 1, |_, _| memory).unwrap();
    assert!(
        finding.fix.commands[0].starts_with("sysctl -w net.ipv4.tcp_rmem=\"4096 131072 "),
        "{finding:?}"
    );
    assert!(
        finding.evidence[1].contains("the buffer has"),
        "{finding:?}"
    );
}

#[test]
fn a_buffer_that_still_grows_is_no_cause() {
    let (observation, memory) = limited();
    let grows = |at: usize, samples: usize| memory / 2 + (memory / 2) * at as u32 / samples as u32;
    assert!(with(observation, 4 * memory, 1, grows).is_none());
}

#[test]
fn a_smaller_buffer_that_does_not_grow_was_set_or_may_not_grow() {
    let (observation, memory) = limited();
    let set = with(observation.clone(), 4 * memory, 1, |_, _| memory).unwrap();
    assert!(
        set.fix.commands.is_empty() && format!("{:?}", set.fix).contains("SO_RCVBUF"),
        "{set:?}"
    );
    let off = with(observation, 4 * memory, 0, |_, _| memory).unwrap();
    assert_eq!(
        off.fix.commands,
        ["sysctl -w net.ipv4.tcp_moderate_rcvbuf=1"],
        "{off:?}"
    );
}
