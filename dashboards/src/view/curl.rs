//! The request of a recorded mismatch as a command of curl, to be copied into a shell.
//!
//! It has what the record has, and what it lacks is told beside it. Every word is quoted, so that no captured text is carried
//! out. A character that nobody sees is written in octal between `$'…'`, which bash and zsh read as that character. A shell that
//! does not know `$'…'` reads one odd word there and no second command, because no quotation mark stands in it.

use std::fmt::Write as _;

use parity_comparator::redact::{KeptRequest, kept_request};
use parity_schemas::record::Mismatch;
use parity_schemas::rerun::HiddenWhy;
use parity_schemas::visible::is_hidden;

use super::words::shown;

/// What the address of a service stands for in the command: the record does not have it.
pub(crate) const SERVICE: &str = "SERVICE";
/// Header fields that curl makes for each request and connection.
const OF_CURL: [&str; 9] = [
    "connection",
    "content-length",
    "expect",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
/// Header fields that curl adds by itself, and so has to be told not to.
const ADDED: [&str; 2] = ["accept", "user-agent"];

/// A request as a command.
pub(crate) struct Curl {
    /// The command; `None` if the record has too little of the request.
    pub(crate) command: Option<String>,
    /// What it lacks, in a line each.
    pub(crate) lacks: Vec<String>,
    /// What an answer to it does not prove, if anything is left out.
    pub(crate) open: Option<String>,
    /// Whether only some shells read it.
    pub(crate) needs_bash: bool,
}

impl Curl {
    /// Of a mismatch; `None` if its request was not kept.
    pub(crate) fn of(mismatch: &Mismatch) -> Option<Self> {
        let KeptRequest { line, mut missing } = kept_request(mismatch)?;
        // curl makes these, as the mirror does, so no answer depends on what stood there.
        missing.retain(|(part, _)| {
            let name = part.strip_prefix("header/");
            !name.is_some_and(|name| OF_CURL.iter().any(|known| name.eq_ignore_ascii_case(known)))
        });
        let is_missing = |name: &str| missing.iter().any(|(part, _)| part == name);
        let mut lacks: Vec<String> = missing
            .iter()
            .map(|(part, why)| lack(part, *why, line.is_some()))
            .collect();
        let mut words = Words::default();
        let command = line.map(|line| {
            words.plain("curl --globoff --path-as-is --include");
            match line.method.as_str() {
                "HEAD" => words.plain(" --head"),
                method => words.option("--request", method),
            }
            let has = |name: &str| {
                let mut headers = line.headers.iter();
                headers.any(|(known, _)| known.eq_ignore_ascii_case(name))
            };
            for (name, value) in &line.headers {
                let is_of_curl = OF_CURL.iter().any(|known| name.eq_ignore_ascii_case(known));
                if is_of_curl || is_missing(&format!("header/{name}")) {
                    continue;
                }
                if !is_token(name) || value.contains('\0') {
                    lacks.push(format!(
                        "header/{}: no command can hold it; left out",
                        shown(name)
                    ));
                    continue;
                }
                words.next_line();
                // `NAME:` would take away a field that curl adds.
                let is_empty = value.trim().is_empty();
                let field = if is_empty {
                    format!("{name};")
                } else {
                    format!("{name}: {value}")
                };
                words.option("--header", &field);
            }
            if has("accept-encoding") {
                words.plain(" --compressed");
            }
            let body = line.body.text.as_deref();
            let added = ADDED.into_iter().chain(body.map(|_| "content-type"));
            for name in added.filter(|name| !has(name)) {
                words.next_line();
                words.option("--header", &format!("{name}:"));
            }
            match body {
                None => {}
                Some(body) if body.contains('\0') => lacks.push(
                    "body: it has a NUL, which no word of a command can hold; left out".to_owned(),
                ),
                Some(body) => {
                    words.next_line();
                    words.option("--data-raw", body);
                }
            }
            words.next_line();
            if !line.url.starts_with('/') {
                words.option("--request-target", &line.url);
            }
            words.plain(&format!(" \"${SERVICE}\""));
            if line.url.starts_with('/') {
                words.word(&line.url);
            }
            std::mem::take(&mut words.text)
        });
        let open = open(&lacks).filter(|_| command.is_some());
        Some(Self {
            command,
            lacks,
            open,
            needs_bash: words.needs_bash,
        })
    }
}

/// What the record lacks of a request, and what stands in the command instead.
fn lack(part: &str, why: HiddenWhy, is_written: bool) -> String {
    let instead = match part {
        _ if !is_written => "there is no command without it",
        part if part.starts_with("header/") => "left out",
        _ => "its hash stands in the command",
    };
    format!("{}: {}; {instead}", shown(part), why.meaning())
}

/// What an answer to a request that lacks so much does not prove.
fn open(lacks: &[String]) -> Option<String> {
    let told = match lacks.len() {
        0 => return None,
        1 => "one part is left out or stands as a hash".to_owned(),
        count => format!("{count} parts are left out or stand as hashes"),
    };
    Some(format!(
        "Where the answers differ again, that is certain. Where they do not, nothing is proven: {told}, and the \
         fault may depend on that."
    ))
}

/// Whether a text can be the name of a header field.
fn is_token(name: &str) -> bool {
    let is_one = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(is_one)
}

/// Words of a command.
#[derive(Default)]
struct Words {
    text: String,
    needs_bash: bool,
}

impl Words {
    /// Text of ours.
    fn plain(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn next_line(&mut self) {
        self.text.push_str(" \\\n ");
    }

    fn option(&mut self, name: &str, value: &str) {
        self.text.extend([" ", name, " "]);
        self.word(value);
    }

    /// Captured text as one word, or as the end of one.
    fn word(&mut self, text: &str) {
        if !text.contains(is_hidden) {
            self.text.extend(["'", &text.replace('\'', r"'\''"), "'"]);
            return;
        }
        self.needs_bash = true;
        self.text.push_str("$'");
        for character in text.chars() {
            match character {
                '\n' => self.text.push_str(r"\n"),
                '\r' => self.text.push_str(r"\r"),
                '\t' => self.text.push_str(r"\t"),
                '\\' => self.text.push_str(r"\\"),
                character if character == '\'' || is_hidden(character) => {
                    for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                        // Three digits always, so that none of what follows is taken for one. Writing to a String cannot fail.
                        let _infallible = write!(self.text, "\\{byte:03o}");
                    }
                }
                character => self.text.push(character),
            }
        }
        self.text.push('\'');
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use parity_schemas::record::{RecordedMessage, Sample};

    use super::*;

    fn mismatch(
        method: &str,
        target: (&str, &str),
        headers: &[(&str, &str)],
        body: &str,
    ) -> Mismatch {
        let empty = RecordedMessage {
            headers: Vec::new(),
            body: String::new(),
            body_bytes: 0,
            body_cut: false,
        };
        let headers = headers.iter();
        Mismatch {
            method: method.to_owned(),
            path: target.0.to_owned(),
            query: target.1.to_owned(),
            sample: Some(Sample {
                request: RecordedMessage {
                    headers: headers
                        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                        .collect(),
                    body: body.to_owned(),
                    body_bytes: body.len() as u64,
                    body_cut: false,
                },
                legacy: empty.clone(),
                candidate: empty,
            }),
            ..Mismatch::default()
        }
    }

    fn curl(mismatch: &Mismatch) -> Curl {
        Curl::of(mismatch).expect("it was kept")
    }

    /// What a shell makes of a command: its words, one after the other.
    fn words(shell: &str, command: &str) -> Vec<String> {
        let script =
            format!("curl() {{ printf '%s\\0' \"$@\"; }}; SERVICE=http://127.0.0.1:1; {command}");
        let ran = Command::new(shell).args(["-c", &script]).output();
        let ran = ran.expect("the shell runs");
        assert!(ran.status.success() && ran.stderr.is_empty(), "{ran:?}");
        let text = String::from_utf8(ran.stdout).expect("UTF-8");
        let text = text.strip_suffix('\0').expect("words");
        text.split('\0').map(str::to_owned).collect()
    }

    #[test]
    fn a_request_is_a_command_of_just_its_words() {
        let one = mismatch(
            "GET",
            ("/items/1", "a=[1]&b={x}"),
            &[("accept", "*/*"), ("x-empty", ""), ("content-length", "0")],
            "",
        );
        let curl = curl(&one);
        assert_eq!(
            curl.command.as_deref(),
            Some(
                "curl --globoff --path-as-is --include --request 'GET' \\\n  --header 'accept: */*' \\\n  --header 'x-empty;' \
                 \\\n  --header 'user-agent:' \\\n  \"$SERVICE\"'/items/1?a=[1]&b={x}'"
            )
        );
        assert!(curl.lacks.is_empty() && curl.open.is_none() && !curl.needs_bash);
    }

    #[test]
    fn no_text_of_a_request_is_carried_out_and_a_shell_reads_each_byte() {
        let hostile = [
            "'; touch /tmp/parity-owned; '",
            "$(id) `id` $HOME \\ \\\\ ! \"",
            "line\nbreak\r\n\ttab",
            "\u{202e}reversed\u{200b}7",
            "'\u{1b}[31m' \\'; exit 1; \\'",
            "é 漢字 🙂 \u{85}",
        ];
        for text in hostile {
            let header = text.replace(['\n', '\r'], " ");
            let one = mismatch("POST", ("/a", text), &[("x-it", &header)], text);
            let curl = curl(&one);
            let command = curl.command.expect("all of it was kept");
            assert!(
                !command.contains(|one| one != '\n' && is_hidden(one)),
                "{command:?}"
            );
            let read = words("bash", &command);
            let is_there = |word: String| read.contains(&word);
            assert!(is_there(text.to_owned()), "{read:?}");
            assert!(is_there(format!("x-it: {header}")), "{read:?}");
            assert!(is_there(format!("http://127.0.0.1:1/a?{text}")), "{read:?}");
            // Another shell may read it in another way, but as the same number of words.
            assert_eq!(words("sh", &command).len(), read.len(), "{command}");
        }
    }

    #[test]
    fn what_the_record_lacks_is_told_and_not_sent() {
        let hash = "hmac:0123456789abcdef0123456789abcdef";
        let one = mismatch(
            "HEAD",
            ("/a", &format!("token={hash}")),
            &[("Authorization", hash), ("accept-encoding", "gzip")],
            "",
        );
        let curl = curl(&one);
        let command = curl.command.expect("a command");
        assert!(
            !command.contains("Authorization")
                && command.contains(" --head")
                && command.contains("--compressed")
                && command.contains(hash),
            "{command}"
        );
        assert_eq!(
            curl.lacks,
            [
                "query/token: the record has only its keyed hash; its hash stands in the command",
                "header/Authorization: the record has only its keyed hash; left out"
            ]
        );
        assert!(
            curl.open
                .is_some_and(|open| open.contains("nothing is proven: 2 parts are left out"))
        );
        let mut cut = mismatch("POST", ("/a", ""), &[], "{\"a\":");
        if let Some(sample) = &mut cut.sample {
            sample.request.body_cut = true;
        }
        let cut = self::curl(&cut);
        assert!(cut.command.is_none());
        assert_eq!(
            cut.lacks,
            ["body: the record has not all of it; there is no command without it"]
        );
        assert!(Curl::of(&Mismatch::default()).is_none());
    }
}
