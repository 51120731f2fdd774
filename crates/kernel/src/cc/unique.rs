//! Names for controllers that are registered for a while.

use rustix::rand::{GetRandomFlags, getrandom};

/// Begins every name of a controller of this project.
const PREFIX: &str = "jp";

/// A name that no other controller of this machine has: the kernel's list of controllers is one for all
/// namespaces, and in two containers two processes may have one number. It has at most 15 bytes.
///
/// # Panics
/// If the kernel has no random numbers, which it has once it has booted.
pub fn unique_name() -> String {
    let mut bytes = [0; 8];
    let filled = getrandom(&mut bytes, GetRandomFlags::empty());
    assert_eq!(filled.expect("the kernel has random numbers"), bytes.len(), "few bytes come at once");
    format!("{PREFIX}{}", base36(u64::from_ne_bytes(bytes)))
}

/// With digits and small letters: u64::MAX has 13 of them.
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
    fn numbers_are_written_with_36_digits() {
        assert_eq!([0, 35, 36, 1295, 1296].map(base36), ["0", "z", "10", "zz", "100"]);
        // 36^12 < 2^64 < 36^13.
        assert_eq!(base36(u64::MAX).len(), 13);
    }

    #[test]
    fn no_name_comes_twice() {
        let names: std::collections::BTreeSet<String> = (0..1000).map(|_| unique_name()).collect();
        assert_eq!(names.len(), 1000);
        assert!(names.iter().all(|name| name.starts_with("jp") && name.len() <= 15), "{names:?}");
    }
}
