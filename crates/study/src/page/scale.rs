//! From figures to places in a drawing.

/// A stretch of figures laid over a stretch of the drawing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale {
    low: f64,
    high: f64,
    /// Equal factors are equal lengths.
    is_logarithmic: bool,
    from: f64,
    to: f64,
}

impl Scale {
    /// From nothing to a little more than the greatest figure.
    pub(crate) fn from_zero(greatest: f64, from: f64, to: f64) -> Scale {
        let high = if greatest > 0.0 && greatest.is_finite() { greatest * 1.05 } else { 1.0 };
        Scale { low: 0.0, high, is_logarithmic: false, from, to }
    }

    /// From the least to the greatest of positive figures, by whole powers of ten at the ends.
    pub(crate) fn logarithmic(least: f64, greatest: f64, from: f64, to: f64) -> Scale {
        let low = 10_f64.powf(least.log10().floor());
        let high = 10_f64.powf(greatest.log10().ceil());
        let high = if high > low { high } else { low * 10.0 };
        Scale { low, high, is_logarithmic: true, from, to }
    }

    /// From the first to the last figure, evenly.
    pub(crate) fn even(low: f64, high: f64, from: f64, to: f64) -> Scale {
        let high = if high > low { high } else { low + 1.0 };
        Scale { low, high, is_logarithmic: false, from, to }
    }

    /// Where a figure is.
    pub(crate) fn at(&self, figure: f64) -> f64 {
        let share = match self.is_logarithmic {
            true => (figure.max(self.low).ln() - self.low.ln()) / (self.high.ln() - self.low.ln()),
            false => (figure - self.low) / (self.high - self.low),
        };
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// True if a figure is within it, or a hair outside.
    pub(crate) fn holds(&self, figure: f64) -> bool {
        let hair = (self.high - self.low) * 1e-9;
        (self.low - hair..=self.high + hair).contains(&figure)
    }

    /// Figures to write beside it: round ones, four to eight.
    pub(crate) fn labels(&self) -> Vec<f64> {
        if self.is_logarithmic {
            let mut labels = vec![self.low];
            while labels.last().is_some_and(|last| last * 9.99 < self.high) && labels.len() < 12 {
                labels.push(labels[labels.len() - 1] * 10.0);
            }
            return labels;
        }
        let rough = (self.high - self.low) / 5.0;
        let power = 10_f64.powf(rough.log10().floor());
        let step =
            [1.0, 2.0, 5.0, 10.0].into_iter().map(|one| one * power).find(|step| *step >= rough).unwrap_or(rough);
        let first = (self.low / step).ceil();
        (0..12).map(|count| (first + f64::from(count)) * step).take_while(|label| *label <= self.high).collect()
    }
}

/// A figure beside an axis, short.
pub(crate) fn short(figure: f64) -> String {
    let (value, unit) = match figure.abs() {
        1e6.. => (figure / 1e6, "M"),
        1e3.. => (figure / 1e3, "k"),
        _ => (figure, ""),
    };
    let text = format!("{value:.2}");
    format!("{}{unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_their_places() {
        let scale = Scale::from_zero(100.0, 0.0, 105.0);
        assert_eq!((scale.at(0.0), scale.at(50.0).round(), scale.at(900.0)), (0.0, 50.0, 105.0));
        assert_eq!(scale.labels(), [0.0, 50.0, 100.0]);
        let scale = Scale::logarithmic(20.0, 3_000.0, 300.0, 0.0);
        assert_eq!(
            scale.labels().iter().map(|label| label.round()).collect::<Vec<_>>(),
            [10.0, 100.0, 1000.0, 10000.0]
        );
        assert_eq!((scale.at(10.0).round(), scale.at(100.0).round()), (300.0, 200.0));
        assert_eq!(Scale::even(5.0, 5.0, 0.0, 10.0).at(5.0), 0.0, "of one figure alone");
    }

    #[test]
    fn figures_are_short() {
        assert_eq!([0.0, 0.25, 12.0, 1500.0, 2_000_000.0].map(short), ["0", "0.25", "12", "1.5k", "2M"]);
    }
}
