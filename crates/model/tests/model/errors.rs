//! Each mistake is reported with its position, cause and fix.

use joulepath_model::network::DeliveryTrace;
use joulepath_model::scenario::{self, ScenarioErrors};

/// A correct scenario that uses every feature.
const GOOD: &str = include_str!("../corpus/everything.toml");

fn traces(name: &str) -> Result<DeliveryTrace, String> {
    match name {
        "cell.down" => Ok(DeliveryTrace {
            source: name.into(),
            opportunities_ms: vec![1, 1, 4],
        }),
        "empty.down" => Ok(DeliveryTrace {
            source: name.into(),
            opportunities_ms: vec![],
        }),
        _ => Err("no such file".into()),
    }
}

fn errors(text: &str) -> ScenarioErrors {
    match scenario::load(text, &traces) {
        Ok(_) => panic!("this was accepted:\n{text}"),
        Err(errors) => errors,
    }
}

/// Replaces one text of the correct scenario and expects one problem: the underlined text, and
/// parts of the message.
#[track_caller]
fn expect(from: &str, to: &str, underlined: &str, said: &[&str]) {
    assert_eq!(
        GOOD.matches(from).count(),
        1,
        "`{from}` must appear exactly once in the scenario"
    );
    let errors = errors(&GOOD.replace(from, to));
    let [problem] = errors.problems() else {
        panic!("one problem was expected:\n{errors}")
    };
    assert_eq!(&errors.text()[problem.span.clone()], underlined, "{errors}");
    let told = format!(
        "{}; {}",
        problem.message,
        problem.help.as_deref().unwrap_or_default()
    );
    for part in said {
        assert!(told.contains(part), "`{part}` is not in: {told}");
    }
}

#[test]
fn the_scenario_with_everything_is_correct() {
    let scenario = scenario::load(GOOD, &traces).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(scenario.paths.len(), 4);
}

#[test]
fn a_quantity_needs_a_unit() {
    expect(
        "\"10 Mbit/s\" # wifi",
        "10 # wifi",
        "10",
        &["`10` has no unit", "\"10 Mbit/s\""],
    );
    expect(
        "loss = \"1 %\"",
        "loss = 1.2",
        "1.2",
        &["`1.2` has no unit", "\"1.2 %\""],
    );
    expect(
        "queue = \"50 packets\"",
        "queue = 50",
        "50",
        &["`50`", "\"50 packets\"", "\"64 KiB\""],
    );
    expect(
        "duration = \"60 s\"",
        "duration = 60",
        "60",
        &["no unit", "\"60 ms\""],
    );
    expect(
        "buffer = \"64 KiB\"",
        "buffer = 65536",
        "65536",
        &["no unit", "\"65536 B\""],
    );
    expect(
        "initial_window = \"10 packets\"",
        "initial_window = 10",
        "10",
        &["\"10 packets\""],
    );
}

#[test]
fn a_count_or_a_factor_has_no_unit() {
    expect(
        "seeds = 5",
        "seeds = \"5\"",
        "\"5\"",
        &["a count is expected", "bare number"],
    );
    expect(
        "sharing_factor = 0.9",
        "sharing_factor = \"90 %\"",
        "\"90 %\"",
        &["a factor", "0.8"],
    );
    expect("seeds = 5", "seeds = -5", "-5", &["a count is expected"]);
}

#[test]
fn memory_belongs_to_a_receive_buffer_that_grows() {
    let growing = "receive_buffer = \"auto\"";
    expect(
        growing,
        "receive_buffer = \"1 MiB\"",
        "\"256 KiB\"",
        &["`memory`", "none grows", "buffer = \"auto\""],
    );
    expect(growing, "receive_buffer = \"Auto\"", "\"Auto\"", &["Auto"]);
    let memory = "memory = \"256 KiB\"";
    expect(
        memory,
        "memory = \"8 MiB\"",
        "\"8 MiB\"",
        &[
            "`max_memory` of 6 MiB is less than `memory` of 8 MiB",
            "net.ipv4.tcp_rmem",
        ],
    );
    expect(
        memory,
        "max_memory = \"3 GiB\"",
        "\"3 GiB\"",
        &["exceeds Linux' limit", "2047 MiB"],
    );
    // 2 KiB hold 1296 bytes of payload.
    expect(
        memory,
        "memory = \"2 KiB\"",
        "\"2 KiB\"",
        &["1296 B", "one segment of 1460 B"],
    );
}

#[test]
fn an_unknown_key_is_refused_with_the_nearest_and_all_keys() {
    expect(
        "rate = \"10 Mbit/s\"",
        "raet = \"10 Mbit/s\"\nrate = \"10 Mbit/s\"",
        "raet",
        &[
            "`raet` is not a key of [[path]]",
            "did you mean `rate`?",
            "known keys: name, rate, delay",
        ],
    );
    expect(
        "[receiver]",
        "[reciever]\n[receiver]",
        "reciever",
        &["did you mean `receiver`?"],
    );
    expect(
        "size = \"1 MB\" # file",
        "size = \"1 MB\"\nthink = \"1 s\" # file",
        "think",
        &[
            "`think` is not a key of a file workload",
            "known keys: kind, direction, size",
        ],
    );
}

#[test]
fn an_unknown_name_is_refused_with_the_nearest() {
    expect(
        "\"wifi-seed000\"",
        "\"wifi-sed000\"",
        "\"wifi-sed000\"",
        &["did you mean `wifi-seed000`?", "lte-huang2012"],
    );
    expect(
        "path = \"wifi\" # cross",
        "path = \"wfi\" # cross",
        "\"wfi\"",
        &["no path `wfi`", "did you mean `wifi`?"],
    );
    expect(
        "via = [\"shared\"] # tcp",
        "via = [\"share\"] # tcp",
        "\"share\"",
        &["did you mean `shared`?"],
    );
    expect(
        "paths = [\"wifi\", \"lte\"]",
        "paths = [\"wifi\", \"let\"]",
        "\"let\"",
        &["did you mean `lte`?"],
    );
    expect(
        "preset = \"phone2015\"",
        "preset = \"phone\"",
        "\"phone\"",
        &["did you mean `phone2015`?"],
    );
    expect(
        "recovery = \"sack\"",
        "recovery = \"sac\"",
        "\"sac\"",
        &["did you mean `sack`?", "newreno"],
    );
    expect(
        "kind = \"bulk\"",
        "kind = \"bulky\"",
        "\"bulky\"",
        &["did you mean `bulk`?"],
    );
}

#[test]
fn an_impossible_value_is_refused_with_a_reason() {
    expect(
        "loss = \"1 %\"",
        "loss = \"100 %\"",
        "\"100 %\"",
        &["every packet is lost", "outages"],
    );
    expect(
        "loss = \"1 %\"",
        "loss = \"120 %\"",
        "\"120 %\"",
        &["between 0 % and 100 %"],
    );
    expect(
        "\"10 Mbit/s\" # wifi",
        "\"0 bit/s\" # wifi",
        "\"0 bit/s\"",
        &["never delivers", "outages"],
    );
    expect(
        "duration = \"60 s\"",
        "duration = \"0 s\"",
        "\"0 s\"",
        &["the duration is zero"],
    );
    expect(
        "duration = \"60 s\"",
        "duration = \"19 h\"",
        "\"19 h\"",
        &["out of range", "18 h"],
    );
    expect(
        "warm_up = \"5 s\"",
        "warm_up = \"60 s\"",
        "\"60 s\"",
        &["leaves nothing of 60 s"],
    );
    expect(
        "seeds = 5",
        "seeds = 0",
        "0",
        &["the number of seeds must be at least 1"],
    );
    expect(
        "buffer = \"64 KiB\"",
        "buffer = \"1000 B\"",
        "\"1000 B\"",
        &["cannot hold one segment of 1460 B"],
    );
    expect(
        "queue = \"50 packets\"",
        "queue = \"0 packets\"",
        "\"0 packets\"",
        &["drops every burst"],
    );
    expect(
        "queue = \"50 packets\"",
        "queue = \"1 kB\"",
        "\"1 kB\"",
        &["cannot hold one segment of 1500 B"],
    );
    expect(
        "ecn_threshold = \"20 packets\"",
        "ecn_threshold = \"51 packets\"",
        "\"51 packets\"",
        &["no packet is ever marked"],
    );
    expect(
        "target = \"10 ms\", interval",
        "target = \"0 s\", interval",
        "\"0 s\"",
        &["`target` is zero"],
    );
    expect(
        "interval = \"200 ms\"",
        "interval = \"9 ms\"",
        "\"9 ms\"",
        &["not longer than the target", "RFC 8289"],
    );
    expect(
        "flows = 64",
        "flows = 0",
        "0",
        &["the number of queues must be at least 1"],
    );
    expect(
        "alpha = 4",
        "alpha = 33",
        "33",
        &["at most 32", "alpha = 2"],
    );
    expect(
        "queue = \"600 packets\"",
        "queue = \"64 kB\"",
        "\"64 kB\"",
        &["in packets, as in Linux", "1000 packets"],
    );
    expect(
        "aqm = \"drop-tail\"",
        "aqm = \"red\"",
        "\"red\"",
        &["not a way to manage a queue"],
    );
    expect(
        "aqm = \"drop-tail\"",
        "aqm = { kind = \"drop-tail\", target = \"5 ms\" }",
        "{ kind = \"drop-tail\", target = \"5 ms\" }",
        &["no parameters", "`queue`"],
    );
    expect(
        "queue = \"600 packets\"",
        "ecn_threshold = \"9 packets\"",
        "\"9 packets\"",
        &["marks of its own", "ce_threshold"],
    );
    expect(
        "burst = \"64 kB\"",
        "burst = \"1 kB\"",
        "\"1 kB\"",
        &["never lets a segment of 1500 B pass"],
    );
    expect(
        "rate = \"6 Mbit/s\", b",
        "rate = \"0 bit/s\", b",
        "\"0 bit/s\"",
        &["never delivers"],
    );
    expect(
        "depth = \"3 packets\"",
        "depth = \"0 packets\"",
        "\"0 packets\"",
        &["reorders nothing"],
    );
    expect(
        "depth = \"2 ms\"",
        "depth = \"2 km\"",
        "\"2 km\"",
        &["neither a number of packets nor a time"],
    );
    expect(
        "share = \"1 %\"",
        "share = \"100 %\"",
        "\"100 %\"",
        &["keep their order"],
    );
    expect(
        "period = \"4 ms\"",
        "period = \"0 s\"",
        "\"0 s\"",
        &["`period` is zero"],
    );
    expect(
        "size = \"32 packets\"",
        "size = \"0 packets\"",
        "\"0 packets\"",
        &["drops every burst"],
    );
    expect(
        "shape = 1.5",
        "shape = 1.0",
        "1.0",
        &["has no mean", "greater than 1"],
    );
    expect(
        "sharing_factor = 0.9",
        "sharing_factor = 0.0",
        "0.0",
        &["at most 1"],
    );
    expect(
        "count = 3",
        "count = 0",
        "0",
        &["the count must be at least 1"],
    );
    expect(
        "rto_min = \"200 ms\"",
        "rto_min = \"2 s\"",
        "\"2 s\"",
        &["`rto_min` (2 s) is greater than `rto_initial` (1 s)"],
    );
    expect(
        "stop = \"50 s\"",
        "stop = \"1 s\"",
        "\"1 s\"",
        &["stops at 1 s, before it starts at 2 s"],
    );
    expect(
        "start = \"1 s\" # tcp",
        "start = \"70 s\" # tcp",
        "\"70 s\"",
        &["not within the duration of 60 s"],
    );
    expect(
        "mss = \"1460 B\"",
        "mss = \"70 kB\"\n",
        "\"70 kB\"",
        &["larger than IP allows"],
    );
}

#[test]
fn lists_in_the_wrong_order_are_refused() {
    expect(
        "[\"0 s\", \"8 Mbit/s\"]",
        "[\"1 s\", \"8 Mbit/s\"]",
        STEPS_LATE,
        &["the first step must be at \"0 s\""],
    );
    expect(
        "[\"20 s\", \"2 Mbit/s\"]",
        "[\"0 s\", \"2 Mbit/s\"]",
        "[\"0 s\", \"2 Mbit/s\"]",
        &["steps must ascend"],
    );
    expect(
        "[\"10 s\", \"15 s\"]",
        "[\"15 s\", \"10 s\"]",
        "[\"15 s\", \"10 s\"]",
        &["ends at 10 s, before it begins"],
    );
    expect(
        "[\"10 s\", \"15 s\"]",
        "[\"10 s\", \"35 s\"]",
        "[\"30 s\", \"31 s\"]",
        &["not overlap"],
    );
    expect(
        "[\"10 s\", \"15 s\"]",
        "[\"10 s\"]",
        "[\"10 s\"]",
        &["a pair is expected"],
    );
}
const STEPS_LATE: &str = "[[\"1 s\", \"8 Mbit/s\"], [\"20 s\", \"2 Mbit/s\"]]";

#[test]
fn a_missing_key_is_reported_with_an_example() {
    expect(
        "energy = \"wifi-seed000\"\n",
        "",
        "[[path]]",
        &[
            "[[path]] needs the key `energy`",
            "per_mbps",
            "wifi-seed000",
        ],
    );
    expect(
        "rate = \"10 Mbit/s\" # wifi\n",
        "",
        "[[path]]",
        &["needs the key `rate`", "via"],
    );
    expect(
        "title = \"Everything\"\n",
        "",
        "",
        &["a scenario needs the key `title`"],
    );
    expect(
        "size = \"1 MB\" # file",
        "",
        "[connection.workload]",
        &["a file workload needs the key `size`", "\"64 KiB\""],
    );
    expect(
        "mean_gap = \"10 s\"",
        "",
        "\"pareto\"",
        &["pareto traffic needs the key `mean_gap`"],
    );
    expect(
        "idle = \"31.5 mW\",",
        "",
        RRC_WITHOUT_IDLE,
        &["needs the key `idle`"],
    );
}
const RRC_WITHOUT_IDLE: &str = "{ model = \"rrc\", per_mbps = \"52 mW\", \
     up_per_mbps = \"438 mW\", active = \"1.288 W\", \
     inactivity = \"100 ms\",  promotion = { power = \"1.21 W\", duration = \"260 ms\" }, \
     tail = [{ power = \"1.06 W\", duration = \"11.5 s\" }] }";

#[test]
fn a_tolerance_belongs_to_messages_that_have_time_to_wait() {
    let messages = |keys: &str| {
        format!(
            "title = \"t\"\nduration = \"60 s\"\n[[path]]\nname = \"a\"\nrate = \"1 Mbit/s\"\n\
             delay = \"1 ms\"\n\
             energy = \"free\"\n[workload]\n{keys}\n"
        )
    };
    let of = |keys: &str, tolerance: &str| {
        let text = messages(&format!("{keys}\ntolerance = {tolerance}"));
        scenario::load(&text, &traces).map_err(|errors| errors.to_string())
    };
    let kind = "kind = \"messages\"\nmean_gap = \"30 s\"\nsize = \"50 kB\"";
    assert!(of(kind, "\"59 s\"").is_ok());
    let refused = |keys: &str, tolerance: &str, said: &str| {
        let errors = of(keys, tolerance).unwrap_err();
        assert!(errors.contains(said), "`{said}` is not in: {errors}");
    };
    refused(
        kind,
        "\"60 s\"",
        "no message would be sent: `tolerance` (60 s) is not below `duration` (60 s)",
    );
    refused(kind, "120", "`120` has no unit");
    refused(kind, "\"-1 s\"", "-1 s");
    let elsewhere = "it belongs into [workload] with kind = \"messages\"";
    refused("kind = \"requests\"\nsize = \"1 kB\"", "\"1 s\"", elsewhere);
    refused("kind = \"bulk\"", "\"1 s\"", elsewhere);
    refused("kind = \"bulk\"\n[device]", "\"1 s\"", elsewhere);
}

#[test]
fn a_tolerance_is_shown_only_if_there_is_one() {
    let workload = "workload = { kind = \"messages\", mean_gap = \"100 ms\", size = \"2 kB\",";
    let patient = GOOD.replace(workload, &format!("{workload} tolerance = \"7 s\","));
    let shown = |text: &str| scenario::show(&scenario::load(text, &traces).unwrap());
    assert!(!shown(GOOD).contains("tolerance"));
    assert!(
        shown(&patient).contains("tolerance = \"7 s\""),
        "{}",
        shown(&patient)
    );
    assert_eq!(shown(&shown(&patient)), shown(&patient));
}

#[test]
fn clashing_names_are_refused() {
    expect(
        "name = \"lte\"",
        "name = \"wifi\"",
        "\"wifi\"",
        &["two paths, links or channels with the name `wifi`"],
    );
    expect(
        "name = \"lte\"",
        "name = \"l.te\"",
        "\"l.te\"",
        &["cannot be a name"],
    );
    expect(
        "via = [\"shared\"] # tcp",
        "via = [\"shared\", \"shared\"] # tcp",
        "\"shared\"",
        &["is listed twice"],
    );
    expect(
        "paths = [\"wifi\", \"lte\"]",
        "paths = [\"lte\", \"lte\"]",
        "\"lte\"",
        &["is listed twice"],
    );
}

#[test]
fn a_malformed_policy_is_refused() {
    expect(
        "\"dts\"]",
        "\"dts[\"]",
        "\"dts[\"",
        &["`]` is missing", "mptcp[cc=olia]"],
    );
    expect("\"dts\"]", "\"mptcp\"]", "\"mptcp\"", &["is listed twice"]);
    expect(
        "policies = [\"mptcp\", \"dts\"]",
        "policies = []",
        "[]",
        &["no policies to compare"],
    );
}

#[test]
fn an_unusable_trace_is_refused() {
    expect(
        "\"cell.down\"",
        "\"cel.down\"",
        "\"cel.down\"",
        &["cannot be used: no such file"],
    );
    expect(
        "\"cell.down\"",
        "\"empty.down\"",
        "\"empty.down\"",
        &["cannot be used: it is empty"],
    );
}

#[test]
fn energy_keys_belong_to_one_model() {
    expect(
        "active = \"140 mW\"",
        "active = \"140 mW\", slot = \"1 s\"",
        "\"1 s\"",
        &["not a key of a linear energy model"],
    );
    expect(
        "active = \"140 mW\"",
        "model = \"rrc\"",
        "\"rrc\"",
        &["this profile is linear, not rrc"],
    );
}

#[test]
fn a_queue_needs_a_rate() {
    expect(
        "delay = \"1 ms\" # tunnel",
        "delay = \"1 ms\"\nqueue = \"9 packets\"",
        "\"9 packets\"",
        &["without a rate there is no queue"],
    );
}

#[test]
fn an_invalid_relay_is_refused_with_a_reason() {
    let ip = "relay = { kind = \"ip\", channel = \"short\" }";
    let with = |relay: &str, underlined: &str, said: &[&str]| expect(ip, relay, underlined, said);
    with(
        "relay = { kind = \"ip\", channel = \"shrt\" }",
        "\"shrt\"",
        &["no channel `shrt`", "did you mean `short`?"],
    );
    with(
        "relay = { kind = \"udp\", channel = \"short\" }",
        "\"udp\"",
        &["`udp` is not a kind of relay", "ip, tcp"],
    );
    with(
        "relay = { kind = \"ip\", channel = \"short\", buffer = \"33 packets\" }",
        "\"33 packets\"",
        &["no buffer of its own", "`queue` of [[channel]]"],
    );
    let no_buffer = "{ kind = \"tcp\", channel = \"short\" }";
    with(
        &format!("relay = {no_buffer}"),
        no_buffer,
        &["needs the key `buffer`", "33 packets"],
    );
    with(
        "relay = { kind = \"tcp\", channel = \"short\", buffer = \"0 packets\" }",
        "\"0 packets\"",
        &["at least \"1 packets\""],
    );
    // The connection `talk` uploads over all paths.
    let tcp = "{ kind = \"tcp\", channel = \"short\", buffer = \"33 packets\" }";
    with(
        &format!("relay = {tcp}"),
        tcp,
        &["`talk` uploads", "kind = \"ip\""],
    );
    let growing = GOOD
        .replace(ip, &format!("relay = {tcp}"))
        .replace("[\"lte\", \"wifi\"] # web", "[\"cell\"]");
    let told = errors(&growing).to_string();
    assert!(
        told.contains("`web` has a receive buffer that grows, and a TCP relay's window is fixed"),
        "{told}"
    );
    expect(
        "energy = { profile = \"lte-seed000\", active = \"140 mW\" }",
        "energy = \"lte-huang2012\"",
        "\"lte-huang2012\"",
        &[
            "the radio behind the relay of `cell` cannot sleep",
            "wifi-huang2012-linear",
        ],
    );
}

#[test]
fn an_invalid_channel_is_refused_with_a_reason() {
    expect(
        "timing = \"802.11b\"",
        "timing = \"802.11-b\"",
        "\"802.11-b\"",
        &["no timing `802.11-b`", "did you mean `802.11b`?"],
    );
    expect(
        "rate = \"11 Mbit/s\"",
        "rate = \"0 bit/s\"",
        "\"0 bit/s\"",
        &["a rate of zero"],
    );
    expect(
        "queue = \"30 packets\"",
        "queue = \"0 packets\"",
        "\"0 packets\"",
        &["queue of a station"],
    );
    expect(
        "retry_limit = 4",
        "retry_limit = 0",
        "0",
        &["`retry_limit` must be at least 1"],
    );
    expect(
        "frame_error = \"2 %\"",
        "frame_error = \"100 %\"",
        "\"100 %\"",
        &["every frame is lost"],
    );
    expect(
        "[[channel]]",
        "[[channel]]\nname = \"wifi\"\nrate = \"1 Mbit/s\"\n\n[[channel]]",
        "\"wifi\"",
        &["two paths, links or channels with the name `wifi`"],
    );
}

#[test]
fn a_ninth_subflow_is_refused() {
    let path = |n| {
        format!(
            "[[path]]\nname = \"p{n}\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\nenergy = \"free\"\n"
        )
    };
    let head = "title = \"t\"\nduration = \"1 s\"\n";
    let workload = "[workload]\nkind = \"bulk\"\n";
    let with =
        |paths: usize| head.to_owned() + &(0..paths).map(path).collect::<String>() + workload;
    assert!(scenario::load(&with(8), &traces).is_ok());
    let errors = errors(&with(9));
    assert!(
        errors
            .to_string()
            .contains("9 paths are more than the 8 subflows"),
        "{errors}"
    );
}

#[test]
fn several_problems_are_reported_together_in_order() {
    let text = GOOD
        .replace("loss = \"1 %\"", "loss = 1")
        .replace("seeds = 5", "seeds = \"many\"")
        .replace("\"wifi-seed000\"", "7");
    let errors = errors(&text);
    let lines: Vec<usize> = errors
        .problems()
        .iter()
        .map(|problem| errors.place(problem).0)
        .collect();
    assert_eq!(lines.len(), 3, "{errors}");
    assert!(lines.is_sorted(), "{lines:?}");
}

#[test]
fn problems_are_printed_with_file_line_and_column() {
    let errors = errors("title = \"µ\"\nduration = 60\n").in_file("my.toml");
    let printed = errors.to_string();
    assert!(
        printed.contains("my.toml:2:12: `60` has no unit; write for example \"60 ms\""),
        "{printed}"
    );
}

#[test]
fn text_that_is_not_toml_is_reported_with_its_position() {
    let errors = errors("title = \"a\"\nduration = = \"1 s\"\n");
    assert_eq!(errors.place(&errors.problems()[0]).0, 2, "{errors}");
}

#[test]
fn a_list_section_with_single_brackets_is_refused_with_the_fix() {
    let errors = errors("title = \"a\"\nduration = \"1 s\"\n[path]\nname = \"wifi\"\n");
    assert!(errors.to_string().contains("[[path]]"), "{errors}");
}

#[test]
fn a_diagnostic_carries_text_labels_and_help() {
    use miette::Diagnostic;
    let errors = errors(&GOOD.replace("seeds = 5", "seeds = 0"));
    assert!(errors.source_code().is_some());
    let related: Vec<_> = errors.related().unwrap().collect();
    let label = related[0].labels().unwrap().next().unwrap();
    assert_eq!(
        &errors.text()[label.offset()..label.offset() + label.len()],
        "0"
    );
}

/// A correct topology in which tests replace one text.
const DATA_CENTRE: &str = "title = \"x\"\nduration = \"1 s\"\n[topology]\nkind = \"fat-tree\"\nk \
    = 4\nrate = \"100 Mbit/s\"\n";

#[track_caller]
fn expect_of_topology(from: &str, to: &str, underlined: &str, said: &[&str]) {
    let errors = errors(&DATA_CENTRE.replace(from, to));
    let [problem] = errors.problems() else {
        panic!("one problem was expected:\n{errors}")
    };
    assert!(
        errors.text()[problem.span.clone()].starts_with(underlined),
        "{errors}"
    );
    let told = format!(
        "{}; {}",
        problem.message,
        problem.help.as_deref().unwrap_or_default()
    );
    for part in said {
        assert!(told.contains(part), "`{part}` is not in: {told}");
    }
}

#[test]
fn an_invalid_topology_is_refused_with_a_reason() {
    scenario::load(DATA_CENTRE, &traces).unwrap_or_else(|errors| panic!("{errors}"));
    expect_of_topology(
        "fat-tree",
        "fattree",
        "\"fattree\"",
        &["did you mean `fat-tree`?", "bcube"],
    );
    expect_of_topology(
        "k = 4\n",
        "",
        "",
        &["`fat-tree` needs the key `k`", "k = 8"],
    );
    expect_of_topology("k = 4", "k = 5", "5", &["an even number of at least 2"]);
    expect_of_topology(
        "k = 4",
        "k = 4\nn = 5",
        "5",
        &["`n` is not a size of `fat-tree`"],
    );
    expect_of_topology("k = 4", "k = 64", "", &["65536 hosts, more than 10000"]);
    expect_of_topology("k = 4", "k = 4000000", "", &["more than 2^32 hosts"]);
    expect_of_topology(
        "\"100 Mbit/s\"",
        "\"0 bit/s\"",
        "\"0 bit/s\"",
        &["never delivers"],
    );
    expect_of_topology("\"100 Mbit/s\"", "100", "100", &["no unit"]);
    expect_of_topology("k = 4", "k = 4\nsubflows = 9", "9", &["1 to 8 subflows"]);
    expect_of_topology(
        "k = 4",
        "k = 4\nrouting = \"ecpm\"",
        "\"ecpm\"",
        &["did you mean `ecmp`?"],
    );
    expect_of_topology(
        "k = 4",
        "k = 4\nenergy = \"lte-huang2012\"",
        "\"lte-huang2012\"",
        &["linear"],
    );
    expect_of_topology(
        "k = 4",
        "k = 4\nspread = \"2 s\"",
        "\"2 s\"",
        &["not within the duration"],
    );
    expect_of_topology(
        "k = 4",
        "k = 4\nqueue = \"0 packets\"",
        "\"0 packets\"",
        &["drops every burst"],
    );
    expect_of_topology(
        "k = 4",
        "k = 4\nswitch = { idle = 0.1 }",
        "0.1",
        &["no unit"],
    );
}

#[test]
fn sections_that_a_topology_excludes_are_refused() {
    let link = "\n[[link]]\nname = \"l\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n";
    expect_of_topology(
        "\"100 Mbit/s\"\n",
        &format!("\"100 Mbit/s\"{link}"),
        "",
        &["[[link]] and [topology] exclude"],
    );
    let bcube = "bcube\"\nn = 2\nswitch_rate = \"1 Gbit/s";
    expect_of_topology(
        "fat-tree",
        bcube,
        "\"1 Gbit/s\"",
        &["`bcube` has no links between switches"],
    );
    let vpc = "vpc\"\nhosts = 4\ninterfaces = 9 #";
    expect_of_topology(
        "fat-tree\"\nk = 4",
        vpc,
        "",
        &["9 interfaces are more than the 8 subflows"],
    );
}
