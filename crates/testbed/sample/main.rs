//! Tests with every outcome, for the harness's own tests.

#[macro_use]
extern crate joulepath_testbed;

use std::process::ExitCode;

fn main() -> ExitCode {
    joulepath_testbed::main(&[("speaker", || println!("said in a role"))])
}

mod outcomes {
    use std::time::Duration;

    #[test]
    fn passes() {
        println!("output of a passing test");
    }

    #[test]
    fn fails() {
        println!("first to stdout");
        eprintln!("then to stderr");
        assert_eq!(1 + 1, 3, "arithmetic");
    }

    #[test]
    fn is_killed() {
        println!("the last output");
        std::process::abort();
    }

    #[test]
    fn is_skipped() {
        println!("output of a skipped test");
        joulepath_testbed::skip("it is Sunday");
    }

    #[test]
    fn is_too_busy() {
        joulepath_testbed::too_busy("links were 7.5 ms late");
    }

    #[test]
    fn repeats_a_part_and_passes() {
        joulepath_testbed::repeated("a link was\n7.5 ms late");
    }

    #[test]
    fn repeats_a_part_and_fails() {
        joulepath_testbed::repeated("it was late");
        panic!("after a repetition");
    }

    #[test]
    fn starts_its_program_in_a_role() {
        let said = joulepath_testbed::in_role("speaker")
            .output()
            .expect("it starts");
        assert_eq!(said.stdout, b"said in a role\n");
    }

    #[test]
    fn leaves_a_thread_that_never_ends() {
        std::thread::spawn(|| std::thread::sleep(Duration::from_secs(3600)));
    }
}

mod needs {
    #[test(needs(ROOT))]
    fn root() {}

    #[test(needs(LAB, IPV6))]
    fn several() {}

    #[test(needs(tool("no-such-tool")))]
    fn a_missing_tool() {
        panic!("run despite a missing need");
    }
}

mod together {
    //! Two tests that pass only if they run at the same time.

    use std::fs;
    use std::path::PathBuf;

    use joulepath_testbed::observe::wait_until;

    fn meet(own: &str, other: &str) {
        let Some(folder) = std::env::var_os("SAMPLE_FOLDER").map(PathBuf::from) else {
            return;
        };
        fs::write(folder.join(own), "").expect("the folder exists");
        wait_until("the other test runs", || folder.join(other).exists());
        if own == "left" {
            println!("said by the left one");
            panic!("the left one ends");
        }
    }

    #[test(needs(tool("sh")))]
    fn left() {
        meet("left", "right");
    }

    #[test(needs(tool("sh")))]
    fn right() {
        meet("right", "left");
    }
}

mod turns {
    //! Two tests that must not run at the same time, even from two binaries.

    use std::fs::OpenOptions;
    use std::path::PathBuf;
    use std::time::Duration;

    fn alone() {
        let Some(folder) = std::env::var_os("SAMPLE_FOLDER") else {
            return;
        };
        let mark = PathBuf::from(folder).join("running");
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&mark)
            .expect("no other test runs");
        std::thread::sleep(Duration::from_millis(100));
        std::fs::remove_file(mark).expect("nobody else removes it");
    }

    #[test(needs(ALONE))]
    fn one() {
        alone();
    }

    #[test(needs(ALONE))]
    fn other() {
        alone();
    }
}
