//! Mahimahi's packet-delivery traces: one line per opportunity, in milliseconds since the start.
//!
//! The format is that of Mahimahi's `mm-link` (Netravali et al., USENIX ATC 2015): decimal
//! integers, one per line, never decreasing, the last above 0; no comments or blank lines. A
//! missing final newline and CR LF are accepted.

use joulepath_model::network::DeliveryTrace;

/// Longest accepted trace: 10¹⁰ ms are 116 days. A longer trace is in another unit.
pub const MAX_MS: u64 = 10_000_000_000;

/// Reason why a trace could not be read: the position, and the fix. It never quotes the text,
/// because an untrusted scenario may name a file with confidential content.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// No line at all.
    #[error(
        "{trace}: the trace is empty; write one line per 1500 bytes, the milliseconds since the start"
    )]
    Empty {
        /// Name of the trace.
        trace: String,
    },
    /// A line that is not a decimal integer.
    #[error(
        "{trace}:{line}: this is not a whole number of milliseconds; write one per line, such as `17`, \
         without blank lines and comments"
    )]
    NotANumber {
        /// Name of the trace.
        trace: String,
        /// Line, from 1.
        line: usize,
    },
    /// A line beyond [`MAX_MS`].
    #[error(
        "{trace}:{line}: this is more than {MAX_MS} ms (116 days); is the trace in µs or ns? divide it"
    )]
    TooLarge {
        /// Name of the trace.
        trace: String,
        /// Line, from 1.
        line: usize,
    },
    /// A line earlier than the one before.
    #[error(
        "{trace}:{line}: this is earlier than the line before; sort the lines in ascending order"
    )]
    Backwards {
        /// Name of the trace.
        trace: String,
        /// Line, from 1.
        line: usize,
    },
    /// A trace of zero length, which could not be repeated.
    #[error(
        "{trace}:{line}: the trace ends at 0 ms, so it has no duration to repeat it after; \
         end it with a line above 0"
    )]
    NoDuration {
        /// Name of the trace.
        trace: String,
        /// Line, from 1.
        line: usize,
    },
}

/// Reads a trace. `source` is its name in messages and results.
///
/// # Errors
/// The first line that violates Mahimahi's format.
pub fn parse(text: impl AsRef<[u8]>, source: &str) -> Result<DeliveryTrace, TraceError> {
    let text = text.as_ref();
    if text.is_empty() {
        return Err(TraceError::Empty {
            trace: source.into(),
        });
    }
    let mut opportunities_ms = Vec::new();
    for (index, line) in text
        .strip_suffix(b"\n")
        .unwrap_or(text)
        .split(|&byte| byte == b'\n')
        .enumerate()
    {
        let ms = parse_line(line.strip_suffix(b"\r").unwrap_or(line), source, index + 1)?;
        match opportunities_ms.last() {
            Some(&before_ms) if ms < before_ms => {
                return Err(TraceError::Backwards {
                    trace: source.into(),
                    line: index + 1,
                });
            }
            _ => opportunities_ms.push(ms),
        }
    }
    if opportunities_ms.last() == Some(&0) {
        return Err(TraceError::NoDuration {
            trace: source.into(),
            line: opportunities_ms.len(),
        });
    }
    Ok(DeliveryTrace {
        source: source.into(),
        opportunities_ms,
    })
}

fn parse_line(line: &[u8], source: &str, number: usize) -> Result<u64, TraceError> {
    if line.is_empty() || !line.iter().all(u8::is_ascii_digit) {
        return Err(TraceError::NotANumber {
            trace: source.into(),
            line: number,
        });
    }
    let mut digits = line.iter().map(|byte| u64::from(byte - b'0'));
    digits
        .try_fold(0u64, |ms, digit| ms.checked_mul(10)?.checked_add(digit))
        .filter(|&ms| ms <= MAX_MS)
        .ok_or_else(|| TraceError::TooLarge {
            trace: source.into(),
            line: number,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        parse(text, "lte.down")
            .expect_err("not a trace")
            .to_string()
    }

    #[test]
    fn a_trace_may_lack_its_final_newline_or_have_crlf() {
        let expected = DeliveryTrace {
            source: "x".into(),
            opportunities_ms: vec![0, 3, 3, 10],
        };
        for text in [
            "0\n3\n3\n10\n",
            "0\n3\n3\n10",
            "0\r\n3\r\n3\r\n10\r\n",
            "00\n03\n3\n0010\n",
        ] {
            assert_eq!(parse(text, "x").as_ref(), Ok(&expected), "{text:?}");
        }
    }

    #[test]
    fn a_malformed_trace_is_refused_with_position_and_fix() {
        assert_eq!(
            message(""),
            "lte.down: the trace is empty; write one line per 1500 bytes, the milliseconds since the start"
        );
        assert_eq!(
            message("1\n2.5\n"),
            "lte.down:2: this is not a whole number of milliseconds; write one per line, such as `17`, \
             without blank lines and comments"
        );
        assert_eq!(
            message("1\n5\n4\n"),
            "lte.down:3: this is earlier than the line before; sort the lines in ascending order"
        );
        assert_eq!(
            message("0\n0\n"),
            "lte.down:2: the trace ends at 0 ms, so it has no duration to repeat it after; \
             end it with a line above 0"
        );
        assert_eq!(
            message("10000000001\n"),
            "lte.down:1: this is more than 10000000000 ms (116 days); is the trace in µs or ns? \
             divide it"
        );
    }

    #[test]
    fn blank_lines_comments_signs_and_spaces_are_refused() {
        for (text, line) in [
            ("\n", 1),
            ("1\n\n2\n", 2),
            ("1\n\n", 2),
            ("# x\n1\n", 1),
            ("-1\n", 1),
            ("+1\n", 1),
            ("1\n 2\n", 2),
        ] {
            let error = parse(text, "x");
            assert!(
                matches!(error, Err(TraceError::NotANumber { line: at, .. }) if at == line),
                "{text:?}: {error:?}"
            );
        }
    }

    #[test]
    fn the_largest_number_is_read_and_any_beyond_is_refused_without_overflow() {
        assert!(parse("10000000000", "x").is_ok());
        for text in [
            "18446744073709551615",
            "18446744073709551616",
            &"9".repeat(1000),
        ] {
            assert!(
                matches!(parse(text, "x"), Err(TraceError::TooLarge { line: 1, .. })),
                "{text}"
            );
        }
    }

    #[test]
    fn errors_do_not_quote_the_text() {
        for text in ["root:x:0:0\n", "7\n5\n", "77777777777777777\n"] {
            let said = message(text);
            assert!(
                !said.contains("root") && !said.contains("77") && !said.contains('5'),
                "{said}"
            );
        }
    }
}
