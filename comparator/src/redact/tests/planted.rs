//! Plants secrets in every format, under every spelling of a name, at every position, in whole and damaged bodies: none
//! is in the record, in any form that can be decoded.

use proptest::prelude::*;
use proptest::sample::select;

use super::*;

mod damage;
mod damaged;
mod formats;
mod renamed;
mod shapes;

use damage::{damage, is_in_plain_text, is_plain, is_unnamed};
use damaged::DAMAGED;
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

/// A secret that resembles nothing else. It has letters only, so that it is found in every encoding. Some are
/// themselves names of secrets.
fn secret() -> impl Strategy<Value = String> {
    ("[b-df-hj-np-tv-z]{10}", select(&["nt", "rs", "pw"][..]))
        .prop_map(|(letters, end)| format!("Zq{letters}{end}"))
}

/// Every format for a name and a value, with its media type.
fn written() -> impl Iterator<Item = &'static (&'static str, Write)> {
    FORMATS.iter().chain(SHAPES)
}

/// Writes a body in some format that holds a name and its secret.
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

/// A secret in every encoding that can be decoded.
fn writings(secret: &str) -> Vec<Vec<u8>> {
    let hex = crate::hex::encode(secret.as_bytes());
    // Base64 of the secret at each of its three possible offsets in a longer text, without the ends, which depend on
    // the text around it.
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
            // Bytes of a wide charset that were decoded as another charset.
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

/// The record of two bodies of this type, as it is stored, with the patterns of its groups; and what a recording has of them.
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
    let mismatch = record(redactor, &exchange);
    let lines =
        [&exchange.legacy, &exchange.candidate].map(|answer| line(redactor, &exchange, answer));
    serde_json::to_string(&(mismatch, lines)).expect("a record")
}

fn with_own_name() -> Redactor {
    let config = RedactConfig {
        mask_keys: vec!["iban".to_owned()],
        ..RedactConfig::default()
    };
    redactor(&config, &[])
}

fn assert_none(leaks: &[String]) {
    assert!(
        leaks.is_empty(),
        "{} leaks:\n{}",
        leaks.len(),
        leaks.join("\n")
    );
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
    assert_none(&leaks);
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
    assert_none(&leaks);
}

#[test]
fn nothing_that_lost_a_character_lets_a_secret_out() {
    let redactor = with_own_name();
    for (media, body) in DAMAGED {
        let record = stored(&redactor, media, body.as_bytes(), b"1");
        assert!(!holds(&record, "HUNTER2"), "{media} {body}: {record}");
    }
}

/// What is written into every position of a request that is counted as an attribute: with each, nothing is counted that the
/// record hides. Most are hidden as a whole, because their signs do not belong there.
#[test]
fn no_attribute_lets_a_secret_out() {
    let redactor = with_own_name();
    let mut leaks = Vec::new();
    let secret = "ZqKlmnbvcxwrt";
    let named = NAMES
        .iter()
        .flat_map(|name| written().map(move |(_, write)| write(name, secret)));
    let nameless = NAMELESS.iter().map(|(_, write)| write(secret));
    // A bare word has no sign that it is one.
    let marked = |body: &Vec<u8>| body != secret.as_bytes();
    for body in named.chain(nameless).filter(marked) {
        for value in super::attributes::counted(&redactor, &body) {
            if holds(&value, secret) {
                leaks.push(format!("{}: {value}", String::from_utf8_lossy(&body)));
            }
        }
    }
    assert_none(&leaks);
}

/// Number of cases of each property; an environment variable can raise it.
fn cases() -> u32 {
    /// They take a few seconds.
    const CASES: u32 = 1_000;
    ProptestConfig::default().cases.max(CASES)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    /// A structured body that is cut anywhere, or in which one character is replaced or lost, reveals nothing, unless
    /// it is still valid and no word in it names a secret. A binary body never does.
    #[test]
    fn no_damage_lets_a_secret_out(
        (media, write) in select(written().copied().collect::<Vec<_>>()),
        bytes in prop::option::weighted(0.1, select(&["image/png", "application/x-protobuf"][..])),
        name in select(NAMES),
        (one, two) in (secret(), secret()),
        damage in prop::option::weighted(0.9, damage()),
    ) {
        prop_assume!(one != two);
        let whole = write(name, &one);
        let damage = damage.filter(|_| !is_plain(media));
        let (legacy, hit) = damage.map_or_else(|| (whole.clone(), None), |damage| damage.of(&whole));
        let candidate = write(name, &two);
        let media = bytes.unwrap_or(media);
        let shown = bytes.is_none()
            && damage.is_some()
            && (is_unnamed(media, &legacy, &one)
                || hit.is_some_and(|hit| is_in_plain_text(media, &whole, hit, &one)));
        let record = stored(&with_own_name(), media, &legacy, &candidate);
        prop_assert!(shown || !holds(&record, &one), "{} {}: {}", media, String::from_utf8_lossy(&legacy), record);
        prop_assert!(!holds(&record, &two), "{} {}: {}", media, String::from_utf8_lossy(&candidate), record);
        prop_assert!(!record.contains(&String::from_utf8_lossy(KEY).into_owned()));
    }

    /// Whatever a service sends, redaction ends, and its output is at most a few times as long.
    #[test]
    fn hostile_bodies_are_bounded(
        (media, _) in select(FORMATS),
        body in prop::collection::vec(select(&b"<>{}[]\"':=&;,%\\/-!?#$ \n\tab1e|*.eyJ"[..]), 0..400),
    ) {
        let record = stored(&plain(), media, &body, b"x");
        prop_assert!(record.len() < 4_000 + 60 * body.len());
    }
}
