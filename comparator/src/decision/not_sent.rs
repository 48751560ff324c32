//! Why the candidate does not get some requests, and what changes that: what a [[route]] allows, and nothing more than that.
//!
//! For a GraphQL operation, `shadow = true` in the [[route]] of its endpoint would send every mutation, so that is never
//! advised for one of them.

use parity_schemas::graphql::Labelled;
use parity_schemas::route::split_operation;

/// Why requests with these routes are not sent, a sentence for each kind of them. Requests of none of them were sent.
pub(super) fn not_sent<'a>(routes: impl Iterator<Item = &'a str>) -> Vec<String> {
    sentences(routes.map(|route| (route, false)))
}

/// The same for those of these routes that are GraphQL operations. Beside each is whether some of its requests were sent.
pub fn operations_not_sent<'a>(routes: impl Iterator<Item = (&'a str, bool)>) -> Vec<String> {
    sentences(routes.filter(|(route, _)| split_operation(route).is_some()))
}

fn sentences<'a>(routes: impl Iterator<Item = (&'a str, bool)>) -> Vec<String> {
    let mut kinds: Vec<(Option<Labelled>, bool)> = Vec::new();
    let mut sentences = Vec::new();
    for (route, is_sent) in routes {
        let kind = split_operation(route).map(|(_, operation)| Labelled::of(operation));
        if kinds.contains(&(kind, is_sent)) {
            continue;
        }
        kinds.push((kind, is_sent));
        sentences.push(match kind {
            None => "The method may have side effects. If a second request does no harm, allow it by `shadow = true` in its [[route]]"
                .to_owned(),
            Some(_) if is_sent => format!(
                "{route}: requests that have more than what may be sent are left out: another operation beside it, other fields than its [[route]] lists, or something unreadable"
            ),
            Some(kind) => of_operation(route, kind),
        });
    }
    sentences
}

fn of_operation(route: &str, kind: Labelled) -> String {
    let endpoint = split_operation(route).map_or(route, |(endpoint, _)| endpoint);
    match kind {
        Labelled::Query => format!(
            "{route}: queries by POST are sent by `shadow_queries = true` in the [[route]] of `{endpoint}`, but for those with a mutation \
             or something unreadable beside them; this one alone by a [[route]] with match = \"{route}\" and shadow = true"
        ),
        Labelled::Mutation => format!(
            "{route}: a mutation has side effects. If a second request of this one does no harm, allow it alone: a [[route]] with \
             match = \"{route}\", shadow = true, and in `fields` what it asks for. `shadow = true` in the [[route]] of `{endpoint}` would send \
             every mutation"
        ),
        Labelled::Subscription => {
            format!("{route}: no subscription is sent, because its answer has no end")
        }
        Labelled::Persisted => format!(
            "{route}: the document is only known to the services, and may be a mutation. If they run no mutation by GET, `shadow_queries = true` in the \
             [[route]] of `{endpoint}` allows all such requests by GET; a [[route]] with match = \"{route}\" and shadow = true allows this \
             document"
        ),
        Labelled::Batch => format!(
            "{route}: several requests in one are sent where each of them may be sent; allow what is in it"
        ),
        Labelled::Unknown => format!(
            "{route}: what cannot be read may be a mutation. Only `shadow = true` in the [[route]] of `{endpoint}` sends it, and with it \
             every mutation"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_told_once_and_no_operation_is_advised_what_opens_all_of_them() {
        let told = not_sent(
            [
                "POST /graphql mutation Quote",
                "POST /graphql mutation Pay",
                "POST /graphql query Orders",
                "POST /quotes",
            ]
            .into_iter(),
        );
        assert_eq!(told.len(), 3, "{told:#?}");
        assert!(told[0].contains("match = \"POST /graphql mutation Quote\", shadow = true"));
        assert!(told[0].ends_with("in the [[route]] of `POST /graphql` would send every mutation"));
        assert!(told[1].contains("`shadow_queries = true` in the [[route]] of `POST /graphql`"));
        assert!(told[2].ends_with("`shadow = true` in its [[route]]"));
        let routes = [
            ("POST /quotes", false),
            ("POST /graphql mutation Quote", true),
            ("POST /graphql mutation Pay", false),
            ("GET /graphql unknown", false),
        ];
        let operations = operations_not_sent(routes.into_iter());
        assert_eq!(operations.len(), 3, "{operations:#?}");
        // It has a [[route]] already.
        assert!(operations[0].contains("Quote: requests that have more than what may be sent"));
        assert!(operations[1].contains("match = \"POST /graphql mutation Pay\""));
        let mut sentences = told.iter().chain(&operations);
        assert_eq!(sentences.find(|sentence| sentence.contains("  ")), None);
        assert!(operations[2].starts_with("GET /graphql unknown: what cannot be read"));
    }
}
