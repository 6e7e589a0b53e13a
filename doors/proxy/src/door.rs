//! The door itself: what it is made of, and how it is reloaded.
//!
//! `serve` takes its connections. Made by the binary.

use crate::access::FAILED_LOGIN_RATE;
use crate::parts::ProxyParts;
use crate::remove_params::RecentTrims;
use crate::settings::Settings;
use crate::setup::ProxySetup;
use crate::tls;
use crate::transparent::CarriedBeginnings;
use arc_swap::ArcSwap;
use http::Uri;
use http_cache::HttpCache;
use http_front::{DoorLimits, HookSettings, MessageHooks};
use origins::{KnownOrigin, Origin};
use passwords::UserTable;
use rate_limit::ClientBuckets;
use redirector::RedirectorSettings;
use scripting::ScriptPlace;
use std::path::Path;
use std::sync::Arc;
use transport::clock;
use vocab::Complaint;

/// The proxy door.
pub struct ProxyDoor {
    pub(crate) parts: ProxyParts,
    /// Wrong credentials, by client. They outlive a reload.
    pub(crate) failed_logins: ClientBuckets,
    pub(crate) recent_redirects: RecentTrims,
    pub(crate) limits: DoorLimits,
    /// Connections to others that are carried on, by how they begin.
    pub(crate) carried: Arc<CarriedBeginnings>,
    setup: ArcSwap<ProxySetup>,
}

impl ProxyDoor {
    /// A door with settings that [`Settings::check`] finds right. Reads the files that they name;
    /// what is wrong with them is returned, with paths relative to the section.
    pub fn new(settings: Settings, parts: ProxyParts) -> Result<Arc<Self>, Vec<Complaint>> {
        let limits = DoorLimits::new(settings.connection_caps());
        let setup = ArcSwap::from_pointee(ProxySetup::new(settings, &parts, None)?);
        let (guesses, trims) = (ClientBuckets::new(FAILED_LOGIN_RATE), RecentTrims::default());
        Ok(Arc::new(Self {
            parts,
            failed_logins: guesses,
            recent_redirects: trims,
            limits,
            carried: Arc::default(),
            setup,
        }))
    }

    /// Takes new settings, or leaves everything as it was and says why. Opens the disk tier of the
    /// cache. Requests under way keep the old ones; listeners are the caller's.
    pub fn reload(&self, settings: Settings) -> Result<(), Vec<Complaint>> {
        let before = self.setup();
        let setup = ProxySetup::new(settings, &self.parts, Some(&before))?;
        if let Some(cache) = &setup.cache {
            cache.open();
        }
        self.limits.set(setup.settings.connection_caps());
        self.setup.store(Arc::new(setup));
        Ok(())
    }

    /// The cache of what it fetches, where it has one.
    pub fn cache(&self) -> Option<Arc<HttpCache>> {
        self.setup().cache.clone()
    }

    /// The same cache with the times that are set for a URL; that of all others for what is no URL.
    pub fn cache_for(&self, url: &str) -> Option<Arc<HttpCache>> {
        let setup = self.setup();
        let of_url = || {
            let uri = url.parse::<Uri>().ok()?;
            let origin = format!("{}://{}", uri.scheme_str()?, uri.authority()?);
            let origin = origin.parse::<Origin>().ok()?;
            let url = origin.url(uri.path_and_query()?.as_str());
            setup.cache_for(origin.host.to_name().as_name(), &url, clock::now()).cloned()
        };
        of_url().or_else(|| setup.cache.clone())
    }

    /// Returns what this core's connections have taught of origins; an origin may come more than
    /// once.
    pub fn known_origins(&self) -> Vec<KnownOrigin> {
        self.setup().origins.known_origins()
    }

    /// The script and the filters, if it has some.
    pub fn hooks(&self) -> Option<MessageHooks> {
        self.setup().hooks.clone()
    }

    pub(crate) fn setup(&self) -> Arc<ProxySetup> {
        self.setup.load_full()
    }
}

/// Reads every file that the settings name, relative ones from `base`, and says what is wrong with
/// them.
pub fn check_files(settings: &Settings, base: &Path) -> Vec<Complaint> {
    let users = settings.auth.as_ref().filter(|auth| auth.file.is_some()).map(|auth| {
        let opened = UserTable::open(&auth.users, auth.file.as_deref(), base);
        opened.err().unwrap_or_default().into_iter().map(|it| it.under("auth")).collect::<Vec<_>>()
    });
    let redirector = settings.redirector.as_ref().and_then(RedirectorSettings::check_program);
    let redirector = redirector.map(|it| it.under("redirector"));
    let unread = scripting::unread_log();
    let wanted = HookSettings { script: settings.script.as_ref(), wasm: &settings.wasm };
    let hooks = MessageHooks::open_at(ScriptPlace::Proxy, wanted, base, &unread, None).err();
    let others = tls::check_files(settings, base);
    users.into_iter().flatten().chain(others).chain(redirector).chain(hooks).collect()
}
