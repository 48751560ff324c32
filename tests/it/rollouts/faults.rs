//! What goes wrong around a controller's question: wrong tokens, restarts, crowds. Nothing of it is a yes.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::argo::Phase;
use super::flagger::Hook;
use super::{ENOUGH, TOKEN, VERSION, arguments, canary, is_no, place, send, template};
use crate::support::process::{Mirror, Place};
use crate::support::service::Service;
use crate::support::{Stop, client, wait_for};

/// A mirror whose record proves a pass, or a fail.
pub(super) fn proven(place: &Place, passes: bool) -> (Mirror<'_>, [Service; 2]) {
    proven_in(place, passes, "sqlite:parity.db")
}

/// The same in this store.
pub(super) fn proven_in<'a>(
    place: &'a Place,
    passes: bool,
    store: &str,
) -> (Mirror<'a>, [Service; 2]) {
    let services =
        [1, if passes { 1 } else { 2 }].map(|a| Service::json(&format!("{{\"a\":{a}}}")));
    let arguments = [&arguments()[..], &["--store", store]].concat();
    let mirror = place.mirror(&services[0].url(), &services[1].url(), &arguments);
    send(&mirror, if passes { ENOUGH } else { 40 });
    wait_for("a store", || {
        let measured = template().measure(mirror.admin);
        (measured.1 != Phase::Error).then_some(())
    });
    (mirror, services)
}

#[test]
fn a_wrong_token_is_an_error_to_argo_and_no_yes_to_flagger() {
    let place = place();
    let (failing, _kept) = proven(&place, false);
    let wrong = super::Template::with(&[("candidate-version", VERSION), ("token", "wrong")]);
    let (value, phase) = wrong.measure(failing.admin);
    assert_eq!(phase, Phase::Error, "{value}");
    for hook in canary().with("token", "wrong").ask(failing.admin) {
        assert!(
            matches!(&hook, Hook::No(why) if why.contains("metadata.token")),
            "{hook:?}"
        );
    }
    failing.stop();
}

#[test]
fn a_mirror_that_restarts_says_no_yes_that_is_not_proven() {
    for passes in [true, false] {
        let place = place();
        // An address of its own: on the usual one, a connection that is refused could take the port.
        let free = TcpListener::bind("127.0.0.77:0").expect("a free port");
        let port = free.local_addr().expect("bound");
        drop(free);
        let admin = port.to_string();
        let (mut mirror, services) = proven(&place, passes);
        let (over, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
        let (mirror, refused) = std::thread::scope(|scope| {
            let _stop = Stop(&over);
            let polling = scope.spawn(|| {
                let (template, canary) = (template(), canary());
                let mut refused = 0;
                while !over.load(Ordering::Relaxed) {
                    let (value, phase) = template.measure(port);
                    let [begin, promote, roll_back] = canary.ask(port);
                    if passes {
                        assert_ne!(phase, Phase::Failed, "{value}");
                        assert!(is_no(&roll_back), "{value}");
                    } else {
                        assert_ne!(phase, Phase::Successful, "{value}");
                        assert!(is_no(&begin) && is_no(&promote), "{value}");
                    }
                    match phase {
                        Phase::Error => refused += 1,
                        _ => drop(answered.fetch_add(1, Ordering::Relaxed)),
                    }
                }
                refused
            });
            for end in ["TERM", "KILL"] {
                mirror.signal(end);
                mirror.ended();
                let mut command = place.command(&[
                    "mirror",
                    "--legacy",
                    &services[0].url(),
                    "--candidate",
                    &services[1].url(),
                    "--listen",
                    "127.0.0.1:0",
                    "--admin",
                    &admin,
                ]);
                command.args(arguments()).env("PARITY_INSTANCE", "test");
                mirror = place.start(&mut command);
                mirror.address = mirror.announced("listening on http://");
                mirror.admin = mirror.announced("admin port on http://");
                send(&mirror, 20);
                wait_for("an answer of the new mirror", || {
                    let (_, phase) = template().measure(port);
                    (phase != Phase::Error).then_some(())
                });
                let before = answered.load(Ordering::Relaxed);
                wait_for("an answer to the others", || {
                    (answered.load(Ordering::Relaxed) > before).then_some(())
                });
            }
            over.store(true, Ordering::Relaxed);
            (mirror, polling.join().expect("no yes"))
        });
        assert!(refused > 0);
        mirror.stop();
    }
}

#[test]
fn a_crowd_of_controllers_is_answered_in_time() {
    let place = place();
    let (mirror, _kept) = proven(&place, true);
    let port = mirror.admin;
    let ids: BTreeSet<String> = std::thread::scope(|scope| {
        let asking: Vec<_> = (0..24)
            .map(|_| {
                scope.spawn(move || {
                    let bearer = format!("Bearer {TOKEN}");
                    let headers = [("authorization", bearer.as_str())];
                    client::send(port, "GET", "/api/v1/gate", &headers, b"").json()
                })
            })
            .collect();
        let answers = asking
            .into_iter()
            .map(|asked| asked.join().expect("answered"));
        answers
            .map(|answer| answer["decision_id"].to_string())
            .collect()
    });
    assert!(ids.len() <= 6, "they share decisions: {ids:?}");
    // Equal questions share a decision; different ones wait for a place. Connections are few, so some wait before that.
    for different in [false, true] {
        std::thread::scope(|scope| {
            let asking: Vec<_> = (0..24)
                .map(|number| {
                    scope.spawn(move || {
                        let rate = if different { number + 2 } else { 2 };
                        let canary = canary().with("max_mismatch_rate", &format!("0.{rate:03}"));
                        canary.call("confirm-rollout", port)
                    })
                })
                .collect();
            for asked in asking {
                assert_eq!(asked.join().expect("answered"), Hook::Yes);
            }
        });
    }
    // Probes are answered meanwhile, and clients do not notice.
    assert_eq!(mirror.ask("/readyz").status, 200);
    assert_eq!(mirror.get("/items/1").status, 200);
    mirror.stop();
}
