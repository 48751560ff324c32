//! Which of the requests of a counter the service failed, by the labels that say how they ended.
//!
//! Only codes say it: those of HTTP, their classes, and those of gRPC. A word such as `error` or `failed` is each service's own, and to
//! take it for either would make a sum of which nobody knows what it is. So one that is unknown leaves all of them untold.

use std::collections::BTreeMap;

use super::labels::Labels;

/// Labels that say how a request ended.
const STATUS: [&str; 8] = [
    "code",
    "status",
    "status_code",
    "http_status",
    "http_status_code",
    "http_response_status_code",
    "response_code",
    "grpc_code",
];
/// Codes of gRPC, in small letters and without what parts their words, and whether a service says by one that it is at fault.
const GRPC: [(&str, bool); 18] = [
    ("ok", false),
    ("canceled", false),
    ("cancelled", false),
    ("unknown", true),
    ("invalidargument", false),
    ("deadlineexceeded", true),
    ("notfound", false),
    ("alreadyexists", false),
    ("permissiondenied", false),
    ("resourceexhausted", false),
    ("failedprecondition", false),
    ("aborted", false),
    ("outofrange", false),
    ("unimplemented", false),
    ("internal", true),
    ("unavailable", true),
    ("dataloss", true),
    ("unauthenticated", false),
];

/// How many of the requests that a counter counted the service failed, or why that cannot be told.
pub(super) fn failed(metric: &str, counted: &BTreeMap<&Labels, f64>) -> Result<f64, String> {
    if !is_told(counted) {
        return Err(format!(
            "`{metric}` has no label that says how a request ended ({})",
            STATUS.join(", ")
        ));
    }
    let mut failed = 0.0;
    // What was not counted meanwhile may be called anything.
    for (labels, by) in counted.iter().filter(|(_, by)| **by > 0.0) {
        let mut is_failed = None;
        for (label, value) in words(labels) {
            let told = is_fault(value).ok_or_else(|| {
                format!(
                    "`{metric}` has {label}=\"{value}\", which is no code of HTTP or gRPC, so that nobody knows which requests failed; the setting `requests` names another counter"
                )
            })?;
            if is_failed.is_some_and(|before| before != told) {
                return Err(format!(
                    "the labels of `{metric}` contradict each other, for example {label}=\"{value}\", so that nobody knows which requests failed"
                ));
            }
            is_failed = Some(told);
        }
        match is_failed {
            Some(true) => failed += by,
            Some(false) => {}
            None => {
                return Err(format!(
                    "some requests of `{metric}` have no label that says how they ended"
                ));
            }
        }
    }
    Ok(failed)
}

/// Whether a counter says of any request how it ended.
pub(super) fn is_told(counted: &BTreeMap<&Labels, f64>) -> bool {
    counted.keys().any(|labels| words(labels).next().is_some())
}

/// What labels say of how requests ended. An empty one is one that is not there.
fn words(labels: &Labels) -> impl Iterator<Item = (&'static str, &str)> {
    let values = STATUS.iter();
    let values = values.filter_map(|label| Some((*label, labels.get(label)?)));
    values.filter(|(_, value)| !value.is_empty())
}

/// Whether a status says that the service is at fault; `None` if it is no code.
fn is_fault(status: &str) -> Option<bool> {
    if let [class @ b'1'..=b'5', rest @ ..] = status.as_bytes()
        && rest.len() == 2
        && (rest.iter().all(u8::is_ascii_digit) || rest.eq_ignore_ascii_case(b"xx"))
    {
        return Some(*class == b'5');
    }
    let letters = status.chars().filter(|letter| !"_- ".contains(*letter));
    let word: String = letters.map(|letter| letter.to_ascii_lowercase()).collect();
    let found = GRPC.iter().find(|(code, _)| *code == word);
    found.map(|(_, is_fault)| *is_fault)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(series: &[(&[(&str, &str)], f64)]) -> Result<f64, String> {
        let series: Vec<(Labels, f64)> = series
            .iter()
            .map(|(pairs, by)| {
                let pairs = pairs.iter();
                let pairs = pairs.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
                (Labels::of(pairs.collect()).unwrap(), *by)
            })
            .collect();
        failed(
            "a_total",
            &series.iter().map(|(labels, by)| (labels, *by)).collect(),
        )
    }

    #[test]
    fn codes_of_http_their_classes_and_codes_of_grpc_in_any_case_say_who_is_at_fault() {
        for (status, expected) in [
            ("200", Some(false)),
            ("404", Some(false)),
            ("499", Some(false)),
            ("500", Some(true)),
            ("599", Some(true)),
            ("2xx", Some(false)),
            ("5xx", Some(true)),
            ("5XX", Some(true)),
            ("OK", Some(false)),
            ("ok", Some(false)),
            ("NotFound", Some(false)),
            ("NOT_FOUND", Some(false)),
            ("Canceled", Some(false)),
            ("CANCELLED", Some(false)),
            ("Internal", Some(true)),
            ("INTERNAL", Some(true)),
            ("internal", Some(true)),
            ("DEADLINE_EXCEEDED", Some(true)),
            ("DeadlineExceeded", Some(true)),
            ("data-loss", Some(true)),
            ("error", None),
            ("failed", None),
            ("success", None),
            ("0", None),
            ("000", None),
            ("600", None),
            ("5", None),
            ("5000", None),
            ("50x", None),
            ("5é", None),
            ("-1", None),
        ] {
            assert_eq!(is_fault(status), expected, "{status}");
        }
    }

    #[test]
    fn a_word_that_is_no_code_leaves_all_requests_untold() {
        for (label, value) in [
            ("status", "error"),
            ("code", "failed"),
            ("response_code", "0"),
            ("status", ""),
        ] {
            let found = of(&[(&[("code", "200")], 90.0), (&[(label, value)], 10.0)]);
            assert!(found.is_err(), "{label}={value}: {found:?}");
            // Where none was counted under it, nothing depends on what it means.
            let found = of(&[(&[("code", "200")], 90.0), (&[(label, value)], 0.0)]);
            assert_eq!(found, Ok(0.0), "{label}={value}");
        }
        let grpc = of(&[
            (&[("grpc_code", "OK")], 9.0),
            (&[("grpc_code", "INTERNAL")], 1.0),
        ]);
        assert_eq!(grpc, Ok(1.0));
    }

    #[test]
    fn labels_that_contradict_each_other_and_requests_without_one_are_told() {
        for (series, words) in [
            (
                &[(&[("code", "200"), ("grpc_code", "Internal")][..], 1.0)][..],
                "contradict",
            ),
            (
                &[(&[("code", "200"), ("status", "error")], 1.0)],
                "status=\"error\"",
            ),
            (
                &[(&[("code", "200")], 1.0), (&[("route", "/a")], 1.0)],
                "some requests",
            ),
            (&[(&[("route", "/a")], 1.0)], "has no label that says"),
            (&[], "has no label that says"),
        ] {
            let why = of(series).unwrap_err();
            assert!(why.contains(words), "{why}");
        }
        let both = of(&[(&[("code", "500"), ("grpc_code", "Internal")], 2.0)]);
        assert_eq!(both, Ok(2.0));
    }
}
