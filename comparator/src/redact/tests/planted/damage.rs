//! Damages bodies: replaces or removes one character, or cuts them. Also tells which of them may be shown all the same.

use super::*;

/// Characters that give a body its structure.
const SIGNS: &[u8] = b"\"'<>{}[](),:;=&/?!#|*\\-\n";

/// One kind of damage. Its position is a share of the body's length, or of the number of its structural characters.
#[derive(Clone, Copy, Debug)]
pub(super) enum Damage {
    /// The body ends here.
    Cut(f64),
    /// A structural character is replaced by this byte.
    Sign(f64, u8),
    /// A structural character is missing.
    Lost(f64),
}

pub(super) fn damage() -> impl Strategy<Value = Damage> {
    let byte = prop_oneof![select(SIGNS), any::<u8>()];
    prop_oneof![
        1 => (0.0..1.0_f64).prop_map(Damage::Cut),
        3 => (0.0..1.0_f64, byte).prop_map(|(at, byte)| Damage::Sign(at, byte)),
        1 => (0.0..1.0_f64).prop_map(Damage::Lost),
    ]
}

impl Damage {
    /// The damaged body, and the position of the damaged character.
    pub(super) fn of(self, body: &[u8]) -> (Vec<u8>, Option<usize>) {
        let part = |length: usize, at: f64| (length as f64 * at) as usize;
        let mut damaged = body.to_vec();
        let (Self::Cut(at) | Self::Sign(at, _) | Self::Lost(at)) = self;
        if matches!(self, Self::Cut(_)) {
            damaged.truncate(part(body.len(), at));
            return (damaged, None);
        }
        let wide = body.contains(&0);
        let signs: Vec<usize> = (0..body.len())
            .filter(|at| SIGNS.contains(&body[*at]))
            // In a wide charset, half of a letter is not a character.
            .filter(|at| !wide || body.get(at ^ 1) == Some(&0))
            .collect();
        let hit = signs.get(part(signs.len(), at)).copied();
        match (self, hit) {
            (Self::Sign(_, byte), Some(hit)) => damaged[hit] = byte,
            (Self::Lost(_), Some(hit)) => {
                damaged.remove(hit);
            }
            _ => {}
        }
        (damaged, hit)
    }
}

/// Types of plain text, which has no structure that could be damaged.
pub(super) fn is_plain(media: &str) -> bool {
    media.is_empty()
        || ["text/plain", "text/markdown"]
            .iter()
            .any(|plain| media.starts_with(plain))
}

/// Whether nothing in a damaged body tells that it holds a secret: it is valid, and no word in it is a secret name. A
/// word that was joined to the secret itself is lost with it.
pub(super) fn is_unnamed(media: &str, body: &[u8], secret: &str) -> bool {
    is_sound(media, body) && !is_named(media, body, secret)
}

/// A body as text, also in UTF-16.
fn text_of(body: &[u8]) -> String {
    if !body.contains(&0) {
        return String::from_utf8_lossy(body).into_owned();
    }
    let big = body.starts_with(b"\xfe\xff");
    let units = body.chunks_exact(2).map(|pair| {
        let pair = [pair[0], pair[1]];
        if big {
            u16::from_be_bytes(pair)
        } else {
            u16::from_le_bytes(pair)
        }
    });
    let text: String = char::decode_utf16(units)
        .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect();
    text
}

/// Whether a strict parser accepts it as what its type says.
fn is_sound(media: &str, body: &[u8]) -> bool {
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).is_ok();
    let text = text_of(body);
    let essence = media.split(';').next().unwrap_or_default();
    match essence {
        "application/x-ndjson" | "application/json-seq" => text
            .split(['\n', '\u{1e}'])
            .all(|line| line.trim().is_empty() || json(line)),
        // A field without a value is valid, and parsers skip lines that they do not know.
        "application/x-www-form-urlencoded" | "text/event-stream" => true,
        "text/csv" | "text/tab-separated-values" => text.matches('"').count().is_multiple_of(2),
        "text/html" => {
            text.matches('<').count() == text.matches('>').count()
                && text.matches('"').count().is_multiple_of(2)
        }
        "multipart/form-data" => {
            let heads = text.matches("Content-Disposition: form-data; name").count();
            let ends = text.matches("\n\r\n").count();
            text.starts_with("--x\r\n")
                && text.matches("--x").count() == heads + 1
                && ends == heads
                && text.matches('"').count().is_multiple_of(2)
        }
        _ if essence.contains("yaml") => crate::yaml::documents(&text, 64, 1 << 20).is_ok(),
        "application/graphql" => ["()", "{}", "[]"].iter().all(|pair| {
            let (open, close) = pair.split_at(1);
            text.matches(open).count() == text.matches(close).count()
        }),
        _ if essence.ends_with("xml") => text.matches('<').count() == text.matches('>').count(),
        _ if essence.contains("json") => json(text.trim_start_matches('\u{feff}')),
        _ => true,
    }
}

/// Whether a byte is in the same plain text as the secret: in a literal, or between two tags, that does not begin like
/// a structure. There, patterns recognize what joins a name to its value.
pub(super) fn is_in_plain_text(media: &str, body: &[u8], at: usize, secret: &str) -> bool {
    let Some(from) = memchr::memmem::find(body, secret.as_bytes()) else {
        return false;
    };
    let text = |from: usize, to: usize| String::from_utf8_lossy(&body[from..to]).replace('\\', "");
    let (begin, end) = if media.contains("json") || media.contains("ndjson") {
        // Quotes that are not escaped by a backslash.
        let quotes: Vec<usize> = (1..body.len())
            .filter(|quote| body[*quote] == b'"' && body[quote - 1] != b'\\')
            .collect();
        let before = quotes.iter().rposition(|quote| *quote < from);
        let Some([begin, end, ..]) = before.and_then(|before| quotes.get(before..)) else {
            return false;
        };
        (*begin + 1, *end)
    } else if media.contains("event-stream") {
        let begin = memchr::memmem::rfind(&body[..from], b"data: ").map_or(0, |at| at + 6);
        (begin, from + secret.len())
    } else if media.contains("yaml") {
        // A literal of several lines.
        let Some(begin) = body[..from]
            .windows(2)
            .rposition(|pair| pair == b"|\n" || pair == b">\n")
        else {
            return false;
        };
        (begin, body.len())
    } else if media.contains("html") || media.contains("xml") {
        if let Some(begin) = memchr::memmem::rfind(&body[..from], b"<![CDATA[") {
            return (begin..from + secret.len()).contains(&at);
        }
        let ends = |byte: &u8| b"<>\"'".contains(byte);
        let begin = body[..from].iter().rposition(ends).map_or(0, |at| at + 1);
        let end = body[from..]
            .iter()
            .position(ends)
            .map_or(body.len(), |end| from + end);
        let parted = [body.get(begin.wrapping_sub(1)), body.get(end)];
        if !matches!(
            parted,
            [Some(b'>'), Some(b'<')] | [Some(b'"'), Some(b'"')] | [Some(b'\''), Some(b'\'')]
        ) {
            return false;
        }
        (begin, end)
    } else {
        return false;
    };
    let plain = text(begin, end);
    let structured = plain.starts_with(['{', '[', '<', '&', '"'])
        || crate::redact::strings::claims_graphql(&plain);
    (begin..end).contains(&at) && (!structured || plain.starts_with("&#"))
}

fn is_named(media: &str, body: &[u8], secret: &str) -> bool {
    let text = text_of(body);
    // A YAML comment is not part of the data.
    let text = if media.contains("yaml") {
        text.lines()
            .map(|line| {
                if line.trim_start().starts_with('#') {
                    ""
                } else {
                    line.split_once(" #").map_or(line, |(line, _)| line)
                }
            })
            .collect::<Vec<_>>()
            .join("\n")
    } else {
        text
    };
    // In a JSON or YAML literal, a backslash turns the letter after it into white space.
    let markup = media.contains("html") || media.contains("xml");
    let literals = text.contains("\":") || (text.contains('"') && !markup);
    let blanks = ["\\b", "\\f", "\\n", "\\r", "\\t"];
    let text = blanks
        .iter()
        .filter(|_| literals)
        .fold(text, |text, escape| text.replace(escape, " "));
    let escaped = text.replace("\\u00", "%");
    let writings = [
        crate::redact::escapes::percent_decoded(&escaped),
        crate::redact::markup::unescaped(&text),
        text,
    ];
    let names = with_own_name().secret_names;
    writings.iter().any(|text| {
        text.split(|sign: char| !(sign.is_alphanumeric() || "_-.".contains(sign)))
            .filter(|word| !word.contains(secret))
            .any(|word| names.contains(word))
    })
}
