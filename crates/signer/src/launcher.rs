//! The launcher: a process that stays root so that the program need not, and starts signers.
//!
//! The process is this program again, started before root is left, or by the service manager behind
//! a socket of its own, so that the program never was root (docs/adr/0048). Binary, arguments and
//! the authority's folder are fixed then; a request brings nothing but the socket that a new
//! signer is to listen to, or the number of one that is to be killed. It reads no file, has no
//! network, and ends with the program (docs/adr/0026).

use crate::program::{SignerProgram, socket_pair};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{FileType, fstat};
use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType,
    connect, recv, recvmsg, send, sendmsg, socket_with,
};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use sandbox::{Capability, HeldPrivileges, PrivilegePlan, ProgramStarts, file_reading_capability};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Mutex, PoisonError};

/// Signers that run at once, at most: the one that serves, the one that takes its place, and those
/// that have not noticed yet that they are to end. For one more, the oldest is killed.
const SIGNERS_MAX: usize = 4;

/// Bytes of the longest packet: a kind, and a number.
const PACKET_BYTES: usize = 5;
const START: u8 = 1;
const KILL: u8 = 2;
const STARTED: u8 = 3;
const FAILED: u8 = 4;

/// The launcher as the program sees it.
#[derive(Debug)]
pub struct SignerLauncher {
    /// One request at a time.
    socket: Mutex<OwnedFd>,
    origin: LauncherOrigin,
}

/// Origin of a launcher.
#[derive(Debug)]
enum LauncherOrigin {
    /// A child of this program.
    Child(Child),
    /// Started by the service manager for whoever connects to this socket.
    Service(PathBuf),
}

/// A signer that runs, as the launcher holds it.
struct LaunchedSigner {
    child: Child,
    /// Readable once it has ended.
    handle: OwnedFd,
}

/// A request of the program, with the socket that came along.
struct LaunchRequest {
    kind: u8,
    number: u32,
    socket: Option<OwnedFd>,
}

impl SignerLauncher {
    /// Starts the launcher by `program`, with the authority's folder as its standard output.
    pub fn start(program: &SignerProgram, folder: OwnedFd) -> io::Result<Self> {
        let (ours, theirs) = socket_pair()?;
        let mut command = program.command();
        let process = command.stdin(Stdio::from(theirs)).stdout(Stdio::from(folder)).spawn()?;
        Ok(Self { socket: Mutex::new(ours), origin: LauncherOrigin::Child(process) })
    }

    /// The launcher that the service manager starts behind the socket at `path`. A socket that is
    /// not root's is somebody else's, and refused.
    pub fn connect(path: &Path) -> io::Result<Self> {
        let socket = connect_to(path)?;
        Ok(Self { socket: Mutex::new(socket), origin: LauncherOrigin::Service(path.into()) })
    }

    /// The number of its process, where it is a child of this program.
    pub fn process(&self) -> Option<u32> {
        match &self.origin {
            LauncherOrigin::Child(child) => Some(child.id()),
            LauncherOrigin::Service(_) => None,
        }
    }

    /// Has a signer started that listens to `socket`; its process number.
    pub(crate) fn launch(&self, socket: &OwnedFd) -> io::Result<u32> {
        let mut ours = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        match (ask_to_launch(&ours, socket), &self.origin) {
            // The service was started again, and behind its socket is another one.
            (Err(LaunchFailure::Gone(_)), LauncherOrigin::Service(path)) => {
                *ours = connect_to(path)?;
                ask_to_launch(&ours, socket).map_err(LaunchFailure::into_error)
            }
            (outcome, _) => outcome.map_err(LaunchFailure::into_error),
        }
    }

    /// Has a signer killed. One that has ended already does no harm.
    pub(crate) fn kill(&self, process: u32) {
        let ours = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        // A launcher that is gone has no signers: they end when their sockets do.
        let _ = send(&*ours, &packet(KILL, process), SendFlags::NOSIGNAL);
    }
}

/// Reasons why no signer was launched.
enum LaunchFailure {
    /// There is no launcher any more.
    Gone(io::Error),
    Refused(io::Error),
}

impl LaunchFailure {
    fn into_error(self) -> io::Error {
        let (Self::Gone(why) | Self::Refused(why)) = self;
        why
    }
}

fn connect_to(path: &Path) -> io::Result<OwnedFd> {
    let (family, kind) = (AddressFamily::UNIX, SocketType::SEQPACKET);
    let socket = socket_with(family, kind, SocketFlags::CLOEXEC, None)?;
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    if !socket_peercred(&socket)?.uid.is_root() {
        let message = format!("{} is not root's", path.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
    }
    Ok(socket)
}

fn ask_to_launch(ours: &OwnedFd, socket: &OwnedFd) -> Result<u32, LaunchFailure> {
    let handed = [socket.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(&handed));
    let packet = packet(START, 0);
    sendmsg(ours, &[IoSlice::new(&packet)], &mut ancillary, SendFlags::NOSIGNAL)
        .map_err(|why| LaunchFailure::Gone(why.into()))?;
    let mut answer = [0; PACKET_BYTES];
    loop {
        match recv(ours, &mut answer, RecvFlags::empty()) {
            Ok((_, PACKET_BYTES)) => break,
            Ok(_) => {
                let why = io::Error::other("the launcher of signers has ended");
                return Err(LaunchFailure::Gone(why));
            }
            Err(Errno::INTR) => {}
            Err(why) => return Err(LaunchFailure::Gone(why.into())),
        }
    }
    match read(answer) {
        (STARTED, process) => Ok(process),
        (_, errno) => {
            Err(LaunchFailure::Refused(io::Error::from_raw_os_error(errno.cast_signed())))
        }
    }
}

/// The launcher from the inside: takes requests until the program goes. Standard input is its
/// socket; standard output is the authority's folder, or there is the socket too, by a service
/// manager, and the folder is the one at `folder`.
pub fn run_launcher(signer: &SignerProgram, folder: &Path) -> io::Result<()> {
    sandbox::ignore_ending_signals();
    sandbox::close_inherited_descriptors();
    let (stdin, stdout) = (std::io::stdin(), std::io::stdout());
    let socket = stdin.as_fd().try_clone_to_owned()?;
    let told = fstat(stdout.as_fd())?;
    let folder = match FileType::from_raw_mode(told.st_mode) {
        FileType::Directory => stdout.as_fd().try_clone_to_owned()?,
        _ => sandbox::make_folder_of_root(folder).map_err(io::Error::other)?,
    };
    give_up_the_rest(&folder)?;
    let mut signers: Vec<LaunchedSigner> = Vec::new();
    while let Some(request) = next_request(&socket, &mut signers)? {
        match (request.kind, request.socket) {
            (START, Some(theirs)) => {
                if signers.len() >= SIGNERS_MAX {
                    end(signers.remove(0));
                }
                let answer = match launch(signer, theirs, &folder) {
                    Ok(launched) => {
                        let process = launched.child.id();
                        signers.push(launched);
                        packet(STARTED, process)
                    }
                    Err(why) => {
                        let errno = why.raw_os_error().unwrap_or(Errno::IO.raw_os_error());
                        packet(FAILED, errno.cast_unsigned())
                    }
                };
                if send(&socket, &answer, SendFlags::NOSIGNAL).is_err() {
                    break;
                }
            }
            (KILL, _) => {
                if let Some(at) = signers.iter().position(|it| it.child.id() == request.number) {
                    end(signers.remove(at));
                }
            }
            // Nothing that the program ever sends.
            _ => {}
        }
    }
    // Their own sockets end with the program; whoever is stuck is not waited for.
    signers.into_iter().for_each(end);
    Ok(())
}

/// Keeps what signers need before they enter their own sandbox: to read the key and the lists, and
/// to become somebody else.
fn give_up_the_rest(folder: &OwnedFd) -> io::Result<HeldPrivileges> {
    use rustix::fd::AsRawFd;
    let plan = PrivilegePlan {
        account: None,
        keep: vec![
            file_reading_capability(),
            Capability::SetUser,
            Capability::SetGroup,
            Capability::Kill,
        ],
        programs: ProgramStarts::Allowed,
        writable: Some(vec![PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()))]),
    };
    plan.apply().map_err(io::Error::other)
}

/// The next request with the socket that came with it; none when the program is gone. Meanwhile
/// takes leave of signers that have ended.
fn next_request(
    socket: &OwnedFd,
    signers: &mut Vec<LaunchedSigner>,
) -> io::Result<Option<LaunchRequest>> {
    loop {
        let mut waited: Vec<PollFd<'_>> = vec![PollFd::new(socket, PollFlags::IN)];
        waited.extend(signers.iter().map(|it| PollFd::new(&it.handle, PollFlags::IN)));
        match poll(&mut waited, None) {
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(why) => return Err(why.into()),
        }
        let told: Vec<bool> = waited.iter().map(|it| !it.revents().is_empty()).collect();
        if told[0] {
            return receive(socket);
        }
        let mut ended = told.into_iter().skip(1);
        signers.retain_mut(|it| {
            let has_ended = ended.next() == Some(true);
            if has_ended {
                // Its number is free from here on.
                let _ = it.child.wait();
            }
            !has_ended
        });
    }
}

fn receive(socket: &OwnedFd) -> io::Result<Option<LaunchRequest>> {
    let mut bytes = [0; PACKET_BYTES];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC;
    let message = recvmsg(socket, &mut [IoSliceMut::new(&mut bytes)], &mut ancillary, flags)?;
    let handed = ancillary.drain().find_map(|it| match it {
        RecvAncillaryMessage::ScmRights(mut all) => all.next(),
        _ => None,
    });
    if message.bytes == 0 {
        return Ok(None);
    }
    let is_whole = message.bytes == PACKET_BYTES && !message.flags.contains(ReturnFlags::TRUNC);
    let (kind, number) = if is_whole { read(bytes) } else { (0, 0) };
    Ok(Some(LaunchRequest { kind, number, socket: handed }))
}

fn launch(signer: &SignerProgram, socket: OwnedFd, folder: &OwnedFd) -> io::Result<LaunchedSigner> {
    let folder = folder.try_clone()?;
    let mut command = signer.command();
    let mut child = command.stdin(Stdio::from(socket)).stdout(Stdio::from(folder)).spawn()?;
    match pidfd_open(Pid::from_child(&child), PidfdFlags::empty()) {
        Ok(handle) => Ok(LaunchedSigner { child, handle }),
        Err(why) => {
            // Nobody waited for it yet, so the number is still its own.
            let _ = child.kill();
            let _ = child.wait();
            Err(why.into())
        }
    }
}

fn end(mut signer: LaunchedSigner) {
    // By its handle: the number may be somebody else's by now.
    let _ = pidfd_send_signal(&signer.handle, Signal::KILL);
    let _ = signer.child.wait();
}

fn packet(kind: u8, number: u32) -> [u8; PACKET_BYTES] {
    let [a, b, c, d] = number.to_le_bytes();
    [kind, a, b, c, d]
}

fn read([kind, a, b, c, d]: [u8; PACKET_BYTES]) -> (u8, u32) {
    (kind, u32::from_le_bytes([a, b, c, d]))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::program::socket_pair;
    use rustix::net::{accept, bind, listen};
    use std::thread;

    /// A socket as the service manager opens it.
    fn listening(path: &Path) -> OwnedFd {
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
        bind(&socket, &SocketAddrUnix::new(path).unwrap()).unwrap();
        listen(&socket, 4).unwrap();
        socket
    }

    /// Takes one connection, answers one request with `number`, and goes.
    fn serve_once(listener: &OwnedFd, number: u32) {
        let connection = accept(listener).unwrap();
        let request = receive(&connection).unwrap().unwrap();
        assert!(request.kind == START && request.socket.is_some());
        send(&connection, &packet(STARTED, number), SendFlags::NOSIGNAL).unwrap();
    }

    #[test]
    fn a_launcher_that_the_service_manager_has_started_again_is_found_again() {
        let folder = std::env::temp_dir().join(format!("tidegate-launcher-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("signer.socket");
        let listener = listening(&path);
        let service = thread::spawn(move || (1..=2).for_each(|it| serve_once(&listener, it)));
        let connected = SignerLauncher::connect(&path);
        if !rustix::process::geteuid().is_root() {
            assert!(connected.unwrap_err().to_string().contains("is not root's"));
            return;
        }
        let launcher = connected.unwrap();
        let (_ours, theirs) = socket_pair().unwrap();
        assert_eq!(launcher.launch(&theirs).unwrap(), 1);
        assert_eq!(launcher.launch(&theirs).unwrap(), 2);
        service.join().unwrap();
        assert!(launcher.launch(&theirs).is_err(), "nobody listens any more");
        assert!(launcher.process().is_none());
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn without_a_socket_there_is_no_launcher() {
        let why = SignerLauncher::connect(Path::new("/nonexistent/signer.socket")).unwrap_err();
        assert_eq!(why.kind(), io::ErrorKind::NotFound);
    }
}
