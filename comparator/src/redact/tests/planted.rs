//! Secrets planted in every format, under every spelling of a name, at every place, whole and damaged: none is in the
//! record, in any form that can be undone.

use proptest::prelude::*;
use proptest::sample::select;

use super::*;

/// Names that are secret, as people write them.
const NAMES: &[&str] = &[
    "password",
    "Password",
    "passwords",
    "password_confirmation",
    "passwordHash",
    "userPassword2",
    "accessTokenV2",
    "access_token",
    "refresh-token",
    "tokens",
    "session_key",
    "sessionId",
    "pin",
    "pin_code",
    "otp",
    "cvv",
    "api_key",
    "API-Key",
    "aws_access_key_id",
    "private_key",
    "client.secret",
    "credentials",
    "auth",
    "bearer",
    "iban",
];

/// A secret that nothing else looks like; letters only, so that it is found in every writing.
fn secret() -> impl Strategy<Value = String> {
    "[b-df-hj-np-tv-z]{12}".prop_map(|letters| format!("Zq{letters}"))
}

/// How a format writes a body that holds a secret behind a name.
type Write = fn(&str, &str) -> Vec<u8>;

fn escaped(name: &str) -> String {
    let mut characters = name.chars();
    let first = characters.next().map_or(0, u32::from);
    format!("\\u{first:04x}{}", characters.as_str())
}

fn percent(text: &str) -> String {
    text.bytes()
        .fold(String::new(), |out, byte| format!("{out}%{byte:02X}"))
}

fn entities(text: &str) -> String {
    text.chars().fold(String::new(), |out, character| {
        format!("{out}&#{};", u32::from(character))
    })
}

fn element(name: &str) -> String {
    name.replace(' ', "_")
}

fn wide(text: &str) -> String {
    text.chars()
        .map(|character| match character {
            '!'..='~' => char::from_u32(character as u32 + 0xfee0).unwrap_or(character),
            other => other,
        })
        .collect()
}

/// Every format at every place: a media type, and a body.
#[rustfmt::skip]
const FORMATS: &[(&str, Write)] = &[
    ("application/json", |n, s| format!(r#"{{"a":1,"{n}":"{s}"}}"#).into()),
    ("application/json", |n, s| format!(r#"{{"{}":"{s}","b":[]}}"#, escaped(n)).into()),
    ("application/json", |n, s| format!(r#"[{{"{n}":{{"value":"{s}","{s}":[1,"{s}"]}}}}]"#).into()),
    ("application/json", |n, s| format!(r#"{{"{n}":{{"{s}":1}}}}"#).into()),
    ("application/json", |n, s| format!(r#"{{"{n}":[["{s}"],"sha256:ab ({s} bytes)"]}}"#).into()),
    ("application/json", |n, s| format!(r#"{{"{n}":"sha256:00 ({s} bytes)…"}}"#).into()),
    ("application/json", |n, s| format!(r#"{{"{}":"{s}"}}"#, wide(n)).into()),
    ("application/json", |n, s| format!(r#"{{"user[{n}]":"{s}"}}"#).into()),
    ("application/json", |n, s| format!(r#"{{"name":"{n}","value":"{s}"}}"#).into()),
    ("application/json", |n, s| format!(r#"{{"value":"{s}","key":"{n}"}}"#).into()),
    ("application/json", |n, s| format!(r#"{{"body":"{{\"{n}\":\"{s}\"}}"}}"#).into()),
    ("application/json", |n, s| format!(r#"{{"body":"{{\"a\":\"{{\\\"{n}\\\":\\\"{s}\\\"}}\"}}"}}"#).into()),
    ("application/json", |n, s| format!(r#"{{"body":"{{\"{n}\":\"{s}\""}}"#).into()),
    ("application/json", |n, s| format!(r#"{{"url":"https://x.example/cb?a=1&{n}={s}"}}"#).into()),
    ("application/json", |n, s| format!(r#"{{"url":"https://x.example/cb?page=1;{n}={s}"}}"#).into()),
    ("application/json", |n, s| format!(r#"{{"url":"https://x.example/cb#{n}={s}"}}"#).into()),
    ("application/json", |n, s| format!(r#"{{"url":"/r?next={}"}}"#, percent(&format!("/x?{n}={s}"))).into()),
    ("application/json", |n, s| format!(r#"{{"form":"a=1&{}={s}"}}"#, percent(n)).into()),
    ("application/json", |n, s| format!(r#"{{"xml":"<a><{0} t='1'>{s}</{0}></a>"}}"#, element(n)).into()),
    ("application/json", |n, s| format!(r#"{{"query":"mutation {{ login(a: 1, x: {{{0}: \"{s}\"}}) {{ id }} }}","variables":{{"{1}":"{s}"}}}}"#, n.replace(['-', '.'], "_"), n).into()),
    ("application/json", |n, s| format!(r#"{{"log":"x :{n}=>\"{s}\", '{n}' => '{s}'"}}"#).into()),
    ("application/json", |n, s| format!(r#"{{"log":"x {n}: {s}"}}"#).into()),
    ("application/json", |n, s| format!(r#"{{"b":"{}"}}"#, base64(&format!("{{\"{n}\":\"{s}\"}}"))).into()),
    ("application/x-ndjson", |n, s| format!("{{\"a\":1}}\n{{\"{n}\":\"{s}\"}}\n").into()),
    ("application/x-ndjson", |n, s| format!("{{\"{}\":\"{s}\"}}\n{{\"a\":1}}\n", escaped(n)).into()),
    ("application/json-seq", |n, s| format!("\u{1e}{{\"a\":1}}\n\u{1e}{{\"{n}\":\"{s}\"}}\n").into()),
    ("application/json; charset=utf-16le", |n, s| utf16(&format!(r#"{{"{n}":"{s}"}}"#), false)),
    ("application/json; charset=utf-16", |n, s| utf16(&format!("\u{feff}{{\"{n}\":\"{s}\"}}"), false)),
    ("application/json", |n, s| utf16(&format!("\u{feff}{{\"{n}\":\"{s}\"}}"), true)),
    ("application/json; charset=utf-16", |n, s| format!(r#"{{"{n}":"{s}"}}"#).into()),
    ("text/plain; charset=utf-16be", |n, s| format!("{n}={s}{}", if (n.len() + s.len()).is_multiple_of(2) { "" } else { "1" }).into()),
    ("text/plain; charset=nonsense", |n, s| format!("{n}={s}").into()),
    ("application/yaml", |n, s| format!("a: 1\n{n}: {s}\n").into()),
    ("application/yaml", |n, s| format!("{n}: |\n  {s}\n  {s}\nb: 1\n").into()),
    ("application/yaml", |n, s| format!("{n}:\n  {s}\nb: 1\n").into()),
    ("application/yaml", |n, s| format!("{n}:\n  user: {s}\n  {s}: [x]\n").into()),
    ("application/yaml", |n, s| format!("\"{}\": {s}\n", escaped(n)).into()),
    ("application/yaml", |n, s| format!("? {n}\n: {s}\n").into()),
    ("application/yaml", |n, s| format!("{n}: &p {s}\nb: *p\nc: [*p]\n").into()),
    ("application/yaml", |n, s| format!("a: &p {s}\n{n}: *p\n").into()),
    ("application/yaml", |n, s| format!("--- {{{n}: {s}}}\n--- {{a: 1}}\n").into()),
    ("text/plain", |n, s| format!("{n}: |\n  {s}\nb: 1\n").into()),
    ("text/plain", |n, s| format!("? {n}\n: {s}\n").into()),
    ("text/plain", |n, s| format!("{n}:\n  {s}\n").into()),
    ("text/plain", |n, s| format!("\"{}\": {s}\n", escaped(n)).into()),
    ("text/plain", |n, s| format!("GET /x {n}={s} done").into()),
    ("text/plain", |n, s| format!("x '{n}' => '{s}' and :{n}=>\"{s}\"").into()),
    ("text/plain", |n, s| format!("run --{n} {s} --verbose").into()),
    ("text/plain", |n, s| format!("{{\"{n}\":\"{s}\"}}").into()),
    ("text/plain", |n, s| format!("x {{\\\"{n}\\\": \\\"{s}\\\"}}").into()),
    ("text/plain", |_, s| format!("Authorization: Bearer {s}\nx").into()),
    ("text/plain", |_, s| format!("see https://ada:{s}@x.example/").into()),
    ("text/csv", |n, s| format!("user,{n}\nada,{s}\n").into()),
    ("application/x-www-form-urlencoded", |n, s| format!("a=1&{n}={s}").into()),
    ("application/x-www-form-urlencoded", |n, s| format!("user%5B{}%5D%5B%5D={}", percent(n), percent(s)).into()),
    ("application/x-www-form-urlencoded", |n, s| format!("payload={}", percent(&format!(r#"{{"{n}":"{s}"}}"#))).into()),
    ("application/x-www-form-urlencoded", |n, s| format!("page=1;{n}={s}").into()),
    ("", |n, s| format!("a=1&{}={s}", percent(n)).into()),
    ("", |n, s| format!("user%5B{n}%5D={s}").into()),
    ("", |n, s| format!(r#"{{"{n}":"{s}"}}"#).into()),
    ("", |n, s| format!(r#"{{"{n}":"{s}""#).into()),
    ("", |n, s| format!("<a {n}='{s}'/>").into()),
    ("", |n, s| utf16(&format!("{n}={s}"), false)),
    ("application/xml", |n, s| format!("<a><{0}>{s}</{0}></a>", element(n)).into()),
    ("application/xml", |n, s| format!("<a xmlns:w='u'><w:{0} Type='t'>{s}</w:{0}></a>", element(n)).into()),
    ("application/xml", |n, s| format!("<a><{0}\n  x = \"1\"\n><![CDATA[{s}]]></{0}\n></a>", element(n)).into()),
    ("application/xml", |n, s| format!("<a><{0}><b><c>{s}</c></b></{0}></a>", element(n)).into()),
    ("application/xml", |n, s| format!("<login {}=\"{s}\" user='ada'/>", element(n)).into()),
    ("application/xml", |n, s| format!("<a><entry key='{n}'>{s}</entry><p name=\"{n}\" value='{s}'/></a>").into()),
    ("application/xml", |n, s| format!("<d><key>{n}</key><string>{s}</string></d>").into()),
    ("application/xml", |n, s| format!("<d><key>{n}</key><dict><key>a</key><x>{s}</x></dict></d>").into()),
    ("application/xml", |n, s| format!("<a>&lt;{0}&gt;{s}&lt;/{0}&gt;</a>", element(n)).into()),
    ("application/xml", |n, s| format!("<a>{}: {s}</a>", entities(n)).into()),
    ("application/xml", |n, s| format!("<a><{}>{s}</a>", element(n)).into()),
    ("application/xml", |n, s| format!("<!DOCTYPE a [<!ENTITY p \"{s}\">]><a><{0}>&p;</{0}></a>", element(n)).into()),
    ("application/xml", |n, s| format!("<a>{{\"{n}\":\"{s}\"}}</a>").into()),
    ("application/soap+xml", |n, s| format!("<a><!-- <{0}>{s}</{0}> --></a>", element(n)).into()),
    ("text/html", |n, s| format!("<form><input type=text name=\"{n}\" value='{s}'></form>").into()),
    ("text/html", |n, s| format!("<input value={s} name={n}>").into()),
    ("text/html", |n, s| format!("<meta name=\"{n}\" content=\"{s}\"><br>").into()),
    ("text/html", |_, s| format!("<input type=password value=\"{s}\">").into()),
    ("text/html", |n, s| format!("<textarea name='{n}'>{s}</textarea>").into()),
    ("text/html", |n, s| format!("<div data-props='{{\"{n}\":\"{s}\"}}'>x</div>").into()),
    ("text/html", |n, s| format!("<a href=\"/x?a=1&amp;{n}={s}\">x</a>").into()),
    ("text/html", |n, s| format!("<script>var x = {{{n}: '{s}'}}</script>").into()),
    ("text/html", |n, s| format!("<dt>{n}</dt><dd>{s}</dd>").into()),
    ("text/html", |n, s| format!("<p>{n}: <b>{s}</b></p>").into()),
    ("text/html", |n, s| format!("<table><tr><th>a</th><th>{n}</th></tr><tr><td>1</td><td>{s}</td></tr></table>").into()),
    ("text/html", |n, s| format!("<p {n}={s}").into()),
    ("application/graphql", |n, s| format!("mutation {{ a({}: \"{s}\") {{ b }} }}", n.replace(['-', '.'], "_")).into()),
    ("application/graphql", |n, s| format!("query(${}: String = \"{s}\") {{ b }}", n.replace(['-', '.'], "_")).into()),
    ("application/graphql", |n, s| format!("mutation {{ a({}: \"{s} ) {{ b }} }}", n.replace(['-', '.'], "_")).into()),
    ("text/event-stream", |n, s| format!("data: {{\"{n}\":\ndata: \"{s}\"}}\n\n").into()),
    ("text/event-stream", |n, s| format!("event: x\ndata: {n}={s}\n\n").into()),
    ("text/event-stream", |n, s| format!("data: {{\"{n}\":\"{s}\",}}\n\n").into()),
    ("multipart/form-data; boundary=x", |n, s| part(&format!("Content-Disposition: form-data; name=\"{n}\""), s)),
    ("multipart/form-data; boundary=x", |n, s| part("Content-Type: application/json", &format!(r#"{{"{n}":"{s}"}}"#))),
    ("multipart/form-data; boundary=x", |n, s| part("Content-Type: application/json", &format!(r#"{{"{n}":"{s}""#))),
    ("multipart/form-data; boundary=x", |n, s| part("Content-Type: application/yaml", &format!("{n}: |\n  {s}\n"))),
    ("multipart/form-data; boundary=x", |n, s| part("Content-Type: application/xml", &format!("<a {}='{s}'/>", element(n)))),
    ("multipart/form-data; boundary=x", |_, s| part("Content-Type: application/octet-stream", s)),
    ("multipart/form-data; boundary=x", |_, s| part("Content-Type: application/x-protobuf", &format!("\n\u{c}{s}"))),
    ("multipart/mixed; boundary=x", |n, s| part("Content-Type: application/x-ndjson", &format!("{{}}\n{{\"{}\":\"{s}\"}}", escaped(n)))),
    ("multipart/mixed; boundary=x", |n, s| format!("--x\r\nContent-Disposition: form-data; name={n}\r\n\r\n{s}").into()),
    ("application/octet-stream", |_, s| s.into()),
    ("application/x-protobuf", |_, s| format!("\n\u{c}{s}").into()),
    ("application/grpc", |_, s| [&[0, 0, 0, 0, 14][..], s.as_bytes()].concat()),
    ("application/grpc+json", |n, s| framed(&format!(r#"{{"{n}":"{s}"}}"#))),
    ("image/png", |_, s| s.into()),
    ("application/pdf", |_, s| s.into()),
    ("application/javascript", |n, s| format!("var {n} = '{s}'").into()),
    ("application/sql", |n, s| format!("INSERT INTO u({n}) VALUES ('{s}')").into()),
    ("application/toml", |n, s| format!("[{n}]\na = '{s}'").into()),
    ("text/plain", |_, s| format!("\0\u{1}{s}").into()),
];

fn base64(text: &str) -> String {
    use ::base64::Engine;
    ::base64::engine::general_purpose::STANDARD.encode(text)
}

fn utf16(text: &str, big: bool) -> Vec<u8> {
    text.encode_utf16()
        .flat_map(|unit| {
            if big {
                unit.to_be_bytes()
            } else {
                unit.to_le_bytes()
            }
        })
        .collect()
}

fn framed(message: &str) -> Vec<u8> {
    let length = (message.len() as u32).to_be_bytes();
    [&[0][..], &length, message.as_bytes()].concat()
}

fn part(head: &str, body: &str) -> Vec<u8> {
    format!("--x\r\n{head}\r\n\r\n{body}\r\n--x--\r\n").into()
}

/// What a secret looks like in every writing that can be undone.
fn writings(secret: &str) -> Vec<Vec<u8>> {
    let hex = crate::hex::encode(secret.as_bytes());
    // Base64 of the secret at each of the three places it may have in a longer text, without its unsure ends.
    let shifted = (0..3).map(|shift| {
        let encoded = base64(&format!("{}{secret}", "x".repeat(shift)));
        encoded.as_bytes()[4..encoded.len() - 4].to_vec()
    });
    [
        secret.into(),
        percent(secret).into(),
        entities(secret).into(),
        hex.into(),
        utf16(secret, false),
        utf16(secret, true),
    ]
    .into_iter()
    .chain(shifted)
    .collect()
}

fn holds(record: &str, secret: &str) -> bool {
    let record = record.as_bytes();
    let wide: String = record
        .utf8_chunks()
        .flat_map(|chunk| chunk.valid().chars())
        .flat_map(|character| {
            // Bytes of a wide charset that were taken for other text.
            let mut units = [0; 2];
            let units = character.encode_utf16(&mut units);
            units
                .iter()
                .flat_map(|unit| unit.to_be_bytes())
                .map(char::from)
                .collect::<Vec<_>>()
        })
        .collect();
    writings(secret)
        .iter()
        .any(|writing| memchr::memmem::find(record, writing).is_some())
        || wide.contains(secret)
}

/// The record of two bodies of this type, as it is stored, with the patterns of its groups.
fn stored(redactor: &Redactor, media: &str, legacy: &[u8], candidate: &[u8]) -> String {
    let fields: &[(&str, &str)] = if media.is_empty() {
        &[]
    } else {
        &[("content-type", media)]
    };
    let exchange = exchange(
        "/users/1",
        fields,
        legacy,
        answer(fields, legacy),
        answer(fields, candidate),
    );
    let record = record(redactor, &exchange);
    serde_json::to_string(&record).expect("a record")
}

fn with_own_name() -> Redactor {
    let config = RedactConfig {
        mask_keys: vec!["iban".to_owned()],
        ..RedactConfig::default()
    };
    redactor(&config, &[])
}

#[test]
fn no_format_lets_a_secret_out() {
    let redactor = with_own_name();
    let mut leaks = Vec::new();
    for (index, (media, write)) in FORMATS.iter().enumerate() {
        for name in NAMES {
            let (one, two) = ("ZqKlmnbvcxwrt", "ZqPlmnbvcxwrz");
            let (legacy, candidate) = (write(name, one), write(name, two));
            for (legacy, candidate) in [(&legacy, &candidate), (&legacy, &Vec::new())] {
                let record = stored(&redactor, media, legacy, candidate);
                if holds(&record, one) || holds(&record, two) {
                    let body = String::from_utf8_lossy(legacy);
                    leaks.push(format!("{index} {media} {name}: {body}"));
                }
            }
        }
    }
    assert!(
        leaks.is_empty(),
        "{} leaks:\n{}",
        leaks.len(),
        leaks.join("\n")
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// A body that is cut or broken anywhere still lets nothing out, in whatever type it is sent.
    #[test]
    fn no_damage_lets_a_secret_out(
        (media, write) in select(FORMATS),
        other_media in prop::option::of(select(FORMATS).prop_map(|(media, _)| media)),
        name in select(NAMES),
        (one, two) in (secret(), secret()),
        cut in prop::option::of(0.0..1.0_f64),
        strange in prop::option::of((0.0..1.0_f64, any::<u8>())),
    ) {
        prop_assume!(one != two);
        // Only what says what it is can be held to it.
        let other_media = other_media.filter(|other| !other.starts_with("text/plain") && !other.is_empty() && !other.starts_with("text/csv"));
        let structured = !media.starts_with("text/plain") && !media.is_empty() && !media.starts_with("text/csv");
        let damage = |mut body: Vec<u8>| {
            if structured && other_media.is_none() {
                if let Some(cut) = cut {
                    body.truncate((body.len() as f64 * cut) as usize);
                }
                if let Some((at, byte)) = strange {
                    let at = (body.len() as f64 * at) as usize;
                    // Within the secret or its name it would be another one.
                    let keeps = |needle: &[u8]| memchr::memmem::find(&body, needle).is_none_or(|from| !(from..from + needle.len()).contains(&at));
                    if at < body.len() && keeps(one.as_bytes()) && keeps(two.as_bytes()) && matches!(body[at], b'"' | b'<' | b'>' | b'{' | b'}' | b'[' | b']' | b',') && !byte.is_ascii_alphanumeric() {
                        body[at] = byte;
                    }
                }
            }
            body
        };
        let (legacy, candidate) = (damage(write(name, &one)), write(name, &two));
        let media = other_media.filter(|other| other.starts_with("image") || other.starts_with("application/x-protobuf")).unwrap_or(media);
        let record = stored(&with_own_name(), media, &legacy, &candidate);
        prop_assert!(!holds(&record, &one), "{} {}: {}", media, String::from_utf8_lossy(&legacy), record);
        prop_assert!(!holds(&record, &two), "{} {}: {}", media, String::from_utf8_lossy(&candidate), record);
        prop_assert!(!record.contains(&String::from_utf8_lossy(KEY).into_owned()));
    }

    /// Whatever a service sends, redaction ends, and what it makes is no longer than a few times that.
    #[test]
    fn hostile_bodies_are_bounded(
        (media, _) in select(FORMATS),
        body in prop::collection::vec(select(&b"<>{}[]\"':=&;,%\\/-!?#$ \n\tab1e|*.eyJ"[..]), 0..400),
    ) {
        let record = stored(&plain(), media, &body, b"x");
        prop_assert!(record.len() < 4_000 + 60 * body.len());
    }
}
