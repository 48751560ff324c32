//! Settings for people to read, without what is secret in them: `config show` ends up in tickets and logs.
//!
//! A wrong setting is shown too, so nothing here relies on it being well formed.

use parity_schemas::secret::is_secret_name;

/// What stands for it.
const HIDDEN: &str = "…";

/// `name: value` without its value: it may be a credential, whatever its name.
pub(super) fn header(text: &str) -> String {
    match text.split_once(':') {
        Some((name, _)) => format!("{name}: {HIDDEN}"),
        None => HIDDEN.to_owned(),
    }
}

/// A URL without a password: neither before the host nor in the query. A user without a password is shown.
pub(super) fn url(text: &str) -> String {
    let (rest, query) = match text.split_once('?') {
        Some((rest, query)) => (rest, Some(query)),
        None => (text, None),
    };
    let mut shown = match rest.rsplit_once('@') {
        Some((before, host)) => {
            let (scheme, login) = match before.split_once("://") {
                Some((scheme, login)) => (format!("{scheme}://"), login),
                None => (String::new(), before),
            };
            match login.split_once(':') {
                Some((user, _)) => format!("{scheme}{user}:{HIDDEN}@{host}"),
                None => format!("{scheme}{login}@{host}"),
            }
        }
        None => rest.to_owned(),
    };
    if let Some(query) = query {
        let parameters = query
            .split('&')
            .map(|parameter| match parameter.split_once('=') {
                Some((name, _)) if is_secret_name(name) => format!("{name}={HIDDEN}"),
                _ => parameter.to_owned(),
            });
        shown.push('?');
        shown.push_str(&parameters.collect::<Vec<_>>().join("&"));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_secret_is_hidden_and_the_rest_is_not() {
        for (given, shown) in [
            ("http://127.0.0.1:7001", "http://127.0.0.1:7001"),
            ("http://joe:pa@ss:w@host/x", "http://joe:…@host/x"),
            ("joe:secret@host", "joe:…@host"),
            (
                "clickhouse://parity@host:8123/db",
                "clickhouse://parity@host:8123/db",
            ),
            (
                "clickhouse://parity@host/db?secure=true&password=geheim&token=1",
                "clickhouse://parity@host/db?secure=true&password=…&token=…",
            ),
            ("sqlite:parity.db", "sqlite:parity.db"),
        ] {
            assert_eq!(url(given), shown);
        }
        assert_eq!(header("authorization: Bearer abc"), "authorization: …");
        assert_eq!(header("Bearer abc"), "…");
    }
}
