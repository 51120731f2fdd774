//! Numbers as text.

/// `12.3 Mbit/s`.
pub(crate) fn mbit(bps: f64) -> String {
    format!("{} Mbit/s", short(bps / 1e6))
}

/// `12.3 ms`.
pub(crate) fn ms(seconds: f64) -> String {
    format!("{} ms", short(seconds * 1e3))
}

/// `2.5 %`.
pub(crate) fn percent(share: f64) -> String {
    format!("{} %", short(share * 100.0))
}

/// `150 kB`.
pub(crate) fn kb(bytes: f64) -> String {
    format!("{} kB", short(bytes / 1e3))
}

/// Three digits are enough.
fn short(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        size if size >= 99.5 => format!("{value:.0}"),
        size if size >= 9.95 => format!("{value:.1}").trim_end_matches(".0").to_owned(),
        size if size < 0.01 => format!("{value:.4}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        assert_eq!(
            [mbit(12.34e6), mbit(123.4e6), mbit(10e6)],
            ["12.3 Mbit/s", "123 Mbit/s", "10 Mbit/s"]
        );
        assert_eq!(
            [ms(0.001_234), percent(0.000_05), kb(0.0)],
            ["1.23 ms", "0.0050 %", "0 kB"]
        );
    }
}
