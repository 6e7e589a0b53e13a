//! Check of the settings of sites: every complaint at once, each with what to write.
//!
//! It opens no file and no folder; that those exist is found when the door is made. Called by
//! `config` through [`check`] and [`SiteSettings::check`], and by the door before it takes
//! settings.

use super::{SiteSettings, caps, tls};
use crate::errors::ErrorPages;
use crate::forbidden_files;
use crate::forwarded;
use crate::host::HostPattern;
use crate::path::{PathForm, PathTarget};
use crate::rules::SiteRules;
use access_log::AccessLogChoice;
use http::header::STRICT_TRANSPORT_SECURITY;
use std::collections::HashSet;
use vocab::{Complaint, Door, Listen, Scheme};
use wasm_filters::WasmFilterSettings;

/// Sites of one door: more are better told apart by folders below one root.
const SITES_MAX: usize = 1024;
/// Hosts of one site.
const HOSTS_MAX: usize = 1024;
/// Index pages of one site: each that is not there costs a look at the folder.
const INDEX_MAX: usize = 16;
/// Bytes of memory for one site: 16 GiB. Beyond, the kernel's own cache does better.
const MEMORY_BYTES_MAX: u64 = 16 << 30;

impl SiteSettings {
    /// Every complaint about this site alone, with paths relative to its entry.
    pub fn check(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        if self.listen.is_empty() {
            complaints.push(
                Complaint::new("listen", "the site has nowhere to listen")
                    .remedy("write listen: [\"http://127.0.0.1:8000\"]"),
            );
        }
        for (index, listen) in self.listen.iter().enumerate() {
            complaints.extend(check_listen(&format!("listen.{index}"), listen));
        }
        complaints.extend(self.check_hosts());
        complaints.extend(self.check_paths());
        complaints.extend(ErrorPages::compile(&self.errors).1);
        complaints.extend(self.check_forbidden());
        complaints.extend(SiteRules::compile(self).1);
        complaints.extend(tls::check(self));
        complaints.extend(forwarded::check(self));
        complaints.extend(caps::check(self));
        if self.memory.bytes() > MEMORY_BYTES_MAX {
            let complaint = Complaint::new("memory", "a site can keep 16 GiB at most");
            complaints.push(complaint.remedy("write memory: 64MiB"));
        }
        complaints.extend(self.check_dynamic());
        complaints
    }

    /// True if clients write files of the site.
    pub fn is_written(&self) -> bool {
        crate::writing::is_written(self)
    }

    fn check_dynamic(&self) -> Vec<Complaint> {
        let under = |name: &'static str| move |it: Complaint| it.under(name);
        let mut complaints: Vec<Complaint> =
            self.compress.check().into_iter().map(under("compress")).collect();
        complaints.extend(crate::fastcgi::check(&self.fastcgi).into_iter().map(under("fastcgi")));
        complaints.extend(crate::programs::check(&self.cgi).into_iter().map(under("cgi")));
        complaints.extend(crate::writing::check(self));
        complaints.extend(crate::auth::check(&self.auth).into_iter().map(under("auth")));
        if let Some(script) = &self.script {
            complaints.extend(script.settings().check().into_iter().map(under("script")));
        }
        complaints.extend(WasmFilterSettings::check_all(&self.wasm));
        complaints.extend(AccessLogChoice::check_if(self.access_log.as_ref()));
        let Some(hsts) = &self.hsts else { return complaints };
        complaints.extend(hsts.check().into_iter().map(under("hsts")));
        if !self.listen.iter().any(|listen| listen.scheme == Scheme::Https) {
            complaints.push(
                Complaint::new("hsts", "a browser believes this only when it comes by HTTPS")
                    .remedy("add an https:// listener, or leave it out"),
            );
        }
        let says_it = |name: &String| name.eq_ignore_ascii_case(STRICT_TRANSPORT_SECURITY.as_str());
        if let Some(at) = self.headers.iter().position(|rule| rule.set.keys().any(says_it)) {
            complaints.push(
                Complaint::new(format!("headers.{at}"), "hsts sets this field already")
                    .remedy("leave one of them out"),
            );
        }
        complaints
    }

    fn check_forbidden(&self) -> Vec<Complaint> {
        let errors = self.errors.iter().map(|(of, file)| (format!("errors.{of}"), file.as_str()));
        let fallback = self.fallback.as_deref().map(|file| ("fallback".to_owned(), file));
        // With programs, which of these files are run is for their patterns to say.
        let is_static = self.fastcgi.is_empty();
        let named: Vec<_> = fallback.into_iter().chain(errors).filter(|_| is_static).collect();
        forbidden_files::check(&self.forbidden_files, &named)
    }

    fn check_hosts(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        if self.hosts.len() > HOSTS_MAX {
            let message = format!("{} hosts are too many: at most {HOSTS_MAX}", self.hosts.len());
            complaints
                .push(Complaint::new("hosts", message).remedy("use *.example or ~expression"));
        }
        for (index, host) in self.hosts.iter().enumerate() {
            if let Err(why) = HostPattern::parse(host) {
                complaints.push(
                    Complaint::new(format!("hosts.{index}"), format!("{host:?}: {why}"))
                        .remedy("write www.example, *.example or ~^www[0-9]+\\.example$"),
                );
            }
        }
        complaints
    }

    fn check_paths(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        if !is_site_path(&self.path) {
            let message = format!("{:?} is no path from slash to slash", self.path);
            complaints.push(Complaint::new("path", message).remedy("write path: /docs/"));
        }
        if self.root.is_empty() {
            complaints.push(
                Complaint::new("root", "the site has no folder to serve")
                    .remedy("write root: /srv/www"),
            );
        } else if self.root.contains('\0') {
            complaints.push(Complaint::new("root", "a path cannot hold a NUL"));
        }
        if self.index.len() > INDEX_MAX {
            let message =
                format!("{} index pages are too many: at most {INDEX_MAX}", self.index.len());
            complaints.push(Complaint::new("index", message));
        }
        for (at, name) in self.index.iter().enumerate() {
            if name.is_empty() || matches!(&**name, "." | "..") || name.contains(['/', '\0']) {
                let complaint =
                    Complaint::new(format!("index.{at}"), format!("{name:?} is no file name"));
                complaints.push(complaint.remedy("write index: [index.html]"));
            }
        }
        if let Some(fallback) = &self.fallback
            && file_below_root(fallback).is_none()
        {
            let message = format!("{fallback:?} is no file below the root");
            complaints
                .push(Complaint::new("fallback", message).remedy("write fallback: /index.html"));
        }
        complaints
    }
}

/// A file as settings name it: from the slash, as it is on disk, not encoded.
pub(crate) fn file_below_root(text: &str) -> Option<PathTarget> {
    let target = PathTarget::parse(&text.replace('%', "%25")).ok()?;
    (target.form() == PathForm::File && target.text() == text).then_some(target)
}

fn is_site_path(path: &str) -> bool {
    let target = PathTarget::parse(&path.replace('%', "%25"));
    target.is_ok_and(|target| target.form() == PathForm::Folder && target.text() == path)
}

fn check_listen(path: &str, listen: &Listen) -> Option<Complaint> {
    let no_path = "a listener has no path: the site's path says where it stands";
    http_front::check_listen(Door::Web, path, listen, no_path)
}

/// Every complaint about the whole `web` list, with paths relative to it: those about each site,
/// and hosts that two sites of one listener claim for one path.
pub fn check(sites: &[SiteSettings]) -> Vec<Complaint> {
    let mut complaints: Vec<Complaint> = Vec::new();
    if sites.len() > SITES_MAX {
        let message = format!("{} sites are too many: at most {SITES_MAX}", sites.len());
        complaints.push(Complaint::new("", message).remedy("put folders below one root"));
    }
    for (index, site) in sites.iter().enumerate() {
        complaints.extend(site.check().into_iter().map(|it| it.under(&index.to_string())));
    }
    complaints.extend(claimed_twice(sites));
    complaints.extend(tls::check_together(sites));
    complaints.extend(caps::check_together(sites));
    complaints
}

/// Hosts that more than one site of the same listener claims for the same path.
pub(crate) fn claimed_twice(sites: &[SiteSettings]) -> Vec<Complaint> {
    let mut claimed = HashSet::new();
    let mut complaints = Vec::new();
    for (index, site) in sites.iter().enumerate() {
        let mut is_claimed = |host: &str| {
            // Every listener is claimed, whether or not one was before.
            let taken = site.listen.iter().filter(|listen| {
                // Two listeners on ports that the system picks are never the same one.
                listen.address.port() != 0
                    && !claimed.insert((listen.address, site.path.clone(), host.to_owned()))
            });
            taken.count() > 0
        };
        for (position, host) in site.hosts.iter().enumerate() {
            let host = host.to_ascii_lowercase();
            if is_claimed(host.strip_suffix('.').unwrap_or(&host)) {
                complaints.push(
                    Complaint::new(
                        format!("{index}.hosts.{position}"),
                        format!("{host} with {} is another site's on this listener", site.path),
                    )
                    .remedy("give each host to one site, or the sites different paths"),
                );
            }
        }
        if site.hosts.is_empty() && is_claimed("") {
            complaints.push(
                Complaint::new(
                    format!("{index}.hosts"),
                    format!("another site without hosts has {} on this listener", site.path),
                )
                .remedy("give the sites hosts, or different paths"),
            );
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fastcgi::FastcgiChoice;
    use crate::hsts::HstsSettings;
    use crate::settings::written::HeaderRule;
    use settings::Text;
    use std::collections::BTreeMap;
    use vocab::ByteSize;

    fn site(listen: &str, hosts: &[&str]) -> SiteSettings {
        SiteSettings {
            listen: vec![Text(listen.parse().unwrap())],
            hosts: hosts.iter().map(|it| (*it).into()).collect(),
            root: "/srv".into(),
            ..SiteSettings::default()
        }
    }

    fn paths(complaints: &[Complaint]) -> Vec<&str> {
        complaints.iter().map(|complaint| complaint.path.as_str()).collect()
    }

    #[test]
    fn what_cannot_work_is_refused_by_name() {
        let set = BTreeMap::from([("Strict-Transport-Security".into(), "max-age=1".into())]);
        let wrong = SiteSettings {
            fastcgi: BTreeMap::from([("*.php".into(), FastcgiChoice::Address("php".into()))]),
            hsts: Some(HstsSettings {
                max_age: Text("1d".parse().unwrap()),
                subdomains: false,
                preload: true,
            }),
            headers: vec![HeaderRule { pattern: "*".into(), set, ..HeaderRule::default() }],
            ..site("http://127.0.0.1:8000", &[])
        };
        assert_eq!(paths(&wrong.check()), ["fastcgi.*.php", "hsts.preload", "hsts", "headers.0"]);
    }

    #[test]
    fn a_site_needs_a_folder_and_a_listener() {
        let nothing = SiteSettings { listen: Vec::new(), ..SiteSettings::default() };
        assert_eq!(paths(&nothing.check()), ["listen", "root"]);
        assert_eq!(paths(&site("udp://127.0.0.1:53", &[]).check()), ["listen.0"]);
        assert_eq!(paths(&site("http://127.0.0.1:80/x", &[]).check()), ["listen.0"]);
        assert_eq!(site("http://127.0.0.1:80", &["a.example"]).check(), []);
    }

    #[test]
    fn every_wrong_word_of_a_site_has_its_own_complaint() {
        let wrong = SiteSettings {
            path: "docs".into(),
            index: vec!["a/b".into(), "index.html".into()],
            fallback: Some("/a/../b".into()),
            errors: BTreeMap::from([("200".into(), "/x.html".into())]),
            memory: Text(ByteSize(1 << 40)),
            ..site("http://127.0.0.1:80", &["a..b", "w*.example", "*.fine.example"])
        };
        let expected =
            ["hosts.0", "hosts.1", "path", "index.0", "fallback", "errors.200", "memory"];
        assert_eq!(paths(&wrong.check()), expected);
        assert!(is_site_path("/") && is_site_path("/a b/%/") && !is_site_path("/a//b/"));
        assert!(file_below_root("/100%.html").is_some() && file_below_root("/a/").is_none());
    }

    #[test]
    fn a_host_and_a_path_belong_to_one_site_of_a_listener() {
        let (here, there) = ("http://127.0.0.1:80", "http://127.0.0.1:81");
        let sites = [site(here, &["a.example"]), site(there, &["a.example"])];
        assert_eq!(check(&sites), []);
        let sites = [site(here, &["a.example"]), site(here, &["b.example", "A.example."])];
        assert_eq!(paths(&check(&sites)), ["1.hosts.1"]);
        let docs = SiteSettings { path: "/docs/".into(), ..site(here, &["a.example"]) };
        assert_eq!(check(&[site(here, &["a.example"]), docs]), []);
        assert_eq!(paths(&check(&[site(here, &[]), site(here, &[])])), ["1.hosts"]);
    }
}
