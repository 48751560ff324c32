//! Secrets planted in every format, under every spelling of a name, at every place, whole and damaged: none is in the
//! record, in any form that can be undone.

use parity_schemas::secret::is_secret_name;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

mod formats;
mod shapes;

use formats::FORMATS;
use shapes::{NAMELESS, SHAPES};

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
    "pw",
    "user_pw",
    "pwd",
    "passwd",
    "pass",
    "passphrase",
    "Passwort",
    "kennwort",
    "contraseña",
    "senha",
    "mot_de_passe",
    "mdp",
    "wachtwoord",
    "lösenord",
    "hasło",
    "parola",
    "salasana",
    "пароль",
    "密码",
    "パスワード",
    "비밀번호",
    // With letters of another script that look the same.
    "pаsswоrd",
    "ρassword",
    "PASSWORD",
];

/// A secret that nothing else looks like; letters only, so that it is found in every writing.
fn secret() -> impl Strategy<Value = String> {
    "[b-df-hj-np-tv-z]{12}".prop_map(|letters| format!("Zq{letters}"))
}

/// Every way to write a name and a value, with the media type that says so.
fn written() -> impl Iterator<Item = &'static (&'static str, Write)> {
    FORMATS.iter().chain(SHAPES)
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
    for (index, (media, write)) in written().enumerate() {
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

#[test]
fn nothing_without_a_name_lets_a_secret_out() {
    let redactor = with_own_name();
    let mut leaks = Vec::new();
    for (index, (media, write)) in NAMELESS.iter().enumerate() {
        let (one, two) = ("ZqKlmnbvcxwrt", "ZqPlmnbvcxwrz");
        let record = stored(&redactor, media, &write(one), &write(two));
        if holds(&record, one) || holds(&record, two) {
            let body = write(one);
            leaks.push(format!(
                "{index} {media}: {}",
                String::from_utf8_lossy(&body)
            ));
        }
    }
    assert!(
        leaks.is_empty(),
        "{} leaks:\n{}",
        leaks.len(),
        leaks.join("\n")
    );
}

#[test]
fn a_tag_that_lost_its_begin_lets_nothing_out() {
    for (media, body) in [
        (
            "application/xml",
            "<a><b>1</b>p name=\"password\" value='HUNTER2'/></a>",
        ),
        ("text/html", "input value=HUNTER2 name=password>"),
        (
            "text/html",
            "<p>.input type=hidden name='token' value=\"HUNTER2\"></p>",
        ),
    ] {
        let record = stored(&with_own_name(), media, body.as_bytes(), b"<a/>");
        assert!(!holds(&record, "HUNTER2"), "{record}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// A body that is cut anywhere still lets nothing out, in whatever type it is sent; nor does broken JSON.
    #[test]
    fn no_damage_lets_a_secret_out(
        (media, write) in select(written().copied().collect::<Vec<_>>()),
        other_media in prop::option::of(select(FORMATS).prop_map(|(media, _)| media)),
        name in select(NAMES),
        (one, two) in (secret(), secret()),
        cut in prop::option::of(0.0..1.0_f64),
        strange in prop::option::of((0.0..1.0_f64, any::<u8>())),
    ) {
        // A value that is itself the name of a secret (`…pw`) names what stands beside it, and is none to hide.
        prop_assume!(one != two && !is_secret_name(&one) && !is_secret_name(&two));
        // Only what says what it is can be held to it.
        let other_media = other_media.filter(|other| !other.starts_with("text/plain") && !other.is_empty() && !other.starts_with("text/csv"));
        let structured = !media.starts_with("text/plain") && !media.is_empty() && !media.starts_with("text/csv");
        let damage = |mut body: Vec<u8>| {
            if structured && other_media.is_none() {
                // An anchor is named by what refers to it: behind a cut nobody does.
                let cut = cut.filter(|_| memchr::memmem::find(&body, b"&p ").is_none());
                if let Some(cut) = cut {
                    body.truncate((body.len() as f64 * cut) as usize);
                }
                // Elsewhere what a sign less leaves may be a text in which nothing is named.
                if let (None, Some((at, byte)), true) = (cut, strange, media.contains("json")) {
                    let at = (body.len() as f64 * at) as usize;
                    // Within the secret or its name it would be another one.
                    let keeps = |needle: &[u8]| memchr::memmem::find(&body, needle).is_none_or(|from| !(from..from + needle.len()).contains(&at));
                    if at < body.len() && keeps(one.as_bytes()) && keeps(two.as_bytes()) && matches!(body[at], b'"' | b'<' | b'>' | b'{' | b'}' | b'[' | b']' | b',') && !byte.is_ascii_alphanumeric() {
                        let sign = std::mem::replace(&mut body[at], byte);
                        // Within a string it would be another text, in which nothing may be named.
                        if serde_json::from_slice::<serde_json::Value>(&body).is_ok() {
                            body[at] = sign;
                        }
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
