//! HTTPS with real clients: curl and openssl.

use crate::support::{DEADLINE, Edge, Folder, site};
use door_web::{ClientCertificate, HstsSettings, SiteSettings, TlsSettings};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use test_support::until;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use transport::tls::Alpn;

fn openssl(folder: &Folder, args: &[&str]) -> Output {
    let mut command = Command::new("openssl");
    command.current_dir(folder.path()).args(args).stdin(Stdio::null()).output().unwrap()
}

/// Makes `NAME.pem` and `NAME.key` for a host, signed by itself.
fn certify(folder: &Folder, name: &str, host: &str) {
    let (key, cert) = (format!("{name}.key"), format!("{name}.pem"));
    let alternative = format!("subjectAltName=DNS:{host}");
    let made = openssl(
        folder,
        &[
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            "30",
            "-subj",
            &format!("/CN={host}"),
            "-addext",
            &alternative,
            "-addext",
            "basicConstraints=critical,CA:FALSE",
            "-keyout",
            &key,
            "-out",
            &cert,
        ],
    );
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

/// A folder with two sites, and a certificate each.
fn base() -> Folder {
    let base = Folder::new();
    for name in ["one", "two"] {
        base.write(&format!("{name}/index.html"), name);
        certify(&base, name, &format!("{name}.example"));
    }
    base
}

fn secure(name: &str) -> SiteSettings {
    let host = format!("{name}.example");
    let mut site = site(name, &[&host]);
    site.listen[0].0 = "https://127.0.0.1:0".parse().unwrap();
    site.tls.certificate = Some(format!("{name}.pem").into());
    site.tls.key = Some(format!("{name}.key").into());
    site
}

/// What curl gets, and the version of HTTP, a space between; or what it complains about.
fn curl(edge: &Edge, base: &Folder, host: &str, args: &[&str]) -> Result<String, String> {
    let port = edge.at[0].port();
    let output = Command::new("curl")
        .current_dir(base.path())
        .args(["-sS", "--max-time", "20", "-w", " %{http_version} %{http_code}"])
        .args(["--resolve", &format!("{host}:{port}:127.0.0.1")])
        .arg(format!("https://{host}:{port}/"))
        .args(args)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

/// What `openssl s_client` says of a handshake.
fn handshake(edge: &Edge, base: &Folder, name: &str, args: &[&str]) -> String {
    let address = edge.at[0].to_string();
    let mut all = vec!["s_client", "-connect", &address, "-servername", name];
    all.extend(args);
    let output = openssl(base, &all);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn curl_gets_a_page_by_each_version_of_http_and_tls() {
    let base = base();
    let edge = Edge::start_with(&base, &[secure("one")], "");
    let trusting = ["--cacert", "one.pem"];
    for (args, expected) in [
        (&["--http2"][..], "one 2 200"),
        (&["--http1.1"], "one 1.1 200"),
        (&["--http2", "--tls-max", "1.2"], "one 2 200"),
        (&["--http1.1", "--tls-max", "1.2"], "one 1.1 200"),
        (&["--no-alpn", "--tlsv1.3"], "one 1.1 200"),
    ] {
        let got = curl(&edge, &base, "one.example", &[&trusting, args].concat());
        assert_eq!(got.as_deref(), Ok(expected), "{args:?}");
    }
    assert!(edge.rows(5).iter().all(|row| row.subject.starts_with("https://")));
    let old = curl(&edge, &base, "one.example", &["-k", "--tls-max", "1.1"]);
    assert!(old.is_err(), "{old:?}");
}

#[test]
fn a_large_file_comes_whole() {
    let base = base();
    let content: Vec<u8> = (0..1_500_000_u32).map(|it| (it % 251) as u8).collect();
    base.write("one/index.html", &content);
    let edge = Edge::start_with(&base, &[secure("one")], "");
    for version in ["--http1.1", "--http2"] {
        curl(&edge, &base, "one.example", &["--cacert", "one.pem", version, "-o", "got"]).unwrap();
        assert_eq!(std::fs::read(base.path().join("got")).unwrap(), content, "{version}");
    }
}

#[test]
fn hsts_comes_over_tls_only_and_a_request_in_the_clear_is_sent_on() {
    let base = base();
    let mut one = secure("one");
    one.listen.push(settings::Text("http://127.0.0.1:0".parse().unwrap()));
    one.redirect_https = true;
    let max_age = settings::Text("1d".parse().unwrap());
    one.hsts = Some(HstsSettings { max_age, subdomains: false, preload: false });
    let edge = Edge::start_with(&base, &[one], "");
    for version in ["--http1.1", "--http2"] {
        let args = ["--cacert", "one.pem", "-D", "-", version];
        let said = curl(&edge, &base, "one.example", &args).unwrap().to_ascii_lowercase();
        assert_eq!(said.matches("strict-transport-security: max-age=86400").count(), 1, "{said}");
        assert!(said.contains("200"), "{said}");
    }
    let plain = format!("http://{}/a?b=c", edge.at[1]);
    let output =
        Command::new("curl").args(["-s", "-D", "-", "-H", "Host: one.example", &plain]).output();
    let said = String::from_utf8(output.unwrap().stdout).unwrap().to_ascii_lowercase();
    assert!(said.starts_with("http/1.1 308") && said.contains("location: https://one.example"));
    assert!(!said.contains("strict-transport-security"), "{said}");
    let rows = edge.rows(3);
    let secured = rows.iter().filter(|row| row.subject.starts_with("https://one.example"));
    assert_eq!(secured.count(), 2, "{rows:#?}");
}

#[test]
fn a_wildcard_host_is_asked_for_by_any_name_below_it() {
    let base = base();
    let mut two = secure("two");
    two.hosts = vec!["*.two.example".into()];
    let edge = Edge::start_with(&base, &[secure("one"), two], "");
    let said = handshake(&edge, &base, "a.b.two.example", &[]);
    assert!(said.contains("subject=CN = two.example"), "{said}");
}

#[test]
fn the_name_asked_for_chooses_the_certificate() {
    let base = base();
    let edge = Edge::start_with(&base, &[secure("one"), secure("two")], "");
    for (name, expected) in
        [("one.example", "one.example"), ("TWO.example", "two.example"), ("x.test", "one.example")]
    {
        let said = handshake(&edge, &base, name, &[]);
        assert!(said.contains(&format!("subject=CN = {expected}")), "{name}: {said}");
    }
    let two = curl(&edge, &base, "two.example", &["--cacert", "two.pem"]);
    assert_eq!(two.as_deref(), Ok("two 2 200"));
}

#[test]
fn a_session_is_resumed_by_its_ticket() {
    let base = base();
    let edge = Edge::start_with(&base, &[secure("one"), secure("two")], "");
    for version in ["-tls1_2", "-tls1_3"] {
        // A request keeps the client reading, and so it sees the tickets of TLS 1.3.
        let visit = |name: &str, session: [&str; 2]| {
            let address = edge.at[0].to_string();
            let mut client = Command::new("openssl")
                .current_dir(base.path())
                .args(["s_client", "-connect", &address, "-servername", name, version])
                .args(["-ign_eof", session[0], session[1]])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let request = format!("GET / HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n");
            std::io::Write::write_all(client.stdin.as_mut().unwrap(), request.as_bytes()).unwrap();
            String::from_utf8_lossy(&client.wait_with_output().unwrap().stdout).into_owned()
        };
        let first = visit("one.example", ["-sess_out", "session"]);
        assert!(first.contains("New, TLS") && first.contains("200 OK"), "{version}: {first}");
        let again = visit("one.example", ["-sess_in", "session"]);
        assert!(again.contains("Reused, TLS") && again.contains("200 OK"), "{version}: {again}");
        // A ticket is for the name that it was given to.
        let other = visit("two.example", ["-sess_in", "session"]);
        assert!(other.contains("New, TLS"), "{version}: {other}");
    }
}

#[test]
fn a_new_certificate_is_served_without_a_reload_and_a_bad_one_is_not() {
    let base = base();
    let edge = Edge::start_with(&base, &[secure("one")], "");
    let place = |from: &str, to: &str| {
        std::fs::rename(base.path().join(from), base.path().join(to)).unwrap();
    };
    certify(&base, "new", "new.example");
    place("new.key", "one.key");
    place("new.pem", "one.pem");
    until("the new certificate", || {
        handshake(&edge, &base, "one.example", &[]).contains("subject=CN = new.example")
    });
    base.write("bad", "no certificate");
    place("bad", "one.pem");
    until("a complaint", || edge.told.lock().unwrap().iter().any(|line| line.contains("is kept")));
    let said = handshake(&edge, &base, "one.example", &[]);
    assert!(said.contains("subject=CN = new.example"), "{said}");
    let told = edge.told.lock().unwrap().clone();
    assert!(told[0].contains("one.pem has changed"), "{told:?}");
    assert_eq!(told.len(), 2, "each is said once: {told:?}");
}

#[test]
fn only_clients_with_a_certificate_enter_where_one_is_required() {
    let base = base();
    certify(&base, "friend", "friend");
    certify(&base, "stranger", "stranger");
    let mut guarded = secure("two");
    guarded.tls.client_ca = Some(PathBuf::from("friend.pem"));
    guarded.tls.client_certificate = ClientCertificate::Require;
    let mut edge = Edge::start_with(&base, &[secure("one"), guarded.clone()], "");
    let friend = ["-k", "--cert", "friend.pem", "--key", "friend.key"];
    let stranger = ["-k", "--cert", "stranger.pem", "--key", "stranger.key"];
    assert_eq!(curl(&edge, &base, "two.example", &friend).as_deref(), Ok("two 2 200"));
    assert!(curl(&edge, &base, "two.example", &["-k"]).is_err());
    assert!(curl(&edge, &base, "two.example", &stranger).is_err());
    // The open site's handshake does not open the guarded one.
    let smuggled = curl(&edge, &base, "one.example", &["-k", "-H", "Host: two.example"]).unwrap();
    assert!(smuggled.ends_with("2 421"), "{smuggled}");
    assert_eq!(curl(&edge, &base, "one.example", &["-k"]).as_deref(), Ok("one 2 200"));
    guarded.tls.client_certificate = ClientCertificate::Request;
    edge = Edge::start_with(&base, &[guarded], "");
    assert_eq!(curl(&edge, &base, "two.example", &["-k"]).as_deref(), Ok("two 2 200"));
    assert_eq!(curl(&edge, &base, "two.example", &friend).as_deref(), Ok("two 2 200"));
    assert!(curl(&edge, &base, "two.example", &stranger).is_err());
}

#[test]
fn stopping_says_goodbye_to_idle_connections() {
    let base = base();
    let edge = Edge::start_with(&base, &[secure("one")], "");
    let pem = std::fs::read(base.path().join("one.pem")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let visit = async {
        let tls = transport::ClientTls::new().trusting(&pem).unwrap();
        let tcp = transport::dial(edge.at[0], DEADLINE).await.unwrap();
        let mut stream = tls.connect(tcp, "one.example", &[Alpn::Http1]).await.unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nHost: one.example\r\n\r\n").await.unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"one") {
            assert_ne!(stream.read_buf(&mut answer).await.unwrap(), 0);
        }
        edge.drain.start();
        // Without close_notify the end would be an error: it might be somebody's in between.
        stream.read_to_end(&mut Vec::new()).await
    };
    let end = runtime.block_on(async { tokio::time::timeout(DEADLINE, visit).await.unwrap() });
    assert_eq!(end.map_err(|why| why.to_string()), Ok(0));
}

#[test]
fn a_site_whose_certificate_cannot_be_used_is_refused_with_its_place() {
    let base = base();
    let parts = Edge::start_with(&base, &[secure("one")], "").parts();
    let mut wrong = secure("two");
    wrong.tls = TlsSettings { certificate: Some("one.pem".into()), ..wrong.tls };
    let complaints = door_web::WebDoor::new(&[secure("one"), wrong.clone()], parts).err().unwrap();
    assert_eq!(complaints.len(), 1);
    assert_eq!(complaints[0].path, "1.tls.certificate");
    assert!(complaints[0].message.contains("are no certificate with its key"), "{complaints:?}");
    wrong.tls.client_ca = Some("nowhere.pem".into());
    wrong.tls.certificate = Some("two.pem".into());
    wrong.tls.client_certificate = ClientCertificate::Require;
    let complaints = door_web::check_folders(&[wrong], base.path(), &std::sync::Arc::default());
    assert_eq!(complaints[0].path, "0.tls.client_ca");
}

#[test]
fn handshakes_that_fail_leave_a_row() {
    let base = base();
    let edge = Edge::start_with(&base, &[secure("one")], "");
    let mut plain = edge.connect();
    std::io::Write::write_all(&mut plain, b"GET / HTTP/1.1\r\nHost: one.example\r\n\r\n").unwrap();
    let row = edge.rows(1).remove(0);
    assert_eq!((row.status, row.source), (400, vocab::Source::Refused));
    // A client that does not know who vouches for the certificate.
    let refused = curl(&edge, &base, "one.example", &[]);
    assert!(refused.is_err(), "{refused:?}");
    let row = edge.rows(2).remove(0);
    assert_eq!((row.status, row.client.to_string().as_str()), (495, "127.0.0.1"));
}
