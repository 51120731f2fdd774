//! A user's controller, from its header into the kernel.

use std::fs;
use std::io::{Read, Write};
use std::thread;

use super::stage::{Place, Stage, controller};

/// Writes a new header with one text replaced. Returns the number of that line.
fn write(place: &Place, name: &str, from: &str, to: &str) -> usize {
    let file = place.file(&format!("{name}.h"));
    let _ = fs::remove_file(&file);
    place.cc(&["new", name]).ok();
    let text = fs::read_to_string(&file).unwrap();
    let line = text
        .lines()
        .position(|line| line.contains(from))
        .expect(from)
        + 1;
    fs::write(&file, text.replace(from, to)).unwrap();
    line
}

#[test(needs(ENGINE, MACHINE_STATE))]
fn a_header_is_loaded_replaced_made_the_default_and_unloaded() {
    const NAME: &str = "ownload";
    let stage = Stage::new(&[NAME]);
    let here = &stage.here;
    write(here, NAME, "500, 1, 1000", "500, 1, 1000");
    let said = stage.cc(&["load", "./ownload.h"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.stderr.contains("jp_ownload: loaded"), "{said:?}");
    let sockets = here.connections(2, Some("jp_ownload"));
    let entry = |status| controller(&status, NAME).map(|entry| entry["sockets"].clone());
    assert_eq!(entry(here.status()), Some(4.into()));
    let list = stage.cc(&["list"]).ok();
    assert!(
        list.lines()
            .any(|line| line.contains("jp_ownload") && line.contains("your own")),
        "{list}"
    );
    // Another version: sockets in use switch to it, as with our controllers.
    write(here, NAME, "500, 1, 1000", "250, 1, 1000");
    let said = stage.cc(&["load", "ownload.h"]);
    assert!(
        said.stderr
            .contains("jp_ownload: replaced; 4 sockets in use went over to it"),
        "{said:?}"
    );
    drop(sockets);
    stage.cc(&["default", NAME]).ok();
    assert_eq!(here.default(), "jp_ownload");
    let said = stage.cc(&["unload", NAME]);
    assert!(
        said.code == Some(0) && said.stderr.contains("reno again"),
        "{said:?}"
    );
    assert_eq!(here.default(), "reno");
    stage.assert_clean();
    // Unloading also accepts the header's path, without compiling the file.
    stage.cc(&["default", "./ownload.h"]).ok();
    assert_eq!(here.default(), "jp_ownload");
    fs::write(here.file("ownload.h"), "no C").unwrap();
    stage.cc(&["unload", "./ownload.h"]).ok();
    stage.assert_clean();
}

/// This wrapper calls the controller for every ACK.
#[test(needs(ENGINE, MACHINE_STATE))]
fn a_header_that_owns_its_window_is_loaded() {
    const NAME: &str = "ownwindow";
    let stage = Stage::new(&[NAME]);
    // Several tables, one of 32 bytes: compilers put them into different sections.
    let text = "/* Ten packets, always. */\n\
                #ifndef OWNWINDOW_H\n#define OWNWINDOW_H\n#include \"mpcc_run.h\"\n\
                #define OWNWINDOW_PARAMS(X)\n\
                static const u32 ownwindow_tens[2][4] = { { 1, 2, 3, 4 }, { 9, 8, 7, 6 } };\n\
                static const u32 ownwindow_ones[5] = { 9, 8, 7, 6, 1 };\n\
                MPCC_INLINE void ownwindow_control(struct mpcc_conn *conn, u32 self,\n\
                \tconst struct mpcc_event *event, struct mpcc_area *area)\n\
                {\n\tu32 k = conn->n & 3;\n\n\t(void)event;\n\t(void)area;\n\
                \tconn->sub[self].cwnd = ownwindow_tens[0][k] + ownwindow_ones[k];\n}\n\
                MPCC_CAPABILITIES(ownwindow, MPCC_UNCOUPLED | MPCC_OWNS_WINDOW);\n\
                static const struct mpcc_ops mpcc_ops_ownwindow = {\n\
                \t.name = \"ownwindow\", .title = \"ten\", .paper = \"none\", .summary = \"ten\",\n\
                \t.confidence = \"R\", .capabilities = mpcc_capabilities_ownwindow, .min_cwnd = 1,\n\
                \t.control = ownwindow_control,\n};\n#endif\n";
    fs::write(stage.here.file("ownwindow.h"), text).unwrap();
    let said = stage.cc(&["load", "./ownwindow.h"]);
    if said.code == Some(3) && said.stderr.contains("6.10") {
        return;
    }
    assert_eq!(said.code, Some(0), "{said:?}");
    let _sockets = stage.here.connections(1, Some("jp_ownwindow"));
    let status = stage.here.status();
    let subflow = &controller(&status, NAME).unwrap()["connections"][0]["subflows"][0];
    assert_eq!(subflow["cwnd_packets"], 10, "{status}");
}

/// The header that `joulepath.gym.export` writes for a network: its own part, which
/// python/tests/test_export.py checks, and the part that all such headers share.
fn exported() -> String {
    let common = include_str!("../../../../../python/joulepath/policy_template.h");
    include_str!("exported_head.h").to_owned()
        + &common
            .replace("NAME", "EXPORTED")
            .replace("name_", "exported")
}

#[test(needs(ENGINE, MACHINE_STATE))]
fn an_exported_policy_carries_data_in_the_kernel() {
    const BYTES: usize = 1 << 20;
    let stage = Stage::new(&["exported"]);
    fs::write(stage.here.file("exported.h"), exported()).unwrap();
    let said = stage.cc(&["load", "./exported.h"]);
    if said.code == Some(3) && said.stderr.contains("6.10") {
        return;
    }
    assert_eq!(said.code, Some(0), "{said:?}");
    let (mut client, mut server) = stage
        .here
        .connections(1, Some("jp_exported"))
        .pop()
        .unwrap();
    let sender = thread::spawn(move || client.write_all(&[7; BYTES]).map(|()| client));
    let mut arrived = vec![0; BYTES];
    server.read_exact(&mut arrived).unwrap();
    let _client = sender.join().unwrap().unwrap();
    assert!(arrived.iter().all(|byte| *byte == 7));
    let status = stage.here.status();
    assert_eq!(
        controller(&status, "exported").unwrap()["sockets"],
        2,
        "{status}"
    );
}

#[test(needs(ENGINE))]
fn errors_of_compiler_and_verifier_name_the_line_of_the_header() {
    const STEP: &str = "return mpcc_scale(mpcc_reno(conn, self), (u32)MPCC_PARAM(conn, \
        OWNBAD_WEIGHT), OWNBAD_SCALE);";
    let place = Place::new("reno");
    for (body, code, says) in [
        ("retrun 1;", 2, "retrun"),
        // GCC accepts it; BPF has no such instruction.
        (
            "return (s64)conn->now_us / (s64)-(s64)(self + 7);",
            1,
            "signed division",
        ),
        ("return conn->sub[conn->sub[self].cwnd].cwnd & 1;", 1, "R"),
        (
            "u32 sum = 0;\n\tfor (u32 i = 0; i < conn->sub[self].cwnd; i++)\n\
             \t\tsum += conn->sub[i & 7].cwnd * i;\n\treturn sum & 1;",
            1,
            "too large",
        ),
    ] {
        let line = write(&place, "ownbad", STEP, body);
        for command in ["load", "check"] {
            let said = place.cc(&[command, "./ownbad.h"]);
            assert_eq!(said.code, Some(code), "{command} {body}: {said:?}");
            let told = said.stdout.clone() + &said.stderr;
            let lines = line..line + body.lines().count();
            let named = lines
                .into_iter()
                .any(|line| told.contains(&format!("ownbad.h:{line}")));
            assert!(named && told.contains(says), "{command} {body}: {told}");
        }
    }
    assert!(controller(&place.status(), "ownbad").is_none());
}

#[test(needs(ENGINE))]
fn the_error_of_a_header_that_cannot_be_loaded_has_the_fix() {
    let place = Place::new("reno");
    write(&place, "owngood", "500, 1, 1000", "500, 1, 1000");
    let without = |variable: &str| {
        let output = place
            .command(&["load", "./owngood.h"])
            .env(variable, "/no/clang")
            .output();
        crate::run::Said::of(output.unwrap())
    };
    let said = without("CLANG");
    assert_eq!(said.code, Some(3), "{said:?}");
    assert!(
        said.stderr.contains("there is no `/no/clang`")
            && said.stderr.contains("apt install clang")
    );
    assert_eq!(without("CC").code, Some(3));
    for (file, from, says) in [
        (
            "lia.h",
            "owngood",
            "`lia` is the name of a controller of Joulepath",
        ),
        ("cubic.h", "owngood", "`cubic` is the name of a controller"),
        ("other.h", "mine", "does not define `mpcc_ops_other`"),
        ("Other.h", "mine", "is not a controller name"),
        (
            "nowhere/mine.h",
            "",
            "cannot read the controller nowhere/mine.h",
        ),
    ] {
        let stem = file.trim_end_matches(".h");
        if !from.is_empty() {
            let text = fs::read_to_string(place.file("owngood.h")).unwrap();
            let (small, large) = (text.replace(from, stem), from.to_uppercase());
            fs::write(
                place.file(file),
                small.replace(&large, &stem.to_uppercase()),
            )
            .unwrap();
        }
        let said = place.cc(&["load", &format!("./{file}")]);
        assert_eq!(said.code, Some(2), "{file}: {said:?}");
        assert!(
            said.stderr.replace("./", "").contains(says),
            "{file}: {said:?}"
        );
    }
    let said = place.cc(&["load", "owngood"]);
    assert!(
        said.code == Some(2) && said.stderr.contains("./owngood.h"),
        "{said:?}"
    );
    let said = place.cc(&["unload", "./owngood.h"]);
    assert!(
        said.code == Some(3) && said.stderr.contains("it is not loaded"),
        "{said:?}"
    );
}
