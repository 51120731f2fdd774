//! Names for controllers that are registered temporarily.

use rustix::rand::{GetRandomFlags, getrandom};

/// Prefix of the names.
const PREFIX: &str = "jp";

/// A random name, unique on this machine: all namespaces share one list of controllers, and
/// processes in two containers may have the same process id. At most 15 bytes.
///
/// # Panics
/// If the kernel has no random numbers, which is possible only during boot.
pub fn unique_name() -> String {
    let mut bytes = [0; 8];
    let filled = getrandom(&mut bytes, GetRandomFlags::empty());
    assert_eq!(
        filled.expect("the kernel has random numbers"),
        bytes.len(),
        "few bytes come at once"
    );
    format!("{PREFIX}{}", base36(u64::from_ne_bytes(bytes)))
}

/// Digits and small letters; u64::MAX takes 13.
fn base36(mut number: u64) -> String {
    let mut digits = vec![];
    loop {
        digits.push(char::from_digit((number % 36) as u32, 36).expect("a digit below 36"));
        number /= 36;
        if number == 0 {
            return digits.iter().rev().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_in_base_36() {
        assert_eq!(
            [0, 35, 36, 1295, 1296].map(base36),
            ["0", "z", "10", "zz", "100"]
        );
        // 36^12 < 2^64 < 36^13.
        assert_eq!(base36(u64::MAX).len(), 13);
    }

    #[test]
    fn names_are_unique() {
        let names: std::collections::BTreeSet<String> = (0..1000).map(|_| unique_name()).collect();
        assert_eq!(names.len(), 1000);
        assert!(
            names
                .iter()
                .all(|name| name.starts_with("jp") && name.len() <= 15),
            "{names:?}"
        );
    }
}
