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
    let mut head = [0; 512];
    let mut known = 0;
    while known < head.len() {
        match file.read(&mut head[known..])? {
            0 => break,
            more => known += more,
        }
    }
    file.rewind()?;
    let head = &head[..known];
    let file = BufReader::new(file);
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let recording = match text.trim_ascii_start().first() {
        Some(b'{') => har::read(file)?,
        _ if capture::is_capture(head) => capture::read(file, local)?,
        _ => return Err(Error::Format),
    };
    match recording.packets.is_empty() {
        true => Err(Error::Empty),
        false => Ok(recording),
    }
}
