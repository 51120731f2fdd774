//! A meter of the whole machine, compared with the energy that models attribute to interfaces.
//! Another thread reads the meter ([`Gauge`]); this module only adds up: pure.

use joulepath_model::calendar::Day;
use joulepath_model::live::MeterConfig;

use crate::joules::{Quality, Smoothed};
use crate::ledger::Ledger;
use crate::status::{MachineStatus, Measure};

/// Name and properties of a meter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// Name in the configuration: `hwmon:powerz`.
    pub name: String,
    /// The part of the machine that it measures.
    pub measures: String,
    /// True if the measurement includes the radios; a processor's own meter excludes them.
    pub has_radios: bool,
}

/// Measured since the last call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Taken {
    /// `None` until the meter has been opened once.
    pub about: Option<About>,
    /// Energy, J, over `length_s`.
    pub joules: f64,
    /// Time covered by readings, s.
    pub length_s: f64,
    /// Why there are no measurements at present, and the remedy.
    pub trouble: Option<String>,
}

/// A meter that is read in the background.
pub trait Gauge {
    /// Measurements since the last call. Never blocks.
    fn take(&mut self) -> Taken;
}

/// Opens a meter of the configuration.
pub type OpenGauge<'a> = &'a dyn Fn(&MeterConfig) -> Box<dyn Gauge>;

/// A meter and its sums since it was configured.
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
        Machine {
            gauge,
            last,
            power: Smoothed::default(),
            total,
            today,
        }
    }

    /// Takes in new measurements. `attributed_j`: energy that the interfaces' models attribute to
    /// the same time.
    pub(crate) fn look(&mut self, ledger: &mut Ledger, attributed_j: f64, today: Day) {
        let before = self.last.about.take();
        self.last = self.gauge.take();
        self.today = today;
        if self.last.about.is_none() {
            self.last.about = before;
        }
        let Taken {
            joules, length_s, ..
        } = self.last;
        if length_s > 0.0 {
            self.power.add(joules / length_s, length_s);
            self.total.measured_j += joules;
            self.total.attributed_j += attributed_j;
            ledger.measure(joules, today);
        } else if self.last.trouble.is_some() {
            // The power before the failure says nothing about now.
            self.power = Smoothed::default();
        }
    }

    /// `attributed_w`: power that the interfaces' models attribute to now.
    pub(crate) fn status(&self, ledger: &Ledger, attributed_w: f64) -> MachineStatus {
        let about = self.last.about.as_ref();
        let has_radios = about.is_some_and(|about| about.has_radios);
        let power_w = self.power.power_w();
        let [today_j, month_j] =
            [self.today, self.today.period_start(1)].map(|first| ledger.measured(first));
        let rest_j = self.total.measured_j - self.total.attributed_j;
        MachineStatus {
            meter: about.map(|about| about.name.clone()),
            measures: about.map(|about| about.measures.clone()),
            quality: Quality::Measured.word().to_owned(),
            power_w,
            attributed_w,
            unexplained_w: power_w
                .filter(|_| has_radios)
                .map(|power_w| power_w - attributed_w),
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

    /// Returns the given values in turn, then a failure.
    struct Fake(Vec<Taken>);

    impl Gauge for Fake {
        fn take(&mut self) -> Taken {
            match self.0.is_empty() {
                true => Taken {
                    trouble: Some("on mains".into()),
                    ..Taken::default()
                },
                false => self.0.remove(0),
            }
        }
    }

    fn taken(joules: f64, length_s: f64, has_radios: bool) -> Taken {
        let about = About {
            name: "hwmon:powerz".into(),
            measures: "the supply".into(),
            has_radios,
        };
        Taken {
            about: Some(about),
            joules,
            length_s,
            trouble: None,
        }
    }

    fn machine(has_radios: bool) -> Machine {
        let said = [(0.0, 0.0), (16.0, 2.0), (16.0, 2.0)];
        let said = said.map(|(joules, length_s)| taken(joules, length_s, has_radios));
        Machine::new(Box::new(Fake(said.into())), TODAY)
    }

    #[test]
    fn the_unexplained_power_is_measured_minus_attributed() {
        let (mut ledger, mut machine) = (Ledger::default(), machine(true));
        // Energy attributed before the first measurement does not count.
        for attributed_j in [5.0, 3.0, 2.0] {
            machine.look(&mut ledger, attributed_j, TODAY);
        }
        // 16 J in 2 s, twice: 8 W, of which the models attribute 1.25 W to radios. 32 J − 3 J − 2
        // J.
        let status = machine.status(&ledger, 1.25);
        assert_eq!(
            (status.power_w, status.unexplained_w),
            (Some(8.0), Some(6.75))
        );
        assert_eq!(
            (status.total.measured_j, status.total.attributed_j),
            (32.0, 5.0)
        );
        assert_eq!(
            (status.unexplained_j, status.today_j, status.month_j),
            (Some(27.0), Some(32.0), Some(32.0))
        );
        assert_eq!(
            (status.quality.as_str(), status.meter.as_deref()),
            ("measured", Some("hwmon:powerz"))
        );
    }

    #[test]
    fn a_failed_meter_keeps_its_sums_and_reports_no_power() {
        let (mut ledger, mut machine) = (Ledger::default(), machine(true));
        (0..4).for_each(|_| machine.look(&mut ledger, 1.0, TODAY));
        let status = machine.status(&ledger, 1.0);
        assert_eq!(
            (status.power_w, status.unexplained_w, status.today_j),
            (None, None, Some(32.0))
        );
        assert_eq!(
            (status.trouble.as_deref(), status.meter.as_deref()),
            (Some("on mains"), Some("hwmon:powerz"))
        );
    }

    #[test]
    fn a_meter_without_the_radios_gives_no_unexplained_power() {
        let (mut ledger, mut machine) = (Ledger::default(), machine(false));
        (0..3).for_each(|_| machine.look(&mut ledger, 1.0, TODAY));
        let status = machine.status(&ledger, 1.0);
        assert_eq!(
            (status.power_w, status.unexplained_w, status.unexplained_j),
            (Some(8.0), None, None)
        );
    }
}
