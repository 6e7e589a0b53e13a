//! What another program's configuration becomes, run.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use tidegate_tests::Scratch;
use tidegate_tests::clients::curl;
use tidegate_tests::origin::{Origin, Page};
use tidegate_tests::tidegate::{Tidegate, run};
use tidegate_tests::wait;

#[test]
fn polipos_configuration_becomes_a_proxy_that_forbids_what_it_forbade() {
    let origin = Origin::start(&[
        ("/page", Page::new("text/plain", "the page")),
        ("/ads/page", Page::new("text/plain", "an ad")),
    ]);
    let scratch = Scratch::new();
    let forbidden = scratch.write("forbidden", "# what nobody wants\ncounter.example\n/ads/\n");
    let polipo = scratch.write(
        "config",
        format!("proxyPort = 0\npmmSize = 8192\nforbiddenFile = \"{}\"\n", forbidden.display()),
    );
    let output = run(&["import", "polipo", polipo.to_str().unwrap()]);
    let yaml = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && yaml.contains("line 2, pmmSize:"), "{yaml}");

    let edge = Tidegate::start(&format!("{yaml}\nadmin: {{ listen: \"127.0.0.1:0\" }}\n"));
    let proxy = format!("http://{}", edge.address("proxy", "http"));
    let get = |url: &str| curl(&["--proxy", &proxy, "--noproxy", "", url]).1;
    let at = format!("http://{}", origin.address);
    assert_eq!(get(&format!("{at}/page")), "the page");
    assert_ne!(get(&format!("{at}/ads/page")), "an ad");
    let blocked = edge.told(&["why", "http://www.counter.example/", "--door", "proxy"]);
    assert!(blocked.contains("||counter.example^"), "{blocked}");
    assert_eq!(origin.lines().len(), 1, "what is forbidden is asked of nobody");
}

#[test]
fn what_cannot_be_read_is_named_with_its_line() {
    let scratch = Scratch::new();
    let polipo = scratch.write("config", "proxyPort = 8123\nallowedClients = everybody\n");
    let output = run(&["import", "polipo", polipo.to_str().unwrap()]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        said.contains("config:2:1: allowedClients: \"everybody\" is no network; write"),
        "{said}"
    );
}

/// A configuration of hinsightd in two files: pages, a text, a folder that is sent on.
const HINSIGHTD: &str = "
index_files = {'index.html'}
require 'helpers.lua'
main = add_vhost {
  host = {'www.example'},
  socket = {{bind='localhost', port='0', sock_type='ipv4'}},
  htdocs = htdocs,
}
map (main, '/hello', 0, function (req)
  add_header (req, 'X-Date', os.date ('%F'))
  return respond (req, 200, 'Hello world\\n')
end)
map (main, '/app/*', 0, function (req)
  local path, query = parse_path (req)
  return balanced (req, string.sub (path, 5) .. '?' .. query)
end)
map (main, '*', 0, function (req)
  local path = parse_path (req)
  local dir, name, ext = set_path (req, path, index_files)
  if name == nil then return list_dir (req) end
  if ext == 'py' then return respond (req, 403) end
  if ext == 'css' then set_option (req, 'cache', 604800) end
  if parse_headers (req)['X-Old'] then return redirect (req, '/new', 301) end
  return send_file (req)
end)
";

#[test]
fn hinsightds_configuration_serves_what_it_served() {
    let pages = || Origin::start(&[("/page", Page::new("text/plain", "the page"))]);
    let (one, two) = (pages(), pages());
    let scratch = Scratch::new();
    let htdocs = scratch.write("htdocs/index.html", "home");
    let htdocs = htdocs.parent().unwrap();
    scratch.write("htdocs/site.css", "body {}");
    scratch.write("htdocs/secret.py", "print(1)");
    let helpers = format!(
        "htdocs = '{}'
        local servers, n = {{'http://{}', 'http://{}'}}, 0
        function balanced (req, url)
          n = n % #servers + 1
          return proxy (req, servers[n] .. url)
        end
        function redirect (req, to, status)
          add_header (req, 'Location', to)
          return respond (req, status, nil)
        end",
        htdocs.display(),
        one.address,
        two.address
    );
    scratch.write("helpers.lua", helpers);
    let main = scratch.write("main.lua", HINSIGHTD);
    let script = main.with_file_name("site.luau");
    let (main, script) = (main.to_str().unwrap(), script.to_str().unwrap());
    let output = run(&["import", "hinsightd", main, "--script", script]);
    let yaml = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let edge = Tidegate::start(&format!("{yaml}\nadmin: {{ listen: \"127.0.0.1:0\" }}\n"));
    let at = format!("http://{}", edge.address("gateway", "http"));
    let get = |path: &str, more: &[&str]| {
        curl(&[&["-i", "--compressed", &format!("{at}{path}")], more].concat()).1
    };
    assert!(get("/", &[]).ends_with("home"));
    let hello = get("/hello", &[]);
    assert!(hello.ends_with("Hello world\n") && hello.contains("x-date: 20"), "{hello}");
    assert!(get("/secret.py", &[]).starts_with("HTTP/1.1 403"));
    let css = get("/site.css", &[]);
    assert!(css.contains("cache-control: public, max-age=604800"), "{css}");
    let moved = get("/x", &["-H", "X-Old: 1"]);
    assert!(moved.starts_with("HTTP/1.1 301") && moved.contains("location: /new"), "{moved}");
    for _ in 0..4 {
        let page = get("/app/page?a=b", &[]);
        assert!(page.ends_with("the page"), "{page}");
    }
    assert_eq!((one.lines().len(), two.lines().len()), (2, 2), "each server gets its half");
    assert!(one.lines()[0].contains("/page?a=b"), "{:?}", one.lines());
    // A script that is there is somebody's: it is not written over.
    let again = run(&["import", "hinsightd", main, "--script", script]);
    assert_eq!(again.status.code(), Some(1));
}

#[test]
fn perlbals_services_answer_where_they_did_and_lead_where_they_led() {
    let [one, two] =
        ["one", "two"].map(|body| Origin::start(&[("//a", Page::new("text/plain", body))]));
    let scratch = Scratch::new();
    scratch.write("docs/index.html", "the docs");
    let folder = scratch.path().display().to_string();
    // Ports that were free a moment ago: a service says where it listens.
    let ports = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap());
    let text = format!(
        "LOAD vhosts
CREATE POOL first
  POOL first ADD {one}
CREATE POOL second
  POOL second ADD {two}
CREATE SERVICE p1
  SET listen = {first}
  SET role = reverse_proxy
  SET pool = first
ENABLE p1
CREATE SERVICE p2
  SET role = reverse_proxy
  SET pool = second
CREATE SERVICE docs
  SET role = web_server
  SET docroot = {folder}/docs
CREATE SERVICE ss
  SET listen = {second}
  SET role = selector
  SET plugins = vhosts
  SET connect_ahead = 1
  VHOST docs.example = docs
  VHOST *.app.example = p2
ENABLE ss
",
        one = one.address,
        two = two.address,
        first = ports[0],
        second = ports[1],
    );
    let perlbal = scratch.write("perlbal.conf", text);
    let output = run(&["import", "perlbal", perlbal.to_str().unwrap()]);
    let yaml = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && yaml.contains("line 21: connect_ahead: "), "{yaml}");

    let _edge = Tidegate::start(&format!("{yaml}\nadmin: {{ listen: \"127.0.0.1:0\" }}\n"));
    let get = |port: usize, host: &str, path: &str| {
        let url = format!("http://{}{path}", ports[port]);
        curl(&["--path-as-is", "-H", &format!("Host: {host}"), &url])
    };
    assert_eq!(get(0, "any.example", "//a"), (200, "one".into()));
    assert_eq!(get(1, "x.app.example", "//a"), (200, "two".into()));
    assert_eq!(get(1, "app.example", "//a"), (200, "two".into()));
    assert_eq!(get(1, "docs.example", "/"), (200, "the docs".into()));
    assert_eq!(get(1, "any.example", "//a").0, 404);
}

#[test]
fn perlbals_services_keep_their_names_at_the_console_and_their_word_about_folders() {
    let scratch = Scratch::new();
    scratch.write("www/a.txt", "the file");
    let at = |port: &TcpListener| port.local_addr().unwrap();
    let ports = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let [images, closing, console] = ports.each_ref().map(at);
    drop(ports);
    let folder = scratch.path().join("www");
    let text = format!(
        "CREATE SERVICE images
  SET role = web_server
  SET listen = {images}
  SET docroot = {folder}
  SET persist_client = on
ENABLE images
CREATE POOL a
CREATE SERVICE closing
  SET role = reverse_proxy
  SET listen = {closing}
  SET pool = a
  SET persist_client = off
ENABLE closing
CREATE SERVICE mgmt
  SET role = management
  SET listen = {console}
ENABLE mgmt
",
        folder = folder.display(),
    );
    let perlbal = scratch.write("perlbal.conf", text);
    let output = run(&["import", "perlbal", perlbal.to_str().unwrap()]);
    let yaml = String::from_utf8(output.stdout).unwrap();
    let yaml = yaml.replace("admin:\n", "admin:\n  listen: \"127.0.0.1:0\"\n");
    let _edge = Tidegate::start(&yaml);

    let at = |path: &str| format!("http://{images}{path}");
    assert_eq!(curl(&[&at("/")]), (200, "Directory listing disabled\n".into()));
    assert_eq!(curl(&[&at("/a.txt")]), (200, "the file".into()));
    let told = curl(&["-i", &format!("http://{closing}/")]).1.to_ascii_lowercase();
    assert!(told.contains("connection: close"), "{told}");

    let mut stream = TcpStream::connect(console).unwrap();
    stream.set_read_timeout(Some(wait::DEADLINE)).unwrap();
    stream.write_all(b"show service\nshow service Images\nquit\n").unwrap();
    let mut told = String::new();
    stream.read_to_string(&mut told).unwrap();
    let (all, one) = told.split_once("\r\n.\r\n").unwrap();
    let (first, second) =
        (format!("closing {closing} ENABLED"), format!("images {images} ENABLED"));
    assert!(all.lines().take(2).eq([first, second]), "{told}");
    let listening = format!("     listening: {images}");
    let expected = ["SERVICE images", &listening, "          role: web_server", "."];
    assert!(one.lines().eq(expected), "{told}");
}
