//! The device with its radios, and the cost of a plan by definition.

use joulepath_model::units::Watts;

use super::course::{Course, Flow};
use super::question::{Question, Within};
use super::radio::{MSS_BITS, Radio, flow};
use crate::slow_start;

/// Parts of the data within this relative difference are the same.
const NEAR: f64 = 1e-6;

/// Load of one path in a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Load {
    /// Payload.
    pub(super) bits: f64,
    /// Time during which data flows, s.
    pub(super) busy_s: f64,
}

/// The device: its paths and its shared base.
#[derive(Clone, Debug)]
pub(super) struct Device {
    pub(super) radios: Vec<Radio>,
    pub(super) base: Watts,
    /// Of each radio in a transfer: its path's course alone, from this time after `Radio::wake_s`
    /// on, s.
    alone: Vec<Option<(Course, f64)>>,
}

/// The device with each set of paths in use.
#[derive(Clone, Debug)]
pub(super) struct Devices {
    of_sets: Vec<Device>,
    /// Paths that may be used.
    usable: u32,
}

impl Devices {
    /// For `bits` of the question.
    pub(super) fn of(question: &Question, bits: f64) -> Self {
        let of_sets = (0..1 << question.paths.len())
            .map(|set| Device::of(question, set, bits))
            .collect();
        Devices {
            of_sets,
            usable: question.usable(),
        }
    }

    /// With `set` in use.
    pub(super) fn using(&self, set: u32) -> &Device {
        &self.of_sets[set as usize]
    }

    /// Sets of usable paths, small sets first: on a tie the smaller set wins.
    pub(super) fn sets(&self) -> Vec<u32> {
        let mut sets: Vec<u32> = (1..self.of_sets.len() as u32)
            .filter(|set| set & !self.usable == 0)
            .collect();
        sets.sort_by_key(|set| (set.count_ones(), *set));
        sets
    }
}

/// The paths of `set`.
pub(super) fn members(set: u32) -> impl Iterator<Item = usize> {
    (0..u32::BITS as usize).filter(move |r| set >> r & 1 == 1)
}

/// Time of a part of the data.
struct Line {
    from_s: f64,
    per_packet_s: f64,
}

impl Line {
    /// Through two pairs of packets and time; through the first and the origin if nothing would
    /// take less than no time.
    fn through([part, part_s]: [f64; 2], [whole, whole_s]: [f64; 2]) -> Self {
        let per_packet_s = (whole_s - part_s) / (whole - part);
        let from_s = part_s - part * per_packet_s;
        if whole > part * (1.0 + NEAR) && per_packet_s > 0.0 && from_s >= 0.0 {
            return Line {
                from_s,
                per_packet_s,
            };
        }
        Line {
            from_s: 0.0,
            per_packet_s: part_s / part,
        }
    }
}

/// A subflow of a transfer.
struct Part {
    flow: Flow,
    course: Course,
    /// When its first data arrives, s.
    from_s: f64,
}

/// The packets that each subflow carries if it is sent what its window admits until nothing is
/// left, and when the last of them arrives, s.
fn split(packets: f64, parts: &[Part]) -> (Vec<f64>, f64) {
    let sent = |part: &Part, at_s: f64| part.course.sent(&part.flow, at_s - part.from_s);
    let alone_s = parts
        .iter()
        .map(|part| part.from_s + part.course.time_s(packets));
    let alone_s = alone_s.fold(f64::INFINITY, f64::min);
    let sent_s = slow_start::time_s(packets, alone_s, |at_s| {
        parts.iter().map(|part| sent(part, at_s)).sum()
    });
    // A window leaves at once: what it has too much counts for no path.
    let all: f64 = parts.iter().map(|part| sent(part, sent_s)).sum();
    let carried: Vec<f64> = parts
        .iter()
        .map(|part| sent(part, sent_s) * packets / all)
        .collect();
    let ends_s = parts
        .iter()
        .zip(&carried)
        .filter(|(_, carried)| **carried > 0.0);
    let ends_s = ends_s.map(|(part, carried)| part.from_s + part.course.time_s(*carried));
    let end_s = ends_s.fold(0.0, f64::max);
    (carried, end_s)
}

impl Device {
    /// The device while `set` carries `bits`. A stream flows at its rate from the start. A transfer
    /// takes each path a time that is linear in its part, and right for two parts: that of the
    /// fastest plan, and all.
    pub(super) fn of(question: &Question, set: u32, bits: f64) -> Self {
        let mut radios: Vec<Radio> = question
            .paths
            .iter()
            .map(|path| Radio::new(path, 0.0))
            .collect();
        let used: Vec<usize> = members(set).collect();
        let paths = used.iter().map(|&r| &question.paths[r]);
        let alone: Vec<Flow> = paths.map(|path| flow(path, question.capacity)).collect();
        let mut flows = alone.clone();
        question.coupling.couple(&mut flows);
        if matches!(question.within, Within::Rate(_)) {
            for (&r, flow) in used.iter().zip(&flows) {
                radios[r].rate_bps = MSS_BITS * flow.lasting_pps();
            }
            return Device {
                radios,
                base: question.base,
                alone: vec![],
            };
        }
        let mut courses = vec![None; radios.len()];
        let packets = bits / MSS_BITS;
        // The first path opens; the others join when the server has answered (RFC 8684, section
        // 3.2).
        let answer_s = used
            .first()
            .map_or(0.0, |&first| radios[first].wake_s + flows[0].rtt_s);
        let joins_s = |k: usize| if k == 0 { 0.0 } else { answer_s };
        let part = |(k, (&r, &flow)): (usize, (&usize, &Flow))| {
            let course = Course::of(&flow, packets);
            Part {
                flow,
                from_s: joins_s(k) + radios[r].wake_s + course.opening_s,
                course,
            }
        };
        let parts: Vec<Part> = used.iter().zip(&flows).enumerate().map(part).collect();
        let (carried, end_s) = split(packets, &parts);
        for (k, &r) in used.iter().enumerate() {
            let Part {
                flow,
                course,
                from_s,
            } = &parts[k];
            let busy_s = if carried[k] > 0.0 {
                end_s - from_s
            } else {
                0.0
            };
            let whole = Course::of(&alone[k], packets);
            let line = Line::through([carried[k], busy_s], [packets, whole.time_s(packets)]);
            courses[r] = Some((whole, -line.from_s));
            let path = &question.paths[r];
            radios[r] = radios[r]
                .flowing(path, flow, 1.0 / line.per_packet_s)
                .opening(joins_s(k), course.opening_s + line.from_s);
        }
        Device {
            radios,
            base: question.base,
            alone: courses,
        }
    }

    /// The same plan with the times of the paths' courses, where a part takes longer than its line
    /// says.
    pub(super) fn in_full(&self, set: u32, point: &Point) -> Point {
        let mut loads = point.loads.clone();
        for (load, alone) in loads.iter_mut().zip(&self.alone) {
            if let Some((course, from_s)) = alone {
                load.busy_s = load
                    .busy_s
                    .max(from_s + course.time_s(load.bits / MSS_BITS));
            }
        }
        Point::of(self, set, loads)
    }

    /// The fastest way to carry `bits` over all of `set`: every path is busy until the end.
    pub(super) fn fastest(&self, set: u32, bits: f64) -> Point {
        let mut radios: Vec<&Radio> = members(set).map(|r| &self.radios[r]).collect();
        radios.sort_by(|a, b| a.wake_s.total_cmp(&b.wake_s));
        // With the first k radios awake: Σ C (T − wake) = bits. Another radio helps if it wakes
        // before T.
        let (mut rate, mut asleep_bits, mut end_s) = (0.0, 0.0, f64::INFINITY);
        for radio in radios {
            if radio.wake_s >= end_s {
                break;
            }
            rate += radio.rate_bps;
            asleep_bits += radio.rate_bps * radio.wake_s;
            end_s = (bits + asleep_bits) / rate;
        }
        let mut loads = vec![Load::default(); self.radios.len()];
        for r in members(set) {
            let busy_s = (end_s - self.radios[r].wake_s).max(0.0);
            loads[r] = Load {
                bits: busy_s * self.radios[r].rate_bps,
                busy_s,
            };
        }
        Point::of(self, set, loads)
    }

    /// Lower bound on the energy of every plan for `bits` over `set`, J: one use of each path, and
    /// all bits at the best ratio of power to rate.
    pub(super) fn least_joules(&self, set: u32, bits: f64) -> f64 {
        let mut radios: Vec<&Radio> = members(set).map(|r| &self.radios[r]).collect();
        let per_bit = |radio: &Radio| {
            radio.slope_j_per_bit
                + if radio.until_end {
                    0.0
                } else {
                    radio.used_w / radio.rate_bps
                }
        };
        radios.sort_by(|a, b| per_bit(a).total_cmp(&per_bit(b)));
        let always = self.radios.iter().any(|radio| radio.active_when_unused);
        let active = radios.iter().all(|radio| radio.active_when_used);
        let base_w = if always || active { self.base.0 } else { 0.0 };
        let fixed_w = self.power_until_end(set) + base_w;
        // With the cheapest k radios at work. The next radio lowers the ratio if its own ratio is
        // lower.
        let (mut rate, mut power, mut ratio) = (0.0, fixed_w, f64::INFINITY);
        for radio in &radios {
            rate += radio.rate_bps;
            power += per_bit(radio) * radio.rate_bps;
            ratio = f64::min(ratio, power / rate);
        }
        let least = |of: fn(&Radio) -> f64| {
            radios
                .iter()
                .map(|radio| of(radio))
                .fold(f64::INFINITY, f64::min)
        };
        let tail_j = if active {
            self.base.0 * least(|radio| radio.tail_s)
        } else {
            0.0
        };
        let uses_j: f64 = radios.iter().map(|radio| radio.use_j).sum();
        uses_j + fixed_w * least(|radio| radio.wake_s) + ratio * bits + tail_j
    }

    /// End of a plan, s.
    pub(super) fn seconds(&self, set: u32, loads: &[Load]) -> f64 {
        members(set)
            .map(|r| self.radios[r].wake_s + loads[r].busy_s)
            .fold(0.0, f64::max)
    }

    /// Energy from the first promotion to the end of the last tail, J. All interfaces of `set` wake
    /// at 0.
    pub(super) fn joules(&self, set: u32, loads: &[Load]) -> f64 {
        let seconds = self.seconds(set, loads);
        let mut joules = 0.0;
        let mut active_s = 0.0;
        for (r, (radio, load)) in self.radios.iter().zip(loads).enumerate() {
            if radio.active_when_unused {
                active_s = f64::max(active_s, seconds);
            }
            if set >> r & 1 == 0 {
                joules += radio.unused_w * seconds;
                continue;
            }
            let asleep_s = radio.wake_s + load.busy_s + radio.tail_s;
            let (used_s, unused_s, end_s) = match radio.until_end {
                true => (seconds, 0.0, seconds),
                false => (load.busy_s, (seconds - asleep_s).max(0.0), asleep_s),
            };
            joules += radio.use_j
                + radio.slope_j_per_bit * load.bits
                + radio.used_w * used_s
                + radio.unused_w * unused_s;
            if radio.active_when_used {
                active_s = f64::max(active_s, end_s);
            }
        }
        joules + self.base.0 * active_s
    }

    /// Power that burns from 0 to the end for any loads, W.
    pub(super) fn power_until_end(&self, set: u32) -> f64 {
        let power = |(r, radio): (usize, &Radio)| match (set >> r & 1 == 1, radio.until_end) {
            (false, _) => radio.unused_w,
            (true, true) => radio.used_w,
            (true, false) => 0.0,
        };
        self.radios.iter().enumerate().map(power).sum()
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) loads: Vec<Load>,
    pub(super) bits: f64,
    pub(super) seconds: f64,
    pub(super) joules: f64,
}

impl Point {
    /// A point computed from its loads by definition.
    pub(super) fn of(device: &Device, set: u32, loads: Vec<Load>) -> Self {
        Point {
            bits: loads.iter().map(|load| load.bits).sum(),
            seconds: device.seconds(set, &loads),
            joules: device.joules(set, &loads),
            loads,
        }
    }

    /// The point at fraction `part` of the way to `other`.
    pub(super) fn towards(&self, other: &Point, part: f64, device: &Device, set: u32) -> Point {
        let mix = |a: f64, b: f64| a + (b - a) * part;
        let loads = self.loads.iter().zip(&other.loads);
        let mixed = loads.map(|(a, b)| Load {
            bits: mix(a.bits, b.bits),
            busy_s: mix(a.busy_s, b.busy_s),
        });
        Point::of(device, set, mixed.collect())
    }
}
