//! An edge: a request log and its sender.

use fleet_rows::{DatabaseLink, FleetRows, RowFigures, RowSettings, RowWiring};
use ledger::{EventSubject, Ledger, RequestEvent};
use origins::Dialer;
use resolver::{Resolver, ResolverSettings};
use std::time::Duration;
use test_support::{ScratchFolder, open_ledger, until};
use transport::ClientTls;
use vocab::{Action, Caching, Cause, Door, Name, Now, RequestKind, Source};

pub(crate) const DAY_MS: u64 = 86_400_000;

pub(crate) fn now() -> Now {
    transport::clock::now()
}

pub(crate) fn event(name: &str, at: Now) -> RequestEvent {
    RequestEvent {
        at,
        duration_us: 41,
        door: Door::Dns,
        client: "192.168.1.77".parse().unwrap(),
        kind: RequestKind::Lookup(1),
        subject: EventSubject::name(Name::from_lowercase(name).unwrap()),
        action: Action::Pass,
        cause: Cause::NoRule,
        source: Source::Cache,
        caching: Caching::NONE,
        status: 0,
        bytes: 120,
    }
}

/// An edge: a request log and its sender.
pub(crate) struct Edge {
    pub(crate) name: &'static str,
    /// Where the log is.
    pub(crate) folder: ScratchFolder,
    pub(crate) ledger: Ledger,
    pub(crate) settings: RowSettings,
    pub(crate) sender: Option<FleetRows>,
}

impl Edge {
    pub(crate) fn new(name: &'static str, url: String) -> Self {
        let folder = ScratchFolder::new();
        let ledger = open_ledger(folder.path());
        let settings = RowSettings { url, sample: 1, ..RowSettings::default() };
        Self { name, folder, ledger, settings, sender: None }
    }

    pub(crate) fn started(name: &'static str, url: String) -> Self {
        let mut edge = Self::new(name, url);
        edge.start();
        edge
    }

    pub(crate) fn start(&mut self) {
        self.start_trusting(ClientTls::new());
    }

    pub(crate) fn start_trusting(&mut self, tls: ClientTls) {
        let resolver = Resolver::start(&ResolverSettings::default(), tls.clone()).unwrap();
        let wiring = RowWiring {
            edge: self.name.into(),
            version: "1.2.3",
            started_ms: now().unix_ms,
            ledger: self.ledger.clone(),
            dialer: Dialer::new(resolver, tls.clone()),
            tls,
        };
        assert_eq!(self.settings.check(), []);
        self.sender = Some(FleetRows::start(&self.settings, wiring).unwrap());
    }

    pub(crate) fn stop(&mut self) {
        self.sender.take().unwrap().stop(Duration::from_secs(20));
    }

    pub(crate) fn figures(&self) -> RowFigures {
        self.sender.as_ref().unwrap().figures()
    }

    pub(crate) fn record(&self, prefix: &str, count: usize) {
        for number in 0..count {
            self.ledger.record(event(&format!("{prefix}{number}.example"), now()));
        }
        self.ledger.flush();
    }

    /// Waits until the database has taken everything that is in the log.
    pub(crate) fn drain(&self) {
        until("all rows are sent", || {
            let figures = self.figures();
            figures.link == DatabaseLink::Up && figures.waiting == 0
        });
    }
}
