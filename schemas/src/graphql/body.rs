//! Reads what a JSON body asks for: one request, or a batch of them.
//!
//! The values of variables are skipped without a copy. A member that is there twice makes the body unreadable, because
//! services take the first or the last one. So does a name that some services take for one of a document and others do not:
//! Go's `encoding/json` and .NET, for example, read `Query` and `QUERY` as `query`, and Go also `extenſions`.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::names::{NAMES, is_read_by_some};
use super::{Asked, MAX_BATCH, Operation, Part};

/// `None` if the body is not a GraphQL request, or cannot be read in one way only.
pub(super) fn operation(body: &[u8]) -> Option<Operation> {
    let batch = body.trim_ascii_start().first() == Some(&b'[');
    if batch {
        let Batch(parts) = serde_json::from_slice(body).ok()?;
        return Some(Operation::of_batch(parts));
    }
    let asked: Asked<'_> = serde_json::from_slice(body).ok()?;
    Some(asked.operation())
}

/// The hash in the `extensions` of a request; an error (`None`) if they cannot be read.
#[expect(clippy::option_option, reason = "unreadable, absent, present")]
pub(super) fn hash_in_extensions(text: &str) -> Option<Option<String>> {
    let extensions: Option<Extensions<'_>> = serde_json::from_str(text).ok()?;
    let hash = extensions.and_then(|Extensions(hash)| hash);
    Some(hash.map(Cow::into_owned))
}

/// What the requests of a batch have, all together.
struct Batch(Vec<Part>);

/// The hash of a stored document, if there is one.
struct Extensions<'t>(Option<Cow<'t, str>>);

impl<'de> Deserialize<'de> for Extensions<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let member = Member::<Option<PersistedQuery<'de>>>("persistedQuery", PhantomData);
        let stored = deserializer.deserialize_map(member)?.flatten();
        Ok(Self(stored.map(|PersistedQuery(hash)| hash)))
    }
}

struct PersistedQuery<'t>(Cow<'t, str>);

impl<'de> Deserialize<'de> for PersistedQuery<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let member = Member::<Text<'de>>("sha256Hash", PhantomData);
        let hash = deserializer.deserialize_map(member)?;
        let Text(hash) = hash.ok_or_else(|| D::Error::missing_field("sha256Hash"))?;
        Ok(Self(hash))
    }
}

/// The one member of an object that is read; an error if it is there twice, also in another spelling.
struct Member<T>(&'static str, PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Member<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object that may have `{}`", self.0)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Option<T>, A::Error> {
        let mut found = None;
        while let Some(Text(key)) = map.next_key::<Text<'de>>()? {
            if is_read_by_some(&key, &[self.0]) {
                return Err(A::Error::custom("a member that not all read"));
            }
            if key != self.0 {
                map.next_value::<IgnoredAny>()?;
            } else if found.replace(map.next_value()?).is_some() {
                return Err(A::Error::custom("a member twice"));
            }
        }
        Ok(found)
    }
}

/// A text of the JSON, borrowed where it has no escapes.
#[derive(Deserialize)]
struct Text<'t>(#[serde(borrow)] Cow<'t, str>);

impl<'de> Deserialize<'de> for Batch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(BatchVisitor)
    }
}

struct BatchVisitor;

impl<'de> Visitor<'de> for BatchVisitor {
    type Value = Batch;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a batch of GraphQL requests")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Batch, A::Error> {
        let mut parts = Vec::new();
        while let Some(asked) = seq.next_element::<Asked<'de>>()? {
            parts.extend_from_slice(asked.operation().parts());
            if parts.len() > MAX_BATCH {
                return Err(A::Error::custom("too many requests in a batch"));
            }
        }
        Ok(Batch(parts))
    }
}

impl<'de> Deserialize<'de> for Asked<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(AskedVisitor)
    }
}

struct AskedVisitor;

impl<'de> Visitor<'de> for AskedVisitor {
    type Value = Asked<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a GraphQL request")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Asked<'de>, A::Error> {
        let mut asked = Asked::default();
        let mut seen = [false; 5];
        while let Some(Text(key)) = map.next_key::<Text<'de>>()? {
            let place = match &*key {
                "query" => 0,
                "operationName" => 1,
                "variables" => 2,
                "extensions" => 3,
                "documentId" => 4,
                name if is_read_by_some(name, &NAMES) => {
                    return Err(A::Error::custom("a member that not all read"));
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    asked.says_more = true;
                    continue;
                }
            };
            if std::mem::replace(&mut seen[place], true) {
                return Err(A::Error::custom("a member twice"));
            }
            let mut text = || {
                Ok(map
                    .next_value::<Option<Text<'de>>>()?
                    .map(|Text(text)| text))
            };
            let hash = match place {
                0 => {
                    asked.query = text()?;
                    None
                }
                1 => {
                    asked.operation_name = text()?;
                    None
                }
                2 => {
                    map.next_value::<IgnoredAny>()?;
                    None
                }
                3 => {
                    let extensions = map.next_value::<Option<Extensions<'de>>>()?;
                    extensions.and_then(|Extensions(hash)| hash)
                }
                _ => text()?,
            };
            if let Some(hash) = hash
                && asked.hash.replace(hash).is_some()
            {
                return Err(A::Error::custom("two stored documents"));
            }
        }
        Ok(asked)
    }
}
