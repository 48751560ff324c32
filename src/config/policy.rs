//! What the mirror does with requests: services, sampling, forwarding, limits, routes. All of it can be reloaded.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use http::header::{HeaderName, HeaderValue};
use parity_mirror::{Forwarding, Limits, Policy, Sampling, Target};

use super::problem::{MAX_SECRET_BYTES, Problem, read_named_file};
use super::settings::{One, Side, candidate, forwarding, legacy, limits, mirror};
use super::value::services;
use super::{Layers, MAX_FILE_BYTES};

/// Bodies of one exchange: of the request and of both answers.
const BODIES_HELD: u64 = 3;

impl Layers {
    /// The policy of `mirror`; `None` if something is wrong, which is then reported.
    pub(super) fn policy(&mut self) -> Option<Policy> {
        let mode = self.get(&mirror::MODE);
        let legacy = self.target(&legacy::SIDE);
        let candidate = self.target(&candidate::SIDE);
        let ca_file = self.readable(&mirror::CA_FILE);
        let tls = self.server_tls(&mirror::TLS_CERTIFICATE_FILE, &mirror::TLS_KEY_FILE);
        let share = self.get(&mirror::SAMPLE);
        let by = self.get(&mirror::SAMPLE_BY);
        let forwarding = self.forwarding();
        let limits = self.limits();
        let routes = self.routes();
        let rollout = self.rollout_policy();
        Some(Policy {
            mode: mode?,
            legacy: legacy?,
            candidate: candidate?,
            ca_file,
            tls: tls.flatten(),
            sampling: Sampling {
                share: share?,
                by: by?,
            },
            unsafe_methods: false,
            rollout,
            forwarding: forwarding?,
            limits: limits?,
            routes,
        })
    }

    fn target(&mut self, side: &Side) -> Option<Target> {
        let url = self.needed(side.url);
        let protocol = self.get(side.protocol);
        let host = self.get(side.host);
        let rewrite = self.get(side.rewrite);
        let mut set = self.each(side.set_headers);
        let remove = self.each(side.remove_headers);
        set.extend(self.credentials(side.credentials_file));
        let mut target = Target::new(url?);
        target.protocol = protocol?;
        target.host = host;
        target.rewrite = rewrite;
        target.set = set;
        target.remove = remove;
        Some(target)
    }

    /// Headers from a file. Problems name a line by its number only: what it says is secret.
    pub(super) fn credentials(
        &mut self,
        setting: &'static One<PathBuf>,
    ) -> Vec<(HeaderName, HeaderValue)> {
        let Some((path, origin)) = self.path(setting) else {
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
            let read = std::str::from_utf8(line).ok().map(services::header);
            if let Some(Ok((name, mut value))) = read {
                value.set_sensitive(true);
                headers.push((name, value));
            } else {
                let message = format!(
                    "{}: line {number} of {} is no header that can be set",
                    setting.key,
                    path.display()
                );
                let hint = "write one `name: value` on a line, such as authorization: Bearer …; a line that begins with # is a comment";
                self.problems
                    .push(Problem::new(origin.clone(), message).hint(hint));
            }
        }
        headers
    }

    /// The path of a file that can be read.
    pub(super) fn readable(&mut self, setting: &'static One<PathBuf>) -> Option<PathBuf> {
        let (path, origin) = self.path(setting)?;
        match read_named_file(&path, &origin, MAX_FILE_BYTES) {
            Ok(_) => Some(path),
            Err(problem) => {
                self.problems.push(problem);
                None
            }
        }
    }

    fn forwarding(&mut self) -> Option<Forwarding> {
        let x_forwarded_for = self.get(&forwarding::X_FORWARDED_FOR);
        let x_forwarded_origin = self.get(&forwarding::X_FORWARDED_ORIGIN);
        let forwarded = self.get(&forwarding::FORWARDED);
        let via = self.get(&forwarding::VIA);
        let listed = self.is_given(&forwarding::TRUSTED_PROXIES);
        let networks = self.each(&forwarding::TRUSTED_PROXIES);
        Some(Forwarding {
            x_forwarded_for: x_forwarded_for?,
            x_forwarded_origin: x_forwarded_origin?,
            forwarded: forwarded?,
            via,
            trusted: listed.then(|| networks.into()),
        })
    }

    /// A byte budget that a single exchange may fill: what of it does not fit is not compared.
    pub(crate) fn tight_budget(&self) -> Option<Problem> {
        let mut read = self.clone();
        let (held, body) = (read.get(&limits::SHADOW_BYTES)?, read.get(&limits::BODY)?);
        (held < BODIES_HELD * body).then(|| {
            let message = format!(
                "{} of {held} bytes cannot hold the request and the two answers of one exchange, each of up to {body} bytes ({})",
                limits::SHADOW_BYTES.key,
                limits::BODY.key
            );
            let which = if self.is_given(&limits::SHADOW_BYTES) {
                &limits::SHADOW_BYTES
            } else {
                &limits::BODY
            };
            Problem::new(self.origin(which), message).hint(format!(
                "a large answer of the candidate is then not compared, and the gate stays undecided where such are many; set {} to {} at least",
                limits::SHADOW_BYTES.key,
                BODIES_HELD * body
            ))
        })
    }

    /// How long a mirror of this configuration drains, for commands that only show what it has recorded: where that cannot be read, as long as
    /// by default.
    pub(crate) fn drain(&self) -> Duration {
        let drain = self.clone().get(&limits::DRAIN);
        drain.unwrap_or_else(|| Limits::default().drain)
    }

    fn limits(&mut self) -> Option<Limits> {
        let deadline = self.get(&limits::CANDIDATE_DEADLINE);
        let in_flight = self.get(&limits::IN_FLIGHT);
        let rate = self.get(&limits::CANDIDATE_RATE);
        let shadow_bytes = self.get(&limits::SHADOW_BYTES);
        let body = self.get(&limits::BODY);
        let drain = self.get(&limits::DRAIN);
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
}
