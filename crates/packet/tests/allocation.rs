//! A packet in steady state does not allocate: measured with a counting allocator.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use joulepath_packet::RunOptions;

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call is passed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller guarantees it.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller guarantees it.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller guarantees it.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Allocations and packet-hops of a run on two paths with loss, jitter, cross traffic and a
/// competitor. `keys` belong to the second path.
fn cost(policy: &str, keys: &str, seconds: u32) -> (u64, u64) {
    let toml = format!(
        r#"
        duration = "{seconds} s"
        [[path]]
        name = "wifi"
        rate = "10 Mbit/s"
        delay = "10 ms"
        loss = "0.5 %"
        jitter = "1 ms"
        energy = "wifi-huang2012"
        [[path]]
        name = "lte"
        rate = "20 Mbit/s"
        delay = "30 ms"
        {keys}
        energy = "lte-huang2012"
        [[competitor]]
        name = "tcp"
        path = "lte"
        [[cross]]
        path = "wifi"
        kind = "constant"
        rate = "1 Mbit/s"
        [workload]
        kind = "bulk"
        "#
    );
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    let result = common::simulate(&toml, policy, 1, RunOptions::default());
    (
        ALLOCATIONS.load(Ordering::Relaxed) - before,
        result.counters.packet_hops,
    )
}

/// Rings and tables grow to the lengths that a run needs, and stay. Twice the time then costs no
/// more allocations, except for rare longer excursions: less than one per 100,000 packet-hops.
#[test]
fn a_longer_run_does_not_allocate_more() {
    let waiting = [
        "mptcp[scheduler=blest]",
        "mptcp[scheduler=ecf]",
        "mptcp[scheduler=daps]",
        "emtcp",
        "so-mptcp",
    ];
    let ahead = [
        "mptcp[scheduler=sttf]",
        "cwa-proactive[spaced=on]",
        "redundant",
    ];
    for policy in [
        "lia",
        "uncoupled",
        "olia[scheduler=round-robin]",
        "linux",
        "mptcp[cc=joule]",
    ]
    .into_iter()
    .chain(waiting)
    .chain(ahead)
    {
        grows_no_more(policy, "");
    }
    for aqm in ["codel", "fq-codel", "pie", "dualpi2"] {
        grows_no_more("lia", &format!("aqm = \"{aqm}\""));
    }
    let passing = "reorder = { share = \"2 %\", depth = \"4 packets\" }\naggregate = { period = \"4 ms\" }\n\
                   policer = { rate = \"15 Mbit/s\", burst = \"100 kB\" }";
    grows_no_more("lia", passing);
}

fn grows_no_more(policy: &str, keys: &str) {
    let (short, short_hops) = cost(policy, keys, 200);
    let (long, long_hops) = cost(policy, keys, 400);
    let per_hop = (long as f64 - short as f64) / (long_hops - short_hops) as f64;
    println!(
        "{policy} {keys}: {short} allocations in 200 s, {long} in 400 s; {per_hop:.2e} per packet-hop"
    );
    assert!(
        per_hop < 1e-5,
        "{policy} {keys}: {per_hop} allocations per packet-hop"
    );
}
