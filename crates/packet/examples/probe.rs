use joulepath_control::schedule::Scheduler;
use joulepath_controllers::Controller;
use joulepath_packet::{run, RunOptions, Setup};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let text = std::fs::read_to_string(&args[1]).unwrap();
    let scenario = joulepath_model::scenario::load(&text, &|_| Err("no traces".into())).unwrap();
    let mut params = vec![];
    for pair in &args[3..] { let (a, b) = pair.split_once('=').unwrap(); params.push((a.to_string(), b.to_string())); }
    let setup = Setup { policy: args[2].clone(), controller: Controller::by_name(&args[2]).unwrap(), controller_params: params, scheduler: Scheduler::by_name("minrtt", &[("opportunistic".into(),"off".into()),("penalise".into(),"off".into())], 1460).unwrap(), allocator: (args[2]=="eemptcp").then(Default::default), only_path: None };
    for seed in 1..=std::env::var("SEEDS").map_or(1, |s| s.parse().unwrap()) {
    let start = std::time::Instant::now();
    let r = run(&scenario, &setup, seed, RunOptions::default()).unwrap();
    let t = start.elapsed().as_secs_f64();
    println!("goodput {:.4} Mbit/s power {:.4} W eff {:.3} kbit/J completion {:?} shares {:?} rtx {:.4}", r.goodput_bps/1e6, r.power_w, r.bits_per_joule/1e3, r.completion_s, r.paths.iter().map(|p| (p.share*1e3).round()/1e3).collect::<Vec<_>>(), r.retransmission_ratio);
    println!("  {:?}", r.paths.iter().map(|p| (p.mean_cwnd, p.mean_rtt_s, p.timeouts, p.segments, p.loss_event_rate)).collect::<Vec<_>>());
    println!("  hops {} events {} drops {} {:.3} s -> {:.1} M hops/s", r.counters.packet_hops, r.counters.events, r.counters.queue_drops, t, r.counters.packet_hops as f64/t/1e6);
    }
}
