//! The three proxies: nginx and `HAProxy` with their defaults, and parity, each before its own recording legacy.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;

use super::super::origin::{Next, Origin};
use super::super::tool;
use crate::servers::{Process, free_port, tail};
use crate::support::wait_for;

/// What every request is answered with.
const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// Another project's proxy before a legacy of its own.
pub(super) struct Reference {
    pub(super) name: &'static str,
    pub(super) address: SocketAddr,
    pub(super) origin: Origin,
    process: Process,
}

impl Reference {
    /// Ends it, and with it its connections to the legacy.
    pub(super) fn end(self) -> Origin {
        drop(self.process);
        self.origin
    }

    fn start(
        name: &'static str,
        folder: &Path,
        configuration: impl Fn(SocketAddr, SocketAddr) -> String,
        arguments: &[&str],
    ) -> Self {
        let origin = recording();
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let file = folder.join(format!("{name}.conf"));
        let text = configuration(address, origin.address());
        std::fs::write(&file, text).expect("a test file can be written");
        let program = tool(name).display().to_string();
        let mut command = vec![program];
        command.extend(arguments.iter().map(|argument| (*argument).to_owned()));
        command.push(file.display().to_string());
        let log = folder.join(format!("{name}.log"));
        let mut process = Process::start(&log, &command);
        wait_for(name, || {
            assert!(!process.has_ended(), "{name} ended: {}", tail(&log));
            TcpStream::connect(address).ok()
        });
        Self {
            name,
            address,
            origin,
            process,
        }
    }
}

/// A legacy that answers every complete request, and nothing else.
pub(super) fn recording() -> Origin {
    Origin::start(|_, stream| match stream.write_all(ANSWER.as_bytes()) {
        Ok(()) => Next::Keep,
        Err(_) => Next::Close,
    })
}

/// nginx, told only to pass bodies on while they come, so that the beginning of a request is seen as ours is.
pub(super) fn nginx(folder: &Path) -> Reference {
    let at = folder.display().to_string();
    let configuration = |listen: SocketAddr, origin: SocketAddr| {
        format!(
            "daemon off; master_process off; worker_processes 1; pid {at}/nginx.pid;\n\
             error_log stderr error; events {{ worker_connections 1024; }}\n\
             http {{ access_log off; client_body_temp_path {at}/body; proxy_temp_path {at}/proxy;\n\
             fastcgi_temp_path {at}/fastcgi; uwsgi_temp_path {at}/uwsgi; scgi_temp_path {at}/scgi;\n\
             client_header_timeout 2s; client_body_timeout 2s; keepalive_timeout 2s; lingering_close off;\n\
             server {{ listen {listen}; location / {{ proxy_pass http://{origin}; proxy_http_version 1.1;\n\
             proxy_set_header Connection \"\"; proxy_set_header Host $http_host;\n\
             proxy_request_buffering off; proxy_read_timeout 2s; }} }} }}\n"
        )
    };
    Reference::start("nginx", folder, configuration, &["-e", "stderr", "-c"])
}

/// `HAProxy` with its defaults.
pub(super) fn haproxy(folder: &Path) -> Reference {
    let configuration = |listen: SocketAddr, origin: SocketAddr| {
        format!(
            "defaults\n mode http\n timeout client 2s\n timeout server 2s\n timeout connect 2s\n\
             \x20timeout http-request 2s\n timeout http-keep-alive 2s\n\
             listen all\n bind {listen}\n server legacy {origin}\n"
        )
    };
    Reference::start("haproxy", folder, configuration, &["-db", "-f"])
}
