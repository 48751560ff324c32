//! How far the orders are from each other in which two services list the same elements.
//!
//! A list that is sorted, with equal elements in random order, differs in every answer, and so does one that is not sorted
//! at all. Each order is new, so that repeats say nothing. But orders of one kind are near each other: the distance of two
//! is the number of pairs of elements that stand the other way round. Second answers can be exchanged if the services
//! behave alike, so the orders of one service are as near to each other as to those of the other one.
//!
//! Lists that are not shown whole, or have other elements in one of the four answers, say nothing here.

use std::cmp::Ordering;
use std::collections::HashMap;

use parity_schemas::side::{Excerpt, Side};

/// Elements of a list that is looked at: some ten thousand pairs each time.
const ELEMENTS: usize = 128;

/// The orders of both first answers and both second ones, as places in the legacy's first.
pub(super) struct Orders {
    legacy: [Vec<usize>; 2],
    candidate: [Vec<usize>; 2],
}

impl Orders {
    /// Reads four arrays of JSON; `None` if they do not have the same elements.
    pub(super) fn of([l1, c1, l2, c2]: [&Side; 4]) -> Option<Self> {
        let first = elements(l1)?;
        let mut places = HashMap::<&str, Vec<usize>>::new();
        for (place, element) in first.iter().enumerate().rev() {
            places.entry(element).or_default().push(place);
        }
        let order = |side: &Side| {
            let elements = elements(side)?;
            let mut places = places.clone();
            // Of equal elements the first is the first.
            let order: Option<Vec<usize>> = elements
                .iter()
                .map(|element| places.get_mut(element.as_str())?.pop())
                .collect();
            order.filter(|order| order.len() == first.len())
        };
        Some(Self {
            legacy: [(0..first.len()).collect(), order(l2)?],
            candidate: [order(c1)?, order(c2)?],
        })
    }

    /// Whether each service is nearer to itself (`Greater`) than to the other one.
    pub(super) fn nearer(&self) -> Ordering {
        let ([l1, l2], [c1, c2]) = (&self.legacy, &self.candidate);
        let own = distance(l1, l2) + distance(c1, c2);
        let other = distance(l1, c2) + distance(c1, l2);
        other.cmp(&own)
    }

    /// Whether the candidate's orders are farther apart (`Greater`) than the legacy's.
    pub(super) fn scatter(&self) -> Ordering {
        let ([l1, l2], [c1, c2]) = (&self.legacy, &self.candidate);
        distance(c1, c2).cmp(&distance(l1, l2))
    }
}

/// Pairs that stand the other way round in two orders.
fn distance(one: &[usize], two: &[usize]) -> usize {
    let mut place = vec![0; one.len()];
    for (at, element) in one.iter().enumerate() {
        place[*element] = at;
    }
    let there: Vec<usize> = two.iter().map(|element| place[*element]).collect();
    let later = |at: usize| there[at + 1..].iter();
    (0..there.len())
        .map(|at| later(at).filter(|other| **other < there[at]).count())
        .sum()
}

/// The elements of an array that is shown whole, without white space around them.
fn elements(side: &Side) -> Option<Vec<String>> {
    let Side::Value(Excerpt { text, whole: None }) = side else {
        return None;
    };
    let inside = text.trim().strip_prefix('[')?.strip_suffix(']')?;
    let mut elements = vec![String::new()];
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    for character in inside.chars() {
        if in_text {
            in_text = escaped || character != '"';
            escaped = !escaped && character == '\\';
        } else {
            match character {
                '"' => in_text = true,
                '[' | '{' => depth += 1,
                ']' | '}' => depth = depth.saturating_sub(1),
                ',' if depth == 0 => {
                    elements.push(String::new());
                    continue;
                }
                white if white.is_ascii_whitespace() => continue,
                _ => {}
            }
        }
        if let Some(element) = elements.last_mut() {
            element.push(character);
        }
    }
    (elements.len() <= ELEMENTS).then_some(elements)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn orders(lists: [&str; 4]) -> Option<Orders> {
        let [l1, c1, l2, c2] = lists.map(Side::value);
        Orders::of([&l1, &c1, &l2, &c2])
    }

    #[test]
    fn distances_are_pairs_that_stand_the_other_way_round() {
        let places = |list: &str| elements(&Side::value(list)).map_or(0, |found| found.len());
        assert_eq!(places(r#"[ {"a":[1,2],"b":"],\"{"} , "x,y" ,3]"#), 3);
        assert_eq!(distance(&[0, 1, 2, 3], &[3, 2, 1, 0]), 6);
        assert_eq!(distance(&[2, 0, 1], &[2, 1, 0]), 1);
    }

    #[test]
    fn orders_of_one_kind_are_near_each_other() {
        let near = orders(["[1,2,3,4]", "[4,3,2,1]", "[2,1,3,4]", "[4,3,1,2]"]).expect("orders");
        assert_eq!(
            (near.nearer(), near.scatter()),
            (Ordering::Greater, Ordering::Equal)
        );
        let scattered = orders(["[1,2,3,4]", "[3,1,4,2]", "[1,2,4,3]", "[2,4,1,3]"]);
        assert_eq!(
            scattered.map(|found| found.scatter()),
            Some(Ordering::Greater)
        );
        // Equal elements have no order among them.
        let equal = orders(["[1,1,2]", "[1,1,2]", "[1, 1,2]", "[2,1,1]"]).expect("orders");
        assert_eq!(distance(&equal.legacy[0], &equal.candidate[1]), 2);
    }

    #[test]
    fn other_elements_and_what_is_no_list_say_nothing() {
        for lists in [
            ["[1,2]", "[2,1]", "[1,3]", "[2,1]"],
            ["[1,2]", "[2,1]", "[1,2,2]", "[2,1]"],
            ["[1,2]", "[2,1]", "[1]", "[2,1]"],
            ["{}", "{}", "{}", "{}"],
            ["[1,2]", "a; b", "[1,2]", "[2,1]"],
        ] {
            assert!(orders(lists).is_none(), "{lists:?}");
        }
        let many = format!("[{}0]", "1,".repeat(ELEMENTS));
        assert!(orders([&many; 4].map(String::as_str)).is_none());
    }
}
