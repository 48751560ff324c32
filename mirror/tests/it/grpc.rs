//! gRPC: HTTP/2 without being configured, unary calls compared, streams passed on.

use http::{HeaderMap, HeaderValue, Request, Response};
use parity_mirror::Target;
use parity_schemas::exchange::Omitted;
use parity_schemas::verdict::Reason;

use crate::http2::{between, client};
use crate::support::h2::{Act, H2Service};
use crate::support::{Rig, Service};

fn grpc(request: &str) -> Request<()> {
    Request::post(format!("http://test{request}"))
        .header("content-type", "application/grpc+proto")
        .header("te", "trailers")
        .body(())
        .expect("a request")
}

fn grpc_answer(messages: Vec<&'static [u8]>, status: &'static str) -> Act {
    let head = Response::builder().header("content-type", "application/grpc+proto");
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from_static(status));
    Act::Answer(head.body(()).expect("a head"), messages, Some(trailers))
}

#[test]
fn grpc_goes_by_http2_of_itself_and_unary_calls_become_exchanges() {
    let legacy = H2Service::new(|_| grpc_answer(vec![b"\0\0\0\0\x01a"], "0"));
    let candidate = H2Service::new(|_| grpc_answer(vec![b"\0\0\0\0\x01a"], "13"));
    let nobody = Service::refusing();
    let mirror = Rig::new(&nobody, &nobody)
        .policy(|policy| {
            policy.legacy = Target::new(legacy.url().parse().expect("a URL"));
            policy.candidate = Target::new(candidate.url().parse().expect("a URL"));
        })
        .route("POST /shop.Quotes/Get", Some(true))
        .start();
    let mut client = client(&mirror);
    let reply = client
        .ask(grpc("/shop.Quotes/Get"), b"\0\0\0\0\x01q", None)
        .expect("an answer");
    assert_eq!(reply.body, b"\0\0\0\0\x01a");
    assert_eq!(reply.trailers.expect("trailers")["grpc-status"], "0");
    let exchange = mirror.ledger.exchange();
    let statuses = [&exchange.legacy, &exchange.candidate].map(|capture| {
        let trailers = capture.trailers.as_ref().expect("kept");
        trailers.get("grpc-status").expect("a line")
    });
    assert_eq!(statuses, ["0", "13"]);
    assert_eq!(legacy.seen()[0].head.headers["te"], "trailers");
}

#[test]
fn grpc_streams_pass_whole_and_of_an_answer_the_head_is_kept() {
    let one = b"\0\0\0\0\x01a";
    for (request, answered) in [
        (&b"\0\0\0\0\x01q"[..], vec![&one[..], &one[..]]),
        (&b"\0\0\0\0\x01q\0\0\0\0\x01q"[..], vec![&one[..]]),
    ] {
        let expected = answered.concat();
        let legacy = H2Service::new(move |_| grpc_answer(answered.clone(), "0"));
        let mirror = between(&legacy, &legacy)
            .route("POST /shop.Quotes/Watch", Some(true))
            .start();
        let reply = client(&mirror)
            .ask(grpc("/shop.Quotes/Watch"), request, None)
            .expect("an answer");
        assert_eq!(reply.body, expected);
        if request.len() > 6 {
            assert_eq!(mirror.ledger.reason(), Reason::Stream);
            continue;
        }
        let exchange = mirror.ledger.exchange();
        for capture in [&exchange.legacy, &exchange.candidate] {
            assert_eq!(capture.body.omission(), Some(Omitted::Stream));
        }
    }
}
