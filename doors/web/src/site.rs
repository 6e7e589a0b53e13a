//! One site, ready to serve: its folder open, its patterns compiled.
//!
//! Made from settings that were checked; it answers nothing itself. Made by `door`, asked by
//! `table`, `look` and `request`.

use crate::auth::SiteAuth;
use crate::compress::SiteCompression;
use crate::errors::ErrorPages;
use crate::fastcgi::FastcgiServers;
use crate::forbidden_files::ForbiddenFiles;
use crate::forwarded;
use crate::handshake::{HandshakeDemand, WebContext};
use crate::host::HostPattern;
use crate::hsts::HstsSettings;
use crate::path::PathTarget;
use crate::programs::SitePrograms;
use crate::root::SiteRoot;
use crate::rules::SiteRules;
use crate::seen_scripts::SeenScripts;
use crate::settings::SiteSettings;
use crate::settings::file_below_root;
use crate::settings::written::{HiddenFiles, ListingMode, SiteSwitch};
use crate::store::{FileStore, FolderWatcher};
use crate::writing::SiteWriting;
use access_log::AccessLog;
use cgi::ClientTrust;
use file_access::beneath::RootError;
use file_access::private_files::PrivateFiles;
use http::HeaderValue;
use http_front::{HookSettings, MessageHooks};
use scripting::{ScriptLog, ScriptPlace};
use std::path::Path;
use std::sync::Arc;
use transport::clock;
use vocab::{Complaint, Listen, Network, Scheme};

/// One site.
pub(crate) struct Site {
    pub(crate) listen: Vec<Listen>,
    pub(crate) hosts: Vec<HostPattern>,
    /// From slash to slash.
    pub(crate) path: Box<str>,
    pub(crate) root: SiteRoot,
    /// Which handshake a request must have come by.
    pub(crate) handshake_demand: HandshakeDemand,
    pub(crate) index: Vec<String>,
    pub(crate) listing: ListingMode,
    pub(crate) fallback: Option<PathTarget>,
    pub(crate) hidden: HiddenFiles,
    pub(crate) forbidden: ForbiddenFiles,
    pub(crate) errors: ErrorPages,
    pub(crate) rules: SiteRules,
    pub(crate) store: FileStore,
    pub(crate) compress: Option<SiteCompression>,
    pub(crate) fastcgi: FastcgiServers,
    pub(crate) seen_scripts: SeenScripts,
    pub(crate) programs: SitePrograms,
    pub(crate) auth: SiteAuth,
    pub(crate) concat: SiteSwitch,
    pub(crate) palimg: SiteSwitch,
    pub(crate) flv: SiteSwitch,
    pub(crate) writing: Option<SiteWriting>,
    /// Asked about requests and answers.
    pub(crate) hooks: Option<MessageHooks>,
    pub(crate) log: Option<Arc<AccessLog>>,
    /// The port of HTTPS that every request in the clear is sent on to.
    redirect: Option<u16>,
    /// Who is believed that a request came by HTTPS.
    trusted_proxies: Vec<Network>,
    /// `Strict-Transport-Security`, where it is wished for.
    pub(crate) hsts: Option<HeaderValue>,
}

/// Surroundings that a site is opened in.
#[derive(Clone, Copy)]
pub(crate) struct SiteContext<'c> {
    /// The folder from which relative paths start.
    pub(crate) base: &'c Path,
    pub(crate) logs: LogOpening,
    /// Files and folders that no site serves.
    pub(crate) private: &'c Arc<PrivateFiles>,
    pub(crate) watcher: &'c Arc<FolderWatcher>,
    /// Takes the lines of scripts; none where nothing is served yet.
    pub(crate) script_log: Option<&'c ScriptLog>,
}

/// Tells whether access logs are opened, which makes files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogOpening {
    Open,
    Leave,
}

impl Site {
    /// Trust in what the client says in fields that proxies write.
    pub(crate) fn trust(&self, context: &WebContext) -> ClientTrust {
        let client = context.client_ip();
        if self.trusted_proxies.iter().any(|network| network.contains(client)) {
            ClientTrust::TrustedProxy
        } else {
            ClientTrust::Stranger
        }
    }

    /// The port of HTTPS that a request is sent on to; `said` is its `X-Forwarded-Proto`.
    pub(crate) fn sends_on(&self, context: &WebContext, said: Option<&[u8]>) -> Option<u16> {
        let is_by_https = context.handshake().is_some()
            || forwarded::is_by_https(&self.trusted_proxies, context.client_ip(), said);
        self.redirect.filter(|_| !is_by_https)
    }

    /// Opens the site with this number; what is wrong is returned, with paths relative to its
    /// entry. `before` is what stood in its place: its script's globals and shared values stay.
    pub(crate) fn open(
        number: usize,
        settings: &SiteSettings,
        context: &SiteContext<'_>,
        before: Option<&Self>,
    ) -> Result<Self, Vec<Complaint>> {
        let &SiteContext { base, logs, private, watcher, .. } = context;
        let mut complaints = settings.check();
        let hosts = settings.hosts.iter().filter_map(|host| HostPattern::parse(host).ok());
        let path = base.join(&settings.root);
        let root = SiteRoot::open(&path, settings.symlinks, private, clock::now())
            .map_err(|why| complaints.push(no_root(&settings.root, &why)));
        let auth = SiteAuth::open(&settings.auth, base).map_err(|wrong| {
            for wrong in wrong.into_iter().map(|it| it.under("auth")) {
                // What is wrong without a look at a file was found above.
                if !complaints.contains(&wrong) {
                    complaints.push(wrong);
                }
            }
        });
        let programs =
            SitePrograms::open(settings, base, private).map_err(|wrong| complaints.extend(wrong));
        let hooks = open_hooks(settings, context, before).unwrap_or_else(|wrong| {
            complaints.push(wrong);
            None
        });
        // A file is made only for a site that will be.
        let is_opened = logs == LogOpening::Open && complaints.is_empty();
        let log = settings.access_log.as_ref().filter(|_| is_opened);
        let log = AccessLog::open_if(log, base).unwrap_or_else(|wrong| {
            complaints.push(wrong);
            None
        });
        let https = settings.listen.iter().find(|listen| listen.scheme == Scheme::Https);
        match (root, auth, programs) {
            (Ok(root), Ok(auth), Ok(programs)) if complaints.is_empty() => Ok(Self {
                listen: settings.listen.iter().map(|listen| listen.0.clone()).collect(),
                hosts: hosts.collect(),
                path: settings.path.as_str().into(),
                writing: SiteWriting::new(settings, &root),
                root,
                handshake_demand: HandshakeDemand::of(number, settings),
                index: settings.index.clone(),
                listing: settings.listing,
                fallback: settings.fallback.as_deref().and_then(file_below_root),
                hidden: settings.hidden,
                forbidden: ForbiddenFiles::new(&settings.forbidden_files),
                errors: ErrorPages::compile(&settings.errors).0,
                rules: SiteRules::compile(settings).0,
                store: FileStore::new(settings.memory.0, Arc::clone(watcher)),
                compress: settings.compress.settings().map(SiteCompression::new),
                fastcgi: FastcgiServers::new(&settings.fastcgi),
                seen_scripts: SeenScripts::new(),
                programs,
                concat: settings.concat,
                palimg: settings.palimg,
                flv: settings.flv,
                auth,
                hooks,
                log,
                redirect: settings
                    .redirect_https
                    .then(|| https.map_or(443, |it| it.address.port())),
                trusted_proxies: settings.trusted_proxies.iter().map(|it| it.0).collect(),
                hsts: settings.hsts.as_ref().map(HstsSettings::value),
            }),
            _ => Err(complaints),
        }
    }
}

fn open_hooks(
    settings: &SiteSettings,
    context: &SiteContext<'_>,
    before: Option<&Site>,
) -> Result<Option<MessageHooks>, Complaint> {
    let unread = scripting::unread_log();
    let log = context.script_log.unwrap_or(&unread);
    let before = before.and_then(|before| before.hooks.as_ref());
    let wanted = HookSettings { script: settings.script.as_ref(), wasm: &settings.wasm };
    MessageHooks::open_at(ScriptPlace::Site, wanted, context.base, log, before)
}

fn no_root(root: &str, why: &RootError) -> Complaint {
    let complaint = Complaint::new("root", format!("{root}: {why}"));
    complaint.remedy(match why {
        RootError::Io(_) => "name a folder that this user may read",
        RootError::Private => "name a folder for the site alone, outside the state folder",
    })
}
