//! The lines that are printed at the start: where each door listens, and one line to try for each.

use super::RunningApp;
use super::doors::{DoorEntry, SAMPLE};
use super::reload::size;
use admin::TOKEN_FILE;
use policy_lists::RulesOrigin;
use std::io::IsTerminal;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::PoisonError;
use vocab::{Door, Listen, Scheme};

/// The lines of `serve`: the folder, where it is seen, and a picture of that for telephones. The
/// rest of the program is not what was asked for.
fn of_folder(app: &RunningApp) -> Vec<String> {
    let folder = {
        let running = app.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.plan.file.web.first().map_or_else(String::new, |site| site.root.clone())
    };
    let mut lines = vec![format!("serves {folder}"), String::new()];
    let mut far = None;
    for (door, listen) in app.listeners().iter().filter(|(door, _)| *door == "web") {
        lines.push(format!("  {door:<8} {listen}"));
        let seen = transport::own_addresses(&[listen.address]).into_iter();
        for ip in seen.filter(|_| listen.address.ip().is_unspecified()) {
            let url = format!("http://{}/", SocketAddr::new(ip, listen.address.port()));
            lines.push(format!("  at       {url}"));
            far = far.or((!ip.is_loopback()).then_some(url));
        }
        lines.extend(to_try(door, listen).map(|line| format!("  try      {line}")));
    }
    let picture = far.filter(|_| std::io::stdout().is_terminal());
    lines.extend(picture.and_then(|url| terminal_text::qr_code(&url)).map(|it| format!("\n{it}")));
    let own = app.warnings().into_iter().filter(|warning| warning != super::reload::NO_LISTS);
    lines.extend(own.map(|warning| format!("\n  note     {warning}")));
    lines
}

/// The lines, in the order of the doors.
pub(super) fn lines(app: &RunningApp, origin: RulesOrigin) -> Vec<String> {
    if app.setup.is_written_by_command() {
        return of_folder(app);
    }
    let running = app.running.lock().unwrap_or_else(PoisonError::into_inner);
    let plan = &running.plan;
    let mut lines = vec![format!(
        "tidegate {} · configuration {} · state {}",
        env!("CARGO_PKG_VERSION"),
        plan.source.display(),
        app.state.path().display()
    )];
    let policy = app.policy.load();
    let (lists, rules) = size(&policy);
    let from = match origin {
        RulesOrigin::Snapshot => "from the snapshot",
        RulesOrigin::Bundle => "from the bundle",
        RulesOrigin::Compiled => "compiled",
    };
    lines.push(format!("{lists} lists with {rules} rules, {from}"));
    drop(running);
    lines.push(format!("privileges: {}", app.privileges.held));
    let listeners = app.listeners();
    lines.push(String::new());
    for (door, listen) in &listeners {
        lines.push(format!("  {door:<8} {listen}"));
    }
    lines.push(String::new());
    let mut tried: Vec<&str> = Vec::new();
    for (door, listen) in &listeners {
        if !tried.contains(door)
            && let Some(line) = to_try(door, listen)
        {
            tried.push(door);
            lines.push(format!("  try {door:<8} {line}"));
        }
    }
    if let Some((_, admin)) = listeners.iter().find(|(door, _)| *door == "admin") {
        lines.push(format!("\n  dashboard    {}", dashboard(app, reachable(admin.address))));
    }
    if let Some(place) = app.console.get() {
        lines.push(format!("  console      {place}"));
    }
    let warnings = app.warnings().into_iter().chain(app.signer.warnings(transport::clock::now()));
    lines.extend(warnings.map(|warning| format!("\n  note         {warning}")));
    lines
}

/// The address of the dashboard, and the way to sign in. The token is shown to a terminal alone:
/// what is written to a file or a journal is read by others, and kept.
fn dashboard(app: &RunningApp, address: SocketAddr) -> String {
    let file = app.state.path().join(TOKEN_FILE);
    let token = std::fs::read_to_string(&file).unwrap_or_default();
    if std::io::stdout().is_terminal() {
        return format!("http://{address}/?token={}", token.trim());
    }
    format!("http://{address}/  (its token is in {})", file.display())
}

/// An address that a client on this machine can use.
fn reachable(address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => (Ipv4Addr::LOCALHOST, address.port()).into(),
        IpAddr::V6(ip) if ip.is_unspecified() => (Ipv4Addr::LOCALHOST, address.port()).into(),
        IpAddr::V4(_) | IpAddr::V6(_) => address,
    }
}

fn to_try(door: &str, listen: &Listen) -> Option<String> {
    let address = reachable(listen.address);
    let (ip, port) = (address.ip(), address.port());
    match (door.parse().ok()?, listen.scheme) {
        (Door::Dns, Scheme::Udp) => Some(format!("dig @{ip} -p {port} {SAMPLE}")),
        (door, Scheme::Http) => Some((DoorEntry::at(door)?.to_try)(address)),
        (
            _,
            Scheme::Udp
            | Scheme::Tcp
            | Scheme::Tls
            | Scheme::Quic
            | Scheme::Https
            | Scheme::Redirect
            | Scheme::Tproxy,
        ) => None,
    }
}
