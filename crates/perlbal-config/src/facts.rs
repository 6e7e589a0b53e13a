//! Settings of a service, read as what they are.
//!
//! Each is taken once; what nobody takes is told of, with the reason. It writes nothing.

use crate::absent;
use crate::command::HeaderChange;
use crate::model::{AccessRules, PerlbalModel, PerlbalService, ToldValue};
use crate::values;
use crate::{BadCommand, CommandPlace, ImportNote};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use vocab::Complaint;

/// Role of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServiceRole {
    ReverseProxy,
    WebServer,
    Selector,
    Management,
    UploadTracker,
    /// Of a plug-in, or none at all.
    Other,
}

/// A service, and everything that is known of it.
pub(crate) struct ServiceFacts {
    pub(crate) name: String,
    pub(crate) place: CommandPlace,
    pub(crate) role: ServiceRole,
    pub(crate) is_enabled: bool,
    pub(crate) listen: Option<(Ipv4Addr, u16)>,
    /// Certificate and key, where it speaks TLS.
    pub(crate) tls: Option<(String, String)>,
    pub(crate) trusted: Vec<String>,
    /// Seconds.
    pub(crate) idle_timeout: Option<u64>,
    /// True if connections of clients are kept, where it is said.
    pub(crate) keeps_clients: Option<bool>,
    /// Bytes of a request's body at most; 0 for any number.
    pub(crate) body_max: Option<u64>,
    pub(crate) chunked_max: Option<u64>,
    pub(crate) plugins: Vec<String>,
    pub(crate) proxy: ProxyFacts,
    pub(crate) web: WebFacts,
    pub(crate) default_service: Option<ToldValue>,
    /// Expressions for paths and hosts of high priority.
    pub(crate) high: [Option<ToldValue>; 2],
    /// An expression for hosts whose answers never change.
    pub(crate) unchanged: Option<ToldValue>,
    pub(crate) headers: Vec<HeaderChange>,
    pub(crate) vhosts: Vec<(String, ToldValue)>,
    pub(crate) vpaths: Vec<(String, ToldValue)>,
    pub(crate) access: AccessRules,
    pub(crate) access_by: AccessSubject,
    pub(crate) redirects: BTreeMap<String, ToldValue>,
}

/// Address that rules of access are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessSubject {
    /// The other end of the connection.
    Peer,
    /// The client, of whom a trusted proxy tells.
    Client,
}

/// Settings of a `reverse_proxy`.
#[derive(Default)]
pub(crate) struct ProxyFacts {
    pub(crate) pool: Option<ToldValue>,
    /// Idle connections to keep for each server.
    pub(crate) kept: u64,
    pub(crate) uses_max: Option<u64>,
    /// Question to a fresh connection, if there is one.
    pub(crate) verify: Option<String>,
    /// A cookie that gives high priority, and its value.
    pub(crate) high_cookie: Option<String>,
    /// Requests that wait, and percent of turns.
    pub(crate) relief: Option<(u64, u64)>,
    /// Answers to remember, where servers may name files and URLs.
    pub(crate) reproxy: Option<u64>,
    pub(crate) is_blind: bool,
    /// Servers to ask after a failure.
    pub(crate) retries: Option<u64>,
    pub(crate) uploads: UploadFacts,
}

/// Settings of uploads.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct UploadFacts {
    pub(crate) is_buffered: bool,
    /// Bytes to collect before a server is asked.
    pub(crate) memory: Option<u64>,
    pub(crate) folder: Option<String>,
    pub(crate) time: Option<u64>,
    pub(crate) size: Option<u64>,
    pub(crate) rate: Option<u64>,
}

/// Settings of a `web_server`.
#[derive(Default)]
pub(crate) struct WebFacts {
    pub(crate) root: Option<String>,
    pub(crate) index: Option<Vec<String>>,
    pub(crate) has_listing: bool,
    pub(crate) has_concat: bool,
    pub(crate) has_delete: bool,
    pub(crate) put: Option<PutFacts>,
}

/// Settings of `PUT`.
#[derive(Clone, Copy, Default)]
pub(crate) struct PutFacts {
    pub(crate) size_max: Option<u64>,
    pub(crate) folders: u64,
    /// True if a `Content-MD5` is passed over.
    pub(crate) skips_md5: bool,
}

/// Everything of every service, in the order of the file.
pub(crate) fn of(model: &mut PerlbalModel) -> Vec<ServiceFacts> {
    let mut all = Vec::new();
    for name in &model.order {
        let Some(service) = model.services.remove(name) else { continue };
        let mut reader = SettingReader {
            settings: service.settings.clone(),
            notes: &mut model.notes,
            wrong: &mut model.wrong,
        };
        let facts = reader.service(name, service);
        all.push(facts);
    }
    all
}

struct SettingReader<'m> {
    /// Settings that are not taken yet.
    settings: BTreeMap<String, ToldValue>,
    notes: &'m mut Vec<ImportNote>,
    wrong: &'m mut Vec<BadCommand>,
}

impl SettingReader<'_> {
    fn service(&mut self, name: &str, service: PerlbalService) -> ServiceFacts {
        let role = self.text("role").map(|told| told.value.to_ascii_lowercase());
        let role = match role.as_deref() {
            Some("reverse_proxy") => ServiceRole::ReverseProxy,
            Some("web_server") => ServiceRole::WebServer,
            Some("selector") => ServiceRole::Selector,
            Some("management") => ServiceRole::Management,
            Some("upload_tracker") => ServiceRole::UploadTracker,
            Some(_) | None => ServiceRole::Other,
        };
        let plugins = self.text("plugins");
        let plugins = plugins.map_or_else(Vec::new, |told| {
            values::list(&told.value).into_iter().map(str::to_ascii_lowercase).collect()
        });
        let listen = self.read("listen", "write IP:PORT", values::listen);
        let mut facts = ServiceFacts {
            name: name.to_owned(),
            role,
            is_enabled: service.is_enabled,
            listen,
            tls: self.tls(),
            trusted: self.trusted(),
            idle_timeout: None,
            keeps_clients: self.read("persist_client", "write on or off", values::switch),
            body_max: self.number("max_content_length").filter(|it| *it > 0),
            chunked_max: self.size("max_chunked_request_size"),
            plugins,
            proxy: self.proxy(),
            web: self.web(),
            default_service: self.text("default_service"),
            high: ["uri", "host"].map(|it| self.text(&format!("highpri.{it}_pattern"))),
            unchanged: self.text("notmodified.host_pattern"),
            headers: service.headers,
            vhosts: service.vhosts,
            vpaths: service.vpaths,
            access: service.access,
            access_by: if self.switch("accesscontrol.use_observed_ip") {
                AccessSubject::Client
            } else {
                AccessSubject::Peer
            },
            redirects: service.redirects,
            place: service.place,
        };
        let timeouts = ["persist_client_timeout", "persist_client_idle_timeout", "idle_timeout"];
        facts.idle_timeout = timeouts.iter().filter_map(|it| self.number(it)).next_back();
        self.needless();
        self.rest();
        facts
    }

    fn text(&mut self, key: &str) -> Option<ToldValue> {
        self.settings.remove(key)
    }

    fn note(&mut self, place: &CommandPlace, text: String) {
        self.notes.push(ImportNote { place: place.clone(), text });
    }

    /// Returns what `read` makes of a setting; one of which it makes nothing is wrong.
    fn read<T>(
        &mut self,
        key: &str,
        remedy: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let ToldValue { place, value } = self.text(key)?;
        let made = read(&value);
        if made.is_none() {
            let complaint =
                Complaint::new(key, format!("{value:?} is no value for it")).remedy(remedy);
            self.wrong.push(BadCommand { place, complaint });
        }
        made
    }

    fn switch(&mut self, key: &str) -> bool {
        self.read(key, "write on or off", values::switch).unwrap_or_default()
    }

    fn size(&mut self, key: &str) -> Option<u64> {
        self.read(key, "write bytes, or as 100k or 2m", values::size)
    }

    fn number(&mut self, key: &str) -> Option<u64> {
        self.read(key, "write digits alone", values::number)
    }

    fn tls(&mut self) -> Option<(String, String)> {
        let is_on = self.switch("enable_ssl");
        let mut file = |key: &str, usual: &str| {
            self.text(key).map_or_else(|| usual.to_owned(), |told| told.value)
        };
        let certificate = file("ssl_cert_file", "certs/server-cert.pem");
        let key = file("ssl_key_file", "certs/server-key.pem");
        is_on.then_some((certificate, key))
    }

    fn trusted(&mut self) -> Vec<String> {
        let networks = |text: &str| {
            values::list(text).into_iter().map(values::network).collect::<Option<Vec<_>>>()
        };
        let named = self.read("trusted_upstream_proxies", "write networks as 10.0.0.0/8", networks);
        if self.switch("always_trusted") {
            return vec!["0.0.0.0/0".into(), "::/0".into()];
        }
        named.unwrap_or_default().iter().map(ToString::to_string).collect()
    }

    fn proxy(&mut self) -> ProxyFacts {
        let is_persistent = self.switch("persist_backend");
        let kept = self.number("backend_persist_cache").unwrap_or(2);
        let verify = self.text("verify_backend_path");
        let verify = if self.switch("verify_backend") {
            Some(verify.map_or_else(|| "*".to_owned(), |told| told.value))
        } else {
            self.settings.extend(verify.map(|told| ("verify_backend_path".into(), told)));
            None
        };
        let cookie = self.text("high_priority_cookie").map(|told| told.value);
        let high_cookie = cookie.map(|name| match self.text("high_priority_cookie_contents") {
            Some(ToldValue { place, value }) => {
                let text = "high_priority_cookie_contents: the whole value is compared, not a part";
                self.note(&place, text.into());
                format!("cookie:{name}={value}")
            }
            None => format!("cookie:{name}"),
        });
        let relief_size = self.number("queue_relief_size").filter(|it| *it > 0);
        let relief = relief_size
            .map(|size| (size, self.number("queue_relief_chance").unwrap_or_default().min(100)));
        let remembered = self.number("reproxy_cache_maxsize").unwrap_or_default();
        let reproxy = self.switch("enable_reproxy").then_some(remembered);
        let schedule = self.settings.get("error_retry_schedule");
        let retries = schedule.map_or(7, |told| values::list(&told.value).len() as u64);
        ProxyFacts {
            pool: self.text("pool"),
            kept: if is_persistent { kept.max(1) } else { 0 },
            uses_max: self.number("max_backend_uses").filter(|it| *it > 0),
            verify,
            high_cookie,
            relief,
            reproxy,
            is_blind: self.switch("blind_proxy"),
            retries: self.switch("enable_error_retries").then_some(retries + 1),
            uploads: self.uploads(),
        }
    }

    fn uploads(&mut self) -> UploadFacts {
        UploadFacts {
            is_buffered: self.switch("buffer_uploads"),
            memory: self.size("buffer_backend_connect"),
            folder: self.text("buffer_uploads_path").map(|told| told.value),
            time: self.number("buffer_upload_threshold_time"),
            size: self.size("buffer_upload_threshold_size"),
            rate: self.size("buffer_upload_threshold_rate"),
        }
    }

    fn web(&mut self) -> WebFacts {
        let index = self.text("index_files");
        let index = index.map(|told| {
            values::list(&told.value).into_iter().map(str::to_owned).collect::<Vec<_>>()
        });
        let size_max = self.size("max_put_size").filter(|it| *it > 0);
        let folders = self.number("min_put_directory").unwrap_or_default();
        let md5 = self.read("enable_md5", "write on or off", values::switch);
        let skips_md5 = md5 == Some(false);
        WebFacts {
            root: self.text("docroot").map(|told| told.value),
            index,
            has_listing: self.switch("dirindexing"),
            has_concat: self.switch("enable_concatenate_get"),
            has_delete: self.switch("enable_delete"),
            put: self.switch("enable_put").then_some(PutFacts { size_max, folders, skips_md5 }),
        }
    }

    /// Settings that are so here in any case.
    fn needless(&mut self) {
        for key in ["send_backend_port", "send_backend_proto"] {
            self.text(key);
        }
    }

    /// Settings that nobody took.
    fn rest(&mut self) {
        for (key, told) in std::mem::take(&mut self.settings) {
            self.note(&told.place, format!("{key}: {}", absent::setting(&key)));
        }
    }
}
