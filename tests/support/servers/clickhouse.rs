//! A ClickHouse server, and what tests do with it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::OnceLock;
use std::time::Duration;

use tempfile::TempDir;

use super::{Process, free_port, name, program, tail, wait_for};

/// A server of ClickHouse.
pub(crate) struct ClickHouse {
    /// `host:port` of the HTTP interface.
    pub(crate) address: String,
    user: Option<String>,
    process: Option<Process>,
    folder: Option<TempDir>,
    port: u16,
    tcp_port: u16,
    /// `remote_servers` of its configuration; empty without a cluster.
    remote_servers: String,
}

/// The name of every cluster here.
pub(crate) const CLUSTER: &str = "together";

/// A user of every server here who may only read.
pub(crate) const READER: &str = "reader";

/// The user that all have who name none, and [`READER`]. `clickhouse local` has no place for users that are made later.
const USERS: &str = "<clickhouse><profiles><default/></profiles><quotas><default/></quotas><users>\
                     <default><password/><networks><ip>::/0</ip></networks></default>\
                     <reader><password/><networks><ip>::/0</ip></networks>\
                     <grants><query>GRANT SELECT ON *.*</query></grants></reader></users></clickhouse>";

impl ClickHouse {
    /// The one of all tests of this process that do not harm it.
    pub(crate) fn shared() -> &'static Self {
        static SHARED: OnceLock<ClickHouse> = OnceLock::new();
        SHARED.get_or_init(|| match std::env::var("PARITY_TEST_CLICKHOUSE") {
            Ok(url) => {
                let rest = url.trim_start_matches("http://").trim_end_matches('/');
                let (user, address) = match rest.split_once('@') {
                    Some((user, address)) => (Some(user.to_owned()), address),
                    None => (None, rest),
                };
                Self {
                    address: address.to_owned(),
                    user,
                    process: None,
                    folder: None,
                    port: 0,
                    tcp_port: 0,
                    remote_servers: String::new(),
                }
            }
            Err(_) => Self::own(),
        })
    }

    /// One that may be stopped.
    pub(crate) fn own() -> Self {
        let mut server = Self::ready();
        server.start();
        server
    }

    /// Not started yet.
    fn ready() -> Self {
        let port = free_port();
        Self {
            address: format!("127.0.0.1:{port}"),
            user: None,
            process: None,
            folder: Some(tempfile::tempdir().expect("a folder for the server")),
            port,
            tcp_port: free_port(),
            remote_servers: String::new(),
        }
    }

    /// Servers that know each other as the cluster [`CLUSTER`]: for each shard the number of its replicas. Sharding and
    /// the choice of replicas are real; nothing is replicated, and nothing can be done ON CLUSTER.
    pub(crate) fn cluster(shards: &[usize]) -> Vec<Self> {
        let mut servers = Vec::new();
        let mut xml = String::new();
        for replicas in shards {
            xml.push_str("<shard><internal_replication>true</internal_replication>");
            for _ in 0..*replicas {
                let server = Self::ready();
                xml.push_str("<replica><host>127.0.0.1</host><port>");
                xml.push_str(&server.tcp_port.to_string());
                xml.push_str("</port></replica>");
                servers.push(server);
            }
            xml.push_str("</shard>");
        }
        for server in &mut servers {
            server.remote_servers = format!("<{CLUSTER}>{xml}</{CLUSTER}>");
            server.start();
        }
        servers
    }

    /// `host:port` of the native interface, by which the servers of a cluster talk.
    pub(crate) fn native(&self) -> String {
        format!("127.0.0.1:{}", self.tcp_port)
    }

    /// Starts it (again) and waits until it answers.
    pub(crate) fn start(&mut self) {
        let folder = self.folder.as_ref().expect("its own").path();
        let log = folder.join("log");
        let home = program("clickhouse-26.7.3-stable.1");
        let config = folder.join("config.xml");
        let users = folder.join("users.xml");
        std::fs::write(&users, USERS).expect("a configuration");
        let xml = format!(
            "<clickhouse><remote_servers>{}</remote_servers><user_directories><users_xml><path>{}</path></users_xml>\
             </user_directories></clickhouse>",
            self.remote_servers,
            users.display()
        );
        std::fs::write(&config, xml).expect("a configuration");
        // It is `clickhouse local`: a server for as long as its one query runs.
        let command: Vec<String> = [
            home.join("clickhouse").display().to_string(),
            home.join("libchdb.so").display().to_string(),
            format!("--config-file={}", config.display()),
            "--multiquery".to_owned(),
            format!("--path={}", folder.join("data").display()),
            format!("--http_port={}", self.port),
            format!("--tcp_port={}", self.tcp_port),
            "--listen_host=127.0.0.1".to_owned(),
            "--query=SYSTEM START LISTEN HTTP; SYSTEM START LISTEN TCP; SELECT sleepEachRow(3) FROM numbers(1000000) \
             SETTINGS max_block_size=1, function_sleep_max_microseconds_per_block=0 FORMAT Null"
                .to_owned(),
        ]
        .into();
        let mut process = Process::start(&log, &command);
        wait_for("ClickHouse to answer", || {
            assert!(!process.has_ended(), "ClickHouse ended:\n{}", tail(&log));
            (self.ask("default", "SELECT 1").ok()?.trim() == "1").then_some(())
        });
        self.process = Some(process);
    }

    /// SIGTERM, and waits for the end.
    pub(crate) fn stop(&mut self) {
        self.process.take().expect("it runs").end("TERM");
    }

    /// SIGKILL.
    pub(crate) fn kill(&mut self) {
        self.process.take().expect("it runs").end("KILL");
    }

    /// Of the server itself.
    pub(crate) fn process_id(&self) -> u32 {
        self.process.as_ref().map_or(0, |process| process.id)
    }

    /// A database of its own name, not made.
    pub(crate) fn database(&self) -> Database<'_> {
        Database {
            server: self,
            name: name("parity"),
            temporary: true,
        }
    }

    /// A database that is not dropped: that of a server of one's own, which is stopped and started meanwhile.
    pub(crate) fn named(&self, name: &str) -> Database<'_> {
        Database {
            server: self,
            name: name.to_owned(),
            temporary: false,
        }
    }

    /// Runs a statement; its rows as tab-separated text, or what the server said against it.
    pub(crate) fn ask(&self, database: &str, sql: &str) -> Result<String, String> {
        let address: SocketAddr = self.address.parse().expect("an address");
        let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(5))
            .map_err(|error| error.to_string())?;
        let user = match &self.user {
            Some(user) => format!("&user={user}"),
            None => String::new(),
        };
        // HTTP/1.0, so that the answer is not chunked.
        let request = format!(
            "POST /?database={database}{user} HTTP/1.0\r\nContent-Length: {}\r\n\r\n{sql}",
            sql.len()
        );
        let mut answer = String::new();
        stream
            .write_all(request.as_bytes())
            .and_then(|()| stream.read_to_string(&mut answer))
            .map_err(|error| error.to_string())?;
        let (head, body) = answer.split_once("\r\n\r\n").ok_or("no HTTP")?;
        if head.split(' ').nth(1) == Some("200") {
            Ok(body.to_owned())
        } else {
            Err(body.to_owned())
        }
    }
}

/// A database of a test.
pub(crate) struct Database<'a> {
    server: &'a ClickHouse,
    pub(crate) name: String,
    temporary: bool,
}

impl Database<'_> {
    /// `clickhouse://…/database`.
    pub(crate) fn url(&self) -> String {
        let user = match &self.server.user {
            Some(user) => format!("{user}@"),
            None => String::new(),
        };
        format!("clickhouse://{user}{}/{}", self.server.address, self.name)
    }

    /// The same for a user without a password.
    pub(crate) fn url_of(&self, user: &str) -> String {
        format!("clickhouse://{user}@{}/{}", self.server.address, self.name)
    }

    /// Runs a statement that must work.
    pub(crate) fn sql(&self, sql: &str) -> String {
        let rows = self
            .server
            .ask(&self.name, sql)
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
        rows.trim_end().to_owned()
    }

    /// The one number of an answer.
    pub(crate) fn number(&self, sql: &str) -> u64 {
        self.sql(sql).parse().expect("a number")
    }
}

impl Drop for Database<'_> {
    fn drop(&mut self) {
        if !self.temporary {
            return;
        }
        let drop = format!("DROP DATABASE IF EXISTS {} SYNC", self.name);
        let _gone = self.server.ask("default", &drop);
    }
}
