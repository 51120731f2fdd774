//! Extracts from the verifier's log why it refused a user's controller, and the line of the header.
//!
//! The log lists the instructions of the refused path. A comment before them quotes each line of C:
//!
//! ```text
//! ; return conn->sub[self].cwnd; @ mine.h:43     since Linux 6.10; earlier without the place
//! 27: (61) r0 = *(u32 *)(r1 +8)
//! R1 invalid mem access 'scalar'
//! processed 25 insns (limit 1000000) …
//! ```

use std::path::Path;

use joulepath_files::{By, read};
use libbpf_rs::{AsRawLibbpf, OpenObject};

use super::source::WRAPPERS;
use crate::error::Error;

/// Longest header from which lines are quoted, bytes.
const MAX_HEADER_BYTES: u64 = 1 << 20;

/// Size of the log buffer, bytes. Newer kernels keep the end of a longer log. The buffer takes
/// memory only as far as it is written.
const LOG_BYTES: usize = 16 << 20;
/// Environment variable that prints the whole log.
const WHOLE: &str = "JOULEPATH_BPF_LOG";
/// Lines that the verifier prints after the reason.
const AFTER: [&str; 7] = [
    "processed ",
    "verification time ",
    "stack depth ",
    "cur state:",
    "old state:",
    "mark_precise:",
    "peak_states",
];

/// Buffer for the verifier's log while an object is loaded.
pub(super) struct Log(Vec<u8>);

impl Log {
    pub(super) fn new() -> Self {
        Log(vec![])
    }

    /// Directs the log of every refused program of `object` to this buffer.
    ///
    /// `object` must be loaded or dropped before this value is dropped.
    pub(super) fn listen(&mut self, object: &mut OpenObject) {
        self.0 = vec![0; LOG_BYTES];
        for program in object.progs_mut() {
            let (program, buffer) = (
                program.as_libbpf_object().as_ptr(),
                self.0.as_mut_ptr().cast(),
            );
            // SAFETY: libbpf uses the memory only while the object is loaded, and this value lives
            // longer. libbpf loads one program after another, so the first refused program is the
            // last to write.
            let status =
                unsafe { libbpf_sys::bpf_program__set_log_buf(program, buffer, LOG_BYTES as u64) };
            assert_eq!(status, 0, "an unloaded program accepts a log buffer");
        }
    }

    /// Why the verifier refused the controller of `header`; `None` if the verifier was not the
    /// cause.
    pub(super) fn refusal(&self, header: &Path) -> Option<Error> {
        let end = self
            .0
            .iter()
            .position(|byte| *byte == 0)
            .unwrap_or(self.0.len());
        let text = String::from_utf8_lossy(&self.0[..end]).into_owned();
        let reason = reason(&text)?;
        let source = read(header, By::File, MAX_HEADER_BYTES)
            .map(|content| content.bytes)
            .unwrap_or_default();
        let source = String::from_utf8_lossy(&source);
        let place = place(&text, header, &source);
        let mut why = place.map_or_else(|| reason.to_owned(), |place| format!("{place}: {reason}"));
        if std::env::var_os(WHOLE).is_some() {
            why = format!("{why}\n{text}");
        }
        Some(Error::Refused {
            what: format!("the kernel's verifier refuses {}", header.display()),
            why,
            remedy: "bound every loop and every index; JOULEPATH_BPF_LOG=1 shows the whole log"
                .into(),
        })
    }
}

/// The verifier's last message; `None` if it checked no instruction.
fn reason(log: &str) -> Option<&str> {
    let is_code = |line: &str| {
        line.split_once(':')
            .is_some_and(|(number, _)| number.parse::<u32>().is_ok())
    };
    log.lines().any(is_code).then_some(())?;
    let is_after =
        |line: &str| AFTER.iter().any(|word| line.starts_with(word)) || line.trim().is_empty();
    // The verifier prints register states after the reason, too: `R0=… R1=… R10=fp0`.
    let is_state = |line: &str| line.trim_start().starts_with("R") && line.contains("R10=fp0");
    log.lines()
        .rev()
        .find(|line| !is_after(line) && !is_state(line) && !is_code(line) && !line.starts_with(';'))
}

/// The last line of the header on the refused path. If the code was then in another file, for
/// example in a function of mpcc.h, that file is named, too.
fn place(log: &str, header: &Path, source: &str) -> Option<String> {
    let name = header.file_name()?.to_str()?;
    let mut place = None;
    let mut inside = None;
    for comment in log.lines().filter_map(|line| line.strip_prefix("; ")) {
        let (code, at) = match comment.rsplit_once(" @ ") {
            Some((code, at)) => (code, Some(at)),
            None => (comment, None),
        };
        let line = match at.and_then(|at| at.rsplit_once(':')) {
            Some((file, line)) if file == name => Some(line.to_owned()),
            Some((file, _)) => {
                inside = (!is_wrapper(file)).then(|| at.unwrap_or_default().to_owned());
                continue;
            }
            None => line_with(code, source).map(|line| line.to_string()),
        };
        if let Some(line) = line {
            (place, inside) = (Some(format!("{}:{line}", header.display())), None);
        }
    }
    Some(match inside {
        Some(inside) => format!("{}, in {inside}", place?),
        None => place?,
    })
}

fn is_wrapper(file: &str) -> bool {
    WRAPPERS.iter().any(|(place, _)| *place == file)
}

/// Number of the line whose text is `code`, if there is exactly one.
fn line_with(code: &str, source: &str) -> Option<usize> {
    let mut lines = source
        .lines()
        .zip(1..)
        .filter(|(line, _)| line.trim() == code.trim());
    let (_, number) = lines.next()?;
    lines.next().is_none().then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "static int a;\n\treturn conn->sub[self].cwnd;\n\tx++;\n\tx++;\n";

    fn told(log: &str) -> (Option<&str>, Option<String>) {
        (
            reason(log),
            place(log, Path::new("/home/me/mine.h"), SOURCE),
        )
    }

    #[test]
    fn the_reason_names_the_line_of_the_header() {
        let log = "Func#3 ('jp_observe') is safe for any args that match its prototype\n\
                   Validating jp_avoid() func#4...\n\
                   969: R1=mem_or_null(id=12702,sz=1072) R2=scalar() R3=scalar() R10=fp0\n\
                   ; sub = &s->conn.sub[MPCC_SLOT(s->self)]; @ controller.bpf.c:34\n\
                   970: (61) r5 = *(u32 *)(r1 +1016)     ; R1=mem(sz=1072)\n\
                   ; return conn->sub[conn->sub[self].cwnd].cwnd & 1; @ mine.h:40\n\
                   986: (61) r0 = *(u32 *)(r0 +0)\n\
                   R0 unbounded memory access, make sure to bounds check any such access\n\
                   processed 227372 insns (limit 1000000) max_states_per_insn 12\n";
        let reason = "R0 unbounded memory access, make sure to bounds check any such access";
        assert_eq!(
            told(log),
            (Some(reason), Some("/home/me/mine.h:40".to_owned()))
        );
        // Older kernels print the line's text and not its number.
        let old = log.replace(
            "conn->sub[conn->sub[self].cwnd].cwnd & 1; @ mine.h:40",
            "conn->sub[self].cwnd;",
        );
        assert_eq!(told(&old).1.as_deref(), Some("/home/me/mine.h:2"));
        let ambiguous = old.replace("; return conn->sub[self].cwnd;", "; x++;");
        assert_eq!(told(&ambiguous).1, None);
    }

    #[test]
    fn a_reason_in_a_function_of_mpcc_h_names_the_calling_line() {
        let log = "; x++; @ mine.h:3\n1: (b7) r0 = 0\n; total += 1; @ mpcc.h:312\n2: (b7) r0 = 0\n\
                   infinite loop detected at insn 2\n\
                   cur state: frame1: R0=1 R10=fp0\nold state: frame1: R0=0 R10=fp0\nprocessed 9 insns\n";
        let place = "/home/me/mine.h:3, in mpcc.h:312".to_owned();
        assert_eq!(
            told(log),
            (Some("infinite loop detected at insn 2"), Some(place))
        );
    }

    #[test]
    fn an_error_before_verification_is_no_refusal() {
        assert_eq!(told(""), (None, None));
        assert_eq!(reason("arg#0 is no pointer to a struct\n"), None);
        assert!(Log::new().refusal(Path::new("/home/me/mine.h")).is_none());
    }
}
