//! Hides the password in an address, for messages that show the address.
//!
//! The address need not be well formed, because most of these messages are about malformed ones.

use std::borrow::Cow;

use super::is_secret_name;

/// The replacement.
const HIDDEN: &str = "…";

/// An address without a password: neither before the host nor in the query. A user without a password is shown.
///
/// A password may hold any sign, `?`, `/` and `@` among them, so all from the first colon behind the scheme to the last
/// `@` is taken for it.
pub fn without_password(text: &str) -> Cow<'_, str> {
    let start = text.find("://").map_or(0, |at| at + "://".len());
    let (scheme, rest) = text.split_at(start);
    let (login, place) = match rest.rsplit_once('@') {
        Some((login, place)) => (Some(login), place),
        None => (None, rest),
    };
    let user = login.and_then(|login| login.split_once(':'));
    let secret = |parameter: &str| {
        parameter
            .split_once('=')
            .is_some_and(|(name, _)| is_secret_name(name))
    };
    let (before, query) = match place.split_once('?') {
        Some((before, query)) => (before, Some(query)),
        None => (place, None),
    };
    let secrets = query.is_some_and(|query| query.split('&').any(secret));
    if user.is_none() && !secrets {
        return Cow::Borrowed(text);
    }
    let mut shown = scheme.to_owned();
    match (user, login) {
        (Some((user, _)), _) => shown.extend([user, ":", HIDDEN, "@"]),
        (None, Some(login)) => shown.extend([login, "@"]),
        (None, None) => {}
    }
    shown.push_str(before);
    for (index, parameter) in query
        .into_iter()
        .flat_map(|query| query.split('&'))
        .enumerate()
    {
        shown.push(if index == 0 { '?' } else { '&' });
        match parameter.split_once('=') {
            Some((name, _)) if is_secret_name(name) => shown.extend([name, "=", HIDDEN]),
            _ => shown.push_str(parameter),
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_hidden_wherever_it_ends_and_the_rest_is_not() {
        for (given, shown) in [
            ("http://127.0.0.1:7001", "http://127.0.0.1:7001"),
            ("http://joe:pa@ss:w@host/x", "http://joe:…@host/x"),
            ("http://joe:pa?sesame@host", "http://joe:…@host"),
            ("http://joe:pa/sesame@host/x?a=1", "http://joe:…@host/x?a=1"),
            ("joe:secret@host:7001", "joe:…@host:7001"),
            (
                "clickhouse://parity@host:8123/db",
                "clickhouse://parity@host:8123/db",
            ),
            (
                "clickhouse://parity@host/db?secure=true&password=geheim&token=1",
                "clickhouse://parity@host/db?secure=true&password=…&token=…",
            ),
            (
                "clickhouse://joe:pa?sesame@host/db?secure=true",
                "clickhouse://joe:…@host/db?secure=true",
            ),
            ("sqlite:parity.db", "sqlite:parity.db"),
        ] {
            assert_eq!(without_password(given), shown);
        }
    }
}
