//! CGI programs: what they hear and say, and what becomes of those that misbehave.

use crate::support::{Answer, DEADLINE, Edge, Folder, send, site};
use door_web::{CgiChoice, CgiSettings, SiteSettings};
use settings::Text;
use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use vocab::{ByteSize, TimeSpan};

/// A folder with a program of each of these names.
fn base(programs: &[(&str, &str)]) -> Folder {
    let base = Folder::new();
    base.write("www/page.txt", "a file");
    for (name, code) in programs {
        let code = code.replace("HEAD", "echo 'Content-Type: text/plain'; echo");
        base.write(&format!("cgi/{name}"), format!("#!/bin/sh\n{code}\n"));
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(base.path().join("cgi").join(name), mode).unwrap();
    }
    base
}

fn programs(settings: CgiSettings) -> SiteSettings {
    let choice = CgiChoice::Detailed(CgiSettings { root: "cgi".into(), ..settings });
    SiteSettings { cgi: BTreeMap::from([("/cgi-bin/*".to_owned(), choice)]), ..site("www", &[]) }
}

fn start(base: &Folder) -> Edge {
    Edge::start_with(base, &[programs(CgiSettings::default())], "")
}

fn impatient(base: &Folder) -> Edge {
    let timeout = Text(TimeSpan(Duration::from_secs(2)));
    Edge::start_with(base, &[programs(CgiSettings { timeout, ..CgiSettings::default() })], "")
}

/// Asks by HTTP/1.0, whose answers end with the connection.
fn ask(edge: &Edge, request: &str, fields: &str) -> Answer {
    let mut stream = edge.connect();
    stream.write_all(format!("{request} HTTP/1.0\r\n{fields}\r\n").as_bytes()).unwrap();
    Answer::read_to_end(&mut stream)
}

fn post(edge: &Edge, request: &str, body: &[u8]) -> Answer {
    let mut stream = edge.connect();
    let len = body.len().to_string();
    send(&mut stream, "www.example", request, &[("Content-Length", len.as_str())]);
    let mut writer = stream.try_clone().unwrap();
    let body = body.to_vec();
    // Both ways at once: neither may wait for the other.
    let writing = std::thread::spawn(move || writer.write_all(&body));
    let answer = Answer::read_to(request, &mut stream);
    // One that is refused may not be read to its end.
    let _ = writing.join().unwrap();
    answer
}

/// Waits until the file has some text.
fn written(path: &Path) -> String {
    let begun = Instant::now();
    loop {
        match fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return text,
            _ => assert!(begun.elapsed() < DEADLINE, "{} is not written", path.display()),
        }
        std::thread::yield_now();
    }
}

/// Waits until a process has ended.
fn ended(process: &str) {
    let begun = Instant::now();
    let stat = PathBuf::from(format!("/proc/{}/stat", process.trim()));
    // What is left of one that nobody has waited for does nothing more.
    while fs::read_to_string(&stat).is_ok_and(|it| !it.contains(") Z ")) {
        assert!(begun.elapsed() < DEADLINE, "{process} goes on");
        std::thread::yield_now();
    }
}

#[test]
fn a_program_hears_of_its_request_and_of_nothing_else() {
    let base = base(&[("env.sh", "HEAD; env; pwd")]);
    let edge = start(&base);
    let fields = "X-Mine: yes\r\nProxy: evil\r\nX-Forwarded-For: 10.9.9.9\r\n";
    let answer = ask(&edge, "GET /cgi-bin/env.sh/deep/er?a=b%20c", fields);
    assert_eq!((answer.status, answer.field("content-type")), (200, "text/plain"));
    let said = answer.text();
    let file = base.path().join("cgi/env.sh");
    for line in [
        "GATEWAY_INTERFACE=CGI/1.1",
        "REQUEST_METHOD=GET",
        "SCRIPT_NAME=/cgi-bin/env.sh",
        "PATH_INFO=/deep/er",
        "QUERY_STRING=a=b%20c",
        "REMOTE_ADDR=127.0.0.1",
        "HTTP_X_MINE=yes",
        "PATH=/usr/local/bin:/usr/bin:/bin",
        &format!("SCRIPT_FILENAME={}", file.display()),
        &file.parent().unwrap().display().to_string(),
    ] {
        assert!(said.lines().any(|it| it == line), "{line} in {said}");
    }
    for absent in ["HTTP_PROXY", "HTTP_X_FORWARDED_FOR", "CARGO", "HOME="] {
        assert!(!said.contains(absent), "{absent} in {said}");
    }
}

#[test]
fn a_body_goes_in_and_an_answer_comes_out_at_the_same_time() {
    let base = base(&[
        (
            "echo.sh",
            "echo 'Status: 201 Made'; echo 'X-Own: 1'; echo \"Content-Length: ${CONTENT_LENGTH:-0}\"; echo; cat",
        ),
        ("deaf.sh", "printf 'Content-Length: 13\\n\\nheard nothing'"),
    ]);
    let edge = start(&base);
    let body = b"0123456789abcdef".repeat(50_000);
    let answer = post(&edge, "POST /cgi-bin/echo.sh", &body);
    assert_eq!((answer.status, answer.field("x-own")), (201, "1"));
    assert!(answer.body == body);
    let answer = post(&edge, "POST /cgi-bin/deaf.sh", &body);
    assert_eq!((answer.status, answer.text().as_str()), (200, "heard nothing"));
    assert_eq!(ask(&edge, "DELETE /cgi-bin/echo.sh", "").status, 201, "methods are the program's");
    let head = ask(&edge, "HEAD /cgi-bin/echo.sh", "");
    assert_eq!((head.status, head.body.len()), (201, 0));
    let small = CgiSettings { body_max: Text(ByteSize(10)), ..CgiSettings::default() };
    let edge = Edge::start_with(&base, &[programs(small)], "");
    assert_eq!(post(&edge, "POST /cgi-bin/echo.sh", b"eleven byte").status, 413);
}

#[test]
fn only_programs_of_the_folder_run_and_nothing_of_it_is_sent() {
    let base = base(&[("run.sh", "HEAD; echo ran"), ("sub/deep.sh", "HEAD; echo deep $PATH_INFO")]);
    base.write("cgi/source.txt", "not executable");
    base.write("cgi/.hidden", "#!/bin/sh\n");
    base.write("outside.sh", "#!/bin/sh\necho; echo outside\n");
    std::os::unix::fs::symlink("../outside.sh", base.path().join("cgi/link")).unwrap();
    let edge = start(&base);
    assert_eq!(ask(&edge, "GET /cgi-bin/run.sh", "").text(), "ran\n");
    assert_eq!(ask(&edge, "GET /cgi-bin/sub/deep.sh/x", "").text(), "deep /x\n");
    for (path, status) in [
        ("/cgi-bin/source.txt", 403),
        ("/cgi-bin/", 404),
        ("/cgi-bin/sub/", 404),
        ("/cgi-bin/sub", 404),
        ("/cgi-bin/none.sh", 404),
        ("/cgi-bin/.hidden", 404),
        ("/cgi-bin/link", 404),
        ("/cgi-bin/../outside.sh", 404),
        ("/cgi-bin/%2e%2e/outside.sh", 404),
        ("/cgi-bin/sub/..%2frun.sh", 400),
        ("/CGI-BIN/run.sh", 404),
    ] {
        assert_eq!(ask(&edge, &format!("GET {path}"), "").status, status, "{path}");
    }
    assert_eq!(edge.ask("GET /page.txt", &[]).text(), "a file");
}

#[test]
fn what_a_program_complains_about_is_noted() {
    let base = base(&[("loud.sh", "echo 'it is late' >&2; HEAD; echo fine")]);
    let edge = start(&base);
    assert_eq!(ask(&edge, "GET /cgi-bin/loud.sh", "").text(), "fine\n");
    let begun = Instant::now();
    loop {
        let notes = edge.parts().ledger.notes().notes;
        if notes.iter().any(|it| it.text == "it is late" && it.from.ends_with("/cgi-bin/loud.sh")) {
            return;
        }
        assert!(begun.elapsed() < DEADLINE, "{notes:?}");
        std::thread::yield_now();
    }
}

#[test]
fn a_program_that_says_nothing_or_nonsense_is_a_bad_gateway() {
    let base = base(&[
        ("nothing.sh", "exit 3"),
        ("nonsense.sh", "echo '<html>'"),
        ("endless.sh", "while :; do echo 'X-A: b'; done"),
        ("no-interpreter", ""),
    ]);
    base.write("cgi/no-interpreter", "#!/none/such\n");
    let edge = start(&base);
    for name in ["nothing.sh", "nonsense.sh", "endless.sh", "no-interpreter"] {
        assert_eq!(ask(&edge, &format!("GET /cgi-bin/{name}"), "").status, 502, "{name}");
    }
}

#[test]
fn one_that_hangs_is_killed_with_what_it_has_started() {
    let base = base(&[("hang.sh", "echo $$ > pid; sleep 1000 & echo $! > child; wait")]);
    let edge = impatient(&base);
    assert_eq!(ask(&edge, "GET /cgi-bin/hang.sh", "").status, 504);
    for file in ["cgi/pid", "cgi/child"] {
        ended(&written(&base.path().join(file)));
    }
}

#[test]
fn a_client_that_leaves_takes_its_program_along() {
    let base = base(&[("slow.sh", "HEAD; echo $$ > pid; while :; do echo more; sleep 0.01; done")]);
    let edge = start(&base);
    let mut stream = edge.connect();
    send(&mut stream, "www.example", "GET /cgi-bin/slow.sh", &[]);
    let process = written(&base.path().join("cgi/pid"));
    let mut begin = [0; 12];
    stream.read_exact(&mut begin).unwrap();
    assert_eq!(&begin, b"HTTP/1.1 200");
    drop(stream);
    ended(&process);
}

#[test]
fn an_answer_that_breaks_off_is_not_taken_for_whole() {
    let base = base(&[
        ("killed.sh", "HEAD; echo half; kill -9 $$"),
        ("short.sh", "echo 'Content-Length: 100'; echo; echo half"),
    ]);
    let edge = start(&base);
    for name in ["killed.sh", "short.sh"] {
        let mut stream = edge.connect();
        send(&mut stream, "www.example", &format!("GET /cgi-bin/{name}"), &[]);
        let mut all = Vec::new();
        // An end that is none may be a reset, too.
        let _ = stream.read_to_end(&mut all);
        let text = String::from_utf8_lossy(&all);
        assert!(text.contains("half") && !text.ends_with("0\r\n\r\n"), "{name}: {text}");
    }
}

#[test]
fn so_many_run_at_once_and_the_next_waits() {
    let base = base(&[(
        "count.sh",
        "HEAD; mkdir only-one || echo two; sleep 0.05; rmdir only-one; echo done",
    )]);
    let one = CgiSettings { processes: 1, ..CgiSettings::default() };
    let edge = Edge::start_with(&base, &[programs(one)], "");
    std::thread::scope(|scope| {
        let asked: Vec<_> = (0..6)
            .map(|_| scope.spawn(|| ask(&edge, "GET /cgi-bin/count.sh", "").text()))
            .collect();
        for answer in asked {
            assert_eq!(answer.join().unwrap(), "done\n");
        }
    });
}

#[test]
fn programs_that_the_site_would_send_are_complained_about() {
    let base = base(&[("run.sh", "HEAD; echo ran")]);
    fs::create_dir_all(base.path().join("www/bin")).unwrap();
    let choice = |root: &str| CgiChoice::Folder(root.into());
    let told = |pattern: &str, root: &str| {
        let cgi = BTreeMap::from([(pattern.to_owned(), choice(root))]);
        let settings = SiteSettings { cgi, ..site("www", &[]) };
        let private = std::sync::Arc::default();
        let found = door_web::check_folder(&settings, base.path(), &private);
        found.into_iter().map(|it| format!("{}: {}", it.path, it.message)).collect::<Vec<_>>()
    };
    assert_eq!(told("/cgi-bin/*", "cgi"), [""; 0]);
    assert_eq!(told("/bin/*", "www/bin"), [""; 0], "what stands there is run");
    assert!(told("/cgi-bin/*", "www/bin")[0].contains("they stand at /bin/"));
    assert!(told("/cgi-bin/*", "www")[0].starts_with("cgi./cgi-bin/*: the site sends"));
    assert!(told("/cgi-bin/*", "none")[0].contains("No such file"));
}
