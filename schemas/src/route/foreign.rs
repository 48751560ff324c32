//! Placeholders as other routers write them, `:id` (express, gin) and `<id>` (flask): no request would ever match them.

/// The first such segment of a path, and the whole path in our spelling. The path is without its first slash.
pub(super) fn translated(path: &str) -> Option<(String, String)> {
    let first = path.split('/').find(|segment| ours(segment).is_some())?;
    let mut whole = String::new();
    for segment in path.split('/') {
        whole.push('/');
        whole.push_str(ours(segment).as_deref().unwrap_or(segment));
    }
    Some((first.to_owned(), whole))
}

fn ours(segment: &str) -> Option<String> {
    let angled = || segment.strip_prefix('<')?.strip_suffix('>');
    let name = segment.strip_prefix(':').or_else(angled)?;
    // `<int:id>` has a type before the name.
    let name = name.rsplit(':').next().unwrap_or(name);
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (!name.is_empty() && name.bytes().all(is_name)).then(|| format!("{{{name}}}"))
}

#[cfg(test)]
mod tests {
    use crate::route::{RoutePolicy, RouteRule};

    #[test]
    fn placeholders_of_other_routers_are_refused_with_ours() {
        for (text, ours) in [
            ("GET /invoices/:id", "`/invoices/{id}`"),
            ("GET /a/:a/b/:b_2", "`/a/{a}/b/{b_2}`"),
            ("GET /a/<int:id>/x", "`/a/{id}/x`"),
        ] {
            let parsed = RouteRule::parse(text, RoutePolicy::default());
            let error = parsed.expect_err(text).to_string();
            assert!(error.ends_with(ours), "{error}");
        }
        for text in ["GET /v1/invoices:batch", "GET /a:b", "GET /:"] {
            assert!(
                RouteRule::parse(text, RoutePolicy::default()).is_ok(),
                "{text}"
            );
        }
    }
}
