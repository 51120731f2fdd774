//! What a user learns about the machine.

use crate::run::{Said, joulepath};

#[cfg(feature = "live")]
mod with_the_running_kernel {
    use serde_json::Value;

    use super::*;

    fn report() -> (Said, Value) {
        let said = joulepath(&["doctor", "--json"]);
        let json = serde_json::from_str(&said.stdout).expect("stdout is JSON");
        (said, json)
    }

    #[test]
    fn the_exit_code_says_whether_the_kernel_engine_can_run() {
        let (said, report) = report();
        let expected = match report["kernel_engine"].as_str().unwrap() {
            "ready" => 0,
            "missing" => 3,
            "denied" => 4,
            other => panic!("{other}"),
        };
        assert_eq!(said.code, Some(expected));
        assert_eq!(said.stderr, "");
        let blocked = report["facts"].as_array().unwrap().iter().any(|fact| {
            fact["essential"] == true
                && ["missing", "denied"].contains(&fact["status"].as_str().unwrap())
        });
        assert_eq!(blocked, expected != 0);
    }

    #[test]
    fn the_documented_fields_are_there() {
        let (_, report) = report();
        assert_eq!(report["schema"], 1);
        assert!(
            report["release"].is_string()
                && report["root"].is_boolean()
                && report["cc"].is_string()
        );
        for fact in report["facts"].as_array().unwrap() {
            for field in ["name", "title", "group", "status", "detail"] {
                assert!(fact[field].is_string(), "{field}: {fact}");
            }
            assert!(
                fact["needed_for"]
                    .as_array()
                    .is_some_and(|commands| !commands.is_empty()),
                "{fact}"
            );
            assert!(
                fact["fix"].is_array() && fact.get("advice").is_some(),
                "{fact}"
            );
        }
    }

    #[test]
    fn the_table_has_the_same_facts_in_eighty_columns() {
        let (_, report) = report();
        let table = joulepath(&["doctor"]).stdout;
        assert!(
            table.lines().all(|line| line.chars().count() <= 80),
            "{table}"
        );
        for fact in report["facts"].as_array().unwrap() {
            // How late timers come is measured anew by each call, and a busy moment changes it.
            let statuses = match (
                fact["name"].as_str().unwrap(),
                fact["status"].as_str().unwrap(),
            ) {
                ("lateness", _) => vec!["ok", "limited"],
                (_, status) => vec![status],
            };
            let title = fact["title"].as_str().unwrap();
            let is_there = |status| {
                let start = format!("  {status:9}{title} ");
                table.lines().any(|line| line.starts_with(&start))
            };
            assert!(statuses.into_iter().any(is_there), "{fact}: {table}");
        }
        assert!(
            table
                .trim_end()
                .lines()
                .last()
                .unwrap()
                .starts_with("The kernel engine "),
            "{table}"
        );
    }

    #[test]
    fn the_udev_rule_is_a_rule_for_a_group_and_not_for_everybody() {
        let rule = joulepath(&["doctor", "--udev-rule"]).ok();
        assert!(
            rule.starts_with("ACTION==") && rule.contains("chgrp joulepath"),
            "{rule}"
        );
        assert!(!rule.contains("o+r") && !rule.contains("a+r"), "{rule}");
    }
}

#[cfg(not(feature = "live"))]
#[test]
fn without_the_kernel_engine_doctor_says_how_to_get_it() {
    let Said { code, stderr, .. } = joulepath(&["doctor"]);
    assert_eq!(code, Some(3));
    assert!(
        stderr.contains("without the kernel engine") && stderr.contains("make build"),
        "{stderr}"
    );
}
