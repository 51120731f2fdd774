//! WiFi interfaces and their networks, over generic netlink (`nl80211`). Reading needs no capability.

use crate::error::Result;
use crate::netlink::{Attributes, Generic, Known, Malformed};

const GET_INTERFACE: u8 = 5;
const INDEX: Known = Known(3, "NL80211_ATTR_IFINDEX");
const SSID: Known = Known(52, "NL80211_ATTR_SSID");

/// A WiFi interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WirelessLink {
    /// Index of the device.
    pub device: u32,
    /// Name of the network that it is connected to.
    pub ssid: Option<Vec<u8>>,
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
        let family = Generic::open("nl80211", 1).map_err(|failure| failure.doing("finding WiFi devices"))?;
        Ok(family.map(|family| Wireless { family }))
    }

    /// All WiFi interfaces.
    ///
    /// # Errors
    /// [`Error::Malformed`](crate::Error::Malformed) if the kernel's answer cannot be parsed.
    pub fn links(&mut self) -> Result<Vec<WirelessLink>> {
        self.family.list(GET_INTERFACE, parse).map_err(|failure| failure.doing("listing WiFi devices"))
    }
}

/// `None` for a device without an interface.
fn parse(attributes: Attributes<'_>) -> std::result::Result<Option<WirelessLink>, Malformed> {
    let Some(device) = attributes.u32(INDEX)? else { return Ok(None) };
    let ssid = attributes.bytes(SSID).filter(|ssid| !ssid.is_empty()).map(<[u8]>::to_vec);
    Ok(Some(WirelessLink { device, ssid }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::put;

    #[test]
    fn an_interface_without_a_network_has_no_ssid() {
        let mut message = vec![];
        put(&mut message, INDEX.0, &3u32.to_ne_bytes());
        let link = |message: &[u8]| parse(Attributes::parse("a message", message).unwrap()).unwrap();
        assert_eq!(link(&message), Some(WirelessLink { device: 3, ssid: None }));
        put(&mut message, SSID.0, b"home 5 GHz");
        assert_eq!(link(&message), Some(WirelessLink { device: 3, ssid: Some(b"home 5 GHz".to_vec()) }));
        assert_eq!(link(&[]), None);
    }
}
