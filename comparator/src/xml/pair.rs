//! Writes two documents as JSON in one form.
//!
//! What form an element takes is decided for all elements of one path together, in both documents: if one of them has an
//! attribute, all are objects; if one stands beside another of its name, all are in lists. So a child more or less is a
//! finding of that child alone, and elements that a rule matches in any order have the same form.
//!
//! A prefix within a value is part of its text; whether it is one of a namespace nobody knows but the reader. So the text counts,
//! and if the same prefix stands for different namespaces, these count, too: then they are written before such values. Of
//! `xsi:type` it is known, so there the namespace takes the place of the prefix.

use std::rc::Rc;

use hashbrown::HashMap;
use parity_schemas::verdict::Reason;

use super::shapes::Shapes;
use super::tree::{Bindings, Bound, Content, Document, Element, NO_NAMESPACE, XSI_NAMESPACE};
use crate::notation::string;
use crate::rules::Renames;

/// A document may take this many times its own size as JSON; namespaces and orders that are written out may make it
/// larger, and nothing that people write comes near.
const MAX_GROWTH: usize = 16;
/// Bytes that even the shortest document may take.
const MIN_WRITTEN_BYTES: usize = 1 << 20;
/// Attributes in these are shown by the prefix that everybody uses; in any other, by the namespace itself.
const KNOWN_PREFIXES: [(&str, &str); 3] = [
    ("xml", "http://www.w3.org/XML/1998/namespace"),
    ("xsi", XSI_NAMESPACE),
    ("xlink", "http://www.w3.org/1999/xlink"),
];

/// The documents as JSON texts of at most `limit` bytes each. Elements that rules rename take one form under both names.
pub(crate) fn as_json(
    documents: [&Document; 2],
    renames: Option<Renames<'_>>,
    limit: usize,
) -> [Result<Vec<u8>, Reason>; 2] {
    let mut shapes = Shapes::default();
    let roots = documents.map(|document| shapes.at(None, &document.root.name));
    let shared = shared_numbers(documents);
    for ((document, root), shared) in documents.iter().zip(roots).zip(&shared) {
        shapes.learn(&document.root, root, NO_NAMESPACE, shared);
    }
    if let Some(renames) = renames {
        shapes.join_renamed(renames);
    }
    let roots = documents.map(|document| shapes.known(None, &document.root.name));
    if roots[0] == roots[1] {
        shapes.learn_orders([&documents[0].root, &documents[1].root], roots[0]);
    }
    let shows_bindings = are_ambiguous(documents.map(|document| &document.bindings), &shared);
    let shows_dtd = documents[0].dtd != documents[1].dtd;
    documents.map(|document| {
        let growth = document.bytes.saturating_mul(MAX_GROWTH);
        let mut writer = Writer {
            shapes: &shapes,
            namespaces: &document.namespaces,
            shows_bindings,
            out: Vec::with_capacity(document.bytes),
            limit: limit.min(growth.max(MIN_WRITTEN_BYTES)),
        };
        let dtd = Some(&*document.dtd).filter(|dtd| shows_dtd && !dtd.is_empty());
        writer.document(&document.root, dtd)?;
        Ok(writer.out)
    })
}

/// Whether a prefix within values stands for different namespaces, in one document or in both. `shared` as for
/// [`Shapes::learn`], of each.
fn are_ambiguous(bindings: [&Bindings; 2], shared: &[Vec<usize>; 2]) -> bool {
    let number = |side: usize, bound: Bound| match bound {
        Bound::Not => None,
        Bound::To(namespace) => shared[side].get(namespace).copied(),
    };
    let [legacy, candidate] = bindings;
    let is_several = |bindings: &Bindings| bindings.values().any(Option::is_none);
    is_several(legacy)
        || is_several(candidate)
        || legacy.iter().any(|(prefix, one)| {
            let other = candidate.get(prefix).copied().flatten();
            matches!((one, other), (Some(one), Some(other)) if number(0, *one) != number(1, other))
        })
}

/// For each document, the numbers of its namespaces in a list that both share.
fn shared_numbers(documents: [&Document; 2]) -> [Vec<usize>; 2] {
    let mut numbers: HashMap<&str, usize, foldhash::fast::RandomState> = HashMap::default();
    documents.map(|document| {
        let names = document.namespaces.iter().map(|name| {
            let next = numbers.len();
            *numbers.entry(name).or_insert(next)
        });
        names.collect()
    })
}

fn namespace_of(namespaces: &[Rc<str>], number: usize) -> &str {
    namespaces.get(number).map_or("", |name| name)
}

struct Writer<'a> {
    shapes: &'a Shapes,
    namespaces: &'a [Rc<str>],
    /// Whether values with a prefix are written with the namespace that it stands for.
    shows_bindings: bool,
    out: Vec<u8>,
    limit: usize,
}

impl Writer<'_> {
    fn document(&mut self, root: &Element, dtd: Option<&str>) -> Result<(), Reason> {
        let number = self.shapes.known(None, &root.name);
        let mut first = true;
        self.out.push(b'{');
        if let Some(dtd) = dtd {
            self.name("#doctype", &mut first);
            string::quote(dtd, &mut self.out);
        }
        self.name(&root.name, &mut first);
        self.element(root, number, NO_NAMESPACE)?;
        self.out.push(b'}');
        Ok(())
    }

    fn element(&mut self, element: &Element, number: usize, around: usize) -> Result<(), Reason> {
        let shape = &self.shapes.all[number];
        if !shape.is_object {
            self.value(element.text(), element.bound, false);
            return self.within_limit();
        }
        let mut first = true;
        self.out.push(b'{');
        if shape.is_apart && element.namespace != around {
            self.name("#namespace", &mut first);
            string::quote(
                namespace_of(self.namespaces, element.namespace),
                &mut self.out,
            );
        }
        for attribute in &element.attributes {
            let (name, namespace) = (
                &attribute.name,
                namespace_of(self.namespaces, attribute.namespace),
            );
            let known = KNOWN_PREFIXES.iter().find(|(_, known)| *known == namespace);
            let key = match known {
                _ if namespace.is_empty() => format!("@{name}"),
                Some((prefix, _)) => format!("@{prefix}:{name}"),
                None => format!("@{{{namespace}}}{name}"),
            };
            self.name(&key, &mut first);
            let is_type = attribute.is_type(self.namespaces);
            self.value(&attribute.value, attribute.bound, is_type);
            self.within_limit()?;
        }
        if shape.is_mixed {
            self.name("#mixed", &mut first);
            self.mixed(element, number)?;
        } else {
            let text = element.text();
            let is_indentation =
                shape.has_children && !element.keeps_space && text.trim_ascii().is_empty();
            if !(text.is_empty() || is_indentation) {
                self.name("#text", &mut first);
                self.value(text, element.bound, false);
            }
            if shape.is_ordered {
                self.name("#order", &mut first);
                let shapes = self.shapes;
                let names = shapes.ordered_names(element, number).into_iter();
                self.list(names, |writer, name| {
                    string::quote(name, &mut writer.out);
                    writer.within_limit()
                })?;
            }
            self.children(element, number, &mut first)?;
        }
        self.out.push(b'}');
        self.within_limit()
    }

    fn children(
        &mut self,
        element: &Element,
        number: usize,
        first: &mut bool,
    ) -> Result<(), Reason> {
        // In the order in which the names first occur.
        let mut names: Vec<(&str, Vec<&Element>)> = Vec::new();
        let mut places: HashMap<&str, usize, foldhash::fast::RandomState> = HashMap::default();
        for child in element.children() {
            let place = *places.entry(&child.name).or_insert(names.len());
            if place == names.len() {
                names.push((&child.name, Vec::new()));
            }
            names[place].1.push(child);
        }
        for (name, children) in names {
            let below = self.shapes.known(Some(number), name);
            let shape = &self.shapes.all[below];
            self.name(name, first);
            if shape.is_repeated {
                self.list(children.into_iter(), |writer, child| {
                    writer.element(child, below, element.namespace)
                })?;
            } else if let Some(child) = children.first() {
                self.element(child, below, element.namespace)?;
            }
        }
        Ok(())
    }

    /// All that an element holds, in order: texts, and objects with one child each.
    fn mixed(&mut self, element: &Element, number: usize) -> Result<(), Reason> {
        self.list(element.content.iter(), |writer, content| match content {
            Content::Text(text) => {
                string::quote(text, &mut writer.out);
                writer.within_limit()
            }
            Content::Child(child) => {
                let below = writer.shapes.known(Some(number), &child.name);
                writer.out.push(b'{');
                writer.name(&child.name, &mut true);
                writer.element(child, below, element.namespace)?;
                writer.out.push(b'}');
                Ok(())
            }
        })
    }

    fn list<T>(
        &mut self,
        items: impl Iterator<Item = T>,
        mut write: impl FnMut(&mut Self, T) -> Result<(), Reason>,
    ) -> Result<(), Reason> {
        self.out.push(b'[');
        for (index, item) in items.enumerate() {
            if index > 0 {
                self.out.push(b',');
            }
            write(self, item)?;
        }
        self.out.push(b']');
        Ok(())
    }

    /// A text, with the namespace of its prefix where that is not the same everywhere.
    fn value(&mut self, text: &str, bound: Option<Bound>, is_type: bool) {
        if !(is_type || self.shows_bindings) {
            return string::quote(text, &mut self.out);
        }
        let Some(Bound::To(namespace)) = bound else {
            // It must not pass for one that has a namespace.
            let mark = if text.starts_with('{') { "{}" } else { "" };
            return string::quote(&format!("{mark}{text}"), &mut self.out);
        };
        let namespace = match namespace_of(self.namespaces, namespace) {
            "" => String::new(),
            namespace => format!("{{{namespace}}}"),
        };
        let name = match text.trim_ascii().split_once(':') {
            Some((_, local)) if is_type => local,
            None if is_type => text.trim_ascii(),
            _ => text,
        };
        string::quote(&format!("{namespace}{name}"), &mut self.out);
    }

    fn name(&mut self, name: &str, first: &mut bool) {
        if !std::mem::take(first) {
            self.out.push(b',');
        }
        string::quote(name, &mut self.out);
        self.out.push(b':');
    }

    fn within_limit(&self) -> Result<(), Reason> {
        if self.out.len() > self.limit {
            return Err(Reason::ResponseTooLarge);
        }
        Ok(())
    }
}
