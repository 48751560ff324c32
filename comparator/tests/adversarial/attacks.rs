//! What an attacker would send, each at any size.

use http::{HeaderMap, HeaderValue, header};
use parity_comparator::{DocumentKind, RuleConfig};

/// Two answers, how their bodies are compared, and by which rules.
pub(crate) struct Pair {
    pub(crate) kind: DocumentKind,
    pub(crate) legacy: String,
    pub(crate) candidate: String,
    pub(crate) headers: [HeaderMap; 2],
    pub(crate) rules: Vec<RuleConfig>,
}

impl Pair {
    pub(crate) fn json(legacy: String, candidate: String) -> Self {
        Self {
            kind: DocumentKind::Json,
            legacy,
            candidate,
            headers: [HeaderMap::new(), HeaderMap::new()],
            rules: Vec::new(),
        }
    }

    pub(crate) fn of(mut self, kind: DocumentKind) -> Self {
        self.kind = kind;
        self
    }

    pub(crate) fn rule(mut self, path: &str, action: &str, absolute: Option<&str>) -> Self {
        self.rules.push(RuleConfig {
            field: (action == "key").then(|| "id".to_owned()),
            absolute: absolute.map(str::to_owned),
            r#type: (action == "as").then(|| "number".to_owned()),
            ..RuleConfig::new(&format!("rule-{}", self.rules.len()), path, action)
        });
        self
    }
}

/// A pair whose sides differ in one number of the same text.
fn both(make: impl Fn(usize) -> String) -> Pair {
    Pair::json(make(0), make(1))
}

fn array(count: usize, make: impl Fn(usize) -> String) -> String {
    let elements: Vec<String> = (0..count).map(make).collect();
    format!("[{}]", elements.join(","))
}

fn object(count: usize, make: impl Fn(usize) -> String) -> String {
    let members: Vec<String> = (0..count).map(make).collect();
    format!("{{{}}}", members.join(","))
}

/// Elements that each have a nearly equal partner, but no equal one.
fn near_elements(count: usize) -> Pair {
    both(|add| {
        array(count, |index| {
            let last = index % 7 + add;
            format!(r#"{{"id":{index},"text":"the same everywhere","more":[1,2,{last}]}}"#)
        })
    })
}

/// Arrays nested to the depth limit, with `count` elements before and after the inner one, all of which differ.
fn nested_arrays(count: usize, add: usize) -> String {
    let edge = |from: usize| {
        let numbers: Vec<String> = (from..from + count).map(|n| n.to_string()).collect();
        numbers.join(",")
    };
    (0..120).fold(add.to_string(), |inner, level| {
        format!("[{},{inner},{}]", edge(level + add), edge(level + 2 * add))
    })
}

/// The same, where only the innermost differ in more than the spelling of a number.
fn nested_spellings(count: usize, add: usize) -> String {
    let spelled = if add == 0 { "1" } else { "1.0" };
    let edge = vec![spelled; count].join(",");
    (0..120).fold(add.to_string(), |inner, _| {
        format!("[{edge},{inner},{edge}]")
    })
}

/// A tree of arrays of four with this many leaves.
fn tree(leaves: usize, first: usize) -> String {
    if leaves < 4 {
        return (first * 7_919 % 1_000).to_string();
    }
    array(4, |index| tree(leaves / 4, first + index * leaves / 4))
}

pub(crate) fn deep(levels: usize) -> Pair {
    both(|add| format!("{}{add}{}", "[".repeat(levels), "]".repeat(levels)))
}

/// A few lines of YAML that stand for nine to the power of `levels` values.
pub(crate) fn alias_bomb(levels: usize) -> Pair {
    let mut lines = vec!["a0: &a0 [x, x, x, x, x, x, x, x, x]".to_owned()];
    for level in 1..levels {
        let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
        lines.push(format!("a{level}: &a{level} [{aliases}]"));
    }
    let text = lines.join("\n");
    Pair::json(text.clone() + "\nb: 1", text + "\nb: 2").of(DocumentKind::Yaml)
}

/// Unordered numbers that are all near to each other except one, so that every pair must be compared.
pub(crate) fn all_near(count: usize) -> Pair {
    both(|add| {
        array(count, |index| {
            (index % 97 + 5_000 * add * (index / (count - 1))).to_string()
        })
    })
    .rule("", "unordered", None)
    .rule("/*", "tolerance", Some("1000"))
}

/// The same, but a third of the legacy's numbers have no partner, which is known only after every way to make room was
/// tried.
pub(crate) fn all_near_but_too_few(count: usize) -> Pair {
    let near = |add: usize, share: usize| {
        array(count, |index| {
            let far = index >= share;
            (index % 97 + add + if far { 5_000 * index } else { 0 }).to_string()
        })
    };
    Pair::json(near(0, count), near(1, count * 2 / 3))
        .rule("", "unordered", None)
        .rule("/*", "tolerance", Some("1000"))
}

/// A name, a size, and the function that makes the pair.
type Attack = (&'static str, usize, fn(usize) -> Pair);

pub(crate) const ATTACKS: &[Attack] = &[
    ("equal keys", 12_500, |n| {
        both(|add| object(n, |index| format!(r#""k":{}"#, index + add)))
    }),
    ("keys backwards", 12_500, |n| {
        let forth = object(n, |index| format!(r#""key-{index}":{index}"#));
        let back = object(n, |index| format!(r#""key-{}":{index}"#, n - index));
        Pair::json(forth, back)
    }),
    ("near elements", 2_500, near_elements),
    ("near elements, unordered", 2_500, |n| {
        near_elements(n).rule("", "unordered", None)
    }),
    ("near elements, unordered within a tolerance", 2_500, |n| {
        near_elements(n)
            .rule("/**", "unordered", None)
            .rule("/**/more/*", "tolerance", Some("1"))
    }),
    ("near elements by key", 2_500, |n| {
        near_elements(n).rule("", "key", None)
    }),
    ("a shuffled array", 2_500, |n| {
        both(|add| array(n, |index| (index * (7 + 2 * add) % n).to_string()))
    }),
    ("arrays that differ at every level", 4, |n| {
        both(|add| nested_arrays(n, add))
    }),
    ("arrays spelled differently at every level", 8, |n| {
        both(|add| nested_spellings(n, add))
    }),
    ("arrays that differ at every level, unordered", 8, |n| {
        both(|add| nested_arrays(n, add)).rule("/**", "unordered", None)
    }),
    ("a tree of arrays", 4_096, |n| both(|add| tree(n, add))),
    ("nesting", 25_000, deep),
    ("great exponents within a tolerance", 2_000, |n| {
        both(|add| array(n, |index| format!("1e99999999{add}{index}"))).rule(
            "/*",
            "tolerance",
            Some("0.01"),
        )
    }),
    ("digits", 100_000, |n| {
        both(|add| format!("{}.{add}5", "1".repeat(n)))
    }),
    ("digits within a tolerance", 100_000, |n| {
        both(|add| format!("{}.{add}5", "1".repeat(n))).rule("", "tolerance", Some("1"))
    }),
    ("digits in strings as numbers", 100_000, |n| {
        both(|add| format!(r#""{}.{add}5""#, "1".repeat(n)))
            .rule("", "as", None)
            .rule("", "tolerance", Some("1"))
    }),
    ("zeros", 100_000, |n| {
        both(|add| format!("0.{}{add}", "0".repeat(n)))
    }),
    ("escapes", 20_000, |n| {
        both(|add| format!(r#"["{}{add}"]"#, r"\u0000".repeat(n)))
    }),
    ("strings in other case", 4, |n| {
        let text =
            |letters: &str| array(n, |index| format!(r#""{}{index}""#, letters.repeat(15_000)));
        Pair::json(text("aé"), text("AÉ"))
    }),
    ("one long string", 250_000, |n| {
        both(|add| format!(r#""{}{add}""#, "ab".repeat(n)))
    }),
    ("combining marks in other orders", 4, |n| {
        let text = |marks: &str| array(n, |index| format!(r#""a{}{index}""#, marks.repeat(10_000)));
        Pair::json(text("\u{301}\u{323}"), text("\u{323}\u{301}"))
    }),
    ("a long key around many findings", 60_000, |n| {
        let members = |add: usize| object(256, |index| format!(r#""{index}":{}"#, index + add));
        both(|add| format!(r#"{{"{}":{}}}"#, "k".repeat(n), members(add)))
    }),
    ("long keys in other styles", 2_000, |n| {
        let style = ["_", "-"];
        both(|add| {
            object(60, |index| {
                format!(r#""{}{}{index}":1"#, "k".repeat(n), style[add])
            })
        })
    }),
    ("text without a newline", 250_000, |n| {
        both(|add| format!("{}{add}", "a".repeat(n))).of(DocumentKind::Text)
    }),
    ("newlines", 125_000, |n| {
        both(|add| "\n".repeat(n + 2 * add)).of(DocumentKind::Text)
    }),
    ("other lines", 125_000, |n| {
        both(|add| format!("{add}\n").repeat(n)).of(DocumentKind::Text)
    }),
    ("YAML documents with anchors", 2_500, |n| {
        both(|add| format!("--- &a {add}\n").repeat(n)).of(DocumentKind::Yaml)
    }),
    ("YAML anchors", 2_500, |n| {
        let lines = |add: usize| (0..n).map(move |index| format!("- &a{index} {add}\n"));
        both(|add| lines(add).collect()).of(DocumentKind::Yaml)
    }),
    ("YAML in flow style", 2_500, |n| {
        both(|add| array(n, |index| format!("{{a: b{index}{add}}}"))).of(DocumentKind::Yaml)
    }),
];

/// Units of XML, each repeated; `#` is a number that grows.
pub(crate) const XML: &[&str] = &[
    "<a/>",
    "<a#/>",
    "<a>x</a>",
    "<a#><b/><c/></a#>",
    "<a x#='1'/>",
    "<a xmlns:p#='u#'/>",
    "<p:a xmlns:p='u#' p:b=''/>",
    "&amp;",
    "x<a/>",
    "<![CDATA[x]]>",
    "<!-- x -->",
    "<?x y?>",
    "\n",
    "<a>",
    "</a>",
    "<",
    "&",
    "]]",
    "<!--",
    "<![CDATA[",
    "<!DOCTYPE a [",
    "' ",
];

/// Inputs that were hard for one YAML parser or another.
pub(crate) const YAML: &[&str] = &[
    "- ",
    "-\n",
    "a: ",
    "a:\n ",
    "? ",
    "? a\n: ",
    ": ",
    "[",
    "[a, ",
    "[a: ",
    "{",
    "{a: ",
    "{? ",
    "&a ",
    "*a ",
    "!a ",
    "!<",
    "| ",
    "> ",
    "a: |\n",
    "'",
    "\"",
    "\"\\",
    "a ",
    "a\n",
    "#",
    " #",
    "\t",
    "\r",
    "--- ",
    "...\n",
    "%TAG ! a\n",
    "\u{feff}",
];

/// A name, a size, and the fields of one side or the other.
type FieldAttack = (&'static str, usize, fn(usize, usize) -> HeaderMap);

fn fields(name: &header::HeaderName, lines: impl Iterator<Item = String>) -> HeaderMap {
    let value = |line: String| HeaderValue::from_str(&line).expect("visible ASCII");
    lines.map(|line| (name.clone(), value(line))).collect()
}

pub(crate) const FIELDS: &[FieldAttack] = &[
    ("a set of many", 25_000, |n, add| {
        let tokens: Vec<String> = (0..n).map(|index| format!("x-{}", index + add)).collect();
        fields(&header::VARY, std::iter::once(tokens.join(",")))
    }),
    ("a list of many", 25_000, |n, add| {
        let tokens: Vec<String> = (0..n).map(|index| format!("\"{}\"", index + add)).collect();
        fields(&header::ALLOW, std::iter::once(tokens.join(",")))
    }),
    ("attributes of a cookie", 10_000, |n, add| {
        let attributes: Vec<String> = (0..n).map(|index| format!("a{}=b", index + add)).collect();
        let line = format!("sid=1;{}", attributes.join(";"));
        fields(&header::SET_COOKIE, std::iter::once(line))
    }),
    ("cookies", 2_500, |n, add| {
        fields(
            &header::SET_COOKIE,
            (0..n).map(move |index| format!("c{}=1", index + add)),
        )
    }),
    ("a long value", 100_000, |n, add| {
        fields(
            &header::LOCATION,
            std::iter::once(format!("/{}{add}", "a".repeat(n))),
        )
    }),
];
