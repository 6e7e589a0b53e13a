//! A mosdns or OxiDNS file: run as a DNS door and nothing else.
//!
//! The language is crate `pipeline`'s; here its files are read, its complaints get their lines, and
//! the door's settings are made of it. The same serves `dns.pipeline` of our own files. Called by
//! [`crate::parse`].

use crate::file::ConfigFile;
use crate::yaml::{self, YamlNode};
use door_dns::ForeignConfig;
use mosdns_compat::compile::{self, CompiledPipeline};
use mosdns_compat::language::{self, Dialect, ForeignFiles, PathBase};
use serde_json::{Value as Json, json};
use settings::Text;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use vocab::Complaint;

/// Bytes of one file of rules, at most: ten times the largest known.
const RULES_BYTES_MAX: u64 = 512 << 20;

/// The executor at which questions enter a pipeline of our own file.
const MAIN: &str = "main";

/// Where control and dashboard listen where the file names no address: nothing of the peer's did.
const ADMIN_ANYWHERE: &str = "127.0.0.1:0";

/// The files around the one at `main`.
pub(crate) struct DiskFiles<'p> {
    main: &'p Path,
}

impl<'p> DiskFiles<'p> {
    pub(crate) fn around(main: &'p Path) -> Self {
        Self { main }
    }

    fn folder(&self) -> &Path {
        self.main.parent().unwrap_or(Path::new(""))
    }

    /// The working directory is what both peers look from; a file that is not there may stand
    /// beside the configuration, where its author had it.
    fn found(&self, path: &str) -> PathBuf {
        let beside = self.folder().join(path);
        if !Path::new(path).exists() && beside.exists() { beside } else { path.into() }
    }
}

impl ForeignFiles for DiskFiles<'_> {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        let file = std::fs::File::open(self.found(path))?;
        let expected = file.metadata().map_or(0, |it| it.len().min(RULES_BYTES_MAX));
        // In one piece: growing would take up to three times as much for a while.
        let mut bytes = Vec::with_capacity(expected as usize + 1);
        file.take(RULES_BYTES_MAX + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > RULES_BYTES_MAX {
            return Err(io::Error::other("it is over 512 MiB"));
        }
        Ok(bytes)
    }

    fn is_missing(&self, path: &str) -> bool {
        !self.found(path).exists()
    }

    fn read_document(&self, path: &str, base: PathBase) -> Result<Json, Complaint> {
        let file = match base {
            PathBase::WorkingDirectory => PathBuf::from(path),
            PathBase::MainFile => self.folder().join(path),
        };
        let text = std::fs::read_to_string(file).map_err(|why| {
            Complaint::new("", why.to_string()).remedy("name a file that can be read")
        })?;
        let node = yaml::read(&text).map_err(|wrong| {
            let yaml::TextPosition { line, column, .. } = wrong.position;
            Complaint::new("", format!("line {line}, column {column}: {}", wrong.message))
        })?;
        Ok(node.to_json())
    }

    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }
}

/// True if `node`, of the file at `path`, is a file of one of the peers. `include` is a word of
/// theirs and of ours: beside it something of ours stands, or else what is included says whose it
/// is.
pub(crate) fn is_foreign(node: &YamlNode, path: &Path) -> bool {
    let json = node.to_json();
    let (Some(keys), true) = (json.as_object(), language::is_foreign(&json)) else { return false };
    let has = |names: &[&str]| keys.keys().any(|key| names.contains(&key.as_str()));
    if !keys.contains_key("include") || has(&["plugins", "plugin", "log", "api", "runtime"]) {
        return true;
    }
    let disk = DiskFiles::around(path);
    let included = json["include"].as_array().into_iter().flatten().filter_map(Json::as_str);
    let mut documents = included.filter_map(|file| {
        let beside = disk.read_document(file, PathBase::MainFile);
        beside.or_else(|_| disk.read_document(file, PathBase::WorkingDirectory)).ok()
    });
    keys.len() == 1 && documents.any(|document| document.get("plugins").is_some())
}

/// Returns what a foreign file comes to as one of ours.
pub(crate) fn file(node: &YamlNode, path: &Path) -> Result<ConfigFile, Vec<Complaint>> {
    let disk = DiskFiles::around(path);
    let read = language::read(&node.to_json(), &disk)?;
    let admin = read.api.as_ref().map(|api| api.listen.text.clone());
    let foreign = ForeignConfig::new(compiled(&read, &disk)?)?;
    let dns = door_dns::Settings::of_foreign(foreign);
    let mut file = ConfigFile { dns: Some(dns), ..ConfigFile::default() };
    let listen = admin.unwrap_or_else(|| ADMIN_ANYWHERE.into());
    file.admin.listen = listen.parse().map(Text).map_err(|_| {
        let message = format!("{listen:?} is no address to listen on");
        vec![Complaint::new("api.http", message).remedy("write one as in 127.0.0.1:9053")]
    })?;
    Ok(file)
}

/// The pipeline of our own file's `dns` section, which begins at `main`.
pub(crate) fn own(
    plugins: &[Json],
    known: Option<Dialect>,
    path: &Path,
) -> Result<ForeignConfig, Vec<Complaint>> {
    let disk = DiskFiles::around(path);
    let servers = plugins.iter().enumerate().filter(|(_, plugin)| is_server(plugin));
    let complaints: Vec<_> = servers.map(|(index, _)| server_here(index)).collect();
    if !complaints.is_empty() {
        return Err(complaints);
    }
    // Questions come in at `dns.listen`; a server that is never opened says where they go.
    let mut all = plugins.to_vec();
    let args = json!({ "entry": MAIN, "listen": "127.0.0.1:53" });
    all.push(json!({ "tag": "dns.listen", "type": "udp_server", "args": args }));
    let place = |complaint: Complaint| {
        let rest = complaint.path.strip_prefix("plugins").unwrap_or(&complaint.path);
        if rest.starts_with(&format!(".{}", plugins.len())) {
            return Complaint::new(
                "dns.pipeline",
                "questions enter at \"main\", which is not there",
            )
            .remedy("give the sequence that is to begin the tag main");
        }
        Complaint { path: format!("dns.pipeline{rest}"), ..complaint }
    };
    let placed = |all: Vec<Complaint>| all.into_iter().map(place).collect::<Vec<_>>();
    let read = language::read_as(known, &json!({ "plugins": all }), &disk).map_err(placed)?;
    let compiled = compiled(&read, &disk).map_err(placed)?;
    ForeignConfig::new(compiled).map(ForeignConfig::without_servers).map_err(placed)
}

fn is_server(plugin: &Json) -> bool {
    plugin.get("type").and_then(Json::as_str).is_some_and(|kind| kind.ends_with("_server"))
}

fn server_here(index: usize) -> Complaint {
    Complaint::new(
        format!("dns.pipeline.{index}"),
        "this plugin is a server; write where to listen under dns.listen",
    )
    .remedy("leave it out, and write its address under dns.listen")
}

fn compiled(
    read: &language::ForeignFile,
    disk: &DiskFiles<'_>,
) -> Result<CompiledPipeline, Vec<Complaint>> {
    compile::compile(read, seed(), disk)
}

/// For the hashes of sets, so that nobody can choose names that collide.
fn seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::hash::RandomState::new().build_hasher().finish()
}
