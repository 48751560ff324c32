//! Settings that nobody can have meant: each is reported at the start, and none is silently read as something else.

use std::path::Path;

use crate::support::process::{Ended, Place};

const UPSTREAMS: &str =
    "[mirror]\nlegacy = \"http://127.0.0.1:7001\"\ncandidate = \"http://127.0.0.1:7002\"\n";

fn says(ended: &Ended, code: i32, words: &[&str]) {
    assert_eq!(ended.code, code, "{}", ended.stderr);
    for word in words {
        assert!(ended.stderr.contains(word), "{word}: {}", ended.stderr);
    }
}

#[test]
fn a_word_in_the_place_of_a_switch_or_a_number_is_an_error_with_its_line() {
    let place = Place::new();
    for (route, words) in [
        (
            "shadow = \"yes\"",
            ["parity.toml:6:1: shadow: `yes`", "true or false"],
        ),
        (
            "shadow = \"ture\"",
            ["parity.toml:6:1: shadow: `ture`", "on or off"],
        ),
        (
            "shadow = 1",
            ["parity.toml:6:1: `shadow` is integer", "true or false"],
        ),
        (
            "shaddow = true",
            [
                "parity.toml:6:1: unknown key `shaddow`",
                "did you mean `shadow`?",
            ],
        ),
        (
            "sample = \"half\"",
            ["parity.toml:6:1: sample: `half`", "between 0 and 1"],
        ),
    ] {
        let text = format!("{UPSTREAMS}[[route]]\nmatch = \"POST /quotes\"\n{route}\n");
        place.write("parity.toml", text);
        says(&place.run(&["config", "check"]), 2, &words);
    }
    for (key, value) in [("shadow", "yes"), ("sample", "a lot"), ("workers", "-1")] {
        place.write("parity.toml", format!("{UPSTREAMS}{key} = \"{value}\"\n"));
        let place_of_it = format!("parity.toml:4:1: mirror.{key}: `{value}`");
        says(&place.run(&["config", "check"]), 2, &[&place_of_it]);
    }
}

#[test]
fn a_candidate_that_is_the_legacy_is_refused_unless_noise_is_what_is_wanted() {
    let place = Place::new();
    let same =
        "[mirror]\nlegacy = \"http://localhost:7001\"\ncandidate = \"http://127.0.0.1:7001\"\n";
    place.write("parity.toml", same);
    let words = [
        "parity.toml:3:1: mirror.candidate: http://127.0.0.1:7001 is the legacy itself",
        "mirror.self_comparison = true",
    ];
    says(&place.run(&["config", "check"]), 2, &words);
    for more in [
        "self_comparison = true\n",
        "[candidate]\nrewrite = \"/ -> /v2\"\n",
        "[candidate]\nset_headers = [\"x-env: candidate\"]\n",
    ] {
        place.write("parity.toml", format!("{same}{more}"));
        says(&place.run(&["config", "check"]), 0, &[]);
    }
    for host in ["127.1", "2130706433", "0", "[::]", "LOCALHOST."] {
        let other = format!(
            "[mirror]\nlegacy = \"http://127.0.0.1:7001\"\ncandidate = \"http://{host}:7001\"\n"
        );
        place.write("parity.toml", other);
        let words = format!("mirror.candidate: http://{host}:7001 is the legacy itself");
        says(&place.run(&["config", "check"]), 2, &[&words]);
    }
}

#[test]
fn what_is_secret_in_the_configuration_is_not_shown() {
    let place = Place::new();
    let secret = "sesame-0815";
    place.write(
        "parity.toml",
        format!(
            "[mirror]\nlegacy = \"http://joe:{secret}@127.0.0.1:7001\"\ncandidate = \"http://127.0.0.1:7002\"\n\
             store = \"clickhouse://joe:{secret}@127.0.0.1:8123/db\"\n[legacy]\n\
             set_headers = [\"authorization: Bearer {secret}\", \"{secret}\"]\n"
        ),
    );
    for output in ["text", "json"] {
        let ended = place.run(&["config", "show", "--origin", "--output", output]);
        for text in [&ended.stdout, &ended.stderr] {
            assert!(!text.contains(secret), "{text}");
        }
        for shown in [
            "http://joe:…@127.0.0.1:7001",
            "clickhouse://joe:…@127.0.0.1:8123/db",
            "authorization: …,…",
        ] {
            assert!(ended.stdout.contains(shown), "{shown}: {}", ended.stdout);
        }
    }
}

#[test]
fn variables_that_nobody_reads_or_that_make_no_sense_are_told_with_all_other_problems() {
    let place = Place::new();
    place.write("parity.toml", format!("{UPSTREAMS}samlpe = 1\n"));
    let environment = [
        ("PARITY_SAMPLE", "abc"),
        ("PARITY_CANDIATE_VERSION", "1"),
        ("PARITY_LIMITS_DRAIN", "soon"),
        ("PARITY_TEST_OF_SOMEBODY", "x"),
        ("PARITY_PORT", "tcp://10.0.0.1:8080"),
    ];
    let words = [
        "parity.toml:4:1: unknown key `samlpe`",
        "PARITY_SAMPLE: mirror.sample: `abc` is not a share",
        "PARITY_CANDIATE_VERSION: no setting has this variable",
        "did you mean PARITY_CANDIDATE_VERSION?",
        "PARITY_LIMITS_DRAIN: limits.drain: `soon` is not a duration",
    ];
    for command in [
        &["config", "check"][..],
        &["config", "show"],
        &["mirror"],
        &["report"],
    ] {
        let ended = place.run_with(command, &environment, "");
        says(&ended, 2, &words);
        assert_eq!(
            ended.stderr.matches("error:").count(),
            4,
            "{}",
            ended.stderr
        );
    }
    let ended = place.run_with(&["config", "schema"], &[("PARITY_LOG", "parity=loud")], "");
    says(&ended, 2, &["PARITY_LOG: `parity=loud` is not a filter"]);
}

#[test]
fn an_upstream_that_is_the_mirror_itself_is_refused() {
    let place = Place::new();
    place.write("parity.toml", "");
    for (legacy, listen, ours) in [
        ("http://127.0.0.1:8080", "127.0.0.1:8080", "mirror.listen"),
        ("http://localhost:8080", "0.0.0.0:8080", "mirror.listen"),
        ("http://0.0.0.0:8080", "127.0.0.1:8080", "mirror.listen"),
        ("http://127.0.0.1:9900", "127.0.0.1:8080", "mirror.admin"),
        (
            "unix:/tmp/parity-of-nobody.sock",
            "127.0.0.1:8080",
            "mirror.handover",
        ),
    ] {
        for side in ["legacy", "candidate"] {
            let other = if side == "legacy" {
                "candidate"
            } else {
                "legacy"
            };
            let flags = [
                &format!("--{side}"),
                legacy,
                &format!("--{other}"),
                "http://127.0.0.1:7001",
            ];
            let more = [
                "--listen",
                listen,
                "--handover",
                "/tmp/parity-of-nobody.sock",
            ];
            let ended = place.run(&[&["mirror"][..], &flags, &more].concat());
            let words = format!("--{side}: mirror.{side}: {legacy} is ");
            says(&ended, 2, &[&words, &format!("{ours} itself")]);
        }
    }
    assert!(!Path::new("/tmp/parity-of-nobody.sock").exists());
}

#[test]
fn a_file_of_rules_alone_can_be_checked_and_named_by_a_flag() {
    let place = Place::new();
    let rule = "[[rule]]\nid = \"a\"\npath = \"/x\"\naction = \"ignore\"\n";
    place.write("rules.toml", rule);
    for command in [
        &["config", "check", "rules.toml"][..],
        &["config", "check", "--config", "rules.toml"],
    ] {
        says(
            &place.run(command),
            0,
            &[
                "rules.toml: no problems",
                "0 routes, 1 rule\n",
                "--legacy and --candidate",
            ],
        );
    }
    place.write("rules.toml", rule.replace("ignore", "ignroe"));
    says(
        &place.run(&["config", "check", "rules.toml"]),
        2,
        &["did you mean `ignore`?"],
    );
    // Also beside what only a sink needs.
    let sink = "[sink]\nkafka = \"kafka://127.0.0.1:9092/t\"\nclickhouse = \"clickhouse://u@127.0.0.1:8123/d\"\n";
    place.write(
        "rules.toml",
        format!("{sink}{}", rule.replace("ignore", "ignroe")),
    );
    says(
        &place.run(&["config", "check", "rules.toml"]),
        2,
        &["did you mean `ignore`?"],
    );
    place.write(
        "half.toml",
        "[mirror]\nlegacy = \"http://127.0.0.1:7001\"\n",
    );
    says(
        &place.run(&["config", "check", "half.toml"]),
        2,
        &["no candidate is given"],
    );
}

#[test]
fn every_mistake_of_a_rule_is_told_once_with_its_line_and_what_to_write() {
    let place = Place::new();
    let rules = "[[rule]]\nid = \"a\"\nid2 = \"b\"\npath = \"/x\"\naction = \"tolerance\"\nrelative = 0.001\n\
         [[rule]]\nid = \"b\"\npart = \"heder\"\npath = \"x-id\"\naction = 7\nexpires = 2027-03-01\n\
         [[rule]]\nid = \"c\"\nkind = \"extr\"\naction = \"accept\"\nexplanations = \"null_vs_empty\"\n\
         [[rule]]\nid = \"d\"\ntype = \"uuid\"\n";
    place.write("rules.toml", rules);
    let ended = place.run(&["config", "check", "rules.toml"]);
    let words =
        "use one of ignore, accept, unordered, key, tolerance, scale, parts, as, rename, mask";
    let expected = [
        "error: rules.toml:3:1: unknown key `id2` in [[rule]]",
        "  hint: did you mean `id`?",
        "error: rules.toml:6:1: `relative` is float, not text in quotes",
        "  hint: write `relative = \"0.001\"`",
        "error: rules.toml:9:1: rule `b`: `heder` is not a part",
        "  hint: did you mean `header`?",
        "error: rules.toml:11:1: `action` is integer, not text in quotes",
        &format!("  hint: {words}"),
        "error: rules.toml:12:1: `expires` is datetime, not text in quotes",
        "  hint: write `expires = \"2027-03-01\"`",
        "error: rules.toml:15:1: rule `c`: `extr` is not a kind of finding",
        "  hint: did you mean `extra`?",
        "error: rules.toml:17:1: `explanations` is string, not a list of text in quotes",
        "  hint: write `explanations = [\"null_vs_empty\"]`",
        "error: rules.toml:18:1: rule `d`: the rule has no action",
        "  hint: add `action`: ignore, accept, unordered, key, tolerance, scale, parts, as, rename, mask",
    ];
    assert_eq!(ended.code, 2);
    let told: Vec<&str> = ended.stderr.lines().collect();
    assert_eq!(told, expected);
}

#[test]
fn the_check_says_what_is_still_as_the_starting_file_has_it() {
    let place = Place::new();
    says(&place.run(&["config", "init"]), 0, &["wrote"]);
    let whole = "no problems; legacy http://127.0.0.1:7001, candidate http://127.0.0.1:7002 as `parity config init` wrote";
    says(&place.run(&["config", "check"]), 0, &[whole]);
    let text = std::fs::read_to_string(place.path().join("parity.toml")).expect("the file");
    place.write(
        "parity.toml",
        text.replace("127.0.0.1:7002", "127.0.0.1:7003"),
    );
    let one = "no problems; legacy http://127.0.0.1:7001 as `parity config init` wrote";
    says(&place.run(&["config", "check"]), 0, &[one]);
    let own = text
        .replace("127.0.0.1:7002", "127.0.0.1:7003")
        .replace(":7001", ":7004");
    place.write("parity.toml", own);
    says(
        &place.run(&["config", "check"]),
        0,
        &["no problems; 0 routes, 0 rules"],
    );
}

#[test]
fn a_file_of_credentials_may_have_comments() {
    let place = Place::new();
    place.write(
        "credentials",
        "# Of the staging account.\nauthorization: Bearer abc\n\n  # Rotated monthly.\nx-key: def\n",
    );
    let text = format!("{UPSTREAMS}[candidate]\ncredentials_file = \"credentials\"\n");
    place.write("parity.toml", text);
    says(&place.run(&["config", "check"]), 0, &["no problems"]);
    place.write("credentials", "# A comment.\nnothing at all\n");
    says(
        &place.run(&["config", "check"]),
        2,
        &["line 2 of credentials", "begins with # is a comment"],
    );
}

#[test]
fn a_comparison_of_files_reads_the_variable_of_its_one_setting_and_no_other() {
    let place = Place::new();
    place.write("a.json", "{}");
    let command = ["diff", "a.json", "a.json"];
    let others = [("PARITY_SAMPLE", "abc"), ("PARITY_PROFILE", "go-to-rust")];
    says(&place.run_with(&command, &others, ""), 0, &[]);
    let wrong = [("PARITY_PROFILE", "go-to-rus")];
    let words = [
        "PARITY_PROFILE: profiles: `go-to-rus` is not a profile",
        "did you mean `go-to-rust`?",
    ];
    says(&place.run_with(&command, &wrong, ""), 2, &words);
    let flag = [&command[..], &["--profile", "go-to-rust"]].concat();
    says(&place.run_with(&flag, &wrong, ""), 0, &[]);
}

#[test]
fn a_flag_that_only_a_setting_has_and_a_file_that_is_not_there_are_told_with_what_to_do() {
    let place = Place::new();
    says(
        &place.run(&["mirror", "--drain", "5s"]),
        2,
        &[
            "'--drain'",
            "`limits.drain` is set by the file or by PARITY_LIMITS_DRAIN",
        ],
    );
    says(
        &place.run(&["config", "check"]),
        2,
        &[
            "cannot read parity.toml: there is none",
            "`parity config init` writes one",
        ],
    );
}
