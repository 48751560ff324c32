//! A legacy that follows RFC 9112 strictly, keeps the requests that it received, and answers as a test tells it.
//!
//! What a proxy sends must be unambiguous. So everything that may be read in two ways is a fault here: a length beside chunks,
//! two lengths, a folded field, a bare line feed.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use crate::support::PATIENCE;

/// A request, from the moment when its head is complete.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heard {
    pub(crate) method: String,
    pub(crate) target: String,
    /// Names in lower case.
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) trailers: Vec<(String, String)>,
    /// Whether the body is complete, too.
    pub(crate) whole: bool,
}

impl Heard {
    /// All values of a field.
    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        self.fields
            .iter()
            .filter(|(field, _)| field == name)
            .map(|(_, value)| value.as_str())
            .collect()
    }
}

/// What to do with the connection after an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    Keep,
    Close,
}

/// A listening service; it ends with the value.
pub(crate) struct Origin {
    address: SocketAddr,
    service: Arc<Service>,
}

#[derive(Default)]
struct Service {
    state: Mutex<State>,
    changed: Condvar,
    over: AtomicBool,
}

#[derive(Default)]
struct State {
    heard: Vec<Heard>,
    faults: Vec<String>,
    open: usize,
}

impl Origin {
    /// Gives every complete request to `act`, which answers it.
    pub(crate) fn start(
        act: impl Fn(&Heard, &mut TcpStream) -> Next + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("bound");
        let service = Arc::new(Service::default());
        let (accepting, act) = (Arc::clone(&service), Arc::new(act));
        thread::spawn(move || {
            for stream in listener.incoming() {
                if accepting.over.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(mut stream) = stream else { continue };
                let (service, act) = (Arc::clone(&accepting), Arc::clone(&act));
                service.change(|state| state.open += 1);
                thread::spawn(move || {
                    service.serve(&mut stream, &*act);
                    drop(stream.shutdown(Shutdown::Both));
                    service.change(|state| state.open -= 1);
                });
            }
        });
        Self { address, service }
    }

    /// Answers every request with the same bytes.
    pub(crate) fn saying(answer: impl Into<Vec<u8>>) -> Self {
        let answer = answer.into();
        Self::start(move |_, stream| match stream.write_all(&answer) {
            Ok(()) => Next::Keep,
            Err(_) => Next::Close,
        })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All complete requests, once there are `count`.
    pub(crate) fn requests(&self, count: usize) -> Vec<Heard> {
        self.wait("requests", |state| {
            let whole: Vec<_> = state.heard.iter().filter(|heard| heard.whole).collect();
            (whole.len() >= count).then(|| whole.into_iter().cloned().collect())
        })
    }

    /// All requests, also unfinished ones, and what was no HTTP, once every connection has ended.
    pub(crate) fn record(&self) -> (Vec<Heard>, Vec<String>) {
        self.wait("the ends of all connections", |state| {
            (state.open == 0).then(|| (state.heard.clone(), state.faults.clone()))
        })
    }

    fn wait<T>(&self, what: &str, look: impl Fn(&State) -> Option<T>) -> T {
        let mut state = self.service.state.lock().expect("no panic while held");
        loop {
            if let Some(found) = look(&state) {
                return found;
            }
            let (next, late) = self
                .service
                .changed
                .wait_timeout(state, PATIENCE)
                .expect("no panic while held");
            state = next;
            assert!(
                !late.timed_out(),
                "waited in vain for {what}: {} heard, {} open, {:?}",
                state.heard.len(),
                state.open,
                state.faults
            );
        }
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        self.service.over.store(true, Ordering::SeqCst);
        // Wakes the accepting thread; when that fails it has ended already.
        drop(TcpStream::connect(self.address));
    }
}

impl Service {
    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let changed = change(&mut self.state.lock().expect("no panic while held"));
        self.changed.notify_all();
        changed
    }

    fn serve(&self, stream: &mut TcpStream, act: &dyn Fn(&Heard, &mut TcpStream) -> Next) {
        drop(stream.set_nodelay(true));
        let mut buffer = Vec::new();
        loop {
            let mut place = None;
            loop {
                match read_request(&buffer) {
                    Err(fault) => {
                        let raw = String::from_utf8_lossy(&buffer).into_owned();
                        self.change(|state| state.faults.push(format!("{fault} in {raw:?}")));
                        return;
                    }
                    Ok(None) => {}
                    Ok(Some((heard, length))) => {
                        let whole = heard.whole;
                        self.change(|state| {
                            let at = *place.get_or_insert_with(|| {
                                state.heard.push(Heard::default());
                                state.heard.len() - 1
                            });
                            state.heard[at] = heard.clone();
                        });
                        if whole {
                            buffer.drain(..length);
                            if act(&heard, stream) == Next::Close {
                                return;
                            }
                            break;
                        }
                    }
                }
                let mut more = [0; 16 * 1024];
                match stream.read(&mut more) {
                    Ok(0) | Err(_) => return,
                    Ok(length) => buffer.extend_from_slice(&more[..length]),
                }
            }
        }
    }
}

type Fields = Vec<(String, String)>;

/// A request and its length, if its head is complete.
fn read_request(bytes: &[u8]) -> Result<Option<(Heard, usize)>, String> {
    let Some(length) = find(bytes, b"\r\n\r\n") else {
        return match bytes.iter().position(|byte| *byte == b'\n') {
            Some(at) if at == 0 || bytes[at - 1] != b'\r' => Err("a bare line feed".into()),
            _ => Ok(None),
        };
    };
    let head = std::str::from_utf8(&bytes[..length]).map_err(|error| error.to_string())?;
    let (line, fields) = head.split_once("\r\n").ok_or("no fields")?;
    let words: Vec<_> = line.split(' ').collect();
    let [method, target, "HTTP/1.1"] = words[..] else {
        return Err(format!("the request line {line:?}"));
    };
    if !is_token(method) || target.is_empty() || target.bytes().any(|byte| byte < b'!') {
        return Err(format!("the request line {line:?}"));
    }
    let mut heard = Heard {
        method: method.to_owned(),
        target: target.to_owned(),
        fields: read_fields(fields)?,
        ..Heard::default()
    };
    if heard.all("host").len() != 1 {
        return Err(format!("{} Host fields", heard.all("host").len()));
    }
    let lengths = heard.all("content-length");
    let codings = heard.all("transfer-encoding");
    let body = &bytes[length + 4..];
    let after = match (&lengths[..], &codings[..]) {
        ([], []) => Some((0, Vec::new(), Fields::new())),
        ([text], []) => {
            if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(format!("the length {text:?}"));
            }
            let length: usize = text.parse().map_err(|_| format!("the length {text:?}"))?;
            let taken = body.get(..length).map(<[u8]>::to_vec);
            taken.map(|taken| (length, taken, Fields::new()))
        }
        ([], [coding]) if coding.eq_ignore_ascii_case("chunked") => read_chunks(body)?,
        _ => return Err(format!("the lengths {lengths:?} and codings {codings:?}")),
    };
    let Some((body_length, body, trailers)) = after else {
        return Ok(Some((heard, 0)));
    };
    (heard.body, heard.trailers, heard.whole) = (body, trailers, true);
    Ok(Some((heard, length + 4 + body_length)))
}

fn read_fields(text: &str) -> Result<Fields, String> {
    let mut fields = Vec::new();
    for line in text.split("\r\n").filter(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':').ok_or("a line without a colon")?;
        let text = |byte: u8| byte == b'\t' || (byte >= b' ' && byte != 0x7f);
        if !is_token(name) || !value.bytes().all(text) {
            return Err(format!("the field {line:?}"));
        }
        fields.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    Ok(fields)
}

/// Length, content and trailers of a body in chunks, if it is complete.
fn read_chunks(bytes: &[u8]) -> Result<Option<(usize, Vec<u8>, Fields)>, String> {
    let (mut at, mut content) = (0, Vec::new());
    loop {
        let Some(line) = bytes.get(at..).and_then(|rest| find(rest, b"\r\n")) else {
            return Ok(None);
        };
        let size = String::from_utf8_lossy(&bytes[at..at + line]).into_owned();
        let digits = !size.is_empty() && size.bytes().all(|byte| byte.is_ascii_hexdigit());
        let length = usize::from_str_radix(&size, 16).ok().filter(|_| digits);
        let length = length.ok_or_else(|| format!("the chunk size {size:?}"))?;
        at += line + 2;
        if length == 0 {
            break;
        }
        let end = at.checked_add(length).ok_or("a chunk beyond all sizes")?;
        let Some(chunk) = bytes.get(at..end + 2) else {
            return Ok(None);
        };
        if !chunk.ends_with(b"\r\n") {
            return Err("a chunk of another length than it says".into());
        }
        content.extend_from_slice(&chunk[..length]);
        at = end + 2;
    }
    let rest = &bytes[at..];
    if rest.starts_with(b"\r\n") {
        return Ok(Some((at + 2, content, Fields::new())));
    }
    let Some(end) = find(rest, b"\r\n\r\n") else {
        return Ok(None);
    };
    let text = std::str::from_utf8(&rest[..end]).map_err(|error| error.to_string())?;
    Ok(Some((at + end + 4, content, read_fields(text)?)))
}

fn is_token(text: &str) -> bool {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(token)
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes
        .windows(wanted.len())
        .position(|window| window == wanted)
}
