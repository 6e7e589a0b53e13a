//! Listeners of the admin: plain, over TLS, and for scrapers, as the start opens them.

use super::control::ControlHandle;
use super::http::BoundListeners;
use super::{RunningApp, RunningDoors};
use admin::{Admin, AdminToken, TokenError};
use config::Plan;
use http_front::CertificateOpener;
use program_log::{LogPart, part_log};
use state_folder::{ADDRESS_FILE, replace_file};
use std::fmt;
use std::sync::{Arc, PoisonError};
use transport::tls::{Alpn, FilesWatch, HANDSHAKE_DEADLINE};
use transport::{BindError, ConnectionLimits, CoreStuck, Drain, ServerTls};
use vocab::{Complaint, Listen, Scheme};

/// The setting that a certificate is complained about at, within `admin`.
const CERTIFICATE_PATH: &str = "https.certificate";
/// Admin connections at once: people and scripts, not the public.
const ADMIN_CONNECTIONS_MAX: usize = 256;
/// Admin connections of one client at once: a browser opens six, and no client that sends heads
/// without an end may keep the others out.
const ADMIN_CONNECTIONS_PER_CLIENT_MAX: usize = 64;

/// TLS of the admin. Clones share everything.
#[derive(Clone)]
struct AdminTls {
    tls: ServerTls,
    /// Follows the files while this is in use.
    _watch: Option<Arc<FilesWatch>>,
}

/// Why the admin listener does not open.
#[derive(Debug)]
pub(super) enum AdminNotOpen {
    /// The address could not be had.
    Bind(BindError),
    /// The token can neither be read nor made.
    Token(TokenError),
    /// The authorities of `admin.single_sign_on` cannot be had.
    Provider(Complaint),
    /// There is no certificate for `admin.https`.
    Certificate(Complaint),
    /// A core takes no more work.
    Core(CoreStuck),
}

impl RunningApp {
    /// Opens the admin's listeners.
    pub(super) fn open_admin(self: &Arc<Self>) -> Result<(), AdminNotOpen> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let mut settings = running.plan.file.admin.clone();
        let (plain, secured) = (plain_entry(&settings), secured_entry(&settings));
        let https = self.open_https(&running.plan).map_err(AdminNotOpen::Certificate)?;
        let provider = self.sign_on_provider(&running.plan).map_err(AdminNotOpen::Provider)?;
        let bind = |entries: &[Listen]| running.http.bind("admin", entries, &self.cores, &[]);
        let bound = bind(&[plain]).map_err(AdminNotOpen::Bind)?;
        let mut secured = bind(secured.as_slice()).map_err(AdminNotOpen::Bind)?;
        let (token, trouble) =
            AdminToken::open_or_make(self.state.path()).map_err(AdminNotOpen::Token)?;
        if let Some(trouble) = trouble {
            self.note_problem(trouble);
        }
        let metrics_token =
            AdminToken::open_for_metrics(self.state.path()).map_err(AdminNotOpen::Token)?;
        for listener in bound {
            settings.listen.0 = listener.address();
            self.dashboard.store(Some(Arc::new(listener.address())));
            self.publish_address();
            let parts = admin::AdminParts {
                control: Arc::new(ControlHandle(Arc::clone(self))),
                configuration: Arc::new(ControlHandle(Arc::clone(self))),
                first_run: Arc::new(ControlHandle(Arc::clone(self))),
                ledger: self.ledger.clone(),
                token: token.clone(),
                metrics_token: metrics_token.clone(),
                state_dir: self.state.path().into(),
                provider: provider.clone(),
                clock: transport::clock::now,
            };
            let (admin, troubles) = Admin::new(&settings, parts);
            for trouble in troubles {
                self.note_problem(trouble);
            }
            self.open_for_scrapers(&mut running, &admin)?;
            if let Some(https) = &https {
                for listener in secured.drain(..) {
                    let admin = admin.for_https().at_listener(listener.address());
                    self.start_secured(&mut running, listener, admin, https)?;
                }
            }
            // It is opened once.
            let _ = self.admin_door.set(admin.clone());
            let admin = admin.at_listener(listener.address());
            self.start_admin(&mut running, listener, admin).map_err(AdminNotOpen::Core)?;
        }
        drop(running);
        self.open_console(token);
        Ok(())
    }

    /// Serves what an admin answers at a listener.
    pub(super) fn start_admin(
        &self,
        running: &mut RunningDoors,
        listener: BoundListeners,
        admin: Admin,
    ) -> Result<(), CoreStuck> {
        let limits = ConnectionLimits::new(ADMIN_CONNECTIONS_MAX, ADMIN_CONNECTIONS_PER_CLIENT_MAX);
        let serve = serve_admin(admin, self.left.clone());
        running.http.start(listener, &limits, &self.cores, &self.drain, &serve)
    }

    /// TLS of `admin.https`; none where it is not set.
    fn open_https(&self, plan: &Plan) -> Result<Option<AdminTls>, Complaint> {
        let Some(https) = &plan.file.admin.https else { return Ok(None) };
        let mut opener = CertificateOpener::new(plan.base(self.state.path()), Some(&self.signer));
        let identity = match (&https.certificate, &https.key, https.own_certificate()) {
            (Some(chain), Some(key), _) => opener.read(chain, key, CERTIFICATE_PATH)?,
            (_, _, own) => opener.sign(&own.unwrap_or_default(), CERTIFICATE_PATH)?,
        };
        let tell = part_log(LogPart::Program, log::Level::Warn);
        let tls = ServerTls::with_identity(&identity, &[Alpn::Http1]);
        Ok(Some(AdminTls { tls, _watch: opener.watch("admin", &tell).map(Arc::new) }))
    }

    /// Serves what an admin answers at a listener of HTTPS.
    fn start_secured(
        &self,
        running: &mut RunningDoors,
        listener: BoundListeners,
        admin: Admin,
        https: &AdminTls,
    ) -> Result<(), AdminNotOpen> {
        let limits = ConnectionLimits::new(ADMIN_CONNECTIONS_MAX, ADMIN_CONNECTIONS_PER_CLIENT_MAX);
        let serve = serve_secured(admin, self.left.clone(), https.clone());
        running
            .http
            .start(listener, &limits, &self.cores, &self.drain, &serve)
            .map_err(AdminNotOpen::Core)
    }

    /// Says in the state folder where the admin API listens, for commands.
    pub(super) fn publish_address(&self) {
        let Some(address) = self.dashboard.load_full() else { return };
        let file = self.state.path().join(ADDRESS_FILE);
        if let Err(why) = replace_file(&file, address.to_string().as_bytes()) {
            self.note_problem(format!(
                "{}: {why}; ctl does not find this Tidegate",
                file.display()
            ));
        }
    }

    /// Opens `admin.metrics_listen`.
    fn open_for_scrapers(
        &self,
        running: &mut RunningDoors,
        admin: &Admin,
    ) -> Result<(), AdminNotOpen> {
        let Some(address) = running.plan.file.admin.metrics_listen.as_ref() else { return Ok(()) };
        let entry = Listen { scheme: Scheme::Http, address: address.0, path: String::new() };
        let bound =
            running.http.bind("metrics", &[entry], &self.cores, &[]).map_err(AdminNotOpen::Bind)?;
        for listener in bound {
            let admin = admin.for_scrapers();
            self.start_admin(running, listener, admin).map_err(AdminNotOpen::Core)?;
        }
        Ok(())
    }
}

/// The listener of `admin.listen`.
pub(super) fn plain_entry(settings: &admin::Settings) -> Listen {
    Listen { scheme: Scheme::Http, address: settings.listen.0, path: String::new() }
}

/// The listener of `admin.https`, where there is one.
pub(super) fn secured_entry(settings: &admin::Settings) -> Option<Listen> {
    let https = settings.https.as_ref()?;
    Some(Listen { scheme: Scheme::Https, address: https.listen.0, path: String::new() })
}

/// Serves what an admin answers, until another process has taken this one's place: who looks at
/// this one then must look at the next.
fn serve_admin(admin: Admin, left: Drain) -> super::http::Serve {
    Arc::new(move |_, stream, drain| {
        let (admin, left) = (admin.clone(), left.clone());
        Box::pin(async move {
            let stop = std::pin::pin!(ended(&drain, &left));
            let client = stream.peer().ip();
            // How a connection ends is the client's affair.
            drop(admin.serve_connection(stream, client, stop).await);
        })
    })
}

/// The same over TLS. A handshake that fails has asked for nothing and is not told of.
fn serve_secured(admin: Admin, left: Drain, https: AdminTls) -> super::http::Serve {
    Arc::new(move |_, stream, drain| {
        let (admin, left, https) = (admin.clone(), left.clone(), https.clone());
        Box::pin(async move {
            let client = stream.peer().ip();
            let accepted = tokio::select! {
                accepted = https.tls.accept(stream, HANDSHAKE_DEADLINE) => accepted,
                () = ended(&drain, &left) => return,
            };
            let Ok(stream) = accepted else { return };
            let stop = std::pin::pin!(ended(&drain, &left));
            drop(admin.serve_connection(stream, client, stop).await);
        })
    })
}

async fn ended(drain: &Drain, left: &Drain) {
    tokio::select! {
        () = drain.started() => {}
        () = left.started() => {}
    }
}

impl fmt::Display for AdminNotOpen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bind(why) => why.fmt(f),
            Self::Token(why) => why.fmt(f),
            Self::Certificate(why) | Self::Provider(why) => write!(f, "admin.{why}"),
            Self::Core(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for AdminNotOpen {}
