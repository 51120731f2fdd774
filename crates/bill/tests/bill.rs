//! Joules of recordings: by hand, and against the meter of the engines.

use std::io::Cursor;
use std::net::IpAddr;

use etherparse::PacketBuilder;
use joulepath_bill::{
    Cause, Device, Error, Manner, Packet, Party, Recording, bill, later, read, statement,
};
use joulepath_model::energy::meter::DeviceMeter;
use joulepath_model::energy::{
    DeviceEnergy, InterfaceModel, RrcModel, Stage, SunkWhile, Traffic, profiles,
};
use joulepath_model::units::{JoulesPerBit, Nanos, Watts};

/// A second of promotion at 1 W, 2 W active, gaps below 0.1 s, a tail of 3 s at 0.5 W and 2 s at
/// 0.25 W, 1 mJ per byte down, 2 mJ up, 10 mW idle.
fn radio() -> InterfaceModel {
    let stage = |power, seconds| Stage {
        power: Watts(power),
        duration: Nanos::from_secs(seconds),
    };
    InterfaceModel::Rrc(RrcModel {
        down: JoulesPerBit(1e-3 / 8.0),
        up: JoulesPerBit(2e-3 / 8.0),
        active: Watts(2.0),
        inactivity: Nanos::from_millis(100),
        promotion: stage(1.0, 1),
        tail: vec![stage(0.5, 3), stage(0.25, 2)],
        idle: Watts(0.01),
    })
}

fn device(radios: Vec<InterfaceModel>, base: f64) -> Device {
    Device {
        names: vec!["radio".to_owned(); radios.len()],
        radios,
        device: DeviceEnergy {
            shared_base: Watts(base),
            ..DeviceEnergy::additive()
        },
    }
}

/// Packets of 100 bytes down: time in ms, cause, interface.
fn recording(packets: &[(u64, usize, usize)]) -> Recording {
    let count = |of: fn(&(u64, usize, usize)) -> usize| packets.iter().map(of).max().unwrap() + 1;
    Recording {
        interfaces: (0..count(|packet| packet.2))
            .map(|interface| format!("if{interface}"))
            .collect(),
        causes: (0..count(|packet| packet.1))
            .map(|cause| Cause {
                host: format!("host{}", cause % 2),
                request: format!("request{cause}"),
            })
            .collect(),
        packets: packets
            .iter()
            .map(|&(at_ms, cause, interface)| Packet {
                at: Nanos::from_millis(at_ms),
                interface,
                cause,
                traffic: Traffic::Down,
                bytes: 100,
            })
            .collect(),
        notes: vec![],
    }
}

#[track_caller]
fn costs(party: &Party, [promotion_j, transfer_j, tail_j, base_j]: [f64; 4]) {
    let joules = party.joules;
    for (name, found, right) in [
        ("promotion", joules.promotion_j, promotion_j),
        ("transfer", joules.transfer_j, transfer_j),
        ("tail", joules.tail_j, tail_j),
        ("base", joules.base_j, base_j),
    ] {
        assert!(
            (found - right).abs() < 1e-9,
            "{name}: {found} J, not {right}"
        );
    }
}

#[test]
fn a_packet_pays_its_promotion_and_its_tail() {
    let bill = bill(&recording(&[(0, 0, 0)]), &device(vec![radio()], 0.2));
    // 1 s at 1 W; 0.1 J for the bytes; 3 s at 0.5 W and 2 s at 0.25 W; the base for 6 s.
    costs(&bill.causes[0], [1.0, 0.1, 2.0, 1.2]);
    assert_eq!((bill.causes[0].wakes, bill.end), (1, Nanos::from_secs(6)));
    assert_eq!(bill.idle_j(), 0.0);
}

#[test]
fn time_until_the_next_packet_belongs_to_the_last_ones_cause() {
    // The radio is ready at 1 s. A gap of 50 ms is active, one of 2 s is tail, one of 8 s has 5 s
    // of tail.
    let packets = [
        (0, 0, 0),
        (1_000, 0, 0),
        (1_050, 1, 0),
        (3_050, 0, 0),
        (11_050, 2, 0),
    ];
    let bill = bill(&recording(&packets), &device(vec![radio()], 0.0));
    costs(&bill.causes[0], [1.0, 0.3 + 0.05 * 2.0, 2.0, 0.0]);
    costs(&bill.causes[1], [0.0, 0.1, 2.0 * 0.5, 0.0]);
    costs(&bill.causes[2], [1.0, 0.1, 2.0, 0.0]);
    let wakes: Vec<u64> = bill.causes.iter().map(|cause| cause.wakes).collect();
    assert_eq!(wakes, [1, 0, 1]);
    assert!(
        (bill.idle_j() - 3.0 * 0.01).abs() < 1e-9,
        "{}",
        bill.idle_j()
    );
    let (host, used) = &bill.hosts[0];
    assert_eq!(
        (host.as_str(), used.down_bytes, used.packets),
        ("host0", 400, 4)
    );
}

#[test]
fn a_linear_radio_pays_while_its_connections_are_open() {
    let model = InterfaceModel::Linear {
        down: JoulesPerBit(1e-3 / 8.0),
        up: JoulesPerBit(0.0),
        sunk: Watts(3.0),
        sunk_while: SunkWhile::Open,
    };
    let bill = bill(
        &recording(&[(0, 0, 0), (2_000, 0, 0), (9_000, 1, 0)]),
        &device(vec![model], 0.0),
    );
    costs(&bill.causes[0], [0.0, 6.2, 0.0, 0.0]);
    costs(&bill.causes[1], [0.0, 0.1, 0.0, 0.0]);
}

/// A linear congruential generator is enough to place packets.
fn random(state: &mut u64) -> u64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

#[test]
fn the_sum_is_that_of_the_meter_for_every_profile_and_every_cause_is_charged() {
    // A slot counts to its end here, and to the last packet in `finish_with_tails`.
    let models: Vec<_> = profiles()
        .map(|profile| (profile.name, profile.model()))
        .filter(|(_, model)| !matches!(model, InterfaceModel::Slotted { .. }))
        .collect();
    for seed in 1..=40 {
        let mut state = seed;
        let mut pick = |below: u64| random(&mut state) % below;
        let (first, second) = (pick(models.len() as u64), pick(models.len() as u64));
        let names = [&models[first as usize], &models[second as usize]];
        let mut at_ms = 0;
        let mut packets = vec![(0, 0, 0)];
        for _ in 0..300 {
            at_ms += [pick(20), pick(300), pick(30_000)][pick(3) as usize];
            let cause = pick(7) as usize;
            packets.push((at_ms, cause, cause % 2));
        }
        packets.extend([(at_ms, 5, 1), (at_ms, 6, 0)]);
        let recording = recording(&packets);
        let device = device(names.map(|(_, model)| model.clone()).to_vec(), 0.7);
        let found = bill(&recording, &device);

        let mut meter = DeviceMeter::new(&device.radios, &device.device, Nanos::ZERO);
        let first = |cause| {
            recording
                .packets
                .iter()
                .position(|packet| packet.cause == cause)
        };
        let last = |cause| {
            recording
                .packets
                .iter()
                .rposition(|packet| packet.cause == cause)
        };
        let uses: Vec<_> = (0..recording.causes.len())
            .map(|cause| (first(cause), last(cause)))
            .collect();
        for (index, packet) in recording.packets.iter().enumerate() {
            let (begin, end) = uses[packet.cause];
            if begin == Some(index) {
                meter.open(packet.interface, packet.at);
            }
            meter.on_packet(
                packet.interface,
                packet.at,
                packet.bytes,
                packet.traffic,
                Nanos::ZERO,
            );
            if end == Some(index) {
                meter.close(packet.interface, packet.at);
            }
        }
        let right = meter
            .finish_with_tails(recording.duration())
            .total()
            .total_j();
        let sum = found.total_j() + found.idle_j();
        assert!(
            (sum / right - 1.0).abs() < 1e-9,
            "seed {seed}, {} and {}: {sum} J, the meter has {right}",
            names[0].0,
            names[1].0
        );
        let radios: f64 = found
            .radios
            .iter()
            .map(|radio| radio.used.joules.total_j())
            .sum();
        let base: f64 = found.causes.iter().map(|cause| cause.joules.base_j).sum();
        assert!(
            (found.total_j() / (radios + base) - 1.0).abs() < 1e-9,
            "seed {seed}"
        );
    }
}

#[test]
fn polls_that_wait_for_each_other_share_promotions_and_tails() {
    let polls: Vec<_> = (0..10).map(|poll| (30_000 * poll, 0, 0)).collect();
    let (recording, device) = (recording(&polls), device(vec![radio()], 0.0));
    let minute = Nanos::from_secs(60);
    // One poll costs 3.1 J. Those at 0, 30 and 60 s start at 60 s; of ten, four starts are left.
    let wait = later(&recording, &device, Manner::Wait, minute);
    assert!(
        (wait.energy_j - (4.0 * 3.0 + 10.0 * 0.1)).abs() < 1e-6,
        "{wait:?}"
    );
    assert!(
        (wait.mean_delay_s - (3.0 * 90.0 + 60.0) / 10.0).abs() < 1e-6,
        "{wait:?}"
    );
    // At 0, 60, 120, …, 300 s.
    let batch = later(&recording, &device, Manner::Batch, minute);
    assert!(
        (batch.energy_j - (6.0 * 3.0 + 10.0 * 0.1)).abs() < 1e-6,
        "{batch:?}"
    );
    assert!((batch.mean_delay_s - 15.0).abs() < 1e-6, "{batch:?}");
    // A poll that finds the radio awake does not wait.
    let recording = self::recording(&[(0, 0, 0), (3_000, 0, 0)]);
    let wait = later(&recording, &device, Manner::Wait, Nanos::from_secs(2));
    assert!((wait.mean_delay_s - 1.0).abs() < 1e-6, "{wait:?}");
}

fn recorded(bytes: &[u8]) -> Result<Recording, Error> {
    read(Cursor::new(bytes), &[])
}

/// A pcap file with these frames, in ms.
fn pcap(link: u32, frames: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = vec![];
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, link] {
        bytes.extend(word.to_le_bytes());
    }
    for (at_ms, frame) in frames {
        let length = frame.len() as u32;
        for word in [
            (at_ms / 1000) as u32,
            (at_ms % 1000 * 1000) as u32,
            length,
            length,
        ] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(frame);
    }
    bytes
}

const PHONE: [u8; 4] = [192, 168, 1, 7];
const SERVER: [u8; 4] = [203, 0, 113, 9];

fn tcp(from: ([u8; 4], u16), to: ([u8; 4], u16), syn: bool, payload: &[u8]) -> Vec<u8> {
    let builder = PacketBuilder::ethernet2([2; 6], [4; 6])
        .ipv4(from.0, to.0, 64)
        .tcp(from.1, to.1, 1, 1000);
    let builder = if syn { builder.syn() } else { builder.ack(1) };
    let mut frame = vec![];
    builder.write(&mut frame, payload).unwrap();
    frame
}

fn udp(from: ([u8; 4], u16), to: ([u8; 4], u16), payload: &[u8]) -> Vec<u8> {
    let builder = PacketBuilder::ethernet2([2; 6], [4; 6])
        .ipv4(from.0, to.0, 64)
        .udp(from.1, to.1);
    let mut frame = vec![];
    builder.write(&mut frame, payload).unwrap();
    frame
}

/// A DNS answer: example.org has the server's address.
fn dns() -> Vec<u8> {
    let mut answer = vec![0, 7, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0];
    let name = b"\x07example\x03org\0";
    answer.extend(name);
    answer.extend([0, 1, 0, 1]);
    answer.extend(name);
    answer.extend([0, 1, 0, 1, 0, 0, 0, 60, 0, 4]);
    answer.extend(SERVER);
    answer
}

#[test]
fn a_capture_gives_directions_lengths_and_names() {
    let frames = [
        (1_000, udp(([192, 168, 1, 1], 53), (PHONE, 4000), &dns())),
        (1_010, tcp((PHONE, 5000), (SERVER, 443), true, &[])),
        (1_030, tcp((SERVER, 443), (PHONE, 5000), false, &[0; 1000])),
        (1_050, tcp((SERVER, 443), (PHONE, 5000), false, &[0; 1000])),
        (1_060, tcp((PHONE, 5000), (SERVER, 443), false, &[])),
    ];
    let capture = pcap(1, &frames);
    let recording = recorded(&capture).unwrap();
    let packets: Vec<_> = recording
        .packets
        .iter()
        .map(|packet| {
            (
                packet.at.0 / 1_000_000,
                packet.cause,
                packet.traffic,
                packet.bytes,
            )
        })
        .collect();
    let dns_bytes = 28 + dns().len() as u32;
    assert_eq!(
        packets,
        [
            (0, 0, Traffic::Down, dns_bytes),
            (10, 1, Traffic::Up, 40),
            (30, 1, Traffic::Down, 1040),
            (50, 1, Traffic::Down, 1040),
            (60, 1, Traffic::Up, 40),
        ]
    );
    assert_eq!(recording.causes[1].host, "example.org");
    assert_eq!(recording.causes[1].request, "TCP 443");
    // The server's own capture, if its address is given.
    let server = read(Cursor::new(&capture), &[IpAddr::from(SERVER)]).unwrap();
    assert_eq!(server.packets[1].traffic, Traffic::Down);
}

#[test]
fn a_greeting_in_two_segments_names_the_server() {
    let mut hello = vec![3, 3];
    hello.extend([7; 32]);
    hello.extend([0, 0, 2, 0x13, 1, 1, 0]);
    let padding = vec![0; 1500];
    let mut extensions = vec![0, 21];
    extensions.extend((padding.len() as u16).to_be_bytes());
    extensions.extend(padding);
    extensions.extend(b"\0\0\0\x10\0\x0e\0\0\x0bexample.net");
    hello.extend((extensions.len() as u16).to_be_bytes());
    hello.extend(extensions);
    let mut message = vec![1, 0];
    message.extend((hello.len() as u16).to_be_bytes());
    message.extend(hello);
    let mut record = vec![22, 3, 1];
    record.extend((message.len() as u16).to_be_bytes());
    record.extend(message);
    let (first, second) = record.split_at(1400);
    let frames = [
        (0, tcp((PHONE, 5000), (SERVER, 443), true, &[])),
        (20, tcp((PHONE, 5000), (SERVER, 443), false, first)),
        (21, tcp((PHONE, 5000), (SERVER, 443), false, second)),
    ];
    assert_eq!(
        recorded(&pcap(1, &frames)).unwrap().causes[0].host,
        "example.net"
    );
}

#[test]
fn a_damaged_capture_is_read_to_its_damage_or_refused() {
    let frames = [
        (0, tcp((PHONE, 5000), (SERVER, 80), true, &[])),
        (9, udp((PHONE, 1), (SERVER, 2), &[0; 50])),
    ];
    let whole = pcap(1, &frames);
    let recording = recorded(&whole[..whole.len() - 10]).unwrap();
    assert_eq!(recording.packets.len(), 1);
    assert!(
        recording.notes[0].contains("ends within a packet"),
        "{:?}",
        recording.notes
    );
    assert!(matches!(
        recorded(&pcap(127, &frames)),
        Err(Error::LinkType(127))
    ));
    assert!(matches!(recorded(&whole[..24]), Err(Error::Empty)));
    assert!(matches!(recorded(b"no capture"), Err(Error::Format)));
}

const HAR: &str = r#"{"log": {"entries": [
 {"startedDateTime": "2026-11-30T10:00:00.000+01:00", "time": 160,
  "request": {"method": "GET", "url": "https://example.org/a?b", "headersSize": 300, "bodySize": 0},
  "response": {"headersSize": 200, "bodySize": 9000, "_transferSize": 9300},
  "timings": {"blocked": 10, "dns": 20, "connect": 30, "send": 0, "wait": 50, "receive": 50}},
 {"startedDateTime": "2026-11-30T09:00:05Z", "time": 100,
  "request": {"method": "POST", "url": "https://example.net/c", "headersSize": -1, "bodySize": -1},
  "response": {"headersSize": -1, "bodySize": -1}, "timings": {"send": 0, "wait": -1, "receive": -1}},
 {"startedDateTime": "2026-11-30T09:00:06Z", "time": 0, "_fromCache": "disk",
  "request": {"method": "GET", "url": "https://example.net/d", "headersSize": 10, "bodySize": 0},
  "response": {"headersSize": 10, "bodySize": 10}, "timings": {"send": 0, "wait": 0, "receive": 0}}
]}}"#;

#[test]
fn a_har_gives_times_and_sizes_and_says_what_is_missing() {
    let recording = recorded(HAR.as_bytes()).unwrap();
    let of_first: Vec<_> = recording
        .packets
        .iter()
        .filter(|packet| packet.cause == 0)
        .collect();
    let ms: Vec<u64> = of_first
        .iter()
        .map(|packet| packet.at.0 / 1_000_000)
        .collect();
    // DNS and handshake, the request, seven packets of the answer over 50 ms.
    assert_eq!(ms[..5], [0, 20, 20, 50, 50]);
    assert_eq!(*ms.last().unwrap(), 150);
    let sum = |traffic| {
        of_first
            .iter()
            .filter(|packet| packet.traffic == traffic)
            .map(|packet| packet.bytes)
            .sum::<u32>()
    };
    assert_eq!((sum(Traffic::Down), sum(Traffic::Up)), (9300, 300));
    // The second entry starts 5 s after the first, whose first packet is 10 ms late.
    let second: Vec<_> = recording
        .packets
        .iter()
        .filter(|packet| packet.cause == 1)
        .collect();
    assert_eq!(
        second
            .iter()
            .map(|packet| packet.at.0 / 1_000_000)
            .collect::<Vec<_>>(),
        [4_990, 5_090]
    );
    let notes = recording.notes.join("\n");
    for said in [
        "1 entries came from",
        "1 requests have no size",
        "1 answers have no size",
        "1 entries have no times",
    ] {
        assert!(notes.contains(said), "{said}: {notes}");
    }
    let wrong = HAR.replace("2026-11-30T09:00:05Z", "yesterday");
    let error = recorded(wrong.as_bytes()).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("entry 2 of the HAR file: startedDateTime `yesterday`"),
        "{error}"
    );
}

#[test]
fn a_slow_radio_is_no_alternative_to_a_fast_one() {
    // 100 bytes every 10 ms are 0.08 Mbit/s; a hundred times as many are 8.
    let packets: Vec<_> = (0..200).map(|at| (10 * at, 0, 0)).collect();
    let mut recording = recording(&packets);
    let radios = |recording: &Recording| -> Vec<String> {
        let lte = joulepath_model::energy::profile("lte-2021").unwrap().model;
        statement(
            String::new(),
            recording.clone(),
            device(vec![lte], 0.0),
            &[],
        )
        .elsewhere
        .into_iter()
        .map(|other| other.radio)
        .collect()
    };
    assert!(radios(&recording).contains(&"lte-m-2022".to_owned()));
    for packet in &mut recording.packets {
        packet.bytes *= 100;
    }
    let fast = radios(&recording);
    assert!(fast.contains(&"wifi6-2021".to_owned()), "{fast:?}");
    assert!(
        !fast.contains(&"lte-m-2022".to_owned()) && !fast.contains(&"lte-2021".to_owned()),
        "{fast:?}"
    );
}
