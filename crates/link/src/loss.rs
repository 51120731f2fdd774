//! Random loss on the wire.

use joulepath_model::network::LossSpec;

use joulepath_model::random::Stream;

/// Number of packets that pass before the link must ask its [`Loss`] again.
#[derive(Clone, Debug)]
pub(crate) struct Quiet(u64);

/// A loss process. It draws random numbers only for the next packet that is lost or changes the
/// state.
#[derive(Clone, Debug)]
pub(crate) enum Loss {
    Bernoulli { loss: f64, stream: Stream },
    GilbertElliott(GilbertElliott),
}

/// The Markov chain of Gilbert (1960) and Elliott (1963). A packet is lost with the loss
/// probability of the current state; then the chain takes a step.
#[derive(Clone, Debug)]
pub(crate) struct GilbertElliott {
    good: State,
    bad: State,
    in_bad: bool,
    /// Packets until the state changes, including the next one; at least 1.
    stay: u64,
    /// Packets until the next loss if the state does not change before that.
    gap: u64,
    stream: Stream,
}

/// Probabilities per packet.
#[derive(Clone, Copy, Debug)]
struct State {
    leave: f64,
    loss: f64,
}

impl Quiet {
    /// Counts a packet. Returns true if the loss process decides about it; otherwise it passes.
    #[inline(always)]
    pub(crate) fn is_over(&mut self) -> bool {
        if self.0 > 0 {
            self.0 -= 1;
            return false;
        }
        true
    }

    /// Lets the loss process decide about a packet and sets how many packets pass after it. Returns
    /// true if it is lost.
    #[cold]
    pub(crate) fn ask(&mut self, loss: Option<&mut Loss>) -> bool {
        match loss {
            None => false,
            Some(Loss::Bernoulli { loss, stream }) => {
                self.0 = stream.geometric(*loss);
                true
            }
            Some(Loss::GilbertElliott(chain)) => {
                let lost = chain.step();
                self.0 = chain.skip_quiet();
                lost
            }
        }
    }
}

impl Loss {
    /// The process, or none if no packet is ever lost, and how many packets pass first.
    pub(crate) fn new(spec: LossSpec, mut stream: Stream) -> (Option<Self>, Quiet) {
        match spec {
            LossSpec::None => (None, Quiet(u64::MAX)),
            LossSpec::Bernoulli(loss) => {
                let loss = loss.get();
                let quiet = stream.geometric(loss);
                (Some(Loss::Bernoulli { loss, stream }), Quiet(quiet))
            }
            LossSpec::GilbertElliott {
                enter_bad,
                leave_bad,
                loss_good,
                loss_bad,
            } => {
                let good = State {
                    leave: enter_bad.get(),
                    loss: loss_good.get(),
                };
                let bad = State {
                    leave: leave_bad.get(),
                    loss: loss_bad.get(),
                };
                let mut chain = GilbertElliott::new(good, bad, stream);
                let quiet = chain.skip_quiet();
                (Some(Loss::GilbertElliott(chain)), Quiet(quiet))
            }
        }
    }
}

impl GilbertElliott {
    /// Starts in a state drawn from the stationary distribution.
    fn new(good: State, bad: State, mut stream: Stream) -> Self {
        let in_bad = stream.uniform() * (good.leave + bad.leave) < good.leave;
        let mut chain = GilbertElliott {
            good,
            bad,
            in_bad,
            stay: 0,
            gap: 0,
            stream,
        };
        chain.enter(in_bad);
        chain
    }

    fn enter(&mut self, in_bad: bool) {
        self.in_bad = in_bad;
        let State { leave, loss } = if in_bad { self.bad } else { self.good };
        self.stay = self.stream.geometric(leave).saturating_add(1);
        self.gap = self.stream.geometric(loss);
    }

    /// Decides about one packet. Returns true if it is lost.
    fn step(&mut self) -> bool {
        let lost = self.gap == 0;
        self.stay -= 1;
        if self.stay == 0 {
            self.enter(!self.in_bad);
        } else if lost {
            self.gap = self.stream.geometric(if self.in_bad {
                self.bad.loss
            } else {
                self.good.loss
            });
        } else {
            self.gap -= 1;
        }
        lost
    }

    /// Skips the packets that are neither lost nor change the state. Returns their number.
    fn skip_quiet(&mut self) -> u64 {
        let quiet = self.gap.min(self.stay - 1);
        self.gap -= quiet;
        self.stay -= quiet;
        quiet
    }
}
