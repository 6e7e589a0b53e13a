//! Limits of the process and of the kernel, beside what the configuration needs.

use crate::DiagnosisSubject;
use crate::finding::{CheckGroup, MachineFinding};
use crate::surroundings::text;
use std::net::SocketAddr;

const GROUP: CheckGroup = CheckGroup::Limits;
/// Descriptors beside those of connections: listeners of each core, lists, caches, the ledger.
const DESCRIPTORS_BESIDE: u64 = 512;
/// Receive buffer that listeners for DNS ask for.
const RECEIVE_BYTES: u64 = 4 << 20;
/// Outgoing ports below which a proxy runs short of them.
const OUTGOING_MIN: u64 = 16_384;

pub(crate) fn check(subject: &DiagnosisSubject) -> Vec<MachineFinding> {
    let found = [files(subject), backlog(subject), receive_buffer(subject), outgoing(subject)];
    found.into_iter().flatten().chain(listeners_among_outgoing(subject)).collect()
}

/// Descriptors that the caps of connections add up to. A connection that is passed on takes two.
fn descriptors_needed(subject: &DiagnosisSubject) -> u64 {
    let file = &subject.plan.file;
    let each = u64::from;
    let proxy = file.proxy.as_ref().map_or(0, |it| 2 * each(it.connections));
    let gateway = file.gateway.as_ref().map_or(0, |it| 2 * each(it.connections));
    let pixel = file.pixel.as_ref().map_or(0, |it| each(it.connections));
    let dns = file.dns.as_ref().map_or(0, |it| each(it.tcp_connections));
    let default = transport::CONNECTIONS_MAX_DEFAULT as u64;
    let sites = file.web.iter().map(|site| site.connections.map_or(default, u64::from));
    proxy + gateway + pixel + dns + sites.max().unwrap_or(0) + DESCRIPTORS_BESIDE
}

/// The soft limit on open files: that of the running Tidegate, else our own, which a start from
/// here would have.
fn files(subject: &DiagnosisSubject) -> Option<MachineFinding> {
    let needed = descriptors_needed(subject);
    let who = subject.running().map_or_else(|| "self".to_owned(), |pid| pid.to_string());
    let limits = text(&subject.machine.proc.join(&who).join("limits"))?;
    let line = limits.lines().find(|line| line.starts_with("Max open files"))?;
    let soft = line.split_whitespace().nth(3)?;
    let soft: u64 = if soft == "unlimited" { u64::MAX } else { soft.parse().ok()? };
    let whose = if who == "self" { "a Tidegate started here" } else { "the running Tidegate" };
    let what = format!("{whose} may open {soft} files; all connections allowed need {needed}");
    Some(if soft >= needed {
        MachineFinding::fine(GROUP, what)
    } else {
        MachineFinding::warning(GROUP, what).remedy(format!(
            "raise the limit: LimitNOFILE={needed} in the unit, or ulimit -n {needed} in the \
             shell; or lower the doors' `connections`"
        ))
    })
}

fn backlog(subject: &DiagnosisSubject) -> Option<MachineFinding> {
    let most = subject.machine.figure("net/core/somaxconn")?;
    let wanted = u64::from(transport::BACKLOG.unsigned_abs());
    let what = format!("net.core.somaxconn is {most}; listeners ask for {wanted}");
    Some(if most >= wanted {
        MachineFinding::fine(GROUP, what)
    } else {
        MachineFinding::warning(GROUP, what).remedy(kept("net.core.somaxconn", wanted))
    })
}

fn receive_buffer(subject: &DiagnosisSubject) -> Option<MachineFinding> {
    subject.plan.file.dns.as_ref()?;
    let most = subject.machine.figure("net/core/rmem_max")?;
    let what =
        format!("net.core.rmem_max is {most}; a burst of questions is held in {RECEIVE_BYTES}");
    Some(if most >= RECEIVE_BYTES {
        MachineFinding::fine(GROUP, what)
    } else {
        MachineFinding::note(GROUP, what).remedy(kept("net.core.rmem_max", RECEIVE_BYTES))
    })
}

/// A setting of the kernel, for now and for later.
fn kept(name: &str, value: u64) -> String {
    format!("sysctl -w {name}={value}, and the same line in /etc/sysctl.d/tidegate.conf")
}

/// First and last port that connections leave from.
fn outgoing_ports(subject: &DiagnosisSubject) -> Option<(u16, u16)> {
    let range = text(&subject.machine.proc.join("sys/net/ipv4/ip_local_port_range"))?;
    let mut ends = range.split_whitespace().map(str::parse);
    Some((ends.next()?.ok()?, ends.next()?.ok()?))
}

fn outgoing(subject: &DiagnosisSubject) -> Option<MachineFinding> {
    let (first, last) = outgoing_ports(subject)?;
    let count = u64::from(last.saturating_sub(first)) + 1;
    let what = format!("connections leave from {count} ports ({first} to {last})");
    Some(if count >= OUTGOING_MIN {
        MachineFinding::fine(GROUP, what)
    } else {
        MachineFinding::warning(GROUP, what).remedy(
            "sysctl -w net.ipv4.ip_local_port_range='16384 60999', and the same line in \
             /etc/sysctl.d/tidegate.conf",
        )
    })
}

/// Listeners whose port an outgoing connection may have taken when Tidegate starts.
fn listeners_among_outgoing(subject: &DiagnosisSubject) -> Option<MachineFinding> {
    let (first, last) = outgoing_ports(subject)?;
    let reserved = text(&subject.machine.proc.join("sys/net/ipv4/ip_local_reserved_ports"));
    let reserved = reserved.unwrap_or_default();
    let is_reserved = |port: u16| {
        reserved.trim().split(',').any(|part| {
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            let ends = from.parse::<u16>().ok().zip(to.parse::<u16>().ok());
            ends.is_some_and(|(from, to)| (from..=to).contains(&port))
        })
    };
    let listeners = subject.plan.listen_settings();
    let among = |address: &SocketAddr| {
        (first..=last).contains(&address.port()) && !is_reserved(address.port())
    };
    let mut ports: Vec<u16> = listeners
        .iter()
        .map(|(_, listen)| listen.address)
        .filter(among)
        .map(|it| it.port())
        .collect();
    ports.sort_unstable();
    ports.dedup();
    let texts: Vec<String> = ports.iter().map(u16::to_string).collect();
    let told = texts.join(",");
    (!ports.is_empty()).then(|| {
        let what = format!("outgoing connections may take ports that are listened on: {told}");
        MachineFinding::note(GROUP, what)
            .remedy(format!("sysctl -w net.ipv4.ip_local_reserved_ports={told}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::FindingSeverity;
    use crate::surroundings::tests::FakeMachine;

    #[test]
    fn low_limits_are_told_with_what_is_needed() {
        let fake = FakeMachine::new(
            "limits",
            &[
                (
                    "proc/self/limits",
                    "Limit  Soft Limit  Hard Limit  Units\nMax open files            1024                 4096                 files\n",
                ),
                ("proc/sys/net/core/somaxconn", "128\n"),
                ("proc/sys/net/core/rmem_max", "212992\n"),
                ("proc/sys/net/ipv4/ip_local_port_range", "32768\t40000\n"),
                ("proc/sys/net/ipv4/ip_local_reserved_ports", "8080-8081\n"),
            ],
        );
        let subject = fake.subject(
            "dns: { listen: ['udp://127.0.0.1:33053'], tcp_connections: 100 }\n\
             proxy: { listen: ['http://127.0.0.1:3128'], connections: 5000 }\n",
        );
        let found = check(&subject);
        let of = |word: &str| found.iter().find(|it| it.what.contains(word)).unwrap();
        assert_eq!(descriptors_needed(&subject), 2 * 5000 + 100 + DESCRIPTORS_BESIDE);
        assert!(of("1024 files").remedy.as_ref().unwrap().contains("LimitNOFILE=10612"));
        assert_eq!(of("somaxconn").severity, FindingSeverity::Warning);
        assert_eq!(of("rmem_max").severity, FindingSeverity::Note);
        assert_eq!(of("7233 ports").severity, FindingSeverity::Warning);
        assert!(of("listened on").what.ends_with(": 33053"), "{found:?}");
    }
}
