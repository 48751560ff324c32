//! Output as it is shown, where `…` stands for anything.

/// The lines of an output.
pub(super) fn lines(text: &str) -> Vec<String> {
    text.lines()
        .map(|line| line.trim_end().to_owned())
        .collect()
}

/// Whether lines are as shown, where `…` is anything: any lines, or any part of one.
pub(super) fn matches(shown: &[String], said: &[String]) -> bool {
    match shown.split_first() {
        None => said.is_empty(),
        Some((first, rest)) if first.trim() == "…" => {
            (0..=said.len()).any(|skipped| matches(rest, &said[skipped..]))
        }
        Some((first, rest)) => said.split_first().is_some_and(|(line, others)| {
            line_matches(first.trim_end(), line) && matches(rest, others)
        }),
    }
}

fn line_matches(shown: &str, line: &str) -> bool {
    let parts: Vec<&str> = shown.split('…').collect();
    let [first, middle @ .., last] = parts.as_slice() else {
        return shown == line;
    };
    let Some(mut rest) = line.strip_prefix(first) else {
        return false;
    };
    for part in middle {
        match rest.split_once(part) {
            Some((_, behind)) => rest = behind,
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[test]
fn an_ellipsis_is_anything_and_everything_else_is_itself() {
    let lines = |text: &str| text.split('|').map(str::to_owned).collect::<Vec<_>>();
    for (shown, said, expected) in [
        ("a|b", "a|b", true),
        ("a|b", "a|c", false),
        ("a", "a|b", false),
        ("a|…", "a|b|c", true),
        ("…|c", "a|b|c", true),
        ("…|b", "a|b|c", false),
        ("a …|…", "a", false),
        ("a…z", "a to z", true),
        ("a…m…z", "a to z", false),
        ("{…\"x\":1…", "{\"w\":0,\"x\":1,\"y\":2}", true),
    ] {
        assert_eq!(matches(&lines(shown), &lines(said)), expected, "{shown}");
    }
}
