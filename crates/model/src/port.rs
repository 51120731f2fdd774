//! Ports of servers, as users write them.

use std::str::FromStr;

/// A server of this machine: a port of its loopback address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// Its number.
    pub number: u16,
    /// UDP; otherwise TCP.
    pub udp: bool,
}

/// `8000`, `8000/tcp` or `4433/udp`.
impl FromStr for Port {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, protocol) = text.split_once('/').unwrap_or((text, "tcp"));
        let number = number.parse().ok().filter(|&number: &u16| number > 0);
        match (number, protocol) {
            (Some(number), "tcp" | "udp") => Ok(Port {
                number,
                udp: protocol == "udp",
            }),
            _ => Err("use a port from 1 to 65535, like 8000, or 4433/udp".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_has_a_protocol() {
        let udp = Port {
            number: 4433,
            udp: true,
        };
        assert_eq!("4433/udp".parse(), Ok(udp));
        assert_eq!("4433/tcp".parse(), Ok(Port { udp: false, ..udp }));
        assert_eq!("4433".parse::<Port>(), "4433/tcp".parse());
        for wrong in ["0", "65536", "", "/udp", "4433/sctp", "http"] {
            assert!(wrong.parse::<Port>().is_err(), "{wrong}");
        }
    }
}
