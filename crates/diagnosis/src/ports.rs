//! Addresses of the configuration: whether they can be listened on, and who holds those that
//! cannot.

use crate::DiagnosisSubject;
use crate::finding::{CheckGroup, MachineFinding};
use crate::sockets::{ListeningSocket, SocketProtocol, parse_sockets};
use crate::surroundings::{NamedProcess, text};
use std::net::SocketAddr;
use transport::{BindProtocol, BindReason, check_bind};
use vocab::{Listen, Scheme};

const GROUP: CheckGroup = CheckGroup::Ports;
const DNS_PORT: u16 = 53;
/// Our own processes.
const OWN_NAME: &str = "tidegate";
/// systemd-resolved, as the kernel cuts its name.
const RESOLVED: &str = "systemd-resolve";
const RESOLVED_REMEDY: &str = "have systemd-resolved leave the port: mkdir -p \
    /etc/systemd/resolved.conf.d && printf '[Resolve]\\nDNSStubListener=no\\n' > \
    /etc/systemd/resolved.conf.d/tidegate.conf && ln -sf /run/systemd/resolve/resolv.conf \
    /etc/resolv.conf && systemctl restart systemd-resolved; or listen at an address of your \
    network instead of 0.0.0.0 or 127.0.0.53";

/// State of an address and port of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortState {
    /// Can be listened on.
    Free,
    /// Held by the Tidegate that runs on the state folder.
    Ours,
    /// Held by another program.
    Held,
    /// Closed to this user, or no address of this machine.
    Forbidden,
}

/// An address and port as they were found, and who holds them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortStanding {
    /// State.
    pub state: PortState,
    /// Program that holds it, as far as this user may see it.
    pub holder: Option<String>,
    /// Finding in words, with a remedy where there is one.
    pub finding: MachineFinding,
}

pub(crate) fn check(subject: &DiagnosisSubject) -> Vec<MachineFinding> {
    let settings = subject.plan.listen_settings();
    let named = settings.iter().map(|(path, listen)| (path.as_str(), listen));
    standings(subject, named).into_iter().map(|found| found.finding).collect()
}

/// State of addresses that may be listened on, each with the name that it is told under. Those
/// whose port the system picks are left out.
pub fn standings<'l>(
    subject: &DiagnosisSubject,
    wanted: impl IntoIterator<Item = (&'l str, &'l Listen)>,
) -> Vec<PortStanding> {
    let tables = [SocketProtocol::Tcp, SocketProtocol::Udp].map(|it| sockets(subject, it));
    let all = tables.concat();
    let running = subject.running();
    let wanted = wanted.into_iter().filter(|(_, listen)| listen.address.port() != 0);
    wanted.map(|(path, listen)| one(subject, path, listen, &all, running)).collect()
}

fn sockets(subject: &DiagnosisSubject, protocol: SocketProtocol) -> Vec<ListeningSocket> {
    let folder = subject.machine.proc.join("net");
    let read = |name| text(&folder.join(name)).map(|table| parse_sockets(&table, protocol));
    protocol.tables().into_iter().filter_map(read).flatten().collect()
}

fn protocols(listen: &Listen) -> (SocketProtocol, BindProtocol) {
    match listen.scheme {
        Scheme::Udp | Scheme::Quic => (SocketProtocol::Udp, BindProtocol::Udp),
        Scheme::Tproxy => (SocketProtocol::Tcp, BindProtocol::TcpAnyAddress),
        Scheme::Tcp | Scheme::Tls | Scheme::Http | Scheme::Https | Scheme::Redirect => {
            (SocketProtocol::Tcp, BindProtocol::Tcp)
        }
    }
}

fn one(
    subject: &DiagnosisSubject,
    path: &str,
    listen: &Listen,
    sockets: &[ListeningSocket],
    running: Option<u32>,
) -> PortStanding {
    let (protocol, binding) = protocols(listen);
    let held = sockets
        .iter()
        .filter(|socket| socket.protocol == protocol && socket.is_in_the_way(listen.address));
    let holders: Vec<_> =
        held.clone().flat_map(|it| subject.machine.socket_holders(it.inode)).collect();
    let place = format!("{path}: {listen}");
    let is_ours = running.is_some_and(|pid| holders.iter().any(|holder| holder.pid == pid));
    let holder = holders.first().filter(|_| !is_ours).map(|holder| holder.name.clone());
    let found = |state, finding| PortStanding { state, holder: holder.clone(), finding };
    if is_ours {
        let what = format!("{place} is held by the running Tidegate");
        return found(PortState::Ours, MachineFinding::fine(GROUP, what));
    }
    let is_held = held.clone().next().is_some();
    let bound = check_bind(listen.address, binding);
    // Sockets at other addresses of the port may stand beside ours.
    let is_taken = matches!(&bound, Err(why) if why.reason == BindReason::InUse)
        || is_held && matches!(&bound, Err(why) if why.reason == BindReason::Privileged);
    if is_taken {
        if running.is_some() && holders.is_empty() {
            let what = format!("{place} is held, and a Tidegate runs on this state folder");
            return found(PortState::Ours, MachineFinding::fine(GROUP, what));
        }
        let ours = if holders.is_empty() { subject.machine.process_named(OWN_NAME) } else { None };
        if let Some(ours) = ours {
            let what = format!("{place} is held, probably by the Tidegate of process {}", ours.pid);
            let note = MachineFinding::note(GROUP, what);
            return found(PortState::Held, note.remedy("sudo tidegate doctor says for sure"));
        }
        return found(PortState::Held, taken(&place, listen.address, holders.first()));
    }
    match bound.map_err(|why| why.reason) {
        Ok(()) => found(PortState::Free, MachineFinding::fine(GROUP, format!("{place} is free"))),
        Err(why) => found(PortState::Forbidden, not_bound(subject, &place, listen.address, &why)),
    }
}

/// An address that nobody holds, and that cannot be had.
fn not_bound(
    subject: &DiagnosisSubject,
    place: &str,
    address: SocketAddr,
    why: &BindReason,
) -> MachineFinding {
    match why {
        BindReason::Privileged => privileged(subject, place, address),
        BindReason::NoSuchAddress => {
            MachineFinding::obstacle(GROUP, format!("{place}: this machine has no such address"))
                .remedy(
                    "write an address that `ip address` shows, or 0.0.0.0 for all; where it comes \
                 later, have the unit start after network-online.target",
                )
        }
        BindReason::NotTransparent => {
            let what = format!("{place}: this user may not take connections to other addresses");
            MachineFinding::warning(GROUP, what)
                .remedy("start Tidegate as root, or with the capability CAP_NET_ADMIN")
        }
        BindReason::InUse | BindReason::Other(_) => {
            MachineFinding::obstacle(GROUP, format!("{place}: {why:?}"))
                .remedy("choose another address or port")
        }
    }
}

fn taken(place: &str, address: SocketAddr, holder: Option<&NamedProcess>) -> MachineFinding {
    let Some(holder) = holder else {
        let what = format!("{place} is held by a process that this user cannot see");
        let port = address.port();
        return MachineFinding::obstacle(GROUP, what).remedy(format!(
            "ask as root who it is (sudo tidegate doctor, or sudo ss -lntup 'sport = :{port}')"
        ));
    };
    let what = format!("{place} is held by {} (process {})", holder.name, holder.pid);
    let finding = MachineFinding::obstacle(GROUP, what);
    if holder.name == RESOLVED && address.port() == DNS_PORT {
        return finding.remedy(RESOLVED_REMEDY);
    }
    if holder.name == OWN_NAME {
        return finding.remedy(
            "another Tidegate runs with another state folder: stop it, or name its folder with \
             --state",
        );
    }
    match &holder.unit {
        Some(unit) => finding.remedy(format!(
            "stop it (systemctl disable --now {unit}), or give Tidegate another address or port"
        )),
        None => finding.remedy("stop it, or give Tidegate another address or port"),
    }
}

/// Ports that this user may not have: whoever starts Tidegate may.
fn privileged(subject: &DiagnosisSubject, place: &str, address: SocketAddr) -> MachineFinding {
    let what = format!("{place}: this user may not listen below port 1024");
    let finding = if subject.running().is_some() {
        MachineFinding::note(GROUP, what)
    } else {
        MachineFinding::warning(GROUP, what)
    };
    let port = address.port();
    finding.remedy(format!(
        "start Tidegate as root, which it gives up, or by the unit; or sysctl \
         net.ipv4.ip_unprivileged_port_start={port}"
    ))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use crate::finding::FindingSeverity;
    use crate::surroundings::tests::FakeMachine;
    use crate::{DiagnosisSubject, MachineFolders};
    use std::net::{TcpListener, UdpSocket};

    fn of(port: u16, machine: &MachineFolders) -> Vec<crate::MachineFinding> {
        let fake = FakeMachine::new("ports", &[]);
        let yaml = format!(
            "admin: {{ listen: 127.0.0.1:0 }}\nweb: [{{ listen: ['http://127.0.0.1:{port}'], root: . }}]\n"
        );
        let subject = DiagnosisSubject { machine: machine.clone(), ..fake.subject(&yaml) };
        super::check(&subject)
    }

    #[test]
    fn a_port_that_is_held_is_told_with_the_process_that_holds_it() {
        let holder = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = holder.local_addr().unwrap().port();
        let found = of(port, &MachineFolders::default());
        assert_eq!(found[0].severity, FindingSeverity::Obstacle, "{found:?}");
        let pid = format!("(process {})", std::process::id());
        assert!(found[0].what.contains(&pid) && found[0].remedy.is_some(), "{found:?}");
        drop(holder);
        assert_eq!(of(port, &MachineFolders::default())[0].severity, FindingSeverity::Fine);
    }

    #[test]
    fn the_stub_of_systemd_resolved_is_named_with_its_remedy() {
        let holder = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = holder.local_addr().unwrap();
        let process = crate::surroundings::NamedProcess {
            pid: 7,
            name: super::RESOLVED.into(),
            unit: Some("systemd-resolved.service".into()),
        };
        let told = super::taken("dns", "127.0.0.53:53".parse().unwrap(), Some(&process));
        assert!(told.remedy.unwrap().contains("DNSStubListener=no"));
        let other = super::taken("dns", address, Some(&process));
        assert!(other.remedy.unwrap().contains("systemctl disable --now systemd-resolved.service"));
    }
}
