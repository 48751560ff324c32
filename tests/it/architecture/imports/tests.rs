//! Tests of the check itself: it finds planted cycles and nothing else.

use super::*;

#[test]
fn a_planted_cycle_is_found() {
    let check = |name: &str, files: &[(&str, &str)], expected: &[&str]| {
        let files = files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        assert_eq!(cycles(&files.collect::<Vec<_>>()), expected, "{name}");
    };
    check(
        "imports, in a tree and under another name",
        &[
            ("a.rs", "use crate::{b::{C as D, E}, other};"),
            ("b.rs", "pub(crate) use super::a::F;"),
        ],
        &["a -> b -> a"],
    );
    check(
        "paths within code",
        &[
            (
                "a.rs",
                "fn f() { let b: crate::b::B = crate::b::make(\"crate::c::C\"); }",
            ),
            ("b.rs", "// crate::c::C\nfn make() {}\n"),
            (
                "c.rs",
                "impl super::a::A for X<'_> { const S: char = '\\''; /* /* */ crate::b::B */ }",
            ),
            ("lib.rs", "mod a; mod b; mod c;"),
        ],
        &[],
    );
    check(
        "a long way",
        &[
            ("a.rs", "fn f(_: crate::b::B) {}"),
            ("b.rs", "use crate::c;"),
            ("c.rs", "mod inner { use super::super::a::A; }"),
        ],
        &["a -> b -> c -> a"],
    );
    check(
        "what is only passed on",
        &[
            ("lib.rs", "mod a; mod b; pub use b::B;"),
            ("a.rs", "use crate::B;"),
            ("b.rs", "pub use inner::*;"),
            ("b/inner.rs", "pub struct B; use crate::a::A;"),
        ],
        &["a -> b -> a"],
    );
    check(
        "below a room, where the room's own file passes names on",
        &[
            ("room.rs", "mod a; mod b; pub use {a::A, b::B};"),
            ("room/a.rs", "use super::B; pub struct A;"),
            ("room/b/mod.rs", "use crate::room::A; pub struct B;"),
            ("room/b/inner.rs", "use super::B;"),
        ],
        &["in room: a -> b -> a"],
    );
    check(
        "tests, and a module with what is within it",
        &[
            (
                "a.rs",
                "mod inner; use inner::I; #[cfg(test)] mod tests; pub struct A;",
            ),
            ("a/inner.rs", "use super::A; pub struct I;"),
            ("a/tests.rs", "use crate::b::B;"),
            (
                "b.rs",
                "use crate::a::A; #[cfg(test)] mod tests { use crate::c::C; } pub struct B;",
            ),
            (
                "c.rs",
                "use crate::b::B; #[cfg(not(test))] use crate::a::A;",
            ),
        ],
        &[],
    );
}
