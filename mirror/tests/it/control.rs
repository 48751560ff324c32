//! What the operator controls: sampling and shadowing, what each side gets, and applying another policy.

use std::num::NonZeroUsize;

use http::{HeaderName, HeaderValue};
use parity_mirror::{Mirror, PathRewrite, Policy, SampleBy, Target, UpstreamUrl};
use parity_schemas::verdict::Reason;

use crate::support::{Rig, Service, ok};

fn pair() -> (Service, Service) {
    (Service::saying(ok("a")), Service::saying(ok("a")))
}

#[test]
fn one_user_is_shadowed_always_or_never() {
    let (legacy, candidate) = pair();
    let mirror = Rig::new(&legacy, &candidate)
        .sample(0.5)
        .policy(|policy| policy.sampling.by = SampleBy::Header(HeaderName::from_static("x-user")))
        .start();
    let mut client = mirror.client();
    for _ in 0..3 {
        for user in 0..20 {
            client.send(format!(
                "GET /{user} HTTP/1.1\r\nhost: test\r\nx-user: user-{user}\r\n\r\n"
            ));
            client.reply();
        }
    }
    let left_out = mirror.ledger.reasons(60);
    assert!(left_out.iter().all(|reason| *reason == Reason::SampledOut));
    let mut seen: Vec<_> = candidate
        .seen()
        .iter()
        .map(|request| request.target().to_owned())
        .collect();
    seen.sort();
    let mut users = seen.clone();
    users.dedup();
    assert_eq!(seen.len(), users.len() * 3, "each of them three times");
    assert!((5..16).contains(&users.len()), "{users:?}");
}

#[test]
fn a_route_has_a_share_of_its_own() {
    let (legacy, candidate) = pair();
    let mirror = Rig::new(&legacy, &candidate)
        .sample(0.0)
        .route_sampled("GET /watched", 1.0)
        .start();
    let mut client = mirror.client();
    client.get("/watched");
    client.get("/other");
    assert_eq!(mirror.ledger.reasons(2), [Reason::SampledOut]);
    assert_eq!(candidate.requests(1)[0].target(), "/watched");
}

#[test]
fn the_candidate_gets_no_more_than_its_rate() {
    let (legacy, candidate) = pair();
    let mirror = Rig::new(&legacy, &candidate)
        .limits(|limits| limits.candidate_rate = NonZeroUsize::new(1))
        .start();
    let mut client = mirror.client();
    for _ in 0..20 {
        client.get("/");
    }
    let left_out = mirror.ledger.reasons(20);
    // One at once, and one more for each second that the test may have been held up.
    assert!((15..20).contains(&left_out.len()), "{}", left_out.len());
    assert!(left_out.iter().all(|reason| *reason == Reason::SampledOut));
}

#[test]
fn each_side_gets_what_is_said_for_it() {
    let (legacy, candidate) = pair();
    let mirror = Rig::new(&legacy, &candidate)
        .policy(|policy| {
            let target = &mut policy.candidate;
            target.host = Some(HeaderValue::from_static("new.example"));
            target.rewrite = Some(PathRewrite::new("/api", "/v2").expect("prefixes"));
            target.remove = vec![HeaderName::from_static("cookie")];
            target.set = vec![(
                HeaderName::from_static("authorization"),
                HeaderValue::from_static("Bearer new"),
            )];
            policy.legacy.set = vec![(
                HeaderName::from_static("x-side"),
                HeaderValue::from_static("legacy"),
            )];
        })
        .start();
    let mut client = mirror.client();
    client.send(
        "GET /api/a?b HTTP/1.1\r\nhost: old.example\r\ncookie: c\r\nauthorization: Bearer old\r\n\r\n",
    );
    client.reply();
    // What is recorded is what the client asked for.
    let exchange = mirror.ledger.exchange();
    assert_eq!(&*exchange.request.target, "/api/a?b");
    let request = &legacy.requests(1)[0];
    assert_eq!(request.target(), "/api/a?b");
    assert_eq!(request.header("host"), ["old.example"]);
    assert_eq!(request.header("cookie"), ["c"]);
    assert_eq!(request.header("authorization"), ["Bearer old"]);
    assert_eq!(request.header("x-side"), ["legacy"]);
    let request = &candidate.requests(1)[0];
    assert_eq!(request.target(), "/v2/a?b");
    assert_eq!(request.header("host"), ["new.example"]);
    assert_eq!(request.header("cookie"), Vec::<&str>::new());
    assert_eq!(request.header("authorization"), ["Bearer new"]);
    assert_eq!(request.header("x-side"), Vec::<&str>::new());
}

#[test]
fn via_is_told_to_both_sides_when_it_has_a_name() {
    let (legacy, candidate) = pair();
    let mirror = Rig::new(&legacy, &candidate)
        .policy(|policy| policy.forwarding.via = Some("parity".into()))
        .start();
    let mut client = mirror.client();
    client.send("GET / HTTP/1.1\r\nhost: test\r\nvia: 1.0 edge\r\n\r\n");
    let reply = client.reply();
    assert_eq!(reply.header("via"), ["1.1 parity"]);
    assert_eq!(
        legacy.requests(1)[0].header("via"),
        ["1.0 edge, 1.1 parity"]
    );
}

#[test]
fn another_policy_holds_from_the_next_request_on_the_same_connection() {
    let (legacy, candidate) = pair();
    let later = Service::saying(ok("later"));
    let mirror = Rig::new(&legacy, &candidate).workers(2).start();
    let mut clients = [mirror.client(), mirror.client(), mirror.client()];
    for client in &mut clients {
        assert_eq!(client.get("/").text(), "a");
    }
    mirror.ledger.exchanges(3);
    let mut policy = Policy::new(Target::new(later.url()), Target::new(candidate.url()));
    policy.sampling.share = 0.0;
    let checked = Mirror::check(policy).expect("nothing to load");
    let ledger = mirror.ledger.clone();
    mirror
        .control
        .apply(checked, move |_| ledger.observer(), None);
    for client in &mut clients {
        // The workers take it as soon as they turn to it.
        mirror.wait("served by the new policy", |_| {
            client.get("/").text() == "later"
        });
    }
    let before = candidate.seen().len();
    for client in &mut clients {
        client.get("/");
    }
    mirror.wait("settled", |mirror| {
        let (received, settled) = mirror.ledger.balance();
        received == settled
    });
    assert_eq!(
        candidate.seen().len(),
        before,
        "nothing is sampled any more"
    );
}

#[test]
fn a_request_under_way_ends_under_the_policy_that_it_began_with() {
    let (go, gone) = std::sync::mpsc::channel::<()>();
    let gone = std::sync::Mutex::new(gone);
    let legacy = Service::new(move |request, conn| {
        if request.target() == "/early" {
            gone.lock().expect("no panic").recv().expect("told");
        }
        conn.say(ok("old"));
        crate::support::Next::Keep
    });
    let candidate = Service::saying(ok("old"));
    let later = Service::saying(ok("new"));
    let mirror = Rig::new(&legacy, &candidate).start();
    let mut early = mirror.client();
    early.send("GET /early HTTP/1.1\r\nhost: test\r\n\r\n");
    mirror.ledger.wait_received(1);
    let policy = Policy::new(Target::new(later.url()), Target::new(later.url()));
    let checked = Mirror::check(policy).expect("nothing to load");
    let ledger = mirror.ledger.clone();
    mirror
        .control
        .apply(checked, move |_| ledger.observer(), None);
    let mut client = mirror.client();
    mirror.wait("served by the new policy", |_| {
        client.get("/").text() == "new"
    });
    go.send(()).expect("the service waits");
    assert_eq!(early.reply().text(), "old");
    let exchanges = mirror.ledger.exchanges(2);
    let early = exchanges
        .iter()
        .find(|exchange| &*exchange.request.target == "/early");
    let candidate = &early.expect("compared").candidate;
    assert_eq!(&*candidate.body.contiguous(), b"old");
}

#[test]
fn requests_that_come_from_the_mirror_itself_are_refused() {
    let (legacy, candidate) = pair();
    let mirror = Rig::new(&legacy, &candidate).workers(2).start();
    let own =
        || Target::new(UpstreamUrl::parse(&format!("http://{}", mirror.address)).expect("a URL"));
    let apply = |legacy: Target, candidate: Target| {
        let policy = Mirror::check(Policy::new(legacy, candidate)).expect("a policy");
        let ledger = mirror.ledger.clone();
        mirror
            .control
            .apply(policy, move |_| ledger.observer(), None);
    };
    apply(own(), Target::new(candidate.url()));
    let reply = mirror.client().get("/");
    assert_eq!(reply.status(), 508);
    assert!(
        reply.text().contains("came from parity itself"),
        "{}",
        reply.text()
    );

    apply(Target::new(legacy.url()), own());
    assert_eq!(mirror.client().get("/").status(), 200);
    let (received, _) = mirror.ledger.balance();
    assert_eq!(received, 2, "one for each request of the client");
}

#[test]
fn shadows_of_shadows_end() {
    let (legacy, candidate) = pair();
    let mirror = Rig::new(&legacy, &candidate).start();
    let mut client = mirror.client();
    for (mark, next) in [
        (None, Some("1")),
        (Some("1"), Some("2")),
        (Some("3"), Some("4")),
        (Some("4"), None),
    ] {
        let mark = mark.map_or(String::new(), |mark| format!("x-parity-shadow: {mark}\r\n"));
        let before = candidate.seen().len();
        client.send(format!("GET / HTTP/1.1\r\nhost: test\r\n{mark}\r\n"));
        client.reply();
        if let Some(next) = next {
            let seen = candidate.requests(before + 1).pop().expect("a shadow");
            assert_eq!(seen.header("x-parity-shadow"), [next]);
        }
    }
    assert_eq!(mirror.ledger.reasons(4), [Reason::ShadowingOff]);
}
