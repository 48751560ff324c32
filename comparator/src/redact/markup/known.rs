//! Lists of known elements and attributes.

/// Attributes that name the value in the other attributes or in the content.
pub(super) const NAMING: [&str; 21] = [
    "name",
    "id",
    "key",
    "type",
    "property",
    "itemprop",
    "http-equiv",
    "for",
    "colname",
    "column",
    "field",
    "header",
    "headers",
    "label",
    "placeholder",
    "autocomplete",
    "param",
    "attribute",
    "aria-label",
    "th",
    "title",
];
/// Elements of HTML without content.
pub(super) const VOID: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
];

/// Those of them that hold a value in an attribute.
pub(super) const VALUED: [&str; 4] = ["embed", "input", "meta", "param"];
/// Attributes that hold the value of an element: `<name value="password"/>`.
pub(super) const HOLDING: [&str; 4] = ["text", "v", "val", "value"];

/// Elements of HTML whose content is not markup, or is the value of a field.
pub(super) const RAW: [&str; 6] = ["option", "script", "select", "style", "textarea", "title"];

/// The elements of HTML. Others are HTML only with a dash in their name.
#[rustfmt::skip]
const OF_HTML: [&str; 130] = [
    "a", "abbr", "acronym", "address", "applet", "area", "article", "aside", "audio", "b", "base", "basefont", "bdi",
    "bdo", "big", "blink", "blockquote", "body", "br", "button", "canvas", "caption", "center", "cite", "code", "col",
    "colgroup", "data", "datalist", "dd", "del", "details", "dfn", "dialog", "dir", "div", "dl", "dt", "em", "embed",
    "fieldset", "figcaption", "figure", "font", "footer", "form", "frame", "frameset", "h1", "h2", "h3", "h4", "h5",
    "h6", "head", "header", "hgroup", "hr", "html", "i", "iframe", "img", "input", "ins", "kbd", "label", "legend",
    "li", "link", "main", "map", "mark", "marquee", "menu", "meta", "meter", "nav", "nobr", "noframes", "noscript",
    "object", "ol", "optgroup", "option", "output", "p", "param", "picture", "plaintext", "pre", "progress", "q",
    "rp", "rt", "ruby", "s", "samp", "script", "search", "section", "select", "slot", "small", "source", "span",
    "strike", "strong", "style", "sub", "summary", "sup", "svg", "table", "tbody", "td", "template", "textarea",
    "tfoot", "th", "thead", "time", "title", "tr", "track", "tt", "u", "ul", "var", "video", "wbr",
];

/// Whether an element is one of HTML, so that a text that begins with it need not be well-formed XML.
pub(super) fn is_of_html(name: &str) -> bool {
    name.contains('-') || OF_HTML.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// Whether an attribute names the value in the other attributes or in the content.
pub(super) fn is_naming(attribute: &str) -> bool {
    let local = attribute.rsplit(':').next().unwrap_or(attribute);
    let data = local
        .get(..5)
        .filter(|data| data.eq_ignore_ascii_case("data-"));
    let local = local.get(data.map_or(0, str::len)..).unwrap_or(local);
    NAMING.iter().any(|name| local.eq_ignore_ascii_case(name))
}
