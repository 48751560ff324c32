//! One `[[route]]`: how its text reads, and which requests are of it as their path is written.
//!
//! Other spellings of a path are no matter of this module: a rule is exact, and who must be careful says so beside
//! it. What does not read as `METHOD /path` is refused with its text, because such a route would match nothing.

use http::Method;

use super::{RoutePolicy, foreign};
use crate::graphql::operation_label;

/// A `[[route]]` of the configuration, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct RouteRule {
    pub(super) method: Option<Method>,
    pub(super) segments: Vec<Segment>,
    pub(super) label: Box<str>,
    pub(super) policy: RoutePolicy,
    /// Only these requests of the GraphQL endpoint.
    pub(super) operation: Option<Box<str>>,
    /// Of a mutation: only where it asks for no other fields of the root.
    pub(super) fields: Option<Box<[Box<str>]>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Segment {
    Literal(Box<str>),
    Any,
    Rest,
}

/// The text of a route does not read as `METHOD /path`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// No space, or no slash behind it.
    #[error(
        "`{0}` is not METHOD /path; write for example `GET /users/{{id}}`, or `* /path` for every method"
    )]
    Form(String),
    /// The method has a character that no method has.
    #[error("`{0}` is not an HTTP method")]
    Method(String),
    /// A brace that is not around a whole segment.
    #[error(
        "segment `{0}`: a placeholder is a whole segment, `{{name}}`, or `{{*name}}` as the last one"
    )]
    Placeholder(String),
    /// A placeholder as other routers write it.
    #[error("segment `{0}`: a placeholder is written in braces; write `{1}`")]
    Foreign(String, String),
    /// Something behind the path that is no operation.
    #[error(
        "`{0}` behind the path is no GraphQL operation as a report names it, such as `query Orders`; a blank in a path is written %20"
    )]
    Operation(String),
    /// A query or fragment in the path.
    #[error("`{0}` has a query or fragment; a route matches the path alone")]
    Query(String),
}

impl RouteRule {
    /// The same for all requests of it, whatever share was configured.
    #[must_use]
    pub fn unsampled(mut self) -> Self {
        self.policy.sample = None;
        self
    }

    /// Reads `METHOD /path/{placeholder}/{*rest}`; `*` stands for every method. Behind that may stand an operation, as
    /// reports name it.
    pub fn parse(text: &str, policy: RoutePolicy) -> Result<Self, RouteError> {
        let form = || RouteError::Form(text.to_owned());
        let (method, path) = text
            .trim()
            .split_once(char::is_whitespace)
            .ok_or_else(form)?;
        let path = path.trim();
        let (path, operation) = match path.split_once(char::is_whitespace) {
            None => (path, None),
            Some((path, rest)) => {
                let error = || RouteError::Operation(rest.trim().to_owned());
                (path, Some(operation_label(rest).ok_or_else(error)?))
            }
        };
        let rest = path.strip_prefix('/').ok_or_else(form)?;
        if path.contains(['?', '#']) {
            return Err(RouteError::Query(path.to_owned()));
        }
        let method = match method {
            "*" => None,
            name => Some(
                Method::from_bytes(name.to_ascii_uppercase().as_bytes())
                    .map_err(|_| RouteError::Method(name.to_owned()))?,
            ),
        };
        let count = rest.split('/').count();
        if let Some((segment, ours)) = foreign::translated(rest) {
            return Err(RouteError::Foreign(segment, ours));
        }
        let segments = rest
            .split('/')
            .enumerate()
            .map(|(index, segment)| Segment::parse(segment, index + 1 == count))
            .collect::<Result<_, _>>()?;
        let mut label = format!("{} {path}", method.as_ref().map_or("*", Method::as_str));
        if let Some(operation) = &operation {
            label.push(' ');
            label.push_str(operation);
        }
        Ok(Self {
            method,
            segments,
            label: label.into(),
            policy,
            operation: operation.map(Into::into),
            fields: None,
        })
    }

    /// Only for a mutation that asks for none but these fields of the root: its name is the client's, so it alone does not
    /// tell what it does.
    #[must_use]
    pub fn asking_for(self, fields: Vec<String>) -> Self {
        Self {
            fields: Some(fields.into_iter().map(Into::into).collect()),
            ..self
        }
    }

    /// `GET /users/{id}`; with `*` for every method.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// What is done with its requests.
    pub fn policy(&self) -> &RoutePolicy {
        &self.policy
    }

    /// The label of the endpoint and the operation, if it is for one.
    pub fn operation(&self) -> Option<(&str, &str)> {
        self.operation
            .is_some()
            .then(|| split_operation(&self.label))?
    }

    /// The fields of the root that its mutation may ask for, if they are said.
    pub fn fields(&self) -> Option<&[Box<str>]> {
        self.fields.as_deref()
    }

    /// Whether a request is one of it, but for its operation; `path` is without the query.
    pub fn matches(&self, method: &Method, path: &str) -> bool {
        let is_method = self.method.as_ref().is_none_or(|wanted| wanted == method);
        is_method && self.matches_path(path)
    }

    /// Whether its path is this one as it is written, whatever the method.
    pub(super) fn matches_path(&self, path: &str) -> bool {
        let mut actual = path.strip_prefix('/').unwrap_or(path).split('/');
        for segment in &self.segments {
            let matched = match segment {
                Segment::Rest => return true,
                Segment::Any => actual.next().is_some_and(|text| !text.is_empty()),
                Segment::Literal(wanted) => actual.next() == Some(wanted),
            };
            if !matched {
                return false;
            }
        }
        actual.next().is_none()
    }
}

impl Segment {
    fn parse(text: &str, last: bool) -> Result<Self, RouteError> {
        let error = || RouteError::Placeholder(text.to_owned());
        match text
            .strip_prefix('{')
            .and_then(|inner| inner.strip_suffix('}'))
        {
            None if text.contains(['{', '}']) => Err(error()),
            None => Ok(Self::Literal(text.into())),
            Some(name) => match name.strip_prefix('*') {
                Some(rest) if last && !rest.is_empty() => Ok(Self::Rest),
                None if !name.is_empty() && !name.contains(['{', '}', '*']) => Ok(Self::Any),
                _ => Err(error()),
            },
        }
    }
}

/// Splits the label of an operation into that of its route and the operation.
pub fn split_operation(label: &str) -> Option<(&str, &str)> {
    let path = label.find(' ')? + 1;
    let end = path + label.get(path..)?.find(' ')?;
    Some((label.get(..end)?, label.get(end + 1..)?))
}
