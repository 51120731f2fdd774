//! `compare --engine kernel` and `gap` as their users see them.

#[cfg(not(feature = "kernel"))]
#[test]
fn without_the_kernel_engine_the_user_learns_how_to_get_it() {
    for arguments in [&["compare", "quick", "--engine", "kernel"][..], &["gap"]] {
        let said = crate::run::joulepath(arguments);
        assert_eq!(said.code, Some(3), "{}", said.stderr);
        assert!(said.stderr.contains("built without the kernel engine"), "{}", said.stderr);
    }
}

#[cfg(feature = "kernel")]
mod with_the_kernel_engine {
    use std::fs::{self, File};
    use std::os::unix::process::CommandExt;
    use std::process::Stdio;
    use std::thread;
    use std::time::{Duration, Instant};

    use rustix::fs::{FlockOperation, flock};
    use rustix::process::{Pid, Signal, kill_process};

    use crate::run::{Said, command, folder, joulepath};

    /// `nobody`, who has no rights.
    const NOBODY: u32 = 65_534;

    /// While it lives no other test of the kernel runs; none, visibly, where they cannot run.
    fn machine() -> Option<File> {
        let can = rustix::process::geteuid().is_root() && joulepath(&["doctor"]).code == Some(0);
        if !can {
            let required = std::env::var_os("JOULEPATH_REQUIRE_KERNEL").is_some_and(|value| value == "1");
            assert!(!required, "JOULEPATH_REQUIRE_KERNEL is set, but `joulepath doctor` fails here");
            eprintln!("SKIPPED: needs root and what `joulepath doctor` names");
            return None;
        }
        let lock = File::create(std::env::temp_dir().join("joulepath-kernel-tests.lock")).unwrap();
        flock(&lock, FlockOperation::LockExclusive).unwrap();
        Some(lock)
    }

    #[test]
    fn a_comparison_has_the_table_and_the_notes_of_its_engine() {
        let Some(_machine) = machine() else { return };
        let folder = folder();
        let arguments =
            ["compare", "quick", "--engine", "kernel", "-p", "mptcp,olia", "-n", "1", "--json", "k.json"];
        // The other tests of this program keep both cores busy: a run that came too late is tried again.
        let attempt = || Said::of(command(folder.path(), &arguments).output().unwrap());
        let said =
            (0..10).map(|_| attempt()).find(|said| !was_late(said)).expect("one run of ten is in time");
        let table = said.ok();
        assert!(table.contains("kernel engine · 1 seed"), "{table}");
        assert!(table.contains("kernel's own (`mainline`)") && table.contains("modelled"), "{table}");
        let json: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(folder.path().join("k.json")).unwrap()).unwrap();
        assert_eq!(json["engine"], "kernel");
        assert!(json["notes"].as_array().is_some_and(|notes| !notes.is_empty()), "{json}");
        // 15 Mbit/s of links for a second, slow start included.
        let goodput = json["rows"][0]["goodput_bps"]["mean"].as_f64().unwrap();
        assert!((6e6..15e6).contains(&goodput), "{goodput}");
    }

    #[test]
    fn after_ctrl_c_the_run_under_way_is_reported_and_nothing_is_left() {
        let Some(_machine) = machine() else { return };
        let folder = folder();
        let arguments = ["compare", "quick", "--engine", "kernel", "--duration", "2 s", "-n", "3"];
        let child = command(folder.path(), &arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let (child, since) = (child.unwrap(), Instant::now());
        thread::sleep(Duration::from_millis(1200));
        kill_process(Pid::from_raw(child.id() as i32).unwrap(), Signal::INT).unwrap();
        let said = Said::of(child.wait_with_output().unwrap());
        assert_eq!(said.code, Some(5), "{}", said.stderr);
        assert!(said.stdout.contains("Interrupted"), "{}", said.stdout);
        assert!(said.stdout.contains("uncoupled") || was_late(&said), "{}{}", said.stdout, said.stderr);
        // Three runs of every policy would take half a minute.
        assert!(since.elapsed() < Duration::from_secs(15), "{:?}", since.elapsed());
        assert_eq!(workers(), 0);
    }

    /// A run does not count if the machine was too busy for the emulator.
    fn was_late(said: &Said) -> bool {
        said.stderr.contains("too busy")
    }

    /// Workers of any lab: emulators, servers, clients.
    fn workers() -> usize {
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
        lines.filter(|line| line.windows(18).any(|part| part == b"--joulepath-worker")).count()
    }

    #[test]
    fn what_mainline_linux_cannot_do_has_exit_code_3() {
        for (policy, name) in [("mptcp[scheduler=round-robin]", "round-robin"), ("es-mptcp", "es-mptcp")] {
            let said = joulepath(&["compare", "quick", "--engine", "kernel", "-p", policy]);
            assert_eq!(said.code, Some(3), "{}", said.stderr);
            assert!(said.stderr.contains(name) && said.stderr.contains("--engine packet"), "{}", said.stderr);
        }
    }

    #[test]
    fn without_root_it_is_exit_code_4_and_the_remedy() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("SKIPPED: only root can become somebody else");
            return;
        }
        // Where nobody may look, too.
        let folder = folder();
        let program = folder.path().join("joulepath");
        fs::copy(env!("CARGO_BIN_EXE_joulepath"), &program).unwrap();
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(folder.path(), open).unwrap();
        for arguments in [&["compare", "quick", "--engine", "kernel"][..], &["gap", "quick", "-p", "mptcp"]] {
            let mut command = std::process::Command::new(&program);
            let said = Said::of(command.args(arguments).current_dir("/").uid(NOBODY).output().unwrap());
            assert_eq!(said.code, Some(4), "{}", said.stderr);
            assert!(said.stderr.contains("sudo"), "{}", said.stderr);
        }
    }

    #[test]
    fn the_gap_is_shown_kept_and_written_into_a_page() {
        let Some(_machine) = machine() else { return };
        let folder = folder();
        fs::write(folder.path().join("page.md"), "# A\n<!-- gap: begin -->\n<!-- gap: end -->\nZ\n").unwrap();
        let arguments = ["gap", "quick", "-p", "mptcp", "--runs", "runs.jsonl", "--markdown", "page.md"];
        let first = Said::of(command(folder.path(), &arguments).output().unwrap()).ok();
        assert!(
            first.contains("goodput   median") && first.lines().all(|line| line.chars().count() <= 80),
            "{first}"
        );
        let page = fs::read_to_string(folder.path().join("page.md")).unwrap();
        assert!(
            page.starts_with("# A\n") && page.ends_with("Z\n") && page.contains("| quick | `mptcp` |"),
            "{page}"
        );
        // Again: nothing has to be run.
        let since = Instant::now();
        let again = Said::of(command(folder.path(), &arguments).output().unwrap()).ok();
        assert_eq!(first, again);
        assert!(since.elapsed() < Duration::from_millis(1000), "{:?}", since.elapsed());
    }
}
