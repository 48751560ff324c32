//! A tap behind proxies that mirror to it: a real Envoy and a real nginx, as docs/production.md says.

use crate::docs::only;
use crate::servers::{Process, free_port, tool};
use crate::support::client;
use crate::support::process::{Mirror, Place};
use crate::support::service::Service;
use crate::support::wait_for;

const REQUESTS: u64 = 50;

/// Production answers the clients; legacy and candidate are asked by the tap.
struct Parties {
    production: Service,
    legacy: Service,
    candidate: Service,
}

impl Parties {
    fn new() -> Self {
        Self {
            production: Service::json("\"production\""),
            // The suffix that Envoy adds to the host must have been removed.
            legacy: Service::start(|request| {
                let host = request.header("host").unwrap_or_default().to_owned();
                crate::support::service::Answer::json(format!("\"{host} {}\"", request.target))
            }),
            candidate: Service::json("\"shop.example /items/7?x=1\""),
        }
    }
}

fn sends_through(port: u16, parties: &Parties, tap: &Mirror<'_>) {
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], port));
    wait_for("the proxy to listen", || {
        std::net::TcpStream::connect(address).ok()
    });
    for _ in 0..REQUESTS {
        let answer = client::send(
            address,
            "GET",
            "/items/7?x=1",
            &[("host", "shop.example")],
            b"",
        );
        assert_eq!(
            (answer.status, answer.text().as_str()),
            (200, "\"production\"")
        );
        let answer = client::send(
            address,
            "POST",
            "/charge",
            &[("host", "shop.example")],
            b"{}",
        );
        assert_eq!(answer.status, 200);
    }
    let report = tap.settled(2 * REQUESTS);
    assert_eq!(report.count("match"), REQUESTS, "{}", report.0);
    assert_eq!(report.not_compared().get("unsafe_method"), Some(&REQUESTS));
    assert_eq!(parties.production.seen() as u64, 2 * REQUESTS);
    assert_eq!(
        parties.legacy.seen() as u64,
        REQUESTS,
        "only what is safe to repeat"
    );
}

#[test]
#[ignore = "needs Envoy and nginx: run tests/run"]
fn behind_envoy() {
    let parties = Parties::new();
    let place = Place::new();
    let tap = place.mirror(
        &parties.legacy.url(),
        &parties.candidate.url(),
        &["--mode", "tap"],
    );
    let port = free_port();
    let cluster = |name: &str, address: std::net::SocketAddr| {
        format!(
            r"{{name: {name}, connect_timeout: 5s, load_assignment: {{cluster_name: {name}, endpoints: [{{lb_endpoints: [{{endpoint: {{address: {{socket_address: {{address: 127.0.0.1, port_value: {}}}}}}}}}]}}]}}}}",
            address.port()
        )
    };
    let production = parties
        .production
        .url()
        .trim_start_matches("http://")
        .parse();
    let text = format!(
        r#"static_resources:
  listeners:
  - address: {{socket_address: {{address: 127.0.0.1, port_value: {port}}}}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: proxy
          route_config:
            virtual_hosts:
            - name: all
              domains: ["*"]
              routes:
              - match: {{prefix: "/"}}
                {}
          http_filters:
          - name: envoy.filters.http.router
            typed_config: {{"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}}
  clusters:
  - {}
  - {}
"#,
        only("yaml", "envoy").trim(),
        cluster("production", production.expect("an address")),
        cluster("parity-tap", tap.address)
    );
    let file = place.write("envoy.yaml", text);
    let command = [
        tool("envoy").display().to_string(),
        "-c".to_owned(),
        file.display().to_string(),
        "--concurrency".to_owned(),
        "1".to_owned(),
        "--disable-hot-restart".to_owned(),
    ];
    let _envoy = Process::start(&place.path().join("envoy.log"), &command);
    sends_through(port, &parties, &tap);
    assert_eq!(tap.stop().0, 0);
}

#[test]
#[ignore = "needs Envoy and nginx: run tests/run"]
fn behind_nginx() {
    let parties = Parties::new();
    let place = Place::new();
    let tap = place.mirror(
        &parties.legacy.url(),
        &parties.candidate.url(),
        &["--mode", "tap"],
    );
    let port = free_port();
    let folder = place.path().display();
    let text = format!(
        r"daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/nginx.log;
events {{ }}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port};
    {}
  }}
}}
",
        only("nginx", "")
            .replace("http://production", &parties.production.url())
            .replace("127.0.0.1:8081", &tap.address.to_string())
    );
    let file = place.write("nginx.conf", text);
    let command = [
        tool("nginx").display().to_string(),
        "-c".to_owned(),
        file.display().to_string(),
        "-e".to_owned(),
        "stderr".to_owned(),
    ];
    let _nginx = Process::start(&place.path().join("nginx.out"), &command);
    sends_through(port, &parties, &tap);
    assert_eq!(tap.stop().0, 0);
}
