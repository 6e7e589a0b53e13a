//! The server's name in a tunnel's first bytes, held against the policy.
//!
//! The client's bytes are held back until they show whether they are TLS, and for whom; what the
//! server says passes meanwhile, so that protocols in which it speaks first are not held up.
//! Nothing is deciphered and no byte is changed. Called by `tunnel`.

use crate::settings::ConnectSni;
use arc_swap::ArcSwap;
use policy::{Ask, ClientIdentity, Policy, Verdict};
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use transport::clock;
use transport::tls::{CLIENT_HELLO_BYTES_MAX, ClientHello, read_client_hello};
use vocab::{Action, DomainName, LinkInfo, RequestKind};

/// Bytes of a hello that are read at once.
const PIECE_BYTES: usize = 4096;
/// The alert that a client gets before it is cut: TLS's fatal `access_denied` (RFC 8446 §6).
pub(crate) const ACCESS_DENIED: [u8; 7] = [21, 3, 3, 0, 2, 2, 49];

/// Decides about the names of one tunnel.
pub(crate) struct SniJudge {
    pub(crate) policy: Arc<ArcSwap<Policy>>,
    pub(crate) client: IpAddr,
    pub(crate) user: Option<Arc<str>>,
    /// Its hardware address and interface, as its link tells.
    pub(crate) link_info: LinkInfo,
    /// Where the tunnel leads, which the policy let pass.
    pub(crate) host: DomainName,
    pub(crate) mode: ConnectSni,
}

/// Why a tunnel is cut.
#[derive(Debug)]
pub(crate) enum TunnelCut {
    /// Asks for a server that the policy blocks.
    Blocked(Verdict, DomainName),
    /// Begins as TLS and does not go on so.
    Malformed,
    /// Is not TLS, or asks for no server, and must.
    NoServerName,
}

/// The client's end of a tunnel, of which the first bytes are read in passing.
pub(crate) struct InspectedClient<S> {
    stream: S,
    inspector: SniJudge,
    /// Bytes that are held back, or were and is not all handed on yet.
    early: Vec<u8>,
    handed_on: usize,
    phase: InspectPhase,
}

enum InspectPhase {
    Reading,
    Passing,
    Cut(TunnelCut),
}

impl SniJudge {
    /// `None`: too few bytes to tell.
    fn check(&self, hello: ClientHello) -> Option<Result<(), TunnelCut>> {
        match hello {
            ClientHello::Unfinished => None,
            ClientHello::Malformed => Some(Err(TunnelCut::Malformed)),
            ClientHello::Other | ClientHello::NoServerName => Some(match self.mode {
                ConnectSni::Require => Err(TunnelCut::NoServerName),
                ConnectSni::Check | ConnectSni::Off => Ok(()),
            }),
            ClientHello::Server(name) => Some(match DomainName::parse(&name) {
                Ok(name) => self.check_name(name),
                Err(_) => Err(TunnelCut::Malformed),
            }),
        }
    }

    fn check_name(&self, name: DomainName) -> Result<(), TunnelCut> {
        if name == self.host {
            return Ok(());
        }
        let who = ClientIdentity { user: self.user.as_deref(), ..self.link_info.into() };
        let ask = Ask {
            door: vocab::Door::Proxy,
            client: self.client,
            identity: Some(&who),
            host: name.as_name(),
            kind: RequestKind::Tunnel,
            url: None,
            page: None,
        };
        let verdict = self.policy.load().decide(&ask, clock::now());
        match verdict.action {
            Action::Pass => Ok(()),
            Action::Block => Err(TunnelCut::Blocked(verdict, name)),
        }
    }
}

impl<S> InspectedClient<S> {
    pub(crate) fn new(stream: S, inspector: SniJudge) -> Self {
        let phase = match inspector.mode {
            ConnectSni::Check | ConnectSni::Require => InspectPhase::Reading,
            ConnectSni::Off => InspectPhase::Passing,
        };
        Self { stream, inspector, early: Vec::new(), handed_on: 0, phase }
    }

    /// Why it was cut, and the stream itself for a last word.
    pub(crate) fn cut(self) -> Option<(TunnelCut, S)> {
        match self.phase {
            InspectPhase::Cut(why) => Some((why, self.stream)),
            InspectPhase::Reading | InspectPhase::Passing => None,
        }
    }
}

impl<S: AsyncRead + Unpin> InspectedClient<S> {
    /// Reads until it is clear what the first bytes are.
    fn poll_first(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while matches!(self.phase, InspectPhase::Reading) {
            let mut piece = [0; PIECE_BYTES];
            let mut window = ReadBuf::new(&mut piece);
            ready!(Pin::new(&mut self.stream).poll_read(cx, &mut window))?;
            let hello = if window.filled().is_empty() {
                // Nothing follows: whatever it is, it is no hello.
                ClientHello::Other
            } else {
                self.early.extend_from_slice(window.filled());
                let seen = self.early.len().min(CLIENT_HELLO_BYTES_MAX);
                match read_client_hello(&self.early[..seen]) {
                    ClientHello::Unfinished if self.early.len() >= CLIENT_HELLO_BYTES_MAX => {
                        ClientHello::Malformed
                    }
                    other => other,
                }
            };
            match self.inspector.check(hello) {
                None => {}
                Some(Ok(())) => self.phase = InspectPhase::Passing,
                Some(Err(why)) => self.phase = InspectPhase::Cut(why),
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for InspectedClient<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_first(cx))?;
        if matches!(this.phase, InspectPhase::Cut(_)) {
            return Poll::Ready(Err(io::ErrorKind::PermissionDenied.into()));
        }
        if this.handed_on < this.early.len() {
            let rest = &this.early[this.handed_on..];
            let count = rest.len().min(buf.remaining());
            buf.put_slice(&rest[..count]);
            this.handed_on += count;
            if this.handed_on == this.early.len() {
                (this.early, this.handed_on) = (Vec::new(), 0);
            }
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut this.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for InspectedClient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
