//! What the mirror does with requests: services, sampling, forwarding, limits, routes. All of it can be reloaded.

use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use http::header::{HeaderName, HeaderValue};
use parity_mirror::{
    Forwarding, Limits, Mode, PathRewrite, Policy, Protocol, SampleBy, Sampling, ServerTls, Target,
    UpstreamUrl,
};
use parity_schemas::route::{RoutePolicy, RouteRule};

use super::file::Entry;
use super::needs::{MAX_SECRET_BYTES, entry_origin, entry_text, some_time};
use super::problem::{Origin, Problem, read_named_file};
use super::{DEFAULT_FILE, Layers, MAX_FILE_BYTES, value};

/// Fields that say where a message ends or whose connection it is: a wrong one would be a hole.
const NOT_TO_BE_CHANGED: [&str; 9] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// The settings of one side.
struct TargetKeys {
    url: &'static str,
    protocol: &'static str,
    host: &'static str,
    rewrite: &'static str,
    set: &'static str,
    remove: &'static str,
    credentials: &'static str,
}

const LEGACY: TargetKeys = TargetKeys {
    url: "mirror.legacy",
    protocol: "legacy.protocol",
    host: "legacy.host",
    rewrite: "legacy.rewrite",
    set: "legacy.set_headers",
    remove: "legacy.remove_headers",
    credentials: "legacy.credentials_file",
};
const CANDIDATE: TargetKeys = TargetKeys {
    url: "mirror.candidate",
    protocol: "candidate.protocol",
    host: "candidate.host",
    rewrite: "candidate.rewrite",
    set: "candidate.set_headers",
    remove: "candidate.remove_headers",
    credentials: "candidate.credentials_file",
};

impl Layers {
    /// The policy of `mirror`; `None` if something is wrong, which has then been noted.
    pub(super) fn policy(&mut self) -> Option<Policy> {
        let mode = self.get("mirror.mode", mode);
        let legacy = self.target(&LEGACY);
        let candidate = self.target(&CANDIDATE);
        let ca_file = self.readable("mirror.ca_file");
        let tls = self.server_tls();
        let share = self.get("mirror.sample", value::share);
        let by = self.get("mirror.sample_by", sample_by);
        let forwarding = self.forwarding();
        let limits = self.limits();
        let routes = self.routes();
        Some(Policy {
            mode: mode?,
            legacy: legacy?,
            candidate: candidate?,
            ca_file,
            tls,
            sampling: Sampling {
                share: share?,
                by: by?,
            },
            forwarding: forwarding?,
            limits: limits?,
            routes,
        })
    }

    fn target(&mut self, keys: &TargetKeys) -> Option<Target> {
        let url = self.upstream(keys.url);
        let protocol = self.get(keys.protocol, protocol);
        let host = self.get(keys.host, host);
        let rewrite = self.get(keys.rewrite, rewrite);
        let mut set = self.each(keys.set, header);
        let remove = self.each(keys.remove, header_name);
        set.extend(self.credentials(keys.credentials));
        let mut target = Target::new(url?);
        target.protocol = protocol?;
        target.host = host;
        target.rewrite = rewrite;
        target.set = set;
        target.remove = remove;
        Some(target)
    }

    fn upstream(&mut self, key: &'static str) -> Option<UpstreamUrl> {
        if self.text(key).is_none() && !self.broken_file {
            let name = key.trim_start_matches("mirror.");
            let problem = Problem::new(Origin::Default, format!("no {name} is given")).hint(
                format!("--{name} http://HOST:PORT, or `{name} = …` in [mirror] of {DEFAULT_FILE}"),
            );
            self.problems.push(problem);
        }
        self.get(key, str::parse)
    }

    /// Reads every element of a list.
    fn each<T>(&mut self, key: &'static str, read: impl Fn(&str) -> Result<T, String>) -> Vec<T> {
        let mut values = Vec::new();
        for text in self.list(key, Vec::new()) {
            match read(&text) {
                Ok(value) => values.push(value),
                Err(error) => {
                    let origin = self.origin(key);
                    self.problems
                        .push(Problem::new(origin, format!("{key}: {error}")));
                }
            }
        }
        values
    }

    /// Headers from a file. Its lines are told by their number only: they are secret.
    fn credentials(&mut self, key: &'static str) -> Vec<(HeaderName, HeaderValue)> {
        let Some((path, origin)) = self.path(key) else {
            return Vec::new();
        };
        let bytes = match read_named_file(&path, &origin, MAX_SECRET_BYTES) {
            Ok(bytes) => bytes,
            Err(problem) => {
                self.problems.push(problem);
                return Vec::new();
            }
        };
        let mut headers = Vec::new();
        let lines = bytes.split(|byte| *byte == b'\n').zip(1..);
        // Empty lines and comments say nothing; no name of a field begins with `#`.
        let says = |line: &[u8]| !matches!(line.trim_ascii().first(), None | Some(b'#'));
        for (line, number) in lines.filter(|(line, _)| says(line)) {
            let read = std::str::from_utf8(line).ok().map(header);
            if let Some(Ok((name, mut value))) = read {
                value.set_sensitive(true);
                headers.push((name, value));
            } else {
                let message = format!(
                    "{key}: line {number} of {} is no header that can be set",
                    path.display()
                );
                let hint = "write one `name: value` on a line, such as authorization: Bearer …; a line that begins with # is a comment";
                self.problems
                    .push(Problem::new(origin.clone(), message).hint(hint));
            }
        }
        headers
    }

    fn server_tls(&mut self) -> Option<ServerTls> {
        let [certificate, key] = ["mirror.tls_certificate_file", "mirror.tls_key_file"];
        let files = (self.readable(certificate), self.readable(key));
        let given = [certificate, key].map(|key| self.values.contains_key(key));
        match (files, given) {
            ((Some(certificate_file), Some(key_file)), _) => Some(ServerTls {
                certificate_file,
                key_file,
            }),
            (_, [true, false] | [false, true]) => {
                let message = format!("{certificate} and {key} belong together");
                self.problems.push(
                    Problem::new(Origin::Default, message)
                        .hint("name both, or none to serve without TLS"),
                );
                None
            }
            _ => None,
        }
    }

    /// The path of a file that can be read.
    pub(super) fn readable(&mut self, key: &'static str) -> Option<PathBuf> {
        let (path, origin) = self.path(key)?;
        match read_named_file(&path, &origin, MAX_FILE_BYTES) {
            Ok(_) => Some(path),
            Err(problem) => {
                self.problems.push(problem);
                None
            }
        }
    }

    fn forwarding(&mut self) -> Option<Forwarding> {
        let x_forwarded_for = self.get("forwarding.x_forwarded_for", value::switch);
        let x_forwarded_origin = self.get("forwarding.x_forwarded_origin", value::switch);
        let forwarded = self.get("forwarding.forwarded", value::switch);
        let via = self.get("forwarding.via", pseudonym);
        let key = "forwarding.trusted_proxies";
        let listed = self.values.contains_key(key);
        let networks = self.each(key, network);
        Some(Forwarding {
            x_forwarded_for: x_forwarded_for?,
            x_forwarded_origin: x_forwarded_origin?,
            forwarded: forwarded?,
            via,
            trusted: listed.then(|| networks.into()),
        })
    }

    fn limits(&mut self) -> Option<Limits> {
        let deadline = self.get("limits.candidate_deadline", some_time);
        let in_flight = self.get("limits.in_flight", value::count);
        let rate = self.get("limits.candidate_rate", value::count);
        let shadow_bytes = self.get("limits.shadow_bytes", value::size);
        let body = self.get("limits.body", value::size);
        let drain = self.get("limits.drain", value::duration);
        Some(Limits {
            candidate_deadline: deadline?,
            in_flight: in_flight?,
            candidate_rate: rate.and_then(NonZeroUsize::new),
            shadow_bytes: shadow_bytes? as usize,
            body: body? as usize,
            drain: drain?,
            ..Limits::default()
        })
    }

    /// Reads a key of a [[route]] that is not text.
    fn entry_value<T>(
        &mut self,
        entry: &Entry,
        key: &str,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        match read(entry_text(entry, key)?) {
            Ok(value) => Some(value),
            Err(error) => {
                let origin = entry_origin(entry, key);
                self.problems
                    .push(Problem::new(origin, format!("{key}: {error}")));
                None
            }
        }
    }

    fn routes(&mut self) -> Arc<[RouteRule]> {
        let mut rules = Vec::new();
        for entry in std::mem::take(&mut self.routes) {
            let Some(wanted) = entry_text(&entry, "match") else {
                let problem = Problem::new(entry.origin, "a [[route]] needs `match`");
                self.problems
                    .push(problem.hint("write for example match = \"GET /users/{id}\""));
                continue;
            };
            let policy = RoutePolicy {
                shadow: self.entry_value(&entry, "shadow", value::switch),
                sample: self.entry_value(&entry, "sample", value::share),
            };
            match RouteRule::parse(wanted, policy) {
                Ok(rule) => rules.push(rule),
                Err(error) => {
                    let origin = entry_origin(&entry, "match");
                    self.problems
                        .push(Problem::new(origin, format!("match: {error}")));
                }
            }
        }
        rules.into()
    }
}

fn mode(text: &str) -> Result<Mode, String> {
    match text {
        "proxy" => Ok(Mode::Proxy),
        "tap" => Ok(Mode::Tap),
        _ => Err(format!("`{text}` is no mode; write proxy or tap")),
    }
}

fn protocol(text: &str) -> Result<Protocol, String> {
    match text {
        "auto" => Ok(Protocol::Auto),
        "http1" => Ok(Protocol::Http1),
        "http2" => Ok(Protocol::Http2),
        _ => Err(format!(
            "`{text}` is no protocol; write auto, http1 or http2"
        )),
    }
}

fn sample_by(text: &str) -> Result<SampleBy, String> {
    let wrong = || {
        format!(
            "`{text}` is nothing to sample by; write request, header:x-user-id or cookie:session"
        )
    };
    match text.split_once(':') {
        None if text == "request" => Ok(SampleBy::Request),
        Some(("header", name)) => header_name(name.trim())
            .map(SampleBy::Header)
            .map_err(|_| wrong()),
        Some(("cookie", name)) => {
            let name = name.trim();
            // RFC 6265 §4.1.1: a token.
            let valid = HeaderName::from_bytes(name.as_bytes()).is_ok();
            valid
                .then(|| SampleBy::Cookie(name.into()))
                .ok_or_else(wrong)
        }
        _ => Err(wrong()),
    }
}

fn host(text: &str) -> Result<HeaderValue, String> {
    let valid = text
        .parse::<http::uri::Authority>()
        .is_ok_and(|authority| !authority.as_str().contains('@'));
    HeaderValue::from_str(text)
        .ok()
        .filter(|_| valid)
        .ok_or_else(|| format!("`{text}` is no host; write for example payments.example:8443"))
}

fn rewrite(text: &str) -> Result<PathRewrite, String> {
    let (from, to) = text
        .split_once("->")
        .ok_or_else(|| format!("`{text}` is no rewrite; write for example /api -> /v2"))?;
    PathRewrite::new(from.trim(), to.trim()).map_err(|error| error.to_string())
}

fn header(text: &str) -> Result<(HeaderName, HeaderValue), String> {
    // The value is not repeated: it may be a credential.
    let (name, value) = text
        .split_once(':')
        .ok_or("an element is no header; write for example \"x-env: canary\"")?;
    let name = changeable(header_name(name.trim())?)?;
    let value = HeaderValue::from_str(value.trim())
        .map_err(|_| format!("the value of `{name}` has characters that no header may have"))?;
    Ok((name, value))
}

fn header_name(text: &str) -> Result<HeaderName, String> {
    HeaderName::from_bytes(text.as_bytes())
        .map_err(|_| format!("`{text}` is no name of a header"))
        .and_then(changeable)
}

fn changeable(name: HeaderName) -> Result<HeaderName, String> {
    if NOT_TO_BE_CHANGED.contains(&name.as_str()) {
        let instead = match name.as_str() {
            "host" => "use `host` of the same section",
            _ => "it says where a message ends or whom it is for",
        };
        return Err(format!("`{name}` cannot be changed: {instead}"));
    }
    Ok(name)
}

fn pseudonym(text: &str) -> Result<Box<str>, String> {
    HeaderName::from_bytes(text.as_bytes())
        .map(|_| text.into())
        .map_err(|_| format!("`{text}` is no name for Via; write one word, such as parity"))
}

fn network(text: &str) -> Result<ipnet::IpNet, String> {
    text.parse()
        .or_else(|_| text.parse::<IpAddr>().map(ipnet::IpNet::from))
        .map_err(|_| {
            format!("`{text}` is no address or network; write for example 10.0.0.0/8 or 192.0.2.1")
        })
}
