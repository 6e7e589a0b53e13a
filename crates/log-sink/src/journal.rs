//! The journal as a destination, by its own protocol: a datagram of fields for each entry.
//!
//! An entry that no datagram holds goes as a sealed file in memory. It knows no fields. A journal
//! that is not there costs entries, which are counted. Called by `output`, on the writer's thread.

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::Errno;
use rustix::net::{
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix, sendmsg_addr,
};
use std::fs::File;
use std::io::{self, Write};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time that the journal has to take an entry.
const WRITE_MAX: Duration = Duration::from_secs(2);

/// The journal as the writer's thread sees it.
pub(crate) struct JournalOutput {
    socket: UnixDatagram,
    /// Looked up for each entry: the journal that is started anew has another socket there.
    place: PathBuf,
}

impl JournalOutput {
    /// Fails where nobody listens.
    pub(crate) fn open(place: &Path) -> io::Result<Self> {
        let socket = UnixDatagram::unbound()?;
        socket.set_write_timeout(Some(WRITE_MAX))?;
        // The journal passes over an empty datagram.
        socket.send_to(&[], place)?;
        Ok(Self { socket, place: place.to_owned() })
    }

    /// Sends one entry; returns how many were lost.
    pub(crate) fn write(&self, entry: &[u8]) -> u64 {
        let sent = match self.socket.send_to(entry, &self.place) {
            Err(why) if is_too_large(&why) => self.send_in_file(entry),
            sent => sent.map(drop),
        };
        u64::from(sent.is_err())
    }

    fn send_in_file(&self, entry: &[u8]) -> io::Result<()> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let mut file = File::from(memfd_create("journal-entry", flags)?);
        file.write_all(entry)?;
        // The journal takes no file that could change under it.
        let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE | SealFlags::SEAL;
        fcntl_add_seals(&file, seals)?;
        let handed = [file.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !ancillary.push(SendAncillaryMessage::ScmRights(&handed)) {
            return Err(io::Error::other("no room for a descriptor"));
        }
        let place = SocketAddrUnix::new(&self.place)?;
        sendmsg_addr(&self.socket, &place, &[], &mut ancillary, SendFlags::NOSIGNAL)?;
        Ok(())
    }
}

fn is_too_large(why: &io::Error) -> bool {
    let code = Errno::from_io_error(why);
    code == Some(Errno::MSGSIZE) || code == Some(Errno::NOBUFS)
}
