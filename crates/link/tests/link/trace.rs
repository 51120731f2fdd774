//! Trace-driven links: byte-exact cases, recorded traces, and random input for the parser.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::common::{delivered_at, ms, with_rate};
use joulepath_link::trace::parse;
use joulepath_link::{Link, Outcome};
use joulepath_model::network::{DeliveryTrace, LinkSpec, QueueLimit, RateSpec};
use joulepath_model::units::Nanos;
use proptest::prelude::*;

fn link_over(opportunities_ms: &[u64]) -> Link {
    let trace = DeliveryTrace {
        source: "test".into(),
        opportunities_ms: opportunities_ms.into(),
    };
    Link::new(&with_rate(RateSpec::Trace(Arc::new(trace))), 0, 0)
}

/// Offers packets of these sizes at time 0. Returns their arrivals, ms.
fn arrivals(link: &mut Link, sizes: &[u32]) -> Vec<u64> {
    sizes
        .iter()
        .map(|size| delivered_at(link.offer(Nanos::ZERO, *size, false)).0 / 1_000_000)
        .collect()
}

#[test]
fn small_packets_share_an_opportunity() {
    // 700 + 700 = 1400 at 5 ms. 100 bytes of the third packet pass at 5 ms, 600 at 8 ms, where 900
    // remain for 700 + 200.
    let mut link = link_over(&[5, 8, 9, 100]);
    assert_eq!(
        arrivals(&mut link, &[700, 700, 700, 700, 200, 1]),
        [5, 5, 8, 8, 8, 9]
    );
}

#[test]
fn a_packet_larger_than_an_opportunity_continues_in_the_next() {
    // 1540 bytes: 1500 at 5 ms, 40 at 8 ms, where 1460 remain. 4500 bytes: three whole
    // opportunities.
    let mut link = link_over(&[5, 8, 9, 9, 10, 100]);
    assert_eq!(arrivals(&mut link, &[1540, 1460, 4500]), [8, 8, 10]);
}

#[test]
fn an_opportunity_without_a_waiting_packet_is_wasted() {
    let mut link = link_over(&[1, 2, 3, 10, 100]);
    assert_eq!(
        delivered_at(link.offer(Nanos(2_500_000), 1500, false)),
        ms(3)
    );
    // The rest of an opportunity is wasted, too.
    assert_eq!(delivered_at(link.offer(ms(5), 700, false)), ms(10));
    assert_eq!(delivered_at(link.offer(ms(11), 700, false)), ms(100));
}

#[test]
fn a_packet_that_arrives_at_the_instant_of_an_opportunity_has_missed_it() {
    let mut link = link_over(&[0, 5, 5, 9]);
    assert_eq!(delivered_at(link.offer(ms(0), 1500, false)), ms(5));
    assert_eq!(delivered_at(link.offer(ms(5), 1500, false)), ms(9));
}

#[test]
fn the_trace_repeats_after_its_last_line() {
    // Period 10 ms. The end of one pass and the start of the next are two opportunities at the same
    // time.
    let mut link = link_over(&[0, 4, 10]);
    assert_eq!(arrivals(&mut link, &[1500; 6]), [4, 10, 10, 14, 20, 20]);
    for (now, at) in [
        (23, 24),
        (24, 30),
        (1_000_003, 1_000_004),
        (1_000_004, 1_000_010),
        (1_000_009, 1_000_010),
    ] {
        assert_eq!(
            delivered_at(link.offer(ms(now), 1500, false)),
            ms(at),
            "offered at {now} ms"
        );
    }
    // Two opportunities at 1 000 010; then the next pass.
    assert_eq!(
        delivered_at(link.offer(ms(1_000_009), 1500, false)),
        ms(1_000_014)
    );
}

#[test]
fn both_opportunities_between_two_passes_are_used_after_a_pause() {
    let mut link = link_over(&[0, 4, 10]);
    let now = Nanos(ms(1_000_010).0 - 1);
    let arrivals = [(); 3].map(|()| delivered_at(link.offer(now, 1500, false)));
    assert_eq!(arrivals, [ms(1_000_010), ms(1_000_010), ms(1_000_014)]);
}

#[test]
fn the_queue_of_a_trace_link_counts_packets_that_have_not_started() {
    let trace = DeliveryTrace {
        source: "test".into(),
        opportunities_ms: vec![5, 8, 20],
    };
    let spec = LinkSpec {
        queue: QueueLimit::Packets(2),
        ..with_rate(RateSpec::Trace(Arc::new(trace)))
    };
    let mut link = Link::new(&spec, 0, 0);
    assert_eq!(delivered_at(link.offer(ms(0), 1600, false)), ms(8));
    assert_eq!(delivered_at(link.offer(ms(0), 1500, false)), ms(20));
    assert_eq!(link.offer(ms(0), 1500, false), Outcome::QueueDrop);
    // From 5 ms on the first packet is in transmission, from 8 ms on the second.
    assert_eq!(link.queue_packets(Nanos(4_999_999)), 2);
    assert_eq!(link.queue_packets(ms(5)), 1);
    assert_eq!(link.queue_packets(ms(8)), 0);
}

#[test]
fn a_held_transmitter_wastes_its_opportunities() {
    let mut link = link_over(&[5, 8, 9, 100]);
    assert_eq!(arrivals(&mut link, &[700]), [5]);
    link.hold_until(ms(8));
    assert_eq!(arrivals(&mut link, &[700, 700, 700]), [8, 8, 9]);
}

/// Bytes delivered by a sender whose queue never runs empty, during two and a half passes.
fn carried_bytes(trace: &Arc<DeliveryTrace>, duration: Nanos) -> u64 {
    let mut link = Link::new(&with_rate(RateSpec::Trace(trace.clone())), 0, 0);
    let mut carried = 0;
    for now in (0..duration.0 / 1_000_000).map(ms) {
        let sizes = [1500, 40, 1052, 590, 1500].iter().cycle();
        for size in sizes {
            match link.offer(now, *size, false) {
                Outcome::Delivered { at, .. } if at <= duration => carried += u64::from(*size),
                Outcome::Delivered { .. } => {}
                Outcome::QueueDrop | Outcome::WireLoss | Outcome::Held(_) => break,
            }
        }
    }
    carried
}

/// Bytes of the opportunities in (0, duration].
fn offered_bytes(trace: &DeliveryTrace, duration: Nanos) -> u64 {
    let period_ms = trace.opportunities_ms[trace.opportunities_ms.len() - 1];
    let passes = (0..)
        .map(|pass| pass * period_ms)
        .take_while(|start_ms| ms(*start_ms) <= duration);
    let all = passes.flat_map(|start_ms| {
        trace
            .opportunities_ms
            .iter()
            .map(move |at_ms| ms(start_ms + at_ms))
    });
    1500 * all
        .filter(|at| *at > Nanos::ZERO && *at <= duration)
        .count() as u64
}

fn assert_bulk_uses(trace: DeliveryTrace) {
    let period_ms = trace.opportunities_ms[trace.opportunities_ms.len() - 1];
    let duration = ms(period_ms * 5 / 2);
    let offered = offered_bytes(&trace, duration);
    let carried = carried_bytes(&Arc::new(trace.clone()), duration);
    let ratio = carried as f64 / offered as f64;
    assert!(
        (0.99..=1.0).contains(&ratio),
        "{}: {carried} of {offered} bytes",
        trace.source
    );
}

#[test]
fn a_bulk_transfer_uses_the_opportunities_of_a_synthetic_trace() {
    // A bursty link of 30 s: 0 to 6 opportunities per ms, with pauses of 300 ms.
    let rate_at = |at_ms: u64| {
        if at_ms % 2_000 < 300 {
            0
        } else {
            (at_ms * 7919 / 13) % 7
        }
    };
    let opportunities_ms = (0..30_000)
        .flat_map(|at_ms| (0..rate_at(at_ms)).map(move |_| at_ms))
        .collect();
    assert_bulk_uses(DeliveryTrace {
        source: "synthetic".into(),
        opportunities_ms,
    });
}

/// The files in `directory` whose names end in one of `endings`, sorted.
fn files(directory: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let wanted = |path: &PathBuf| {
        path.to_str()
            .is_some_and(|name| endings.iter().any(|end| name.ends_with(end)))
    };
    let mut files: Vec<_> = entries.filter(wanted).collect();
    files.sort();
    files
}

#[test]
fn a_bulk_transfer_uses_the_opportunities_of_recorded_traces() {
    let beside_the_workspace = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/traces");
    let directory = std::env::var("JOULEPATH_TRACES").unwrap_or(beside_the_workspace.into());
    let recorded = files(Path::new(&directory), &[".down", ".up"]);
    // Written straight to stderr, because the test runner hides the output of `println!` if a test
    // passes.
    let mut stderr = std::io::stderr();
    if recorded.is_empty() {
        let _ = writeln!(
            stderr,
            "SKIPPED recorded traces: no *.down or *.up; set JOULEPATH_TRACES to a directory"
        );
        return;
    }
    for path in recorded {
        let text = std::fs::read(&path).expect("a readable trace");
        assert_bulk_uses(parse(text, &path.display().to_string()).expect("a valid trace"));
    }
}

fn corpus() -> Vec<(String, Vec<u8>)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let read = |path: PathBuf| {
        let name = path
            .file_name()
            .expect("a file")
            .to_string_lossy()
            .into_owned();
        (name, std::fs::read(&path).expect("a readable file"))
    };
    files(&directory, &[".trace"])
        .into_iter()
        .map(read)
        .collect()
}

#[test]
fn corpus_files_are_accepted_or_refused_as_named() {
    let corpus = corpus();
    assert!(
        corpus.len() >= 10,
        "the corpus has only {} files",
        corpus.len()
    );
    for (name, text) in corpus {
        let result = parse(&text, &name);
        assert_eq!(
            result.is_ok(),
            name.starts_with("valid-"),
            "{name}: {result:?}"
        );
    }
}

fn written(trace: &DeliveryTrace) -> String {
    trace
        .opportunities_ms
        .iter()
        .map(|at_ms| format!("{at_ms}\n"))
        .collect()
}

/// An accepted trace makes a link that works, and stays the same when written and read again.
fn assert_sane(text: &[u8]) {
    let Ok(trace) = parse(text, "fuzz") else {
        return;
    };
    assert_eq!(parse(written(&trace), "fuzz").as_ref(), Ok(&trace));
    assert!(
        link_over(&trace.opportunities_ms).offer(ms(12_345), 1500, false) != Outcome::QueueDrop
    );
}

/// A text of the corpus with one part replaced.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let texts: Vec<Vec<u8>> = corpus().into_iter().map(|(_, text)| text).collect();
    let patch = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..8),
        "[0-9\r\n]{0,24}".prop_map(String::into_bytes)
    ];
    (
        prop::sample::select(texts),
        any::<(prop::sample::Index, prop::sample::Index)>(),
        patch,
    )
        .prop_map(|(mut text, (a, b), patch)| {
            let (a, b) = (a.index(text.len() + 1), b.index(text.len() + 1));
            text.splice(a.min(b)..a.max(b), patch);
            text
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn random_bytes_do_not_break_the_parser(text in prop::collection::vec(any::<u8>(), 0..200)) {
        assert_sane(&text);
    }

    #[test]
    fn trace_like_text_does_not_break_the_parser(text in "[0-9\r\n]{0,80}") {
        assert_sane(text.as_bytes());
    }

    #[test]
    fn damaged_traces_do_not_break_the_parser(text in mutated()) {
        assert_sane(&text);
    }

    #[test]
    fn a_valid_trace_is_read_as_it_was_written(
        gaps in prop::collection::vec(0u64..50, 0..200),
        last in 1u64..50,
    ) {
        let mut at_ms = 0;
        let mut opportunities_ms: Vec<u64> = gaps.iter().map(|gap| { at_ms += gap; at_ms }).collect();
        opportunities_ms.push(at_ms + last);
        let trace = DeliveryTrace { source: "round trip".into(), opportunities_ms };
        prop_assert_eq!(parse(written(&trace), "round trip"), Ok(trace));
    }
}
