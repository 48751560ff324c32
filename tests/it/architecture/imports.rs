//! Finds import cycles between the modules of a crate, from their source text: no two sibling modules may import each
//! other, directly or through others.
//!
//! A module and its submodules may import each other freely. So only siblings are compared, at every level of the tree. A
//! name that a module re-exports (`pub use`) counts as an import of the module that defines it. Code that is compiled only
//! for tests is ignored.

mod tests;
mod tokens;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use tokens::{is_name, tokens};

/// The names of the modules from the root of the crate to one of them.
type Module = Vec<String>;

/// The imports and items of one module.
#[derive(Default)]
struct Text {
    /// Paths that it names, from the root of the crate or from an ancestor; and those that it imports.
    paths: Vec<Vec<String>>,
    /// Names that it imports, with where they come from.
    names: BTreeMap<String, Vec<String>>,
    /// Modules all of whose names it imports.
    globs: Vec<Vec<String>>,
    /// Items that it defines.
    items: BTreeSet<String>,
    /// Modules within it that are for tests alone, in files of their own.
    tests: BTreeSet<String>,
}

/// The cycles in the crate whose sources are in `folder`, each as the modules along it.
pub(super) fn cycles_in(folder: &Path) -> Vec<String> {
    let files = super::rust_files(folder);
    let read = files.iter().map(|file| {
        let inner = file.strip_prefix(folder).expect("within the folder");
        let text = std::fs::read_to_string(file).expect("readable");
        (inner.to_str().expect("UTF-8").to_owned(), text)
    });
    cycles(&read.collect::<Vec<_>>())
}

/// The same for files that are given by their paths below `src` and their texts.
fn cycles(files: &[(String, String)]) -> Vec<String> {
    let mut modules = BTreeMap::new();
    for (path, text) in files {
        read(module_of(path), &tokens(text), &mut modules);
    }
    let for_tests: Vec<Module> = modules
        .iter()
        .flat_map(|(module, text)| text.tests.iter().map(|name| within(module, name)))
        .collect();
    modules.retain(|module, _| !for_tests.iter().any(|test| module.starts_with(test)));

    // By the module that two others are within: who of its children imports whom.
    let mut levels: BTreeMap<Module, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    for (module, text) in &modules {
        for path in &text.paths {
            let Some(imported) = resolve(&modules, module, path, 0) else {
                continue;
            };
            let common = module.iter().zip(&imported);
            let common = common.take_while(|(one, other)| one == other).count();
            if let (Some(one), Some(other)) = (module.get(common), imported.get(common)) {
                let level = levels.entry(module[..common].to_vec()).or_default();
                level.entry(one.clone()).or_default().insert(other.clone());
            }
        }
    }
    let mut found = Vec::new();
    for (parent, imports) in &levels {
        for begin in imports.keys() {
            if let Some(way) = way_round(imports, begin)
                // Each cycle is reported once, beginning with its first module.
                && way.iter().min() == Some(begin)
            {
                let place = if parent.is_empty() {
                    String::new()
                } else {
                    format!("in {}: ", parent.join("::"))
                };
                found.push(format!("{place}{} -> {begin}", way.join(" -> ")));
            }
        }
    }
    found
}

/// The shortest path from a module through imports back to itself.
fn way_round(imports: &BTreeMap<String, BTreeSet<String>>, begin: &String) -> Option<Vec<String>> {
    let mut ways = vec![vec![begin.clone()]];
    let mut seen = BTreeSet::new();
    while !ways.is_empty() {
        let mut longer = Vec::new();
        for way in ways {
            let last = way.last().expect("a way has a begin");
            for next in imports.get(last).into_iter().flatten() {
                if next == begin {
                    return Some(way);
                }
                if seen.insert(next.clone()) {
                    let mut way = way.clone();
                    way.push(next.clone());
                    longer.push(way);
                }
            }
        }
        ways = longer;
    }
    None
}

/// `a/b.rs` and `a/b/mod.rs` are `a::b`; `lib.rs` and `main.rs` are the root.
fn module_of(path: &str) -> Module {
    let path = path.strip_suffix(".rs").expect("Rust");
    let mut module: Module = path.split('/').map(str::to_owned).collect();
    let last = module.last().map(String::as_str);
    if last == Some("mod") || (module.len() == 1 && matches!(last, Some("lib" | "main"))) {
        module.pop();
    }
    module
}

fn within(module: &[String], name: &str) -> Module {
    let mut module = module.to_vec();
    module.push(name.to_owned());
    module
}

/// The module that a path, as written in `module`, leads to.
fn resolve(
    modules: &BTreeMap<Module, Text>,
    module: &[String],
    path: &[String],
    passed_on: usize,
) -> Option<Module> {
    let mut at = match path.first()?.as_str() {
        "crate" => Module::new(),
        "self" | "super" => module.to_vec(),
        first if modules.contains_key(&within(module, first)) => module.to_vec(),
        _ => return None,
    };
    let mut rest = path;
    while let Some((first, behind)) = rest.split_first() {
        match first.as_str() {
            "crate" | "self" => {}
            "super" => {
                at.pop()?;
            }
            name if modules.contains_key(&within(&at, name)) => at.push(name.to_owned()),
            name => {
                // After sixteen re-exports, they must be circular.
                return passed_on_from(modules, &at, name, passed_on).or(Some(at));
            }
        }
        rest = behind;
    }
    Some(at)
}

/// The module that defines a name which this module imports.
fn passed_on_from(
    modules: &BTreeMap<Module, Text>,
    module: &[String],
    name: &str,
    passed_on: usize,
) -> Option<Module> {
    let text = modules.get(module)?;
    if text.items.contains(name) || passed_on >= 16 {
        return None;
    }
    if let Some(path) = text.names.get(name) {
        return resolve(modules, module, path, passed_on + 1);
    }
    text.globs.iter().find_map(|glob| {
        let from = resolve(modules, module, glob, passed_on + 1)?;
        if modules.get(&from)?.items.contains(name) {
            return Some(from);
        }
        passed_on_from(modules, &from, name, passed_on + 1)
    })
}

/// Reads a module, and the modules that are written inline in it.
fn read(module: Module, tokens: &[String], modules: &mut BTreeMap<Module, Text>) {
    let mut text = Text::default();
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let next = tokens.get(at + 1).map(String::as_str);
        match token.as_str() {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            "#" if is_for_tests(&tokens[at..]) => {
                let begin = at;
                at = end_of_item(tokens, at);
                if let [.., "mod", name, ";"] = strings(&tokens[begin..at])[..] {
                    text.tests.insert(name.to_owned());
                }
                continue;
            }
            "mod" if tokens.get(at + 2).is_some_and(|token| token == "{") => {
                let end = end_of_item(tokens, at);
                let name = next.expect("a name");
                read(within(&module, name), &tokens[at + 3..end - 1], modules);
                at = end;
                continue;
            }
            "struct" | "enum" | "union" | "trait" | "fn" | "const" | "static" | "type"
                if depth == 0 =>
            {
                text.items.extend(next.map(str::to_owned));
            }
            // `use<'a>` is a capture in a type, not an import.
            "use" if next != Some("<") => {
                let end = tokens[at..].iter().position(|token| token == ";");
                let end = at + end.expect("an import ends");
                import(&[], &tokens[at + 1..end], &mut text);
                at = end;
            }
            "crate" | "self" | "super" if next == Some("::") => {
                let mut path = vec![token.clone()];
                while let [colons, name, ..] = &tokens[at + 1..]
                    && colons == "::"
                    && is_name(name)
                {
                    path.push(name.clone());
                    at += 2;
                }
                text.paths.push(path);
            }
            _ => {}
        }
        at += 1;
    }
    modules.insert(module, text);
}

/// Reads the tree after `use`; `before` is the path above it.
fn import(before: &[String], tree: &[String], text: &mut Text) {
    let mut path = before.to_vec();
    let mut at = 0;
    while let Some(token) = tree.get(at) {
        match token.as_str() {
            "::" => {}
            "{" => {
                for branch in branches(&tree[at + 1..tree.len() - 1]) {
                    import(&path, branch, text);
                }
                return;
            }
            "*" => {
                text.paths.push(path.clone());
                text.globs.push(path);
                return;
            }
            "as" => break,
            name => path.push(name.to_owned()),
        }
        at += 1;
    }
    // `{self}` is the path before the braces.
    path.pop_if(|last| last == "self");
    let Some(last) = path.last() else {
        return;
    };
    let name = tree.get(at + 1).unwrap_or(last);
    text.names.insert(name.clone(), path.clone());
    text.paths.push(path);
}

/// The parts between commas outside of braces.
fn branches(tokens: &[String]) -> Vec<&[String]> {
    let mut depth = 0_usize;
    let parts = tokens.split(|token| {
        match token.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        depth == 0 && token == ","
    });
    parts.filter(|part| !part.is_empty()).collect()
}

/// Whether an attribute begins here that compiles the next item only for tests.
fn is_for_tests(tokens: &[String]) -> bool {
    let end = tokens.iter().position(|token| token == "]");
    let attribute = strings(&tokens[..end.unwrap_or_default()]);
    attribute.starts_with(&["#", "[", "cfg", "("])
        && attribute.contains(&"test")
        && !attribute.contains(&"not")
}

/// The position after the item that begins here with its attributes.
fn end_of_item(tokens: &[String], begin: usize) -> usize {
    let mut depth = 0_usize;
    let mut import = false;
    for (at, token) in tokens.iter().enumerate().skip(begin) {
        match token.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => {
                depth -= 1;
                if depth == 0 && token == "}" && !import {
                    return at + 1;
                }
            }
            ";" if depth == 0 => return at + 1,
            "use" if depth == 0 => import = true,
            _ => {}
        }
    }
    tokens.len()
}

fn strings(tokens: &[String]) -> Vec<&str> {
    tokens.iter().map(String::as_str).collect()
}
