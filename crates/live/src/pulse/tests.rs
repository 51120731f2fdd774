use super::*;

const MS: fn(u64) -> Nanos = Nanos::from_millis;
const DEVICE: u32 = 2;

/// How a path behaves.
#[derive(Clone, Copy)]
struct World {
    rtt_ms: u64,
    /// From then on nothing passes.
    dies_ms: u64,
    /// From then on all passes again.
    lives_ms: u64,
    /// The server answers echoes.
    echoes: bool,
    /// The client sends a request so often.
    asks_every_ms: Option<u64>,
    /// The server sends so often.
    tells_every_ms: Option<u64>,
    /// Lost: each question with this remainder.
    loses: Option<u16>,
}

const CALM: World = World {
    rtt_ms: 50,
    dies_ms: u64::MAX,
    lives_ms: u64::MAX,
    echoes: true,
    asks_every_ms: None,
    tells_every_ms: None,
    loses: None,
};

impl World {
    fn passes(&self, ms: u64) -> bool {
        ms < self.dies_ms || ms >= self.lives_ms
    }

    /// Messages, sent so often, that have passed at `ms`; each takes `delay`.
    fn arrived(&self, every: Option<u64>, ms: u64, delay: u64) -> u64 {
        let sent = (0..).map(|n| n * every.unwrap_or(u64::MAX));
        let sent = sent.take_while(|sent| sent + delay <= ms);
        sent.take(if every.is_some() { usize::MAX } else { 0 })
            .filter(|sent| self.passes(*sent) && self.passes(sent + delay))
            .count() as u64
    }

    /// Runs to `end_ms`. Returns when the verdict changed, and the number of questions.
    fn run(self, end_ms: u64) -> (Vec<u64>, usize) {
        let (mut pulse, mut verdicts, mut count) = (Pulse::default(), vec![], 0);
        let mut under_way: Vec<(u64, u16)> = vec![];
        for ms in 1000..end_ms {
            if MS(ms) < pulse.due() {
                continue;
            }
            let acked = self.arrived(self.asks_every_ms, ms, self.rtt_ms);
            let sent = self.asks_every_ms.map_or(0, |every| ms / every + 1);
            let first_lost = acked * self.asks_every_ms.unwrap_or(0);
            let flow = Flow {
                device: DEVICE,
                local: "192.0.2.2:40000".parse().unwrap(),
                remote: "198.51.100.1:443".parse().unwrap(),
                acked_bytes: acked,
                received_bytes: self.arrived(self.tells_every_ms, ms, self.rtt_ms / 2),
                waits: sent > acked,
                timed_out: sent > acked && ms - first_lost >= self.rtt_ms + 200,
                rtt: MS(self.rtt_ms),
                variation: MS(1),
            };
            let is_here = |(at, _): &(u64, u16)| *at <= ms;
            let echoes: Vec<_> = under_way
                .iter()
                .filter(|one| is_here(one))
                .map(|(_, sequence)| (DEVICE, *sequence))
                .collect();
            under_way.retain(|one| !is_here(one));
            let (changed, questions) = pulse.observe(MS(ms), &[flow], &echoes);
            if changed {
                verdicts.push(ms);
            }
            count += questions.len();
            for question in questions {
                let is_lost = self.loses == Some(question.sequence % 4);
                let back = ms + self.rtt_ms;
                if self.echoes && !is_lost && self.passes(ms) && self.passes(back) {
                    under_way.push((back, question.sequence));
                }
            }
        }
        (verdicts, count)
    }
}

#[test]
fn a_dead_path_is_noticed_in_a_few_round_trips() {
    let requests = World {
        asks_every_ms: Some(70),
        ..CALM
    };
    let messages = World {
        tells_every_ms: Some(50),
        ..CALM
    };
    for (world, name) in [(requests, "requests"), (messages, "messages")] {
        for rtt_ms in [20, 50, 120] {
            // Silent for QUIET, asked at the next tick; no echo within 2 RTTs and SPARE, noticed at a tick.
            let most = 100 + 50 + 2 * rtt_ms + 50 + 25;
            for dies_ms in (3000..3200).step_by(7) {
                let world = World {
                    rtt_ms,
                    dies_ms,
                    ..world
                };
                let (verdicts, _) = world.run(4000);
                let [at] = verdicts[..] else {
                    panic!("{name}, RTT {rtt_ms} ms, dies at {dies_ms}: {verdicts:?}")
                };
                // The last message was under way.
                assert!(
                    at <= dies_ms + most + rtt_ms,
                    "{name}, RTT {rtt_ms} ms: {dies_ms}, {at}"
                );
            }
        }
    }
}

#[test]
fn without_echoes_a_retransmission_shows_it() {
    let world = World {
        asks_every_ms: Some(70),
        echoes: false,
        dies_ms: 3000,
        ..CALM
    };
    let (verdicts, _) = world.run(4000);
    // RTO 250 ms, one more RTT, SPARE, a tick; the request before the failure was under way.
    assert!(
        (3000 + 250..3000 + 250 + 50 + 50 + 70 + 50).contains(&verdicts[0]),
        "{verdicts:?}"
    );
    // A server that sends alone waits for its own timeouts.
    let world = World {
        asks_every_ms: None,
        tells_every_ms: Some(50),
        ..world
    };
    assert!(world.run(4000).0.is_empty());
}

#[test]
fn a_path_that_works_is_never_dead() {
    for loses in [None, Some(0), Some(3)] {
        for (asks_every_ms, tells_every_ms) in
            [(Some(700), None), (None, Some(900)), (None, Some(30_000))]
        {
            let world = World {
                asks_every_ms,
                tells_every_ms,
                loses,
                ..CALM
            };
            let (verdicts, _) = world.run(30_000);
            assert!(
                verdicts.is_empty(),
                "{asks_every_ms:?} {tells_every_ms:?} {loses:?}: {verdicts:?}"
            );
        }
    }
}

#[test]
fn a_flow_that_says_enough_causes_no_questions_and_a_silent_one_few() {
    let questions = |tells_every_ms| {
        let world = World {
            tells_every_ms: Some(tells_every_ms),
            ..CALM
        };
        world.run(11_000).1
    };
    // One finds out whether the server answers.
    assert_eq!(questions(50), 1);
    // Five a second while data is expected, at most.
    assert!((30..=50).contains(&questions(1000)), "{}", questions(1000));
    // A backup that carries nothing is not asked.
    assert_eq!(questions(60_000), 0);
}

#[test]
fn a_path_that_answers_again_lives() {
    let world = World {
        asks_every_ms: Some(70),
        dies_ms: 3000,
        lives_ms: 9000,
        ..CALM
    };
    let (verdicts, _) = world.run(14_000);
    // Two echoes, one second apart.
    let [_, back] = verdicts[..] else {
        panic!("{verdicts:?}")
    };
    assert!((10_000..=11_500).contains(&back), "{back}");
}
