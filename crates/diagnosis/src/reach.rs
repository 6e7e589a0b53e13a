//! Ways out of this machine that some networks close: IPv6, and UDP port 443.

use crate::DiagnosisSubject;
use crate::finding::{CheckGroup, MachineFinding};
use crate::resolv_conf::host;
use std::net::{Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;
use transport::quic_client::{QuicClient, QuicError, QuicProtocol};
use transport::{ClientTls, DialOptions};

/// A documentation address (RFC 3849): nothing is sent to it.
const FAR: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1)), 53);
const HTTP3: QuicProtocol =
    QuicProtocol { alpn: b"h3", cancelled: 0x10c, idle: Duration::from_secs(2) };

/// A way out for packets over IPv6, as the kernel's routes say.
pub(crate) fn ipv6(subject: &DiagnosisSubject) -> Vec<MachineFinding> {
    let group = CheckGroup::Ipv6;
    let route = UdpSocket::bind("[::]:0").and_then(|socket| socket.connect(FAR));
    if route.is_ok() {
        return vec![MachineFinding::fine(group, "there is a way out over IPv6")];
    }
    let listeners = subject.plan.listen_settings();
    let outside = listeners.iter().find(|(_, listen)| {
        let ip = listen.address.ip();
        ip.is_ipv6() && !ip.is_loopback() && !ip.is_unspecified()
    });
    vec![match outside {
        Some((path, listen)) => {
            let what = format!("there is no way out over IPv6, and {path} is {listen}");
            MachineFinding::warning(group, what)
                .remedy("give this machine an address and route of IPv6")
        }
        None => MachineFinding::note(group, "there is no way out over IPv6: IPv4 is used alone"),
    }]
}

/// A try to reach over QUIC a server that is asked over HTTPS anyhow.
pub(crate) async fn quic(subject: Arc<DiagnosisSubject>) -> Vec<MachineFinding> {
    let group = CheckGroup::Quic;
    let settings = subject.plan.file.dns.clone().unwrap_or_default().resolver();
    let upstreams = settings.groups.iter().flat_map(|group| &group.upstreams);
    let mut https =
        upstreams.map(resolver::UpstreamSettings::address).filter(|it| it.starts_with("https://"));
    let Some(host) = https.next().and_then(host) else {
        let what = "UDP port 443 was not tried: no upstream is asked over HTTPS";
        return vec![MachineFinding::note(group, what)];
    };
    let found = tokio::net::lookup_host((host.as_str(), 443)).await.ok();
    let Some(address) = found.and_then(|mut it| it.next()) else {
        return vec![MachineFinding::note(group, format!("UDP port 443 was not tried: no {host}"))];
    };
    let client = QuicClient::new(&ClientTls::new(), &HTTP3, &DialOptions::default());
    let early = transport::quic_client::EarlyData::Refused;
    vec![match client.connect(address, &host, early).await {
        // A refusal has come back too.
        Ok(_) | Err(QuicError::Tls(_)) => MachineFinding::fine(
            group,
            format!("UDP port 443 is open outwards ({host} speaks QUIC)"),
        ),
        Err(why) => {
            let what = format!("no QUIC from {host}: {why}");
            MachineFinding::note(group, what).remedy(
                "nothing needs it; a firewall that drops UDP to port 443 makes HTTP/3 fall back",
            )
        }
    }]
}
