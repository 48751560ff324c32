//! Reads the parameters of a request. One that is unknown or of another form is answered as the commands answer a wrong
//! flag: with what was given and what to write, and as JSON like every other error of the API.

use axum::extract::{FromRequestParts, Query};
use axum::http::Uri;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use super::question::ErrorAnswer;

/// The parameters of a request.
pub(super) struct Asked<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Asked<T> {
    type Rejection = ErrorAnswer;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Self::Rejection> {
        match Query::try_from_uri(&parts.uri) {
            Ok(Query(asked)) => Ok(Self(asked)),
            Err(refused) => Err(ErrorAnswer::bad(told(&refused.body_text(), &parts.uri))),
        }
    }
}

/// What the library says, in the words of the commands. It says `NAME: REASON` if one parameter is of another form.
fn told(refused: &str, uri: &Uri) -> String {
    let reason = refused
        .strip_prefix("Failed to deserialize query string: ")
        .unwrap_or(refused);
    let given = Query::<Vec<(String, String)>>::try_from_uri(uri);
    let given = given.map(|Query(given)| given).unwrap_or_default();
    let wrong = given.iter().find_map(|(name, value)| {
        let reason = reason.strip_prefix(name.as_str())?.strip_prefix(": ")?;
        Some((name, value, reason))
    });
    let Some((name, value, reason)) = wrong else {
        return reason.to_owned();
    };
    if reason.contains("float") {
        format!(
            "{name}: `{value}` is not a share; write a number between 0 and 1, for example 0.25"
        )
    } else if reason.contains("digit") || reason.contains("integer") {
        format!("{name}: `{value}` is not a whole number")
    } else {
        // That the parameter is unknown is said by its name already.
        reason.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only what cannot be read is looked at")]
    struct Known {
        share: Option<f64>,
        count: Option<u64>,
    }

    fn refused(query: &str) -> String {
        let uri: Uri = format!("/x?{query}").parse().expect("a URI");
        let refused = Query::<Known>::try_from_uri(&uri).err().expect("refused");
        told(&refused.body_text(), &uri)
    }

    #[test]
    fn a_wrong_parameter_is_told_with_what_was_given() {
        assert_eq!(
            refused("count=1&share=1%25"),
            "share: `1%` is not a share; write a number between 0 and 1, for example 0.25"
        );
        assert_eq!(refused("count=many"), "count: `many` is not a whole number");
        assert_eq!(
            refused("nonsense=1"),
            "unknown field `nonsense`, expected `share` or `count`"
        );
    }
}
