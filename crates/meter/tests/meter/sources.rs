//! Each meter on a file tree in the kernel's layout.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use joulepath_meter::{Kind, Meter, Quality, Tree, Unit, all, by_name, command, survey};
use tempfile::TempDir;

/// A folder with files (path, text).
fn tree(files: &[(&str, &str)]) -> (TempDir, Tree) {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        write(folder.path(), path, text);
    }
    let tree = Tree::new(folder.path());
    (folder, tree)
}

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn names(tree: &Tree) -> Vec<String> {
    all(tree)
        .into_iter()
        .map(|meter| meter.unwrap().about().name.clone())
        .collect()
}

fn number(meter: &mut Box<dyn Meter>) -> f64 {
    meter.read().unwrap().value.number()
}

const ZONES: &[(&str, &str)] = &[
    ("class/powercap/intel-rapl/enabled", "1\n"),
    ("class/powercap/intel-rapl:0/name", "package-0\n"),
    ("class/powercap/intel-rapl:0/energy_uj", "5000000\n"),
    (
        "class/powercap/intel-rapl:0/max_energy_range_uj",
        "10000000\n",
    ),
    ("class/powercap/intel-rapl:0:0/name", "core\n"),
    ("class/powercap/intel-rapl:0:0/energy_uj", "1000000\n"),
    (
        "class/powercap/intel-rapl:0:0/max_energy_range_uj",
        "10000000\n",
    ),
    ("class/powercap/intel-rapl:1/name", "package-1\n"),
    ("class/powercap/intel-rapl:1/energy_uj", "100\n"),
    (
        "class/powercap/intel-rapl:1/max_energy_range_uj",
        "10000000\n",
    ),
    ("class/powercap/intel-rapl:2/name", "psys\n"),
    ("class/powercap/intel-rapl:2/energy_uj", "7\n"),
    (
        "class/powercap/intel-rapl:2/max_energy_range_uj",
        "10000000\n",
    ),
    ("class/powercap/intel-rapl-mmio:0/name", "package-0\n"),
    ("class/powercap/intel-rapl-mmio:0/energy_uj", "5000000\n"),
    (
        "class/powercap/intel-rapl-mmio:0/max_energy_range_uj",
        "10000000\n",
    ),
];

#[test]
fn overlapping_zones_are_not_summed() {
    let (folder, tree) = tree(ZONES);
    let expected = [
        "rapl",
        "rapl:mmio:package-0",
        "rapl:package-0",
        "rapl:package-0/core",
        "rapl:package-1",
        "rapl:psys",
    ];
    assert_eq!(names(&tree), expected);
    let mut sum = by_name(&tree, "rapl").unwrap();
    assert_eq!(number(&mut sum), 0.0);
    // Package 0, its subzone, psys and the mmio zone grow by 2 J, package 1 by 1 J: 3 J in total.
    for (zone, energy) in [
        ("0", 7_000_000),
        ("0:0", 3_000_000),
        ("1", 1_000_100),
        ("2", 2_000_007),
    ] {
        write(
            folder.path(),
            &format!("class/powercap/intel-rapl:{zone}/energy_uj"),
            &format!("{energy}\n"),
        );
    }
    write(
        folder.path(),
        "class/powercap/intel-rapl-mmio:0/energy_uj",
        "7000000\n",
    );
    assert!((number(&mut sum) - 3.0).abs() < 1e-9);
    assert_eq!(sum.about().quality, Quality::HostShare);
}

#[test]
fn a_wrapped_counter_keeps_counting() {
    let (folder, tree) = tree(ZONES);
    let mut package = by_name(&tree, "rapl:package-0").unwrap();
    assert_eq!(number(&mut package), 0.0);
    // 5 J to the end of the range of 10 J and 2 J beyond: 7 J; then 1 J more.
    write(
        folder.path(),
        "class/powercap/intel-rapl:0/energy_uj",
        "2000000\n",
    );
    assert!((number(&mut package) - 7.0).abs() < 1e-9);
    write(
        folder.path(),
        "class/powercap/intel-rapl:0/energy_uj",
        "3000000\n",
    );
    assert!((number(&mut package) - 8.0).abs() < 1e-9);
}

#[test]
fn a_counter_without_a_number_is_an_error_with_its_path() {
    let (folder, tree) = tree(ZONES);
    let mut package = by_name(&tree, "rapl:package-0").unwrap();
    write(
        folder.path(),
        "class/powercap/intel-rapl:0/energy_uj",
        "none\n",
    );
    let error = package.read().unwrap_err();
    assert!(
        error
            .message
            .contains("intel-rapl:0/energy_uj contains `none`"),
        "{error}"
    );
}

const BATTERY: &[(&str, &str)] = &[
    ("class/power_supply/AC/type", "Mains\n"),
    ("class/power_supply/AC/online", "0\n"),
    ("class/power_supply/BAT0/type", "Battery\n"),
    ("class/power_supply/BAT0/status", "Discharging\n"),
    ("class/power_supply/BAT0/current_now", "-1500000\n"),
    ("class/power_supply/BAT0/voltage_now", "12000000\n"),
    ("class/power_supply/hidpp_battery_0/type", "Battery\n"),
    ("class/power_supply/hidpp_battery_0/scope", "Device\n"),
];

#[test]
fn a_battery_reports_current_times_voltage_without_sign() {
    let (folder, tree) = tree(BATTERY);
    let mut battery = by_name(&tree, "battery").unwrap();
    // 1.5 A at 12 V.
    assert!((number(&mut battery) - 18.0).abs() < 1e-9);
    // A second battery that rests adds its own power.
    write(folder.path(), "class/power_supply/BAT1/type", "Battery\n");
    write(
        folder.path(),
        "class/power_supply/BAT1/status",
        "Not charging\n",
    );
    write(
        folder.path(),
        "class/power_supply/BAT1/power_now",
        "500000\n",
    );
    let mut both = by_name(&tree, "battery").unwrap();
    assert!((number(&mut both) - 18.5).abs() < 1e-9);
}

#[test]
fn a_battery_is_refused_while_something_else_feeds_the_device() {
    let (folder, tree) = tree(BATTERY);
    let mut battery = by_name(&tree, "battery").unwrap();
    for (path, text, reason) in [
        ("BAT0/status", "Charging\n", "BAT0 is being charged"),
        ("BAT0/status", "Full\n", "BAT0 is not discharging (`Full`)"),
        ("AC/online", "1\n", "AC is plugged in"),
    ] {
        let path = format!("class/power_supply/{path}");
        let before = fs::read_to_string(folder.path().join(&path)).unwrap();
        write(folder.path(), &path, text);
        let error = battery.read().unwrap_err();
        assert_eq!(error.kind, Kind::Refused, "{path}");
        assert!(error.message.contains(reason), "{error}");
        assert!(error.help.unwrap().contains("pull the plug"));
        write(folder.path(), &path, &before);
    }
    assert!(battery.read().is_ok());
}

#[test]
fn a_battery_without_power_readings_is_an_error() {
    let (_folder, tree) = tree(&BATTERY[..4]);
    let error = by_name(&tree, "battery").err().unwrap();
    assert!(
        error
            .message
            .contains("BAT0 reports neither power nor current"),
        "{error}"
    );
}

const SENSORS: &[(&str, &str)] = &[
    ("class/hwmon/hwmon0/name", "ina226\n"),
    ("class/hwmon/hwmon0/power1_input", "2500000\n"),
    ("class/hwmon/hwmon0/in1_input", "5000\n"),
    ("class/hwmon/hwmon0/curr1_input", "500\n"),
    ("class/hwmon/hwmon1/name", "powerz\n"),
    ("class/hwmon/hwmon1/in0_input", "9000\n"),
    ("class/hwmon/hwmon1/in0_label", "VBUS\n"),
    ("class/hwmon/hwmon1/in1_input", "400\n"),
    ("class/hwmon/hwmon1/in1_label", "VCC1\n"),
    ("class/hwmon/hwmon1/curr1_input", "-700\n"),
    ("class/hwmon/hwmon1/curr1_label", "IBUS\n"),
    ("class/hwmon/hwmon2/name", "coretemp\n"),
    ("class/hwmon/hwmon2/temp1_input", "40000\n"),
    ("class/hwmon/hwmon3/name", "occ\n"),
    ("class/hwmon/hwmon3/energy2_input", "1000000\n"),
    ("class/hwmon/hwmon3/energy2_label", "system\n"),
    ("class/hwmon/hwmon3/power7_average", "80000000\n"),
];

#[test]
fn hardware_monitors_report_power_energy_or_voltage_times_current() {
    let (folder, tree) = tree(SENSORS);
    let expected = [
        "hwmon:ina226:power1",
        "hwmon:powerz:bus",
        "hwmon:occ:energy2",
        "hwmon:occ:power7",
    ];
    assert_eq!(names(&tree), expected);
    let read = |name: &str| number(&mut by_name(&tree, name).unwrap());
    assert!((read("hwmon:ina226:power1") - 2.5).abs() < 1e-9);
    // 9 V × 0.7 A.
    assert!((read("hwmon:powerz:bus") - 6.3).abs() < 1e-9);
    assert!((read("hwmon:occ:power7") - 80.0).abs() < 1e-9);
    let mut energy = by_name(&tree, "hwmon:occ:energy2").unwrap();
    assert_eq!(energy.about().measures, "rail system");
    assert_eq!(number(&mut energy), 0.0);
    write(
        folder.path(),
        "class/hwmon/hwmon3/energy2_input",
        "3500000\n",
    );
    assert!((number(&mut energy) - 2.5).abs() < 1e-9);
    write(folder.path(), "class/hwmon/hwmon3/energy2_input", "10\n");
    assert!(
        energy
            .read()
            .unwrap_err()
            .message
            .contains("fell from 3500000 to 10")
    );
}

#[test]
fn an_unknown_meter_is_an_error_that_lists_alternatives() {
    let (_folder, empty) = tree(&[]);
    assert!(all(&empty).is_empty());
    let error = by_name(&empty, "battery").err().unwrap();
    assert!(error.help.unwrap().contains("--command"));
    let (_folder, some) = tree(SENSORS);
    let error = by_name(&some, "powerz").err().unwrap();
    assert!(
        error
            .help
            .unwrap()
            .contains("available: hwmon:ina226:power1, hwmon:powerz:bus")
    );
}

const LIMIT: Duration = Duration::from_secs(10);

#[test]
fn a_program_that_prints_watts_is_a_meter() {
    let mut meter = command("echo 2.5; echo ' 3.25 W '; sleep 600", LIMIT).unwrap();
    let begin = Instant::now();
    // The newest line counts; the program may have printed one or both at the first reading.
    let mut last = 0.0;
    while last != 3.25 {
        last = number(&mut meter);
        assert!(last == 2.5 || last == 3.25);
    }
    assert_eq!(meter.about().unit, Unit::Watts);
    drop(meter);
    assert!(
        begin.elapsed() < Duration::from_secs(300),
        "the program ends with its meter"
    );
}

#[test]
fn a_program_that_exits_is_an_error_with_its_last_line_on_stderr() {
    let mut meter = command(
        "echo 1.5; echo 'no such device: /dev/ttyACM0' >&2; exit 7",
        LIMIT,
    )
    .unwrap();
    let error = std::iter::repeat_with(|| meter.read())
        .find_map(Result::err)
        .unwrap();
    assert!(error.message.contains("exit status: 7"), "{error}");
    assert!(
        error
            .message
            .ends_with("last line on stderr: no such device: /dev/ttyACM0"),
        "{error}"
    );
    assert_eq!(meter.read().unwrap_err(), error, "it does not come back");
}

#[test]
fn a_program_that_prints_nonsense_or_nothing_is_an_error() {
    let mut meter = command("echo '12,5 Watt'; sleep 20", LIMIT).unwrap();
    assert!(
        meter
            .read()
            .unwrap_err()
            .message
            .contains("printed `12,5 Watt`, which is not a number")
    );
    let mut meter = command("echo NaN; sleep 20", LIMIT).unwrap();
    assert!(
        meter
            .read()
            .unwrap_err()
            .message
            .contains("which is not a number")
    );
    let mut meter = command("echo starting >&2; sleep 20", Duration::from_millis(300)).unwrap();
    let error = meter.read().unwrap_err();
    assert!(
        error
            .message
            .contains("printed nothing for 300ms; last line on stderr: starting"),
        "{error}"
    );
}

#[test]
fn a_survey_gives_period_step_and_noise() {
    // A change every 100 ms, a reading every 10 ms: 2.0, 2.5, 2.0, 2.5 … W, starting half a second
    // late.
    let power = |i: u32| if (i / 10).is_multiple_of(2) { 2.0 } else { 2.5 };
    let readings: Vec<(f64, f64)> = (0..200).map(|i| (f64::from(i) * 0.01, power(i))).collect();
    let told = survey(Unit::Watts, &readings);
    assert!((told.period_s.unwrap() - 0.1).abs() < 1e-9);
    assert_eq!((told.step, told.power_w), (Some(0.5), Some(2.25)));
    // A counter with steps of 1 J at 4 W: a step every 250 ms, no scatter.
    let readings: Vec<(f64, f64)> = (0..400)
        .map(|i| (f64::from(i) * 0.01, f64::from(i / 25)))
        .collect();
    let told = survey(Unit::Joules, &readings);
    assert!((told.period_s.unwrap() - 0.25).abs() < 1e-9);
    assert_eq!(told.step, Some(1.0));
    assert!(told.noise_w.unwrap() < 1e-9);
    // A meter that never changes gives only its value.
    let told = survey(Unit::Watts, &[(0.0, 3.0), (1.0, 3.0)]);
    assert_eq!(
        (told.period_s, told.step, told.power_w, told.noise_w),
        (None, None, Some(3.0), None)
    );
}

/// Two dies of one package and a second package, µJ.
fn dies() -> (TempDir, Tree) {
    let names = ["package-0-die-0", "package-0-die-1", "package-1-die-0"];
    let (folder, tree) = tree(&[]);
    for (zone, name) in names.iter().enumerate() {
        let place = format!("class/powercap/intel-rapl:{zone}");
        write(folder.path(), &format!("{place}/name"), name);
        write(
            folder.path(),
            &format!("{place}/max_energy_range_uj"),
            "10000000",
        );
    }
    (folder, tree)
}

fn count(folder: &TempDir, energies: [u64; 3]) {
    for (zone, energy) in energies.iter().enumerate() {
        write(
            folder.path(),
            &format!("class/powercap/intel-rapl:{zone}/energy_uj"),
            &energy.to_string(),
        );
    }
}

#[test]
fn dies_with_the_counter_of_their_package_count_once() {
    let (folder, tree) = dies();
    count(&folder, [9_000_000, 9_000_000, 9_000_000]);
    let mut sum = by_name(&tree, "rapl").unwrap();
    assert_eq!(sum.about().measures, "2 processor packages together");
    let first = number(&mut sum);
    count(&folder, [9_500_000, 9_500_000, 9_250_000]);
    assert!((number(&mut sum) - first - 0.75).abs() < 1e-9);
    // Both wrap around.
    count(&folder, [500_000, 500_000, 9_250_000]);
    assert!((number(&mut sum) - first - 1.75).abs() < 1e-9);
}

#[test]
fn a_die_that_is_updated_late_has_the_counter_of_its_package() {
    let (folder, tree) = dies();
    count(&folder, [1_500_000, 1_000_000, 0]);
    let zone = folder.path().join("class/powercap/intel-rapl:1");
    let late = thread::spawn(move || {
        thread::sleep(Duration::from_millis(60));
        fs::write(zone.join("next"), "1500000").unwrap();
        fs::rename(zone.join("next"), zone.join("energy_uj")).unwrap();
    });
    let mut sum = by_name(&tree, "rapl").unwrap();
    let first = number(&mut sum);
    late.join().unwrap();
    count(&folder, [2_500_000, 2_500_000, 0]);
    assert!((number(&mut sum) - first - 1.0).abs() < 1e-9);
}

#[test]
fn dies_with_counters_of_their_own_are_summed() {
    for begin in [[100, 700, 0], [100, 100, 100]] {
        let (folder, tree) = dies();
        count(&folder, begin);
        let mut sum = by_name(&tree, "rapl").unwrap();
        let first = number(&mut sum);
        count(
            &folder,
            [begin[0] + 1_000_000, begin[1] + 500_000, begin[2]],
        );
        assert!((number(&mut sum) - first - 1.5).abs() < 1e-9);
        count(
            &folder,
            [
                begin[0] + 2_000_000,
                begin[1] + 1_500_000,
                begin[2] + 1_000_000,
            ],
        );
        assert!((number(&mut sum) - first - 4.5).abs() < 1e-9);
    }
}
