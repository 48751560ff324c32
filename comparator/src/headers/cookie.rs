//! `Set-Cookie`: one finding for each cookie that differs.
//!
//! The lines are never joined, because their dates have commas. Cookies are matched by name. Those of one name are a
//! multiset. But of those with the same domain and path a client keeps only the last (RFC 6265 §5.3), so that one must
//! be the same. Attributes have no order and their names no case. A rule may pair two names; all else of such cookies counts.
//!
//! `Expires` is a point in time, however it is written. Services compute it as now plus a constant, and the two answer
//! at different moments; so if both have a `Date`, the lifetimes are compared, without the time that an answer spent in a
//! cache (`Age`). If both have `Max-Age`, that decides and `Expires` is ignored (RFC 6265 §5.3).

use std::collections::{BTreeMap, BTreeSet};

use http::header::{DATE, SET_COOKIE};
use parity_schemas::fields::{FieldLines, FieldValue};
use parity_schemas::verdict::Kind;

use super::{FieldComparison, clock, shown_path};
use crate::collect::Flow;
use crate::instant::Instant;
use crate::rules::{Action, Rename};

/// Allowed difference of two equal lifetimes, in seconds. The clock is read twice for each answer, for `Expires` and
/// for `Date`, and many servers update `Date` only once a second.
const LIFETIME_SLACK: i64 = 2;

/// The name of a `Max-Age` that is no number. Clients ignore it, so it must not stand for one that they honour; but it is
/// compared.
const INVALID_MAX_AGE: &str = "invalid max-age";

/// One parsed line.
struct Cookie {
    /// Its position among all lines.
    place: usize,
    line: String,
    /// The line as received, if it is not text. Such a cookie equals only the same bytes.
    raw: Option<Vec<u8>>,
    value: String,
    /// Sorted; names in lower case, values normalized. `Expires` is among them only if it cannot be read, so
    /// that clients ignore it.
    attributes: Vec<(String, String)>,
    expires: Option<Expiry>,
}

/// Until when a cookie is kept.
struct Expiry {
    time: Instant,
    /// Seconds from the sending of the answer, if it has a `Date`.
    lifetime: Option<i64>,
}

impl Cookie {
    fn same(&self, other: &Self) -> bool {
        self.raw == other.raw
            && self.value == other.value
            && self.attributes == other.attributes
            && match (&self.expires, &other.expires) {
                (Some(one), Some(two)) => self.has_max_age() || one.same(two),
                (None, None) => true,
                _ => false,
            }
    }

    /// Whether a client keeps only one of the two.
    fn replaces(&self, other: &Self) -> bool {
        let attribute = |cookie: &Self, wanted: &str| {
            let mut attributes = cookie.attributes.iter();
            attributes
                .find(|(name, _)| name == wanted)
                .map(|(_, value)| value.clone())
        };
        ["domain", "path"]
            .iter()
            .all(|wanted| attribute(self, wanted) == attribute(other, wanted))
    }

    fn has_max_age(&self) -> bool {
        self.attributes.iter().any(|(name, _)| name == "max-age")
    }
}

impl Expiry {
    fn parse(text: &str, headers: &FieldLines) -> Option<Self> {
        let time = Instant::parse(text.as_bytes())?;
        let date = headers.get(&DATE);
        let date = date.and_then(|date| Instant::parse(date.as_bytes()));
        let since_date = date.and_then(|date| time.seconds_since(&date));
        Some(Self {
            lifetime: since_date.map(|seconds| seconds - clock::age(headers)),
            time,
        })
    }

    fn same(&self, other: &Self) -> bool {
        self.time == other.time
            || match (self.lifetime, other.lifetime) {
                // A cookie that has expired when it arrives is deleted, however long ago that was.
                (Some(..=0), Some(..=0)) => true,
                (Some(one), Some(two)) => (one - two).abs() <= LIFETIME_SLACK,
                _ => false,
            }
    }
}

/// The names of cookies in these lines, each once.
pub(super) fn names_in<'a>(lines: impl Iterator<Item = FieldValue<'a>>) -> BTreeSet<String> {
    let names = lines.map(|line| {
        let line = line.lossy();
        let pair = line.split(';').next().unwrap_or_default();
        let (name, _) = pair.split_once('=').unwrap_or(("", pair));
        name.trim().to_owned()
    });
    names.collect()
}

/// By which rules and findings name a cookie.
fn path_of(name: &str) -> String {
    format!("set-cookie/{name}")
}

fn by_name(headers: &FieldLines) -> BTreeMap<String, Vec<Cookie>> {
    let mut cookies: BTreeMap<String, Vec<Cookie>> = BTreeMap::new();
    for (place, line) in headers.get_all(&SET_COOKIE).enumerate() {
        let raw = line.as_str().is_none().then(|| line.as_bytes().to_vec());
        let line = line.lossy().into_owned();
        let mut parts = line.split(';');
        let pair = parts.next().unwrap_or_default();
        let (name, value) = pair.split_once('=').unwrap_or(("", pair));
        let mut attributes: Vec<_> = parts.filter_map(attribute).collect();
        // The last of several decides (RFC 6265 §5.3), of those that can be read.
        let mut expires = None;
        attributes.retain(|(name, value)| {
            let valid = (name == "expires").then(|| Expiry::parse(value, headers));
            match valid.flatten() {
                Some(valid) => {
                    expires = Some(valid);
                    false
                }
                None => true,
            }
        });
        let attributes: Vec<_> = attributes
            .into_iter()
            .collect::<BTreeMap<_, _>>()
            .into_iter()
            .collect();
        let (name, value) = (name.trim().to_owned(), value.trim().to_owned());
        cookies.entry(name).or_default().push(Cookie {
            place,
            line,
            raw,
            value,
            attributes,
            expires,
        });
    }
    // Equality with a tolerance is not transitive; in this order the first partner that fits is also the right one.
    for lines in cookies.values_mut() {
        lines.sort_by_key(|cookie| cookie.expires.as_ref().and_then(|expiry| expiry.lifetime));
    }
    cookies
}

/// A line that a client keeps on one side only, although both sides have equal lines.
fn kept_otherwise<'a>(
    ours: &'a [Cookie],
    theirs: &'a [Cookie],
) -> Option<(&'a Cookie, &'a Cookie)> {
    ours.iter()
        .filter(|one| is_last(one, ours))
        .find_map(|one| {
            let mut rivals = theirs.iter().filter(|two| one.replaces(two));
            let kept = rivals.find(|two| is_last(two, theirs))?;
            (!one.same(kept)).then_some((one, kept))
        })
}

/// Whether a client keeps it, of all cookies with its name.
fn is_last(cookie: &Cookie, all: &[Cookie]) -> bool {
    let mut later = all.iter().filter(|other| other.place > cookie.place);
    !later.any(|other| other.replaces(cookie))
}

fn attribute(text: &str) -> Option<(String, String)> {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    let (name, value) = (name.trim().to_ascii_lowercase(), value.trim());
    let value = match name.as_str() {
        "" => return None,
        // RFC 6265 §5.2.3: a leading dot is ignored.
        "domain" => value
            .strip_prefix('.')
            .unwrap_or(value)
            .to_ascii_lowercase(),
        "samesite" | "priority" => value.to_ascii_lowercase(),
        // RFC 6265 §5.2.2: nothing and less delete the cookie alike.
        "max-age" => {
            let digits = value.strip_prefix('-').unwrap_or(value);
            if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
                return Some((INVALID_MAX_AGE.to_owned(), value.to_owned()));
            }
            match value.parse::<i64>() {
                Ok(seconds) => seconds.max(0).to_string(),
                Err(_) => value.to_owned(),
            }
        }
        _ => value.to_owned(),
    };
    Some((name, value))
}

impl FieldComparison<'_, '_> {
    pub(super) fn cookies(&mut self) -> Flow {
        let (mut legacy, mut candidate) = (by_name(self.legacy), by_name(self.candidate));
        let renamed = self.renamed_of(
            Rename::is_of_cookie,
            [&|name| legacy.contains_key(name), &|name| {
                candidate.contains_key(name)
            }],
        );
        for (rule, Rename { from, to, .. }) in renamed {
            self.out
                .excused(rule, self.part, || shown_path(&path_of(from)));
            let [ours, theirs] = [legacy.remove(&**from), candidate.remove(&**to)];
            let [ours, theirs] = [ours, theirs].map(Option::unwrap_or_default);
            self.told_with(&path_of(to), |fields| {
                fields.cookie([from, to], ours, theirs)
            })?;
        }
        for (name, ours) in legacy {
            let theirs = candidate.remove(&name).unwrap_or_default();
            self.cookie([&name; 2], ours, theirs)?;
        }
        for (name, theirs) in candidate {
            self.cookie([&name; 2], Vec::new(), theirs)?;
        }
        Flow::Continue(())
    }

    /// Compares the cookies of one name, which the candidate may call otherwise.
    fn cookie(
        &mut self,
        [name, their_name]: [&str; 2],
        mut ours: Vec<Cookie>,
        mut theirs: Vec<Cookie>,
    ) -> Flow {
        let path = path_of(name);
        let is_respelt = |one: &Cookie, two: &Cookie| {
            let after_name = [(one, name), (two, their_name)]
                .map(|(cookie, name)| cookie.line.strip_prefix(name).unwrap_or(&cookie.line));
            after_name[0] != after_name[1]
        };
        let mut respelt = false;
        let otherwise =
            kept_otherwise(&ours, &theirs).map(|(one, two)| (one.line.clone(), two.line.clone()));
        ours.retain(|one| match theirs.iter().position(|two| one.same(two)) {
            Some(position) => {
                respelt |= is_respelt(one, &theirs.remove(position));
                false
            }
            None => true,
        });
        if respelt {
            self.note(&path);
        }
        let equal = ours.is_empty() && theirs.is_empty();
        if equal && otherwise.is_none() {
            return Flow::Continue(());
        }
        if let Some(rule) = self.rule(&path, |action| matches!(action, Action::Ignore)) {
            self.out.excused(rule, self.part, || shown_path(&path));
            return Flow::Continue(());
        }
        if let Some((one, two)) = otherwise.filter(|_| equal) {
            return self.finding(&path, Kind::Order, Some(&one), Some(&two));
        }
        let common = ours.len().min(theirs.len());
        for (one, two) in ours.iter().zip(&theirs) {
            self.finding(&path, Kind::Value, Some(&one.line), Some(&two.line))?;
        }
        for one in &ours[common..] {
            self.finding(&path, Kind::Missing, Some(&one.line), None)?;
        }
        for two in &theirs[common..] {
            self.finding(&path, Kind::Extra, None, Some(&two.line))?;
        }
        Flow::Continue(())
    }
}
