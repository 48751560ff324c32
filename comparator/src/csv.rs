//! Reads tables in CSV as lists of rows by the names in their first line, so that rules can name a column.
//!
//! How a field is quoted does not count, nor how lines end (RFC 4180). The order of columns counts, because readers by
//! position exist, unless both media types say `header=present`.
//!
//! Nobody says that a first line is names. So tables are read by name only where it looks like that: each name begins
//! with a letter and is there once, and every row has as many fields. Anything else is compared as text, and so are two
//! tables without rows, of which only the first lines can differ.

use std::collections::{HashMap, HashSet};

use crate::notation::string;

/// A table may take this many times its own size as JSON, because each row repeats the names. Beyond it, it is text.
const MAX_GROWTH: usize = 64;
/// Bytes that even the shortest table may take.
const MIN_WRITTEN_BYTES: usize = 1 << 20;
/// Most columns that only one table has for which the other table is searched: more than a rename explains.
const MAX_LONE: usize = 64;
/// So many different values in the same order, or changes from row to row, are no chance.
const MIN_VARIETY: usize = 3;

/// A table whose columns have names.
pub(crate) struct Table {
    names: Vec<String>,
    rows: Vec<Vec<String>>,
    /// Bytes that it was read from.
    bytes: usize,
}

/// Reads a text without a byte order mark; `None` if it is no table with names.
pub(crate) fn parse(text: &str) -> Option<Table> {
    let mut lines = Lines { rest: text };
    let names = lines.next()??;
    let mut once = HashSet::with_capacity(names.len());
    let is_named =
        |name: &String| name.starts_with(|first: char| first.is_alphabetic() || first == '_');
    if !names
        .iter()
        .all(|name| is_named(name) && once.insert(name.as_str()))
    {
        return None;
    }
    let mut rows = Vec::new();
    for row in lines {
        rows.push(row.filter(|row| row.len() == names.len())?);
    }
    Some(Table {
        rows,
        bytes: text.len(),
        names,
    })
}

/// A column that the legacy calls like the first name, and the candidate like the second.
pub(crate) type Renamed<'a> = [&'a str; 2];

/// Both tables as JSON texts; `None` if they are to be compared as text. `by_name` if the order of columns does not count.
/// Columns that are `renamed` have their place in that order, too.
pub(crate) fn as_json(
    tables: [&Table; 2],
    by_name: bool,
    renamed: &[Renamed<'_>],
) -> Option<[Vec<u8>; 2]> {
    let [one, two] = tables;
    let names = names(tables, renamed);
    if one.rows.is_empty() && two.rows.is_empty() && names[0] != names[1] {
        return None;
    }
    if !(by_name || are_in_order(&names)) {
        return None;
    }
    Some([written(one)?, written(two)?])
}

/// The names of both tables, the legacy's as the candidate calls them.
fn names<'a>([one, two]: [&'a Table; 2], renamed: &[Renamed<'a>]) -> [Vec<&'a str>; 2] {
    let is_free = |to: &str| !one.has(to) && two.has(to);
    let in_candidate = |name: &'a str| {
        let mut of_it = renamed.iter().filter(|[from, _]| *from == name);
        let to = of_it.next().map(|[_, to]| *to);
        to.filter(|to| is_free(to) && !two.has(name))
            .unwrap_or(name)
    };
    let legacy = one.names.iter().map(|name| in_candidate(name));
    let candidate = two.names.iter().map(String::as_str);
    [legacy.collect(), candidate.collect()]
}

/// Whether what both have stands in the same order.
fn are_in_order([legacy, candidate]: &[Vec<&str>; 2]) -> bool {
    legacy == candidate || common(legacy, candidate) == common(candidate, legacy)
}

/// Columns that the candidate has under another name, row by row: each is the only one with its values on either side, and the
/// values vary, so that this is no chance. None if a rename could not make the tables equal, because their order counts. Columns
/// that rules have `renamed` are left out.
pub(crate) fn other_names<'a>(
    tables: [&'a Table; 2],
    by_name: bool,
    renamed: &[Renamed<'a>],
) -> Vec<Renamed<'a>> {
    let [one, two] = tables;
    let is_ruled = |name: &str| renamed.iter().flatten().any(|other| *other == name);
    let lone = |of: &'a Table, other: &Table| -> Vec<usize> {
        let names = of.names.iter().enumerate();
        let lone = names.filter(|(_, name)| !other.has(name) && !is_ruled(name));
        lone.map(|(column, _)| column).collect()
    };
    let lone = [lone(one, two), lone(two, one)];
    let is_searched = one.rows.len() == two.rows.len()
        && lone
            .iter()
            .all(|lone| !lone.is_empty() && lone.len() <= MAX_LONE);
    if !is_searched {
        return Vec::new();
    }
    let mut by_values: HashMap<Vec<&str>, [Vec<usize>; 2]> = HashMap::new();
    for (side, columns) in lone.iter().enumerate() {
        for column in columns {
            let values = tables[side].rows.iter().map(|row| row[*column].as_str());
            by_values.entry(values.collect()).or_default()[side].push(*column);
        }
    }
    let found = by_values.into_iter().filter(|(values, _)| vary(values));
    let mut found: Vec<Renamed<'_>> = found
        .filter_map(|(_, columns)| match columns {
            [one, two] if one.len() == 1 && two.len() == 1 => Some([one[0], two[0]]),
            _ => None,
        })
        .map(|[from, to]| [one.names[from].as_str(), two.names[to].as_str()])
        .collect();
    found.sort_unstable();
    let all = [renamed, &found].concat();
    if by_name || are_in_order(&names(tables, &all)) {
        found
    } else {
        Vec::new()
    }
}

/// Whether the values of a column tell it from others.
fn vary(values: &[&str]) -> bool {
    let changes = values.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let different: HashSet<&&str> = values.iter().collect();
    changes.max(different.len()) >= MIN_VARIETY
}

/// The names of a table that another one has, too, in its own order.
fn common<'a>(names: &[&'a str], other: &[&str]) -> Vec<&'a str> {
    let known: HashSet<&str> = other.iter().copied().collect();
    let names = names.iter().copied();
    names.filter(|name| known.contains(name)).collect()
}

impl Table {
    pub(crate) fn is_without_rows(&self) -> bool {
        self.rows.is_empty()
    }

    pub(crate) fn has(&self, wanted: &str) -> bool {
        self.names.iter().any(|name| name == wanted)
    }
}

fn written(table: &Table) -> Option<Vec<u8>> {
    let limit = table
        .bytes
        .saturating_mul(MAX_GROWTH)
        .max(MIN_WRITTEN_BYTES);
    let mut out = vec![b'['];
    for (number, row) in table.rows.iter().enumerate() {
        if number > 0 {
            out.push(b',');
        }
        for (column, (name, field)) in table.names.iter().zip(row).enumerate() {
            out.push(if column == 0 { b'{' } else { b',' });
            string::quote(name, &mut out);
            out.push(b':');
            string::quote(field, &mut out);
            if out.len() > limit {
                return None;
            }
        }
        out.push(b'}');
    }
    out.push(b']');
    Some(out)
}

/// The fields of each line; `None` for one that is not quoted as RFC 4180 says. Nothing comes after such a line.
struct Lines<'a> {
    rest: &'a str,
}

impl Iterator for Lines<'_> {
    type Item = Option<Vec<String>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let mut fields = Vec::new();
        loop {
            let Some((field, rest)) = field(self.rest) else {
                self.rest = "";
                return Some(None);
            };
            fields.push(field);
            let line_end = rest
                .strip_prefix("\r\n")
                .or_else(|| rest.strip_prefix('\n'));
            match (rest.strip_prefix(','), line_end) {
                (Some(rest), _) => self.rest = rest,
                (None, Some(rest)) => {
                    self.rest = rest;
                    return Some(Some(fields));
                }
                (None, None) => {
                    self.rest = "";
                    return Some(rest.is_empty().then_some(fields));
                }
            }
        }
    }
}

/// The first field of a text, and what follows it.
fn field(text: &str) -> Option<(String, &str)> {
    let Some(mut rest) = text.strip_prefix('"') else {
        let end = text.find([',', '\n', '"']).unwrap_or(text.len());
        let (field, rest) = text.split_at(end);
        if rest.starts_with('"') {
            return None;
        }
        // The end of the line begins with CR.
        return match field.strip_suffix('\r').filter(|_| rest.starts_with('\n')) {
            Some(field) => Some((field.to_owned(), rest)),
            None => Some((field.to_owned(), rest)),
        };
    };
    let mut field = String::new();
    loop {
        let (inside, behind) = rest.split_once('"')?;
        field.push_str(inside);
        match behind.strip_prefix('"') {
            Some(behind) => {
                field.push('"');
                rest = behind;
            }
            None => return Some((field, behind)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Option<String> {
        let table = parse(text)?;
        let [json, _] = as_json([&table, &table], false, &[])?;
        String::from_utf8(json).ok()
    }

    #[test]
    fn rows_are_objects_by_the_first_line() {
        for (text, expected) in [
            ("a,b\n1,2\n", Some(r#"[{"a":"1","b":"2"}]"#)),
            ("a,b\r\n1,2", Some(r#"[{"a":"1","b":"2"}]"#)),
            (
                "\"a\",b\n\"1\",\"x, \"\"y\"\"\nz\"\n",
                Some(r#"[{"a":"1","b":"x, \"y\"\nz"}]"#),
            ),
            ("a,b\n,\"\"\n", Some(r#"[{"a":"","b":""}]"#)),
            ("a\n\n1\n", Some(r#"[{"a":""},{"a":"1"}]"#)),
            ("a,b\n", Some("[]")),
            ("a,b\n 1,2 \n", Some(r#"[{"a":" 1","b":"2 "}]"#)),
            ("", None),
            ("\n", None),
            ("a,a\n1,2\n", None),
            ("a,\n1,2\n", None),
            ("1,Ada\n2,Bob\n", None),
            ("a,b\n1\n", None),
            ("a,b\n1,2,3\n", None),
            ("a,b\n\n", None),
            ("a,b\n1,\"2\n", None),
            ("a,b\n1,2\"\n", None),
            ("a,b\n1,\"2\"3\n", None),
        ] {
            assert_eq!(json(text).as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn two_tables_are_read_by_name_only_where_the_names_say_so() {
        for (legacy, candidate, by_name, expected) in [
            ("a,b\n1,2\n", "b,a\n2,1\n", false, false),
            ("a,b\n1,2\n", "b,a\n2,1\n", true, true),
            ("a,b,c\n1,2,3\n", "a,c\n1,3\n", false, true),
            // A rule says that `x` is `y`.
            ("a,x\n1,2\n", "a,y\n1,2\n", false, true),
            ("x,a\n1,2\n", "a,y\n1,2\n", false, false),
            ("x,a\n1,2\n", "a,y\n1,2\n", true, true),
            ("a,x\n", "a,y\n", false, true),
            ("a,x\n", "a,z\n", false, false),
            ("a,x,y\n", "a,y\n", false, false),
            ("a,b\n", "a,c\n", true, false),
            ("a,b\n", "a,b\n", false, true),
        ] {
            let tables = [legacy, candidate].map(|text| parse(text).expect("a table"));
            let json = as_json([&tables[0], &tables[1]], by_name, &[["x", "y"]]);
            assert_eq!(json.is_some(), expected, "{legacy:?} {candidate:?}");
        }
    }

    #[test]
    fn a_column_has_another_name_only_if_its_values_tell_it_and_nothing_else_has_them() {
        let none: &[[&str; 2]] = &[];
        for (legacy, candidate, by_name, expected) in [
            (
                "a,x\n1,p\n2,q\n3,r\n",
                "a,y\n1,p\n2,q\n3,r\n",
                false,
                &[["x", "y"]][..],
            ),
            ("a,x\n1,p\n2,q\n3,r\n", "a,y\n1,p\n2,q\n3,s\n", false, none),
            ("a,x\n1,p\n2,q\n3,r\n", "a,y\n1,q\n2,p\n3,r\n", false, none),
            // Two columns change back and forth.
            (
                "a,x\n1,p\n2,q\n3,p\n4,q\n",
                "a,y\n1,p\n2,q\n3,p\n4,q\n",
                false,
                &[["x", "y"]],
            ),
            // Too little to tell.
            (
                "a,x\n1,p\n2,p\n3,p\n4,p\n",
                "a,y\n1,p\n2,p\n3,p\n4,p\n",
                false,
                none,
            ),
            ("a,x\n1,p\n2,q\n", "a,y\n1,p\n2,q\n", false, none),
            (
                "a,x\n1,p\n2,q\n3,r\n",
                "a,y\n1,p\n2,q\n3,r\n4,s\n",
                false,
                none,
            ),
            // It may be either.
            (
                "a,x\n1,p\n2,q\n3,r\n",
                "a,y,z\n1,p,p\n2,q,q\n3,r,r\n",
                false,
                none,
            ),
            (
                "a,x,w\n1,p,p\n2,q,q\n3,r,r\n",
                "a,y\n1,p\n2,q\n3,r\n",
                false,
                none,
            ),
            // The order counts.
            ("x,a\np,1\nq,2\nr,3\n", "a,y\n1,p\n2,q\n3,r\n", false, none),
            (
                "x,a\np,1\nq,2\nr,3\n",
                "a,y\n1,p\n2,q\n3,r\n",
                true,
                &[["x", "y"]],
            ),
            (
                "x,w\np,3\nq,2\nr,1\n",
                "y,z\np,3\nq,2\nr,1\n",
                false,
                &[["w", "z"], ["x", "y"]],
            ),
        ] {
            let tables = [legacy, candidate].map(|text| parse(text).expect("a table"));
            let found = other_names([&tables[0], &tables[1]], by_name, &[]);
            assert_eq!(found, expected, "{legacy:?} {candidate:?}");
            let ruled = other_names([&tables[0], &tables[1]], by_name, &[["x", "y"]]);
            assert!(!ruled.contains(&["x", "y"]), "{legacy:?} {candidate:?}");
        }
    }

    #[test]
    fn long_names_are_not_repeated_without_end() {
        let text = format!("{}\n{}", "a".repeat(100_000), "1\n".repeat(100_000));
        assert!(parse(&text).is_some() && json(&text).is_none());
    }
}
