//! Reads recordings of any format.

use std::io::{BufReader, Read, Seek};
use std::net::IpAddr;

use crate::recording::{Error, Recording};
use crate::{capture, har};

/// Reads a pcap, pcapng or HAR file. `local`: addresses of the device, if known.
///
/// # Errors
/// If the file cannot be read, is of another format, or is empty.
pub fn read(mut file: impl Read + Seek + Send, local: &[IpAddr]) -> Result<Recording, Error> {
    let mut head = vec![];
    file.by_ref().take(512).read_to_end(&mut head)?;
    file.rewind()?;
    let file = BufReader::new(file);
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&head);
    let recording = match text.trim_ascii_start().first() {
        Some(b'{') => har::read(file)?,
        _ if capture::is_capture(&head) => capture::read(file, local)?,
        _ => return Err(Error::Format),
    };
    match recording.packets.is_empty() {
        true => Err(Error::Empty),
        false => Ok(recording),
    }
}
