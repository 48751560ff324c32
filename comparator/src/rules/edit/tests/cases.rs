//! Edits that people make, and those that would be wrong to carry over.

use parity_schemas::verdict::{Explanation, Kind};

use super::*;

fn config(path: &str, action: &str) -> RuleConfig {
    RuleConfig::new(&format!("{action} {path}"), path, action)
}

fn accept(path: &str, explanation: &str) -> RuleConfig {
    RuleConfig {
        explanations: vec![explanation.to_owned()],
        ..config(path, "accept")
    }
}

fn typed(path: &str) -> RuleConfig {
    RuleConfig {
        r#type: Some("number".to_owned()),
        ..config(path, "as")
    }
}

fn group(name: &str, pattern: &str, kind: Kind, explanation: Option<Explanation>) -> GroupEvidence {
    GroupEvidence {
        last_seen: parity_schemas::time::Timestamp::default(),
        route: ROUTE.to_owned(),
        group: Group {
            fingerprint: name.to_owned(),
            part: Part::Body,
            pattern: pattern.to_owned(),
            kind,
            explanation,
            ..Group::default()
        },
        count: 1,
        classes: [(MismatchClass::Confirmed, 1)].into(),
        evidence: BTreeMap::new(),
    }
}

/// Ten matches, and a mismatch of each group.
fn counted(groups: Vec<GroupEvidence>, hits: &[(&str, u64)]) -> RouteCounted {
    let mut counted = RouteCounted {
        route: ROUTE.to_owned(),
        rule_hits: hits
            .iter()
            .map(|(id, hits)| ((*id).to_owned(), *hits))
            .collect(),
        ..RouteCounted::default()
    };
    counted.counts.received = 10 + groups.len() as u64;
    counted.counts.matched = 10;
    for group in groups {
        let name = group.group.fingerprint.clone();
        add_mismatch(
            &mut counted,
            [(name, (MismatchClass::Confirmed, group))].into(),
            true,
        );
    }
    counted
}

/// `untouched`, the groups that are excused, or why it starts anew.
fn said(old: &[RuleConfig], new: &[RuleConfig], counted: &RouteCounted) -> String {
    match fate(&compiled(old), &compiled(new), counted) {
        Fate::Untouched => "untouched".to_owned(),
        Fate::Excused(groups) => groups.into_iter().collect::<Vec<_>>().join(" "),
        Fate::Anew(why) => why,
    }
}

#[test]
fn a_rule_for_one_field_of_one_route_leaves_the_others() {
    let elsewhere = RuleConfig {
        route: Some("GET /b".to_owned()),
        ..config("/list", "unordered")
    };
    let text = || group("g", "", Kind::Value, None);
    for route in [ROUTE, "GET /c"] {
        let counted = RouteCounted {
            route: route.to_owned(),
            ..counted(vec![text()], &[])
        };
        assert_eq!(
            said(&[], std::slice::from_ref(&elsewhere), &counted),
            "untouched"
        );
        // A field that is in no body of text.
        assert_eq!(
            said(&[], &[config("/updated_at", "ignore")], &counted),
            "untouched"
        );
    }
    let many = RouteCounted {
        route: OTHER.to_owned(),
        ..counted(vec![text()], &[])
    };
    assert!(said(&[], &[elsewhere], &many).contains("pairs the elements"));
}

#[test]
fn what_a_new_rule_excuses_as_a_whole_becomes_a_match_and_a_part_of_it_starts_anew() {
    let price = || {
        group(
            "price",
            "/items/*/price",
            Kind::Value,
            Some(Explanation::TypeOnly),
        )
    };
    let name = || group("name", "/items/*/name", Kind::Value, None);
    let both = counted(vec![price(), name()], &[]);
    for (rule, expected) in [
        (config("/items/*/price", "ignore"), "price"),
        (config("/**/price", "ignore"), "price"),
        (config("/items", "ignore"), "name price"),
        (accept("/items/*/price", "type_only"), "price"),
        (accept("/**", "type_only"), "price"),
        (accept("/**", "case_only"), "untouched"),
        (config("/total", "ignore"), "untouched"),
        (config("/items/*/price/cents", "ignore"), "untouched"),
        (
            config("/items/0/price", "ignore"),
            "may excuse a part of what differs at body /items/*/price",
        ),
        (typed("/items/*/price"), "may excuse a part"),
    ] {
        let said = said(&[], std::slice::from_ref(&rule), &both);
        assert!(
            said == expected || said.contains(expected) && expected.len() > 10,
            "{rule:?}: {said}"
        );
    }
    let cents = || {
        let near = Some(Explanation::ScaledBy100);
        group("cents", "/items/*/price", Kind::Value, near)
    };
    let scaled = |path: &str, factor: &str| RuleConfig {
        factor: Some(factor.to_owned()),
        ..config(path, "scale")
    };
    for (rule, expected) in [
        (scaled("/items/*/price", "100"), "cents"),
        (scaled("/items/*/price", "100.0"), "cents"),
        (scaled("/items/*/name", "100"), "may excuse a part"),
        (scaled("/items/*/price", "0.01"), "may excuse a part"),
        (scaled("/items/*/price", "10"), "may excuse a part"),
        (scaled("/items/0/price", "100"), "may excuse a part"),
        (scaled("/total", "100"), "untouched"),
    ] {
        let said = said(
            &[],
            std::slice::from_ref(&rule),
            &counted(vec![cents(), name()], &[]),
        );
        assert!(said.contains(expected), "{rule:?}: {said}");
    }
    // Elements are told as missing by all that is in them.
    let missing = counted(vec![group("missing", "/items/*", Kind::Missing, None)], &[]);
    assert!(said(&[], &[config("/items/*/t", "ignore")], &missing).contains("a part"));
    let field = counted(
        vec![group("field", "/items/*/name", Kind::Missing, None)],
        &[],
    );
    assert_eq!(
        said(&[], &[config("/items/*/name/t", "ignore")], &field),
        "untouched"
    );
}

#[test]
fn a_removed_rule_that_excused_nothing_here_changes_nothing() {
    let ignore = || config("/a", "ignore");
    let id = ignore().id;
    let none = counted(vec![], &[]);
    assert_eq!(said(&[ignore()], &[], &none), "untouched");
    let some = counted(vec![], &[(&id, 3)]);
    assert!(said(&[ignore()], &[], &some).contains("excused 3 differences"));
    // The same rule under another name excuses what it did.
    let renamed = RuleConfig {
        id: "other".to_owned(),
        ..ignore()
    };
    assert_eq!(
        said(&[ignore()], &[renamed, config("/b", "ignore")], &some),
        "untouched"
    );
    // Hits under a name that no text has may be those of the removed rule.
    let strange = counted(vec![], &[("renamed meanwhile", 1)]);
    assert!(said(&[ignore()], &[], &strange).contains("excused 1 "));
}

#[test]
fn a_rule_without_hits_may_still_have_decided() {
    let tolerance = RuleConfig {
        absolute: Some("0.01".to_owned()),
        ..config("/**", "tolerance")
    };
    let none = counted(vec![], &[]);
    let said_of =
        |rule: RuleConfig, other: RuleConfig| said(&[other.clone(), rule], &[other], &none);
    assert!(said_of(typed("/price"), tolerance.clone()).contains("read text as numbers"));
    assert_eq!(
        said_of(typed("/price"), config("/x", "ignore")),
        "untouched"
    );
    assert!(
        said_of(config("/list", "unordered"), config("/list/0/id", "ignore"))
            .contains("meets other elements")
    );
    assert_eq!(
        said_of(config("/list", "unordered"), config("/x", "ignore")),
        "untouched"
    );
    let key = RuleConfig {
        field: Some("id".to_owned()),
        ..config("/list", "key")
    };
    assert!(said_of(key, config("/x", "ignore")).contains("by a key"));
}

#[test]
fn what_pairs_elements_or_may_change_the_work_starts_anew() {
    let none = counted(vec![], &[]);
    let unordered = || config("/list", "unordered");
    let inside = config("/**/t", "ignore");
    assert!(said(&[unordered()], &[unordered(), inside.clone()], &none).contains("in any order"));
    assert!(said(&[unordered(), inside], &[unordered()], &none).contains("in any order"));
    assert_eq!(
        said(
            &[unordered()],
            &[unordered(), config("/name", "ignore")],
            &none
        ),
        "untouched"
    );
    let renamed = accept("/**", "renamed");
    assert!(said(&[], std::slice::from_ref(&renamed), &none).contains("under other names"));
    assert!(
        said(
            std::slice::from_ref(&renamed),
            &[renamed.clone(), config("/a", "ignore")],
            &none
        )
        .contains("under other names")
    );
    let key = RuleConfig {
        field: Some("id".to_owned()),
        ..config("/list", "key")
    };
    let swapped = said(&[unordered(), key.clone()], &[key, unordered()], &none);
    assert!(swapped.contains("another order"), "{swapped}");
}

#[test]
fn mismatches_of_which_not_all_is_known_stay_only_where_nothing_is_excused() {
    let g = || group("g", "/a", Kind::Value, None);
    let mut counted = counted(vec![g()], &[]);
    counted.sets.clear();
    assert!(said(&[], &[config("/a", "ignore")], &counted).contains("of 1 mismatches"));
    assert_eq!(said(&[], &[config("/b", "ignore")], &counted), "untouched");
    // One that was proven and could not be shown may be anywhere.
    counted.groups = vec![group("g", "", Kind::Value, None)];
    assert!(said(&[], &[config("/b", "ignore")], &counted).contains("the whole body"));
    counted.groups = vec![group(OTHER, "", Kind::Value, None)];
    let header = RuleConfig {
        part: Some("header".to_owned()),
        ..config("x", "ignore")
    };
    assert!(said(&[], &[header], &counted).contains("may excuse a part"));
    counted.groups.clear();
    assert!(said(&[], &[config("/b", "ignore")], &counted).contains("not known"));
}

#[test]
fn what_was_transient_is_in_no_set_so_it_may_be_left() {
    let mut moved = group("moved", "/moved", Kind::Value, None);
    moved.classes = [(MismatchClass::Transient, 1)].into();
    let mut counted = counted(vec![group("g", "/a", Kind::Value, None)], &[]);
    counted.groups.push(moved);
    assert!(
        said(&[], &[config("/a", "ignore")], &counted)
            .contains("at body /moved agreed when asked again")
    );
    assert_eq!(said(&[], &[config("/*", "ignore")], &counted), "g moved");
}

#[test]
fn bodies_that_could_not_be_compared_would_be_ignored_by_a_rule_for_all_of_them() {
    let mut counted = counted(vec![], &[]);
    counted
        .counts
        .not_compared
        .insert(parity_schemas::verdict::Reason::TooDeep, 4);
    assert!(said(&[], &[config("", "ignore")], &counted).contains("ignores 4 bodies"));
    assert_eq!(said(&[], &[config("/a", "ignore")], &counted), "untouched");
    counted.counts.not_compared =
        [(parity_schemas::verdict::Reason::CandidateWorkBudget, 2)].into();
    assert!(said(&[], &[config("/a", "ignore")], &counted).contains("2 bodies took too much work"));
}

#[test]
fn rules_without_a_text_that_has_their_hash_say_nothing() {
    let (old, new) = (compiled(&[]), compiled(&[config("/a", "ignore")]));
    let (earlier, now) = (counted_under(&old), counted_under(&new));
    let route = [counted(vec![], &[])];
    assert!(redecide(&earlier, &now, &route).is_ok());
    let without = RulesCounted {
        texts: Vec::new(),
        ..now.clone()
    };
    let wrong = RulesCounted {
        texts: earlier.texts.clone(),
        ..now.clone()
    };
    let mut newer = now.clone();
    newer.texts[0].equality += 1;
    for (bad, why) in [
        (without, "not in the record"),
        (wrong, "another hash"),
        (newer, "version"),
    ] {
        let said = redecide(&earlier, &bad, &route).expect_err("nothing is known");
        assert!(said.contains(why), "{said}");
        assert!(redecide(&bad, &earlier, &route).is_err());
    }
}
