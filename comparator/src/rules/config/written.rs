//! A rule as text: the reverse of reading it, from the same list of keys, so that no key can be forgotten.

use toml_edit::{Array, Table, value};

use super::{KEYS, RuleConfig, Slot};

impl RuleConfig {
    /// The keys and values that a `[[rule]]` of it has, one a line, without that head. What it does not say is left out.
    pub fn to_toml(&self) -> String {
        let mut said = self.clone();
        let mut table = Table::new();
        for key in KEYS {
            match &key.value {
                Slot::Text(slot) => {
                    let text = std::mem::take(slot(&mut said));
                    // An empty path is the whole.
                    if key.required || !text.is_empty() {
                        table.insert(key.name, value(text));
                    }
                }
                Slot::Optional(slot) => {
                    if let Some(text) = slot(&mut said).take() {
                        table.insert(key.name, value(text));
                    }
                }
                Slot::List(slot) => {
                    let list = std::mem::take(slot(&mut said));
                    if !list.is_empty() {
                        table.insert(key.name, value(list.into_iter().collect::<Array>()));
                    }
                }
            }
        }
        table.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    #[test]
    fn what_is_written_is_read_as_the_same_rule_whatever_its_texts_hold() {
        let hostile = "a \"b\" 'c' \\ \n[[rule]]\nid = \"x\" # \u{202e}\u{0}";
        let full = RuleConfig {
            route: Some(hostile.to_owned()),
            part: Some("body".to_owned()),
            explanations: vec![hostile.to_owned(), "same_uuid".to_owned()],
            fields: vec![hostile.to_owned()],
            kind: Some(String::new()),
            pattern: Some(hostile.to_owned()),
            r#type: Some("uuid".to_owned()),
            reason: Some(hostile.to_owned()),
            ..RuleConfig::new(hostile, hostile, "accept")
        };
        for rule in [full, RuleConfig::new("", "", ""), RuleConfig::default()] {
            let text = format!("[[rule]]\n{}", rule.to_toml());
            assert_eq!(parse(&text).as_deref(), Ok(&[rule][..]), "{text}");
        }
    }
}
