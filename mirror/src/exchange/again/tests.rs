//! Requests that are sent to real services several times, without a client and without a proxy.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use http::{HeaderValue, Version};
use parity_schemas::exchange::Exchange;
use parity_schemas::verdict::Reason;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, LocalOptions};

use crate::exchange::asker::Asker;
use crate::exchange::copied::Copied;
use crate::exchange::fixture::{Log, asks, head, resources, terms_with};
use crate::exchange::head::RequestHead;
use crate::exchange::purpose::Purpose;
use crate::exchange::services::Services;
use crate::exchange::serving::Serving;
use crate::exchange::side::{BySide, Side};
use crate::forwarding::Forwarding;
use crate::headers::SHADOW;
use crate::spelling::Spelling;
use crate::upstream::{Target, UpstreamUrl};

/// A service that numbers its answers and remembers what it was asked.
#[derive(Default)]
struct Service {
    asked: RefCell<Vec<Vec<u8>>>,
    breaks: Cell<bool>,
}

impl Service {
    async fn serve(self: Rc<Self>, listener: TcpListener) {
        while let Ok((mut stream, _)) = listener.accept().await {
            let service = Rc::clone(&self);
            tokio::task::spawn_local(async move {
                let mut head = Vec::new();
                while stream.read_buf(&mut head).await.is_ok_and(|read| read > 0) {
                    if !head.ends_with(b"\r\n\r\n") {
                        continue;
                    }
                    service.asked.borrow_mut().push(std::mem::take(&mut head));
                    if service.breaks.get() {
                        return;
                    }
                    let number = service.asked.borrow().len();
                    let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n{number}");
                    let written = stream.write_all(answer.as_bytes()).await;
                    written.expect("the asker reads");
                }
            });
        }
    }

    /// The last request, sorted lines, without the mark of a shadow.
    fn last(&self) -> Vec<String> {
        let asked = self.asked.borrow();
        let last = asked.last().expect("it was asked");
        let text = last
            .iter()
            .map(|byte| char::from(*byte))
            .collect::<String>();
        let lines = text.split_terminator("\r\n").map(str::to_owned);
        let mut lines: Vec<_> = lines
            .filter(|line| !line.starts_with(SHADOW.as_str()))
            .collect();
        lines.sort();
        lines
    }
}

struct Both {
    services: BySide<Rc<Service>>,
    asker: Rc<Asker<Copied>>,
    log: Rc<Log>,
}

impl Both {
    async fn start() -> Self {
        let services = BySide::new(|_| Rc::<Service>::default());
        let mut targets = Vec::new();
        for side in Side::ALL {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            let address = listener.local_addr().expect("an address");
            tokio::task::spawn_local(Rc::clone(&services[side]).serve(listener));
            let url = UpstreamUrl::parse(&format!("http://{address}")).expect("a URL");
            targets.push(Target::new(url));
        }
        let log = Rc::<Log>::default();
        let resources = resources();
        let terms = terms_with(&resources, &log);
        let loaded = Services::load(&targets[0], &targets[1], None).expect("no TLS");
        Self {
            services,
            asker: Asker::new(
                &resources,
                terms,
                Forwarding::default(),
                &loaded,
                Serving::NOBODY,
            ),
            log,
        }
    }

    /// What a client's request became.
    async fn exchange(&self, head: RequestHead) -> Exchange {
        let terms = self.asker.terms();
        let (legacy, candidate) = asks(terms, head);
        self.asker.start(legacy);
        self.asker.start(candidate);
        assert_eq!(terms.admission().in_flight(), 2);
        terms.tasks().ended().await;
        self.log.exchange()
    }

    fn held(&self) -> usize {
        self.asker.terms().admission().budget().held()
    }
}

fn run<F: Future<Output = ()>>(test: F) {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build_local(LocalOptions::default())
        .expect("a runtime");
    runtime.block_on(test);
}

#[test]
fn a_request_is_sent_again_as_often_as_the_caller_likes_and_every_answer_comes_back() {
    run(async {
        let both = Both::start().await;
        let exchange = both.exchange(head()).await;
        let before = both.held();
        assert_eq!(before, 2 + exchange.heads_held());
        let mut answers = Vec::new();
        for side in [
            Side::Candidate,
            Side::Legacy,
            Side::Legacy,
            Side::Legacy,
            Side::Candidate,
        ] {
            let (route, request) = (&exchange.route, &exchange.request);
            let answer = super::ask(&both.asker, Purpose::Recheck, side, route, request).await;
            answers.push(answer.expect("an answer"));
        }
        let texts: Vec<_> = answers
            .iter()
            .map(|answer| answer.capture.body.contiguous().into_owned())
            .collect();
        assert_eq!(texts, [b"2", b"2", b"3", b"4", b"3"]);
        let held: usize = answers
            .iter()
            .map(|answer| 1 + answer.capture.fields_held())
            .sum();
        assert_eq!(both.held(), before + held);
        drop(exchange);
        assert_eq!(both.held(), held);
        drop(answers);
        assert_eq!(both.held(), 0);
        assert_eq!(both.asker.terms().admission().in_flight(), 0);
        assert_eq!(
            both.log.outcomes(),
            [None],
            "only the client's request counts"
        );
    });
}

#[test]
fn what_is_sent_again_is_what_was_sent_first() {
    run(async {
        let both = Both::start().await;
        let (target, spelling) = Spelling::of_target(b"/caf\xe9?q=<x>");
        let http2 = RequestHead {
            uri: "http://a.example:81/x".parse().expect("a URL"),
            version: Version::HTTP_2,
            ..head()
        };
        let spelled = RequestHead {
            uri: String::from_utf8(target)
                .expect("text")
                .parse()
                .expect("a target"),
            spelling,
            ..head()
        };
        let nobody = RequestHead {
            peer: None,
            ..head()
        };
        for mut head in [http2, spelled, nobody] {
            for (name, value) in [("accept", "a"), ("accept", "b"), ("x-forwarded-for", "::1")] {
                head.headers.append(name, HeaderValue::from_static(value));
            }
            let exchange = both.exchange(head).await;
            for side in Side::ALL {
                let first = both.services[side].last();
                let (route, request) = (&exchange.route, &exchange.request);
                let again = super::ask(&both.asker, Purpose::Control, side, route, request).await;
                assert!(again.is_ok());
                assert_eq!(both.services[side].last(), first);
            }
        }
    });
}

#[test]
fn a_service_that_fails_the_second_time_is_a_reason_and_leaves_nothing_behind() {
    run(async {
        let both = Both::start().await;
        let exchange = both.exchange(head()).await;
        for (side, expected) in [
            (Side::Legacy, Reason::LegacyUnreachable),
            (Side::Candidate, Reason::CandidateReset),
        ] {
            both.services[side].breaks.set(true);
            let (route, request) = (&exchange.route, &exchange.request);
            let answer = super::ask(&both.asker, Purpose::Recheck, side, route, request).await;
            assert_eq!(answer.err(), Some(expected));
        }
        drop(exchange);
        // The task of an ask may end a moment after the answer.
        let begin = Instant::now();
        while both.held() > 0 || both.asker.terms().admission().in_flight() > 0 {
            assert!(
                begin.elapsed() < Duration::from_secs(10),
                "something is left"
            );
            tokio::task::yield_now().await;
        }
    });
}
