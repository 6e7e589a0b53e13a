//! Configurations of hinsightd, and what they come to.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::{HinsightdDisk, HinsightdFailure, HinsightdImport, import};
use serde_json::json;
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;

/// Files by name.
struct MemoryDisk(BTreeMap<&'static str, &'static str>);

impl HinsightdDisk for MemoryDisk {
    fn read(&self, path: &str) -> io::Result<String> {
        let text = self.0.get(path).map(|it| (*it).to_owned());
        text.ok_or_else(|| io::Error::other("none"))
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let below = self.0.keys().filter_map(|it| it.strip_prefix(path)?.strip_prefix('/'));
        Ok(below.map(str::to_owned).collect())
    }

    fn place(&self, path: &str) -> String {
        format!("/srv/{path}")
    }
}

fn imported(files: &[(&'static str, &'static str)]) -> Result<HinsightdImport, HinsightdFailure> {
    let disk: Rc<dyn HinsightdDisk> = Rc::new(MemoryDisk(files.iter().copied().collect()));
    import("main.lua", &disk, "site.luau")
}

/// A site of files, with a certificate, in several files.
const SITE: [(&str, &str); 4] = [
    (
        "main.lua",
        "index_files = {'start.html'}
         require 'helpers.lua'
         for _, name in ipairs(list_dir1('config')) do
           local why = include('config/' .. name)
           if why then error(why) end
         end",
    ),
    (
        "helpers.lua",
        "function redirect (req, to, status)
           add_header (req, 'Location', to)
           return respond (req, status or 302, nil)
         end
         function exec_never () exec {path='/bin/true', mode='fork'} end",
    ),
    (
        "config/10_hosts.lua",
        "access = create_log ('access.log')
         php = create_fcgi ('tcp://127.0.0.1:9000', 0, 4)
         main = add_vhost {
           host = {'www.example'},
           socket = {
             {bind='localhost', port='8080', sock_type='ipv4'},
             {bind='::1', port=8443, sock_type='ipv6', ssl=true},
           },
           cert = create_cert ('cert.pem', 'key.pem'),
           htdocs = 'htdocs',
           hsts = 600, hsts_flags = 'no_redirect',
         }
         other = add_vhost { host = {'other.example'}, parent = main, htdocs = 'other' }
         set_server_option (other, 'directory_listing', true)",
    ),
    (
        "config/20_functions.lua",
        "local secret = {py=true, rb=true}
         map (main, '*', 99, function (req)
           access ('%s %s\\n', remote_address (req), os.date ('%F %T'))
         end)
         map (main, '*', 0, function (req)
           local path = parse_path (req)
           local dir, name, ext = set_path (req, path, index_files)
           if name == nil then return list_dir (req) end
           if secret[ext] then return respond (req, 403) end
           if ext == 'php' then return fastcgi (req, php) end
           return send_file (req)
         end)",
    ),
];

#[test]
fn vhosts_become_sites_and_functions_a_script() {
    let import = imported(&SITE).unwrap();
    let tls = json!({ "certificate": "/srv/cert.pem", "key": "/srv/key.pem" });
    let hsts = json!({ "max_age": "600s", "subdomains": false, "preload": false });
    let site = json!({
        "root": "/srv/htdocs", "index": ["start.html"], "compress": true, "hsts": hsts,
        "listen": ["http://127.0.0.1:8080", "https://[::1]:8443"], "tls": tls,
        "fastcgi": { "*.php": "tcp://127.0.0.1:9000" }, "forbidden_files": ["*.py", "*.rb"],
        "access_log": "access.log", "script": "site.luau",
    });
    let mut other = site.clone();
    other["root"] = json!("/srv/other");
    other["hosts"] = json!(["other.example"]);
    other["listing"] = json!("on");
    assert_eq!(import.sections, [("web", json!([site, other]))]);
    assert_eq!(import.notes, Vec::<String>::new());
    assert!(import.script.contains("__hinsightd.files[\"config/20_functions.lua\"] = function()"));
    assert!(!import.script.contains("__hinsightd.log_requests()"), "the access log does that");
}

#[test]
fn functions_that_send_requests_on_become_pools() {
    let import = imported(&[(
        "main.lua",
        "main = add_vhost { host = {'www.example'}, htdocs = 'htdocs' }
         local servers, n = {'http://10.0.0.1:81/', 'http://10.0.0.2:81/'}, 0
         map (main, '/app/*', 0, function (req)
           local path, query = parse_path (req)
           n = n % #servers + 1
           return proxy (req, servers[n] .. string.sub (path, 6))
         end)
         map (nil, '*', 0, function (req)
           if parse_headers (req).Authorization == nil then return respond (req, 401) end
         end)
         map (main, '*', 99, function (req) app_state ('reload') end)",
    )]);
    let import = import.unwrap();
    let (name, gateway) = &import.sections[0];
    assert_eq!(*name, "gateway");
    assert_eq!(
        gateway["pools"],
        json!({ "servers1": { "servers": ["http://10.0.0.1:81", "http://10.0.0.2:81"], "balance": "round_robin" } })
    );
    assert_eq!(gateway["listen"], json!(["http://127.0.0.1:8080"]));
    let app = json!({ "path": "/app/*", "pool": "servers1", "script": "site.luau" });
    assert_eq!(gateway["routes"][0], app);
    assert_eq!(gateway["routes"][1]["root"], "/srv/htdocs");
    assert!(import.script.ends_with("__hinsightd.log_requests()\n"));
    assert!(import.notes.iter().any(|it| it.starts_with("app_state does nothing")));
}

#[test]
fn vhosts_with_sockets_of_their_own_have_routes_of_their_own() {
    let import = imported(&[(
        "main.lua",
        "local one = add_vhost { host = {'a.example'}, socket = {{port=81}} }
         local two = add_vhost { host = {'b.example'}, socket = {{port=82}} }
         map (two, '*', 0, function (req) return proxy (req, 'http://10.0.0.1:81/') end)",
    )]);
    let gateway = import.unwrap().sections[0].1.clone();
    assert_eq!(gateway["listen"], json!(["http://0.0.0.0:81", "http://0.0.0.0:82"]));
    let routes = gateway["routes"].as_array().unwrap();
    let at = |route: usize| (&routes[route]["host"], &routes[route]["listen"][0]);
    assert_eq!(at(0), (&json!("b.example"), &json!("http://0.0.0.0:82")));
    assert_eq!(at(routes.len() - 1), (&json!(null), &json!("http://0.0.0.0:81")));
}

#[test]
fn what_cannot_be_read_says_file_and_line() {
    let failed = |text| imported(&[("main.lua", text)]).unwrap_err().to_string();
    assert_eq!(
        failed("\nlocal = 3"),
        "main.lua:2: Expected identifier when parsing variable name, got '='"
    );
    assert_eq!(failed("require 'none.lua'"), "main.lua:1: there is no file none.lua");
    assert_eq!(failed("add_vhost {}\nnobody ()"), "main.lua:2: attempt to call a nil value");
    assert_eq!(failed("x = 1"), "it adds no vhost, so nothing is served");
    assert!(failed("while true do end").contains("the configuration runs for over 5 s"));
    assert!(failed("local t = 'x' while true do t = t .. t end").contains("memory"));
    let unbound = failed("add_vhost { socket = {{bind='www.example', port='80'}} }");
    assert!(unbound.starts_with("a socket is bound to \"www.example\""), "{unbound}");
    let none = imported(&[]).unwrap_err().to_string();
    assert_eq!(none, "main.lua cannot be read");
}
