//! Power of a meter, compared with the energy attributed to interfaces.

use super::*;

#[test(needs(NET))]
fn the_power_of_a_program_s_meter_is_shown_with_the_part_that_no_model_explains() {
    let host = Host::new();
    let meter = "[meter]\ncommand = \"while :; do echo 5; sleep 0.1; done\"";
    host.configure("intent = \"frugal\"", meter);
    let daemon = host.start();
    let machine = || host.status().unwrap()["machine"].clone();
    wait_until("it is measured", || machine()["power_w"].is_f64());
    let said = machine();
    assert!(
        (said["power_w"].as_f64().unwrap() - 5.0).abs() < 1e-6,
        "{said}"
    );
    assert_eq!(
        (&said["meter"], &said["quality"]),
        (&"command".into(), &"measured".into())
    );
    let number = |key: &str| {
        said[key]
            .as_f64()
            .unwrap_or_else(|| panic!("{key}: {said}"))
    };
    assert!(
        (number("power_w") - number("attributed_w") - number("unexplained_w")).abs() < 1e-9,
        "{said}"
    );
    assert_eq!(
        host.status().unwrap()["interfaces"][0]["energy_quality"],
        "modelled"
    );
    let socket = host.socket();
    let page = host
        .run(&["status", "--socket", socket.to_str().unwrap()])
        .ok();
    assert!(
        page.contains("machine: 5.00 W measured by command: "),
        "{page}"
    );
    let metrics = host
        .run(&["status", "--metrics", "--socket", socket.to_str().unwrap()])
        .ok();
    // Energy over time, both summed up in floating point: not exactly the number that the program
    // prints.
    let name = "joulepath_machine_power_watts{quality=\"measured\",source=\"command\"} ";
    let power: f64 = metrics
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .expect(&metrics)
        .parse()
        .unwrap();
    assert!((power - 5.0).abs() < 1e-6, "{metrics}");

    // A reload switches to another meter; a failing meter is reported.
    host.configure("intent = \"frugal\"", "[meter]\nname = \"hwmon:absent\"");
    daemon.signal("HUP");
    let trouble = || machine()["trouble"].to_string();
    wait_until("the warning appears", || {
        trouble().contains("there is no meter `hwmon:absent`")
    });
    assert!(machine()["power_w"].is_null());
    assert_eq!(daemon.stop(), Some(0));
}
