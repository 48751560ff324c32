//! Passes the listening sockets from one process to the next, for a restart that refuses no connection.
//!
//! A process gets its sockets in one of two ways. A service manager has opened them already (`LISTEN_FDS`, as systemd
//! does: the proxy's first, the admin port's second). Or a running mirror answers on the Unix socket of `--handover` and
//! passes its sockets (`SCM_RIGHTS`). Then both processes hold them. The new one opens its store and starts; only when it
//! says that it is ready does the old one stop accepting and drain. If anything fails before that, the old one goes on.
//!
//! Sockets are taken only from the process on the Unix socket. A port that another program holds remains an error. Both
//! sides check that the other process belongs to the same user.

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

/// Sent with the sockets, so that a process of another version does not misread them.
const GREETING: &[u8] = b"parity handover 1\n";
/// What the new process sends once it serves.
const READY: &[u8] = b"ready\n";
/// Time-out of each step that the other process answers at once. Opening a store is not one of them.
const PATIENCE: Duration = Duration::from_secs(10);
/// From passing the sockets to the new process being ready: it may have to migrate its store first.
const START_PATIENCE: Duration = Duration::from_mins(2);
/// How many sockets are passed: the proxy's and the admin port's.
const SOCKETS: usize = 2;

/// Sockets that another process opened, and the mirror that still holds them, if one does.
#[derive(Default)]
pub(crate) struct Inherited {
    proxy: Option<TcpListener>,
    admin: Option<TcpListener>,
    predecessor: Option<Predecessor>,
    /// Whether sockets of any address are accepted: from a service manager, which decides about addresses. Those of a
    /// predecessor must have the configured addresses.
    any_address: bool,
}

impl Inherited {
    /// Takes the sockets that the environment or a running mirror offers.
    pub(crate) fn take(handover: Option<&Path>) -> Result<Self> {
        let mut offered = ListenFd::from_env();
        if offered.len() > 0 {
            let mut take = |index| {
                offered
                    .take_tcp_listener(index)
                    .with_context(|| format!("socket {index} of LISTEN_FDS is not a TCP listener"))
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
            // No mirror runs, or it ended without removing its socket.
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

    /// The socket of the proxy, if it has the wanted address.
    pub(crate) fn proxy(&mut self, wanted: SocketAddr) -> Option<TcpListener> {
        let found = self.proxy.take()?;
        self.fitting(found, wanted)
    }

    /// The socket of the admin port, if it has the wanted address.
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

    /// The mirror to tell when this process serves.
    pub(crate) fn predecessor(&mut self) -> Option<Predecessor> {
        self.predecessor.take()
    }
}

/// Whether a socket has the wanted address. Port 0 means any, so the port that the predecessor got fits it.
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
        bail!("it is not a mirror of this version");
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

/// The running mirror that passed its sockets to this process.
pub(crate) struct Predecessor(UnixStream);

impl Predecessor {
    /// Tells it that this process serves, so that it drains. If that fails, this process serves all the same: the other
    /// one may have ended, and two processes that accept are better than none.
    pub(crate) fn ready(mut self) {
        let told = self
            .0
            .write_all(READY)
            .and_then(|()| self.0.set_read_timeout(Some(PATIENCE)))
            // It closes the connection once it has stopped accepting.
            .and_then(|()| self.0.read_to_end(&mut Vec::new()));
        if let Err(error) = told {
            tracing::warn!(%error, "the mirror that handed over its ports did not answer; if it still runs, stop it");
        }
    }
}

/// A Unix socket for successors, under a temporary name until this process serves: at its final path the running mirror
/// still answers.
pub(crate) struct Prepared {
    path: PathBuf,
    beside: PathBuf,
    listener: Option<UnixListener>,
}

/// The Unix socket on which a successor asks for the listening sockets.
pub(crate) struct Handover {
    path: PathBuf,
    listener: UnixListener,
    sockets: [TcpListener; SOCKETS],
}

/// A successor that serves. Dropping this closes the connection, which tells it that this process stops accepting.
pub(crate) struct Successor(tokio::net::UnixStream);

impl Prepared {
    /// Does everything that can fail while the running mirror still serves. Returns `None` if the disk is full or read-only:
    /// serving is worth more than being able to hand over. Call it within a runtime.
    pub(crate) fn bind(path: &Path) -> Result<Option<Self>> {
        let found = std::fs::symlink_metadata(path).map(|found| found.file_type());
        if found.is_ok_and(|found| !found.is_socket()) {
            bail!(
                "{} exists and is not a socket; --handover must name a path at which a socket can be created",
                path.display()
            );
        }
        let mut beside = path.as_os_str().to_owned();
        beside.push(format!(".{}", std::process::id()));
        let beside = PathBuf::from(beside);
        // A killed process that had the same process id may have left one behind.
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

    /// Moves the socket to its final path, in place of the one there. At no moment is the path without a socket.
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
        // Fails if the socket was published: then it no longer has this name.
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
                        "the handover failed; serving on"
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
            bail!("the successor sent something other than that it is ready");
        }
        Ok(Successor(stream))
    }

    /// Removes the socket, when the process ends without a successor.
    pub(crate) fn remove(self) {
        if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::debug!(%error, path = %self.path.display(), "the handover socket could not be removed");
        }
    }
}

impl Successor {
    /// Tells it that this process stops accepting.
    pub(crate) fn let_go(self) {
        drop(self.0);
    }
}
