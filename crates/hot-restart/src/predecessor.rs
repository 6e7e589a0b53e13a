//! The side of the process that runs.

use crate::packet::{
    DESCRIPTORS_MAX, END, LEFT, REFUSED, SERVING, SOCKETS, STARTED_AS, TAKE_OVER, WHO, receive,
    send, set_patience,
};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, listen, socket_with,
    sockopt,
};
use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Time for which each packet of a successor is waited for that has a packet to send now.
const PATIENCE: Duration = Duration::from_secs(10);

/// The socket at which successors come.
#[derive(Debug)]
pub struct HandoverListener {
    socket: OwnedFd,
    /// Number of the user that started this process, whoever it became.
    started_as: u32,
}

/// A successor that asks for the sockets.
#[derive(Debug)]
pub struct ArrivedSuccessor {
    socket: OwnedFd,
    /// Number of its process.
    pub process: u32,
}

/// Descriptors that a successor gets.
#[derive(Debug)]
pub struct HandedParts<'p> {
    /// Bound sockets.
    pub sockets: &'p [Arc<OwnedFd>],
    /// Standard output and standard error.
    pub output: [BorrowedFd<'p>; 2],
}

/// Fate of a successor that has the sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuccessorFate {
    /// Answers clients.
    Serving,
    /// Is gone, or took longer than it may.
    Gone,
}

impl HandoverListener {
    /// Listens at `path`, in place of what a process that ended has left there. Readable by its
    /// owner alone. Paths longer than a socket's address go by the descriptor of their folder.
    /// `started_as` is the user that started this process.
    pub fn bind(path: &Path, started_as: u32) -> io::Result<Self> {
        match fs::remove_file(path) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(why),
            Ok(()) | Err(_) => {}
        }
        let socket =
            socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        bind(&socket, &UnixPlace::of(path)?.address)?;
        fs::set_permissions(path, Permissions::from_mode(0o600))?;
        listen(&socket, 1)?;
        Ok(Self { socket, started_as })
    }

    /// Waits for the next successor that may take over: one of root's or of this process's own
    /// user. Others are closed.
    pub fn next(&self) -> io::Result<ArrivedSuccessor> {
        loop {
            let socket = accept_with(&self.socket, SocketFlags::CLOEXEC)?;
            let who = sockopt::socket_peercred(&socket)?;
            if !who.uid.is_root() && who.uid != rustix::process::geteuid() {
                continue;
            }
            set_patience(&socket, Some(PATIENCE))?;
            match receive(&socket) {
                Ok(Some(packet)) if packet.text == TAKE_OVER => {
                    let process = who.pid.as_raw_nonzero().get().unsigned_abs();
                    return Ok(ArrivedSuccessor { socket, process });
                }
                Ok(Some(packet)) if packet.text == WHO => {
                    // Whoever asked may have gone.
                    let _ = send(&socket, &format!("{STARTED_AS}{}", self.started_as), &[]);
                }
                // A stranger's version is told; one that is gone has said nothing.
                Ok(Some(_)) => drop(send(&socket, &format!("{REFUSED}another version"), &[])),
                Ok(None) | Err(_) => {}
            }
        }
    }
}

impl ArrivedSuccessor {
    /// Sends what it needs to begin.
    pub fn hand_over(&self, parts: &HandedParts<'_>) -> io::Result<()> {
        for some in parts.sockets.chunks(DESCRIPTORS_MAX) {
            let some: Vec<_> = some.iter().map(|socket| socket.as_fd()).collect();
            send(&self.socket, SOCKETS, &some)?;
        }
        send(&self.socket, END, &parts.output)
    }

    /// Waits until it answers clients, for at most `patience`, or is gone.
    pub fn fate(&self, patience: Duration) -> SuccessorFate {
        if set_patience(&self.socket, Some(patience)).is_err() {
            return SuccessorFate::Gone;
        }
        match receive(&self.socket) {
            Ok(Some(packet)) if packet.text == SERVING => SuccessorFate::Serving,
            Ok(_) | Err(_) => SuccessorFate::Gone,
        }
    }

    /// Waits until it has told that whoever started it is gone, by ending the connection.
    pub fn wait_until_orphaned(&self, patience: Duration) {
        // An end, a failure and a patience that is over mean the same.
        let _ = set_patience(&self.socket, Some(patience)).map(|()| receive(&self.socket));
    }

    /// Says that this process takes no new clients any more.
    pub fn say_left(&self) -> io::Result<()> {
        send(&self.socket, LEFT, &[])
    }
}

/// A path as the address of a socket.
pub(crate) struct UnixPlace {
    pub(crate) address: SocketAddrUnix,
    /// Kept open as long as the address names it.
    _folder: Option<File>,
}

impl UnixPlace {
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        if let Ok(address) = SocketAddrUnix::new(path) {
            return Ok(Self { address, _folder: None });
        }
        let none = || io::Error::new(io::ErrorKind::InvalidInput, "no file in a folder");
        let (folder, name) = path.parent().zip(path.file_name()).ok_or_else(none)?;
        let folder = File::open(folder)?;
        let short = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd())).join(name);
        Ok(Self { address: SocketAddrUnix::new(short)?, _folder: Some(folder) })
    }
}
