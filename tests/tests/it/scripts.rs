//! Scripts as people have them: beside the configuration, checked, tried by their fixtures, and
//! behind every kind of route.

use tidegate_tests::Scratch;
use tidegate_tests::clients::{curl, curl_with_head, dig, dig_short};
use tidegate_tests::origin::{Origin, Page, header};
use tidegate_tests::tidegate::{self, Tidegate};
use tidegate_tests::wait;

/// The page of the manual.
const PAGE: &str = include_str!("../../../docs/manual/reference/scripts.md");

fn gateway(routes: &str) -> String {
    format!(
        "gateway:\n  listen: [\"http://127.0.0.1:0\"]\n  routes:\n{routes}\n\
         admin: {{ listen: \"127.0.0.1:0\" }}\n"
    )
}

/// The blocks of the manual's page in this language, in their order.
fn printed(language: &str) -> Vec<&'static str> {
    // Every second piece is within a fence, and begins with its language.
    let within = PAGE.split("```").skip(1).step_by(2);
    let named = within.filter_map(|block| block.split_once('\n'));
    named.filter(|(name, _)| *name == language).map(|(_, text)| text.trim_end()).collect()
}

#[test]
fn the_scripts_and_fixtures_of_the_manual_do_what_it_says() {
    let scratch = Scratch::new();
    let hello = scratch.write("hello.luau", printed("luau")[0]);
    let fixtures = printed("yaml,fixtures")[0];
    scratch.write("hello.test.yaml", fixtures);
    let hello = hello.display().to_string();
    let tried = tidegate::run(&["script", "test", &hello]);
    let said = String::from_utf8_lossy(&tried.stdout).into_owned();
    let expected = printed("").into_iter().find(|it| it.starts_with("ok ")).unwrap();
    assert_eq!(said.trim_end(), expected, "{}", String::from_utf8_lossy(&tried.stderr));
    assert!(tried.status.success());

    for (at, name, script) in [(1, "names", 1), (2, "decide", 3)] {
        let file = scratch.write(&format!("{name}.luau"), printed("luau")[script]);
        scratch.write(&format!("{name}.test.yaml"), printed("yaml,fixtures")[at]);
        let tried = tidegate::run(&["script", "test", &file.display().to_string()]);
        let said = String::from_utf8_lossy(&tried.stdout).into_owned();
        assert!(tried.status.success() && said.ends_with("2 passed, 0 failed\n"), "{said}");
    }

    scratch.write("site/index.html", "home");
    scratch.write("login.luau", printed("luau")[2]);
    let root = scratch.path().join("site").display().to_string();
    let routes = format!("    - {{ path: \"/*\", root: \"{root}\", script: login.luau }}");
    let tidegate = Tidegate::start_in(scratch, &gateway(&routes));
    let base = format!("http://{}", tidegate.address("gateway", "http"));
    let asked: Vec<u16> = (0..5).map(|_| curl(&[&format!("{base}/login")]).0).collect();
    assert_eq!(asked, [404, 404, 404, 429, 429]);
    assert_eq!(curl(&[&format!("{base}/")]), (200, "home".into()));
}

#[test]
fn fixtures_that_fail_are_told_and_wrong_ones_by_place() {
    let scratch = Scratch::new();
    let source = "function on_request(request)
        if request.path == '/bad' then error('too bad') end
        request:respond(200, request.host)
    end";
    let script = scratch.write("a.luau", source).display().to_string();
    let test = |fixtures: &str| {
        scratch.write("a.test.yaml", fixtures);
        let tried = tidegate::run(&["script", "test", &script]);
        let told = format!(
            "{}{}",
            String::from_utf8_lossy(&tried.stdout),
            String::from_utf8_lossy(&tried.stderr)
        );
        (tried.status.code().unwrap(), told)
    };
    let (code, told) = test(
        "cases:\n  - { name: one, request: { url: 'http://A.example/' }, expect: { status: 404, \
         body: b.example, sent: { path: / } } }\n  - { name: two, request: { url: 'http://a/bad' }, \
         expect: { error: too bad } }\n",
    );
    assert_eq!(code, 1, "{told}");
    for line in [
        "FAIL one\n",
        "status: expected 404, got 200\n",
        "body: expected \"b.example\", got \"a.example\"\n",
        "sent: no server is asked, the script answers\n",
        "ok   two\n",
        "1 passed, 1 failed\n",
    ] {
        assert!(told.contains(line), "{line:?}: {told}");
    }
    let (code, told) = test("cases:\n  - { nam: one }\n");
    assert!(code == 1 && told.contains("a.test.yaml:2:"), "{told}");
    let (code, told) =
        test("cases:\n  - { name: one, request: { url: 'a.example' }, expect: { } }\n");
    assert!(code == 1 && told.contains("http://HOST/PATH"), "{told}");
    let types = tidegate::run(&["script", "types"]);
    assert!(String::from_utf8_lossy(&types.stdout).contains("declare class Request"));
}

#[test]
fn check_names_the_line_of_a_wrong_script() {
    let scratch = Scratch::new();
    scratch.write("wrong.luau", "function on_request(request)\n  if request then\nend\n");
    scratch.write("idle.luau", "local x = 1\n");
    let routes = "    - { path: \"/a\", answer: {}, script: wrong.luau }
    - { path: \"/b\", answer: {}, script: idle.luau }
    - { path: \"/c\", answer: {}, script: gone.luau }
    - { path: \"/d\", answer: {}, script: { file: idle.luau, time_limit: 1s } }
    - { path: \"/e\", block: { patterns: [/x] }, script: idle.luau }";
    let yaml = gateway(routes);
    let told = |yaml: &str| {
        let file = scratch.write("edge.yaml", yaml).display().to_string();
        let checked = tidegate::run(&["--config", &file, "check"]);
        assert_eq!(checked.status.code(), Some(1));
        String::from_utf8_lossy(&checked.stderr).into_owned()
    };
    let settings = told(&yaml);
    assert!(settings.contains("gateway.routes.3.script.time_limit: "), "{settings}");
    assert!(settings.contains("gateway.routes.4.script: the route leads nowhere"), "{settings}");
    let files = told(
        &yaml
            .lines()
            .filter(|it| !it.contains("/d") && !it.contains("/e"))
            .fold(String::new(), |text, line| text + line + "\n"),
    );
    assert!(files.contains("edge.yaml:4:"), "{files}");
    assert!(files.contains("routes.0.script: wrong.luau:4: Expected 'end'"), "{files}");
    assert!(files.contains("routes.1.script: idle.luau defines no hook"), "{files}");
    assert!(files.contains("routes.2.script: ") && files.contains("gone.luau cannot be read"));
}

#[test]
fn a_script_leads_to_no_file_outside_and_its_faults_are_told() {
    let scratch = Scratch::new();
    scratch.write("site/in.txt", "inside");
    scratch.write("site/.hidden", "hidden");
    scratch.write("outside.txt", "outside");
    let source = "function on_request(request)
        request:set_path(request:header('x-to'))
    end
    function on_response(response) response:set_header('x-n', tostring(shared:incr('n'))) end";
    scratch.write("to.luau", source);
    let root = scratch.path().join("site").display().to_string();
    let routes = format!("    - {{ path: \"/files/*\", root: \"{root}\", script: to.luau }}");
    let tidegate = Tidegate::start_in(scratch, &gateway(&routes));
    let base = format!("http://{}/files/x", tidegate.address("gateway", "http"));
    let asked = |to: &str| curl(&["-H", &format!("X-To: {to}"), &base]);
    assert_eq!(asked("/files/in.txt"), (200, "inside".into()));
    for out in [
        "/in.txt",
        "/files/../outside.txt",
        "/files/../../etc/passwd",
        "/files/..%2foutside.txt",
        "/etc/passwd",
        "/files/.hidden",
    ] {
        let (status, body) = asked(out);
        assert!(matches!(status, 400 | 404), "{out}: {status} {body}");
    }
    let (status, body) = curl(&[&base]);
    assert!(status == 500 && !body.contains("luau"), "{body}");
    let (_, head) = curl_with_head(&["-H", "X-To: /files/in.txt", &base]);
    assert_eq!(header(&head, "x-n").as_deref(), Some("9"));
    let figures = tidegate.figures();
    assert!(figures.contains("tidegate_script_errors_total{script=\"to.luau\"} 1"), "{figures}");
    let told = || tidegate.output.try_iter().find(|line| line.contains("script to.luau: "));
    let line = tidegate_tests::wait::until("the script's line", told);
    assert!(line.contains("to.luau:2: "), "{line}");
}

#[test]
fn scripts_replaced_under_load_fail_no_request() {
    let scratch = Scratch::new();
    let write = |folder: &std::path::Path, n: usize| {
        let source = format!(
            "local filling = ('x'):rep(100000)
            function on_request(request) request:respond(200, 'n{n}') end"
        );
        let next = folder.join("next.luau");
        std::fs::write(&next, source).unwrap();
        std::fs::rename(next, folder.join("a.luau")).unwrap();
    };
    write(scratch.path(), 0);
    let routes = "    - { path: \"/*\", answer: {}, script: a.luau }";
    let tidegate = Tidegate::start_in(scratch, &gateway(routes));
    let url = format!("http://{}/", tidegate.address("gateway", "http"));
    std::thread::scope(|scope| {
        let (ended, end) = std::sync::mpsc::channel::<()>();
        let asking = scope.spawn(move || {
            let mut answers = 0;
            while end.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
                let (status, body) = curl(&[&url]);
                assert!(status == 200 && body.starts_with('n'), "{status} {body}");
                answers += 1;
            }
            answers
        });
        for n in 1..=30 {
            write(tidegate.scratch.path(), n);
            tidegate.told(&["ctl", "reload"]);
        }
        drop(ended);
        assert!(asking.join().unwrap() > 0);
    });
    let url = format!("http://{}/", tidegate.address("gateway", "http"));
    assert_eq!(curl(&[&url]), (200, "n30".into()));
}

#[test]
fn the_dns_door_asks_its_script_and_a_reload_takes_another() {
    let scratch = Scratch::new();
    scratch.write("names.luau", printed("luau")[1]);
    let config = "dns:\n  listen: [\"udp://127.0.0.1:0\"]\n  upstreams: [\"udp://127.0.0.1:9\"]\n  \
                  script: names.luau\nadmin: { listen: \"127.0.0.1:0\" }\n";
    let tidegate = Tidegate::start_in(scratch, config);
    let server = tidegate.address("dns", "udp");
    assert_eq!(dig_short(server, &["printer.lan", "A"]).trim(), "192.168.1.20");
    assert_eq!(dig_short(server, &["printer.lan", "AAAA"]).trim(), "fd00::20");
    assert!(dig(server, &["a.internal", "A"]).contains("NXDOMAIN"));

    let other = "function on_query(query) query:refuse() end";
    tidegate.scratch.write("names.luau", other);
    tidegate.told(&["ctl", "reload"]);
    assert!(dig(server, &["printer.lan", "A"]).contains("REFUSED"));
    let metrics = tidegate.figures();
    assert!(metrics.contains("tidegate_script_calls_total{script=\"names.luau\"} 4"), "{metrics}");
}

#[test]
fn the_policys_script_decides_at_all_doors_and_is_named_by_log_and_why() {
    let scratch = Scratch::new();
    scratch.write("decide.luau", printed("luau")[3]);
    let config = "policy: { lists: [{ name: mine, rules: [\"||ads.example^\"] }], script: decide.luau }\n\
                  dns: { listen: [\"udp://127.0.0.1:0\"], upstreams: [\"udp://127.0.0.1:9\"] }\n\
                  proxy: { listen: [\"http://127.0.0.1:0\"] }\n\
                  admin: { listen: \"127.0.0.1:0\" }\n";
    let tidegate = Tidegate::start_in(scratch, config);
    let server = tidegate.address("dns", "udp");
    let blocked = dig(server, &["new.games.example", "A"]);
    assert!(blocked.contains("EDE: 15"), "{blocked}");
    let proxy = format!("http://{}", tidegate.address("proxy", "http"));
    let (code, page) = curl(&["-x", &proxy, "http://games.example/"]);
    assert!(code == 403 && page.contains("decide.luau"), "{code} {page}");
    let why = tidegate.told(&["why", "games.example"]);
    assert!(why.contains("decide.luau") && why.contains("no games"), "{why}");
    let row = wait::until("the row", || {
        let rows = tidegate.api("/api/requests?door=proxy");
        rows["rows"].as_array()?.first().map(ToString::to_string)
    });
    assert!(row.contains("decide.luau") && row.contains("no games"), "{row}");
    // What the lists block is as it was.
    assert!(dig(server, &["ads.example", "A"]).contains("EDE: 15"));
    let why = tidegate.told(&["why", "ads.example"]);
    assert!(why.contains("mine"), "{why}");
}

#[test]
fn what_a_timer_fetches_is_there_for_requests() {
    let scratch = Scratch::new();
    let origin = Origin::start(&[("/closed", Page::new("text/plain", "yes"))]);
    let script =
        printed("luau")[4].replace("https://status.example", &format!("http://{}", origin.address));
    scratch.write("timer.luau", script);
    scratch.write("site/index.html", "home");
    let root = scratch.path().join("site").display().to_string();
    let config = format!(
        "web:\n  - {{ listen: [\"http://127.0.0.1:0\"], root: \"{root}\", script: {{ file: \
         timer.luau, timer: 1s }} }}\nadmin: {{ listen: \"127.0.0.1:0\" }}\n"
    );
    let tidegate = Tidegate::start_in(scratch, &config);
    let url = format!("http://{}/", tidegate.address("web", "http"));
    let closed = (503, "Closed for today.\n".to_owned());
    wait::until("the timer has fetched", || (curl(&[&url]) == closed).then_some(()));
    origin.add("/closed", Page::new("text/plain", "no"));
    let open = (200, "home".to_owned());
    wait::until("the timer has fetched again", || (curl(&[&url]) == open).then_some(()));
}

#[test]
fn a_reload_starts_the_timer_of_the_policys_new_script() {
    let scratch = Scratch::new();
    let script = |n: &str| {
        format!(
            "function on_timer() shared:set('n', '{n}') end
             function on_decide(question)
               if shared:get('n') == question.host then question:block('its turn') end
             end"
        )
    };
    scratch.write("decide.luau", script("one.example"));
    let config = "policy: { script: decide.luau }\n\
                  dns: { listen: [\"udp://127.0.0.1:0\"], upstreams: [\"udp://127.0.0.1:9\"] }\n\
                  admin: { listen: \"127.0.0.1:0\" }\n";
    let tidegate = Tidegate::start_in(scratch, config);
    let is_blocked = |name: &str| tidegate.told(&["why", name]).contains("its turn").then_some(());
    wait::until("the first timer", || is_blocked("one.example"));
    tidegate.scratch.write("decide.luau", script("two.example"));
    tidegate.told(&["ctl", "reload"]);
    wait::until("the timer of the new script", || is_blocked("two.example"));
}

/// The page of scripts to take over: each with its fixtures behind it.
const EXAMPLES: &str = include_str!("../../../docs/manual/reference/script-examples.md");

/// Scripts of that page, and the fixtures of each.
fn examples() -> Vec<(&'static str, &'static str)> {
    let within = EXAMPLES.split("```").skip(1).step_by(2);
    let named: Vec<_> = within.filter_map(|block| block.split_once('\n')).collect();
    let of = |language: &str| {
        let blocks = named.iter().filter(move |(name, _)| *name == language);
        blocks.map(|(_, text)| *text).collect::<Vec<_>>()
    };
    let (scripts, fixtures) = (of("luau"), of("yaml,fixtures"));
    assert_eq!(scripts.len(), fixtures.len(), "each script has its fixtures");
    scripts.into_iter().zip(fixtures).collect()
}

#[test]
fn the_scripts_to_take_over_do_what_their_fixtures_say() {
    let scratch = Scratch::new();
    for (number, (script, fixtures)) in examples().into_iter().enumerate() {
        let file = scratch.write(&format!("example{number}.luau"), script);
        scratch.write(&format!("example{number}.test.yaml"), fixtures);
        let tried = tidegate::run(&["script", "test", &file.display().to_string()]);
        let said = String::from_utf8_lossy(&tried.stdout).into_owned();
        assert!(tried.status.success() && said.ends_with(" passed, 0 failed\n"), "{said}");
    }
}

#[test]
fn entries_of_a_feed_are_there_for_whoever_asks_since_a_moment() {
    let (script, _) = examples().into_iter().find(|(it, _)| it.contains("atomStream")).unwrap();
    let scratch = Scratch::new();
    let entry = |n: u8| format!("<entry><id>{n}</id>\n<title>number {n}</title></entry>");
    let page = |entries: &str| Page::new("application/atom+xml", format!("<feed>{entries}</feed>"));
    let origin = Origin::start(&[("/atom.xml", page(&entry(1)))]);
    let here = script.replace("https://blog.example", &format!("http://{}", origin.address));
    scratch.write("stream.luau", here);
    scratch.write("site/index.html", "home");
    let root = scratch.path().join("site").display().to_string();
    let config = format!(
        "web:\n  - {{ listen: [\"http://127.0.0.1:0\"], root: \"{root}\", script: {{ file: \
         stream.luau, timer: 1s }} }}\nadmin: {{ listen: \"127.0.0.1:0\" }}\n"
    );
    let tidegate = Tidegate::start_in(scratch, &config);
    let base = format!("http://{}/atom-stream.xml", tidegate.address("web", "http"));
    let stream = |since: u64| curl(&[&format!("{base}?since={since}")]).1;
    wait::until("the first entry", || stream(0).contains("<title>number 1</title>").then_some(()));
    origin.add("/atom.xml", page(&format!("{}\n{}", entry(1), entry(2))));
    wait::until("the second", || stream(0).contains("number 2").then_some(()));
    assert_eq!(stream(0).matches("<entry>").count(), 2, "{}", stream(0));
    assert!(!stream(4_000_000_000).contains("<entry>"));
}

#[test]
fn a_build_without_webassembly_refuses_filters_and_names_the_feature() {
    let scratch = Scratch::new();
    let routes = "    - { path: \"/\", answer: {}, wasm: [{ file: a.wasm }] }";
    let file = scratch.write("edge.yaml", gateway(routes)).display().to_string();
    let checked = tidegate::run(&["--config", &file, "check"]);
    assert_eq!(checked.status.code(), Some(1));
    let told = String::from_utf8_lossy(&checked.stderr).into_owned();
    assert!(told.contains("gateway.routes.0.wasm: this build has no WebAssembly"), "{told}");
    assert!(told.contains("--features wasm"), "{told}");
    assert_eq!(told.matches("WebAssembly").count(), 1, "{told}");
}
