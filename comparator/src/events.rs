//! Converts server-sent events to a list, so that they are compared one by one.
//!
//! Parsed by the WHATWG HTML Standard (§9.2.6), with two differences, so that no difference is overlooked: what follows
//! the last empty line is an event, too, and so is an event without data. Comments are ignored. Data that is a JSON
//! object or array is compared as JSON, any other as text.

use super::notation::string;

/// The events as one JSON array of objects with those of `event`, `id`, `retry` and `data` that they have.
pub(crate) fn to_json(text: &str, is_json: &mut dyn FnMut(&[u8]) -> bool) -> Vec<u8> {
    let mut out = vec![b'['];
    let mut event = Event::default();
    for line in lines(text) {
        if line.is_empty() {
            event.end(&mut out, is_json);
        } else {
            event.field(line);
        }
    }
    event.end(&mut out, is_json);
    out.push(b']');
    out
}

/// Whether every line is a known field or a comment, and only data has more than one word. Parsers skip other lines,
/// but a line that lost a character may have named what follows.
pub(crate) fn is_strict(text: &str) -> bool {
    lines(text).all(|line| {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        match name {
            "" | "data" => true,
            _ => FIELDS.contains(&name) && !value.contains(['{', '"', '\'', '<', '=']),
        }
    })
}

/// Lines end with CRLF, LF or CR.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive('\n').flat_map(|line| {
        let line = line.strip_suffix('\n').unwrap_or(line);
        line.strip_suffix('\r').unwrap_or(line).split('\r')
    })
}

#[derive(Default)]
struct Event<'a> {
    /// The last `event`, `id` and `retry`.
    fields: [Option<&'a str>; 3],
    data: Option<String>,
}

const FIELDS: [&str; 3] = ["event", "id", "retry"];

impl<'a> Event<'a> {
    fn field(&mut self, line: &'a str) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        if name == "data" {
            match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                none => *none = Some(value.to_owned()),
            }
        } else if let Some(at) = FIELDS.iter().position(|known| *known == name) {
            self.fields[at] = Some(value);
        }
    }

    fn end(&mut self, out: &mut Vec<u8>, is_json: &mut dyn FnMut(&[u8]) -> bool) {
        let event = std::mem::take(self);
        if event.data.is_none() && event.fields.iter().all(Option::is_none) {
            return;
        }
        if out.len() > 1 {
            out.push(b',');
        }
        let mut separator = b'{';
        for (name, value) in FIELDS.iter().zip(event.fields) {
            if let Some(value) = value {
                member(separator, name, out);
                string::quote(value, out);
                separator = b',';
            }
        }
        if let Some(data) = event.data {
            member(separator, "data", out);
            let container = data.trim_start().starts_with(['{', '[']);
            if container && is_json(data.as_bytes()) {
                out.extend_from_slice(data.as_bytes());
            } else {
                string::quote(&data, out);
            }
        }
        out.push(b'}');
    }
}

fn member(separator: u8, name: &str, out: &mut Vec<u8>) {
    out.push(separator);
    string::quote(name, out);
    out.push(b':');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> String {
        let out = to_json(text, &mut |data| {
            serde_json::from_slice::<serde_json::Value>(data).is_ok()
        });
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn events_are_the_elements_of_a_list() {
        for (text, expected) in [
            ("", "[]"),
            (": nothing\n\n\n", "[]"),
            ("data: a\n\ndata:b\n\n", r#"[{"data":"a"},{"data":"b"}]"#),
            ("data: a\r\rdata: b", r#"[{"data":"a"},{"data":"b"}]"#),
            ("data: a\r\ndata:  b\r\n\r\n", r#"[{"data":"a\n b"}]"#),
            (
                "id: 1\nevent: x\nevent: y\ndata: {\"n\": 1.0}\n\n",
                r#"[{"event":"y","id":"1","data":{"n": 1.0}}]"#,
            ),
            ("data: [DONE]\n\n", r#"[{"data":"[DONE]"}]"#),
            ("data: [1,\ndata: 2]\n\n", "[{\"data\":[1,\n2]}]"),
            ("event: ping\n\n", r#"[{"event":"ping"}]"#),
            ("data\n\n", r#"[{"data":""}]"#),
            ("nonsense: 1\n\n", "[]"),
        ] {
            assert_eq!(json(text), expected, "{text:?}");
        }
    }
}
