//! `tidegate ctl cache`: what the HTTP caches have stored, by site and by URL.
//!
//! It shapes what is asked and what is printed; it sends nothing.

use admin_api::{CacheIndex, CachePage, CachedResponse};
use clap::Args;
use http_engine::authority;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use std::fmt::Write as _;
use std::net::Ipv6Addr;

/// Holds what is listed.
#[derive(Clone, Debug, Args)]
pub struct CacheArgs {
    /// A host, or the beginning of URLs with their scheme [default: every site, with counts]
    #[arg(value_name = "SITE-OR-URL")]
    what: Option<String>,
    /// In the cache of this door alone [proxy, gateway; default: both]
    #[arg(long, value_name = "DOOR")]
    door: Option<String>,
    /// Begin behind this site or URL: the last one of the page before
    #[arg(long, value_name = "SITE-OR-URL")]
    after: Option<String>,
    /// Sites or URLs at most, up to 1000
    #[arg(long, value_name = "COUNT", default_value_t = 100,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Returns where it is asked for.
pub(super) fn path(args: &CacheArgs) -> String {
    let what = args.what.as_deref().map(|what| {
        if what.contains("://") { ("prefix", what) } else { ("site", without_port(what)) }
    });
    let others = [("door", args.door.as_deref()), ("after", args.after.as_deref())];
    let others = others.into_iter().filter_map(|(name, value)| Some((name, value?)));
    let mut path = format!("/api/cache?limit={}", args.limit);
    for (name, value) in what.into_iter().chain(others) {
        let _ = write!(path, "&{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC));
    }
    path
}

/// A host without the port that may stand behind it: a site is a host with all its ports.
fn without_port(site: &str) -> &str {
    // Not an address without brackets, nor what only begins a port.
    let is_bare = site.ends_with(':') || site.parse::<Ipv6Addr>().is_ok();
    if is_bare { site } else { authority::host(site) }
}

pub(super) fn print(index: &CacheIndex) {
    index.caches.iter().for_each(print_page);
}

fn print_page(page: &CachePage) {
    println!("{}", page.door);
    if page.sites.is_empty() && page.urls.is_empty() {
        println!("  nothing is stored");
    }
    if !page.sites.is_empty() {
        println!("  {:>9} {:>15} {:>9} {:>15}", "in memory", "bytes", "on disk", "bytes");
    }
    for it in &page.sites {
        let (memory, disk) =
            ((it.memory_objects, it.memory_bytes), (it.disk_objects, it.disk_bytes));
        println!("  {:>9} {:>15} {:>9} {:>15}  {}", memory.0, memory.1, disk.0, disk.1, it.site);
    }
    for it in &page.urls {
        println!("  {}", it.url);
        it.responses.iter().for_each(print_response);
    }
    if page.next_after.is_some() {
        // No command to copy: what stands in a URL is somebody else's.
        println!("  there is more: ask with --door {} --after and the last one above", page.door);
    }
    if !page.complete {
        println!("  the walk through the store took too long: some of it is missing");
    }
}

fn print_response(it: &CachedResponse) {
    let places = [
        (it.memory_bytes, "in memory"),
        (it.front_bytes, "of its front in memory"),
        (it.disk_bytes, "on disk"),
    ];
    let places =
        places.iter().filter_map(|(bytes, place)| Some(format!("{} bytes {place}", (*bytes)?)));
    let places: Vec<String> = places.collect();
    let fresh = match it.fresh_s {
        left @ 1.. => format!("fresh for {left} s"),
        over => format!("stale for {} s", over.unsigned_abs()),
    };
    println!("    {}, {}, {} s old, {fresh}", it.status, places.join(", "), it.age_s);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_may_be_written_with_its_port() {
        for (written, site) in [
            ("a.example", "a.example"),
            ("a.example:8080", "a.example"),
            ("[::1]:80", "[::1]"),
            ("::1", "::1"),
            ("a.example:", "a.example:"),
        ] {
            assert_eq!(without_port(written), site);
        }
    }
}
