//! The listening sockets, from one process to the next: a restart that refuses no connection.
//!
//! Two ways in. A service manager may have opened them already (`LISTEN_FDS`, as systemd does: the proxy's first, the
//! admin port's second). Or a mirror is running: it answers on the Unix socket of `--handover` and passes its sockets
//! (`SCM_RIGHTS`). Both processes then hold them; the new one opens its store and starts, and only when it says that it
//! is ready does the old one stop accepting and drain. Whatever goes wrong before that leaves the old one as it was.
//!
//! A port that anybody else holds is an error, as ever: sockets come from the process on the socket or not at all. Only
//! a process of the same user is given them.

use std::io::{self, IoSlice, IoSliceMut, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use listenfd::ListenFd;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use tokio::io::{AsyncReadExt as _, Interest};
use tokio::net::UnixListener;

/// Passed with the sockets, so that another version's message is not taken for ours.
const GREETING: &[u8] = b"parity handover 1\n";
/// The new process serves.
const READY: &[u8] = b"ready\n";
/// For each step of the other side that takes no work. Opening a store is not among them.
const PATIENCE: Duration = Duration::from_secs(10);
/// From the sockets to the new process being ready: a store may have to be brought up to date first.
const START_PATIENCE: Duration = Duration::from_mins(2);
/// The proxy's and the admin port's.
const SOCKETS: usize = 2;

/// Sockets that are there already, and who held them.
#[derive(Default)]
pub(crate) struct Inherited {
    proxy: Option<TcpListener>,
    admin: Option<TcpListener>,
    predecessor: Option<Predecessor>,
    /// The service manager decides about addresses; a predecessor's sockets must be those that are configured.
    any_address: bool,
}

impl Inherited {
    /// Takes what the environment or a running mirror offers.
    pub(crate) fn take(handover: Option<&Path>) -> Result<Self> {
        let mut offered = ListenFd::from_env();
        if offered.len() > 0 {
            let mut take = |index| {
                offered
                    .take_tcp_listener(index)
                    .with_context(|| format!("socket {index} of LISTEN_FDS is no TCP listener"))
            };
            return Ok(Self {
                proxy: take(0)?,
                admin: take(1).unwrap_or_default(),
                predecessor: None,
                any_address: true,
            });
        }
        let Some(path) = handover else {
            return Ok(Self::default());
        };
        let stream = match UnixStream::connect(path) {
            Ok(stream) => stream,
            // Nobody is running, or it ended without tidying up.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused
                ) =>
            {
                return Ok(Self::default());
            }
            Err(error) => {
                return Err(error)
                    .with_context(|| format!("cannot ask for the ports on {}", path.display()));
            }
        };
        let peer = socket_peercred(&stream).context("who hands over")?;
        if peer.uid != rustix::process::getuid() {
            bail!(
                "a process of another user listens on {}; sockets from it are not taken",
                path.display()
            );
        }
        let received = receive(&stream).with_context(|| {
            format!(
                "the mirror on {} did not hand over its ports",
                path.display()
            )
        })?;
        let [proxy, admin] = received;
        Ok(Self {
            proxy: Some(proxy),
            admin: Some(admin),
            predecessor: Some(Predecessor(stream)),
            any_address: false,
        })
    }

    /// The socket of the proxy, if it is the one that is wanted.
    pub(crate) fn proxy(&mut self, wanted: SocketAddr) -> Option<TcpListener> {
        let found = self.proxy.take()?;
        self.fitting(found, wanted)
    }

    /// The socket of the admin port, if it is the one that is wanted.
    pub(crate) fn admin(&mut self, wanted: SocketAddr) -> Option<TcpListener> {
        let found = self.admin.take()?;
        self.fitting(found, wanted)
    }

    fn fitting(&self, found: TcpListener, wanted: SocketAddr) -> Option<TcpListener> {
        if self.any_address || fits(&found, wanted) {
            return Some(found);
        }
        let before = found.local_addr().ok();
        tracing::warn!(?before, now = %wanted, "another address than that of the mirror before: clients of the old one are refused");
        None
    }

    /// To be told when this process serves.
    pub(crate) fn predecessor(&mut self) -> Option<Predecessor> {
        self.predecessor.take()
    }
}

/// Port 0 is whatever the predecessor got for it.
fn fits(found: &TcpListener, wanted: SocketAddr) -> bool {
    found.local_addr().is_ok_and(|address| {
        address == wanted || (wanted.port() == 0 && address.ip() == wanted.ip())
    })
}

fn receive(stream: &UnixStream) -> Result<[TcpListener; SOCKETS]> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(SOCKETS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut text = [0; GREETING.len()];
    let message = recvmsg(
        stream,
        &mut [IoSliceMut::new(&mut text)],
        &mut control,
        RecvFlags::CMSG_CLOEXEC,
    )?;
    if text.get(..message.bytes) != Some(GREETING) {
        bail!("it is no mirror of this version");
    }
    let sockets: Vec<OwnedFd> = control
        .drain()
        .filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(sockets) => Some(sockets),
            _ => None,
        })
        .flatten()
        .collect();
    let listeners: Vec<TcpListener> = sockets.into_iter().map(TcpListener::from).collect();
    listeners
        .try_into()
        .map_err(|got: Vec<_>| anyhow::anyhow!("it passed {} sockets, not {SOCKETS}", got.len()))
}

/// The mirror whose sockets we have.
pub(crate) struct Predecessor(UnixStream);

impl Predecessor {
    /// We serve: it may drain. Whatever it makes of that, we serve on: it may have ended meanwhile, and a second process
    /// that accepts beside us is no reason for there to be none.
    pub(crate) fn ready(mut self) {
        let told = self
            .0
            .write_all(READY)
            .and_then(|()| self.0.set_read_timeout(Some(PATIENCE)))
            // It closes the connection when it has been told to stop accepting.
            .and_then(|()| self.0.read_to_end(&mut Vec::new()));
        if let Err(error) = told {
            tracing::warn!(%error, "the mirror that handed over its ports did not answer; if it still runs, stop it");
        }
    }
}

/// A socket for successors, beside its place until we serve: the running mirror still answers there.
pub(crate) struct Prepared {
    path: PathBuf,
    beside: PathBuf,
    listener: Option<UnixListener>,
}

/// Where a successor can ask for the sockets.
pub(crate) struct Handover {
    path: PathBuf,
    listener: UnixListener,
    sockets: [TcpListener; SOCKETS],
}

/// A successor that serves; dropping it tells it that we have been told to stop accepting.
pub(crate) struct Successor(tokio::net::UnixStream);

impl Prepared {
    /// Does everything that can fail, so that it fails while the running mirror still serves. `None` where the disk has no
    /// room for a socket: serving is worth more than being able to hand over. To be called within a runtime.
    pub(crate) fn bind(path: &Path) -> Result<Option<Self>> {
        let found = std::fs::symlink_metadata(path).map(|found| found.file_type());
        if found.is_ok_and(|found| !found.is_socket()) {
            bail!(
                "{} is no socket; --handover names one that is made anew, not a file that is there",
                path.display()
            );
        }
        let mut beside = path.as_os_str().to_owned();
        beside.push(format!(".{}", std::process::id()));
        let beside = PathBuf::from(beside);
        // Left behind by a killed process with our number.
        let _none = std::fs::remove_file(&beside);
        let bound = UnixListener::bind(&beside).and_then(|listener| {
            let own = std::fs::Permissions::from_mode(0o600);
            std::fs::set_permissions(&beside, own).map(|()| listener)
        });
        match bound {
            Ok(listener) => Ok(Some(Self {
                path: path.to_owned(),
                beside,
                listener: Some(listener),
            })),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::StorageFull
                        | io::ErrorKind::QuotaExceeded
                        | io::ErrorKind::ReadOnlyFilesystem
                ) =>
            {
                tracing::error!(%error, path = %path.display(), "the next mirror cannot take over from this one");
                Ok(None)
            }
            Err(error) => Err(error)
                .with_context(|| format!("cannot listen on {} for a handover", path.display())),
        }
    }

    /// Takes the place of whoever answered there before. There is no moment without a socket.
    pub(crate) fn publish(mut self, sockets: [TcpListener; SOCKETS]) -> Option<Handover> {
        let listener = self.listener.take()?;
        if let Err(error) = std::fs::rename(&self.beside, &self.path) {
            tracing::warn!(%error, path = %self.path.display(), "the next mirror cannot take over from this one");
            return None;
        }
        Some(Handover {
            path: self.path.clone(),
            listener,
            sockets,
        })
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        // Where it was published, nothing is there any more.
        let _moved = std::fs::remove_file(&self.beside);
    }
}

impl Handover {
    /// Waits for a successor that serves.
    pub(crate) async fn successor(&self) -> Successor {
        loop {
            let stream = match self.listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a successor");
                    tokio::time::sleep(PATIENCE).await;
                    continue;
                }
            };
            match self.pass(stream).await {
                Ok(successor) => return successor,
                Err(error) => {
                    tracing::warn!(
                        error = format!("{error:#}"),
                        "the handover came to nothing; serving on"
                    );
                }
            }
        }
    }

    async fn pass(&self, mut stream: tokio::net::UnixStream) -> Result<Successor> {
        let peer = socket_peercred(&stream).context("who asks")?;
        if peer.uid != rustix::process::getuid() {
            bail!("a process of another user asked for the ports");
        }
        let sent = stream.async_io(Interest::WRITABLE, || {
            let sockets = [self.sockets[0].as_fd(), self.sockets[1].as_fd()];
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(SOCKETS))];
            let mut control = SendAncillaryBuffer::new(&mut space);
            control.push(SendAncillaryMessage::ScmRights(&sockets));
            let text = [IoSlice::new(GREETING)];
            sendmsg(&stream, &text, &mut control, SendFlags::empty()).map_err(io::Error::from)
        });
        tokio::time::timeout(PATIENCE, sent)
            .await
            .context("the successor does not take the ports")?
            .context("the ports could not be passed")?;
        tracing::info!(successor = ?peer.pid, "ports passed; serving on until the successor is ready");
        let mut word = [0; READY.len()];
        tokio::time::timeout(START_PATIENCE, stream.read_exact(&mut word))
            .await
            .context("the successor is not ready in time")?
            .context("the successor ended before it was ready")?;
        if word != READY {
            bail!("the successor said something else than that it is ready");
        }
        Ok(Successor(stream))
    }

    /// No successor came: the socket goes with the process.
    pub(crate) fn remove(self) {
        if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::debug!(%error, path = %self.path.display(), "the handover socket could not be removed");
        }
    }
}

impl Successor {
    /// We have been told to stop accepting.
    pub(crate) fn let_go(self) {
        drop(self.0);
    }
}
