//! Statistics of reordering: blocks of consecutive segments, and the data that waits for earlier
//! segments.

use std::collections::VecDeque;

use joulepath_model::result::{BlockSeries, BlockStats, Spread};

/// Segments per block (004, section IV).
const BLOCK: u32 = 100;

/// The first arrival of an untouched block.
const UNTOUCHED: u64 = u64::MAX;

/// Most blocks in a series. Beyond this, every second one is dropped.
const MOST_IN_SERIES: usize = 4096;

/// A complete block.
#[derive(Clone, Copy)]
struct Block {
    complete_ns: u64,
    /// Time since its first arrival, ns.
    duration_ns: u64,
    /// Number of arrived segments, from its first one on, when it was complete.
    buffer: u32,
}

impl Block {
    /// 004, eq. 1: payload over its arrival time, bit/s.
    fn goodput_bps(&self, bits: f64) -> f64 {
        bits * 1e9 / self.duration_ns.max(1) as f64
    }
}

/// The order of arrival on one connection. Fields that every segment touches come first.
#[repr(C)]
pub(crate) struct Reception {
    /// First DSN of the first untouched block; all blocks before it are touched.
    touched: u32,
    /// First DSN after the first incomplete block.
    block_end: u32,
    /// Segments that wait for an earlier one, at the subflows and at the connection.
    held: u32,
    /// The part of `held` at the subflows.
    pub(crate) held_by_subflows: u32,
    /// Indexed by the number of waiting segments: how long that many waited, ns.
    held_ns: Vec<u64>,
    held_since_ns: u64,
    /// First arrivals of the incomplete blocks, ns.
    first_ns: VecDeque<u64>,
    blocks: Vec<Block>,
    series: Option<Thinned>,
}

/// A series that stores every `stride`-th block.
#[derive(Default)]
struct Thinned {
    blocks: Vec<Block>,
    stride: usize,
    seen: usize,
}

impl Thinned {
    fn push(&mut self, block: Block) {
        if self.blocks.len() == MOST_IN_SERIES {
            let mut nth = 0;
            self.blocks.retain(|_| {
                nth += 1;
                nth % 2 == 1
            });
            self.stride *= 2;
        }
        if self.seen.is_multiple_of(self.stride) {
            self.blocks.push(block);
        }
        self.seen += 1;
    }
}

impl Reception {
    /// An empty reception at `now_ns`. `series`: whether to store the blocks in order.
    pub(crate) fn new(series: bool, now_ns: u64) -> Self {
        Reception {
            held: 0,
            held_since_ns: now_ns,
            held_ns: vec![0],
            held_by_subflows: 0,
            touched: 0,
            first_ns: VecDeque::new(),
            block_end: BLOCK,
            blocks: vec![],
            series: series.then(|| Thinned {
                stride: 1,
                ..Thinned::default()
            }),
        }
    }

    /// Records the arrival of any copy of segment `dsn`.
    #[inline]
    pub(crate) fn arrive(&mut self, dsn: u32, now_ns: u64) {
        if dsn >= self.touched {
            self.touch(dsn, now_ns);
        }
    }

    #[cold]
    fn touch(&mut self, dsn: u32, now_ns: u64) {
        let index = ((dsn + BLOCK - self.block_end) / BLOCK) as usize;
        if index >= self.first_ns.len() {
            self.first_ns.resize(index + 1, UNTOUCHED);
        }
        if self.first_ns[index] == UNTOUCHED {
            self.first_ns[index] = now_ns;
        }
        let touched = self
            .first_ns
            .iter()
            .take_while(|&&first_ns| first_ns != UNTOUCHED)
            .count() as u32;
        self.touched = self.block_end - BLOCK + touched * BLOCK;
    }

    /// Records that everything below `next` is in order and `held` segments wait at the connection.
    #[inline]
    pub(crate) fn settle(&mut self, next: u32, held: u32, now_ns: u64) {
        let held = held + self.held_by_subflows;
        if held != self.held {
            self.note_held(held, now_ns);
        }
        while next >= self.block_end {
            self.complete(next + held, now_ns);
        }
    }

    #[inline(never)]
    fn note_held(&mut self, held: u32, now_ns: u64) {
        self.change_held(held, now_ns);
    }

    #[inline(always)]
    fn change_held(&mut self, held: u32, now_ns: u64) {
        self.bring_up(now_ns);
        self.held = held;
        if held as usize >= self.held_ns.len() {
            self.make_room(held);
        }
    }

    #[cold]
    fn make_room(&mut self, held: u32) {
        self.held_ns.resize(2 * held as usize + 1, 0);
    }

    /// Adds the time since the last change.
    #[inline(always)]
    pub(crate) fn bring_up(&mut self, now_ns: u64) {
        // No segment waits before the connection starts.
        let until_ns = now_ns.max(self.held_since_ns);
        self.held_ns[self.held as usize] += until_ns - self.held_since_ns;
        self.held_since_ns = until_ns;
    }

    /// Completes the first block, after `arrived` segments in total.
    #[cold]
    fn complete(&mut self, arrived: u32, now_ns: u64) {
        let first_ns = self
            .first_ns
            .pop_front()
            .filter(|&first_ns| first_ns != UNTOUCHED)
            .unwrap_or(now_ns);
        let buffer = arrived - (self.block_end - BLOCK);
        self.block_end += BLOCK;
        let block = Block {
            complete_ns: now_ns,
            duration_ns: now_ns - first_ns,
            buffer,
        };
        self.blocks.push(block);
        if let Some(series) = &mut self.series {
            series.push(block);
        }
    }

    /// Ends the warm-up: resets the statistics.
    pub(crate) fn begin_measurement(&mut self, now_ns: u64) {
        self.bring_up(now_ns);
        self.held_ns.fill(0);
        self.blocks.clear();
    }

    /// Number of segments that wait for an earlier one.
    pub(crate) fn held(&self) -> u32 {
        self.held
    }

    fn series(&self, bits: f64) -> Option<BlockSeries> {
        let blocks = &self.series.as_ref()?.blocks;
        Some(BlockSeries {
            time_s: blocks
                .iter()
                .map(|block| block.complete_ns as f64 / 1e9)
                .collect(),
            goodput_bps: blocks.iter().map(|block| block.goodput_bps(bits)).collect(),
            buffer: blocks.iter().map(|block| f64::from(block.buffer)).collect(),
        })
    }
}

/// Number of segments that wait for an earlier one, over time, for all connections.
pub(crate) fn held<'a>(all: impl Iterator<Item = &'a Reception>) -> Option<Spread> {
    let time = |(held, &ns): (usize, &u64)| (held as f64, ns as f64);
    Spread::of(
        all.flat_map(|reception| reception.held_ns.iter().enumerate().map(time))
            .collect(),
    )
}

/// The blocks of all connections; segments have `mss_bytes`.
pub(crate) fn blocks<'a>(
    all: impl Iterator<Item = &'a Reception> + Clone,
    mss_bytes: u64,
) -> Option<BlockStats> {
    let bits = block_bits(mss_bytes);
    let blocks = || all.clone().flat_map(|reception| &reception.blocks);
    Some(BlockStats {
        segments: BLOCK,
        count: blocks().count() as u64,
        goodput_bps: Spread::of(
            blocks()
                .map(|block| (block.goodput_bps(bits), 1.0))
                .collect(),
        )?,
        buffer: Spread::of(
            blocks()
                .map(|block| (f64::from(block.buffer), 1.0))
                .collect(),
        )?,
    })
}

/// The blocks of the connection that stores them; segments have `mss_bytes`.
pub(crate) fn block_series<'a>(
    mut all: impl Iterator<Item = &'a Reception>,
    mss_bytes: u64,
) -> Option<BlockSeries> {
    all.find_map(|reception| reception.series(block_bits(mss_bytes)))
}

fn block_bits(mss_bytes: u64) -> f64 {
    f64::from(BLOCK) * mss_bytes as f64 * 8.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In order, a segment every 1 ms: 100 segments take 99 ms from the first arrival to the last,
    /// and none waits.
    #[test]
    fn an_in_order_block_needs_room_for_itself_only() {
        let mut reception = Reception::new(true, 0);
        for dsn in 0..200 {
            let now_ns = u64::from(dsn) * 1_000_000;
            reception.arrive(dsn, now_ns);
            reception.settle(dsn + 1, 0, now_ns);
        }
        reception.bring_up(200_000_000);
        let all = || std::iter::once(&reception);
        let stats = blocks(all(), 1000).unwrap();
        assert_eq!((stats.segments, stats.count), (100, 2));
        assert_eq!((stats.buffer.min, stats.buffer.max), (100.0, 100.0));
        // 100 × 8000 bit / 99 ms.
        assert!(
            (stats.goodput_bps.mean - 8e8 / 99.0).abs() < 1.0,
            "{}",
            stats.goodput_bps.mean
        );
        assert_eq!(block_series(all(), 1000).unwrap().time_s, [0.099, 0.199]);
        assert_eq!(held(all()).unwrap().max, 0.0);
    }

    /// 99 segments of the first block and 50 of the second arrive at 1 s, the first segment at 3 s:
    /// 149 wait for two of three seconds.
    #[test]
    fn segments_after_a_late_one_wait_for_it() {
        let mut reception = Reception::new(false, 0);
        for dsn in 1..150 {
            reception.arrive(dsn, 1_000_000_000);
            reception.settle(0, dsn, 1_000_000_000);
        }
        reception.arrive(0, 3_000_000_000);
        reception.settle(150, 0, 3_000_000_000);
        let stats = blocks(std::iter::once(&reception), 1000).unwrap();
        assert_eq!((stats.count, stats.buffer.max), (1, 150.0));
        assert_eq!(stats.goodput_bps.mean, 8e5 / 2.0);
        let held = held(std::iter::once(&reception)).unwrap();
        assert_eq!((held.min, held.max), (0.0, 149.0));
        assert!(
            (held.mean - 149.0 * 2.0 / 3.0).abs() < 1e-9,
            "{}",
            held.mean
        );
    }

    /// A scheduler that sends later segments first touches the third block first.
    #[test]
    fn blocks_may_begin_out_of_order() {
        let mut reception = Reception::new(false, 0);
        reception.arrive(250, 1);
        reception.settle(0, 1, 1);
        for dsn in 0..250 {
            reception.arrive(dsn, 10 + u64::from(dsn));
            reception.settle(
                if dsn == 249 { 251 } else { dsn + 1 },
                u32::from(dsn != 249),
                10 + u64::from(dsn),
            );
        }
        for dsn in 251..300 {
            reception.arrive(dsn, 1000);
            reception.settle(dsn + 1, 0, 1000);
        }
        let durations: Vec<u64> = reception
            .blocks
            .iter()
            .map(|block| block.duration_ns)
            .collect();
        assert_eq!(durations, [99, 99, 999]);
    }

    #[test]
    fn a_long_series_is_thinned_evenly() {
        let mut thinned = Thinned {
            stride: 1,
            ..Thinned::default()
        };
        for complete_ns in 0..20_000 {
            thinned.push(Block {
                complete_ns,
                duration_ns: 1,
                buffer: 100,
            });
        }
        assert!((MOST_IN_SERIES / 2..=MOST_IN_SERIES).contains(&thinned.blocks.len()));
        let gaps = thinned
            .blocks
            .windows(2)
            .map(|pair| pair[1].complete_ns - pair[0].complete_ns);
        assert!(gaps.into_iter().all(|gap| gap == thinned.stride as u64));
    }
}
