//! The environment of the process: every variable whose name begins with `PARITY_`.
//!
//! A name that no setting has is reported: a setting that is set and does not apply is worse than none. Names that are not
//! meant for us are left alone: those of tests, and those that Kubernetes and Docker put into every container for a service
//! that is called `parity`.

use parity_schemas::spelling;

use super::problem::{Origin, Problem};
use super::settings::{self, Setting, limits};

/// How the names of all our variables begin.
const PREFIX: &str = "PARITY_";
/// Where the proxy is, for the tests that `parity ci` runs.
pub(crate) const URL: &str = "PARITY_URL";
/// Variables that are no settings, with what they are for. The command line, the log and scripts read them.
pub(crate) const BESIDE: [(&str, &str); 4] = [
    ("PARITY_CONFIG", "the configuration file, as `--config`"),
    (
        URL,
        "set by `parity ci` for the command that it runs: where the proxy is",
    ),
    (
        "PARITY_LOG",
        "a filter for the log, such as `parity_mirror=debug`; it wins over `-v` and `-q`",
    ),
    (
        "PARITY_SERVICES_DIR",
        "for the tests: where the programs are that they run beside",
    ),
];
/// For tests, ours and others'.
const TESTS: &str = "PARITY_TEST_";

/// Variables by name. The default has none.
#[derive(Default)]
pub(crate) struct Environment(Vec<(String, Option<String>)>);

impl Environment {
    /// The environment of this process.
    pub(crate) fn of_process() -> Self {
        let ours = std::env::vars_os().filter_map(|(name, value)| {
            let name = name.into_string().ok()?;
            name.starts_with(PREFIX)
                .then(|| (name, value.into_string().ok()))
        });
        let mut variables: Vec<_> = ours.collect();
        variables.sort();
        Self(variables)
    }

    /// Only the variables of these settings.
    pub(crate) fn only(mut self, settings: &[&Setting]) -> Self {
        let names: Vec<_> = settings.iter().map(|setting| setting.variable()).collect();
        self.0.retain(|(name, _)| names.contains(name));
        self
    }

    /// Made up.
    #[cfg(test)]
    pub(crate) fn of<'a>(variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let owned = |(name, value): (&str, &str)| (name.to_owned(), Some(value.to_owned()));
        Self(variables.into_iter().map(owned).collect())
    }

    /// The value of a variable that is set.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let (_, value) = self.0.iter().find(|(known, _)| known == name)?;
        value.as_deref()
    }

    /// Variables that no setting has, or that are no text.
    pub(super) fn problems(&self) -> Vec<Problem> {
        let settings: Vec<String> = settings::all()
            .map(Setting::variable)
            .chain(settings::all().filter_map(Setting::former_variable))
            .collect();
        let beside = BESIDE.map(|(name, _)| name);
        let known = || settings.iter().map(String::as_str).chain(beside);
        let mut problems = Vec::new();
        for (name, value) in &self.0 {
            let origin = || Origin::Environment(name.clone());
            if known().any(|known| known == name) {
                if value.is_none() {
                    problems.push(Problem::new(origin(), "the value is not UTF-8 text"));
                }
            } else if let Some(dropped) =
                settings::all_dropped().find(|dropped| dropped.variable() == *name)
            {
                problems.push(Problem::new(origin(), dropped.message()).hint(dropped.instead));
            } else if !name.starts_with(TESTS) && !is_of_orchestrator(name, value.as_deref()) {
                // Without the prefix that all of them have, or all of them would be near.
                let own = |name: &'_ str| name.strip_prefix(PREFIX).unwrap_or(name).to_owned();
                let names: Vec<String> = known().map(own).collect();
                let hint = match spelling::nearest(&own(name), names.iter().map(String::as_str)) {
                    Some(word) => format!("did you mean {PREFIX}{word}?"),
                    None => format!(
                        "`parity config show` lists the settings; PARITY_ and the name of the flag is the \
                         variable, else the whole key, such as {}",
                        limits::DRAIN.variable()
                    ),
                };
                let message = "no setting has this variable";
                problems.push(Problem::new(origin(), message).hint(hint));
            }
        }
        problems
    }
}

/// `PARITY_SERVICE_HOST`, `PARITY_MIRROR_PORT_8080_TCP_ADDR` and the like: where a service is, put there by Kubernetes
/// for each service of the namespace, and by links of Docker.
fn is_of_orchestrator(name: &str, value: Option<&str>) -> bool {
    const PROTOCOLS: [&str; 3] = ["TCP", "UDP", "SCTP"];
    let of_service = ["_SERVICE_HOST", "_SERVICE_PORT"]
        .iter()
        .any(|end| name.ends_with(end))
        || name.contains("_SERVICE_PORT_");
    let is_url = || {
        let scheme = value.and_then(|value| value.split_once("://"));
        scheme.is_some_and(|(scheme, _)| PROTOCOLS.contains(&scheme.to_ascii_uppercase().as_str()))
    };
    let of_port = name.rsplit_once("_PORT_").is_some_and(|(_, rest)| {
        let mut words = rest.split('_');
        let number = words.next().is_some_and(|word| word.parse::<u16>().is_ok());
        number && words.next().is_some_and(|word| PROTOCOLS.contains(&word))
    });
    of_service || of_port || (name.ends_with("_PORT") && is_url())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(name: &str, value: &str) -> Option<String> {
        let environment = Environment(vec![(name.to_owned(), Some(value.to_owned()))]);
        let problem = environment.problems().pop()?;
        Some(problem.hint.unwrap_or_default())
    }

    #[test]
    fn names_that_nobody_reads_are_told_with_the_one_that_was_meant() {
        for (name, meant) in [
            ("PARITY_SAMPEL", "PARITY_SAMPLE"),
            ("PARITY_CANDIATE", "PARITY_CANDIDATE"),
            ("PARITY_LIMITS_DRIAN", "PARITY_LIMITS_DRAIN"),
            ("PARITY_KAFKA_PASWORD", "PARITY_KAFKA_PASSWORD"),
            ("PARITY_CONFG", "PARITY_CONFIG"),
        ] {
            let hint = wrong(name, "x").expect(name);
            assert_eq!(hint, format!("did you mean {meant}?"));
        }
        let other = wrong("PARITY_XYZZY", "x").expect("nobody's");
        assert!(other.contains("config show"), "{other}");
    }

    #[test]
    fn names_that_somebody_reads_are_let_alone() {
        let settings = settings::all().map(Setting::variable);
        for name in settings.chain(BESIDE.map(|(name, _)| name.to_owned())) {
            assert_eq!(wrong(&name, "x"), None, "{name}");
        }
        for (name, value) in [
            ("PARITY_TEST_KAFKA", "host:9092"),
            ("PARITY_SERVICE_HOST", "10.0.0.1"),
            ("PARITY_SERVICE_PORT", "8080"),
            ("PARITY_SERVICE_PORT_HTTP", "8080"),
            ("PARITY_MIRROR_SERVICE_PORT_ADMIN", "9900"),
            ("PARITY_PORT", "tcp://10.0.0.1:8080"),
            ("PARITY_PORT_8080_TCP", "tcp://10.0.0.1:8080"),
            ("PARITY_PORT_8080_TCP_PROTO", "tcp"),
            ("PARITY_MIRROR_PORT_8080_TCP_PORT", "8080"),
            ("PARITY_MIRROR_PORT_8080_TCP_ADDR", "10.0.0.1"),
        ] {
            assert_eq!(wrong(name, value), None, "{name}");
        }
        assert!(
            wrong("PARITY_PORT", "8080").is_some(),
            "not where a service is"
        );
    }
}
