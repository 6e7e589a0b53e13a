//! Needs of a configuration: capabilities, programs, and the files that are read and written.
//!
//! Nothing but the plan is looked at, and nothing is changed.

use admin::{ConfigEdits, ConsolePlace};
use config::Plan;
use fleet_edge::BundlePlace;
use sandbox::{Capability, first_unprivileged_port};
use serde_json::Value;
use std::path::{Path, PathBuf};
use vocab::Scheme;

/// Settings whose text is the path of a certificate, a key or an authority, in whatever section.
const CERTIFICATE_KEYS: [&str; 5] = ["certificate", "cert", "key", "ca", "client_ca"];
/// Settings whose text is the path of something else that a reload reads again.
const FILE_KEYS: [&str; 4] = ["path", "file", "root", "patterns"];

/// Everything that a configuration needs of the system.
#[derive(Debug)]
pub(crate) struct SystemNeeds {
    /// Privileges.
    pub(crate) capabilities: Vec<Capability>,
    /// Programs that are run: effects of the DNS door, CGI programs of the web door, the proxy's
    /// redirector.
    pub(crate) starts_programs: bool,
    /// Places that are written, beside the state folder.
    pub(crate) writable_places: Vec<WritablePlace>,
    /// Certificates, keys and authorities.
    pub(crate) certificates: Vec<PathBuf>,
    /// All files that are read.
    pub(crate) read: Vec<PathBuf>,
}

/// A place that is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WritablePlace {
    /// Everything in a folder.
    Folder(PathBuf),
    /// The folder of a site whose clients write in it. It is the owner's: rights are not changed.
    Site(PathBuf),
    /// A file that is appended to.
    Log(PathBuf),
    /// A file that is replaced by one that is written beside it.
    Replaced(PathBuf),
    /// Such a file, or a socket, whose rights are the owner's affair: they are not changed.
    Kept(PathBuf),
}

impl WritablePlace {
    /// The folder that must be writable.
    pub(crate) fn folder(&self) -> &Path {
        match self {
            Self::Folder(path) | Self::Site(path) => path,
            Self::Log(path) | Self::Replaced(path) | Self::Kept(path) => {
                path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."))
            }
        }
    }
}

impl SystemNeeds {
    /// Needs of a plan.
    pub(crate) fn of(plan: &Plan, state: &Path) -> Self {
        let base = plan.base(state);
        // By the names of settings, so that no door can be forgotten. What is no file does no harm.
        let whole = serde_json::to_value(&plan.file).unwrap_or_default();
        let certificates = paths(&whole, &CERTIFICATE_KEYS, base);
        let mut read = paths(&whole, &FILE_KEYS, base);
        read.extend(certificates.iter().cloned());
        if !plan.is_built_in() {
            read.push(plan.source.clone());
            read.extend(plan.included_files().iter().chain(plan.secret_files()).cloned());
        }
        read.retain(|path| !path.starts_with(state));
        let foreign = plan.file.dns.as_ref().and_then(|dns| dns.foreign.as_ref());
        Self {
            capabilities: capabilities(plan),
            starts_programs: foreign.is_some_and(door_dns::ForeignConfig::starts_programs)
                || plan.file.web.iter().any(|site| !site.cgi.is_empty())
                || plan.file.proxy.as_ref().is_some_and(|proxy| proxy.redirector.is_some()),
            writable_places: writable_places(plan, state),
            certificates,
            read,
        }
    }

    /// The folders that may be written from now on.
    pub(crate) fn folders(&self, state: &Path) -> Vec<PathBuf> {
        let mut all = vec![state.to_path_buf()];
        all.extend(self.writable_places.iter().map(|place| place.folder().to_path_buf()));
        all
    }
}

fn capabilities(plan: &Plan) -> Vec<Capability> {
    let first = first_unprivileged_port();
    let is_privileged = |port| (1..first).contains(&port);
    let binds = plan.listeners().iter().any(|listen| is_privileged(listen.address.port()));
    // What a bundle will listen on is not known yet.
    let binds = binds || plan.file.fleet.as_ref().is_some_and(|it| it.bundles.is_some());
    let foreign = plan.file.dns.as_ref().and_then(|dns| dns.foreign.as_ref());
    let settings = plan.resolver_settings();
    let groups = serde_json::to_value(&settings.groups).unwrap_or_default();
    let marks = foreign.is_some_and(door_dns::ForeignConfig::changes_sets) || has(&groups, "mark");
    let mut all = Vec::new();
    all.extend(binds.then_some(Capability::BindService));
    let takes_others = plan.listeners().iter().any(|listen| listen.scheme == Scheme::Tproxy);
    all.extend((marks || takes_others).then_some(Capability::NetworkAdmin));
    all
}

fn writable_places(plan: &Plan, state: &Path) -> Vec<WritablePlace> {
    let file = &plan.file;
    let base = plan.base(state);
    let mut all = Vec::new();
    let caches = [
        file.proxy.as_ref().and_then(|door| door.cache.as_ref()),
        file.gateway.as_ref().map(|door| &door.cache),
    ];
    let disks = caches.into_iter().flatten().filter_map(|cache| cache.disk.as_ref());
    all.extend(disks.map(|disk| WritablePlace::Folder(state.join(&disk.path))));
    let uploads = file.gateway.as_ref().and_then(|door| door.uploads.disk_folder.as_ref());
    all.extend(uploads.map(|folder| WritablePlace::Folder(state.join(folder))));
    let written = file.web.iter().filter(|site| site.is_written());
    all.extend(written.map(|site| WritablePlace::Site(base.join(&site.root))));
    let logs = file.web.iter().filter_map(|site| site.access_log.as_ref());
    let logs = logs.chain(file.gateway.iter().filter_map(|door| door.access_log.as_ref()));
    let logs = logs.chain(file.proxy.iter().filter_map(|door| door.access_log.as_ref()));
    let logs = logs.filter_map(door_web::AccessLogChoice::file);
    let own = file
        .log
        .file
        .clone()
        .filter(|file| !matches!(file.as_str(), "stderr" | "stdout" | "journald"));
    let queries = file.dns.as_ref().and_then(|dns| dns.query_log.as_ref());
    let queries = queries.and_then(door_dns::QueryLogChoice::file);
    all.extend(logs.chain(queries).chain(own).map(|file| WritablePlace::Log(base.join(file))));
    if file.admin.config_edits == ConfigEdits::On && !plan.is_built_in() {
        // Those that it includes too, behind their links.
        let files =
            plan.files().map(|(path, _)| path.canonicalize().unwrap_or_else(|_| path.into()));
        all.extend(files.map(WritablePlace::Kept));
    }
    // Machines of a fleet tell there how they do; the folder is the publisher's.
    let bundles = file.fleet.as_ref().and_then(|fleet| fleet.bundles.as_ref());
    if let Some(Ok(BundlePlace::Folder(path))) = bundles.map(|it| BundlePlace::parse(it)) {
        all.push(WritablePlace::Site(path.join(fleet_edge::objects::STATUS_FOLDER)));
    }
    let console = file.admin.console.as_ref().and_then(|it| it.settings().listen.parse().ok());
    if let Some(ConsolePlace::Path(path)) = console {
        all.push(WritablePlace::Kept(state.join(path)));
    }
    let foreign = file.dns.as_ref().and_then(|dns| dns.foreign.as_ref());
    if let Some(foreign) = foreign {
        let dumps = foreign.dumps().iter().map(|dump| WritablePlace::Replaced(dump.file.clone()));
        let downloads = foreign.download_folders().map(|dir| WritablePlace::Folder(dir.into()));
        let learned = foreign.learned_files().map(|path| WritablePlace::Log(path.into()));
        all.extend(dumps.chain(downloads).chain(learned));
    }
    all
}

/// Texts under one of the names, as paths from `base`.
fn paths(value: &Value, names: &[&str], base: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for_each_entry(value, &mut |name, value| {
        if let (true, Value::String(text)) = (names.contains(&name), value)
            && !text.is_empty()
        {
            found.push(base.join(text));
        }
    });
    found
}

fn has(value: &Value, name: &str) -> bool {
    let mut found = false;
    for_each_entry(value, &mut |it, value| found |= it == name && !value.is_null());
    found
}

/// Every entry of every mapping in a value.
fn for_each_entry<'v>(value: &'v Value, see: &mut impl FnMut(&'v str, &'v Value)) {
    match value {
        Value::Object(entries) => {
            for (name, value) in entries {
                see(name, value);
                for_each_entry(value, see);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| for_each_entry(value, see)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn needs(yaml: &str) -> SystemNeeds {
        let plan = config::parse(yaml, Path::new("/etc/tidegate/tidegate.yaml")).unwrap();
        SystemNeeds::of(&plan, Path::new("/var/lib/tidegate"))
    }

    #[test]
    fn a_plan_needs_the_privilege_for_its_ports_and_no_other() {
        let yaml = |port| format!("web: [{{ listen: [\"http://127.0.0.1:{port}\"], root: www }}]");
        assert_eq!(needs(&yaml(8000)).capabilities, []);
        assert_eq!(needs(&yaml(0)).capabilities, []);
        assert_eq!(needs(&yaml(80)).capabilities, [Capability::BindService]);
        let marked = "dns: { listen: ['udp://127.0.0.1:0'], upstreams: [{ address: 'udp://192.0.2.1', mark: 7 }] }";
        assert_eq!(needs(marked).capabilities, [Capability::NetworkAdmin]);
        let redirect = "proxy: { listen: ['redirect://127.0.0.1:3129'] }";
        assert_eq!(needs(redirect).capabilities, []);
        let tproxy = "proxy: { listen: ['tproxy://127.0.0.1:3129'] }";
        assert_eq!(needs(tproxy).capabilities, [Capability::NetworkAdmin]);
    }

    #[test]
    fn the_configurations_own_folder_is_written_only_where_commands_may_change_it() {
        let folders = |yaml: &str| needs(yaml).folders(Path::new("/s"));
        assert_eq!(folders("admin: { config_edits: off }"), [Path::new("/s")]);
        let on = "admin: { config_edits: on, console: 'unix:/run/t/console.sock' }";
        assert_eq!(folders(on), ["/s", "/etc/tidegate", "/run/t"].map(PathBuf::from));
    }

    #[test]
    fn what_is_written_and_read_is_found_in_every_section() {
        let needs = needs(
            "proxy: { listen: [\"http://127.0.0.1:0\"], cache: { disk: { path: cache, size: 1GiB } } }\n\
             web: [{ listen: [\"http://127.0.0.1:0\"], root: www, access_log: /var/log/t/a.log,\
             put: true, writers: [127.0.0.1] }]\n\
             dns: { listen: [\"tls://127.0.0.1:0\"], certificate: { cert: a.pem, key: /b.key } }\n",
        );
        assert_eq!(
            needs.folders(Path::new("/var/lib/tidegate")),
            ["/var/lib/tidegate", "/var/lib/tidegate/cache", "/etc/tidegate/www", "/var/log/t"]
                .map(PathBuf::from)
        );
        let certificates = ["/etc/tidegate/a.pem", "/b.key"].map(PathBuf::from);
        assert!(certificates.iter().all(|path| needs.certificates.contains(path)), "{needs:?}");
        for path in ["/etc/tidegate/www", "/etc/tidegate/tidegate.yaml", "/b.key"] {
            assert!(needs.read.contains(&PathBuf::from(path)), "{path}: {:?}", needs.read);
        }
        assert!(!needs.starts_programs);
    }
}
