//! `advise` as its users see it.

use crate::run::joulepath;

const WIFI: &str = "wifi:rate=20Mbit/s,rtt=30ms,loss=0.5%,energy=wifi-huang2012";
const LTE: &str = "lte:rate=40Mbit/s,rtt=50ms,energy=lte-huang2012";

#[test]
fn advice_is_json_for_programs() {
    let advice = joulepath(&[
        "advise", "--path", WIFI, "--path", LTE, "--size", "10MB", "--json",
    ])
    .json();
    assert_eq!(advice["best"]["paths"][0]["name"], "wifi");
    assert_eq!(advice["best"]["paths"][0]["share"], 1.0);
    let front = advice["front"].as_array().unwrap();
    assert_eq!(
        front.last().unwrap(),
        &advice["best"],
        "without a deadline the cheapest is the best"
    );
    assert_eq!(advice["break_even"][0]["below"][0], "wifi");
    assert!(
        advice["reason"]
            .as_str()
            .unwrap()
            .starts_with("Use wifi alone: ")
    );
    assert_eq!(
        advice["extrapolated"],
        serde_json::json!(["lte"]),
        "40 Mbit/s over lte-huang2012"
    );
    assert_eq!(advice.as_object().unwrap().len(), 5);
}

/// Bursts of ten packets outlast the window of 27 packets once in 17 times, and then most timeouts.
/// In one of five such transfers of 48 MB the connection gives up.
#[test]
fn a_path_whose_bursts_outlast_timeouts_is_left_out_by_name() {
    let bursty = "a:rate=1.439Mbit/s,rtt=56.8ms,loss=0.563%,burst=9.9,energy=wifi-huang2012-linear";
    let lossy = "b:rate=0.615Mbit/s,rtt=134.5ms,loss=1.091%,energy=lte-seed003";
    let question = [
        "advise", "--path", bursty, "--path", lossy, "--size", "48MB",
    ];
    let said = joulepath(&question).ok();
    assert!(said.starts_with("Use b alone: "), "{said}");
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("Left out, because bursts of losses stop TCP for so much of the time: a ("),
        "{said}"
    );
    let advice = joulepath(&[&question[..], &["--json"]].concat()).json();
    assert_eq!(advice["stalling"], serde_json::json!(["a"]));
    // Without another path, advice uses it and says so. Link rates know no losses.
    let only = ["advise", "--path", bursty, "--size", "48MB"];
    assert!(joulepath(&only).ok().contains("Unreliable"));
    assert!(
        !joulepath(&[&only[..], &["--link-rates"]].concat())
            .ok()
            .contains("Unreliable")
    );
}

#[test]
fn advice_for_data_that_may_wait_names_what_waiting_saves() {
    let question = [
        "advise",
        "--path",
        LTE,
        "--size",
        "50kB",
        "--every",
        "30s",
        "--tolerance",
        "2min",
    ];
    let said = joulepath(&question);
    assert!(
        said.stdout.starts_with("Waiting saves "),
        "{}{}",
        said.stdout,
        said.stderr
    );
    let advice = joulepath(&[&question[..], &["--json"]].concat()).json();
    let waiting = &advice["waiting"];
    assert_eq!(
        (
            &waiting["at_once"]["messages"],
            &waiting["together"]["messages"]
        ),
        (&1.into(), &5.into())
    );
    assert_eq!(
        (
            &waiting["together"]["period_s"],
            &waiting["together"]["path"]
        ),
        (&150.0.into(), &"lte".into())
    );
    assert!(waiting["gain"].as_f64().unwrap() > 2.5, "{waiting}");
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let said = joulepath(&[&question[..], &["--report", page.to_str().unwrap()]].concat());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(
        std::fs::read_to_string(page)
            .unwrap()
            .contains("Waiting saves ")
    );
}

/// The salt is 64 zeros; `(head -c 32 /dev/zero; printf home) | sha256sum` begins with the
/// network's id.
#[test]
fn rates_rtts_and_losses_come_from_the_memory_of_networks() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("history.json");
    let estimate = |median: &str| format!("{{\"median\": {median}, \"spread\": 1.5}}");
    let network = |interface: &str, id: &str, rate: &str, rtt: &str| {
        let (rate, rtt) = (estimate(rate), estimate(rtt));
        format!(
            "{{\"interface\": \"{interface}\", {id}\"seen\": 5, \"visits\": 3, \"rate_bps\": {rate}, \
             \"rtt_s\": {rtt}, \"loss\": {}}}",
            estimate("0.005")
        )
    };
    let home = network(
        "wifi",
        "\"network\": \"770305081ad99b6971f6047220443310\", ",
        "20e6",
        "0.03",
    );
    let lte = network("lte", "", "40e6", "0.05");
    std::fs::write(
        &file,
        format!("{{\"version\": 1, \"networks\": [{home}, {lte}]}}"),
    )
    .unwrap();
    std::fs::write(folder.path().join("history.json.salt"), "0".repeat(64)).unwrap();
    let history = file.to_str().unwrap();
    let options = ["advise", "--history", history, "--size", "10MB", "--json"];
    let ask = |wifi, lte| joulepath(&[&options[..], &["--path", wifi, "--path", lte]].concat());
    let given = joulepath(&[
        "advise", "--path", WIFI, "--path", LTE, "--size", "10MB", "--json",
    ])
    .json();
    // What is given counts before what is remembered.
    let known = ask(
        "wifi:network=home,energy=wifi-huang2012",
        "lte:loss=0%,energy=lte-huang2012",
    )
    .json();
    assert_eq!(known, given);
    let unknown = ask("wifi:network=train,energy=wifi-huang2012", LTE);
    assert_eq!(unknown.code, Some(2));
    assert!(
        unknown
            .stderr
            .contains("--path wifi: the history does not know network=train"),
        "{}",
        unknown.stderr
    );
    let unseen = ask("wlan1:energy=wifi-huang2012", LTE);
    assert!(
        unseen.stderr.contains("--path wlan1 has no rate"),
        "{}",
        unseen.stderr
    );
    let without = joulepath(&[
        "advise",
        "--size",
        "1MB",
        "--path",
        "wifi:network=home,energy=free",
    ]);
    assert!(
        without.stderr.contains("network=home needs a history"),
        "{}",
        without.stderr
    );
}

/// LTE alone takes 2.57 s and costs 20.8 J, WiFi alone 11.4 s and 13.7 J.
#[test]
fn a_transfer_takes_at_most_so_many_times_as_long_as_on_the_fastest_path() {
    let best = |options: &[&str]| {
        let question = [
            "advise", "--path", WIFI, "--path", LTE, "--size", "10MB", "--json",
        ];
        let advice = joulepath(&[&question[..], options].concat()).json();
        advice["best"]["paths"][0]["name"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(best(&["--slowest", "6"]), "wifi");
    assert_eq!(best(&["--slowest", "2"]), "lte");
    assert_eq!(best(&["--slowest", "1"]), "lte");
    // The earlier limit counts.
    assert_eq!(best(&["--slowest", "6", "--deadline", "8s"]), "lte");
    assert_eq!(best(&["--slowest", "2", "--deadline", "20s"]), "lte");
}

/// WiFi alone takes 11.4 s and 13.7 J, LTE alone 2.57 s and 20.8 J, both 2.22 s and 22.0 J.
#[test]
fn a_preset_is_a_price_of_time() {
    let asked = |options: &[&str]| {
        let question = ["advise", "--path", WIFI, "--path", LTE, "--size", "10MB"];
        joulepath(&[&question[..], options].concat())
    };
    let paths = |preset: &str| {
        let best = asked(&["--json", "--preset", preset]).json()["best"]["paths"].clone();
        best.as_array()
            .unwrap()
            .iter()
            .map(|path| path["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(paths("saver"), ["wifi"]);
    // 7.1 J for 8.8 s are 0.81 W.
    assert_eq!(paths("balanced"), ["wifi"]);
    assert!(paths("fast").contains(&"lte".to_owned()));
    let said = asked(&["--preset", "fast"])
        .stdout
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(
        said.contains("wifi alone would cost 13.7 J, but take 11.4 s"),
        "{said}"
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("question.toml");
    asked(&["--preset", "balanced", "--write", file.to_str().unwrap()]);
    assert!(
        std::fs::read_to_string(&file)
            .unwrap()
            .contains("\"joule[delay_price=0.3 W]\"")
    );
    let wrong = asked(&["--preset", "quick"]);
    assert!(
        wrong.code == Some(2) && wrong.stderr.contains("saver, balanced, fast"),
        "{}",
        wrong.stderr
    );
}

#[test]
fn a_wrong_question_names_its_option() {
    let cases: [(&[&str], &str); 11] = [
        (
            &[
                "--path",
                "wifi:rate=20Mbit/s,rtt=30ms,loss=1%,burst=0.5,energy=free",
                "--size",
                "1MB",
            ],
            "--path wifi: burst: `0.5` is no number of packets of at least 1",
        ),
        (
            &[
                "--path",
                WIFI,
                "--size",
                "1MB",
                "--every",
                "1ms",
                "--tolerance",
                "1s",
            ],
            "no path alone carries 1 MB every 1 ms",
        ),
        (
            &["--path", WIFI, "--size", "1MB", "--every", "30s"],
            "--tolerance <TIME>",
        ),
        (
            &[
                "--path",
                WIFI,
                "--size",
                "1MB",
                "--every",
                "30",
                "--tolerance",
                "1s",
            ],
            "--every: `30` has no unit",
        ),
        (
            &[
                "--path",
                "wifi:rate=20,rtt=30ms,energy=free",
                "--size",
                "1MB",
            ],
            "--path wifi: rate: `20` has no unit",
        ),
        (
            &["--path", "wifi:rtt=30ms,energy=free", "--size", "1MB"],
            "--path wifi has no rate",
        ),
        (
            &["--path", WIFI, "--path", WIFI, "--size", "1MB"],
            "two paths are called `wifi`",
        ),
        (&["--path", WIFI, "--size", "0B"], "--size is 0"),
        (
            &["--path", WIFI, "--size", "1MB", "--slowest", "0.5"],
            "--slowest 0.5 is not a number of at least 1",
        ),
        (
            &["--path", WIFI, "--size", "10MB", "--deadline", "1s"],
            "--deadline 1 s cannot be met",
        ),
        (
            &["--path", WIFI, "--size", "10MB", "--rate", "90Mbit/s"],
            "--rate 90 Mbit/s exceeds the capacity of the paths",
        ),
    ];
    for (arguments, message) in cases {
        let said = joulepath(&[&["advise"][..], arguments].concat());
        assert_eq!(
            (said.code, said.stdout.as_str()),
            (Some(2), ""),
            "{arguments:?}"
        );
        assert!(
            said.stderr.contains(message),
            "{arguments:?}: {}",
            said.stderr
        );
    }
}

#[test]
fn the_report_is_a_page_beside_the_table_or_the_json() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("deep/advice.html");
    let place = page.to_str().unwrap();
    let question = [
        "advise",
        "--path",
        WIFI,
        "--path",
        LTE,
        "--size",
        "10MB",
        "--deadline",
        "8s",
    ];
    let said = joulepath(&[&question[..], &["--report", place]].concat());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(
        said.stderr.ends_with(&format!("report: {place}\n")),
        "{}",
        said.stderr
    );
    let html = std::fs::read_to_string(&page).unwrap();
    let advice = joulepath(&[&question[..], &["--json"]].concat()).json();
    assert!(html.contains(advice["reason"].as_str().unwrap()));
    for said in ["below 7.14 MB", "within 8 s", ">deadline<"] {
        assert!(html.contains(said), "{said}");
    }
    // With --json stdout is for programs; a folder gets `advice.html`.
    let said = joulepath(
        &[
            &question[..],
            &["--json", "--report", folder.path().to_str().unwrap()],
        ]
        .concat(),
    );
    assert!(said.stderr.contains("advice.html") && folder.path().join("advice.html").exists());
    assert_eq!(said.json()["best"], advice["best"]);
}

#[test]
fn a_page_that_cannot_be_written_is_an_error() {
    let said = joulepath(&[
        "advise",
        "--path",
        WIFI,
        "--size",
        "1MB",
        "--report",
        "/dev/null/advice.html",
    ]);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(
        said.stderr.contains("cannot create the folder /dev/null"),
        "{}",
        said.stderr
    );
}

#[test]
fn a_question_that_was_written_as_a_scenario_is_compared() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("question.toml");
    let place = file.to_str().unwrap();
    let question = [
        "advise",
        "--path",
        WIFI,
        "--path",
        LTE,
        "--size",
        "1MB",
        "--deadline",
        "8s",
    ];
    let said = joulepath(&[&question[..], &["--write", place]].concat());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(
        said.stderr.contains(&format!("joulepath compare {place}")),
        "{}",
        said.stderr
    );
    let compared = joulepath(&["compare", place, "--seeds", "1", "--json", "--quiet"]).json();
    let policies: Vec<&str> = compared["rows"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|row| row["policy"].as_str())
        .collect();
    assert_eq!(
        policies,
        [
            "joule[deadline=8 s]",
            "uncoupled",
            "single:wifi",
            "single:lte"
        ]
    );
    assert!(
        compared["rows"][0]["completion_s"]["mean"]
            .as_f64()
            .unwrap()
            < 8.0,
        "{compared}"
    );
}
