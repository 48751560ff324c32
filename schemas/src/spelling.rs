//! Which of the known words somebody meant who wrote another one: keys, routes, rules and versions are all looked up here,
//! so that every suggestion is made in one way.

/// The word that was probably meant, if one is near enough for a slip.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    /// Below this Jaro-Winkler similarity a suggestion is more confusing than none.
    const NEAR: f64 = 0.75;
    known
        .into_iter()
        .map(|known| (strsim::jaro_winkler(word, known), known))
        .filter(|(similarity, _)| *similarity >= NEAR)
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map(|(_, known)| known)
}

/// A hint that names the word that was probably meant, or all of them.
pub fn hint(word: &str, known: &[&str]) -> String {
    match nearest(word, known.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None if known.is_empty() => "none is taken here".to_owned(),
        None => format!("use one of {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_gets_the_word_and_anything_else_gets_all_of_them() {
        let known = ["ignore", "unordered", "mask"];
        assert_eq!(hint("ignroe", &known), "did you mean `ignore`?");
        assert_eq!(hint("unorder", &known), "did you mean `unordered`?");
        for word in ["zzz", "", "7"] {
            assert_eq!(hint(word, &known), "use one of ignore, unordered, mask");
            assert_eq!(hint(word, &[]), "none is taken here");
        }
    }
}
