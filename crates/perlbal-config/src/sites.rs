//! Folders: sites of the web door for services that clients reach, routes for those behind a
//! selector.
//!
//! A route serves a folder; what it cannot do (files that are written, several at once, other
//! colours) is a site's that only the gateway reaches.

use crate::emitted::{EmittedConfig, ServiceReach};
use crate::facts::{PutFacts, ServiceFacts};
use crate::routes::RoutePlace;
use serde_json::{Value, json};
use vocab::ByteSize;

impl EmittedConfig {
    /// A site that listens at `listener`.
    pub(crate) fn add_site(&mut self, service: &ServiceFacts, listener: &str) {
        let Some(root) = self.root_of(service, ServiceReach::First) else { return };
        if service.keeps_clients == Some(false) && service.listen.is_some() {
            let why = "connections to a site are kept, as HTTP/1.1 has it";
            self.note(&service.place, format!("{}, persist_client: {why}", service.name));
        }
        let web = &service.web;
        let mut site = json!({ "listen": [listener], "root": root });
        if let Some(index) = &web.index {
            site["index"] = json!(index);
        }
        // Without one, Perlbal says so with 200, which is what looks for a living server may want.
        site["listing"] = json!(if web.has_listing { "on" } else { "notice" });
        if web.has_concat {
            site["concat"] = json!(true);
        }
        if service.has_plugin("palimg") {
            site["palimg"] = json!(true);
        }
        if service.has_plugin("flvstreaming") {
            site["flv"] = json!(true);
        }
        if let Some(PutFacts { size_max, folders, skips_md5 }) = web.put {
            let mut put = json!({ "min_put_directory": folders });
            if skips_md5 {
                put["content_md5"] = json!(false);
            }
            if let Some(most) = size_max.into_iter().chain(service.body_max).min() {
                put["body_max"] = json!(ByteSize(most).to_string());
            }
            site["put"] = put;
        }
        if web.has_delete {
            site["delete"] = json!(true);
        }
        if web.put.is_some() || web.has_delete {
            site["writers"] = json!(["0.0.0.0/0", "::/0"]);
            let why = "everybody who reaches it may write, as before: narrow writers";
            self.note(&service.place, format!("{}: {why}", service.name));
        }
        if let Some((certificate, key)) = &service.tls {
            site["tls"] = json!({ "certificate": certificate, "key": key });
        }
        if let Some(prefix) = leading_folder(service, &root) {
            let mut again = site.clone();
            again["path"] = json!(format!("/{prefix}/"));
            self.sites.push(again);
        }
        self.sites.push(site);
    }

    /// Routes to the folder of a service, or to its site.
    pub(crate) fn folder_routes(
        &mut self,
        service: &ServiceFacts,
        place: &RoutePlace,
        reach: ServiceReach,
    ) -> Vec<Value> {
        let web = &service.web;
        let is_site = web.has_concat
            || web.has_delete
            || web.put.is_some()
            || ["palimg", "flvstreaming"].iter().any(|it| service.has_plugin(it));
        if is_site {
            let (port, is_first) = self.inner_port(service);
            let at = format!("http://127.0.0.1:{port}");
            if is_first {
                self.add_site(service, &at);
                let why = format!("the gateway reaches it at {at}: take a port that is free");
                self.note(&service.place, format!("{}: {why}", service.name));
                let pool = json!({ "servers": [at] });
                self.pools.insert(format!("{}-site", service.name), pool);
            }
            let mut route = place.written();
            route["pool"] = json!(format!("{}-site", service.name));
            route["set_host"] = json!("server");
            return vec![route];
        }
        // A service that only redirects needs no folder.
        let needs = !service.has_plugin("redirect");
        let Some(root) = self.root_of(service, if needs { reach } else { ServiceReach::Again })
        else {
            return Vec::new();
        };
        let mut route = place.written();
        route["root"] = json!(root);
        if let Some(index) = &web.index {
            route["index"] = json!(index);
        }
        if web.has_listing {
            route["listing"] = json!(true);
        }
        let again = leading_folder(service, &root).map(|prefix| {
            let mut again = route.clone();
            again["path"] = json!(format!("/{prefix}/*"));
            again
        });
        again.into_iter().chain([route]).collect()
    }

    fn root_of(&mut self, service: &ServiceFacts, reach: ServiceReach) -> Option<String> {
        let Some(root) = service.web.root.clone() else {
            if reach == ServiceReach::First {
                self.note(&service.place, format!("{}: it has no docroot", service.name));
            }
            return None;
        };
        if reach == ServiceReach::First {
            let why = "files that begin with a dot and sources of scripts are not sent: see hidden \
                       and forbidden_files";
            self.note(&service.place, format!("{}: {why}", service.name));
            if !root.starts_with('/') {
                let why = "a relative path begins at the folder of the new configuration";
                self.note(&service.place, format!("{}, docroot: {why}", service.name));
            }
        }
        Some(root)
    }
}

/// The last part of a root that paths may begin with (the plug-in `AutoRemoveLeadingDir`).
fn leading_folder<'r>(service: &ServiceFacts, root: &'r str) -> Option<&'r str> {
    let last = root.trim_end_matches('/').rsplit('/').next()?;
    let is_plain =
        !last.is_empty() && last.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
    (service.has_plugin("autoremoveleadingdir") && is_plain).then_some(last)
}
