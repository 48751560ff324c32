//! Reads the parameters of a request. One that is unknown or wrong is answered as the commands answer a wrong flag: with what
//! was given and what to write, and as JSON like every other error of the API.

use axum::extract::{FromRequestParts, Query};
use axum::http::Uri;
use axum::http::request::Parts;
use parity_schemas::spelling;

use super::answer::ErrorAnswer;

/// Parameters of one request: enough for a gate with many routes, and few enough that any web page may send it to a local port
/// without harm. Who demands more asks the command.
const MOST: usize = 64;

/// What a request can be asked by its parameters.
pub(super) trait Parameters: Default {
    /// The names of all.
    fn known() -> Vec<String>;

    /// Whether it may be given more than once.
    fn is_repeated(_name: &str) -> bool {
        false
    }

    /// Why there is no parameter of a name that somebody may expect.
    fn why_not(_name: &str) -> Option<String> {
        None
    }

    /// Reads one of the known. What is wrong with the value is an error.
    fn read(&mut self, name: &str, value: &str) -> Result<(), String>;
}

/// The parameters of a request.
pub(super) struct Asked<T>(pub(super) T);

impl<T: Parameters, S: Send + Sync> FromRequestParts<S> for Asked<T> {
    type Rejection = ErrorAnswer;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Self::Rejection> {
        asked(&parts.uri).map(Self).map_err(ErrorAnswer::bad)
    }
}

/// Reads the parameters of an address.
pub(super) fn asked<T: Parameters>(uri: &Uri) -> Result<T, String> {
    asked_of(&of_address(uri)?)
}

/// The parameters of an address, as they stand there.
pub(super) fn of_address(uri: &Uri) -> Result<Vec<(String, String)>, String> {
    let Query(given) = Query::try_from_uri(uri).map_err(|refused| refused.body_text())?;
    Ok(given)
}

/// Reads parameters, wherever they stood.
pub(super) fn asked_of<T: Parameters>(given: &[(String, String)]) -> Result<T, String> {
    if given.len() > MOST {
        return Err(format!(
            "there are {} parameters, and a request may have {MOST}; ask `parity gate` instead",
            given.len()
        ));
    }
    let known = T::known();
    let mut asked = T::default();
    for (at, (name, value)) in given.iter().enumerate() {
        if !known.contains(name) {
            return Err(T::why_not(name).unwrap_or_else(|| {
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                let hint = spelling::hint(name, &known);
                format!("there is no parameter `{name}`; {hint}")
            }));
        }
        let is_again = given.iter().take(at).any(|(before, _)| before == name);
        if is_again && !T::is_repeated(name) {
            return Err(format!("{name} is given more than once; give it once"));
        }
        asked
            .read(name, value)
            .map_err(|wrong| format!("{name}: {wrong}{}", of_plus::<T>(name, value)))?;
    }
    Ok(asked)
}

/// What is said of a wrong value that would be right with the `+` that somebody wrote: in an address it stands for a space.
fn of_plus<T: Parameters>(name: &str, value: &str) -> &'static str {
    let meant = value.replace(' ', "+");
    if meant != value && T::default().read(name, &meant).is_ok() {
        "; in an address a `+` is a space: write `%2B`"
    } else {
        ""
    }
}
