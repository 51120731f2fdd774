//! Reads all entries of a map.

use std::io;
use std::os::fd::AsRawFd;

use libbpf_rs::MapCore;

/// Entries that one system call returns.
const BATCH: usize = 4096;

/// Keys and values. An entry that is added or removed meanwhile may be missing; all others appear
/// exactly once.
pub(super) fn entries(map: &impl MapCore) -> io::Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let (key_bytes, value_bytes) = (map.key_size() as usize, map.value_size() as usize);
    let mut all = vec![];
    let mut batch = BATCH;
    // Where the next batch starts: the number of a bucket for a hash map.
    let (mut from, mut next) = (None::<Vec<u8>>, vec![0; key_bytes.max(size_of::<u32>())]);
    loop {
        let (mut keys, mut values) = (vec![0; batch * key_bytes], vec![0; batch * value_bytes]);
        let mut count = batch as u32;
        let options = libbpf_sys::bpf_map_batch_opts {
            sz: size_of::<libbpf_sys::bpf_map_batch_opts>() as _,
            ..Default::default()
        };
        // SAFETY: the buffers have room for `count` keys and values. `from` and `next` have room
        // for a key and at least a u32, which is what the kernel writes there. All live until the
        // call returns.
        let status = unsafe {
            libbpf_sys::bpf_map_lookup_batch(
                map.as_fd().as_raw_fd(),
                from.as_mut()
                    .map_or(std::ptr::null_mut(), |from| from.as_mut_ptr().cast()),
                next.as_mut_ptr().cast(),
                keys.as_mut_ptr().cast(),
                values.as_mut_ptr().cast(),
                &raw mut count,
                &raw const options,
            )
        };
        match -status {
            libc::EINTR => continue,
            // A bucket has more entries than the batch.
            libc::ENOSPC => {
                batch *= 2;
                continue;
            }
            0 | libc::ENOENT => {}
            errno => return Err(io::Error::from_raw_os_error(errno)),
        }
        let pairs = keys
            .chunks_exact(key_bytes)
            .zip(values.chunks_exact(value_bytes));
        all.extend(
            pairs
                .take(count as usize)
                .map(|(key, value)| (key.to_vec(), value.to_vec())),
        );
        if status != 0 {
            return Ok(all);
        }
        from = Some(next.clone());
    }
}
