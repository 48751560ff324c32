//! Redacts XML and HTML by elements and attributes; everything else stays as it is, line by line.
//!
//! Hidden are the content of an element with a secret name (all of it, with CDATA and children), the value of an
//! attribute with one, and any value that another attribute or the label before it names as secret: `<input
//! name="password" value="…">`, `<entry key="token">…</entry>`, `<key>password</key><string>…</string>`. Entities in
//! other text and attributes are undone, and it is redacted like any text. Scripts in a page are hidden, because there
//! is no parser for them here.
//!
//! What names a value may stand behind it, or far from it (`labels`); then the text is read twice.
//!
//! XML must be well formed, and HTML must close what it opens. Otherwise nobody can tell which value belongs where, and
//! the whole text is hidden.

mod characters;
mod ends;
mod entities;
mod implied;
mod known;
mod labels;
mod strict;
mod tables;
mod tag;
mod written;

use std::collections::HashSet;

use super::Redactor;
use super::hidden::HideReason;
use characters::{Label, REMARKS};
pub(super) use entities::{escape, unescaped};
use known::{VALUED, VOID, is_naming};
use labels::{Controls, Found, Known, Mark};
use tables::OpenTable;
use tag::{Tag, name_at};

/// XML or HTML; they differ in what may be left open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    Xml,
    Html,
}

/// Most open elements. Deeper nesting is refused, because closing an element searches through them.
const MAX_OPEN: usize = 256;

/// Redacts a text in XML or HTML that is nested in `depth` others. `None` if it cannot be parsed.
pub(super) fn redacted(
    redactor: &Redactor,
    text: &str,
    dialect: Option<Dialect>,
    depth: usize,
) -> Option<String> {
    let declared = dialect.is_some() || text.starts_with("<?xml");
    let dialect = match dialect {
        Some(dialect) => dialect,
        None => strict::dialect_of(text)?,
    };
    if dialect == Dialect::Xml && declared && !strict::structure_of(text)?.is_document() {
        return None;
    }
    let first = read(redactor, text, dialect, depth, Known::default())?;
    if first.found.is_empty() {
        return Some(first.out);
    }
    // What names a value may stand behind it.
    let second = read(redactor, text, dialect, depth, Known::of(first.found))?;
    Some(second.out)
}

/// Reads a text once.
fn read<'a>(
    redactor: &'a Redactor,
    text: &'a str,
    dialect: Dialect,
    depth: usize,
    known: Known,
) -> Option<MarkupReader<'a>> {
    let mut reader = MarkupReader {
        redactor,
        text,
        dialect,
        depth,
        ended: ended(text),
        out: String::with_capacity(text.len()),
        open: Vec::new(),
        hidden: None,
        labelled: false,
        label: Label::default(),
        emptied: false,
        broken: false,
        tables: vec![OpenTable::default()],
        headed: None,
        controls: Controls::of(text, dialect),
        follows: None,
        found: Found::default(),
        known,
    };
    reader.run()?;
    Some(reader)
}

/// The lower-case names of all elements that have an end tag.
fn ended(text: &str) -> HashSet<String> {
    text.match_indices("</")
        .map(|(at, _)| name_at(text, at + 2).to_ascii_lowercase())
        .collect()
}

struct OpenElement {
    name: String,
    /// Position of its start tag.
    at: usize,
    /// Start of its content, if that must be hidden.
    hidden: Option<usize>,
    /// Start of its content in the text, and in the output.
    content: usize,
    written: usize,
    mark: Mark,
    /// Child elements so far.
    children: usize,
    /// The child element that names a secret; its siblings hold the value.
    naming: Option<String>,
    /// The value precedes its name, so the whole content is hidden.
    rewritten: bool,
}

struct MarkupReader<'a> {
    redactor: &'a Redactor,
    text: &'a str,
    dialect: Dialect,
    depth: usize,
    ended: HashSet<String>,
    out: String,
    open: Vec<OpenElement>,
    /// Index in `open` of the element whose content is hidden.
    hidden: Option<usize>,
    /// Whether the last text is a label for what comes next.
    labelled: bool,
    label: Label,
    /// Whether an element with a secret name just ended without content.
    emptied: bool,
    /// Whether some text is the rest of a damaged tag.
    broken: bool,
    /// The open tables; the first entry is for rows outside of any table.
    tables: Vec<OpenTable>,
    /// Where the last table began, if it had secret columns and no cells: they are in the next one.
    headed: Option<usize>,
    controls: Controls,
    /// Where the last element ended, if it was empty and named a secret: its value is in the next one.
    follows: Option<usize>,
    /// What names values anywhere in the text.
    found: Found,
    /// The same, from the first time that the text was read.
    known: Known,
}

impl MarkupReader<'_> {
    fn run(&mut self) -> Option<()> {
        let mut at = 0;
        while at < self.text.len() {
            let tag = self.construct_from(at);
            if tag > at {
                self.characters(at..tag, true);
                at = tag;
                continue;
            }
            at = self.construct(at)?;
        }
        self.end_with_the_text()?;
        (self.hidden.is_none()
            && !self.broken
            && (self.dialect == Dialect::Html || self.open.is_empty()))
        .then_some(())
    }

    /// Reads the tag, comment or declaration at `at`, and returns where it ends.
    fn construct(&mut self, at: usize) -> Option<usize> {
        let rest = self.text.get(at..)?;
        if let Some(inner) = rest.strip_prefix("<!--") {
            let length = inner.find("-->")?;
            let content = inner.get(..length)?;
            if self.hidden.is_none() {
                self.comment(content);
            }
            return Some(at + 4 + length + 3);
        }
        if let Some(inner) = rest.strip_prefix("<![CDATA[") {
            let length = inner.find("]]>")?;
            let from = at + 9;
            self.push("<![CDATA[");
            self.characters(from..from + length, false);
            self.push("]]>");
            return Some(from + length + 3);
        }
        if rest.starts_with("<!") {
            let length = strict::declaration(rest)?;
            self.push(rest.get(..length)?);
            return Some(at + length);
        }
        if rest.starts_with("<?") {
            let length = rest.find("?>")? + 2;
            let instruction = rest.get(..length)?;
            let begun = self.out.contains(|before| before != '\u{feff}');
            let declares = instruction.strip_prefix("<?xml ");
            if declares.is_some_and(|rest| !(begun || rest.contains('<'))) {
                self.push(instruction);
            } else {
                let hash = self
                    .redactor
                    .hide(instruction.as_bytes(), HideReason::Unsupported);
                self.push(&hash);
            }
            return Some(at + length);
        }
        if rest.starts_with("</") {
            let (_, end) = strict::end_tag(self.text, at)?;
            self.close(at, end)?;
            return Some(end);
        }
        self.start(at)
    }

    /// Where the next tag, comment or declaration begins. In HTML any other `<` is text; XML has no such text.
    fn construct_from(&self, from: usize) -> usize {
        let rest = self.text.get(from..).unwrap_or_default();
        memchr::memchr_iter(b'<', rest.as_bytes())
            .map(|at| from + at)
            .find(|at| {
                let next = self.text.get(at + 1..).and_then(|rest| rest.chars().next());
                self.dialect == Dialect::Xml
                    || next
                        .is_some_and(|next| is_name_start(next) || matches!(next, '!' | '?' | '/'))
            })
            .unwrap_or(self.text.len())
    }

    fn push(&mut self, text: &str) {
        if self.hidden.is_none() {
            self.out.push_str(text);
        }
    }

    fn start(&mut self, at: usize) -> Option<usize> {
        let tag = tag::start(self.text, at, self.dialect)?;
        let html = self.dialect == Dialect::Html;
        if html && ((tag.odd && self.mentions_secret_near(at, &tag)) || self.is_cut(&tag)) {
            return None;
        }
        // An address in angle brackets, as in Markdown and in messages, is a text.
        let written = self.text.get(at..tag.end)?;
        if html && tag.name.ends_with(':') && written.contains("://") {
            let clean = self.redactor.text(written, self.depth);
            self.push(&clean);
            return Some(tag.end);
        }
        let lower = tag.name.to_ascii_lowercase();
        let is_void = html && VOID.contains(&&*lower);
        if html {
            self.end_before(&lower, at)?;
        }
        self.row_or_cell(&lower);
        let ends = self.ended.contains(&lower) || (html && implied::may_stay_open(&lower));
        let void = tag.closed || (html && !ends);
        if self.hidden.is_some() {
            if !(void || is_void) {
                self.opened(lower, at, tag.end, false)?;
            }
            return Some(tag.end);
        }
        let secret = self.redactor.secret_names.contains(&tag.name);
        let named = tag.attributes.iter().any(|attribute| {
            let value = self.text.get(attribute.value.clone()).unwrap_or_default();
            if attribute.name.is_empty() {
                return self.redactor.secret_names.any_word_of(value);
            }
            self.is_naming(&attribute.name)
                && self.redactor.secret_names.contains(&unescaped(value))
        }) || (html && self.is_labelled_elsewhere(&lower, at, &tag));
        self.emptied = tag.closed && (secret || named) && !VOID.contains(&&*lower);
        let beside = self.is_named(&lower) | self.follows.take().is_some();
        self.is_named_by_value(&lower, &tag);
        self.names_what_follows(&lower, &tag);
        let labelled = self.labelled && (self.dialect == Dialect::Xml || VOID.contains(&&*lower));
        let valued = if html {
            VALUED.contains(&&*lower)
        } else {
            !(tag.closed && tag.attributes.is_empty())
        };
        if labelled && valued {
            self.labelled = false;
        }
        let labelled = (html && self.is_awaited(&lower, &tag)) || labelled;
        let cell = (self.is_column_secret() && lower == "td") || self.is_grid_cell(&tag);
        self.attributes(at, &tag, secret, named || labelled || beside);
        let program = html && matches!(&*lower, "script" | "style");
        if program && !ends && !tag.closed {
            return None;
        }
        if void || (is_void && !(secret || named)) {
            self.label.begun = html && !self.label.linked && REMARKS.contains(&&*lower);
            // Without an end tag, nobody can tell where the content ends.
            let whole = tag.closed || VOID.contains(&&*lower);
            return ((!secret && !named) || whole).then_some(tag.end);
        }
        if program {
            return self.raw(&lower, &tag);
        }
        let hidden = secret || named || labelled || cell || beside;
        let mark = html.then(|| labels::mark_of(self.text, &lower, &tag));
        self.opened(lower, at, tag.end, hidden)?;
        if let Some(open) = self.open.last_mut() {
            open.mark = mark.unwrap_or_default();
        }
        if hidden {
            self.labelled = false;
            self.hidden = Some(self.open.len() - 1);
        }
        Some(tag.end)
    }

    /// Whether a tag, or the text after it, mentions a secret.
    fn mentions_secret_near(&self, at: usize, tag: &Tag) -> bool {
        let rest = self.text.get(tag.end..).unwrap_or_default();
        let end = tag.end + rest.find('<').unwrap_or(rest.len());
        self.redactor
            .mentions_secret(self.text.get(at..end).unwrap_or_default())
    }

    /// Whether the text after a tag is the rest of that tag and has a secret name in it, so that the tag's values may
    /// be the secret: `<input value=x name=refresh>token>`.
    fn is_cut(&self, tag: &Tag) -> bool {
        let rest = self.text.get(tag.end..).unwrap_or_default();
        let text = rest.get(..rest.find('<').unwrap_or(rest.len()));
        let Some((rest, _)) = text.and_then(|text| text.split_once('>')) else {
            return false;
        };
        let blank = |sign: char| sign.is_whitespace();
        if tag.attributes.is_empty() || rest.starts_with(blank) || rest.ends_with(blank) {
            return false;
        }
        (rest.contains('=') || !rest.contains(blank))
            && self.redactor.secret_names.any_word_of(rest)
    }

    fn opened(&mut self, name: String, at: usize, content: usize, hidden: bool) -> Option<()> {
        if self.open.len() >= MAX_OPEN {
            return None;
        }
        if name == "table" {
            self.table_begins(at);
        }
        self.open.push(OpenElement {
            name,
            at,
            hidden: hidden.then_some(content),
            content,
            written: self.out.len(),
            mark: Mark::default(),
            children: 0,
            naming: None,
            rewritten: false,
        });
        Some(())
    }

    /// Whether an attribute names the value in the other attributes or in the content. In XML its last word decides,
    /// too: `fieldName`.
    fn is_naming(&self, attribute: &str) -> bool {
        is_naming(attribute)
            || (self.dialect == Dialect::Xml && super::last_word::says_name(attribute))
    }
}

fn is_name_start(character: char) -> bool {
    character.is_alphabetic() || character == '_' || character == ':'
}
