//! Under `sudo`: Joulepath does not read files that the calling user may not read, and the user's
//! programs have no rights of root.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::run::{Said, command, folder};

const NOBODY: &str = "65534";
const SECRET: &str = "root:secret-of-roots:";

/// A folder of `nobody`, and next to it a file of root.
struct Place {
    folder: TempDir,
    outside: TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Place {
            folder: folder(),
            outside: folder(),
        };
        place.open(place.outside.path(), 0o755);
        fs::write(place.secret(), format!("{SECRET}1:2:3\n")).unwrap();
        place.open(&place.secret(), 0o600);
        place.open(place.folder.path(), 0o755);
        std::os::unix::fs::chown(place.folder.path(), Some(65_534), Some(65_534)).unwrap();
        place
    }

    fn open(&self, path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn secret(&self) -> std::path::PathBuf {
        self.outside.path().join("secret")
    }

    /// Writes a file of `nobody`.
    fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join(name), text).unwrap();
        self.open(&self.folder.path().join(name), 0o644);
    }

    /// Runs `sudo joulepath ARGUMENTS…` as `nobody`.
    fn sudo(&self, arguments: &[&str]) -> Said {
        let mut command = command(self.folder.path(), arguments);
        command
            .env("SUDO_UID", NOBODY)
            .env("SUDO_GID", NOBODY)
            .env("SUDO_USER", "nobody");
        Said::of(command.output().unwrap())
    }

    /// The same; it must be refused at once, without a word of the secret.
    #[track_caller]
    fn refused(&self, arguments: &[&str]) -> String {
        let begun = Instant::now();
        let said = self.sudo(arguments);
        let all = format!("{}{}", said.stdout, said.stderr);
        assert!(!matches!(said.code, None | Some(0)), "{arguments:?}: {all}");
        assert!(!all.contains("secret-of-roots"), "{arguments:?}: {all}");
        assert!(begun.elapsed() < Duration::from_secs(120), "{arguments:?}");
        all
    }
}

const STUDY: &str =
    "policies = [\"mptcp\"]\nseeds = 1\n[[vary]]\nkey = \"path.wifi.loss\"\nvalues = [\"1 %\"]\n";

#[test(needs(ROOT))]
fn a_file_may_name_only_files_that_the_user_who_called_sudo_may_read() {
    let place = Place::new();
    let secret = place.secret();
    std::os::unix::fs::symlink(&secret, place.folder.path().join("link.toml")).unwrap();
    assert!(
        Command::new("mkfifo")
            .arg(place.folder.path().join("pipe.toml"))
            .status()
            .unwrap()
            .success()
    );
    fs::File::create(place.folder.path().join("huge.toml"))
        .unwrap()
        .set_len(1 << 30)
        .unwrap();
    for (scenario, says) in [
        (secret.to_str().unwrap(), "Permission denied"),
        ("link.toml", "Permission denied"),
        ("/etc/shadow", "Permission denied"),
        ("pipe.toml", "not a regular file"),
        ("/dev/zero", "not a regular file"),
        ("/dev/stdin", "not a regular file"),
        ("huge.toml", "more than 16 MiB"),
        (".", "is a folder"),
    ] {
        place.write("study.toml", &format!("scenario = \"{scenario}\"\n{STUDY}"));
        let said = place.refused(&["study", "study.toml"]);
        assert!(said.contains(says), "{scenario}: {said}");
    }
    let traced = "title = \"t\"\nduration = \"1 s\"\n[[path]]\nname = \"wifi\"\nenergy = \"free\"\n\
                  delay = \"1 ms\"\nqueue = \"10 packets\"\nrate = { trace = \"link.toml\" }\n";
    place.write("traced.toml", traced);
    place.refused(&["show", "traced.toml"]);
    place.write(
        "live.toml",
        "intent = \"frugal\"\n[[interface]]\nname = \"w0\"\nenergy = \"file:link.toml\"\n",
    );
    place.refused(&["live", "--dry-run", "--config", "live.toml"]);
}

#[test(needs(ROOT))]
fn a_file_that_only_root_may_read_is_not_quoted() {
    let place = Place::new();
    let secret = place.secret();
    let secret = secret.to_str().unwrap();
    for arguments in [
        &["show", secret][..],
        &["compare", secret],
        &["study", secret],
        &["live", "--dry-run", "--config", secret],
        &["live", "--replay", secret],
        &["explain", "olia", "--state", secret],
        &["compare", "quick", "--history", secret],
        &["compare", "quick", "--cc", secret],
    ] {
        let said = place.refused(arguments);
        assert!(
            said.contains("Permission denied") || said.contains("may not read"),
            "{arguments:?}: {said}"
        );
    }
    // Only root sees the content.
    let said = Said::of(
        command(place.folder.path(), &["show", secret])
            .output()
            .unwrap(),
    );
    assert!(said.stderr.contains("secret-of-roots"), "{}", said.stderr);
}

#[test(needs(ROOT))]
fn a_header_is_compiled_with_the_rights_of_the_user_who_called_sudo() {
    let place = Place::new();
    let secret = place.secret();
    place.sudo(&["cc", "new", "mine"]).ok();
    let good = fs::read_to_string(place.folder.path().join("mine.h")).unwrap();
    for more in [
        format!("#include \"{}\"\n", secret.display()),
        format!(
            "__asm__(\".section .rodata\\n.incbin \\\"{}\\\"\\n.text\\n\");\n",
            secret.display()
        ),
    ] {
        place.write("mine.h", &format!("{more}{good}"));
        for arguments in [
            &["cc", "check", "mine.h"][..],
            &["cc", "load", "./mine.h"],
            &["compare", "quick", "--cc", "mine.h"],
            &["compare", "quick", "--cc", "mine.h", "--engine", "kernel"],
        ] {
            place.refused(arguments);
        }
    }
}

/// The rights of hooks: a hook creates a file, whose owner shows them.
const WRITES: &str =
    "extern int creat(const char *, unsigned);\n#define TELL creat(\"PLACE\", 0644);\n";

#[test(needs(ROOT))]
fn hooks_run_without_roots_rights() {
    let place = Place::new();
    place.sudo(&["cc", "new", "mine"]).ok();
    let good = fs::read_to_string(place.folder.path().join("mine.h")).unwrap();
    for (name, arguments) in [
        ("checked", &["cc", "check", "mine.h"][..]),
        ("compared", &["compare", "quick", "--cc", "mine.h"]),
    ] {
        let told = place.folder.path().join(name);
        let text = good.replacen("return mpcc_scale", "TELL\n\treturn mpcc_scale", 1);
        place.write(
            "mine.h",
            &(WRITES.replace("PLACE", told.to_str().unwrap()) + &text),
        );
        let said = place.sudo(arguments);
        let owner = fs::metadata(&told)
            .unwrap_or_else(|error| panic!("{error}: {}", said.stderr))
            .uid();
        assert_eq!(owner, 65_534, "{name}");
    }
    // Also without sudo: if root checks a header, the header has no rights of root.
    let told = place.folder.path().join("by-root");
    let text = good.replacen("return mpcc_scale", "TELL\n\treturn mpcc_scale", 1);
    place.write(
        "mine.h",
        &(WRITES.replace("PLACE", told.to_str().unwrap()) + &text),
    );
    place.open(place.folder.path(), 0o777);
    let _ = command(place.folder.path(), &["cc", "check", "mine.h"])
        .output()
        .unwrap();
    assert_eq!(fs::metadata(&told).unwrap().uid(), 65_534);
}
