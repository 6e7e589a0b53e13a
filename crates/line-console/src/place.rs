//! The socket that a console listens on.

use admin::ConsolePlace;
use rustix::fs::Mode;
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// A bound socket.
pub(crate) enum ConsoleSocket {
    /// At an address.
    Tcp(std::net::TcpListener),
    /// At a path, which goes with it.
    Unix(UnixListener, PathBuf),
}

/// Binds it. A path that nobody listens at any more is taken over; relative ones are below `base`.
pub(crate) fn bind(place: &ConsolePlace, base: &Path) -> io::Result<ConsoleSocket> {
    match place {
        ConsolePlace::Loopback(address) => {
            let listener = std::net::TcpListener::bind(address)?;
            listener.set_nonblocking(true)?;
            Ok(ConsoleSocket::Tcp(listener))
        }
        ConsolePlace::Path(path) => {
            let path = base.join(path);
            take_over(&path)?;
            let listener = bind_path(&path)?;
            listener.set_nonblocking(true)?;
            Ok(ConsoleSocket::Unix(listener, path))
        }
    }
}

/// Binds a path that only its owner may open from the first moment on: the kernel gives it the
/// mode of the socket.
fn bind_path(path: &Path) -> io::Result<UnixListener> {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
    let (family, flags) = (AddressFamily::UNIX, SocketFlags::CLOEXEC);
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    rustix::fs::fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    rustix::net::bind(&socket, &SocketAddrUnix::new(path)?)?;
    // In case it does not: nobody can connect yet.
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    rustix::net::listen(&socket, 16)?;
    Ok(UnixListener::from(socket))
}

fn take_over(path: &Path) -> io::Result<()> {
    let Ok(facts) = path.symlink_metadata() else { return Ok(()) };
    if !facts.file_type().is_socket() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "something else is there"));
    }
    match UnixStream::connect(path) {
        Ok(_) => Err(io::ErrorKind::AddrInUse.into()),
        Err(why) if why.kind() == io::ErrorKind::ConnectionRefused => std::fs::remove_file(path),
        Err(why) => Err(why),
    }
}
