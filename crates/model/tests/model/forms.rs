//! Forms, defaults, overrides, variants, schema.

use joulepath_model::aqm::{AqmSpec, CodelSpec, DualPi2Spec, FqCodelSpec, PieSpec};
use joulepath_model::energy::{InterfaceModel, SunkWhile};
use joulepath_model::network::{
    DeliveryTrace, JitterSpec, LossSpec, QueueLimit, RateSpec, ReorderDepth,
};
use joulepath_model::receive::GrowingMemory;
use joulepath_model::scenario::{self, Direction, ProcessingDelay, Recovery, Scenario, Workload};
use joulepath_model::units::{BitRate, Bytes, Nanos, Probability, Watts};

const EVERYTHING: &str = include_str!("../corpus/everything.toml");
const SIMPLE: &str = r#"
title = "Two paths"
duration = "12 s"

[[path]]
name = "wifi"
rate = "7 Mbit/s"
delay = "10 ms"
loss = "0.1 %"
queue = "60 packets"
energy = "wifi-huang2012"

[[path]]
name = "lte"
rate = "4 Mbit/s"
delay = "30 ms"
energy = { per_mbps = "52 mW", active = "1288 mW" }

[workload]
kind = "bulk"
"#;

fn traces(name: &str) -> Result<DeliveryTrace, String> {
    Ok(DeliveryTrace {
        source: String::new(),
        opportunities_ms: vec![1, name.len() as u64],
    })
}

fn load(text: &str) -> Scenario {
    scenario::load(text, &traces).unwrap_or_else(|errors| panic!("{errors}"))
}

fn load_with(text: &str, overrides: &[(&str, &str)]) -> Result<Scenario, String> {
    let overrides: Vec<_> = overrides
        .iter()
        .map(|(key, value)| (key.to_string(), value.to_string()))
        .collect();
    scenario::load_with(text, &overrides, &traces).map_err(|errors| errors.to_string())
}

#[test]
fn absent_keys_have_defaults() {
    let scenario = load(SIMPLE);
    let transport = &scenario.transport;
    assert_eq!(
        (transport.mss, transport.header, transport.ack_size),
        (Bytes(1460), Bytes(40), Bytes(40))
    );
    assert_eq!(
        (
            transport.initial_window,
            transport.dup_threshold,
            transport.max_retries
        ),
        (10, 3, 15)
    );
    assert_eq!(transport.rto_min, Nanos::from_millis(200));
    assert_eq!(
        (transport.rto_initial, transport.rto_max),
        (Nanos::from_secs(1), Nanos::from_secs(120))
    );
    assert_eq!(
        (transport.recovery, transport.ecn, transport.delayed_ack),
        (Recovery::Rack, false, None)
    );
    assert_eq!(transport.processing_delay, ProcessingDelay::Packets(1));
    assert_eq!(
        (scenario.warm_up, scenario.compare.seeds),
        (Nanos::ZERO, 10)
    );
    let policies: Vec<_> = scenario
        .compare
        .policies
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        policies,
        [
            "uncoupled",
            "mptcp",
            "mptcp[cc=olia]",
            "mptcp[cc=balia]",
            "dts",
            "eemptcp",
            "joule"
        ]
    );
    let [connection] = scenario.connections.as_slice() else {
        panic!("one connection")
    };
    assert_eq!((connection.name.as_str(), connection.count), ("main", 1));
    assert_eq!(
        (connection.paths.as_slice(), connection.workload),
        ([0, 1].as_slice(), Workload::Bulk)
    );
    assert_eq!(connection.direction, Direction::Download);
    assert_eq!(
        (connection.receive_buffer, connection.send_buffer),
        (Bytes(4 << 20), Bytes(4 << 20))
    );
}

#[test]
fn a_receive_buffer_may_grow_as_in_linux() {
    let load = |keys: &str| load(&format!("{SIMPLE}\n[receiver]\nbuffer = \"auto\"\n{keys}"));
    let group = load("").connections.swap_remove(0);
    // Linux up to 6.15. 6 MiB hold 162/256 of payload in full segments of 2304 bytes.
    let default = GrowingMemory {
        initial: Bytes(131_072),
        most: Bytes(6_291_456),
    };
    assert_eq!(
        (group.receive_memory, group.receive_buffer),
        (Some(default), Bytes(3_981_312))
    );
    let larger = load("memory = \"256 KiB\"\nmax_memory = \"32 MiB\"");
    let memory = GrowingMemory {
        initial: Bytes(262_144),
        most: Bytes(33_554_432),
    };
    assert_eq!(larger.receive_memory(), Some(memory));
    let shown = scenario::show(&larger);
    for line in [
        "memory = \"256 KiB\"",
        "max_memory = \"32 MiB\"",
        "buffer = \"auto\"",
    ] {
        assert!(
            shown.lines().any(|shown| shown == line),
            "`{line}` is not in\n{shown}"
        );
    }
    assert_eq!(self::load(&shown), larger);
}

/// Stored results carry the SHA-256 of the scenario with all defaults.
#[test]
fn a_fixed_receive_buffer_adds_nothing_to_a_scenario() {
    let json = serde_json::to_string(&load(SIMPLE)).unwrap();
    assert!(
        json.contains("receive_buffer") && !json.contains("receive_memory"),
        "{json}"
    );
}

#[test]
fn a_path_becomes_one_link_in_each_direction() {
    let scenario = load(SIMPLE);
    let names: Vec<_> = scenario
        .links
        .iter()
        .map(|link| link.name.as_str())
        .collect();
    assert_eq!(names, ["wifi.down", "wifi.up", "lte.down", "lte.up"]);
    let (down, up) = (&scenario.links[0], &scenario.links[1]);
    assert_eq!(down.rate, RateSpec::Constant(BitRate::from_bps(7_000_000)));
    assert_eq!(
        (&up.rate, up.delay, up.queue),
        (&down.rate, down.delay, QueueLimit::Packets(60))
    );
    assert!(matches!(down.loss, LossSpec::Bernoulli(p) if p.get() == 0.001));
    assert_eq!(up.loss, LossSpec::None, "ACKs are not lost at random");
    assert_eq!(scenario.links[2].queue, QueueLimit::Packets(100));
    assert_eq!(
        (
            scenario.paths[1].down.as_slice(),
            scenario.paths[1].up.as_slice()
        ),
        ([2].as_slice(), [3].as_slice())
    );
}

#[test]
fn a_managed_queue_has_the_defaults_of_linux() {
    let with = |aqm: &str| {
        let text = SIMPLE.replacen("delay = ", &format!("aqm = {aqm}\ndelay = "), 1);
        let without_queue = text.replace("queue = \"60 packets\"\n", "");
        let link = load(&without_queue).links.swap_remove(0);
        (link.aqm.unwrap(), link.queue)
    };
    let ms = Nanos::from_millis;
    let codel = CodelSpec {
        target: ms(5),
        interval: ms(100),
        ecn: false,
        ce_threshold: None,
    };
    assert_eq!(
        with("\"codel\""),
        (AqmSpec::Codel(codel), QueueLimit::Packets(1000))
    );
    let fq = FqCodelSpec {
        codel: CodelSpec { ecn: true, ..codel },
        flows: 1024,
        quantum: Bytes(1514),
        memory_limit: Bytes(32 << 20),
        drop_batch: 64,
    };
    assert_eq!(
        with("\"fq-codel\""),
        (AqmSpec::FqCodel(fq), QueueLimit::Packets(10_240))
    );
    let pie = PieSpec {
        target: ms(15),
        tupdate: ms(15),
        alpha: 2,
        beta: 20,
        bytemode: false,
        ecn: false,
    };
    assert_eq!(
        with("{ kind = \"pie\" }"),
        (AqmSpec::Pie(pie), QueueLimit::Packets(1000))
    );
    let dualpi2 = DualPi2Spec {
        target: ms(15),
        tupdate: ms(16),
        alpha: 0.16,
        beta: 3.2,
        coupling: 2.0,
        step_threshold: ms(1),
        classic_protection: Probability::new(0.1).unwrap(),
    };
    assert_eq!(
        with("\"dualpi2\""),
        (AqmSpec::DualPi2(dualpi2), QueueLimit::Packets(10_000))
    );
}

/// The queue is the same in both directions unless set otherwise; loss, jitter and policing are
/// not.
#[test]
fn loss_policing_and_reordering_apply_to_one_direction() {
    let scenario = load(EVERYTHING);
    let link = |name: &str| {
        scenario
            .links
            .iter()
            .find(|link| link.name == name)
            .unwrap()
    };
    let (down, up) = (link("cell.down"), link("cell.up"));
    assert!(down.aqm.is_some() && down.aqm == up.aqm);
    let (down, up) = (link("lte.down"), link("lte.up"));
    assert_eq!(
        (down.policer.unwrap().burst, up.policer.unwrap().burst),
        (Bytes(64_000), Bytes(20_000))
    );
    assert_eq!((down.aggregate, up.aqm), (None, None));
    assert_eq!(
        up.reorder.unwrap().depth,
        ReorderDepth::Time(Nanos::from_millis(2))
    );
    let at_most = Nanos::from_millis(50);
    assert_eq!(
        down.reorder.unwrap().depth,
        ReorderDepth::Packets {
            packets: 3,
            at_most
        }
    );
    assert_eq!(up.aggregate.unwrap().size, QueueLimit::Packets(64));
    let (down, up) = (link("shared.down"), link("shared.up"));
    assert_eq!(
        (down.queue, up.queue),
        (QueueLimit::Bytes(Bytes(40_000)), QueueLimit::Packets(1000))
    );
    assert!(down.aggregate.is_none() && up.aggregate.is_some());
    let marks = |name: &str| link(name).mark.get();
    assert_eq!((marks("wifi.down"), marks("wifi.up")), (0.02, 0.0));
}

#[test]
fn the_reverse_direction_can_differ() {
    let scenario = load(EVERYTHING);
    let up = scenario
        .links
        .iter()
        .find(|link| link.name == "lte.up")
        .unwrap();
    assert_eq!(up.delay, Nanos::from_millis(31));
    assert_eq!(up.queue, QueueLimit::Bytes(Bytes(65_536)));
    let expected = RateSpec::LogNormal {
        mean: BitRate::from_bps(4_000_000),
        deviation: 0.2,
        correlation: Nanos::from_secs(2),
        interval: Nanos::from_millis(50),
    };
    assert_eq!(up.rate, expected);
    let jitter = scenario.links[1].jitter;
    assert_eq!(
        jitter,
        Some(JitterSpec {
            deviation: Nanos::from_millis(1),
            correlation: Nanos::from_millis(100)
        })
    );
}

#[test]
fn shared_links_lie_between_the_server_and_the_paths_own_link() {
    let scenario = load(EVERYTHING);
    let tunnel = &scenario.paths[3];
    let names = |links: &[usize]| {
        links
            .iter()
            .map(|&at| scenario.links[at].name.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&tunnel.down), ["shared.down", "tunnel.down"]);
    assert_eq!(names(&tunnel.up), ["tunnel.up", "shared.up"]);
    assert_eq!(scenario.links[tunnel.radio.0].rate, RateSpec::Unlimited);
    assert_eq!(names(&scenario.competitors[0].down), ["shared.down"]);
    assert_eq!(names(&scenario.competitors[1].down), ["lte.down"]);
    assert_eq!(
        names(&[scenario.cross[0].link, scenario.cross[1].link]),
        ["wifi.down", "shared.up"]
    );
}

#[test]
fn energy_is_a_profile_its_numbers_or_a_changed_profile() {
    let scenario = load(EVERYTHING);
    assert_eq!(scenario.paths[0].energy.profile, "wifi-seed000");
    assert_eq!(scenario.paths[1].energy.profile, "inline");
    let changed = &scenario.paths[2].energy;
    assert_eq!(changed.profile, "lte-seed000, changed");
    assert!(matches!(changed.model, InterfaceModel::Linear { sunk: Watts(w), .. } if w == 0.14));
    let inline = &load(SIMPLE).paths[1].energy.model;
    assert!(
        matches!(inline, InterfaceModel::Linear { sunk_while: SunkWhile::Always, up, .. } if up.0 == 0.0)
    );
}

#[test]
fn a_stream_without_on_period_never_stops() {
    let scenario = load(EVERYTHING);
    let call = scenario
        .connections
        .iter()
        .find(|group| group.name == "call")
        .unwrap();
    assert!(
        matches!(call.workload, Workload::Stream { on, off: Nanos::ZERO, .. } if on == scenario.duration)
    );
}

#[test]
fn overrides_find_sections_by_name_and_by_index() {
    let scenario = load_with(
        SIMPLE,
        &[
            ("duration", "\"3 s\""),
            ("path.lte.loss", "2 %"),
            ("path.0.queue", "\"9 packets\""),
        ],
    );
    let scenario = scenario.unwrap();
    assert_eq!(scenario.duration, Nanos::from_secs(3));
    assert_eq!(
        scenario.links[2].loss,
        LossSpec::Bernoulli("2 %".parse().unwrap())
    );
    assert_eq!(scenario.links[0].queue, QueueLimit::Packets(9));
}

#[test]
fn overrides_add_keys_and_replace_tables() {
    let scenario = load_with(
        SIMPLE,
        &[
            ("receiver.buffer", "64 KiB"),
            ("compare.policies", "[\"dts\"]"),
            ("path.wifi.rate", "{ steps = [[\"0 s\", \"1 Mbit/s\"]] }"),
            ("compare.seeds", "3"),
        ],
    );
    let scenario = scenario.unwrap();
    assert_eq!(scenario.connections[0].receive_buffer, Bytes(65_536));
    assert_eq!(
        (scenario.compare.policies.len(), scenario.compare.seeds),
        (1, 3)
    );
    assert!(matches!(scenario.links[0].rate, RateSpec::Steps(_)));
}

#[test]
fn a_wrong_override_is_reported_at_its_own_line() {
    let error = |key, value| load_with(SIMPLE, &[(key, value)]).unwrap_err();
    let told = error("path.wfi.loss", "2 %");
    assert!(
        told.contains("there is no path `wfi`") && told.contains("did you mean `wifi`?"),
        "{told}"
    );
    let told = error("duration", "60");
    // SIMPLE has 20 lines; the override is line 21.
    assert!(told.contains("scenario:21:12: `60` has no unit"), "{told}");
    assert!(error("a b", "1").contains("is not a key and a value"));
    assert!(error("duration.x", "1").contains("has no keys"));
    assert!(error("workload.sise", "1 kB").contains("`sise` is not a key of a bulk workload"));
}

#[test]
fn variants_contain_their_overrides() {
    let variants = scenario::variants(EVERYTHING).unwrap();
    let [lossy] = variants.as_slice() else {
        panic!("one variant")
    };
    assert_eq!(lossy.name, "lossy");
    let expected = [
        ("path.wifi.loss", "\"5 %\""),
        ("path.0.queue", "\"10 packets\""),
        ("compare.policies", "[\"mptcp\"]"),
    ];
    let expected: Vec<_> = expected
        .map(|(key, value)| (key.to_string(), value.to_string()))
        .into();
    assert_eq!(lossy.set, expected);
}

#[test]
fn a_shown_scenario_contains_every_default() {
    let shown = scenario::show(&load(SIMPLE));
    for line in [
        "mss = \"1460 B\"",
        "queue = \"100 packets\"",
        "loss = \"0.1 %\"",
        "rto_initial = \"1 s\"",
        "buffer = \"4 MiB\"",
        "kind = \"bulk\"",
        "seeds = 10",
    ] {
        assert!(
            shown.lines().any(|shown| shown == line),
            "`{line}` is not in\n{shown}"
        );
    }
}

#[test]
fn the_schema_names_every_key_and_requires_keys_without_default() {
    let schema = scenario::schema();
    let definitions = &schema["$defs"];
    let keys = |name: &str, what: &str| match &definitions[name][what] {
        serde_json::Value::Object(map) => map.keys().cloned().collect::<Vec<_>>(),
        serde_json::Value::Array(list) => list
            .iter()
            .map(|key| key.as_str().unwrap().to_owned())
            .collect(),
        _ => panic!("{name}.{what} in {schema:#}"),
    };
    assert!(keys("RawTransport", "properties").contains(&"delayed_ack".to_owned()));
    assert_eq!(
        definitions["RawTransport"]["properties"]["mss"]["default"],
        "1460 B"
    );
    assert_eq!(keys("RawPath", "required"), ["name", "energy"]);
    assert_eq!(keys("RawFile", "required"), ["kind", "size"]);
    assert_eq!(
        schema["properties"]["receiver"]["default"],
        serde_json::json!({})
    );
    let required: Vec<_> = schema["required"]
        .as_array()
        .unwrap()
        .iter()
        .map(|key| key.as_str().unwrap())
        .collect();
    assert_eq!(required, ["title", "duration"]);
}

#[test]
fn a_scenario_without_workload_is_a_bulk_download() {
    let text = "title = \"x\"\nduration = \"12 s\"\n[[path]]\nname = \"wifi\"\nrate = \"7 Mbit/s\"\n\
                delay = \"10 ms\"\nenergy = \"wifi-huang2012\"\n";
    let scenario = load(text);
    assert_eq!(scenario.connections[0].workload, Workload::Bulk);
    assert_eq!(scenario.connections[0].direction, Direction::Download);
}

#[test]
fn rivals_are_long_lived_tcps_at_a_bottleneck_of_all_paths() {
    let link = "[[link]]\nname = \"shared\"\nrate = \"5 Mbit/s\"\ndelay = \"5 ms\"\n";
    let path = |name: &str| {
        format!("[[path]]\nname = \"{name}\"\nvia = [\"shared\"]\nenergy = \"wifi-huang2012\"\n")
    };
    let shared = format!(
        "title = \"One bottleneck\"\nduration = \"12 s\"\n[workload]\nkind = \"bulk\"\n{link}{}{}",
        path("a"),
        path("b")
    );
    let competitor = |name: &str, keys: &str| {
        format!("[[competitor]]\nname = \"{name}\"\nvia = [\"shared\"]\n{keys}\n")
    };
    assert_eq!(load(&shared).rivals(), 0);
    assert_eq!(
        load(&(shared.clone() + &competitor("t", "") + &competitor("u", "count = 3"))).rivals(),
        4
    );
    // The total goodput does not give the goodput of one competitor.
    let with_file = shared.clone() + &competitor("t", "") + &competitor("f", "size = \"1 MB\"");
    assert_eq!(load(&with_file).rivals(), 0);
    // Competitors send downwards; an upload meets only their ACKs.
    let upload = shared.replace("kind = \"bulk\"", "kind = \"bulk\"\ndirection = \"upload\"");
    assert_eq!(load(&(upload + &competitor("t", ""))).rivals(), 0);

    let on = |path: &str| format!("[[competitor]]\nname = \"{path}\"\npath = \"{path}\"\n");
    let apart = |more: &str| load(&format!("{SIMPLE}\n{more}")).rivals();
    assert_eq!(
        apart(&(on("wifi") + &on("lte"))),
        0,
        "each is on one path of two"
    );
    let only_wifi = "[[connection]]\nname = \"c\"\npaths = [\"wifi\"]\n";
    assert_eq!(apart(&(only_wifi.to_owned() + &on("wifi"))), 1);
    assert_eq!(apart(&(only_wifi.to_owned() + &on("lte"))), 0);
}
