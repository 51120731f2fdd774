//! WiFi interfaces, their networks and signals, over generic netlink (`nl80211`). Reading needs no
//! capability.

use std::time::Duration;

use crate::error::Result;
use crate::netlink::{Attributes, Generic, Known, Malformed, put};

const GET_INTERFACE: u8 = 5;
const GET_STATION: u8 = 17;
const INDEX: Known = Known(3, "NL80211_ATTR_IFINDEX");
const KIND: Known = Known(5, "NL80211_ATTR_IFTYPE");
const STATION: Known = Known(21, "NL80211_ATTR_STA_INFO");
const SSID: Known = Known(52, "NL80211_ATTR_SSID");
const INACTIVE: Known = Known(1, "NL80211_STA_INFO_INACTIVE_TIME");
const SIGNAL: Known = Known(7, "NL80211_STA_INFO_SIGNAL");
const MEAN_SIGNAL: Known = Known(13, "NL80211_STA_INFO_SIGNAL_AVG");
const BEACON_SIGNAL: Known = Known(30, "NL80211_STA_INFO_BEACON_SIGNAL_AVG");
/// `NL80211_IFTYPE_STATION`.
const CLIENT: u32 = 2;

/// A WiFi interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WirelessLink {
    /// Index of the device.
    pub device: u32,
    /// Name of the network that it is connected to.
    pub ssid: Option<Vec<u8>>,
    /// True if it is a client of an access point, which therefore is its only station.
    pub is_client: bool,
}

/// Signal of an access point at this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WirelessSignal {
    /// dBm. The mean over beacons, which come at one rate and power; else over frames; else of the
    /// last frame.
    pub dbm: i8,
    /// Time since the last frame from the access point.
    pub age: Duration,
}

/// The WiFi devices of the network namespace in which the value was opened.
#[derive(Debug)]
pub struct Wireless {
    family: Generic,
}

impl Wireless {
    /// Opens it in the network namespace of the calling thread; `None` if this kernel has no WiFi.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) if the process has no file descriptors left.
    pub fn open() -> Result<Option<Self>> {
        let family =
            Generic::open("nl80211", 1).map_err(|failure| failure.doing("finding WiFi devices"))?;
        Ok(family.map(|family| Wireless { family }))
    }

    /// All WiFi interfaces.
    ///
    /// # Errors
    /// [`Error::Malformed`](crate::Error::Malformed) if the kernel's answer cannot be parsed.
    pub fn links(&mut self) -> Result<Vec<WirelessLink>> {
        let listed = self.family.list(GET_INTERFACE, &[], parse);
        listed.map_err(|failure| failure.doing("listing WiFi devices"))
    }

    /// The signal of the access point of a client; `None` without one, or if the driver reports no
    /// dBm.
    ///
    /// # Errors
    /// As [`Self::links`]; [`Error::Io`](crate::Error::Io) if the device is gone.
    pub fn signal(&mut self, device: u32) -> Result<Option<WirelessSignal>> {
        let mut request = vec![];
        put(&mut request, INDEX.0, &device.to_ne_bytes());
        let listed = self.family.list(GET_STATION, &request, signal);
        listed
            .map(|all| all.first().copied())
            .map_err(|failure| failure.doing("reading a WiFi signal"))
    }
}

/// `None` for a device without an interface.
fn parse(attributes: Attributes<'_>) -> std::result::Result<Option<WirelessLink>, Malformed> {
    let Some(device) = attributes.u32(INDEX)? else {
        return Ok(None);
    };
    let ssid = attributes
        .bytes(SSID)
        .filter(|ssid| !ssid.is_empty())
        .map(<[u8]>::to_vec);
    let is_client = attributes.u32(KIND)? == Some(CLIENT);
    Ok(Some(WirelessLink {
        device,
        ssid,
        is_client,
    }))
}

/// `None` for a station without a signal or without the time of its last frame.
fn signal(attributes: Attributes<'_>) -> std::result::Result<Option<WirelessSignal>, Malformed> {
    let Some(station) = attributes.nested(STATION)? else {
        return Ok(None);
    };
    let mut dbm = None;
    for known in [SIGNAL, MEAN_SIGNAL, BEACON_SIGNAL] {
        // 0 is a driver's word for unknown: no antenna gets 1 mW.
        dbm = station
            .u8(known)?
            .map(|byte| byte as i8)
            .filter(|dbm| *dbm < 0)
            .or(dbm);
    }
    let age = station
        .u32(INACTIVE)?
        .map(|ms| Duration::from_millis(ms.into()));
    Ok(dbm.zip(age).map(|(dbm, age)| WirelessSignal { dbm, age }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::put_nested;

    #[test]
    fn an_interface_without_a_network_has_no_ssid() {
        let mut message = vec![];
        put(&mut message, INDEX.0, &3u32.to_ne_bytes());
        let link =
            |message: &[u8]| parse(Attributes::parse("a message", message).unwrap()).unwrap();
        assert_eq!(
            link(&message),
            Some(WirelessLink {
                device: 3,
                ssid: None,
                is_client: false
            })
        );
        put(&mut message, SSID.0, b"home 5 GHz");
        put(&mut message, KIND.0, &CLIENT.to_ne_bytes());
        let ssid = Some(b"home 5 GHz".to_vec());
        assert_eq!(
            link(&message),
            Some(WirelessLink {
                device: 3,
                ssid,
                is_client: true
            })
        );
        assert_eq!(link(&[]), None);
    }

    /// The signal of a station's message with these attributes of one or four bytes.
    fn read(attributes: &[(Known, &[u8])]) -> Option<WirelessSignal> {
        let (mut station, mut message) = (vec![], vec![]);
        attributes
            .iter()
            .for_each(|(known, value)| put(&mut station, known.0, value));
        put(&mut message, INDEX.0, &3u32.to_ne_bytes());
        put_nested(&mut message, STATION.0, &station);
        signal(Attributes::parse("a message", &message).unwrap()).unwrap()
    }

    #[test]
    fn beacons_precede_frames_and_a_signal_without_age_or_of_0_dbm_is_none() {
        let age = Duration::from_millis(120);
        let (inactive, said) = ((INACTIVE, &120u32.to_ne_bytes()[..]), |dbm| {
            Some(WirelessSignal { dbm, age })
        });
        let [frame, mean, beacon, none] = [-60i8, -62, -67, 0].map(|dbm| [dbm as u8]);
        assert_eq!(read(&[inactive, (SIGNAL, &frame)]), said(-60));
        assert_eq!(
            read(&[inactive, (MEAN_SIGNAL, &mean), (SIGNAL, &frame)]),
            said(-62)
        );
        assert_eq!(
            read(&[(BEACON_SIGNAL, &beacon), (SIGNAL, &frame), inactive]),
            said(-67)
        );
        assert_eq!(
            read(&[(BEACON_SIGNAL, &none), (SIGNAL, &frame), inactive]),
            said(-60)
        );
        assert_eq!(read(&[(SIGNAL, &frame)]), None);
        assert_eq!(read(&[inactive, (SIGNAL, &none)]), None);
        assert_eq!(read(&[inactive]), None);
        assert_eq!(
            signal(Attributes::parse("a message", &[]).unwrap()).unwrap(),
            None
        );
        let mut broken = vec![];
        put(&mut broken, SIGNAL.0, &[1, 2]);
        let mut message = vec![];
        put_nested(&mut message, STATION.0, &broken);
        assert!(signal(Attributes::parse("a message", &message).unwrap()).is_err());
    }

    #[test]
    fn no_message_causes_a_panic() {
        let (mut station, mut message) = (vec![], vec![]);
        put(&mut station, SIGNAL.0, &[-60i8 as u8]);
        put(&mut station, INACTIVE.0, &120u32.to_ne_bytes());
        put(&mut message, INDEX.0, &3u32.to_ne_bytes());
        put(&mut message, SSID.0, b"home");
        put_nested(&mut message, STATION.0, &station);
        joulepath_testbed::fuzz([message], |bytes| {
            if let Ok(attributes) = Attributes::parse("a message", bytes) {
                let _ = (parse(attributes).is_ok(), signal(attributes).is_ok());
            }
        });
    }
}
