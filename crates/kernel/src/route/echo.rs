//! Asks hosts for an echo over one path.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, ipproto};

use crate::error::{Doing, Result};
use crate::sockopt::bind_to;

const REQUEST: [u8; 2] = [8, 128];
const REPLY: [u8; 2] = [0, 129];
/// Type, code, checksum, identifier and sequence number.
const HEADER: usize = 8;
/// Space for an IPv4 header with options, which raw sockets deliver, and the message.
const MOST: usize = 128;

/// Packets read in one call.
const MOST_AT_ONCE: usize = 64;

/// A socket for ICMP echoes from one address of a device. Needs `net.ipv4.ping_group_range` for the
/// process's group, as systemd sets it, or `CAP_NET_RAW`.
#[derive(Debug)]
pub struct Echo {
    socket: OwnedFd,
    is_v4: bool,
    /// Identifier of a raw socket, which gets the echoes of all programs.
    raw: Option<u16>,
}

impl Echo {
    /// Opens it.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) without the right, or if the address or the device is gone.
    pub fn open(device: u32, source: IpAddr) -> Result<Self> {
        let doing = "opening a socket for echoes";
        let (family, protocol) = match source {
            IpAddr::V4(_) => (AddressFamily::INET, ipproto::ICMP),
            IpAddr::V6(_) => (AddressFamily::INET6, ipproto::ICMPV6),
        };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let open = |kind| rustix::net::socket_with(family, kind, flags, Some(protocol));
        let (socket, raw) = match open(SocketType::DGRAM) {
            Err(Errno::ACCESS) => {
                let socket = open(SocketType::RAW).doing(doing)?;
                (socket, Some(std::process::id() as u16))
            }
            socket => (socket.doing(doing)?, None),
        };
        bind_to(&socket, device, source).doing(doing)?;
        let is_v4 = source.is_ipv4();
        Ok(Echo { socket, is_v4, raw })
    }

    /// Asks `host`.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) if there is no route.
    pub fn ask(&self, host: IpAddr, sequence: u16) -> Result<()> {
        let mut message = [0; HEADER];
        message[0] = REQUEST[usize::from(!self.is_v4)];
        // The kernel replaces it on a socket that is not raw.
        message[4..6].copy_from_slice(&self.raw.unwrap_or(0).to_be_bytes());
        message[6..8].copy_from_slice(&sequence.to_be_bytes());
        // IPv6 has more in the sum: the kernel computes it.
        let sum = if self.is_v4 { checksum(&message) } else { 0 };
        message[2..4].copy_from_slice(&sum.to_be_bytes());
        let to = SocketAddr::from((host, 0));
        rustix::net::sendto(&self.socket, &message, SendFlags::empty(), &to)
            .doing("asking for an echo")?;
        Ok(())
    }

    /// The sequence numbers of the echoes that have arrived. Errors of single packets are skipped.
    pub fn answers(&self) -> Vec<u16> {
        let mut all = vec![];
        let mut buffer = [0; MOST];
        for _ in 0..MOST_AT_ONCE {
            match rustix::net::recv(&self.socket, &mut buffer[..], RecvFlags::empty()) {
                Ok((length, _)) => all.extend(self.sequence(&buffer[..length])),
                Err(Errno::AGAIN) => break,
                // For example *host unreachable*, which is no answer.
                Err(_) => {}
            }
        }
        all
    }

    fn sequence(&self, packet: &[u8]) -> Option<u16> {
        let header = match self.raw {
            Some(_) if self.is_v4 => usize::from(packet.first()? & 0xf) * 4,
            _ => 0,
        };
        let message = packet.get(header..header + HEADER)?;
        let number = |at: usize| u16::from_be_bytes([message[at], message[at + 1]]);
        let is_own = self.raw.is_none_or(|own| own == number(4));
        (message[0] == REPLY[usize::from(!self.is_v4)] && is_own).then(|| number(6))
    }
}

/// RFC 1071.
fn checksum(message: &[u8; HEADER]) -> u16 {
    let words = message.chunks_exact(2);
    let sum: u32 = words
        .map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])))
        .sum();
    !((sum & 0xffff) + (sum >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_makes_the_sum_of_all_words_zero() {
        // 0x0800 + 0x1234 + 0xf00f = 0x1_0a43; with the carry 0x0a44.
        assert_eq!(checksum(&[8, 0, 0, 0, 0x12, 0x34, 0xf0, 0x0f]), !0x0a44);
    }
}
