//! What the four values say besides the class.

use std::cmp::Ordering;

use super::*;

#[test]
fn values_are_observed_exactly_and_by_hash_only() {
    let seen = |legacy: [&str; 2], candidate: [&str; 2]| {
        let wrap = |value: &str| format!("{{\"v\":{value}}}");
        let (legacy, candidate) = (legacy.map(wrap), candidate.map(wrap));
        let rechecked = recheck_of(
            [(200, &legacy[0]), (200, &legacy[1])],
            [(200, &candidate[0]), (200, &candidate[1])],
        );
        rechecked.groups[0].observation.clone()
    };
    // Two integers that are one double.
    let numbers = seen(["1", "9007199254740992"], ["2", "9007199254740993"]);
    assert_eq!(
        (numbers.order, numbers.between),
        (Some(Ordering::Greater), Some(0))
    );
    assert_eq!(numbers.motion, Some(53));
    assert_eq!(
        (numbers.legacy_values.len(), numbers.candidate_values.len()),
        (2, 2)
    );
    let times = seen(
        ["\"2026-01-31T09:30:00Z\"", "\"2026-01-31T09:30:01Z\""],
        [
            "\"2026-01-31T09:30:02Z\"",
            "\"2026-01-31T10:30:00.5+01:00\"",
        ],
    );
    assert_eq!(times.order, Some(Ordering::Less));
    // Two seconds between the first ones, and half a second of motion, in nanoseconds.
    assert_eq!((times.between, times.motion), (Some(30), Some(29)));
    // Three values at random: the services repeat themselves or each other.
    for (legacy, candidate, own, moved) in [
        (["1", "1"], ["2", "2"], Some(Ordering::Greater), None),
        (["1", "2"], ["2", "1"], Some(Ordering::Less), None),
        (
            ["1", "1"],
            ["2", "3"],
            Some(Ordering::Greater),
            Some(Ordering::Greater),
        ),
        (["1", "3"], ["2", "1"], Some(Ordering::Less), None),
        (["1", "2"], ["2", "2"], None, Some(Ordering::Less)),
        (["1", "1"], ["2", "1"], None, Some(Ordering::Greater)),
        (["1", "2"], ["3", "4"], None, None),
    ] {
        let seen = seen(legacy, candidate);
        assert_eq!(
            (seen.own, seen.moved),
            (own, moved),
            "{legacy:?} {candidate:?}"
        );
    }
    assert_eq!(seen(["1", "2"], ["3", "4.5"]).odd, Some(Ordering::Greater));
    assert_eq!(seen(["1", "2.5"], ["3", "4"]).odd, Some(Ordering::Less));
    assert_eq!(seen(["1", "2"], ["3.5", "4"]).odd, Some(Ordering::Greater));
    assert_eq!(seen(["1", "2.5"], ["3.5", "4"]).odd, None);
}

#[test]
fn orders_of_the_same_elements_are_near_or_far() {
    let seen = |legacy: [&str; 2], candidate: [&str; 2]| {
        let rechecked = recheck_of(
            legacy.map(|body| (200, body)),
            candidate.map(|body| (200, body)),
        );
        let seen = &rechecked.groups[0].observation;
        (seen.nearer, seen.scatter)
    };
    let (greater, less) = (Some(Ordering::Greater), Some(Ordering::Less));
    // Reversed; not sorted at all; both alike.
    assert_eq!(
        seen(["[1,2,3,4]", "[2,1,3,4]"], ["[4,3,2,1]", "[4,3,1,2]"]),
        (greater, None)
    );
    assert_eq!(
        seen(["[1,2,3,4]", "[2,1,3,4]"], ["[4,2,1,3]", "[1,3,4,2]"]).1,
        greater
    );
    assert_eq!(
        seen(["[1,2,3,4]", "[3,1,4,2]"], ["[3,1,2,4]", "[1,2,4,3]"]),
        (less, None)
    );
}

#[test]
fn an_element_that_is_gone_did_not_stand_still_and_it_is_said_who_moves_likewise() {
    let list = |ids: &[u32]| {
        let elements: Vec<String> = ids
            .iter()
            .map(|id| format!("{{\"id\":\"3f2a77de-5b1e-4c2b-9a1c-{id:012x}\"}}"))
            .collect();
        format!("{{\"v\":[{}]}}", elements.join(","))
    };
    let seen = |lists: [&[u32]; 4], pattern: &str| {
        let [l1, c1, l2, c2] = lists.map(list);
        let rechecked = recheck_of([(200, &l1), (200, &l2)], [(200, &c1), (200, &c2)]);
        let found = rechecked.groups.iter().find(|group| {
            let is_member = group.shape.to_string().contains("missing");
            is_member == (pattern == "/v/*")
        });
        found.expect("a group").observation.clone()
    };
    // Each answer has fresh ids, and the second ones are shorter.
    let ids = seen([&[1, 2], &[3, 4], &[5], &[6]], "/v/*/id");
    assert_eq!((ids.own, ids.likewise), (None, [true, true]));
    for (lists, likewise) in [
        ([&[1][..], &[2, 3], &[4, 5], &[6]], [true, true]),
        ([&[1][..], &[2, 3], &[4, 5], &[6, 7]], [true, false]),
        ([&[1][..], &[2, 3], &[4], &[6]], [false, true]),
        ([&[1][..], &[2, 3], &[4], &[6, 7]], [false, false]),
    ] {
        assert_eq!(seen(lists, "/v/*").likewise, likewise, "{lists:?}");
    }
}

#[test]
fn ids_that_are_the_same_at_several_places_of_one_answer_are_told_of_either_service() {
    const BEGIN: [&str; 4] = [
        "f3b0c44298fc1c149afbf4c899",
        "9e107d9d372bb6826bd81d3542",
        "e4d909c290d0fb1ca068ffaddf",
        "d41d8cd98f00b204e9800998ec",
    ];
    // Of each answer, which ids it has: that of the look and service, and a fresh one if it is no twin.
    let seen = |wrap: fn(&str) -> String, twins: [[bool; 2]; 2]| {
        let answer = |service: usize, look: usize| {
            let own = |at: usize| {
                let id = BEGIN[service * 2 + look];
                let other = if twins[service][look] { 0 } else { at };
                wrap(&format!("{id}{other:06x}"))
            };
            format!("{{\"ids\":[{},{},{}]}}", own(0), own(1), own(2))
        };
        let legacy = [answer(0, 0), answer(0, 1)];
        let candidate = [answer(1, 0), answer(1, 1)];
        let rechecked = recheck_of(
            [(200, &legacy[0]), (200, &legacy[1])],
            [(200, &candidate[0]), (200, &candidate[1])],
        );
        let mut groups = rechecked.groups.iter();
        groups.find_map(|group| group.observation.twins)
    };
    let (greater, less) = (Some(Ordering::Greater), Some(Ordering::Less));
    let plain: fn(&str) -> String = |id| format!("\"{id}\"");
    let link: fn(&str) -> String = |id| format!("\"see /orders/{id} of 12\"");
    for wrap in [plain, link] {
        for (twins, found) in [
            ([[false, false], [false, false]], None),
            ([[false, false], [true, false]], greater),
            ([[false, false], [false, true]], greater),
            ([[false, true], [false, false]], less),
            ([[true, false], [true, true]], greater),
            ([[true, true], [true, true]], None),
        ] {
            assert_eq!(seen(wrap, twins), found, "{}: {twins:?}", wrap("ID"));
        }
    }
}
