//! Replays of a daemon's record.

use super::*;

#[test(needs(NET))]
fn a_replay_of_a_record_makes_the_same_decisions() {
    let host = Host::new();
    host.configure("intent = \"interactive\"", "");
    let daemon = host.start_with(&["--record", "said.jsonl"]);
    let both = [(host.ip(0), false), (host.ip(1), true)];
    host.wait_for("endpoints appear", &both);
    host.change_address(1, "del");
    host.wait_for("the endpoint is removed with its address", &both[..1]);
    host.tell(&["set-intent", "off"]);
    host.wait_for("nothing changes", &[]);
    host.configure("intent = \"aggregate\"", "");
    daemon.signal("HUP");
    host.wait_for("another intent", &both[..1]);
    assert_eq!(daemon.stop(), Some(0));

    let replay = |more: &[&str]| host.run(&[&["live", "--replay", "said.jsonl"], more].concat());
    let said = replay(&[]).ok();
    assert!(
        said.contains("0.0 s: c0: regular: ") && said.contains("all identical"),
        "{said}"
    );
    let json = replay(&["--json"]).json();
    assert!(
        json["decisions"].as_u64().unwrap() >= 4 && json["differ"] == 0,
        "{json}"
    );

    // A changed observation leads to another decision.
    let file = host.folder.path().join("said.jsonl");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(
        &file,
        text.replacen("\"usable\":true", "\"usable\":false", 1),
    )
    .unwrap();
    let said = replay(&[]);
    assert_eq!(said.code, Some(1), "{}", said.stderr);
    assert!(
        said.stdout.contains("of them differ") && said.stdout.contains("line 2, "),
        "{}",
        said.stdout
    );
    // A record does not overwrite a file.
    let refused = host.run(&["live", "--config", "live.toml", "--record", "said.jsonl"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("said.jsonl"), "{}", refused.stderr);
}
