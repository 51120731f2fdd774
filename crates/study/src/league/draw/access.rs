//! A radio with its rate, RTT, loss, queue and energy.

use super::dice::{Dice, significant};
use super::ranges::{
    ACTIVE_MW, BUFFER_BDP, IN_BURSTS, LEAST_QUEUE, LOSS, LOSSY, PER_MBPS_MW, QUEUES, Queue, RADIOS, Radio,
    SETS,
};

/// Bits on the wire of a full segment.
pub(super) const SEGMENT_BITS: f64 = 12_000.0;
/// Payload of it, bits.
const PAYLOAD_BITS: f64 = 11_680.0;
/// Bursts of lost packets: half of the packets are lost for ten packets on average.
const LEAVE_BAD: f64 = 0.1;
const LOSS_BAD: f64 = 0.5;

/// Which energy models the radios of a draw have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Energy {
    /// Linear, by profile.
    Linear,
    /// Linear, with numbers of their own.
    Drawn,
    /// Radio state machines.
    Rrc,
}

/// A radio.
pub(super) struct Access {
    pub(super) name: &'static str,
    pub(super) rate_bps: f64,
    /// How the rate changes, as TOML; none if it is constant.
    pub(super) varying: Option<String>,
    /// As TOML; empty if there are none.
    pub(super) outages: String,
    rtt_ms: f64,
    loss: Option<Loss>,
    pub(super) queue: Queue,
    /// Capacity of its queue in bandwidth-delay products.
    buffer_bdp: f64,
    /// As TOML.
    energy: String,
}

struct Loss {
    probability: f64,
    in_bursts: bool,
}

/// The radios of a draw.
pub(super) fn radios(dice: &mut Dice) -> Vec<Access> {
    let set = SETS[dice.below(SETS.len() as u64) as usize];
    let energy = [Energy::Linear, Energy::Drawn, Energy::Rrc][dice.below(3) as usize];
    let queue = QUEUES[dice.below(QUEUES.len() as u64) as usize];
    let known = |name: &&str| RADIOS.iter().find(|radio| radio.name == *name);
    set.iter().filter_map(known).map(|radio| Access::of(radio, energy, queue, dice)).collect()
}

impl Access {
    fn of(radio: &Radio, energy: Energy, queue: Queue, dice: &mut Dice) -> Self {
        Access {
            name: radio.name,
            rate_bps: 1e6 * dice.log(radio.rate.0, radio.rate.1),
            varying: None,
            outages: String::new(),
            rtt_ms: dice.log(radio.rtt.0, radio.rtt.1),
            loss: dice
                .chance(LOSSY)
                .then(|| Loss { probability: dice.log(LOSS.0, LOSS.1), in_bursts: dice.chance(IN_BURSTS) }),
            queue,
            buffer_bdp: dice.log(BUFFER_BDP.0, BUFFER_BDP.1),
            energy: energy_of(radio, energy, dice),
        }
    }

    /// What one TCP would carry: the link's rate, or what random loss leaves (Mathis et al., CCR 27(3), 1997:
    /// MSS/RTT · √(3/2p)), bit/s.
    pub(super) fn friendly_bps(&self) -> f64 {
        let by_loss = |loss: &Loss| PAYLOAD_BITS / (self.rtt_ms / 1e3) * libm::sqrt(1.5 / loss.probability);
        self.loss.as_ref().map_or(f64::INFINITY, by_loss).min(self.rate_bps)
    }

    /// A path on a link of its own.
    pub(super) fn path(&self) -> String {
        let rate = self.varying.clone().unwrap_or_else(|| rate_text(self.rate_bps));
        format!(
            "\n[[path]]\nname = \"{}\"\nrate = {rate}\n{}{}{}energy = {}\n",
            self.name,
            self.delay(),
            self.losses(),
            self.queue_keys(self.rate_bps),
            self.energy
        )
    }

    /// Name of a bottleneck before it.
    pub(super) fn bottleneck(&self) -> &'static str {
        match self.name {
            "wifi" => "bottleneck1",
            _ => "bottleneck2",
        }
    }

    /// A link with its rate, delay, loss and queue that others may use, too.
    pub(super) fn link(&self, name: &str, rate_bps: f64) -> String {
        format!(
            "\n[[link]]\nname = \"{name}\"\nrate = {}\n{}{}{}",
            rate_text(rate_bps),
            self.delay(),
            self.losses(),
            self.queue_keys(rate_bps)
        )
    }

    /// A path through a link before it, which is its bottleneck; its own link adds this part of the radio's
    /// RTT.
    pub(super) fn far_path(&self, via: &str, part: f64) -> String {
        let delay_ms = significant(part * self.rtt_ms / 2.0);
        format!(
            "\n[[path]]\nname = \"{}\"\nvia = [\"{via}\"]\ndelay = \"{delay_ms} ms\"\nenergy = {}\n",
            self.name, self.energy
        )
    }

    fn delay(&self) -> String {
        format!("delay = \"{} ms\"\n", significant(self.rtt_ms / 2.0))
    }

    fn queue_keys(&self, rate_bps: f64) -> String {
        let bdp = rate_bps * self.rtt_ms / 1e3 / SEGMENT_BITS;
        (self.queue.keys)(((self.buffer_bdp * bdp).round() as u32).max(LEAST_QUEUE))
    }

    fn losses(&self) -> String {
        let mut keys = String::new();
        if let Some(Loss { probability, in_bursts }) = self.loss {
            let percent = |part: f64| format!("{} %", significant(100.0 * part));
            // A part b of the packets meets the bad state, and half of those are lost: p = b/2, where
            // b = enter/(enter + leave).
            let bad = probability / LOSS_BAD;
            let enter = LEAVE_BAD * bad / (1.0 - bad);
            keys = match in_bursts {
                false => format!("loss = \"{}\"\n", percent(probability)),
                true => format!(
                    "loss = {{ enter_bad = \"{}\", leave_bad = \"{}\", loss_bad = \"{}\" }}\n",
                    percent(enter),
                    percent(LEAVE_BAD),
                    percent(LOSS_BAD)
                ),
            };
        }
        if !self.outages.is_empty() {
            keys += &format!("outages = {}\n", self.outages);
        }
        keys
    }
}

fn rate_text(bps: f64) -> String {
    format!("\"{} Mbit/s\"", significant(bps / 1e6))
}

fn energy_of(radio: &Radio, energy: Energy, dice: &mut Dice) -> String {
    match (energy, radio.linear) {
        (Energy::Linear, Some(profile)) => format!("\"{profile}\""),
        (Energy::Rrc, _) => format!("\"{}\"", radio.rrc),
        (Energy::Linear | Energy::Drawn, _) => format!(
            "{{ per_mbps = \"{} mW\", active = \"{} mW\", sunk_while = \"open\" }}",
            dice.log(PER_MBPS_MW.0, PER_MBPS_MW.1),
            dice.log(ACTIVE_MW.0, ACTIVE_MW.1)
        ),
    }
}
