//! A rate over time, as one line of bars.

use parity_schemas::history::History;

use crate::view::ChartView;

/// Bars of one character, the lowest first.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Nothing is recorded.
const GAP: char = '·';
/// Something was compared and nothing differs.
const CALM: char = '_';

/// At most `width` bars, the latest at the right. A bar of several buckets is the highest of them.
pub(super) fn line(history: &History, width: usize) -> Option<String> {
    let view = ChartView::of(history)?;
    let mut rates: Vec<Option<f64>> = vec![None; view.places];
    for bar in &view.bars {
        if let Some(rate) = rates.get_mut(bar.place) {
            *rate = bar.rate;
        }
    }
    let every = rates.len().div_ceil(width.max(1)).max(1);
    // The last ones are together, so that the latest bar is never of less than the others.
    let first = rates.len() % every;
    let (head, rest) = rates.split_at(first);
    let parts = [head].into_iter().filter(|head| !head.is_empty());
    let parts = parts.chain(rest.chunks(every));
    let line = parts.map(|part| {
        let known = part.iter().flatten();
        match known.copied().reduce(f64::max) {
            None => GAP,
            Some(0.0) => CALM,
            Some(rate) => {
                let height = (rate / view.scale * BARS.len() as f64).ceil() as usize;
                BARS[height.clamp(1, BARS.len()) - 1]
            }
        }
    });
    Some(line.collect())
}
