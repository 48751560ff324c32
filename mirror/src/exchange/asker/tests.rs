//! Shadows sent to real services, without a client and without a proxy.

use std::rc::Rc;
use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, LocalOptions};

use super::Asker;
use crate::descriptors::Descriptors;
use crate::exchange::copied::Copied;
use crate::exchange::fixture::{Log, pending, terms};
use crate::exchange::side::{BySide, Side};
use crate::exchange::terms::Terms;
use crate::forwarding::Forwarding;
use crate::upstream::{
    Connector, Lookups, OwnConnections, Service, Shadows, Target, UpstreamUrl, WorkerConnections,
};

/// A service that answers every request in the same way.
async fn serve(listener: TcpListener) {
    while let Ok((mut stream, _)) = listener.accept().await {
        tokio::task::spawn_local(async move {
            let mut head = Vec::new();
            while stream.read_buf(&mut head).await.is_ok_and(|read| read > 0) {
                if head.ends_with(b"\r\n\r\n") {
                    head.clear();
                    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
                    stream.write_all(answer).await.expect("the asker reads");
                }
            }
        });
    }
}

async fn asker(terms: &Rc<Terms>) -> Rc<Asker<Copied>> {
    let all_connections = Rc::new(WorkerConnections::new(
        Descriptors::new(usize::MAX),
        usize::MAX,
    ));
    let own = Arc::new(OwnConnections::default());
    let mut services = Vec::new();
    for side in Side::ALL {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        tokio::task::spawn_local(serve(listener));
        let url = UpstreamUrl::parse(&format!("http://{address}")).expect("a URL");
        let connector = Connector::new(&url, || unreachable!("no TLS")).expect("no TLS");
        services.push(Service::new(
            connector,
            Target::new(url),
            terms.limits(),
            &Rc::new(Lookups::new(&own)),
            &all_connections,
            Some(Shadows {
                turns: Rc::clone(terms.turns()),
                connections: Arc::clone(terms.admission().connections(side)),
            }),
        ));
    }
    let mut services = services.into_iter();
    let services = BySide::new(|_| services.next().expect("one for each side"));
    Asker::new(Rc::clone(terms), Forwarding::default(), services)
}

#[test]
fn both_services_are_asked_twice_for_one_request() {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build_local(LocalOptions::default())
        .expect("a runtime");
    runtime.block_on(async {
        let log = Rc::<Log>::default();
        let terms = terms(&log);
        let asker = asker(&terms).await;
        let pending = pending(&terms);
        let twice = Side::ALL.into_iter().chain(Side::ALL);
        let asks: Vec<_> = twice.map(|side| pending.ask(side)).collect();
        for ask in asks {
            asker.start(ask);
        }
        assert_eq!(terms.admission().in_flight(), 4);
        terms.tasks().ended().await;
        assert_eq!(log.outcomes(), [None]);
        assert_eq!(terms.admission().in_flight(), 0);
    });
}
