//! Builds the tree from tokens, and refuses what is not well-formed beyond what the tokenizer refuses.
//!
//! Only work in proportion to the text: prefixes are looked up in a table, not among all open elements, and attributes
//! are checked for repetition by a set.

use std::borrow::Cow;
use std::rc::Rc;

use hashbrown::{HashMap, HashSet};
use parity_schemas::verdict::Reason;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::reader::Reader;

use super::tree::{Attribute, Bindings, Bound, Content, Document, Element, NO_NAMESPACE, XmlError};

/// That of `xml:lang` and `xml:space`, which nobody declares.
const XML_NAMESPACE: &str = "http://www.w3.org/XML/1998/namespace";
/// Reads a text that is in UTF-8, without a byte order mark, whatever encoding it declares.
pub(crate) fn parse(text: &str, max_depth: usize) -> Result<Document, XmlError> {
    if let Some(sign) = text.chars().find(|sign| !is_allowed(*sign)) {
        return Err(syntax(format!("U+{:04X} is no character", u32::from(sign))));
    }
    let mut reader = Reader::from_str(text);
    let config = reader.config_mut();
    config.check_comments = true;
    config.expand_empty_elements = true;
    let mut builder = Builder {
        max_depth,
        ..Builder::default()
    };
    let none = builder.numbered("");
    debug_assert_eq!(none, NO_NAMESPACE);
    let mut first = true;
    loop {
        match reader.read_event() {
            Ok(Event::Eof) => break,
            Ok(event) => builder.event(event, first)?,
            Err(error) => return Err(syntax(error.to_string())),
        }
        first = false;
    }
    match (builder.open.is_empty(), builder.root) {
        (false, _) => Err(syntax("an element is not closed")),
        (true, None) => Err(syntax("there is no element")),
        (true, Some(root)) => Ok(Document {
            root,
            namespaces: builder.all_namespaces,
            dtd: builder.dtd,
            bindings: builder.bindings,
            bytes: text.len(),
        }),
    }
}

fn syntax(problem: impl Into<String>) -> XmlError {
    XmlError::Syntax(problem.into())
}

/// An element whose end has not come, with what its end undoes.
struct Open {
    element: Element,
    /// The prefixes that it declares.
    declared: Vec<String>,
    /// Whether white space between elements counts in it, and in those within it.
    preserves: bool,
}

#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    root: Option<Element>,
    /// The namespaces of each prefix, the innermost last. The service chooses prefixes, so the hash must not be
    /// predictable for it.
    prefixes: HashMap<String, Vec<usize>, foldhash::fast::RandomState>,
    all_namespaces: Vec<Rc<str>>,
    numbers: HashMap<Rc<str>, usize, foldhash::fast::RandomState>,
    /// Whether there is a DOCTYPE, which may declare entities elsewhere.
    has_doctype: bool,
    dtd: String,
    bindings: Bindings,
    max_depth: usize,
}

impl Builder {
    fn event(&mut self, event: Event<'_>, first: bool) -> Result<(), XmlError> {
        match event {
            Event::Start(tag) => self.begin(&tag),
            Event::End(_) => self.end(),
            // With every empty element expanded, there is no such event.
            Event::Empty(tag) => self.begin(&tag).and_then(|()| self.end()),
            Event::Text(text) => {
                let text = text.xml10_content();
                if text.contains("]]>") {
                    return Err(syntax("`]]>` stands in text"));
                }
                self.text(&text)
            }
            Event::CData(_) if self.open.is_empty() => {
                Err(syntax("text stands outside of the root element"))
            }
            Event::CData(text) => {
                let text = text.xml10_content();
                self.keep_space(&text);
                self.text(&text)
            }
            Event::GeneralRef(reference) => {
                let text = self.resolved(&reference)?;
                if self.open.is_empty() {
                    return Err(syntax("text stands outside of the root element"));
                }
                let mut bytes = [0; 4];
                let text = &*text.encode_utf8(&mut bytes);
                self.keep_space(text);
                self.text(text)
            }
            Event::Decl(_) if !first => Err(syntax("the declaration is not at the start")),
            Event::PI(instruction) if instruction.target().eq_ignore_ascii_case("xml") => {
                Err(syntax("the declaration is not at the start"))
            }
            Event::DocType(text) => {
                if self.has_doctype || self.root.is_some() || !self.open.is_empty() {
                    return Err(syntax("a DOCTYPE is not before the root element"));
                }
                self.has_doctype = true;
                if text.contains('[') {
                    return Err(XmlError::Declares);
                }
                self.dtd = dtd(&text);
                Ok(())
            }
            Event::Comment(_) | Event::PI(_) | Event::Decl(_) | Event::Eof => Ok(()),
        }
    }

    fn begin(&mut self, tag: &BytesStart<'_>) -> Result<(), XmlError> {
        if self.open.is_empty() && self.root.is_some() {
            return Err(syntax("there is a second root element"));
        }
        if self.open.len() >= self.max_depth {
            return Err(XmlError::Limit(Reason::TooDeep));
        }
        let mut declared = Vec::new();
        let mut plain = Vec::new();
        let mut preserves = self.open.last().is_some_and(|open| open.preserves);
        let mut attributes = tag.attributes();
        // Its own check compares each attribute with all before it.
        for attribute in attributes.with_checks(false) {
            let attribute = attribute.map_err(|error| syntax(error.to_string()))?;
            let name = attribute.key.as_ref();
            let value = self.value(&attribute.value)?;
            let prefix = match name.strip_prefix("xmlns") {
                Some("") => Some(""),
                Some(rest) => rest.strip_prefix(':'),
                None => None,
            };
            if let Some(prefix) = prefix {
                if !prefix.is_empty() && (value.is_empty() || !is_name(prefix)) {
                    return Err(syntax("a prefix is declared without a namespace"));
                }
                declared.push((prefix.to_owned(), value));
            } else {
                if name == "xml:space" {
                    preserves = value == "preserve";
                }
                plain.push((name.to_owned(), value));
            }
        }
        let mut once = HashSet::with_hasher(foldhash::fast::RandomState::default());
        for (prefix, namespace) in &declared {
            if !once.insert(prefix.clone()) {
                return Err(syntax("an attribute is given twice"));
            }
            let number = self.numbered(namespace);
            self.prefixes
                .entry_ref(prefix.as_str())
                .or_default()
                .push(number);
        }
        let name = tag.name();
        let (prefix, local) = parted(name.as_ref())?;
        let namespace = self.namespace(prefix)?;
        let element = Element {
            name: local.to_owned(),
            namespace,
            attributes: self.attributes(plain)?,
            content: Vec::new(),
            keeps_space: preserves,
            bound: None,
        };
        self.open.push(Open {
            element,
            declared: declared.into_iter().map(|(prefix, _)| prefix).collect(),
            preserves,
        });
        Ok(())
    }

    fn attributes(&mut self, plain: Vec<(String, String)>) -> Result<Vec<Attribute>, XmlError> {
        let mut once = HashSet::with_hasher(foldhash::fast::RandomState::default());
        let mut attributes = Vec::with_capacity(plain.len());
        for (name, value) in plain {
            let (prefix, local) = parted(&name)?;
            // One without a prefix is in no namespace, whatever its element is in.
            let namespace = match prefix {
                "" => NO_NAMESPACE,
                prefix => self.namespace(prefix)?,
            };
            if !once.insert((namespace, local.to_owned())) {
                return Err(syntax("an attribute is given twice"));
            }
            let mut attribute = Attribute {
                namespace,
                name: local.to_owned(),
                bound: self.bound(&value),
                value,
            };
            if attribute.is_type(&self.all_namespaces) && is_name(attribute.value.trim_ascii()) {
                attribute.bound = Some(Bound::To(self.namespace("")?));
            }
            attributes.push(attribute);
        }
        Ok(attributes)
    }

    /// What the prefix of a value stands for here; `None` if it has not the form of a name with a prefix.
    fn bound(&mut self, value: &str) -> Option<Bound> {
        let (prefix, local) = value.trim_ascii().split_once(':')?;
        if !(is_name(prefix) && is_name(local)) {
            return None;
        }
        // That nothing declares it is no mistake: it may be any other text.
        let bound = self.namespace(prefix).map_or(Bound::Not, Bound::To);
        let known = self.bindings.entry_ref(prefix).or_insert(Some(bound));
        if *known != Some(bound) {
            *known = None;
        }
        Some(bound)
    }

    /// White space that a reference or CDATA stands for was not put there to indent.
    fn keep_space(&mut self, text: &str) {
        if let Some(open) = self.open.last_mut() {
            open.element.keeps_space |= !text.is_empty() && text.bytes().all(is_space);
        }
    }

    fn end(&mut self) -> Result<(), XmlError> {
        let Some(Open {
            mut element,
            declared,
            ..
        }) = self.open.pop()
        else {
            return Err(syntax("an element is closed that is not open"));
        };
        if let [Content::Text(text)] = element.content.as_slice() {
            element.bound = self.bound(text);
        }
        for prefix in declared {
            if let Some(stack) = self.prefixes.get_mut(&prefix) {
                stack.pop();
            }
        }
        let only_space = element.content.iter().all(|content| match content {
            Content::Text(text) => text.bytes().all(is_space),
            Content::Child(_) => true,
        });
        if only_space && !element.keeps_space && element.children().next().is_some() {
            element
                .content
                .retain(|content| matches!(content, Content::Child(_)));
        }
        match self.open.last_mut() {
            Some(outer) => outer.element.content.push(Content::Child(element)),
            None => self.root = Some(element),
        }
        Ok(())
    }

    fn text(&mut self, text: &str) -> Result<(), XmlError> {
        let Some(open) = self.open.last_mut() else {
            if text.bytes().all(is_space) {
                return Ok(());
            }
            return Err(syntax("text stands outside of the root element"));
        };
        match open.element.content.last_mut() {
            Some(Content::Text(before)) => before.push_str(text),
            _ if text.is_empty() => {}
            _ => open.element.content.push(Content::Text(text.to_owned())),
        }
        Ok(())
    }

    /// The value of an attribute, normalized as one that no declaration describes.
    fn value(&self, raw: &str) -> Result<String, XmlError> {
        if raw.contains('<') {
            return Err(syntax("`<` stands in an attribute"));
        }
        let mut value = String::with_capacity(raw.len());
        let mut rest: Cow<'_, str> = Cow::Borrowed(raw);
        if rest.contains('\r') {
            rest = Cow::Owned(rest.replace("\r\n", "\n"));
        }
        let mut rest = &*rest;
        while let Some((before, after)) = rest.split_once('&') {
            push_normalized(before, &mut value);
            let Some((reference, after)) = after.split_once(';') else {
                return Err(syntax("`&` begins no reference"));
            };
            value.push(self.resolved(&BytesRef::new(reference))?);
            rest = after;
        }
        push_normalized(rest, &mut value);
        Ok(value)
    }

    /// The character that a reference stands for. Entities that something must have declared are not expanded.
    fn resolved(&self, reference: &BytesRef<'_>) -> Result<char, XmlError> {
        let sign = reference
            .resolve_char_ref()
            .map_err(|error| syntax(error.to_string()))?;
        match (sign, &**reference) {
            (Some(sign), _) if is_allowed(sign) => Ok(sign),
            (Some(_), _) => Err(syntax("a reference to no character")),
            (None, "lt") => Ok('<'),
            (None, "gt") => Ok('>'),
            (None, "amp") => Ok('&'),
            (None, "apos") => Ok('\''),
            (None, "quot") => Ok('"'),
            (None, _) if self.has_doctype => Err(XmlError::Declares),
            (None, _) => Err(syntax("an entity is not declared")),
        }
    }

    fn namespace(&mut self, prefix: &str) -> Result<usize, XmlError> {
        let stack = self.prefixes.get(prefix);
        match stack.and_then(|stack| stack.last()) {
            Some(namespace) => Ok(*namespace),
            None if prefix.is_empty() => Ok(NO_NAMESPACE),
            None if prefix == "xml" => Ok(self.numbered(XML_NAMESPACE)),
            None => Err(syntax("a prefix is not declared")),
        }
    }

    fn numbered(&mut self, namespace: &str) -> usize {
        if let Some(number) = self.numbers.get(namespace) {
            return *number;
        }
        let (number, namespace) = (self.all_namespaces.len(), Rc::<str>::from(namespace));
        self.all_namespaces.push(Rc::clone(&namespace));
        self.numbers.insert(namespace, number);
        number
    }
}

/// White space in an attribute counts as blanks (XML 1.0 §3.3.3), unless a reference stands for it.
fn push_normalized(text: &str, value: &mut String) {
    value.extend(text.chars().map(|sign| match sign {
        '\t' | '\n' | '\r' => ' ',
        sign => sign,
    }));
}

/// The identifiers of the DTD that a DOCTYPE names, whatever quotes they stand in.
fn dtd(doctype: &str) -> String {
    let mut identifiers = Vec::new();
    let mut rest = doctype;
    while let Some(quote) = rest.matches(['"', '\'']).next() {
        let Some((_, after)) = rest.split_once(quote) else {
            break;
        };
        let Some((identifier, after)) = after.split_once(quote) else {
            break;
        };
        identifiers.push(identifier);
        rest = after;
    }
    identifiers.join(" ")
}

/// The prefix, which may be empty, and the local part.
fn parted(name: &str) -> Result<(&str, &str), XmlError> {
    let (prefix, local) = name.split_once(':').unwrap_or(("", name));
    let sound = is_name(local) && (is_name(prefix) || !name.contains(':'));
    sound
        .then_some((prefix, local))
        .ok_or_else(|| syntax("a name that is none"))
}

/// Whether it is a name without a colon. Beyond ASCII all are taken for letters, as by most parsers.
fn is_name(text: &str) -> bool {
    let starts = |sign: char| sign.is_ascii_alphabetic() || sign == '_' || !sign.is_ascii();
    let goes_on = |sign: char| starts(sign) || sign.is_ascii_digit() || matches!(sign, '-' | '.');
    text.starts_with(starts) && text.chars().all(goes_on)
}

/// Characters of XML 1.0 (§2.2).
fn is_allowed(sign: char) -> bool {
    matches!(sign, '\t' | '\n' | '\r' | '\u{20}'..='\u{fffd}' | '\u{10000}'..)
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}
