//! A radio with its rate, RTT, loss, queue and energy model, and its TOML.

use super::dice::{Dice, significant};
use super::ranges::{
    ACTIVE_MW, BUFFER_BDP, IN_BURSTS, LEAST_QUEUE, LOSS, LOSSY, PER_MBPS_MW, QUEUES, Queue, RADIOS,
    Radio, SETS,
};

/// Size of a full segment on the wire, bits.
pub(super) const SEGMENT_BITS: f64 = 12_000.0;
/// Payload of a full segment, bits.
const PAYLOAD_BITS: f64 = 11_680.0;
/// Probability of leaving the bad state of bursty loss in ranked families: a bad state lasts ten
/// packets on average and loses half of them.
const LEAVE_BAD: f64 = 0.1;
const LOSS_BAD: f64 = 0.5;

/// Energy models of the radios of a draw.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Energy {
    /// Linear, from a profile.
    Linear,
    /// Linear, with random numbers.
    Drawn,
    /// Radio state machine.
    Rrc,
}

pub(super) struct Access {
    pub(super) name: &'static str,
    pub(super) rate_bps: f64,
    /// Changes of the rate, as TOML; `None` if it is constant.
    pub(super) varying: Option<String>,
    /// Outages as TOML; may be empty.
    pub(super) outages: String,
    pub(super) rtt_ms: f64,
    pub(super) loss: Option<Loss>,
    pub(super) queue: Queue,
    /// Capacity of its queue, bandwidth-delay products.
    pub(super) buffer_bdp: f64,
    /// Minimum capacity of its queue, packets.
    pub(super) least_queue: u32,
    /// Energy model as TOML.
    pub(super) energy: String,
    /// Further keys of the link, as TOML.
    pub(super) more: String,
    /// Keys of the data's direction only, as TOML, such as a policer.
    pub(super) one_way: String,
    /// Keys of the direction to the server, as TOML.
    pub(super) up: String,
    /// Whether the data goes to the server.
    pub(super) is_upload: bool,
}

#[derive(Clone, Copy)]
pub(super) struct Loss {
    pub(super) probability: f64,
    /// Probability of leaving the bad state, if losses come in bursts.
    pub(super) leave_bad: Option<f64>,
}

/// The radios of a draw.
pub(super) fn radios(dice: &mut Dice) -> Vec<Access> {
    let set = SETS[dice.below(SETS.len() as u64) as usize];
    let energy = [Energy::Linear, Energy::Drawn, Energy::Rrc][dice.below(3) as usize];
    let queue = QUEUES[dice.below(QUEUES.len() as u64) as usize];
    let known = |name: &&str| RADIOS.iter().find(|radio| radio.name == *name);
    set.iter()
        .filter_map(known)
        .map(|radio| Access::of(radio, energy, queue, dice))
        .collect()
}

impl Access {
    fn of(radio: &Radio, energy: Energy, queue: Queue, dice: &mut Dice) -> Self {
        Access {
            name: radio.name,
            rate_bps: 1e6 * dice.log(radio.rate.0, radio.rate.1),
            varying: None,
            outages: String::new(),
            rtt_ms: dice.log(radio.rtt.0, radio.rtt.1),
            loss: dice.chance(LOSSY).then(|| Loss {
                probability: dice.log(LOSS.0, LOSS.1),
                leave_bad: dice.chance(IN_BURSTS).then_some(LEAVE_BAD),
            }),
            queue,
            buffer_bdp: dice.log(BUFFER_BDP.0, BUFFER_BDP.1),
            least_queue: LEAST_QUEUE,
            energy: energy_of(radio, energy, dice),
            more: String::new(),
            one_way: String::new(),
            up: String::new(),
            is_upload: false,
        }
    }

    /// Copies the link of `first`.
    pub(super) fn become_twin_of(&mut self, first: &Access) {
        *self = Access {
            name: self.name,
            energy: std::mem::take(&mut self.energy),
            varying: None,
            outages: String::new(),
            more: first.more.clone(),
            one_way: first.one_way.clone(),
            up: first.up.clone(),
            ..*first
        };
    }

    /// Limits the queue to one packet.
    pub(super) fn have_one_place(&mut self) {
        self.queue = Queue {
            name: "droptail",
            ecn: false,
            keys: |packets| format!("queue = \"{packets} packets\"\n"),
        };
        (self.buffer_bdp, self.least_queue) = (0.0, 1);
        self.one_way = String::new();
    }

    /// Throughput of one TCP flow, bit/s: the link's rate, or the rate that random loss permits
    /// (Mathis et al., CCR 27(3), 1997: MSS/RTT · √(3/2p)).
    pub(super) fn friendly_bps(&self) -> f64 {
        let by_loss =
            |loss: &Loss| PAYLOAD_BITS / (self.rtt_ms / 1e3) * libm::sqrt(1.5 / loss.probability);
        self.loss
            .as_ref()
            .map_or(f64::INFINITY, by_loss)
            .min(self.rate_bps)
    }

    /// TOML of a path on a link of its own.
    pub(super) fn path(&self) -> String {
        let rate = self
            .varying
            .clone()
            .unwrap_or_else(|| rate_text(self.rate_bps));
        let (down, up) = self.ways();
        format!(
            "\n[[path]]\nname = \"{}\"\nrate = {rate}\n{}{down}{}{}energy = {}\n{}",
            self.name,
            self.delay(),
            self.queue_keys(self.rate_bps),
            self.more,
            self.energy,
            table("path.up", &up)
        )
    }

    /// Keys that differ between the directions: to the device, and to the server.
    fn ways(&self) -> (String, String) {
        let of_data = self.losses() + &self.one_way;
        match self.is_upload {
            false => (of_data + &self.outages(), self.up.clone()),
            true => (self.outages(), of_data + &self.up),
        }
    }

    /// Name of its bottleneck.
    pub(super) fn bottleneck(&self) -> &'static str {
        match self.name {
            "wifi" => "bottleneck1",
            _ => "bottleneck2",
        }
    }

    /// TOML of a link with this radio's delay, loss and queue that other flows may share.
    pub(super) fn link(&self, name: &str, rate_bps: f64) -> String {
        let (down, up) = self.ways();
        format!(
            "\n[[link]]\nname = \"{name}\"\nrate = {}\n{}{down}{}{}{}",
            rate_text(rate_bps),
            self.delay(),
            self.queue_keys(rate_bps),
            self.more,
            table("link.up", &up)
        )
    }

    /// TOML of a path through the bottleneck `via`. Its own link adds `part` of the radio's RTT.
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
        (self.queue.keys)(((self.buffer_bdp * bdp).round() as u32).max(self.least_queue))
    }

    fn losses(&self) -> String {
        let mut keys = String::new();
        if let Some(Loss {
            probability,
            leave_bad,
        }) = self.loss
        {
            let percent = |part: f64| format!("{} %", significant(100.0 * part));
            // A fraction b of the packets meets the bad state, which loses half of them: p = b/2
            // with b = enter/(enter + leave).
            let bad = probability / LOSS_BAD;
            keys = match leave_bad {
                None => format!("loss = \"{}\"\n", percent(probability)),
                Some(leave) => format!(
                    "loss = {{ enter_bad = \"{}\", leave_bad = \"{}\", loss_bad = \"{}\" }}\n",
                    percent(leave * bad / (1.0 - bad)),
                    percent(leave),
                    percent(LOSS_BAD)
                ),
            };
        }
        keys
    }

    /// Outages of both directions.
    fn outages(&self) -> String {
        if self.outages.is_empty() {
            String::new()
        } else {
            format!("outages = {}\n", self.outages)
        }
    }
}

/// A TOML table, or nothing if it has no keys.
fn table(name: &str, keys: &str) -> String {
    if keys.is_empty() {
        String::new()
    } else {
        format!("[{name}]\n{keys}")
    }
}

pub(super) fn rate_text(bps: f64) -> String {
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
