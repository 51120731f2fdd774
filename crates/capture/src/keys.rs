//! Keys of a connection and what RFC 8684 derives from them.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// Key of each end: client, server.
pub(crate) const KEYS: [u64; 2] = [0x6a6f_756c_6570_6101, 0x6a6f_756c_6570_6102];

fn digest(key: u64) -> [u8; 32] {
    Sha256::digest(key.to_be_bytes()).into()
}

/// Token: the first 32 bits of the key's SHA-256 (section 3.2).
pub(crate) fn token(key: u64) -> u32 {
    let [a, b, c, d, ..] = digest(key);
    u32::from_be_bytes([a, b, c, d])
}

/// Initial data sequence number: the last 64 bits (section 3.1).
pub(crate) fn initial_dsn(key: u64) -> u64 {
    let mut last = [0; 8];
    last.copy_from_slice(&digest(key)[24..]);
    u64::from_be_bytes(last)
}

/// HMAC of an MP_JOIN (section 3.2) with the keys and nonces of its sender and of the other end.
pub(crate) fn hmac(keys: [u64; 2], nonces: [u32; 2]) -> [u8; 32] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&keys[0].to_be_bytes());
    key[8..].copy_from_slice(&keys[1].to_be_bytes());
    let mut code = Hmac::<Sha256>::new_from_slice(&key).expect("HMAC takes a key of any length");
    nonces
        .iter()
        .for_each(|nonce| code.update(&nonce.to_be_bytes()));
    code.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SHA-256 of eight zero bytes is af5570f5…e5b2328de0e83dfc (FIPS 180-4).
    #[test]
    fn token_and_initial_dsn_are_the_ends_of_the_keys_hash() {
        assert_eq!(token(0), 0xaf55_70f5);
        assert_eq!(initial_dsn(0), 0xe5b2_328d_e0e8_3dfc);
    }

    /// The roles are swapped between the ends.
    #[test]
    fn each_end_has_its_own_code() {
        let [a, b] = KEYS;
        assert_ne!(hmac([a, b], [1, 2]), hmac([b, a], [2, 1]));
    }
}
