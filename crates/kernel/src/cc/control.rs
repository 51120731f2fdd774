//! Writes the control plane's values for controllers: the map `jp_controls` of `bpf/maps.h`.

use std::io;
use std::net::{IpAddr, Ipv6Addr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::Duration;

use libbpf_rs::{ErrorKind, Map, MapCore, MapHandle};
use rustix::time::{ClockId, clock_gettime};

use super::entries::entries;
use crate::capability::Task;
use crate::error::{Doing, Error, Result};
use crate::namespace::Cookie;

/// Fraction bits of the values (`cc/mpcc.h`).
const COST_BITS: i32 = 16;
const SHARE_BITS: i32 = 20;
const PRICE_BITS: i32 = 16;
const LOSS_BITS: i32 = 30;
/// `1.0` in fixed point.
fn one(bits: i32) -> f64 {
    f64::from(bits).exp2()
}

const KEY_BYTES: usize = 40;
const VALUE_BYTES: usize = 16;
/// Key of the entry that holds the time of the last change.
const LAST_SAID: [u8; KEY_BYTES] = [0; KEY_BYTES];

/// Selects the subflows of one network namespace that a value is for. If several keys apply to a
/// subflow, the first variant wins, field by field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlKey {
    /// One subflow of a connection.
    Connection {
        /// Network namespace.
        netns: Cookie,
        /// The connection's local token.
        token: u32,
        /// The subflow's local address id.
        local_id: u8,
    },
    /// All subflows that send from this address.
    Address {
        /// Network namespace.
        netns: Cookie,
        /// Local address of the subflow.
        local: IpAddr,
    },
    /// All subflows that send through this interface.
    Interface {
        /// Network namespace.
        netns: Cookie,
        /// Index of the interface.
        ifindex: u32,
    },
}

/// One control value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Control {
    /// Energy per delivered bit relative to the siblings': only ratios count.
    EnergyCost(f64),
    /// Share of the traffic that this path should carry, 0..=1.
    TargetShare(f64),
    /// Price of the path's queues and energy.
    PathPrice(f64),
    /// Loss probability, 0..=1.
    Loss(f64),
    /// Rate at which segments may leave, bytes/s; 0: no limit.
    Pacing(u32),
    /// Subflows with the same number share a bottleneck; 0: none known. Only controllers that own
    /// their window read it.
    Group(u32),
    /// Lowest RTT known of the path, µs; 0: unknown. Only controllers that own their window read
    /// it.
    HistoryRtt(u32),
}

/// The field of a control value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u32)]
pub enum Field {
    /// See [`Control::EnergyCost`].
    EnergyCost,
    /// See [`Control::TargetShare`].
    TargetShare,
    /// See [`Control::PathPrice`].
    PathPrice,
    /// See [`Control::Loss`].
    Loss,
    /// See [`Control::Pacing`].
    Pacing,
    /// See [`Control::Group`].
    Group,
    /// See [`Control::HistoryRtt`].
    HistoryRtt,
}

/// How long a value is valid. Afterwards the controller behaves as if it had never been set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lease {
    /// For this time from now on, including suspended time. The writer renews the value before it
    /// ends; if the writer dies, the value ends.
    For(Duration),
    /// Until it is cleared: for maps that end with the process that writes them.
    WithTheMap,
}

/// The values that a subflow uses. Zero: not set.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Heard {
    /// See [`Control::EnergyCost`].
    pub energy_cost: f64,
    /// See [`Control::TargetShare`].
    pub target_share: f64,
    /// See [`Control::PathPrice`].
    pub path_price: f64,
    /// See [`Control::Loss`].
    pub loss: f64,
    /// See [`Control::Pacing`].
    pub pacing: u32,
    /// See [`Control::Group`].
    pub group: u32,
    /// See [`Control::HistoryRtt`].
    pub history_rtt_us: u32,
}

impl Field {
    /// Number of fields (`JP_FIELDS`).
    pub(super) const COUNT: usize = 7;
}

impl Control {
    /// The field that this value sets.
    pub fn field(self) -> Field {
        match self {
            Control::EnergyCost(_) => Field::EnergyCost,
            Control::TargetShare(_) => Field::TargetShare,
            Control::PathPrice(_) => Field::PathPrice,
            Control::Loss(_) => Field::Loss,
            Control::Pacing(_) => Field::Pacing,
            Control::Group(_) => Field::Group,
            Control::HistoryRtt(_) => Field::HistoryRtt,
        }
    }

    /// The value in the kernel's fixed point, limited to the largest that fits.
    fn fixed(self) -> u32 {
        let fixed = |value: f64, bits| (value * one(bits)).round() as u32;
        match self {
            Control::EnergyCost(cost) => fixed(cost, COST_BITS),
            Control::TargetShare(share) => fixed(share, SHARE_BITS),
            Control::PathPrice(price) => fixed(price, PRICE_BITS),
            Control::Loss(loss) => fixed(loss, LOSS_BITS),
            Control::Pacing(whole) | Control::Group(whole) | Control::HistoryRtt(whole) => whole,
        }
    }

    /// As `struct jp_control`.
    fn to_bytes(self, until_ns: u64) -> [u8; VALUE_BYTES] {
        let mut bytes = [0; VALUE_BYTES];
        bytes[..8].copy_from_slice(&until_ns.to_ne_bytes());
        bytes[8..12].copy_from_slice(&self.fixed().to_ne_bytes());
        bytes
    }
}

impl Heard {
    /// Converts from the kernel's fixed point, in the order of [`Field`].
    pub(super) fn new(
        [cost, share, price, loss, pacing, group, history]: [u32; Field::COUNT],
    ) -> Self {
        let number = |value: u32, bits| f64::from(value) / one(bits);
        Heard {
            energy_cost: number(cost, COST_BITS),
            target_share: number(share, SHARE_BITS),
            path_price: number(price, PRICE_BITS),
            loss: number(loss, LOSS_BITS),
            pacing,
            group,
            history_rtt_us: history,
        }
    }
}

impl ControlKey {
    /// As `struct jp_control_key`.
    fn to_bytes(self, field: Field) -> [u8; KEY_BYTES] {
        let (kind, netns, id, local_id, address): (u32, _, _, _, _) = match self {
            ControlKey::Connection {
                netns,
                token,
                local_id,
            } => (1, netns, token, u32::from(local_id), [0; 16]),
            ControlKey::Address { netns, local } => (2, netns, 0, 0, in_v6(local).octets()),
            ControlKey::Interface { netns, ifindex } => (3, netns, ifindex, 0, [0; 16]),
        };
        let mut bytes = [0; KEY_BYTES];
        bytes[..8].copy_from_slice(&netns.0.to_ne_bytes());
        for (to, word) in bytes[8..]
            .chunks_exact_mut(4)
            .zip([kind, field as u32, id, local_id])
        {
            to.copy_from_slice(&word.to_ne_bytes());
        }
        bytes[24..].copy_from_slice(&address);
        bytes
    }
}

/// The address as the kernel's dual-stack sockets write it: IPv4 as `::ffff:a.b.c.d`.
fn in_v6(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    }
}

/// The map that a controller reads. Each value is its own entry, so several writers do not disturb
/// each other.
pub struct Controls<'a>(Source<'a>);

enum Source<'a> {
    Object(Map<'a>),
    Pinned(MapHandle),
}

impl<'a> Controls<'a> {
    pub(super) fn of_object(map: Map<'a>) -> Self {
        Controls(Source::Object(map))
    }

    /// `None` if the entries have other sizes: the map is of another version.
    pub(super) fn pinned(map: MapHandle) -> Option<Self> {
        let fits = map.key_size() as usize == KEY_BYTES && map.value_size() as usize == VALUE_BYTES;
        fits.then_some(Controls(Source::Pinned(map)))
    }

    /// Sets a value. A subflow reads it within a window's ACKs, at most once per 10 ms, and once
    /// per 100 ms after ten seconds without a change.
    ///
    /// # Errors
    /// [`Error::Busy`] if the map is full: [`Self::sweep`] removes values whose lease has ended.
    pub fn set(&self, key: ControlKey, control: Control, lease: Lease) -> Result<()> {
        let until_ns = match lease {
            Lease::For(time) => {
                boot_ns().saturating_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
            }
            Lease::WithTheMap => u64::MAX,
        };
        let (key_bytes, value) = (key.to_bytes(control.field()), control.to_bytes(until_ns));
        let said = self.update(&key_bytes, &value).and_then(|()| self.note());
        said.map_err(|error| match error.raw_os_error() {
            Some(libc::E2BIG) => Error::Busy {
                what: format!("setting a control value for {key:?}"),
                why: "the map is full".into(),
                remedy: "set fewer values, or remove expired ones".into(),
            },
            _ => Error::task(
                Task::Controllers,
                format!("setting a control value for {key:?}"),
                error,
            ),
        })
    }

    /// Removes a value, which may be absent.
    ///
    /// # Errors
    /// [`Error::Run`] if the kernel refuses.
    pub fn clear(&self, key: ControlKey, field: Field) -> Result<()> {
        let taken = self
            .delete(&key.to_bytes(field))
            .map_err(io::Error::other)
            .and_then(|()| self.note());
        taken.map_err(|error| Error::Run(format!("removing a control value for {key:?}: {error}")))
    }

    /// Makes every subflow reread the map. Update the map first.
    fn note(&self) -> io::Result<()> {
        let mut value = [0; VALUE_BYTES];
        value[..8].copy_from_slice(&boot_ns().to_ne_bytes());
        self.update(&LAST_SAID, &value)
    }

    /// Removes all values whose lease has ended; returns how many.
    ///
    /// # Errors
    /// [`Error::Run`] if the kernel refuses.
    pub fn sweep(&self) -> Result<usize> {
        let all = match &self.0 {
            Source::Object(map) => entries(map),
            Source::Pinned(map) => entries(map),
        };
        let now_ns = boot_ns();
        let has_ended = |value: &[u8]| {
            value
                .first_chunk()
                .is_some_and(|until| u64::from_ne_bytes(*until) <= now_ns)
        };
        let mut swept = 0;
        let all = all.doing("reading control values")?;
        for (key, _) in all
            .iter()
            .filter(|(key, value)| *key != LAST_SAID && has_ended(value))
        {
            self.delete(key)
                .map_err(|error| Error::Run(format!("removing expired control values: {error}")))?;
            swept += 1;
        }
        Ok(swept)
    }

    fn update(&self, key: &[u8; KEY_BYTES], value: &[u8; VALUE_BYTES]) -> io::Result<()> {
        // SAFETY: the kernel reads a key and a value of the map's sizes, which are the arrays'
        // sizes (`bpf/maps.h` asserts them).
        let status = unsafe {
            let (key, value) = (key.as_ptr().cast(), value.as_ptr().cast());
            libbpf_sys::bpf_map_update_elem(
                self.fd().as_raw_fd(),
                key,
                value,
                libbpf_sys::BPF_ANY.into(),
            )
        };
        if status < 0 {
            Err(io::Error::from_raw_os_error(-status))
        } else {
            Ok(())
        }
    }

    fn fd(&self) -> BorrowedFd<'_> {
        match &self.0 {
            Source::Object(map) => map.as_fd(),
            Source::Pinned(map) => map.as_fd(),
        }
    }

    fn delete(&self, key: &[u8]) -> libbpf_rs::Result<()> {
        let deleted = match &self.0 {
            Source::Object(map) => map.delete(key),
            Source::Pinned(map) => map.delete(key),
        };
        deleted.or_else(|error| {
            if error.kind() == ErrorKind::NotFound {
                Ok(())
            } else {
                Err(error)
            }
        })
    }
}

/// The boot clock, ns. It includes suspended time.
pub(super) fn boot_ns() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_unchanged_after_fixed_point() {
        let said = [
            Control::EnergyCost(2.5),
            Control::TargetShare(0.25),
            Control::PathPrice(0.125),
            Control::Loss(1.0 / 1024.0),
            Control::Pacing(9),
            Control::Group(2),
            Control::HistoryRtt(40_000),
        ];
        let heard = Heard::new(said.map(Control::fixed));
        let expected = Heard {
            energy_cost: 2.5,
            target_share: 0.25,
            path_price: 0.125,
            loss: 1.0 / 1024.0,
            pacing: 9,
            group: 2,
            history_rtt_us: 40_000,
        };
        assert_eq!(heard, expected);
        assert_eq!(
            said.map(|control| control.field() as u32),
            [0, 1, 2, 3, 4, 5, 6]
        );
    }

    #[test]
    fn the_key_of_an_address_is_the_mapped_address_in_network_order() {
        let key = ControlKey::Address {
            netns: Cookie(7),
            local: [10, 1, 2, 3].into(),
        };
        let bytes = key.to_bytes(Field::Pacing);
        assert_eq!(bytes[..8], 7u64.to_ne_bytes());
        assert_eq!(
            bytes[8..16],
            [2u32.to_ne_bytes(), 4u32.to_ne_bytes()].concat()
        );
        assert_eq!(
            bytes[24..],
            [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 2, 3]
        );
    }
}
