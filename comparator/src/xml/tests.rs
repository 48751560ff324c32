//! What two documents become as JSON, and what is refused.

use parity_schemas::verdict::Reason;

use super::{XmlError, as_json, parse};

/// Deep enough for every document here but one.
const DEPTH: usize = 8;

fn pair(legacy: &str, candidate: &str) -> [String; 2] {
    let read = [legacy, candidate]
        .map(|text| parse(text, DEPTH).unwrap_or_else(|error| panic!("{text}: {error:?}")));
    as_json([&read[0], &read[1]], None, usize::MAX)
        .map(|json| String::from_utf8(json.expect("short enough")).expect("UTF-8"))
}

#[test]
fn a_document_is_an_object() {
    for (text, expected) in [
        ("<a/>", r#"{"a":""}"#),
        ("<a>x</a>", r#"{"a":"x"}"#),
        (
            "<a b='1' c=\"2\">x</a>",
            r##"{"a":{"@b":"1","@c":"2","#text":"x"}}"##,
        ),
        ("<a>\n <b>1</b>\n <c/>\n</a>", r#"{"a":{"b":"1","c":""}}"#),
        (
            "<a><b>1</b><c/><b>2</b></a>",
            r#"{"a":{"b":["1","2"],"c":""}}"#,
        ),
        (
            "<a>x <b>y</b>\n</a>",
            r##"{"a":{"#mixed":["x ",{"b":"y"},"\n"]}}"##,
        ),
        (
            "<a xml:space='preserve'> <b/></a>",
            r##"{"a":{"@xml:space":"preserve","#mixed":[" ",{"b":""}]}}"##,
        ),
        ("<a> </a>", r#"{"a":" "}"#),
        (
            "<a>1 &lt; 2 &#38; <![CDATA[<b>&]]>&#x20;</a>",
            r#"{"a":"1 < 2 & <b>& "}"#,
        ),
        ("<a b='&quot;&#10;x\ny'/>", r#"{"a":{"@b":"\"\nx y"}}"#),
        ("<a>\r\nx\r</a>", r#"{"a":"\nx\n"}"#),
        (
            "<?xml version='1.0'?><!-- c --><?p i?><a>x<!-- c -->y</a> ",
            r#"{"a":"xy"}"#,
        ),
        ("<!DOCTYPE a SYSTEM 'a.dtd'><a/>", r#"{"a":""}"#),
        ("<s:a xmlns:s='u'><s:b/></s:a>", r#"{"a":{"b":""}}"#),
        (
            "<a xmlns='u' xmlns:o='w'><b o:c='1' c='2'/></a>",
            r#"{"a":{"b":{"@{w}c":"1","@c":"2"}}}"#,
        ),
        (
            "<a xmlns:o='w'><o:b>1</o:b><b>2</b></a>",
            r##"{"a":{"b":[{"#namespace":"w","#text":"1"},{"#text":"2"}]}}"##,
        ),
    ] {
        assert_eq!(pair(text, text)[0], expected, "{text}");
    }
}

#[test]
fn two_documents_take_the_form_that_either_needs() {
    for (legacy, candidate, expected) in [
        (
            "<a><b/></a>",
            "<a><b/><b/></a>",
            [r#"{"a":{"b":[""]}}"#, r#"{"a":{"b":["",""]}}"#],
        ),
        ("<a/>", "<a><b/></a>", [r#"{"a":{}}"#, r#"{"a":{"b":""}}"#]),
        (
            "<a>\n</a>",
            "<a><b/></a>",
            [r#"{"a":{}}"#, r#"{"a":{"b":""}}"#],
        ),
        (
            "<a>x</a>",
            "<a b='1'>x</a>",
            [
                r##"{"a":{"#text":"x"}}"##,
                r##"{"a":{"@b":"1","#text":"x"}}"##,
            ],
        ),
        (
            "<a><b/><c/></a>",
            "<a><c/><b/></a>",
            [
                r##"{"a":{"#order":["b","c"],"b":"","c":""}}"##,
                r##"{"a":{"#order":["c","b"],"c":"","b":""}}"##,
            ],
        ),
        // What is missing has not moved.
        (
            "<a><b/><c/><b/></a>",
            "<a><c/><b/></a>",
            [
                r#"{"a":{"b":["",""],"c":""}}"#,
                r#"{"a":{"c":"","b":[""]}}"#,
            ],
        ),
        (
            "<a xmlns='u'><b/></a>",
            "<a xmlns='v'><b/></a>",
            [
                r##"{"a":{"#namespace":"u","b":""}}"##,
                r##"{"a":{"#namespace":"v","b":""}}"##,
            ],
        ),
        (
            "<a xmlns='u'/>",
            "<p:a xmlns:p='u'/>",
            [r#"{"a":""}"#, r#"{"a":""}"#],
        ),
        ("<a/>", "<b/>", [r#"{"a":""}"#, r#"{"b":""}"#]),
        (
            "<a xmlns:s='u' b='s:B'>s:A</a>",
            "<a xmlns:s='v' b='s:B'>{u}s:A</a>",
            [
                r##"{"a":{"@b":"{u}s:B","#text":"{u}s:A"}}"##,
                r##"{"a":{"@b":"{v}s:B","#text":"{}{u}s:A"}}"##,
            ],
        ),
        // One that stands for several within a document.
        (
            "<a><b xmlns:s='u'>s:A</b><c>s:A</c></a>",
            "<a><b>s:A</b><c xmlns:s='u'>s:A</c></a>",
            [
                r#"{"a":{"b":"{u}s:A","c":"s:A"}}"#,
                r#"{"a":{"b":"s:A","c":"{u}s:A"}}"#,
            ],
        ),
        (
            "<!DOCTYPE a PUBLIC 'p' \"s'\"><a/>",
            "<!DOCTYPE a><a/>",
            [r##"{"#doctype":"p s'","a":""}"##, r#"{"a":""}"#],
        ),
    ] {
        assert_eq!(pair(legacy, candidate), expected, "{legacy} {candidate}");
    }
}

#[test]
fn what_is_not_well_formed_is_refused() {
    for text in [
        "",
        "x",
        "<a>",
        "<a></b>",
        "</a>",
        "<a/><b/>",
        "<a/>x",
        "x<a/>",
        "<a/><![CDATA[x]]>",
        "<a b='1' b='2'/>",
        "<a xmlns:x='u' xmlns:y='u' x:b='1' y:b='2'/>",
        "<a xmlns:x='u' xmlns:x='v'/>",
        "<a xmlns:x=''/>",
        "<a b=1/>",
        "<a b/>",
        "<a b='<'/>",
        "<a b='&'/>",
        "<a>&</a>",
        "<a>&nbsp;</a>",
        "<a>&#0;</a>",
        "<a>&#1;</a>",
        "<a>&#xd800;</a>",
        "<a>\u{1}</a>",
        "<a>\u{ffff}</a>",
        "<a>]]></a>",
        "<p:a/>",
        "<a p:b=''/>",
        "<@a/>",
        "<a><#b/></a>",
        "<1/>",
        "<a:b:c xmlns:a='u'/>",
        "<a><!-- -- --></a>",
        "<a/><?xml version='1.0'?>",
        " <?xml version='1.0'?><a/>",
        "<a/><!DOCTYPE a>",
        "<a",
        "<a b='",
        "<!--",
        "<![CDATA[",
    ] {
        let error = parse(text, DEPTH).expect_err(text);
        assert!(matches!(error, XmlError::Syntax(_)), "{text}: {error:?}");
    }
}

#[test]
fn what_declares_is_not_read_and_depth_is_limited() {
    for text in [
        "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>",
        "<!DOCTYPE a [<!ATTLIST a b CDATA 'c'>]><a/>",
        "<!DOCTYPE a SYSTEM 'a.dtd'><a>&b;</a>",
        "<!DOCTYPE a SYSTEM 'a.dtd'><a c='&b;'/>",
    ] {
        assert_eq!(
            parse(text, DEPTH).expect_err(text),
            XmlError::Declares,
            "{text}"
        );
    }
    let nested = |levels: usize| "<a>".repeat(levels) + &"</a>".repeat(levels);
    assert!(parse(&nested(DEPTH), DEPTH).is_ok());
    assert_eq!(
        parse(&nested(DEPTH + 1), DEPTH).expect_err("too deep"),
        XmlError::Limit(Reason::TooDeep)
    );
}

#[test]
fn a_namespace_is_not_written_out_without_end() {
    let namespace = "u".repeat(100_000);
    let text = format!(
        "<a xmlns:x='{namespace}'>{}</a>",
        "<b x:c=''/>".repeat(10_000)
    );
    let read = parse(&text, DEPTH).expect("well-formed");
    let json = as_json([&read, &read], None, usize::MAX);
    assert_eq!(
        json,
        [Err(Reason::ResponseTooLarge), Err(Reason::ResponseTooLarge)]
    );
}
