//! What Grafana and its plugin for ClickHouse make of a query and of a link before they are used.
//!
//! The macros are those of grafana-clickhouse-datasource (pkg/macros), and variables are written as Grafana's formats do. What is
//! not known here is refused, so that a query with another macro fails instead of being sent as it is.

use parity_schemas::time::Timestamp;

/// The time range of a dashboard, in milliseconds.
#[derive(Clone, Copy)]
pub(super) struct Range {
    pub(super) from: i64,
    pub(super) to: i64,
    /// Of one point of a chart.
    pub(super) interval: i64,
}

impl Range {
    /// The last hour, and a minute more: the interval at hand has not ended.
    pub(super) fn now() -> Self {
        let now = Timestamp::now().as_micros() / 1_000;
        Self {
            from: now - 3_600_000,
            to: now + 60_000,
            interval: 60_000,
        }
    }
}

/// The values of variables by name. For `percentencode` only, so one value each.
#[derive(Clone, Default)]
pub(super) struct Variables(pub(super) Vec<(String, String)>);

impl Variables {
    pub(super) fn set(&mut self, name: &str, value: &str) {
        self.0.retain(|(known, _)| known != name);
        self.0.push((name.to_owned(), value.to_owned()));
    }

    fn get(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(known, _)| known == name);
        &found
            .unwrap_or_else(|| panic!("there is no variable `{name}`"))
            .1
    }
}

/// As `encodeURIComponent` with `!'()*` encoded, too.
pub(super) fn percent(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}

/// Replaces each `${…}` by what `value` says of it.
fn braces(text: &str, mut value: impl FnMut(&str) -> String) -> String {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (inside, behind) = after.split_once('}').expect("a closing brace");
        expanded.push_str(before);
        expanded.push_str(&value(inside));
        rest = behind;
    }
    expanded + rest
}

/// A query as the database gets it.
pub(super) fn sql(query: &str, range: Range, variables: &Variables) -> String {
    let Range { from, to, interval } = range;
    let time = |millis: i64| format!("fromUnixTimestamp64Milli({millis})");
    let text = braces(query, |inside| match inside.split_once(':') {
        Some((name, "percentencode")) => percent(variables.get(name)),
        _ => panic!("`${{{inside}}}` would let a value end its quotes; use :percentencode"),
    });
    let text = call(&text, "$__timeFilter_ms", |column| {
        format!("{column} >= {} AND {column} <= {}", time(from), time(to))
    });
    let text = call(&text, "$__timeInterval_ms", |column| {
        format!("toStartOfInterval(toDateTime64({column}, 3), INTERVAL {interval} millisecond)")
    });
    let text = text
        .replace("$__fromTime_ms", &time(from))
        .replace("$__toTime_ms", &time(to))
        .replace("$__interval_s", &(interval / 1_000).to_string());
    assert!(!text.contains('$'), "what is this macro? {text}");
    text
}

/// Replaces the calls of a macro with one argument.
fn call(text: &str, name: &str, with: impl Fn(&str) -> String) -> String {
    let begin = format!("{name}(");
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(&begin) {
        let (argument, behind) = after.split_once(')').expect("a closing parenthesis");
        assert!(!argument.contains(['(', ',']), "{name}({argument}");
        expanded.push_str(before);
        expanded.push_str(&with(argument));
        rest = behind;
    }
    expanded + rest
}

/// A link as a browser gets it. `field` gives the value of a column of the row that was clicked, or of a label.
pub(super) fn link(
    url: &str,
    range: Range,
    variables: &Variables,
    field: impl Fn(&str) -> String,
) -> String {
    braces(url, |inside| {
        if inside == "__url_time_range" {
            return format!("from={}&to={}", range.from, range.to);
        }
        if inside == "__from:date:iso" {
            return Timestamp::from_micros(range.from * 1_000).to_string();
        }
        if let Some(label) = inside.strip_prefix("__field.labels.") {
            return field(label);
        }
        if let Some(rest) = inside.strip_prefix("__data.fields[\"") {
            let (column, format) = rest.split_once("\"]").expect("a name in brackets");
            assert_eq!(format, ":percentencode", "{url}");
            return percent(&field(column));
        }
        match inside.split_once(':') {
            Some((name, "percentencode")) => percent(variables.get(name)),
            None if inside == "parity" => variables.get(inside).to_owned(),
            _ => panic!("{url}: `{inside}` is not encoded"),
        }
    })
}

#[test]
fn queries_are_expanded_as_the_plugin_does() {
    let range = Range {
        from: 1_000,
        to: 2_500,
        interval: 60_000,
    };
    let mut variables = Variables::default();
    variables.set("route", "GET /it's\\{id}*");
    let query = "SELECT $__timeInterval_ms(time) AS t, count() / $__interval_s FROM m WHERE $__timeFilter_ms(time) \
                 AND time > $__fromTime_ms AND r = decodeURLComponent('${route:percentencode}')";
    assert_eq!(
        sql(query, range, &variables),
        "SELECT toStartOfInterval(toDateTime64(time, 3), INTERVAL 60000 millisecond) AS t, count() / 60 FROM m \
         WHERE time >= fromUnixTimestamp64Milli(1000) AND time <= fromUnixTimestamp64Milli(2500) \
         AND time > fromUnixTimestamp64Milli(1000) AND r = decodeURLComponent('GET%20%2Fit%27s%5C%7Bid%7D%2A')"
    );
}
