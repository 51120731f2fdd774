//! The scoreboard after each kind of ACK.

use super::*;
use proptest::prelude::*;

fn sent(n: u32) -> Scoreboard {
    let mut board = Scoreboard::new(3);
    for dsn in 0..n {
        board.push(Segment::new(dsn, 1460, Stamp::at(0)));
    }
    board
}

#[test]
fn three_sacked_segments_above_make_a_loss() {
    let mut board = sent(10);
    board.sack(1);
    board.sack(2);
    assert_eq!(board.judge(), 0);
    assert!(!board.has_repairs());
    board.sack(3);
    assert_eq!(board.judge(), 1);
    assert!(board.has_repairs());
    assert_eq!(board.next_repair(), Some(0));
    // pipe = 10 outstanding - 3 SACKed - 1 lost
    assert_eq!(board.in_flight(), 6);
    board.retransmit(0, Stamp::at(0));
    assert_eq!(board.in_flight(), 7);
    assert_eq!((board.next_repair(), board.has_repairs()), (None, false));
    assert_eq!(board.advance(4), 4);
    assert_eq!(board.in_flight(), 6);
}

#[test]
fn an_overtaken_segment_is_lost_after_the_reordering_window() {
    const MS: u64 = 1_000_000;
    let mut board = Scoreboard::new(3);
    for n in 0..4 {
        board.push(Segment::new(n, 1460, Stamp::at(u64::from(n) * MS)));
    }
    // A segment sent at 2 ms arrives after an RTT of 20 ms. It has overtaken the segments of 0 and
    // 1 ms, but not that of 3 ms.
    board.sack(2);
    board.arrived(Stamp::at(2 * MS), 2, 22 * MS);
    // With a reordering window of 5 ms they are lost at 25 and 26 ms: sent + 20 + 5.
    assert_eq!(board.detect_loss(5 * MS, 22 * MS), (0, Some(4 * MS)));
    assert_eq!(board.detect_loss(5 * MS, 25 * MS), (1, Some(MS)));
    assert_eq!(board.detect_loss(5 * MS, 26 * MS), (1, None));
    assert_eq!((board.lost(), board.next_repair()), (2, Some(0)));
    // A retransmission is lost when a later one has arrived, without a reordering window.
    board.retransmit(0, Stamp::at(26 * MS));
    board.retransmit(1, Stamp::at(27 * MS));
    board.sack(1);
    board.arrived(Stamp::at(27 * MS), 1, 47 * MS);
    assert_eq!(
        board.detect_loss(0, 47 * MS),
        (2, None),
        "including the one of 3 ms"
    );
    assert_eq!(board.next_repair(), Some(0));
}

/// A burst leaves in one event with one timestamp: the segment number orders it (RFC 8985, section
/// 6.2).
#[test]
fn a_hole_in_a_burst_is_overtaken() {
    const MS: u64 = 1_000_000;
    let mut board = sent(10);
    // Segment 0 arrives 20 ms after the burst, 1 and 2 are lost, 3 arrives 1 ms after 0.
    board.advance(1);
    board.arrived(Stamp::at(0), 0, 20 * MS);
    assert_eq!(
        board.detect_loss(5 * MS, 20 * MS),
        (0, None),
        "nothing has been overtaken"
    );
    board.sack(3);
    board.arrived(Stamp::at(0), 3, 21 * MS);
    // The reordering window ends at 21 + 5 ms. Segments 4 to 9 are not overtaken.
    assert_eq!(board.detect_loss(5 * MS, 21 * MS), (0, Some(5 * MS)));
    assert_eq!(board.detect_loss(5 * MS, 26 * MS), (2, None));
    assert_eq!((board.next_repair(), board.lost()), (Some(1), 2));
    // Both are retransmitted in one event. After the second one arrives, the first is lost again.
    board.retransmit(1, Stamp::at(26 * MS));
    board.retransmit(2, Stamp::at(26 * MS));
    board.sack(2);
    board.arrived(Stamp::at(26 * MS), 2, 47 * MS);
    assert_eq!(
        board.detect_loss(0, 47 * MS),
        (7, None),
        "1, and 4 to 9, which left before it"
    );
    assert_eq!(board.next_repair(), Some(1));
}

#[test]
fn a_timeout_marks_all_segments_lost_except_sacked_ones() {
    let mut board = sent(6);
    board.sack(2);
    board.mark_all_lost();
    assert_eq!(board.in_flight(), 0);
    let mut repaired = vec![];
    while let Some(ssn) = board.next_repair() {
        board.retransmit(ssn, Stamp::at(0));
        repaired.push(ssn);
    }
    assert_eq!(repaired, [0, 1, 3, 4, 5]);
}

#[test]
fn a_partial_ack_without_sack_repairs_the_next_hole() {
    let mut board = sent(8);
    for _ in 0..3 {
        board.duplicate_ack();
    }
    board.mark_head_lost();
    board.retransmit(0, Stamp::at(0));
    // 8 outstanding, 1 of them lost and retransmitted, 3 have left the network
    assert_eq!(board.in_flight(), 5);
    board.advance(4);
    board.mark_head_lost();
    assert_eq!(board.next_repair(), Some(4));
}

#[test]
fn after_a_partial_ack_a_new_segment_is_in_flight() {
    let mut board = sent(5);
    for _ in 0..4 {
        board.duplicate_ack();
    }
    board.mark_head_lost();
    board.retransmit(0, Stamp::at(0));
    assert_eq!(board.in_flight(), 1);
    board.advance(2);
    board.mark_head_lost();
    assert_eq!(board.in_flight(), 0);
    board.push(Segment::new(5, 1460, Stamp::at(0)));
    assert_eq!(board.in_flight(), 1);
}

proptest! {
    /// The counters equal a count over the flags after any sequence of steps.
    #[test]
    fn counters_agree_with_the_segments(steps in prop::collection::vec((0u8..10, 0u32..40), 1..200)) {
        let mut board = Scoreboard::new(3);
        let mut now_ns = 0;
        for (what, n) in steps {
            now_ns += 1_000;
            let now = Stamp::at(now_ns);
            match what {
                0 | 1 => { board.push(Segment::new(n, 1000, now)); }
                2 => { board.advance(board.una + n % 5); }
                3 => { board.sack(board.una + n); }
                4 => { board.judge(); }
                5 => if let Some(ssn) = board.next_repair().or(board.next_hole()) {
                    board.retransmit(ssn, now);
                },
                6 => {
                    let sent = Stamp::at(now_ns.saturating_sub(u64::from(n) * 500));
                    board.arrived(sent, board.una + n, now_ns);
                }
                7 => { board.detect_loss(u64::from(n) * 100, now_ns); }
                8 => if !board.is_empty() { board.copy(board.next() - 1, now); },
                _ => if n == 0 { board.mark_all_lost() },
            }
            let flags = |&ssn: &u32| board.get(ssn).flags;
            let count = |bit| (board.una..board.next).filter(|ssn| flags(ssn) & bit != 0).count() as u32;
            prop_assert_eq!(board.sacked, count(SACKED));
            prop_assert_eq!(board.lost, count(LOST));
            prop_assert_eq!(board.retransmitted, count(RETRANSMITTED));
            prop_assert!(board.in_flight() <= board.next - board.una + board.retransmitted);
            let waits = |ssn: &u32| flags(ssn) & (LOST | RETRANSMITTED | SACKED) == LOST;
            let waiting = (board.una..board.next).find(waits);
            prop_assert_eq!(board.next_repair(), waiting);
        }
    }
}
