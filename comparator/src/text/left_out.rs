//! Compares two texts but for the parts that rules name.
//!
//! Each part is a *piece* of a text. Both texts are written again with a mark in place of each piece. If the results are the
//! same, the pieces of both stand at the same places, and each pair is compared by its rule. So whatever stands outside of a
//! piece counts, all rules for a text act together, and a piece that only one text has is a difference. A line that is
//! ignored as a whole is no piece but is left out, so that it may also be missing.
//!
//! White space directly around a column does not count, because tables are padded to their widest value.

use std::collections::HashMap;
use std::ops::Range;
use std::time::Duration;

use crate::json::Scalar;
use crate::rules::{Action, Rules, Scope};

mod pieces;

use pieces::{Piece, What, pieces};

/// Largest text in which rules name parts: larger than what is compared unless the limits are raised. A larger one is
/// compared whole.
const MAX_TEXT_BYTES: usize = 8 << 20;
/// Stands for a piece, and for the white space around it. No UTF-8 has these bytes.
const MARK: u8 = 0xff;
const BLANK: u8 = 0xfe;

/// Two texts that differ, as a reader should see them.
pub(crate) struct Shown {
    pub(crate) texts: [String; 2],
    /// The rules that excuse a part of what differs.
    pub(crate) rules: Vec<u16>,
}

/// Whether rules leave out all of a text but white space.
pub(crate) fn leaves_nothing(text: &str, scope: &Scope, rules: &Rules) -> bool {
    if scope.in_text(rules).next().is_none() || text.len() > MAX_TEXT_BYTES {
        return false;
    }
    let Some(pieces) = pieces(text, scope, rules).filter(|pieces| !pieces.is_empty()) else {
        return false;
    };
    let is_blank = |range: Range<usize>| text.get(range).is_none_or(|text| text.trim().is_empty());
    let mut end = 0;
    for piece in &pieces {
        let is_ignored = match &rules.get(piece.rule).action {
            Action::InText(rule) => matches!(rule.action, Action::Ignore),
            // What an expression captures.
            _ => true,
        };
        let span = piece.span();
        if !is_blank(end..span.start) || !is_ignored && !is_blank(span.clone()) {
            return false;
        }
        end = span.end;
    }
    is_blank(end..text.len())
}

/// Two texts and what rules name in them.
pub(crate) struct LeftOut<'a> {
    rules: &'a Rules,
    texts: [&'a str; 2],
    pieces: [Vec<Piece>; 2],
    /// How long the slower answer took.
    apart: Duration,
}

impl<'a> LeftOut<'a> {
    /// `None` if no rule names a part of these texts, or they are too large.
    pub(crate) fn of(texts: [&'a str; 2], scope: &Scope, rules: &'a Rules) -> Option<Self> {
        if scope.in_text(rules).next().is_none()
            || texts.iter().any(|text| text.len() > MAX_TEXT_BYTES)
        {
            return None;
        }
        let [one, two] = texts.map(|text| pieces(text, scope, rules));
        let pieces = [one?, two?];
        let is_named = pieces.iter().any(|pieces| !pieces.is_empty());
        is_named.then_some(Self {
            rules,
            texts,
            pieces,
            apart: Duration::ZERO,
        })
    }

    /// The same of answers that were asked for at once, of which the slower one took so long.
    pub(crate) fn of_answers(self, apart: Duration) -> Self {
        Self { apart, ..self }
    }

    /// The rules by which the texts are equal, with one entry for each that was needed; `None` if they differ.
    pub(crate) fn excused(&self) -> Option<Vec<u16>> {
        let [one, two] = [0, 1].map(|side| self.written(side));
        if without_end(&one) != without_end(&two) {
            return None;
        }
        let mut hits = Vec::new();
        let [legacy, candidate] = [0, 1].map(|side| self.standing(side));
        for (one, two) in legacy.zip(candidate) {
            if !self.are_equal(one, two) {
                return None;
            }
            if self.texts[0].get(one.span()) != self.texts[1].get(two.span()) {
                hits.push(one.rule);
            }
        }
        let [legacy, candidate] = [0, 1].map(|side| {
            let mut lines: HashMap<u16, Vec<&str>> = HashMap::new();
            for piece in self.pieces[side]
                .iter()
                .filter(|piece| piece.what == What::Line)
            {
                lines
                    .entry(piece.rule)
                    .or_default()
                    .push(piece.value(self.texts[side]));
            }
            lines
        });
        let mut dropped: Vec<u16> = legacy.keys().chain(candidate.keys()).copied().collect();
        dropped.sort_unstable();
        dropped.dedup();
        hits.extend(
            dropped
                .into_iter()
                .filter(|rule| legacy.get(rule) != candidate.get(rule)),
        );
        hits.sort_unstable();
        hits.dedup();
        Some(hits)
    }

    /// The pieces that both texts must have.
    fn standing(&self, side: usize) -> impl Iterator<Item = &Piece> {
        self.pieces[side]
            .iter()
            .filter(|piece| piece.what != What::Line)
    }

    /// Whether a rule makes two of its pieces equal.
    fn are_equal(&self, one: &Piece, two: &Piece) -> bool {
        let [legacy, candidate] = [one.value(self.texts[0]), two.value(self.texts[1])];
        if one.what == What::Blank || legacy == candidate {
            return true;
        }
        match &self.rules.get(one.rule).action {
            Action::InText(rule) if !matches!(rule.action, Action::Ignore) => {
                let [one, two] = [legacy, candidate].map(|text| Scalar::of_text(text.as_bytes()));
                one.equal(&two, &rule.action, true, self.apart)
            }
            // What an expression captures, and what is ignored.
            _ => true,
        }
    }

    /// A text with marks in place of its pieces.
    fn written(&self, side: usize) -> Vec<u8> {
        let text = self.texts[side];
        let mut out = Vec::with_capacity(text.len());
        let mut copied = 0;
        for piece in &self.pieces[side] {
            let span = piece.span();
            out.extend_from_slice(text.get(copied..span.start).unwrap_or_default().as_bytes());
            mark(piece, &mut out);
            copied = span.end;
        }
        out.extend_from_slice(text.get(copied..).unwrap_or_default().as_bytes());
        out
    }

    /// Both texts as a reader should see them: what rules excuse reads as in the legacy's. `None` if that leaves nothing to
    /// see.
    pub(crate) fn shown(&self) -> Option<Shown> {
        let [legacy, candidate] = [0, 1].map(|side| self.units(side));
        let mut known: HashMap<&[u8], std::collections::VecDeque<&Unit>> = HashMap::new();
        for unit in legacy.iter().filter(|unit| unit.is_marked()) {
            known.entry(&unit.written).or_default().push_back(unit);
        }
        let mut paired: Vec<usize> = Vec::new();
        let mut rules: Vec<u16> = Vec::new();
        let mut two = String::with_capacity(self.texts[1].len());
        for unit in &candidate {
            let partner = known
                .get_mut(&*unit.written)
                .and_then(std::collections::VecDeque::pop_front);
            match partner.filter(|partner| self.agree(partner, unit)) {
                Some(partner) => {
                    paired.push(partner.text.start);
                    rules.extend(self.differing(partner, unit));
                    two.push_str(self.text(0, partner));
                }
                None if unit.is_dropped(&self.pieces[1]) => {
                    rules.extend(self.own(1, unit).iter().map(|piece| piece.rule));
                }
                None => two.push_str(self.text(1, unit)),
            }
        }
        paired.sort_unstable();
        let mut one = String::with_capacity(self.texts[0].len());
        for unit in &legacy {
            let is_alone = paired.binary_search(&unit.text.start).is_err();
            if is_alone && unit.is_dropped(&self.pieces[0]) {
                rules.extend(self.own(0, unit).iter().map(|piece| piece.rule));
            } else {
                one.push_str(self.text(0, unit));
            }
        }
        rules.sort_unstable();
        rules.dedup();
        let texts = [one, two];
        (texts[0] != texts[1]).then_some(Shown { texts, rules })
    }

    fn text(&self, side: usize, unit: &Unit) -> &'a str {
        self.texts[side].get(unit.text.clone()).unwrap_or_default()
    }

    /// The pieces of a unit.
    fn own(&self, side: usize, unit: &Unit) -> &[Piece] {
        let pieces = self.pieces[side].get(unit.pieces.clone());
        pieces.unwrap_or_default()
    }

    /// The rules of the pieces in which two units differ.
    fn differing(&self, legacy: &Unit, candidate: &Unit) -> impl Iterator<Item = u16> {
        let pairs = self.own(0, legacy).iter().zip(self.own(1, candidate));
        let differs = |(one, two): &(&Piece, &Piece)| {
            self.texts[0].get(one.span()) != self.texts[1].get(two.span())
        };
        pairs.filter(differs).map(|(one, _)| one.rule)
    }

    fn agree(&self, legacy: &Unit, candidate: &Unit) -> bool {
        let (one, two) = (self.own(0, legacy), self.own(1, candidate));
        one.iter()
            .zip(two)
            .all(|(one, two)| one.what == What::Line || self.are_equal(one, two))
    }

    /// The lines of a text; those that a piece joins are one.
    fn units(&self, side: usize) -> Vec<Unit> {
        let text = self.texts[side];
        let pieces = &self.pieces[side];
        let mut units = Vec::new();
        let (mut start, mut end, mut first) = (0, 0, 0);
        for line in text.split_inclusive('\n') {
            end += line.len();
            let mut last = first;
            while pieces
                .get(last)
                .is_some_and(|piece| (piece.start as usize) < end)
            {
                last += 1;
            }
            if last > first && pieces[last - 1].end as usize > end {
                continue;
            }
            units.push(self.unit(side, start..end, first..last));
            (start, first) = (end, last);
        }
        units
    }

    fn unit(&self, side: usize, text: Range<usize>, pieces: Range<usize>) -> Unit {
        let mut written = Vec::new();
        if !pieces.is_empty() {
            let mut copied = text.start;
            let rest = |from: usize, to: usize| self.texts[side].get(from..to).unwrap_or_default();
            for piece in &self.pieces[side][pieces.clone()] {
                written.extend_from_slice(rest(copied, piece.start as usize).as_bytes());
                mark(piece, &mut written);
                if piece.what == What::Line {
                    // Here it must be told from an empty line.
                    written.push(MARK);
                    written.extend_from_slice(&piece.rule.to_le_bytes());
                }
                copied = piece.end as usize;
            }
            written.extend_from_slice(rest(copied, text.end).as_bytes());
        }
        Unit {
            text,
            pieces,
            written,
        }
    }
}

/// One line, or several that a piece joins.
struct Unit {
    text: Range<usize>,
    /// Which pieces are in it.
    pieces: Range<usize>,
    /// With marks in their place; empty without any.
    written: Vec<u8>,
}

impl Unit {
    fn is_marked(&self) -> bool {
        !self.pieces.is_empty()
    }

    fn is_dropped(&self, pieces: &[Piece]) -> bool {
        let own = pieces.get(self.pieces.clone()).unwrap_or_default();
        own.first().is_some_and(|piece| piece.what == What::Line)
    }
}

fn mark(piece: &Piece, out: &mut Vec<u8>) {
    match piece.what {
        What::Line => {}
        What::Blank => out.push(BLANK),
        What::Value => {
            out.push(MARK);
            out.extend_from_slice(&piece.rule.to_le_bytes());
        }
    }
}

/// Without the line end that may be missing at the end of a text.
fn without_end(text: &[u8]) -> &[u8] {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    text.strip_suffix(b"\r").unwrap_or(text)
}

#[cfg(test)]
mod tests;
