//! The client of a question: who asks, how, and when.
//!
//! It is made once a message by whatever received that, and copied from there.

use policy::Policy;
use std::net::IpAddr;
use std::time::Instant;
use telemetry::QueryTrace;
use transport::neighbours::{self, ArrivedAt};
use vocab::{LinkInfo, Now};

/// The client that asks, its way here, and the moment.
#[derive(Clone, Copy)]
pub(crate) struct DnsCaller<'c> {
    pub(crate) client: IpAddr,
    /// From which port; 0 where a proxy speaks for the client.
    pub(crate) client_port: u16,
    /// What its link tells of it, as far as the policy wants to know.
    pub(crate) link_info: LinkInfo,
    pub(crate) transport: QueryTransport,
    pub(crate) now: Now,
    /// The same moment, finer: how long the request took is counted from here.
    pub(crate) started: Instant,
    /// Which of the plan's entries the listener leads to; 0 is the first.
    pub(crate) entry: u16,
    /// The server name of TLS; empty without.
    pub(crate) server_name: &'c str,
    /// The path of the URL; empty outside HTTPS.
    pub(crate) url_path: &'c str,
    /// The client's identifier in that path; empty where there is none.
    pub(crate) client_id: &'c str,
    /// The draw of whether it is recorded.
    pub(crate) trace: &'c QueryTrace,
}

/// Tells how the question came, which bounds the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueryTransport {
    Udp,
    Tcp,
    Tls,
    Https,
    Quic,
}

impl QueryTransport {
    /// The name in logs.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Udp => "udp",
            Self::Tcp => "tcp",
            Self::Tls => "tls",
            Self::Https => "https",
            Self::Quic => "quic",
        }
    }
}

impl DnsCaller<'_> {
    /// The same with what its link tells of it, where the policy wants to know.
    pub(crate) fn with_link_info(
        mut self,
        policy: &Policy,
        came_to: impl FnOnce() -> Option<ArrivedAt>,
    ) -> Self {
        self.link_info = neighbours::of(policy.link_info_needs(), self.client, came_to, self.now);
        self
    }

    /// A client that asks now, at the plan's first entry.
    pub(crate) fn now(client: IpAddr, transport: QueryTransport) -> Self {
        let (now, started) = (transport::clock::now(), Instant::now());
        Self {
            client,
            client_port: 0,
            link_info: LinkInfo::default(),
            transport,
            now,
            started,
            entry: 0,
            server_name: "",
            url_path: "",
            client_id: "",
            trace: &QueryTrace::Undecided,
        }
    }
}
