//! The signer's process from the inside: it opens its key, closes the door behind itself, and takes
//! orders until the socket ends.
//!
//! It has one thread, no network and no way to a file but its log. Orders come one after the other
//! from a process that may have been taken over; the issuer believes none of them. Called by the
//! hidden command that Tidegate starts itself with.

use crate::authority::AuthorityError;
use crate::exclusions::NameExclusions;
use crate::frame::{FRAME_BYTES_MAX, SignerReply, SignerRequest};
use crate::issuer::{LeafIssuer, OwnServerNames, SigningRefusal};
use crate::mint_policy::{MintNothing, MintPolicy};
use crate::sealed_memory::SealedMemory;
use crate::settings::VouchMode;
use crate::tables_handover::receive_tables;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::FileType;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, SocketType, recv, send, sockopt};
use rustix::stdio::dup2_stdout;
use sandbox::signer_process::{self, SandboxError};
use std::fmt;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use vocab::Now;

/// Holds what the process is to be.
pub struct SignerTask {
    /// The folder of the authority.
    pub dir: PathBuf,
    /// Names and addresses that are never certified.
    pub exclusions: NameExclusions,
    /// The names of our servers.
    pub own_names: OwnServerNames,
    /// Signing on the other process's word: now and then, or not at all.
    pub vouched: VouchMode,
    /// User to become instead of root.
    pub user: String,
    /// The clock: certificates have a time.
    pub clock: fn() -> Now,
}

/// Why the process ends otherwise than with its parent.
#[derive(Debug)]
pub enum ProcessError {
    /// Was not started by a Tidegate.
    NoParent,
    /// Cannot run; its parent was told.
    Failed(String),
}

/// Why the process cannot take orders.
#[derive(Debug)]
enum NotPrepared {
    /// The authority cannot be opened.
    Authority(AuthorityError),
    /// The process cannot give up its rights.
    Sandbox(SandboxError),
    /// The policy cannot be read.
    Policy(String),
    /// No leaf can be signed.
    SelfTest(SigningRefusal),
    /// No leaf can be signed inside the sandbox.
    SandboxedSelfTest(SigningRefusal),
}

impl SignerTask {
    /// Runs until the parent goes. `policy` is read after the parent has been told about the
    /// authority: it takes longest. It gets the tables that the parent sent ahead, which prove
    /// nothing: they only save the memory of those that are the same.
    pub fn run(
        mut self,
        policy: impl FnOnce(Option<SealedMemory>) -> Result<Arc<dyn MintPolicy>, String>,
    ) -> Result<(), ProcessError> {
        sandbox::ignore_ending_signals();
        let socket = parent()?;
        let named = self.dir.clone();
        if has_inherited_folder() {
            self.dir = HANDED_FOLDER.into();
        }
        let tell = |what: &SignerReply| {
            // A parent that is gone shows when it is listened to.
            let _ = send(&socket, &what.write(), SendFlags::NOSIGNAL);
        };
        let clock = self.clock;
        match self.prepare(|| policy(receive_tables(&socket)), &tell) {
            Ok(issuer) => {
                serve_orders(&socket, issuer, clock);
                Ok(())
            }
            Err(why) => {
                let why = why.to_string().replace(HANDED_FOLDER, &named.display().to_string());
                tell(&SignerReply::Failed(why.clone()));
                Err(ProcessError::Failed(why))
            }
        }
    }

    fn prepare(
        self,
        policy: impl FnOnce() -> Result<Arc<dyn MintPolicy>, String>,
        tell: &impl Fn(&SignerReply),
    ) -> Result<LeafIssuer, NotPrepared> {
        let clock = self.clock;
        let mut issuer =
            LeafIssuer::open(&self.dir, Arc::new(MintNothing), self.exclusions, clock())
                .map_err(NotPrepared::Authority)?
                .with_own_names(self.own_names);
        tell(&SignerReply::Opened(issuer.certificate().pem.clone()));
        let mut troubles = Vec::new();
        if let Err(why) = issuer.open_audit_log(&self.dir) {
            troubles.push(format!("what is signed cannot be written down: {why}"));
        }
        if self.vouched == VouchMode::Limited
            && let Err(why) = issuer.allow_vouched(&self.dir, clock())
        {
            troubles.push(format!("no name is certified for its alias: {why}"));
        }
        // From here on nothing is read or written by its folder.
        let _ = File::open("/dev/null").map(dup2_stdout);
        // The lists come from a folder of the other process, so they are not read as root.
        let user = signer_process::leave_root(&self.user).map_err(NotPrepared::Sandbox)?;
        let issuer = issuer.with_policy(policy().map_err(NotPrepared::Policy)?);
        // The generator's state is made before the sandbox is entered.
        issuer.self_test(clock()).map_err(NotPrepared::SelfTest)?;
        troubles.extend(signer_process::enter(&user).map_err(NotPrepared::Sandbox)?);
        issuer.self_test(clock()).map_err(NotPrepared::SandboxedSelfTest)?;
        tell(&SignerReply::Ready((!troubles.is_empty()).then(|| troubles.join("; "))));
        Ok(issuer)
    }
}

/// The authority's folder where a launcher has opened it: its own name may lead elsewhere by now,
/// since the folder around it belongs to the process that is not to have the key.
const HANDED_FOLDER: &str = "/proc/self/fd/1";

fn has_inherited_folder() -> bool {
    let found = rustix::fs::fstat(std::io::stdout().as_fd());
    found.is_ok_and(|it| FileType::from_raw_mode(it.st_mode) == FileType::Directory)
}

/// The socket that Tidegate put in place of standard input; nothing else stays open.
fn parent() -> Result<OwnedFd, ProcessError> {
    sandbox::close_inherited_descriptors();
    let stdin = std::io::stdin();
    match sockopt::socket_type(stdin.as_fd()) {
        Ok(SocketType::SEQPACKET) => {
            stdin.as_fd().try_clone_to_owned().map_err(|_| ProcessError::NoParent)
        }
        Ok(_) | Err(_) => Err(ProcessError::NoParent),
    }
}

fn serve_orders(socket: &OwnedFd, mut issuer: LeafIssuer, clock: fn() -> Now) {
    let mut packet = vec![0; FRAME_BYTES_MAX + 1];
    let began_old = issuer.needs_renewal(clock());
    loop {
        let length = match recv(socket, packet.as_mut_slice(), RecvFlags::empty()) {
            Ok((_, 0)) => return,
            Ok((_, length)) => length,
            Err(Errno::INTR) => continue,
            Err(_) => return,
        };
        let now = clock();
        if !began_old && issuer.needs_renewal(now) {
            // Opened again it is renewed, and the order comes again.
            return;
        }
        let say = match SignerRequest::read(&packet[..length]) {
            Some(SignerRequest::Order(number, order)) => match issuer.issue(&order, now) {
                Ok(leaf) => SignerReply::Leaf(number, issuer.audit_lost(), leaf),
                Err(why) => SignerReply::Refused(number, why),
            },
            Some(SignerRequest::Key(kind, spki)) => {
                // Of one that cannot be taken, the orders for it are refused one by one.
                let _ = issuer.set_key(kind, &spki);
                continue;
            }
            // Tables come before anything else, or never.
            Some(SignerRequest::Tables) | None => continue,
        };
        if send(socket, &say.write(), SendFlags::NOSIGNAL).is_err() {
            return;
        }
    }
}

impl fmt::Display for ProcessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoParent => f.write_str(
                "this command is for Tidegate itself, which starts it with a socket; run \
                 `tidegate run`",
            ),
            Self::Failed(why) => write!(f, "the signer: {why}"),
        }
    }
}

impl std::error::Error for ProcessError {}

impl fmt::Display for NotPrepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Authority(why) => why.fmt(f),
            Self::Sandbox(why) => why.fmt(f),
            Self::Policy(why) => f.write_str(why),
            // For whoever mends it: with the refusal's own name.
            Self::SelfTest(why) => write!(f, "{why:?}"),
            Self::SandboxedSelfTest(why) => write!(f, "inside its sandbox: {why:?}"),
        }
    }
}

impl std::error::Error for NotPrepared {}

impl fmt::Debug for SignerTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Process").field("dir", &self.dir).finish_non_exhaustive()
    }
}
