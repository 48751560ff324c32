//! `parity stub`: stands in the place of the services that legacy and candidate call, answers, and compares what they send.

mod shown;

use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use http::Uri;
use http::uri::{Authority, Scheme};
use parity_dashboards::terminal;
use parity_schemas::stub::StubOutcome;
use tokio::sync::watch;

use crate::cli::{OutputFormat, StubArgs};
use crate::commands::written::TextOrJson;
use crate::config::{Layers, StubSettings};
use crate::error;
use crate::process::descriptors;
use crate::process::signals::{Hangup, Signal, Signals};
use crate::stub::{self, Answers, Canned, Stub, Wanted};

/// Runs it.
pub(crate) fn run(args: StubArgs) -> Result<ExitCode> {
    let flags = args.flags.settings();
    let settings = Layers::load_here(args.file.config.as_deref(), &flags).stub()?;
    let answers = answers(&args, &settings)?;
    let files = TextOrJson::ready(&args.reports)?;
    let descriptors = descriptors::raise();
    let mut signals = Signals::listen(Hangup::Ends)?;
    let wanted = Wanted {
        legacy: args.legacy_listen,
        candidate: args.candidate_listen,
        correlate_by: args.correlate_by,
        in_order: !args.any_order,
        wait: args.wait,
        answer_wait: args.answer_wait,
        min_calls: args.min_calls,
        shadowed: args.shadowed,
    };
    let stub = signals
        .runtime()
        .block_on(Stub::bind(wanted, answers, settings, descriptors))?;
    let [legacy, candidate] = stub.addresses()?;
    tracing::info!(
        "calls of the legacy on http://{legacy} · calls of the candidate on http://{candidate}"
    );
    let (end, ends) = watch::channel(0);
    let mut found = None;
    let done = async {
        found = Some(stub.run(args.time, ends).await);
    };
    signals.wait(done, |signal| {
        if signal == Signal::End {
            end.send_modify(|ends| *ends += 1);
        }
        false
    });
    let document = found.context("the stub ended without a result; please report this")?;
    let text = shown::text(&document);
    let is_written = files.write(&text, &document);
    match args.output {
        OutputFormat::Text => terminal::print(&text)?,
        OutputFormat::Json => terminal::print_json(&document)?,
    }
    Ok(match document.outcome {
        StubOutcome::Pass if !is_written => ExitCode::from(error::ERROR),
        StubOutcome::Pass => ExitCode::SUCCESS,
        StubOutcome::Fail => ExitCode::from(error::NO),
        StubOutcome::Undecided => ExitCode::from(error::UNDECIDED),
    })
}

/// Where answers come from; the command line has one of both.
fn answers(args: &StubArgs, settings: &StubSettings) -> Result<Answers> {
    match (&args.answers, &args.upstream) {
        (Some(file), _) => Ok(Answers::Canned(Canned::read(file)?)),
        (None, Some(url)) => {
            let (scheme, authority) = parts(url)?;
            stub::upstream(
                scheme,
                authority,
                settings.ca_file.as_deref(),
                args.upstream_deadline,
            )
        }
        (None, None) => bail!("--answers FILE or --upstream URL says how calls are answered"),
    }
}

/// Scheme and host of `--upstream`. Its text is not told back: it may have a password.
fn parts(url: &Uri) -> Result<(Scheme, Authority)> {
    let known = [Scheme::HTTP, Scheme::HTTPS];
    let is_bare = matches!(
        url.path_and_query().map(http::uri::PathAndQuery::as_str),
        None | Some("/" | "")
    );
    match (url.scheme(), url.authority()) {
        (Some(scheme), Some(authority))
            if known.contains(scheme) && is_bare && !authority.as_str().contains('@') =>
        {
            Ok((scheme.clone(), authority.clone()))
        }
        _ => bail!(
            "--upstream is no address of a service; write http://HOST:PORT or https://HOST, without a path or a user"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_a_scheme_and_a_host() {
        for (url, is_one) in [
            ("http://127.0.0.1:1", true),
            ("https://a.test/", true),
            ("http://127.0.0.1:1/v1", false),
            ("http://127.0.0.1:1/?a", false),
            ("http://user:hunter2@a.test", false),
            ("ftp://a.test", false),
            ("a.test:80", false),
            ("/v1", false),
        ] {
            let read = parts(&url.parse().expect("a URI"));
            assert_eq!(read.is_ok(), is_one, "{url}");
            assert!(!read.is_err_and(|error| error.to_string().contains("hunter2")));
        }
    }
}
