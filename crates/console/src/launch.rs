//! How a program gets MPTCP sockets, as text.

use std::io;
use std::path::Path;

use joulepath_live::programs::{Launch, Means};

/// Width of the names of `page`, characters.
const NAMES: usize = 13;

/// The launch in lines of names and values.
pub fn page(launch: &Launch, width: usize) -> String {
    let program = launch.program.display().to_string();
    let interpreters = launch
        .interpreters
        .iter()
        .map(|file| file.display().to_string());
    let chain: Vec<String> = std::iter::once(program).chain(interpreters).collect();
    let means = match launch.means {
        Some(Means::Bpf) => "the kernel, by BPF: all programs that it starts",
        Some(Means::Preload) => "a preloaded library",
        Some(Means::Go) => "Go's own switch",
        None => "none: its sockets stay TCP",
    };
    let mut lines = vec![
        ("program", chain.join(", run by ")),
        ("means", means.to_owned()),
    ];
    lines.extend(launch.note.iter().map(|note| ("note", note.clone())));
    lines.push((
        "kernel",
        launch
            .kernel
            .clone()
            .unwrap_or_else(|| "grants MPTCP sockets".into()),
    ));
    lines.extend(launch.bpf.iter().map(|why| ("not by BPF", why.clone())));
    for (name, value) in &launch.environment {
        lines.push(("environment", format!("{name}={}", value.to_string_lossy())));
    }
    let line = |(name, text): &(&str, String)| {
        let indent = " ".repeat(NAMES);
        let options = textwrap::Options::new(width)
            .subsequent_indent(&indent)
            .break_words(false);
        textwrap::fill(&format!("{name:NAMES$}{text}"), options) + "\n"
    };
    lines.iter().map(line).collect()
}

/// The reason why the program's connections stay TCP, or may do so.
pub fn warning(launch: &Launch) -> Option<String> {
    let note = launch.kernel.as_ref().or(launch.note.as_ref())?;
    Some(match (launch.means, &launch.kernel) {
        (Some(_), None) => note.clone(),
        _ => {
            let bpf = launch
                .bpf
                .iter()
                .map(|why| format!(". {why}"))
                .collect::<String>();
            format!("its connections stay TCP: {note}{bpf}")
        }
    })
}

/// What to do if the program cannot be executed.
pub fn remedy(program: &Path, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied if program.is_file() => {
            format!("chmod +x {}", program.display())
        }
        _ => "name a file that is a program or a script".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(means: Option<Means>, note: Option<&str>, kernel: Option<&str>) -> Launch {
        Launch {
            program: "/usr/bin/pip".into(),
            interpreters: vec!["/usr/bin/python3".into()],
            means,
            note: note.map(str::to_owned),
            kernel: kernel.map(str::to_owned),
            bpf: None,
            environment: vec![("GODEBUG", "multipathtcp=1".into())],
        }
    }

    #[test]
    fn a_page_names_program_interpreter_means_and_variables() {
        let text = page(&launch(Some(Means::Preload), None, None), 80);
        let expected = "program      /usr/bin/pip, run by /usr/bin/python3\n\
                        means        a preloaded library\n\
                        kernel       grants MPTCP sockets\n\
                        environment  GODEBUG=multipathtcp=1\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_launch_warns_if_sockets_stay_tcp() {
        assert_eq!(warning(&launch(Some(Means::Go), None, None)), None);
        let of_program = warning(&launch(None, Some("x is static"), None));
        assert_eq!(
            of_program.as_deref(),
            Some("its connections stay TCP: x is static")
        );
        let static_one = Launch {
            bpf: Some("no BPF".into()),
            ..launch(None, Some("x is static"), None)
        };
        assert_eq!(
            warning(&static_one).as_deref(),
            Some("its connections stay TCP: x is static. no BPF")
        );
        assert!(page(&static_one, 80).contains("not by BPF   no BPF\n"));
        let of_kernel = warning(&launch(Some(Means::Preload), None, Some("MPTCP is off")));
        assert_eq!(
            of_kernel.as_deref(),
            Some("its connections stay TCP: MPTCP is off")
        );
        let unsure = warning(&launch(
            Some(Means::Preload),
            Some("x cannot be read"),
            None,
        ));
        assert_eq!(unsure.as_deref(), Some("x cannot be read"));
    }
}
