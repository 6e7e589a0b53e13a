//! Which site a request is for: by host, then by path.
//!
//! Compiled once a reload for each listener: exact names by hash, then the longest wildcard, then
//! regular expressions in their order, then the sites without hosts, else the first site. Among the
//! sites of a host the longest path wins. It reads no request. Called by `door` and `request`.

use crate::host::HostPattern;
use crate::site::Site;
use regex::Regex;
use std::collections::HashMap;
use std::sync::Arc;
use vocab::Name;

/// The sites of one listener.
#[derive(Default)]
pub(crate) struct SiteTable {
    exact: HashMap<Box<str>, Group>,
    by_suffix: HashMap<Box<str>, Group>,
    matching: Vec<(Regex, Group)>,
    default: Group,
}

/// The sites of one host, the longest path first.
type Group = Vec<Arc<Site>>;

/// Tells what a path leads to.
pub(crate) enum RoutedSite<'t> {
    /// This site.
    Site(&'t Arc<Site>),
    /// A site's path without its slash: it is at the path with it.
    Slash(&'t Arc<Site>),
    /// No site of this host has the path.
    Nowhere,
}

impl SiteTable {
    /// A table of these sites, in the order of the configuration.
    pub(crate) fn new<'s>(sites: impl Iterator<Item = &'s Arc<Site>>) -> Self {
        let sites: Vec<&Arc<Site>> = sites.collect();
        let mut table = Self::default();
        for site in &sites {
            for host in &site.hosts {
                let group = match host {
                    HostPattern::Exact(name) => {
                        table.exact.entry(name.as_str().into()).or_default()
                    }
                    HostPattern::Subdomains(name) => {
                        table.by_suffix.entry(name.as_str().into()).or_default()
                    }
                    HostPattern::Matching(regex) => table.group_of(regex),
                };
                group.push(Arc::clone(site));
            }
            if site.hosts.is_empty() {
                table.default.push(Arc::clone(site));
            }
        }
        // Nobody takes what is left: the first site does, with those that share a name with it.
        if table.default.is_empty()
            && let Some(first) = sites.first()
        {
            table.default = match first.hosts.first() {
                Some(HostPattern::Exact(name)) => table.exact[name.as_str()].clone(),
                Some(HostPattern::Subdomains(name)) => table.by_suffix[name.as_str()].clone(),
                Some(HostPattern::Matching(regex)) => table.group_of(regex).clone(),
                None => Vec::new(),
            };
        }
        let matching = table.matching.iter_mut().map(|(_, group)| group);
        for group in table.exact.values_mut().chain(table.by_suffix.values_mut()).chain(matching) {
            longest_first(group);
        }
        longest_first(&mut table.default);
        table
    }

    fn group_of(&mut self, regex: &Regex) -> &mut Group {
        let known = self.matching.iter().position(|(it, _)| it.as_str() == regex.as_str());
        let at = known.unwrap_or_else(|| {
            self.matching.push((regex.clone(), Vec::new()));
            self.matching.len() - 1
        });
        &mut self.matching[at].1
    }

    /// The site for a host and a decoded path that begins with a slash.
    pub(crate) fn route(&self, host: Name<'_>, path: &str) -> RoutedSite<'_> {
        let routed = self.group(host).iter().find_map(|site| {
            if path.starts_with(&*site.path) {
                return Some(RoutedSite::Site(site));
            }
            // Before shorter paths: `/docs` belongs to `/docs/`, not to a file of `/`.
            (site.path.strip_suffix('/') == Some(path)).then_some(RoutedSite::Slash(site))
        });
        routed.unwrap_or(RoutedSite::Nowhere)
    }

    fn group(&self, host: Name<'_>) -> &Group {
        if let Some(group) = self.exact.get(host.as_str()) {
            return group;
        }
        if !self.by_suffix.is_empty() {
            let mut parent = host.parent();
            while let Some(name) = parent {
                if let Some(group) = self.by_suffix.get(name.as_str()) {
                    return group;
                }
                parent = name.parent();
            }
        }
        let matching = self.matching.iter().find(|(regex, _)| regex.is_match(host.as_str()));
        matching.map_or(&self.default, |(_, group)| group)
    }
}

/// A site's path as its routing sees it; equal ones stay in the order of the configuration.
fn longest_first(group: &mut Group) {
    group.sort_by_key(|site| std::cmp::Reverse(site.path.len()));
}
