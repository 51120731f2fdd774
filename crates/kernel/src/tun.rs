//! TUN devices: network interfaces whose packets a process reads and writes.
//!
//! They are opened without `IFF_VNET_HDR`: the kernel segments large packets and computes every
//! checksum in software, so one read returns one packet.

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags, open};
use rustix::net::{AddressFamily, SocketType, netdevice, socket};

use crate::capability::Task;
use crate::error::{Doing, Error, Result};

/// A TUN device, which exists until its file descriptor is closed.
#[derive(Debug)]
pub struct Tun {
    file: OwnedFd,
    index: u32,
}

impl Tun {
    /// Creates a device in the calling thread's namespace. Reads and writes do not block.
    ///
    /// # Errors
    /// [`Error::Permission`] without `CAP_NET_ADMIN`; [`Error::Unsupported`] without TUN in the
    /// kernel; [`Error::Io`] if the name is in use or too long.
    pub fn new(name: &str) -> Result<Self> {
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file =
            open("/dev/net/tun", flags, Mode::empty()).map_err(|error| not_opened(error.into()))?;
        let doing = format!("creating the TUN device {name}");
        attach(file.as_fd(), name).doing_task(Task::Tun, &doing)?;
        let socket = socket(AddressFamily::INET, SocketType::DGRAM, None).doing(&doing)?;
        let index = netdevice::name_to_index(socket, name).doing(doing)?;
        Ok(Tun { file, index })
    }

    /// Its interface index.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Reads the next packet that the kernel sends through the device.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] if there is none.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::read(&self.file, buffer)?)
    }

    /// Passes a packet to the kernel as if the device had received it.
    ///
    /// # Errors
    /// `EIO` while the device is down.
    pub fn send(&self, packet: &[u8]) -> io::Result<()> {
        rustix::io::write(&self.file, packet)?;
        Ok(())
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Creates the device behind an open `/dev/net/tun`.
fn attach(file: BorrowedFd<'_>, name: &str) -> io::Result<()> {
    // SAFETY: `ifreq` is a plain C structure, for which all zeros is a valid value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if name.len() >= request.ifr_name.len() || name.contains('\0') {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: TUNSETIFF reads and writes one `ifreq`, which outlives the call.
    let done: c_int = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &mut request) };
    if done < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

fn not_opened(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::NotFound => Error::Unsupported {
            what: "emulated links".into(),
            why: "there is no /dev/net/tun".into(),
            remedy: "load the module with `modprobe tun`, or use a kernel with CONFIG_TUN".into(),
        },
        _ => Error::io("opening /dev/net/tun", error),
    }
}
