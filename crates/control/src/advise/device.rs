//! The device with its radios, and the cost of a plan by definition.

use joulepath_model::units::Watts;

use super::radio::Radio;

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
}

impl Device {
    /// Sets of paths, small sets first: on a tie the smaller set wins.
    pub(super) fn sets(&self) -> Vec<u32> {
        let mut sets: Vec<u32> = (1..1 << self.radios.len()).collect();
        sets.sort_by_key(|set| (set.count_ones(), *set));
        sets
    }

    /// The paths of `set`.
    pub(super) fn members(&self, set: u32) -> impl Iterator<Item = usize> + use<> {
        (0..self.radios.len()).filter(move |r| set >> r & 1 == 1)
    }

    /// The fastest way to carry `bits` over all of `set`: every path is busy until the end.
    pub(super) fn fastest(&self, set: u32, bits: f64) -> Point {
        let mut members: Vec<&Radio> = self.members(set).map(|r| &self.radios[r]).collect();
        members.sort_by(|a, b| a.wake_s.total_cmp(&b.wake_s));
        // With the first k radios awake: Σ C (T − wake) = bits. Another radio helps if it wakes before T.
        let (mut rate, mut asleep_bits, mut end_s) = (0.0, 0.0, f64::INFINITY);
        for radio in members {
            if radio.wake_s >= end_s {
                break;
            }
            rate += radio.rate_bps;
            asleep_bits += radio.rate_bps * radio.wake_s;
            end_s = (bits + asleep_bits) / rate;
        }
        let mut loads = vec![Load::default(); self.radios.len()];
        for r in self.members(set) {
            let busy_s = (end_s - self.radios[r].wake_s).max(0.0);
            loads[r] = Load { bits: busy_s * self.radios[r].rate_bps, busy_s };
        }
        Point::of(self, set, loads)
    }

    /// Lower bound on the energy of every plan for `bits` over `set`, J: one use of each path, and all bits
    /// at the best ratio of power to rate.
    pub(super) fn least_joules(&self, set: u32, bits: f64) -> f64 {
        let mut members: Vec<&Radio> = self.members(set).map(|r| &self.radios[r]).collect();
        let per_bit = |radio: &Radio| {
            radio.slope_j_per_bit + if radio.until_end { 0.0 } else { radio.used_w / radio.rate_bps }
        };
        members.sort_by(|a, b| per_bit(a).total_cmp(&per_bit(b)));
        let always = self.radios.iter().any(|radio| radio.active_when_unused);
        let active = members.iter().all(|radio| radio.active_when_used);
        let base_w = if always || active { self.base.0 } else { 0.0 };
        let fixed_w = self.power_until_end(set) + base_w;
        // With the cheapest k radios at work. The next radio lowers the ratio if its own ratio is lower.
        let (mut rate, mut power, mut ratio) = (0.0, fixed_w, f64::INFINITY);
        for radio in &members {
            rate += radio.rate_bps;
            power += per_bit(radio) * radio.rate_bps;
            ratio = f64::min(ratio, power / rate);
        }
        let least =
            |of: fn(&Radio) -> f64| members.iter().map(|radio| of(radio)).fold(f64::INFINITY, f64::min);
        let tail_j = if active { self.base.0 * least(|radio| radio.tail_s) } else { 0.0 };
        let uses_j: f64 = members.iter().map(|radio| radio.use_j).sum();
        uses_j + fixed_w * least(|radio| radio.wake_s) + ratio * bits + tail_j
    }

    /// End of a plan, s.
    pub(super) fn seconds(&self, set: u32, loads: &[Load]) -> f64 {
        self.members(set).map(|r| self.radios[r].wake_s + loads[r].busy_s).fold(0.0, f64::max)
    }

    /// Energy from the first promotion to the end of the last tail, J. All interfaces of `set` wake at 0.
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
        let mixed = loads.map(|(a, b)| Load { bits: mix(a.bits, b.bits), busy_s: mix(a.busy_s, b.busy_s) });
        Point::of(device, set, mixed.collect())
    }
}
