//! Settings of the web door: one entry a site in the `web` list of the configuration.
//!
//! Plain data: it opens no folder. `config` reads it, [`SiteSettings::check`] says what is wrong
//! with one site and [`check()`] what is wrong between several.

mod caps;
mod check;
mod tls;
pub(crate) mod written;

pub(crate) use self::caps::caps;
pub use self::check::check;
pub(crate) use self::check::{claimed_twice, file_below_root};
pub use self::tls::TlsSettings;
use self::written::{
    CacheRule, HeaderRule, HiddenFiles, ListingMode, SiteRedirectSettings, SiteSwitch, SymlinkMode,
};
use crate::auth::AuthSettings;
use crate::compress::CompressChoice;
use crate::fastcgi::FastcgiChoice;
use crate::forbidden_files::FORBIDDEN_DEFAULT;
use crate::hsts::HstsSettings;
use crate::programs::CgiChoice;
use crate::writing::PutChoice;
use access_log::AccessLogChoice;
use schemars::JsonSchema;
use scripting::LuauChoice;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use vocab::{ByteSize, Listen, Network, Scheme};
use wasm_filters::WasmFilterSettings;

/// What a site keeps of its small files in memory, where nothing is said: the hot part of most
/// sites.
pub(crate) const MEMORY: ByteSize = ByteSize(64 << 20);

/// One site: a folder, and where it is served.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SiteSettings {
    /// Where to answer: `http://ADDRESS:PORT` or `https://ADDRESS:PORT`. Sites may share a
    /// listener: host and path tell them apart. Default `http://127.0.0.1:8000`.
    pub listen: Vec<Text<Listen>>,
    /// The host names of this site: exact ones, `*.example` for every name below one, or a regular
    /// expression after `~`. A host that no site names gets the sites without hosts, else the first
    /// site of the listener. Default none.
    pub hosts: Vec<String>,
    /// The path of the site, from slash to slash. Among the sites of a host the longest wins; the
    /// root holds what is below it. Default `/`.
    pub path: String,
    /// The folder to serve; a relative path starts from the configuration's folder. No default.
    pub root: String,
    /// The pages to show for a folder; the first that exists. At most 16. Default `[index.html]`.
    pub index: Vec<String>,
    /// Listing of a folder without an index page: `on`; `off` for 404; or `notice` for a page that
    /// says that there is none, with 200, for those who look there whether the server lives.
    /// Default `off`.
    pub listing: ListingMode,
    /// A file that is served, with 200, where nothing is found: `/index.html` for an application of
    /// one page. From the slash, below the root. Default none.
    pub fallback: Option<String>,
    /// Names that begin with a dot: `refuse`, but for `.well-known`, or `serve`. Default `refuse`.
    pub hidden: HiddenFiles,
    /// Files that are never sent, by pattern of path in letters of either case, copies beside them
    /// (`x.php~`) too: as if they were not there. A `fastcgi` server runs its scripts all the same.
    /// At most 256. Default: scripts of servers (`*.php`, `*.phtml`, `*.cgi`, `*.asp`, `*.jsp` and
    /// the like).
    pub forbidden_files: Vec<String>,
    /// Symbolic links: followed `inside` the root, `refuse`, or `follow` anywhere. Default
    /// `inside`.
    pub symlinks: SymlinkMode,
    /// Pages of your own for errors, by status (`"404"`) or class (`"5xx"`): files from the slash,
    /// below the root, up to 256 KiB. Default none.
    pub errors: BTreeMap<String, String>,
    /// Header fields by path; all rules that match apply, first to last. At most 256. Default none.
    pub headers: Vec<HeaderRule>,
    /// `Cache-Control` of files by path; the first rule that matches counts. At most 256. Default
    /// none: browsers ask again, and get 304.
    pub cache_control: Vec<CacheRule>,
    /// Other addresses by path; the first that matches counts, before any file. At most 256.
    /// Default none.
    pub redirects: Vec<SiteRedirectSettings>,
    /// Part of the site's small files (up to 256 KiB each) that is kept in memory; those asked for
    /// most stay. 0 keeps none, 16 GiB is the most. Default 64 MiB.
    pub memory: Text<ByteSize>,
    /// HTTPS: certificates, and which clients are let in.
    pub tls: TlsSettings,
    /// The networks of proxies in front that say who the client is by the PROXY protocol, version 1
    /// or 2. If there are some, every connection must come from them and begin so; any other is
    /// closed. Sites of one listener write the same. Default none: no PROXY header is believed.
    pub proxy_protocol: Vec<Text<Network>>,
    /// Compression: `true`, `false`, or in detail. Default false.
    pub compress: CompressChoice,
    /// `FastCGI` servers by pattern of path: `"*.php": "unix:///run/php/php-fpm.sock"`. Default
    /// none.
    pub fastcgi: BTreeMap<String, FastcgiChoice>,
    /// Folders of CGI programs by pattern of path: `"/cgi-bin/*": /usr/lib/cgi-bin`. Default none.
    pub cgi: BTreeMap<String, CgiChoice>,
    /// Paths that ask for a name and a password. Default none.
    pub auth: Vec<AuthSettings>,
    /// True if `/dir/??a.js,b.js` sends several files of a folder as one: up to 100, of one type,
    /// 8 MiB in all. Default false.
    pub concat: SiteSwitch,
    /// True if the palettes of GIF and PNG images in the folder `palimg` are changed by URL, as
    /// Perlbal's plug-in Palimg does: `/palimg/a.gif/p1ff0000`. Default false.
    pub palimg: SiteSwitch,
    /// True if films (`*.flv`) begin in their middle where a player asks for that:
    /// `/a.flv?start=BYTES` is a header of FLV and the file from that byte on, as nginx's module
    /// `flv` has it. Default false.
    pub flv: SiteSwitch,
    /// Files are written by `PUT`, and by `PATCH` for ranges: `true`, `false`, or in detail. A file
    /// is there whole or not at all. Writes come from `writers`, or with a name that `auth` has
    /// checked at their path. Default false.
    pub put: PutChoice,
    /// True if files are removed by `DELETE`. Default false.
    pub delete: bool,
    /// True for all of `WebDAV`, as file managers speak it: `PUT`, `PATCH` and `DELETE`, of folders
    /// too, `MKCOL`, `COPY`, `MOVE`, `PROPFIND` and locks. Default false.
    pub webdav: bool,
    /// Networks of clients that write without a name. At most 64. Default none.
    pub writers: Vec<Text<Network>>,
    /// A script in Luau that looks at requests and answers of the site. Default none.
    pub script: Option<LuauChoice>,
    /// Filters in WebAssembly by proxy-wasm, in their order; builds with the feature `wasm` alone
    /// have them. At most 16. Default none.
    pub wasm: Vec<WasmFilterSettings>,
    /// An access log. Default none: the ledger has every request anyway.
    pub access_log: Option<AccessLogChoice>,
    /// True if every request without TLS is sent on to `https://` (308). Default false.
    pub redirect_https: bool,
    /// Networks of proxies in front. A request from there that says `X-Forwarded-Proto: https` is
    /// not redirected by `redirect_https`, and scripts get its fields about client, user and URL
    /// (`X-Forwarded-For`, `Remote-User`, `X-Original-URL` and others like them). At most 64.
    /// Default none: these fields are not believed.
    pub trusted_proxies: Vec<Text<Network>>,
    /// Number of connections the door may have open at once, all sites and clients together; one
    /// over it is closed at once. From 1 to 1000000. A connection comes before any site is known:
    /// sites that say this say the same. Default 10000.
    pub connections: Option<u32>,
    /// Connections that one client may hold, in the same way. From 1 to 1000000. Default 2048.
    pub connections_per_client: Option<u32>,
    /// HSTS, said over TLS only. Needs an `https://` listener. Default none.
    pub hsts: Option<HstsSettings>,
}

impl Default for SiteSettings {
    fn default() -> Self {
        let address = SocketAddr::from(([127, 0, 0, 1], 8000));
        Self {
            listen: vec![Text(Listen { scheme: Scheme::Http, address, path: String::new() })],
            hosts: Vec::new(),
            path: "/".into(),
            root: String::new(),
            index: vec!["index.html".into()],
            listing: ListingMode::Off,
            fallback: None,
            hidden: HiddenFiles::Refuse,
            forbidden_files: FORBIDDEN_DEFAULT.map(str::to_owned).to_vec(),
            symlinks: SymlinkMode::Inside,
            errors: BTreeMap::new(),
            headers: Vec::new(),
            cache_control: Vec::new(),
            redirects: Vec::new(),
            memory: Text(MEMORY),
            tls: TlsSettings::default(),
            proxy_protocol: Vec::new(),
            compress: CompressChoice::default(),
            fastcgi: BTreeMap::new(),
            cgi: BTreeMap::new(),
            auth: Vec::new(),
            concat: SiteSwitch::Off,
            palimg: SiteSwitch::Off,
            flv: SiteSwitch::Off,
            put: PutChoice::default(),
            delete: false,
            webdav: false,
            writers: Vec::new(),
            script: None,
            wasm: Vec::new(),
            access_log: None,
            redirect_https: false,
            trusted_proxies: Vec::new(),
            connections: None,
            connections_per_client: None,
            hsts: None,
        }
    }
}
