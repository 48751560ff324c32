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

/// Whether an attribute names the value in the other attributes or in the content.
pub(super) fn is_naming(attribute: &str) -> bool {
    let local = attribute.rsplit(':').next().unwrap_or(attribute);
    let local = local.strip_prefix("data-").unwrap_or(local);
    NAMING.iter().any(|name| local.eq_ignore_ascii_case(name))
}
