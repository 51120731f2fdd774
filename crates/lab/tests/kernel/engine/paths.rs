//! Paths that fail, and the maximum number of paths.

use std::time::Duration;

use joulepath_lab::engine::{self, Progress, RunOptions};

use super::{TWO_PATHS, at_once, changed, in_time, program, run, scenario, setup};

#[test(needs(ENGINE))]
fn a_path_recovers_after_an_outage_of_five_seconds() {
    let text = TWO_PATHS.replace("4 s", "10 s").replace(
        "delay = \"10 ms\"",
        "delay = \"10 ms\"\noutages = [[\"1 s\", \"6 s\"]]",
    );
    let scenario = scenario(&text);
    let setup = setup("mptcp", &scenario);
    let options = RunOptions {
        series: true,
        ..RunOptions::default()
    };
    let result = in_time(options, |options| {
        engine::run(&scenario, &setup, 1, options, &program())
    })
    .unwrap();
    let series = result.series.unwrap();
    let wifi_bits = |from: f64, until: f64| -> f64 {
        let pieces = series.time_s.windows(2).enumerate();
        let inside = pieces.filter(|(_, piece)| from <= piece[0] && piece[1] <= until);
        inside
            .map(|(i, piece)| series.goodput_bps[0][i + 1] * (piece[1] - piece[0]))
            .sum()
    };
    // Packets in flight arrive before 1.1 s.
    assert_eq!(wifi_bits(1.3, 6.0), 0.0);
    // RTOs double from 0.24 s on: attempts 0.24, 0.7, 1.7, 3.6 and 7.4 s after the start of the
    // outage. The last one succeeds at 8.5 s.
    assert!(
        wifi_bits(6.0, 10.0) > 1e6,
        "{} bit on WiFi after the outage",
        wifi_bits(6.0, 10.0)
    );
    assert!(result.paths[0].timeouts >= 3, "{:#?}", result.paths);
    // LTE carries data meanwhile.
    assert!(result.paths[1].goodput_bps > 5e6, "{:#?}", result.paths);
}

#[test(needs(ENGINE))]
fn an_interface_that_goes_down_and_up_does_not_end_the_run() {
    let scenario = changed(TWO_PATHS, &[("duration", "\"5 s\"")]);
    let setup = setup("mptcp", &scenario);
    let result = in_time(RunOptions::default(), |options| {
        let mut switches = [(1500, false), (3000, true)].into_iter().peekable();
        let mut watch = |moment: Progress<'_>| {
            let is_due = |&(ms, _): &(u64, bool)| moment.time > Duration::from_millis(ms);
            switches
                .next_if(is_due)
                .map_or(Ok(()), |(_, up)| moment.lab.set_tunnel(1, up))
        };
        let done = engine::run_watched(&scenario, &setup, 1, options, &program(), &mut watch);
        assert!(
            done.is_err() || switches.next().is_none(),
            "not switched off and on"
        );
        done
    });
    let result = result.unwrap();
    // WiFi alone has 20 Mbit/s for the 4 s.
    assert!(result.goodput_bps > 0.6 * 20e6, "{result:#?}");
}

#[test(needs(ENGINE, IPV6))]
fn all_of_eight_ipv6_subflows_carry_data() {
    let mut text = String::from("title = \"eight\"\nduration = \"4 s\"\nwarm_up = \"1 s\"\n");
    for i in 0..8 {
        text += &format!(
            "[[path]]\nname = \"p{i}\"\nrate = \"4 Mbit/s\"\ndelay = \"{} ms\"\n\
             queue = \"20 packets\"\nenergy = \"free\"\n",
            10 + i
        );
    }
    let scenario = scenario(&text);
    let setup = setup("mptcp[cc=olia]", &scenario);
    let options = RunOptions {
        ipv6: true,
        ..RunOptions::default()
    };
    let result = in_time(options, |options| {
        engine::run(&scenario, &setup, 1, options, &program())
    })
    .unwrap();
    assert!(
        result.paths.iter().all(|path| path.goodput_bps > 0.2e6),
        "{:#?}",
        result.paths
    );
    // The links have 32 Mbit/s.
    assert!(result.goodput_bps > 16e6, "{result:#?}");
}

#[test(needs(ENGINE))]
fn a_policy_of_one_path_uses_one_and_a_backup_carries_nothing() {
    let scenario = scenario(TWO_PATHS);
    let [only, backup] = at_once(
        ["single:lte", "backup[primary=lte]"].map(|policy| || run(&scenario, policy).unwrap()),
    );
    assert_eq!((only.paths[0].segments, only.paths[0].share), (0, 0.0));
    assert!((7e6..9.8e6).contains(&only.goodput_bps), "{only:#?}");
    assert!(backup.paths[1].share > 0.99, "{backup:#?}");
    // The subflow is open although unused, so its radio is on: 1 W for 3 s.
    assert!(backup.paths[0].energy_j > 2.5, "{backup:#?}");
}
