//! What is rewritten of answers, and what is left alone.

use super::*;

fn rewritten(legacy: &str, candidate: &str) -> Option<[String; 2]> {
    let answers = answers([legacy, candidate].map(str::as_bytes), 128)?;
    Some(
        answers
            .texts
            .map(|text| String::from_utf8(text).expect("JSON")),
    )
}

fn list(count: usize) -> String {
    let errors: Vec<String> = (0..count)
        .map(|at| format!("{{\"message\":\"{at}\"}}"))
        .collect();
    errors.join(",")
}

#[test]
fn a_rewritten_answer_is_json_and_keeps_all_but_what_does_not_count() {
    let error = r#"{"locations":[1],"message":"a","extensions":{"stacktrace":[],"exception":{"stacktrace":1}}}"#;
    let one = format!(r#" {{"errors" : [ 7,{error},{{}} ],"data":{{"errors":[{error}]}}}}"#);
    let two = r#"{"errors":[{},{"message":"a"},7]}"#;
    let [legacy, candidate] = rewritten(&one, two).expect("errors");
    let kept =
        format!(r#" {{"errors" : [7,{{"message":"a"}},{{}}],"data":{{"errors":[{error}]}}}}"#);
    assert_eq!(legacy, kept);
    assert_eq!(candidate, r#"{"errors":[7,{"message":"a"},{}]}"#);
}

#[test]
fn what_is_no_answer_of_graphql_is_left_alone() {
    for (legacy, candidate) in [
        (r#"{"data":1}"#, r#"{"data":2}"#),
        (r#"{"errors":[1]}"#, r#"[{"errors":[1]}]"#),
        (r#""errors""#, r#"{"errors":[]}"#),
        (r#"{"errors":[1]"#, r#"{"errors":[1]}"#),
    ] {
        assert_eq!(rewritten(legacy, candidate), None, "{legacy}");
    }
    let long = format!("{{\"errors\":[{}]}}", list(MAX_PAIRED + 1));
    let short = format!("{{\"errors\":[{}]}}", list(3));
    let same = |one: &str, two: &str| {
        assert_eq!(rewritten(one, two), Some([one.to_owned(), two.to_owned()]));
    };
    same(&long, &short);
    same(r#"{"errors":{"a":1}}"#, &short);
}
