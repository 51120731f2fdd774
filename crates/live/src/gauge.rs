//! A meter of the whole machine: what it has measured, beside what the energy models attribute to interfaces.
//!
//! Meters are read elsewhere, in their own time ([`Gauge`]); here their joules are counted: pure.

use joulepath_model::calendar::Day;
use joulepath_model::live::MeterConfig;

use crate::joules::{Quality, Smoothed};
use crate::ledger::Ledger;
use crate::status::{MachineStatus, Measure};

/// What a meter is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// As the configuration names it: `hwmon:powerz`.
    pub name: String,
    /// What of the machine it measures.
    pub measures: String,
    /// Whether the radios are in what it measures; a processor's own meter does not have them.
    pub has_radios: bool,
}

/// What was measured since the last call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Taken {
    /// What measures; none before it could be opened for the first time.
    pub about: Option<About>,
    /// Energy in the time that readings cover.
    pub joules: f64,
    /// That time, s.
    pub length_s: f64,
    /// Why nothing is measured at present, with what to do, if so.
    pub trouble: Option<String>,
}

/// A meter that somebody reads.
pub trait Gauge {
    /// What was measured since the last call. Never waits.
    fn take(&mut self) -> Taken;
}

/// Begins to read a meter of the configuration.
pub type OpenGauge<'a> = &'a dyn Fn(&MeterConfig) -> Box<dyn Gauge>;

/// A meter, and what it has measured since it was configured.
pub(crate) struct Machine {
    gauge: Box<dyn Gauge>,
    last: Taken,
    power: Smoothed,
    total: Measure,
    today: Day,
}

impl Machine {
    pub(crate) fn new(gauge: Box<dyn Gauge>, today: Day) -> Self {
        let (last, total) = (Taken::default(), Measure::default());
        Machine { gauge, last, power: Smoothed::default(), total, today }
    }

    /// Takes in what was measured. `attributed_j` is what the interfaces' models say of the same time.
    pub(crate) fn look(&mut self, ledger: &mut Ledger, attributed_j: f64, today: Day) {
        let before = self.last.about.take();
        self.last = self.gauge.take();
        self.today = today;
        if self.last.about.is_none() {
            self.last.about = before;
        }
        let Taken { joules, length_s, .. } = self.last;
        if length_s > 0.0 {
            self.power.add(joules / length_s, length_s);
            self.total.measured_j += joules;
            self.total.attributed_j += attributed_j;
            ledger.measure(joules, today);
        } else if self.last.trouble.is_some() {
            // What it was before the trouble is not what it is now.
            self.power = Smoothed::default();
        }
    }

    /// What is known; `attributed_w` is what the interfaces' models say of now.
    pub(crate) fn status(&self, ledger: &Ledger, attributed_w: f64) -> MachineStatus {
        let about = self.last.about.as_ref();
        let has_radios = about.is_some_and(|about| about.has_radios);
        let power_w = self.power.power_w();
        let [today_j, month_j] = [self.today, self.today.period_start(1)].map(|first| ledger.measured(first));
        let rest_j = self.total.measured_j - self.total.attributed_j;
        MachineStatus {
            meter: about.map(|about| about.name.clone()),
            measures: about.map(|about| about.measures.clone()),
            quality: Quality::Measured.word().to_owned(),
            power_w,
            attributed_w,
            unexplained_w: power_w.filter(|_| has_radios).map(|power_w| power_w - attributed_w),
            total: self.total,
            unexplained_j: (has_radios && self.total.measured_j > 0.0).then_some(rest_j),
            today_j,
            month_j,
            trouble: self.last.trouble.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TODAY: Day = Day(20_780);

    /// Says what it is given, one after the other; then that it is broken.
    struct Fake(Vec<Taken>);

    impl Gauge for Fake {
        fn take(&mut self) -> Taken {
            match self.0.is_empty() {
                true => Taken { trouble: Some("on mains".into()), ..Taken::default() },
                false => self.0.remove(0),
            }
        }
    }

    fn taken(joules: f64, length_s: f64, has_radios: bool) -> Taken {
        let about = About { name: "hwmon:powerz".into(), measures: "the supply".into(), has_radios };
        Taken { about: Some(about), joules, length_s, trouble: None }
    }

    fn machine(has_radios: bool) -> Machine {
        let said = [(0.0, 0.0), (16.0, 2.0), (16.0, 2.0)];
        let said = said.map(|(joules, length_s)| taken(joules, length_s, has_radios));
        Machine::new(Box::new(Fake(said.into())), TODAY)
    }

    #[test]
    fn the_rest_is_what_the_models_do_not_explain() {
        let (mut ledger, mut machine) = (Ledger::default(), machine(true));
        // What models say before the meter has measured anything does not count.
        for attributed_j in [5.0, 3.0, 2.0] {
            machine.look(&mut ledger, attributed_j, TODAY);
        }
        // 16 J in 2 s twice: 8 W, of which 1.25 W are said to be the radios'. 32 J − 3 J − 2 J.
        let status = machine.status(&ledger, 1.25);
        assert_eq!((status.power_w, status.unexplained_w), (Some(8.0), Some(6.75)));
        assert_eq!((status.total.measured_j, status.total.attributed_j), (32.0, 5.0));
        assert_eq!(
            (status.unexplained_j, status.today_j, status.month_j),
            (Some(27.0), Some(32.0), Some(32.0))
        );
        assert_eq!((status.quality.as_str(), status.meter.as_deref()), ("measured", Some("hwmon:powerz")));
    }

    #[test]
    fn a_meter_that_fails_keeps_what_it_has_counted_and_tells_no_power() {
        let (mut ledger, mut machine) = (Ledger::default(), machine(true));
        (0..4).for_each(|_| machine.look(&mut ledger, 1.0, TODAY));
        let status = machine.status(&ledger, 1.0);
        assert_eq!((status.power_w, status.unexplained_w, status.today_j), (None, None, Some(32.0)));
        assert_eq!(
            (status.trouble.as_deref(), status.meter.as_deref()),
            (Some("on mains"), Some("hwmon:powerz"))
        );
    }

    #[test]
    fn a_meter_that_does_not_have_the_radios_leaves_no_rest() {
        let (mut ledger, mut machine) = (Ledger::default(), machine(false));
        (0..3).for_each(|_| machine.look(&mut ledger, 1.0, TODAY));
        let status = machine.status(&ledger, 1.0);
        assert_eq!((status.power_w, status.unexplained_w, status.unexplained_j), (Some(8.0), None, None));
    }
}
