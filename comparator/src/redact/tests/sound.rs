//! What is valid, or damaged but harmless, stays readable.

use super::*;

/// The body of the legacy as it is recorded.
fn shown(media: &str, body: &str) -> String {
    let fields = [("content-type", media)];
    let (legacy, candidate) = (answer(&fields, body.as_bytes()), answer(&fields, b"1"));
    let record = record(&plain(), &exchange("/x", &[], b"", legacy, candidate));
    record.sample.expect("a sample").legacy.body
}

/// Bodies in which `kept 3` stays.
#[rustfmt::skip]
const KEPT: &[(&str, &str)] = &[
    // Markup that browsers accept although it is not well formed.
    ("text/html", "<!DOCTYPE html><html><body><![if !IE]><p>kept 3</p><![endif]></body></html>"),
    ("text/html", "<select><option value>none<option value=1>kept 3</select>"),
    ("text/html", "<p>kept 3</p><li id=\"password-help\">help"),
    ("text/html", "<p>kept 3<div class><a href>x</a></div>"),
    ("text/html", "<p>kept 3<a href=\"x\"class=\"y\">x</a>"),
    ("text/html", "<ul><li><a href=/login>Forgot password?</a></li><li><a href=/a>Contact</a></li><li>kept 3</li></ul>"),
    ("text/html", "<table><tr><td>Reset your password</td></tr><tr><td>Hello</td></tr><tr><td>kept 3</td></tr></table>"),
    ("text/html", "<table><tr><td>Name</td><td>Ada</td></tr><tr><td>Password</td><td>x</td></tr><tr><td>Age</td><td>kept 3</td></tr></table>"),
    ("text/html", "<table><tr><th>Password</th></tr><tr><td>xy</td></tr></table><table><tr><td>kept 3</td></tr></table>"),
    ("text/html", "<form><label for=password>Password</label><input type=password name=password><button>Log in</button></form><p>kept 3</p>"),
    ("application/xml", "<!DOCTYPE a [<!ELEMENT a (#PCDATA)><!ATTLIST a b CDATA #IMPLIED>]><a>kept 3</a>"),
    ("application/xml", "<e><fieldName>color</fieldName><fieldValue>kept 3</fieldValue></e>"),
    // Forms, YAML and events that are unusual and mention no secret.
    ("application/x-www-form-urlencoded", "a=kept 3&flag"),
    ("application/x-www-form-urlencoded", "note=kept 3; b"),
    ("application/yaml", "base: &base\n  a: 1\nb: kept 3\n"),
    ("application/yaml", "a: {b: , c: kept 3}\n"),
    ("application/yaml", "a: !!set {x, kept}\nb: kept 3\n"),
    ("application/yaml", "? a\n? kept 3\n"),
    ("text/event-stream", "id: MTIzNDU2Nzg5MA==\ndata: kept 3\n\n"),
    ("text/event-stream", "id: [{\"topic\":\"x\",\"offset\":1}]\ndata: kept 3\n\n"),
    ("text/event-stream", "data: kept 3\n\ndata: {\n\ndata: [[\n\n"),
    ("text/event-stream", "timestamp: 1\ndata: kept 3\n\n"),
    // Parts.
    ("multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"a\";\r\n\r\nkept 3\r\n--x--"),
    ("multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"a\"; filename*=UTF-8''it's.txt\r\n\r\nkept 3\r\n--x--"),
    ("multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"a\"; origin=\"camera\"\r\n\r\nkept 3\r\n--x--"),
    ("multipart/mixed; boundary=x", "--x\r\nContent-Type: application/yaml\r\n\r\ncron: '* * *'\na: kept 3\r\n--x--"),
    // What only looks like JSON.
    ("application/json", ")]}',\n{\"a\":\"kept 3\",\"password\":\"x\"}"),
    ("application/json", "{\"a\":\"[[Main Page]] kept 3\"}"),
    ("application/json", "{\"a\":\"{} kept 3\"}"),
    ("text/plain", "[[package]]\nname = \"kept 3\"\n"),
    // Structures in strings that reveal nothing more than patterns find.
    ("application/json", "{\"a\":\"note=kept+3&page=2\",\"b\":\"kept 3\"}"),
    ("application/json", "{\"a\":\"page: 2\\npassword: x\\nnote: kept 3\\n\"}"),
    ("application/json", "{\"a\":\"user=ada&password=x'y&note=1\",\"b\":\"kept 3\"}"),
    // Tables.
    ("text/csv", "# users\nid,password,note\n1,x,kept 3\n2,y,z\n"),
    ("text/csv", "key,value\npassword,x\nnote,kept 3\n"),
    ("text/csv", "sep=;\nid;b;note\n1;x;kept 3\n"),
];

#[test]
fn what_is_sound_stays() {
    let mut bodies: Vec<(&str, String)> = KEPT
        .iter()
        .map(|(media, body)| (*media, (*body).to_owned()))
        .collect();
    // More elements than may be open at a time, if none were closed by the next.
    for (piece, end) in [
        ("<li>one", "</li>"),
        ("<p>one", "</p>"),
        ("<dt>a<dd>b", "</dd>"),
        ("<option>a", "</option>"),
        ("<tr><td>a<td>b", "</td>"),
        ("one<br>", "</br>"),
    ] {
        let many = piece.repeat(300);
        bodies.push(("text/html", format!("<p>kept 3</p><div>{many}{end}</div>")));
    }
    let hidden: Vec<_> = bodies
        .iter()
        .map(|(media, body)| (media, body, shown(media, body)))
        .filter(|(_, _, shown)| !shown.replace('+', " ").contains("kept 3"))
        .collect();
    assert!(hidden.is_empty(), "{hidden:#?}");
}

#[test]
fn logins_in_addresses_are_hidden_whatever_is_in_them() {
    let redactor = plain();
    for value in [
        "https://ada:x,HUNTER2@x.example/",
        "https://ada:x;HUNTER2@x.example/a",
        "https://ada:x'HUNTER2@x.example/",
        "//ada:x,HUNTER2@x.example/",
        "<https://ada:x,HUNTER2@x.example/>; rel=next",
        "5; url=https://ada:x,HUNTER2@x.example/",
    ] {
        let shown = redactor.addresses(value);
        assert!(!shown.contains("HUNTER2"), "{value}: {shown}");
    }
    for value in ["/a,b;c=d", "</a?page=2>; rel=next, </b>; rel=prev"] {
        assert_eq!(redactor.addresses(value), value);
    }
}

#[test]
fn a_harmless_oddity_leaves_findings_their_groups() {
    for (media, legacy, candidate) in [
        ("application/x-www-form-urlencoded", "a=1&flag", "a=2&flag"),
        (
            "application/yaml",
            "base: &base\n  b: 1\na: 1\n",
            "base: &base\n  b: 1\na: 2\n",
        ),
    ] {
        let fields = [("content-type", media)];
        let sides = [legacy, candidate].map(|body| answer(&fields, body.as_bytes()));
        let [legacy, candidate] = sides;
        let record = record(&plain(), &exchange("/x", &[], b"", legacy, candidate));
        let patterns: Vec<&str> = record
            .findings
            .iter()
            .map(|finding| &*finding.pattern)
            .collect();
        assert_eq!(patterns, ["/a"], "{media}");
    }
}
