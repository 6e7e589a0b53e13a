//! What configurations of web servers become, asked the same requests as the servers themselves.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tidegate_tests::Scratch;
use tidegate_tests::clients::curl_with_head;
use tidegate_tests::origin::{Origin, Page};
use tidegate_tests::tidegate::{Tidegate, run};
use tidegate_tests::wait::until;

/// Another web server, ended with the test.
struct Peer(Child);

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Peer {
    /// Starts one, and waits until it answers at `address`.
    fn start(command: &mut Command, address: SocketAddr) -> Self {
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let peer = Self(child);
        until("the server to listen", || TcpStream::connect(address).ok());
        peer
    }
}

/// Ports that were free a moment ago.
fn free_ports<const N: usize>() -> [u16; N] {
    let held = [(); N].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    held.map(|it| it.local_addr().unwrap().port())
}

/// One request: method, host, path and more arguments of curl.
type AskedRequest = (&'static str, &'static str, &'static str, &'static [&'static str]);

/// Status, `Location` without a port, and the body where it is no error page.
fn answer(port: u16, (method, host, path, more): AskedRequest) -> (u16, String, String) {
    let url = format!("http://127.0.0.1:{port}{path}");
    let host = format!("Host: {host}");
    let args = [&["--path-as-is", "-X", method, "-H", &host, &url], more].concat();
    let (status, head) = curl_with_head(&args);
    let (head, body) = head.split_once("\r\n\r\n").unwrap_or((&head, ""));
    let place = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("location").then(|| value.trim().to_owned())
    });
    let place = place.unwrap_or_default();
    let place = place.strip_prefix(&format!("http://{}", &host[6..])).unwrap_or(&place);
    let place = place.trim_start_matches(&format!(":{port}")).to_owned();
    let body = if status == 200 { body.to_owned() } else { String::new() };
    (status, place, body)
}

/// The configuration that an import makes of a file; `check` has nothing against it.
fn imported(program: &str, file: &Path, scratch: &Scratch) -> String {
    let output = run(&["import", program, file.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{said}");
    let yaml = String::from_utf8(output.stdout).unwrap();
    let yaml = format!("{yaml}\nadmin: {{ listen: \"127.0.0.1:0\" }}\n");
    let config = scratch.write("imported.yaml", &yaml);
    let state = scratch.path().join("checked");
    let checked =
        run(&["check", "--config", config.to_str().unwrap(), "--state", state.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success(), "{said}\n{yaml}");
    yaml
}

fn origin(name: &'static str) -> Origin {
    let page = || Page::new("text/plain", name);
    let paths = [
        "/",
        "/x",
        "/v1/x",
        "/api/x",
        "/admin/",
        "/admin/x",
        "/other",
        "/app/x",
        "/a.php.x",
        "/POST",
        "/q",
        "/q?a=1",
        "/sub/x.js",
        "/one/x",
    ];
    Origin::start(&paths.map(|path| (path, page())))
}

const NGINX: &str = "
daemon off; pid FOLDER/nginx.pid; error_log FOLDER/error.log;
events { worker_connections 64; }
http {
  access_log off;
  client_body_temp_path FOLDER/t1; proxy_temp_path FOLDER/t2; fastcgi_temp_path FOLDER/t3;
  uwsgi_temp_path FOLDER/t4; scgi_temp_path FOLDER/t5;
  upstream app { least_conn; server ORIGIN1; keepalive 4; }
  map $http_user_agent $is_bot { default 0; ~*evilbot 1; }
  map $http_x_version $chosen { default app; two other; }
  upstream other { server ORIGIN2; }
  geo $near { default 0; 127.0.0.0/8 1; }
  server { listen 127.0.0.1:PORT; server_name old.example *.old.example;
    return 301 http://new.example$request_uri; }
  server { listen 127.0.0.1:PORT default_server; server_name www.example;
    root FOLDER/www; index index.html;
    if ($is_bot) { return 403; }
    location / { try_files $uri $uri/ =404; }
    location = /exact { return 200 'exact'; }
    location /sub/ { add_header X-A b; }
    location ^~ /static/ { root FOLDER/www; }
    location /static/deep/ { return 200 'deep'; }
    location ~ \\.js$ { return 200 'script'; }
    location ~* \\.(txt|md)$ { return 410; }
    location /img/ { alias FOLDER/pictures/; }
    location /api/ { proxy_pass http://app/v1/; }
    location /app/ { proxy_pass http://app; }
    location /one/ { proxy_pass http://$chosen; }
    location /admin/ { deny 127.0.0.2; allow 127.0.0.0/8; deny all; proxy_pass http://app;
      location ~ \\.secret$ { return 401; } }
    location /shut/ { deny all; }
    location /only-get/ { if ($request_method !~ ^(GET|HEAD)$) { return 405; } return 200 'got'; }
    location /q { if ($args ~ \"drop\") { return 403; } proxy_pass http://app; }
    location /other { if ($near = 0) { return 403; } proxy_pass http://other; }
    location ~ /\\.(?!well-known) { deny all; }
    location /spa/ { try_files $uri $uri/ /spa/index.html; }
    location /re { rewrite ^/re/(.*)$ /$1 break; proxy_pass http://app; }
    rewrite ^/moved$ /exact permanent;
    rewrite ^/away(.*)$ http://new.example/ redirect;
    rewrite ^/blog/([a-z]+)\\.html$ /posts/$1 permanent;
    rewrite ^/find/(.*)$ http://new.example/search?q=$1 redirect;
    rewrite ^/plain/(.*)$ /exact/$1? redirect;
    rewrite ^(/tree/.*)$ http://new.example$1 permanent;
    location ~ ^/user/([0-9]+)/(?<page>.*)$ { return 302 /people/$page?id=$1; }
    if ($host ~* ^(.+)\\.test$) { return 307 http://$1.example$request_uri; }
  }
  server { listen 127.0.0.1:PORT; server_name ~^m\\.(?<rest>[a-z.]+)$;
    return 301 http://$rest$request_uri; }
  server { listen 127.0.0.1:PORT; server_name app.example ~^a[0-9]+\\.example$;
    location / { proxy_pass http://other; proxy_set_header Host $host; } }
}
";

/// Requests at nginx, each with what tells ways apart.
const NGINX_REQUESTS: [AskedRequest; 56] = [
    ("GET", "www.example", "/", &[]),
    ("GET", "any.example", "/", &[]),
    ("GET", "old.example", "/a?b=c", &[]),
    ("GET", "x.old.example", "/", &[]),
    ("GET", "www.example", "/page.html", &[]),
    ("GET", "www.example", "/missing", &[]),
    ("GET", "www.example", "/sub", &[]),
    ("GET", "www.example", "/sub/", &[]),
    ("GET", "www.example", "/exact", &[]),
    ("GET", "www.example", "/exact/", &[]),
    ("GET", "www.example", "/static/a.js", &[]),
    ("GET", "www.example", "/static/deep/x", &[]),
    ("GET", "www.example", "/static/deep/x.js", &[]),
    ("GET", "www.example", "/sub/x.js", &[]),
    ("GET", "www.example", "/a.TXT", &[]),
    ("GET", "www.example", "/img/p.html", &[]),
    ("GET", "www.example", "/img/x.js", &[]),
    ("GET", "www.example", "/api/x", &[]),
    ("GET", "www.example", "/app/x", &[]),
    ("GET", "www.example", "/app/x.js", &[]),
    ("GET", "www.example", "/one/x", &[]),
    ("GET", "www.example", "/one/x", &["-H", "X-Version: two"]),
    ("GET", "www.example", "/admin/x", &[]),
    ("GET", "www.example", "/admin/x", &["--interface", "127.0.0.2"]),
    ("GET", "www.example", "/admin/a.secret", &[]),
    ("GET", "www.example", "/admin/a.js", &[]),
    ("GET", "www.example", "/shut/a", &[]),
    ("GET", "www.example", "/shut/a.js", &[]),
    ("GET", "www.example", "/only-get/", &[]),
    ("POST", "www.example", "/only-get/", &[]),
    ("DELETE", "www.example", "/only-get/", &[]),
    ("GET", "www.example", "/q?a=1", &[]),
    ("GET", "www.example", "/q?a=drop", &[]),
    ("GET", "www.example", "/other", &[]),
    ("GET", "www.example", "/.git/config", &[]),
    ("GET", "www.example", "/.well-known/a", &[]),
    ("GET", "www.example", "/spa/any", &[]),
    ("GET", "www.example", "/re/x", &[]),
    ("GET", "www.example", "/moved", &[]),
    ("GET", "www.example", "/away/x", &[]),
    ("GET", "www.example", "/", &["-A", "an EvilBot"]),
    ("GET", "app.example", "/x", &[]),
    ("GET", "a12.example", "/x", &[]),
    ("GET", "b12.example", "/exact", &[]),
    ("GET", "www.example", "/blog/first.html", &[]),
    ("GET", "www.example", "/blog/first.html?a=b", &[]),
    ("GET", "www.example", "/blog/First.html", &[]),
    ("GET", "www.example", "/find/a%20b?x=1", &[]),
    ("GET", "www.example", "/find/a%26b", &[]),
    ("GET", "www.example", "/plain/x?a=b", &[]),
    ("GET", "www.example", "/tree/a/b?c", &[]),
    ("GET", "www.example", "/user/7/list?a=b", &[]),
    ("GET", "www.example", "/user/x/list", &[]),
    ("GET", "a.b.test", "/x?y", &[]),
    ("GET", "m.site.example", "/a%20b?c", &[]),
    ("GET", "m.7.example", "/exact", &[]),
];

#[test]
fn nginxs_servers_and_locations_answer_as_they_did() {
    let (one, two) = (origin("one"), origin("two"));
    let scratch = Scratch::new();
    let folder = scratch.path().display().to_string();
    for (file, text) in [
        ("www/index.html", "home"),
        ("www/page.html", "page"),
        ("www/sub/index.html", "sub"),
        ("www/static/a.js", "static"),
        ("www/spa/index.html", "spa"),
        ("www/.well-known/a", "known"),
        ("pictures/p.html", "picture"),
    ] {
        scratch.write(file, text);
    }
    let [peer_port, port] = free_ports();
    let text = NGINX
        .replace("FOLDER", &folder)
        .replace("ORIGIN1", &one.address.to_string())
        .replace("ORIGIN2", &two.address.to_string());
    let peers = scratch.write("peer.conf", text.replace("PORT", &peer_port.to_string()));
    let ours = scratch.write("ours.conf", text.replace("PORT", &port.to_string()));
    let mut command = Command::new("nginx");
    command.args(["-p", &folder, "-c", peers.to_str().unwrap()]);
    let _peer = Peer::start(&mut command, format!("127.0.0.1:{peer_port}").parse().unwrap());

    let yaml = imported("nginx", &ours, &scratch);
    let _edge = Tidegate::start(&yaml);
    for asked in NGINX_REQUESTS {
        let (theirs, ours) = (answer(peer_port, asked), answer(port, asked));
        assert_eq!(ours, theirs, "{asked:?}\n{yaml}");
    }
}

/// A server beside ours: its configuration, how it is started, and what both are asked.
struct BesidePeer<'b> {
    program: &'static str,
    text: &'static str,
    /// The command that serves a configuration.
    command: &'b dyn Fn(&Path) -> Command,
    requests: &'static [AskedRequest],
    /// Requests that get no answer, there and here.
    unanswered: &'static [AskedRequest],
}

impl BesidePeer<'_> {
    /// Asks both the same.
    fn answers_as_it_did(&self) {
        let (one, two) = (origin("one"), origin("two"));
        let scratch = Scratch::new();
        scratch.write("www/files/a.txt", "file a");
        scratch.write("www/spa.html", "spa");
        let [peer_port, port] = free_ports();
        let text = self
            .text
            .replace("FOLDER", &scratch.path().display().to_string())
            .replace("ORIGIN1", &one.address.to_string())
            .replace("ORIGIN2", &two.address.to_string());
        let peers = scratch.write("peer.conf", text.replace("PORT", &peer_port.to_string()));
        let ours = scratch.write("ours.conf", text.replace("PORT", &port.to_string()));
        let mut command = (self.command)(&peers);
        command.env("HOME", scratch.path()).env("XDG_DATA_HOME", scratch.path());
        let at = format!("127.0.0.1:{peer_port}").parse().unwrap();
        let _peer = Peer::start(&mut command, at);

        let yaml = imported(self.program, &ours, &scratch);
        let _edge = Tidegate::start(&yaml);
        for asked in self.requests {
            let (theirs, ours) = (answer(peer_port, *asked), answer(port, *asked));
            assert_eq!(ours, theirs, "{asked:?}\n{yaml}");
        }
        for asked in self.unanswered {
            assert_eq!(answer(port, *asked).0, 0, "not a byte: {asked:?}\n{yaml}");
        }
    }
}

const HAPROXY: &str = "
defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s
frontend web
  bind 127.0.0.1:PORT
  acl inside src 127.0.0.1
  acl api path_beg /api /v1
  acl is_static path_end .css .js
  acl old hdr(host) -i old.example
  http-request deny if { path_beg /admin } !inside
  http-request deny deny_status 405 if { path /x } !METH_GET
  http-request redirect location http://new.example%[url] code 301 if old
  http-request redirect location http://%[hdr(host),regsub(^www[.],,i)]%[capture.req.uri] code 308 \
    if { hdr_beg(host) -i www. }
  http-request redirect location /new/%[path,regsub(^/old/,)] if { path_beg /old/ }
  http-request redirect location '%[url,regsub(\"^/u/([0-9]+)/\",\"/user/\\1/\")]' code 303 \
    if { path_reg ^/u/[0-9]+/ }
  http-request redirect prefix / code 307 drop-query append-slash if { path /folder }
  http-request redirect prefix http://short.example drop-query if { path_beg /short }
  http-request redirect scheme https if { hdr(host) secure.example }
  http-request return status 200 content-type text/plain string \"pong\" if { path /ping }
  redirect prefix http://moved.example code 302 if { hdr_beg(host) -i moved. }
  http-request silent-drop if { path_beg /shut }
  use_backend api if api !is_static
  use_backend two if { url_param(a) 1 } or { req.hdr(X-Pick) two }
  default_backend one
backend api
  balance leastconn
  http-request replace-path ^/v1/(.*) /api/\\1
  server a ORIGIN2
backend one
  cookie SRV insert
  server a ORIGIN1 cookie a weight 3
backend two
  server a ORIGIN2
";

/// Requests at HAProxy, each with what tells ways apart.
const HAPROXY_REQUESTS: [AskedRequest; 32] = [
    ("GET", "any.example", "/", &[]),
    ("GET", "any.example", "/api/x", &[]),
    ("GET", "any.example", "/v1/x", &[]),
    ("GET", "any.example", "/api/a.css", &[]),
    ("GET", "any.example", "/admin/x", &[]),
    ("GET", "any.example", "/admin/x", &["--interface", "127.0.0.2"]),
    ("GET", "any.example", "/x", &[]),
    ("POST", "any.example", "/x", &[]),
    ("DELETE", "any.example", "/x", &[]),
    ("GET", "old.example", "/a?b", &[]),
    ("GET", "Old.Example", "/a%20b", &[]),
    ("GET", "www.site.example", "/a?b=c", &[]),
    ("GET", "WWW.site.example", "/", &[]),
    ("GET", "wwwsite.example", "/", &[]),
    ("GET", "any.example", "/old/a/b", &[]),
    ("GET", "any.example", "/old/", &[]),
    ("GET", "any.example", "/old", &[]),
    ("GET", "any.example", "/u/12/x?y=z", &[]),
    ("GET", "any.example", "/u/12/x", &[]),
    ("GET", "any.example", "/u/a/x", &[]),
    ("GET", "any.example", "/folder?a=b", &[]),
    ("GET", "any.example", "/folder/", &[]),
    ("GET", "any.example", "/short/a?b=c", &[]),
    ("GET", "secure.example", "/a?b=c", &[]),
    ("GET", "any.example", "/ping", &[]),
    ("GET", "any.example", "/ping/", &[]),
    ("GET", "moved.x", "/p?q", &[]),
    ("GET", "any.example", "/q?a=1", &[]),
    ("GET", "any.example", "/q?a=2", &[]),
    ("GET", "any.example", "/other", &["-H", "X-Pick: two"]),
    ("GET", "any.example", "/other", &["-H", "X-Pick: three"]),
    ("GET", "any.example", "/missing", &[]),
];

#[test]
fn haproxys_frontends_choose_and_refuse_as_they_did() {
    let command = |file: &Path| {
        let mut command = Command::new("haproxy");
        command.arg("-db").arg("-f").arg(file);
        command
    };
    let peer = BesidePeer {
        program: "haproxy",
        text: HAPROXY,
        command: &command,
        requests: &HAPROXY_REQUESTS,
        unanswered: &[("GET", "any.example", "/shut", &[])],
    };
    peer.answers_as_it_did();
}

const CADDY: &str = "
{
  auto_https off
  admin off
}
http://:PORT {
  @post method POST
  @near {
    path /near/*
    not remote_ip 127.0.0.2
  }
  @blog path_regexp blog ^/blog/([0-9]+)/(.*)$
  redir @blog /posts/{re.blog.2}?year={re.blog.1} 301
  redir /old http://new.example{uri} 301
  redir /all/* http://new.example{uri}
  redir /who {scheme}://{host}/me permanent
  redir /labels http://{labels.1}.{labels.0}/
  redir /first/* /second{path}?{query} 308
  respond /hello \"hi\"
  handle_path /short/* {
    redir http://short.example{path} 303
  }
  handle_path /app/* {
    reverse_proxy ORIGIN1
  }
  handle /rep/* {
    uri replace /rep/ /api/
    reverse_proxy ORIGIN1
  }
  handle /x.html {
    uri strip_suffix .html
    reverse_proxy ORIGIN2
  }
  handle /other {
    respond @post 405
    reverse_proxy ORIGIN2
  }
  handle @near {
    respond \"near\"
  }
  handle /files/* {
    root * FOLDER/www
    file_server
  }
  handle /spa* {
    root * FOLDER/www
    try_files {path} /spa.html
    file_server
  }
  handle /secret/* {
    abort
  }
  handle {
    respond \"rest\" 404
  }
}
";

/// Requests at Caddy, each with what tells ways apart.
const CADDY_REQUESTS: [AskedRequest; 29] = [
    ("GET", "any.example", "/", &[]),
    ("GET", "any.example", "/old?a=b", &[]),
    ("GET", "any.example", "/old/x", &[]),
    // A handle of all stands before respond in Caddy's order.
    ("GET", "any.example", "/hello", &[]),
    ("GET", "any.example", "/blog/2020/first", &[]),
    ("GET", "any.example", "/blog/2020/", &[]),
    ("GET", "any.example", "/blog/x/first", &[]),
    ("GET", "any.example", "/all/a?b=c", &[]),
    ("GET", "any.example", "/all", &[]),
    ("GET", "any.example", "/who", &[]),
    ("GET", "www.site.example", "/who?a=b", &[]),
    ("GET", "www.site.example", "/labels", &[]),
    ("GET", "any.example", "/labels", &[]),
    ("GET", "any.example", "/first/a?b=c", &[]),
    ("GET", "any.example", "/short/a/b", &[]),
    ("GET", "any.example", "/short/", &[]),
    ("GET", "any.example", "/app/x", &[]),
    ("GET", "any.example", "/rep/x", &[]),
    ("GET", "any.example", "/x.html", &[]),
    ("GET", "any.example", "/other", &[]),
    ("POST", "any.example", "/other", &[]),
    ("GET", "any.example", "/near/a", &[]),
    ("GET", "any.example", "/near/a", &["--interface", "127.0.0.2"]),
    ("GET", "any.example", "/files/a.txt", &[]),
    ("GET", "any.example", "/files/none", &[]),
    ("POST", "any.example", "/all/x", &[]),
    ("GET", "any.example", "/spa/any", &[]),
    ("GET", "any.example", "/SPA/any", &[]),
    ("GET", "any.example", "/missing", &[]),
];

#[test]
fn caddys_sites_answer_as_they_did() {
    let command = |file: &Path| {
        let mut command = Command::new("caddy");
        command.args(["run", "--adapter", "caddyfile", "--config"]).arg(file);
        command
    };
    let peer = BesidePeer {
        program: "caddy",
        text: CADDY,
        command: &command,
        requests: &CADDY_REQUESTS,
        unanswered: &[
            ("GET", "any.example", "/secret/a", &[]),
            ("GET", "any.example", "/SECRET/a", &[]),
        ],
    };
    peer.answers_as_it_did();
}
