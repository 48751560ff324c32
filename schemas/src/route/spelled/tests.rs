//! Which readings a path has.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use proptest::prelude::*;

use super::escapes::shortest;
use super::*;

fn reads_as(path: &str, wanted: &[&str]) -> bool {
    any_reading(path, |steps| steps == Some(wanted))
}

#[test]
fn what_a_server_may_read_as_a_path_is_a_reading_of_it() {
    for path in [
        "/logout",
        "/logout+",
        "/logout%2B",
        "/+logout+/+",
        "/logout%20+.",
        "/logout%C2%A0",
        "/logout%E3%80%80",
        "/logout%0a",
        "/log%09out",
        "/logout%00",
        "/\u{ff4c}ogout",
        "/%EF%BD%8C%EF%BD%8F%EF%BD%87%EF%BD%8F%EF%BD%95%EF%BD%94",
        "/%25EF%25BD%258Cogout",
        "\u{ff0f}logout",
        "/x\u{ff0f}..\u{ff0f}logout",
        "/x/\u{2025}/logout",
        "/\u{ff05}6cogout",
        "/\u{ff05}256cogout",
        "/logout\u{ff1b}a",
        "/logout\u{ff1f}a",
        "/logout%EF%BC%83a",
        "/logout\u{200b}",
        "/lo\u{ad}gout",
        "/l\u{f3}gout",
        "/lo\u{301}gout",
        "/logout%FF",
        "/\u{142}ogout",
        "/\u{24db}ogout",
        "/l\u{43e}gout",
        "/%u006cogout",
        "/%U004Cogout",
        "/%uFF4cogout",
        "/%C1%ACogout",
        "/%E0%81%ACogout",
        "/%F0%80%81%ACogout",
        "/x/..%C0%AFlogout",
        "/x%E2%88%95..%e2%88%95logout",
        "/x\u{a5}..\u{a5}logout",
        "/\u{16c}ogout",
        "/logout.json",
        "/LogOut.Html+",
        "//logout;v=1.2",
    ] {
        assert!(reads_as(path, &["logout"]), "{path}");
    }
    for path in [
        "/",
        "/+",
        "/log",
        "/logout/now",
        "/log+out",
        "/log-out",
        "/.logout",
        "/logout.json/x",
        "/%+6cogout",
        "/%u+06cogout",
        "/%u006",
        "/%C2%ACogout",
        "/\u{65e5}\u{672c}",
        "/\u{43c}\u{438}\u{440}",
        "/%",
        "/%E0%A5%90",
    ] {
        assert!(!reads_as(path, &["logout"]), "{path}");
    }
}

/// Paths, each as some usual server reads it, and which one that is.
const READ: &[(&str, &[&str], &str)] = &[
    (
        "//host/logout",
        &["logout"],
        "Node: new URL(request.url, base)",
    ),
    (
        "/\\host\\logout",
        &["logout"],
        "Node: new URL(request.url, base)",
    ),
    (
        "///host/logout",
        &["logout"],
        "Node: new URL(request.url, base)",
    ),
    (
        "//user@host/logout",
        &["logout"],
        "Node: new URL(request.url, base)",
    ),
    (
        "/%2fhost/logout",
        &["logout"],
        "Node behind a proxy that decodes",
    ),
    (
        "/%255Chost%2flogout",
        &["logout"],
        "Node behind two proxies that decode",
    ),
    ("//host/a/../logout", &["logout"], "Python: urlsplit"),
    (
        "/logout;x=/y",
        &["logout"],
        "Shiro: cut at the first semicolon",
    ),
    (
        "/a;/logout",
        &["a", "logout"],
        "Tomcat: parameters of each step",
    ),
    ("/a/..;/logout", &["logout"], "Tomcat"),
    (
        "/(S(x1))/logout",
        &["logout"],
        "IIS: ASP.NET without cookies",
    ),
    (
        "/(A(x)F(y))/logout",
        &["logout"],
        "IIS: ASP.NET without cookies",
    ),
    ("/logout::$DATA", &["logout"], "IIS: streams of NTFS"),
    (
        "/a:$i30:$INDEX_ALLOCATION/b",
        &["a", "b"],
        "IIS: streams of NTFS",
    ),
    (
        "/logout.aspx/x",
        &["logout.aspx"],
        "IIS: what follows a script",
    ),
    (
        "/logout.php/x.css",
        &["logout.php"],
        "PHP: what follows a script",
    ),
    ("/index.php/logout", &["logout"], "PHP: a front controller"),
    (
        "/index.php/logout.json",
        &["logout"],
        "PHP: a front controller",
    ),
    ("/logout/index.html", &["logout"], "nginx: index"),
    (
        "/Logout/Index",
        &["logout"],
        "ASP.NET MVC: the default action",
    ),
    (
        "/Logout/default.aspx",
        &["logout"],
        "IIS: the default document",
    ),
    ("/logout.json/", &["logout"], "Rails: the format"),
    ("/logout#x", &["logout"], "nginx: a fragment is left out"),
    (
        "/admin%2F..%2Fclose",
        &["admin", "..", "close"],
        "WSGI: decoded, and routed",
    ),
    (
        "/x/../admin/%2e%2e/close",
        &["admin", "..", "close"],
        "Java: URI.normalize, then decoded",
    ),
    (
        "/x/..%2Flogout",
        &["logout"],
        "nginx: decoded, then normalized",
    ),
    ("/logout%01", &["logout"], "WHATWG: controls at the end"),
    (
        "/\u{17f}e\u{17f}\u{17f}ion",
        &["session"],
        "compared in capitals",
    ),
    ("/adm\u{131}n", &["admin"], "compared in capitals"),
    ("/\u{130}ndex/x", &["index", "x"], "compared in lower case"),
];

#[test]
fn what_usual_servers_make_of_a_path_is_a_reading_of_it() {
    for (path, steps, _server) in READ {
        assert!(reads_as(path, steps), "{path}");
    }
}

#[test]
fn what_no_usual_server_makes_of_a_path_is_no_reading_of_it() {
    for (path, steps) in [
        ("/host/logout", &["logout"][..]),
        ("/x/logout.php/y", &["logout"]),
        ("/v1.2/users", &["v1.2"]),
        ("/logout/indexes", &["logout"]),
        ("/(x)/logout", &["logout"]),
        ("/a(S(1))/b", &["b"]),
        ("/a:b", &["a"]),
        ("/logout.jsp/x", &["logout"]),
    ] {
        assert!(!reads_as(path, steps), "{path}");
    }
}

#[test]
fn what_climbs_out_of_the_root_is_told() {
    let leads_out = |path: &str| any_reading(path, |steps| steps.is_none());
    for path in [
        "/../a",
        "/a/../../b",
        "/%2e%2e/a",
        "/a/..%2F..",
        "\\..\\a",
        "/..;/a",
        "//x/../a",
    ] {
        assert!(leads_out(path), "{path}");
    }
    // A long one costs too much, unless it is plain.
    assert!(leads_out(&"/a%20b".repeat(MAX_BYTES)));
    assert!(!leads_out(&"/a-b".repeat(MAX_BYTES)));
    for path in ["/a/../b", "/a/..", "/...", "/a..b", "/.a"] {
        assert!(!leads_out(path), "{path}");
    }
}

#[test]
fn a_step_that_may_be_nothing_is_a_step_or_none() {
    for path in ["/a/+/b", "/a/%FF/b", "/a/%20/b", "/a/\u{200b}/b", "/a/;x/b"] {
        assert!(reads_as(path, &["a", "b"]), "{path}");
        assert!(reads_as(path, &["a", "", "b"]), "{path}");
    }
}

#[test]
fn a_path_of_lower_case_letters_has_one_reading_and_most_others_few() {
    for (path, most) in [
        ("/a/b", 1),
        ("/A//b", 1),
        ("/a.js", 2),
        ("/%41", 2),
        ("/caf%C3%A9/x", 2),
        ("/a.%6as", 8),
        ("/a/index", 2),
        ("//a/b", 3),
    ] {
        let mut count = 0;
        any_reading(path, |_| {
            count += 1;
            false
        });
        assert!(count <= most, "{path}: {count}");
    }
}

/// What readings cost is what their number and the length of a path say: both have a bound, and no path is read in more ways because it is longer.
#[test]
fn the_longest_path_that_is_read_costs_no_more_than_so_many_times_its_length() {
    /// Two kinds of letters, three ends, two partings, three meanings of dots; and the same behind a host.
    const READINGS: usize = 2 * 3 * 2 * 3 * 2;
    /// What a reading leads to: itself, a script and what follows it, each without its default document and its format.
    const VARIANTS: usize = 3 * 3;
    let mut most = 0;
    for part in [
        "%25",
        "%2525",
        "%252525",
        "%2f",
        "%252f",
        "%u002f",
        "%25u002f",
        "%EF%BC%8F",
        "%EF%B7%BA",
        "\u{fdfa}",
        "\u{ff0f}..",
        "%c0%af",
        "/..%2f",
        "%2e%2e/",
        "/./",
        "/../a",
        "%00",
        "%3f%23",
        "%3b",
        "a;b",
        "/%28S(x))",
        "/+",
        "/%20",
        ".php/",
        "/index.php",
        "a.b",
        "%5c",
        "%",
        "%2",
        "%25%32%35",
        "%ff",
        "x\u{301}",
    ] {
        for (begin, end) in [
            ("/", ""),
            ("//", "/x"),
            ("/%2f", "%00%3b/..%2fa.php/index.html"),
            ("/\u{ff41}", ";/./\u{2215}"),
        ] {
            let of_length = |bytes: usize| {
                let fits = (bytes - begin.len() - end.len()) / part.len();
                format!("{begin}{}{end}", part.repeat(fits))
            };
            let costs = [MAX_BYTES / 4, MAX_BYTES].map(|bytes| {
                let path = of_length(bytes);
                let read: Vec<Steps> = readings(&path).collect();
                assert!(read.len() <= READINGS, "{part}: {}", read.len());
                let names = read.iter().flat_map(|steps| &steps.names);
                let kept: usize = names.map(|name| name.len() + 1).sum();
                // A sign may be eleven times as long in plain letters.
                assert!(kept <= READINGS * path.len() * 12, "{part}: {kept}");
                let mut calls = 0;
                any_reading(&path, |_| {
                    calls += 1;
                    false
                });
                assert!(calls <= READINGS * VARIANTS, "{part}: {calls}");
                most = calls.max(most);
                (read.len(), kept)
            });
            let [short, long] = costs;
            assert_eq!(short.0, long.0, "{part} {begin} {end}");
            // Four times as long, and a little.
            assert!(
                long.1 <= short.1 * 5 + READINGS * 64,
                "{part}: {short:?} {long:?}"
            );
            // Eight kilobytes of the same are not read, and nobody knows what they are.
            let mut told = Vec::new();
            any_reading(&of_length(8 * 1024), |steps| {
                told.push(steps.is_none());
                false
            });
            assert_eq!(told, [true], "{part}");
        }
    }
    assert!(most > 100, "{most}: these are no hard paths");
}

fn wide(letter: char) -> char {
    let code = u32::from(letter) + 0xfee0;
    char::from_u32(code).unwrap_or(letter)
}

proptest! {
    /// However letters are written, in any mixture, and whatever is put where servers do not look.
    #[test]
    fn every_mixture_of_spellings_is_one_path(
        ways in prop::collection::vec(0_u8..8, 12),
        tail in "(\\+|%20|\\.|;|%2B|%09|%C2%A0|%E2%80%8B){0,6}/{0,2}",
    ) {
        let mut path = String::new();
        for (letter, way) in "/admin/close".chars().zip(ways) {
            let written = match way {
                0 => format!("%{:02x}", u32::from(letter)),
                1 => format!("%25{:02X}", u32::from(letter)),
                2 => format!("%u{:04x}", u32::from(letter)),
                3 => wide(letter).to_string(),
                4 => utf8_percent_encode(&wide(letter).to_string(), NON_ALPHANUMERIC).to_string(),
                5 => letter.to_uppercase().to_string(),
                6 => format!("{letter}%E2%80%8B"),
                _ => letter.to_string(),
            };
            path.push_str(&written);
        }
        path.push_str(&tail);
        prop_assert!(reads_as(&path, &["admin", "close"]), "{}", path);
    }

    #[test]
    fn no_path_panics(path in ".{0,60}", bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        let escaped: Vec<String> = bytes.iter().map(|byte| format!("%{byte:02X}")).collect();
        let escaped = escaped.concat();
        for path in [path, escaped, String::from_utf8_lossy(&bytes).into_owned()] {
            let mut count = 0;
                any_reading(&path, |_| {
                    count += 1;
                    false
                });
                prop_assert!(count >= 1);
            prop_assert!(shortest(path.as_bytes()) == path.as_bytes());
        }
    }
}
