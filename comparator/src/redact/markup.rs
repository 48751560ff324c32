//! XML and HTML, redacted by elements and attributes; everything else stays as it is, line by line.
//!
//! Hidden is what stands in an element with a secret name (all of it, CDATA and children too), in an attribute with one,
//! and in what is named by another attribute or by the label before it: `<input name="password" value="…">`, `<entry
//! key="token">…</entry>`, `<key>password</key><string>…</string>`. Other text and attributes are looked into as any
//! text is, without their entities. Programs in a page are not kept, because nothing here reads them.
//!
//! XML must be well formed, HTML must end what it begins; else there is no telling what stands where, and the whole is
//! refused.

mod characters;
mod entities;
mod implied;
mod known;
mod strict;
mod tables;
mod tag;
mod written;

use std::collections::HashSet;

use super::Redactor;
use super::hidden::Why;
use characters::{Label, REMARKS, without_tags};
pub(super) use entities::{escape, unescaped};
use known::{RAW, VALUED, VOID, is_naming};
use tables::Table;
use tag::{Tag, name_at};

/// Which of the two; they differ in what may be left open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    Xml,
    Html,
}

/// Elements that are open at a time; deeper is refused, because closing one looks through them.
const MAX_OPEN: usize = 256;

/// A text in XML or HTML without what must not leave; it stands within `depth` other texts. `None` when it cannot be
/// read.
pub(super) fn redacted(
    redactor: &Redactor,
    text: &str,
    dialect: Option<Dialect>,
    depth: usize,
) -> Option<String> {
    let declared = dialect.is_some() || text.starts_with("<?xml");
    let dialect = dialect.unwrap_or_else(|| {
        if strict::is_xml(text) {
            Dialect::Xml
        } else {
            Dialect::Html
        }
    });
    if dialect == Dialect::Xml && declared && !strict::form_of(text)?.is_document() {
        return None;
    }
    let mut reader = Reader {
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
        tables: vec![Table::default()],
    };
    reader.run()?;
    Some(reader.out)
}

/// The names of all elements that end somewhere, in lower case.
fn ended(text: &str) -> HashSet<String> {
    text.match_indices("</")
        .map(|(at, _)| name_at(text, at + 2).to_ascii_lowercase())
        .collect()
}

struct Open {
    name: String,
    /// Where its tag begins.
    at: usize,
    /// Its content begins here and must not leave.
    hidden: Option<usize>,
    /// Where its content begins, and what is written of it.
    content: usize,
    written: usize,
    /// Elements in it so far.
    children: usize,
    /// The one in it that names a secret; what stands beside that is its value.
    naming: Option<String>,
    /// The value came before its name, so all of it goes.
    rewritten: bool,
}

struct Reader<'a> {
    redactor: &'a Redactor,
    text: &'a str,
    dialect: Dialect,
    depth: usize,
    ended: HashSet<String>,
    out: String,
    open: Vec<Open>,
    /// How many elements were open when the one was opened whose content is hidden.
    hidden: Option<usize>,
    /// What was last read names what comes next.
    labelled: bool,
    label: Label,
    /// An element with a secret name just ended without content.
    emptied: bool,
    /// Something in the text is left of a tag.
    broken: bool,
    /// Those that are open; the first stands for rows in none.
    tables: Vec<Table>,
}

impl Reader<'_> {
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

    /// What begins with `<` at `at`; where it ends.
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
                let hash = self.redactor.hide(instruction.as_bytes(), Why::Unread);
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

    /// Where the next tag, comment or declaration begins. Other signs are text in HTML; XML has none.
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

    fn close(&mut self, at: usize, end: usize) -> Option<()> {
        let name = name_at(self.text, at + 2).to_ascii_lowercase();
        let found = self.open.iter().rposition(|open| open.name == name);
        // An end within a table ends nothing around it.
        let found = found.filter(|found| {
            let mut within = self.open.iter().skip(found + 1);
            !implied::is_of_table(&name) || within.all(|open| open.name != "table")
        });
        let Some(found) = found else {
            // HTML forgives it; but where its begin was lost, what stands before it was its content.
            let content = self.redactor.names.contain(&name) || RAW.contains(&&*name);
            if self.dialect == Dialect::Xml || content {
                return None;
            }
            match &*name {
                "thead" => self.head_ended(),
                "table" => self.rows_end(),
                _ => {}
            }
            let tag = self.text.get(at..end)?;
            self.push(tag);
            return Some(());
        };
        if self.dialect == Dialect::Xml && found + 1 != self.open.len() {
            return None;
        }
        self.end(found, at)?;
        if name == "tr" {
            self.row_ended();
        }
        let tag = self.text.get(at..end)?;
        self.push(tag);
        Some(())
    }

    /// The elements from `found` on end at `at`.
    fn end(&mut self, found: usize, at: usize) -> Option<()> {
        /// Longest content that is read again as a label.
        const MAX_BYTES: usize = 512;
        let mut labelled = false;
        // What is hidden ends with its own element, or with one around it.
        if let Some(outer) = self.hidden
            && found <= outer
        {
            let from = self.open.get(outer).and_then(|open| open.hidden)?;
            let content = self.text.get(from..at)?;
            self.hidden = None;
            if self.open.get(outer).is_some_and(|open| open.name == "th") {
                self.is_head_of_column("");
            }
            if content.trim().is_empty() {
                self.emptied = true;
            } else {
                let hash = self.redactor.hash(content.trim().as_bytes());
                self.out.push_str(&hash);
                // What was taken for a value may be the name of one.
                let short = content.len() <= MAX_BYTES && !content.contains("<input");
                let plain = short.then(|| unescaped(&without_tags(content)));
                if let Some(plain) = plain.filter(|plain| self.is_label(plain)) {
                    self.name_siblings(&plain);
                    labelled = self.dialect == Dialect::Html
                        || !plain.trim().contains(char::is_whitespace);
                    if labelled {
                        self.is_head_of_column(&plain);
                    }
                }
            }
        } else {
            self.emptied = false;
        }
        let ended = self.open.get(found);
        if let Some(open) = ended.filter(|open| open.rewritten && self.hidden.is_none()) {
            let content = self.text.get(open.content..at)?;
            let hash = self.redactor.hash(content.trim().as_bytes());
            self.out.truncate(open.written);
            self.out.push_str(&hash);
        }
        self.open.truncate(found);
        self.tables_end();
        if self.open.len() < self.label.open {
            self.label.open = 0;
        }
        if labelled {
            self.labelled();
        }
        Some(())
    }

    fn start(&mut self, at: usize) -> Option<usize> {
        let tag = tag::start(self.text, at, self.dialect)?;
        let html = self.dialect == Dialect::Html;
        if html && ((tag.odd && self.speaks_around(at, &tag)) || self.is_cut(&tag)) {
            return None;
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
        let secret = self.redactor.names.contain(&tag.name);
        let named = tag.attributes.iter().any(|attribute| {
            let value = self.text.get(attribute.value.clone()).unwrap_or_default();
            if attribute.name.is_empty() {
                return self.redactor.names.are_among(value);
            }
            self.is_naming(&attribute.name) && self.redactor.names.contain(&unescaped(value))
        });
        self.emptied = tag.closed && (secret || named) && !VOID.contains(&&*lower);
        let beside = self.is_named(&lower);
        self.is_named_by_value(&lower, &tag);
        let labelled = self.labelled && (self.dialect == Dialect::Xml || VOID.contains(&&*lower));
        let valued = if html {
            VALUED.contains(&&*lower)
        } else {
            !(tag.closed && tag.attributes.is_empty())
        };
        if labelled && valued {
            self.labelled = false;
        }
        let cell = self.is_column_secret() && lower == "td";
        self.attributes(at, &tag, secret, named || labelled || beside);
        let program = html && matches!(&*lower, "script" | "style");
        if program && !ends && !tag.closed {
            return None;
        }
        if void || (is_void && !(secret || named)) {
            self.label.begun = html && !self.label.linked && REMARKS.contains(&&*lower);
            // What does not end has no place where its content stops.
            let whole = tag.closed || VOID.contains(&&*lower);
            return ((!secret && !named) || whole).then_some(tag.end);
        }
        if program {
            return self.raw(&lower, &tag);
        }
        let hidden = secret || named || labelled || cell || beside;
        self.opened(lower, at, tag.end, hidden)?;
        if hidden {
            self.labelled = false;
            self.hidden = Some(self.open.len() - 1);
        }
        Some(tag.end)
    }

    /// Whether a tag, or the text behind it, speaks of a secret.
    fn speaks_around(&self, at: usize, tag: &Tag) -> bool {
        let rest = self.text.get(tag.end..).unwrap_or_default();
        let end = tag.end + rest.find('<').unwrap_or(rest.len());
        self.redactor
            .speaks_of_a_secret(self.text.get(at..end).unwrap_or_default())
    }

    /// Whether the rest of a tag stands behind it, with the name of a secret, so that the values in it may be its own:
    /// `<input value=x name=refresh>token>`.
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
        (rest.contains('=') || !rest.contains(blank)) && self.redactor.names.are_among(rest)
    }

    fn opened(&mut self, name: String, at: usize, content: usize, hidden: bool) -> Option<()> {
        if self.open.len() >= MAX_OPEN {
            return None;
        }
        if name == "table" {
            self.table_begins();
        }
        self.open.push(Open {
            name,
            at,
            hidden: hidden.then_some(content),
            content,
            written: self.out.len(),
            children: 0,
            naming: None,
            rewritten: false,
        });
        Some(())
    }

    /// Whether an attribute says what the others, or the content, are; in XML also by its last word: `fieldName`.
    fn is_naming(&self, attribute: &str) -> bool {
        is_naming(attribute)
            || (self.dialect == Dialect::Xml && super::last_word::says_name(attribute))
    }
}

fn is_name_start(character: char) -> bool {
    character.is_alphabetic() || character == '_' || character == ':'
}
