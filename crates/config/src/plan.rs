//! A checked configuration, ready to build.
//!
//! Each part checks its own section; what concerns two parts (one address claimed twice, a block
//! style that needs a door that does not run) is checked here.

use crate::FileComplaint;
use crate::door_sections::DOOR_SECTIONS;
use crate::edit::SettingPath;
use crate::file::ConfigFile;
use crate::foreign;
use crate::own_certificates;
use crate::shown;
use crate::sources::SourceFiles;
use crate::yaml::YamlNode;
use admin::ConsolePlace;
use fleet_edge::{FleetSettings, RevisionLayers};
use policy::BlockStyle;
use schemars::generate::SchemaSettings;
use serde_json::Value as Json;
use signer::SignedNames;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use vocab::{Complaint, Listen, Scheme};

/// A configuration that nothing is wrong with. Only this crate makes one.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The sections, every one checked.
    pub file: ConfigFile,
    /// The file it came from, `built-in` for the default.
    pub source: PathBuf,
    /// The file as it was read, for places.
    tree: YamlNode,
    /// The text that it was read from.
    text: Arc<str>,
    language: ConfigLanguage,
    /// Files that it was read from.
    sources: SourceFiles,
    /// Files of the fleet's revision that it is made of.
    fleet: Option<RevisionLayers>,
}

/// Language of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigLanguage {
    /// Ours.
    Own,
    /// The one of mosdns and OxiDNS.
    Foreign,
}

impl Plan {
    /// A complaint that only shows when the plan is carried out (a folder that is not there), with
    /// its place in the file.
    pub fn locate(&self, complaint: Complaint) -> FileComplaint {
        self.sources.place(self.tree.locate(&complaint.path), complaint)
    }

    /// Warnings about settings that are valid and still dangerous: doors that strangers can use,
    /// upstreams that are ourselves. Nothing is refused for them.
    pub fn warnings(&self) -> Vec<FileComplaint> {
        let mut warnings: Vec<Complaint> = Vec::new();
        let mut section = |name: &str, found: Vec<Complaint>| {
            warnings.extend(found.into_iter().map(|it| it.under(name)));
        };
        for door in &DOOR_SECTIONS {
            section(door.door.as_str(), (door.warnings)(&self.file));
        }
        section("admin", self.file.admin.warnings());
        section("telemetry", self.file.telemetry.warnings());
        section("policy", interfaces_at_tproxy(&self.file));
        warnings.into_iter().map(|it| self.locate(it)).collect()
    }

    /// The text that it was read from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text as it may be shown: with passwords and tokens hidden.
    pub fn shown_text(&self) -> String {
        shown::text(&self.text)
    }

    /// One setting as it is in force, defaults included and passwords hidden; none where there is
    /// no setting of this name.
    pub fn shown_value(&self, path: &SettingPath) -> Option<Json> {
        let whole = serde_json::to_value(&self.file).ok()?;
        let found = path.json_in(&whole)?;
        Some(self.sources.hide_in(shown::value(found, path.keys())))
    }

    /// The whole of it as it is in force, defaults included and passwords hidden.
    pub fn shown_whole(&self) -> Json {
        let whole = serde_json::to_value(&self.file).unwrap_or(Json::Null);
        self.sources.hide_in(shown::value(&whole, std::iter::empty()))
    }

    /// The language that it is written in.
    pub fn language(&self) -> ConfigLanguage {
        self.language
    }

    /// The plan with what it was read from.
    pub(crate) fn read_from(
        self,
        text: &str,
        language: ConfigLanguage,
        sources: SourceFiles,
    ) -> Self {
        Self { text: text.into(), language, sources, ..self }
    }

    /// The plan with the bundle that is part of it.
    pub(crate) fn with_fleet(self, fleet: Option<&RevisionLayers>) -> Self {
        Self { fleet: fleet.cloned(), ..self }
    }

    /// Files of the fleet's revision that is part of it.
    pub fn fleet_layers(&self) -> Option<&RevisionLayers> {
        self.fleet.as_ref()
    }

    /// Files that it includes.
    pub fn included_files(&self) -> &[PathBuf] {
        self.sources.included()
    }

    /// Every file that it was read from, the one that was named first, each with its text.
    pub fn files(&self) -> impl Iterator<Item = (&Path, &Arc<str>)> {
        std::iter::once((self.source.as_path(), &self.text)).chain(self.sources.included_texts())
    }

    /// Files whose content is a value of it.
    pub fn secret_files(&self) -> &[PathBuf] {
        &self.sources.secret_files
    }

    /// True if this is the embedded default.
    pub fn is_built_in(&self) -> bool {
        self.source == Path::new("built-in")
    }

    /// Files, and folders of lists, that the configuration names, below `base` where their paths
    /// are relative: whatever text in it is the path of a file that exists. Of a text that came
    /// from a file, and of what it includes, the files themselves.
    pub fn named_files(&self, base: &Path) -> Vec<PathBuf> {
        let mut found = self.included_files().to_vec();
        found.extend(self.secret_files().iter().map(|path| base.join(path)));
        self.tree.visit_texts(&mut |key, text| {
            let path = base.join(text);
            let is_list = key == "path" && path.is_dir() && path != base;
            if !text.is_empty() && (path.is_file() || is_list) {
                found.push(path);
            }
        });
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Every listener of every door, the admin's among them.
    pub fn listeners(&self) -> Vec<Listen> {
        listeners(&self.file).into_iter().map(|(_, listen)| listen).collect()
    }

    /// Every listen entry of every door with the path of its setting, the admin's among them.
    pub fn listen_settings(&self) -> Vec<(String, Listen)> {
        listeners(&self.file)
    }

    /// True where the file itself has passwords in it: those of parent proxies, and of SOCKS5
    /// proxies on the way to DNS upstreams.
    pub fn has_passwords(&self) -> bool {
        DOOR_SECTIONS.iter().any(|door| (door.has_passwords)(&self.file))
    }

    /// Settings that the resolver is built from: the DNS door's section, or its defaults when only
    /// other doors resolve names.
    pub fn resolver_settings(&self) -> resolver::ResolverSettings {
        self.file.dns.clone().unwrap_or_default().resolver()
    }

    /// The folder of the fleet's revision, where this is one machine of a fleet.
    pub fn fleet_folder(&self) -> Option<&Path> {
        self.fleet.as_ref().map(|fleet| &*fleet.folder)
    }

    /// The folder that relative paths of the file start from: the file's own, the bundle's where
    /// it is one machine of a fleet, or the state folder for the embedded default.
    pub fn base<'p>(&'p self, state_dir: &'p Path) -> &'p Path {
        if let Some(folder) = self.fleet_folder() {
            return folder;
        }
        if self.is_built_in() {
            return state_dir;
        }
        self.source.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
    }
}

/// The JSON Schema of a configuration file, for editors and for our own check.
pub fn schema() -> &'static Json {
    static SCHEMA: OnceLock<Json> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let generator = SchemaSettings::draft2020_12().into_generator();
        generator.into_root_schema_for::<ConfigFile>().to_value()
    })
}

pub(crate) fn plan(
    mut file: ConfigFile,
    source: &Path,
    tree: &YamlNode,
) -> Result<Plan, Vec<Complaint>> {
    let mut complaints = Vec::new();
    let mut section = |name: &str, found: Vec<Complaint>| {
        let place = |it: Complaint| if name.is_empty() { it } else { it.under(name) };
        complaints.extend(found.into_iter().map(place));
    };
    section("", file.check_top());
    section("policy", file.policy.check());
    if let Some(dns) = &mut file.dns
        && !dns.pipeline.is_empty()
    {
        match foreign::own(&dns.pipeline, dns.pipeline_language.known(), source) {
            Ok(made) => dns.foreign = Some(made),
            Err(found) => section("", found),
        }
    }
    for door in &DOOR_SECTIONS {
        section(door.door.as_str(), (door.check)(&file));
    }
    section("signer", file.signer.check());
    section("admin", file.admin.check());
    section("ledger", file.ledger.check());
    section("devices", file.devices.check());
    section("updates", file.updates.check());
    section("fleet", file.fleet.as_ref().map_or_else(Vec::new, FleetSettings::check));
    section("log", file.log.check());
    section("telemetry", file.telemetry.check());
    complaints.extend(clashing_addresses(&file));
    complaints.extend(pixel_without_door(&file));
    complaints.extend(any_name_without_signer(&file));
    complaints.extend(shared_folder(&file));
    complaints.extend(shared_limits_alone(&file));
    complaints.extend(programs_of_another_user(&file));
    complaints.extend(own_certificates::check(&file));
    if complaints.is_empty() {
        Ok(Plan {
            file,
            source: source.into(),
            tree: tree.clone(),
            text: "".into(),
            language: ConfigLanguage::Own,
            sources: SourceFiles::only(source),
            fleet: None,
        })
    } else {
        Err(complaints)
    }
}

/// Every listen entry of the file with its path.
fn listeners(file: &ConfigFile) -> Vec<(String, Listen)> {
    let mut all: Vec<_> = DOOR_SECTIONS.iter().flat_map(|door| (door.listeners)(file)).collect();
    let admin = Listen { scheme: Scheme::Http, address: file.admin.listen.0, path: String::new() };
    all.push(("admin.listen".into(), admin));
    if let Some(metrics) = &file.admin.metrics_listen {
        let listen = Listen { scheme: Scheme::Http, address: metrics.0, path: String::new() };
        all.push(("admin.metrics_listen".into(), listen));
    }
    if let Some(https) = &file.admin.https {
        let listen = Listen { scheme: Scheme::Https, address: https.listen.0, path: String::new() };
        all.push(("admin.https.listen".into(), listen));
    }
    let console = file.admin.console.as_ref().and_then(|it| it.settings().listen.parse().ok());
    if let Some(ConsolePlace::Loopback(address)) = console {
        let console = Listen { scheme: Scheme::Tcp, address, path: String::new() };
        all.push(("admin.console".into(), console));
    }
    all
}

fn clashing_addresses(file: &ConfigFile) -> Vec<Complaint> {
    let mut taken: HashMap<(bool, SocketAddr), String> = HashMap::new();
    let mut complaints = Vec::new();
    for (path, listen) in listeners(file) {
        if listen.address.port() == 0 {
            continue; // The system picks a free port for each.
        }
        let is_udp = matches!(listen.scheme, Scheme::Udp | Scheme::Quic);
        match taken.get(&(is_udp, listen.address)) {
            Some(other) => complaints.push(
                Complaint::new(&path, format!("{} is already taken by {other}", listen.address))
                    .remedy("give each listener an address or port of its own"),
            ),
            None => {
                taken.insert((is_udp, listen.address), path);
            }
        }
    }
    complaints
}

/// Profiles by interface, where the proxy takes connections of which the interface is not known:
/// their local address is somebody else's.
fn interfaces_at_tproxy(file: &ConfigFile) -> Vec<Complaint> {
    let mut listen = file.proxy.iter().flat_map(|proxy| &proxy.listen);
    let Some(listen) = listen.find(|it| it.0.scheme == Scheme::Tproxy) else { return Vec::new() };
    let by_interface = |text: &String| text.starts_with("interface:");
    let profiles = file.policy.clients.iter().enumerate();
    let found = profiles.filter(|(_, profile)| profile.matches.iter().any(by_interface));
    let warn = |(index, profile): (usize, &policy::ClientSettings)| {
        let message = format!(
            "warning: at {} the interface of a client is not known, so that {} is not told by it",
            listen.0, profile.name
        );
        Complaint::new(format!("clients.{index}.match"), message)
            .remedy("listen at redirect:// instead, or match networks or hardware addresses too")
    };
    found.map(warn).collect()
}

/// A folder of a cache belongs to one of them.
fn shared_folder(file: &ConfigFile) -> Option<Complaint> {
    let proxy = file.proxy.as_ref()?.cache.as_ref()?.disk.as_ref()?;
    let gateway = file.gateway.as_ref()?.cache.disk.as_ref()?;
    let complaint = || {
        Complaint::new("gateway.cache.disk.path", "the cache of the proxy has this folder")
            .remedy("give each cache a folder of its own")
    };
    (proxy.path == gateway.path).then(complaint)
}

/// Names that no rule blocks are certified only where both the door and the signer say so.
fn any_name_without_signer(file: &ConfigFile) -> Option<Complaint> {
    let any_name = file.pixel.as_ref().is_some_and(|pixel| pixel.any_name);
    let has_https = file.pixel.as_ref().is_some_and(door_pixel::Settings::has_https);
    match (any_name, file.signer.names) {
        (true, SignedNames::Blocked) if has_https => {
            let message = "over HTTPS any_name wants a certificate for any name, and the signer \
                           signs for blocked ones";
            Some(Complaint::new("pixel.any_name", message).remedy(
                "write signer: { names: any } if a blocker of your own network, and nobody else, \
                 sends clients here, or leave the https:// listeners out",
            ))
        }
        (false, SignedNames::Any) => {
            let message = "nothing asks for names that are not blocked: pixel.any_name is not set";
            Some(
                Complaint::new("signer.names", message)
                    .remedy("write pixel: { any_name: true }, or leave it out"),
            )
        }
        (true, SignedNames::Any | SignedNames::Blocked) | (false, SignedNames::Blocked) => None,
    }
}

/// Limits that a fleet is to share, where there is none.
fn shared_limits_alone(file: &ConfigFile) -> Vec<Complaint> {
    if file.fleet.as_ref().is_some_and(|fleet| fleet.live.is_some()) {
        return Vec::new();
    }
    let routes = file.gateway.iter().flat_map(|gateway| gateway.routes.iter().enumerate());
    let shared = routes.filter(|(_, it)| it.limit.as_ref().is_some_and(|it| it.shared.is_some()));
    let complaint = |(at, _)| {
        let path = format!("gateway.routes.{at}.limit.shared");
        Complaint::new(path, "no fleet shares its state with this machine")
            .remedy("name its server in fleet.live.url, or leave shared out")
    };
    shared.map(complaint).collect()
}

/// Programs of the fleet, where root starts Tidegate and it becomes another user: that user must
/// not choose what root starts.
fn programs_of_another_user(file: &ConfigFile) -> Option<Complaint> {
    let wants_programs = file.fleet.as_ref().is_some_and(|fleet| fleet.programs);
    let user = file.user.as_ref().filter(|_| wants_programs)?;
    let message = format!(
        "with user: {user}, what is installed runs: a program that becomes another user cannot \
         put a new one in its place"
    );
    let remedy = format!(
        "leave user out and have the service manager start Tidegate as {user}, as the unit of the \
         package does (User=), or leave programs out"
    );
    Some(Complaint::new("fleet.programs", message).remedy(remedy))
}

fn pixel_without_door(file: &ConfigFile) -> Option<Complaint> {
    let dns = file.dns.as_ref()?;
    let all = dns.blocked == BlockStyle::Pixel;
    let some = file.policy.clients.iter().position(|it| it.blocked == Some(BlockStyle::Pixel));
    let path = match some {
        _ if all => "dns.blocked".to_owned(),
        Some(at) => format!("policy.clients.{at}.blocked"),
        None => return None,
    };
    match &file.pixel {
        Some(pixel) if !pixel.addresses.is_empty() => None,
        Some(_) => Some(
            Complaint::new(path, "pixel needs addresses to answer with")
                .remedy("list this machine's address under pixel.addresses"),
        ),
        None => Some(
            Complaint::new(path, "pixel needs the pixel door, which is not configured")
                .remedy("add a pixel section, or use nodata"),
        ),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::path::Path;

    #[test]
    fn a_profile_by_interface_is_warned_of_where_no_interface_is_known() {
        let warnings = |scheme: &str| {
            let yaml = format!(
                "policy: {{ clients: [{{ name: kid, match: [10.0.0.1] }}, \
                 {{ name: guests, match: ['interface:lan1'] }}] }}\n\
                 proxy: {{ listen: ['{scheme}://127.0.0.1:3129'] }}\n"
            );
            let plan = crate::parse(&yaml, Path::new("tidegate.yaml")).unwrap();
            plan.warnings().iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert!(warnings("redirect").is_empty() && warnings("http").is_empty());
        let told = warnings("tproxy");
        let [told] = told.as_slice() else { panic!("{told:?}") };
        assert!(told.contains("policy.clients.1.match") && told.contains("guests"), "{told}");
    }

    #[test]
    fn programs_of_a_fleet_are_refused_where_a_user_is_set() {
        let key = "ed25519:yxgUfdSxIKu59LcSvdf8uuVo93N6nDUWzNTn8jG0n+0=";
        let fleet = format!("fleet: {{ bundles: /b, keys: [{key:?}], programs: true }}\n");
        let read = |yaml: &str| crate::parse(yaml, Path::new("tidegate.yaml"));
        assert!(read(&fleet).is_ok() && read("user: tidegate\nfleet: { name: a }\n").is_ok());
        let complaints = read(&format!("user: tidegate\n{fleet}")).unwrap_err();
        let [complaint] = complaints.as_slice() else { panic!("{complaints:?}") };
        let told = complaint.to_string();
        assert!(told.contains("fleet.programs") && told.contains("leave user out"), "{told}");
    }
}
