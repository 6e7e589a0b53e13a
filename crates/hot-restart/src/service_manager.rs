//! The service manager: news for it, and sockets from it, `sd_notify(3)`, `sd_listen_fds(3)`.
//!
//! Without one (no `NOTIFY_SOCKET`) nothing is said. It knows nothing of how the program does.

use listenfd::ListenFd;
use rustix::fd::OwnedFd;
use sd_notify::NotifyState;
use std::time::Duration;

/// Variables of a process that are meant for it alone, not for the one that takes its place: what
/// it was handed, and the watchdog's process.
pub(crate) const OF_ONE_PROCESS: [&str; 4] =
    ["LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "WATCHDOG_PID"];

/// News for the service manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceNews {
    /// Clients are answered (`READY=1`), from the start or after a reload.
    Ready,
    /// The configuration is read again (`RELOADING=1`).
    Reloading,
    /// The end begins (`STOPPING=1`).
    Stopping,
    /// The program is alive (`WATCHDOG=1`).
    Alive,
    /// Another process is the service's main one from now on (`MAINPID=`).
    Successor(u32),
}

/// Tells the service manager, if there is one. A manager that cannot be told does no harm.
pub fn tell(news: ServiceNews) {
    let state = match news {
        ServiceNews::Ready => NotifyState::Ready,
        ServiceNews::Reloading => NotifyState::Reloading,
        ServiceNews::Stopping => NotifyState::Stopping,
        ServiceNews::Alive => NotifyState::Watchdog,
        ServiceNews::Successor(process) => NotifyState::MainPid(process),
    };
    // A reload has the time of its beginning beside it, for units of Type=notify-reload.
    let moment = match news {
        ServiceNews::Reloading => NotifyState::monotonic_usec_now().ok(),
        _ => None,
    };
    let told: Vec<NotifyState<'_>> = std::iter::once(state).chain(moment).collect();
    let _ = sd_notify::notify(&told);
}

/// Interval at which the manager wants to hear that the program is alive; none where it does not.
pub fn watchdog_interval() -> Option<Duration> {
    sd_notify::watchdog_enabled().map(|within| within / 2)
}

/// Internet sockets that the manager has bound for this process. To be called once, before there
/// is a second thread.
pub fn activated_sockets() -> Vec<OwnedFd> {
    let mut handed = ListenFd::from_env();
    let count = handed.len();
    let socket = |index| {
        if let Ok(Some(listener)) = handed.take_tcp_listener(index) {
            return Some(OwnedFd::from(listener));
        }
        handed.take_udp_socket(index).ok().flatten().map(OwnedFd::from)
    };
    (0..count).filter_map(socket).collect()
}
