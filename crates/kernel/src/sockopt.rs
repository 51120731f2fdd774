//! Socket options that no crate provides: options that return a structure, and numbers of rare
//! levels.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd};

/// Level of MPTCP's options.
pub(crate) const SOL_MPTCP: libc::c_int = 284;
/// `MPTCP_INFO`, Linux 5.16.
pub(crate) const MPTCP_INFO: libc::c_int = 1;
/// `MPTCP_TCPINFO`, Linux 5.16.
pub(crate) const MPTCP_TCPINFO: libc::c_int = 2;
/// `MPTCP_SUBFLOW_ADDRS`, Linux 5.16.
pub(crate) const MPTCP_SUBFLOW_ADDRS: libc::c_int = 3;
/// `MPTCP_FULL_INFO`, Linux 6.5.
pub(crate) const MPTCP_FULL_INFO: libc::c_int = 4;

/// Fills `buffer` and returns the part that the kernel wrote. Older kernels write less.
pub(crate) fn get(
    fd: impl AsFd,
    level: libc::c_int,
    name: libc::c_int,
    buffer: &mut [u8],
) -> io::Result<&[u8]> {
    let mut len = libc::socklen_t::try_from(buffer.len()).map_err(io::Error::other)?;
    // SAFETY: the kernel writes at most `len` bytes to `buffer`, which has that length.
    let status = unsafe {
        libc::getsockopt(
            fd.as_fd().as_raw_fd(),
            level,
            name,
            buffer.as_mut_ptr().cast(),
            &raw mut len,
        )
    };
    if status < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(&buffer[..(len as usize).min(buffer.len())])
}

/// Binds a socket to a device and one of its addresses.
pub(crate) fn bind_to(socket: impl AsFd, device: u32, source: IpAddr) -> io::Result<()> {
    set_u32(&socket, libc::SOL_SOCKET, libc::SO_BINDTOIFINDEX, device)?;
    Ok(rustix::net::bind(&socket, &SocketAddr::from((source, 0)))?)
}

/// Sets an option with a numeric value.
pub(crate) fn set_u32(
    fd: impl AsFd,
    level: libc::c_int,
    name: libc::c_int,
    value: u32,
) -> io::Result<()> {
    let length = size_of::<u32>() as libc::socklen_t;
    // SAFETY: the kernel reads `length` bytes of `value`, which lives until the call returns.
    let status = unsafe {
        libc::setsockopt(
            fd.as_fd().as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            length,
        )
    };
    if status < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// A kernel structure. Older kernels write only its first part.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl Fields<'_> {
    fn array<const N: usize>(self, at: usize) -> Option<[u8; N]> {
        self.0.get(at..)?.first_chunk().copied()
    }

    /// The byte at this offset, if the kernel wrote it.
    pub(crate) fn u8(self, at: usize) -> Option<u8> {
        self.array::<1>(at).map(|[byte]| byte)
    }

    /// The u16 at this offset, if the kernel wrote it.
    pub(crate) fn u16(self, at: usize) -> Option<u16> {
        self.array(at).map(u16::from_ne_bytes)
    }

    /// The u32 at this offset, if the kernel wrote it.
    pub(crate) fn u32(self, at: usize) -> Option<u32> {
        self.array(at).map(u32::from_ne_bytes)
    }

    /// The u64 at this offset, if the kernel wrote it.
    pub(crate) fn u64(self, at: usize) -> Option<u64> {
        self.array(at).map(u64::from_ne_bytes)
    }
}
