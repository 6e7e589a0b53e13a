//! Filters that do as they should.

use super::*;
use scripting::ScriptedLogEntry;

#[test]
fn a_filter_reads_a_field_and_sets_one() {
    let filter = TestFilter::of(&format!(
        r#"(data (i32.const 0) "user-agentx-agent")
           {}"#,
        on_request(
            "(drop (call $get (i32.const 0) (i32.const 0) (i32.const 10) (i32.const 100) (i32.const 104)))
             (drop (call $set (i32.const 0) (i32.const 10) (i32.const 7)
               (i32.load (i32.const 100)) (i32.load (i32.const 104))))"
        )
    ));
    let (course, request) = filter.request();
    assert!(matches!(course, FilterCourse::Same));
    assert_eq!(field(&request.headers, "x-agent"), Some("curl/8.5.0"));
    assert_eq!(filter.log(), Vec::<String>::new());
}

#[test]
fn a_filter_answers_in_place_of_the_route() {
    // The map has one field: x-why: no.
    let filter = TestFilter::of(
        r#"(data (i32.const 0) "Not here.\n")
           (data (i32.const 16) "\01\00\00\00\05\00\00\00\02\00\00\00x-why\00no\00")
           (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
             (drop (call $respond (i32.const 403) (i32.const 0) (i32.const 0) (i32.const 0)
               (i32.const 10) (i32.const 16) (i32.const 21) (i32.const -1)))
             (i32.const 1))"#,
    );
    let (course, _) = filter.request();
    let FilterCourse::Answered(answer) = course else { panic!("{course:?}") };
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
    assert_eq!(answer.body, b"Not here.\n");
    assert_eq!(field(&answer.headers, "x-why"), Some("no"));
    assert_eq!(field(&answer.headers, "content-type"), Some("text/plain; charset=utf-8"));
}

#[test]
fn a_filter_changes_path_and_status_and_nothing_of_the_framing() {
    let filter = TestFilter::of(&format!(
        r#"(data (i32.const 0) ":path/otherContent-Length9:method:status503server")
           {}
           (func (export "proxy_on_response_headers") (param i32 i32 i32) (result i32)
             (drop (call $set (i32.const 2) (i32.const 33) (i32.const 7) (i32.const 40) (i32.const 3)))
             (drop (call $remove (i32.const 2) (i32.const 43) (i32.const 6)))
             (drop (call $set (i32.const 0) (i32.const 43) (i32.const 6) (i32.const 40) (i32.const 3)))
             (i32.const 0))"#,
        on_request(
            "(drop (call $set (i32.const 0) (i32.const 0) (i32.const 5) (i32.const 5) (i32.const 6)))
             (if (i32.ne (i32.const 2) (call $set (i32.const 0) (i32.const 11) (i32.const 14)
               (i32.const 25) (i32.const 1))) (then unreachable))
             (if (i32.ne (i32.const 2) (call $set (i32.const 0) (i32.const 26) (i32.const 7)
               (i32.const 25) (i32.const 1))) (then unreachable))"
        )
    ));
    let (visit, mut asked) = (filter.visit(), request());
    assert!(matches!(visit.on_request(&mut asked), FilterCourse::Moved), "{:?}", filter.log());
    assert_eq!(asked.uri, "/other");
    assert_eq!(field(&asked.headers, "content-length"), Some("5"));
    let mut answer = response();
    assert!(visit.on_response(&mut asked, &mut answer));
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(field(&answer.headers, "server"), None);
    assert_eq!(field(&asked.headers, "server"), None, "the request was sent already");
    assert_eq!(
        filter.log(),
        [
            "filter test.wasm: a change of a field was refused: content-length cannot be changed by a script",
            "filter test.wasm: a change of a field was refused: of the first line a filter may \
             change :path of requests and :status of answers",
        ]
    );
}

#[test]
fn a_map_that_is_read_may_be_written_back() {
    let filter = TestFilter::of(&on_request(
        "(drop (call $pairs (i32.const 0) (i32.const 100) (i32.const 104)))
         (if (call $set_pairs (i32.const 0) (i32.load (i32.const 100)) (i32.load (i32.const 104)))
           (then unreachable))",
    ));
    let (course, left) = filter.request();
    assert!(matches!(course, FilterCourse::Same), "{course:?} {:?}", filter.log());
    assert_eq!(left.headers, request().headers);
}

#[test]
fn properties_tell_of_the_request() {
    for (words, size, expected) in [
        (r"request\00path", 12, "/some/page?with=query"),
        (r"request\00url_path", 16, "/some/page"),
        (r"request\00method", 14, "POST"),
        (r"request\00host", 12, "app.example"),
        (r"source\00address", 14, "192.0.2.7"),
        (r"request\00headers\00user-agent", 26, "curl/8.5.0"),
    ] {
        let filter = TestFilter::of(&format!(
            r#"(data (i32.const 0) "x-is") (data (i32.const 8) "{words}") {}"#,
            on_request(&format!(
                "(drop (call $property (i32.const 8) (i32.const {size}) (i32.const 100) (i32.const 104)))
                 (drop (call $set (i32.const 0) (i32.const 0) (i32.const 4)
                   (i32.load (i32.const 100)) (i32.load (i32.const 104))))"
            ))
        ));
        let (_, request) = filter.request();
        assert_eq!(field(&request.headers, "x-is"), Some(expected), "{words}");
    }
}

#[test]
fn a_filter_is_configured_and_may_refuse_to_start() {
    let body = r#"(data (i32.const 0) "x-conf")
        (func (export "proxy_on_configure") (param i32) (param $size i32) (result i32)
          (drop (call $buffer (i32.const 7) (i32.const 0) (local.get $size) (i32.const 200) (i32.const 204)))
          (i32.eq (local.get $size) (i32.const 4)))"#;
    let set = on_request(
        "(drop (call $set (i32.const 0) (i32.const 0) (i32.const 6)
           (i32.load (i32.const 200)) (i32.load (i32.const 204))))",
    );
    let settings =
        WasmFilterSettings { configuration: "blue".to_owned(), ..WasmFilterSettings::default() };
    let filter = TestFilter::with(&format!("{body} {set}"), settings);
    assert_eq!(field(&filter.request().1.headers, "x-conf"), Some("blue"));
    let mut refusing =
        TestFilter::closed(&module(&format!("{body} {set}")), WasmFilterSettings::default());
    let why = refusing.open().expect_err("it is not configured");
    let expected = "test.wasm: proxy_on_configure: it returned false: it does not want to start";
    assert_eq!(why.to_string(), format!("wasm.0: {expected}"));
}

#[test]
fn shared_data_is_changed_by_the_number_of_its_last_change_and_outlives_a_reload() {
    // Sets with what it read; the first of two with the same number wins.
    let body = on_request(
        "(drop (call $shared (i32.const 0) (i32.const 1) (i32.const 100) (i32.const 104) (i32.const 108)))
         (if (call $share (i32.const 0) (i32.const 1) (i32.const 0) (i32.const 2) (i32.load (i32.const 108)))
           (then unreachable))
         (if (i32.load (i32.const 108)) (then
           (if (i32.ne (i32.const 8) (call $share (i32.const 0) (i32.const 1) (i32.const 0)
             (i32.const 2) (i32.load (i32.const 108)))) (then unreachable))
           (drop (call $set (i32.const 0) (i32.const 1) (i32.const 1)
             (i32.load (i32.const 100)) (i32.load (i32.const 104))))))",
    );
    let text = r#"(data (i32.const 0) "kv")"#;
    let mut filter = TestFilter::of(&format!("{text} {body}"));
    assert_eq!(field(&filter.request().1.headers, "v"), None);
    assert_eq!(field(&filter.request().1.headers, "v"), Some("kv"), "{:?}", filter.log());
    std::fs::write(filter.folder.join("test.wasm"), module(&format!("{text} {body} (func)")))
        .expect("it is there");
    filter.open().expect("it is a filter");
    assert_eq!(field(&filter.request().1.headers, "v"), Some("kv"), "{:?}", filter.log());
}

#[test]
fn metrics_are_counted_over_instances_and_limited_in_number() {
    let filter = TestFilter::of(&format!(
        r#"(data (i32.const 0) "hits") {}"#,
        on_request(
            "(local $n i32)
             (if (call $metric (i32.const 0) (i32.const 0) (i32.const 4) (i32.const 100)) (then unreachable))
             (if (call $count (i32.load (i32.const 100)) (i64.const 2)) (then unreachable))
             (if (i32.eqz (call $count (i32.load (i32.const 100)) (i64.const -1))) (then unreachable))
             (if (call $counted (i32.load (i32.const 100)) (i32.const 112)) (then unreachable))
             (i32.store (i32.const 120) (i32.add (i32.const 48) (i32.load (i32.const 112))))
             (drop (call $set (i32.const 0) (i32.const 0) (i32.const 4) (i32.const 120) (i32.const 1)))
             (loop $more
               (i32.store (i32.const 128) (local.get $n))
               (drop (call $metric (i32.const 1) (i32.const 128) (i32.const 4) (i32.const 100)))
               (local.set $n (i32.add (local.get $n) (i32.const 1)))
               (br_if $more (i32.lt_u (local.get $n) (i32.const 300))))"
        )
    ));
    assert_eq!(field(&filter.request().1.headers, "hits"), Some("2"), "{:?}", filter.log());
    assert_eq!(field(&filter.request().1.headers, "hits"), Some("4"));
    assert_eq!(
        filter.log(),
        ["filter test.wasm: proxy_define_metric was refused: there are as many as there may be"]
    );
}

#[test]
fn a_context_lives_from_the_head_to_the_log() {
    // Counts the contexts that are there at 300; says what it is told of the end.
    let filter = TestFilter::of(
        r#"(data (i32.const 0) "response\00code")
           (func (export "proxy_on_context_create") (param i32 i32)
             (i32.store (i32.const 300) (i32.add (i32.load (i32.const 300)) (i32.const 1))))
           (func (export "proxy_on_log") (param i32)
             (drop (call $property (i32.const 0) (i32.const 13) (i32.const 100) (i32.const 104)))
             (if (i32.ne (i32.load (i32.load (i32.const 100))) (i32.const 404)) (then unreachable))
             (drop (call $log (i32.const 2) (i32.const 0) (i32.const 8))))
           (func (export "proxy_on_delete") (param i32)
             (drop (call $log (i32.const 2) (i32.const 9) (i32.const 4))))"#,
    );
    let (visit, mut asked) = (filter.visit(), request());
    assert!(matches!(visit.on_request(&mut asked), FilterCourse::Same));
    assert!(visit.on_response(&mut asked, &mut response()));
    assert_eq!(filter.chain().held().iter().map(|held| held.1).sum::<usize>(), 1);
    visit.on_log(&mut asked, &ScriptedLogEntry { status: 404, ..ScriptedLogEntry::default() });
    assert_eq!(filter.log(), ["filter test.wasm: response", "filter test.wasm: code"]);
    drop(visit);
    assert_eq!(filter.chain().held().iter().map(|held| held.1).sum::<usize>(), 0);
}

#[test]
fn ten_thousand_requests_leave_no_context_and_no_memory_behind() {
    let filter = TestFilter::of(&format!(
        r#"(data (i32.const 0) "user-agentx-agent") {}
           (func (export "proxy_on_context_create") (param i32 i32))
           (func (export "proxy_on_delete") (param i32))"#,
        on_request(
            "(drop (call $get (i32.const 0) (i32.const 0) (i32.const 10) (i32.const 100) (i32.const 104)))
             (drop (call $set (i32.const 0) (i32.const 10) (i32.const 7)
               (i32.load (i32.const 100)) (i32.load (i32.const 104))))"
        )
    ));
    let mut before = None;
    for number in 0..10_000 {
        let (course, _) = filter.request();
        assert!(matches!(course, FilterCourse::Same));
        if number == 100 {
            before = Some((filter.chain().held(), resident()));
        }
    }
    let (held, bytes) = before.expect("more than a hundred were made");
    assert_eq!(filter.chain().held(), held);
    assert!(held.iter().all(|(_, contexts)| *contexts == 0), "{held:?}");
    let grown = resident().saturating_sub(bytes);
    // Other tests of this process run beside it.
    assert!(grown < 64 * 1024 * 1024, "{grown} bytes more");
    assert_eq!(filter.chain().counts().map(|(_, counts)| counts.calls).sum::<u64>(), 20_000);
}

/// Bytes of this process that are in memory.
fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    pages
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse().ok())
        .map_or(0, |pages: usize| pages * 4096)
}

#[test]
fn an_unchanged_filter_is_kept_with_its_instances_over_a_reload() {
    let mut filter = TestFilter::of(&on_request(""));
    let visit = filter.visit();
    filter.open().expect("it is the same");
    let kept = filter.chain().visit();
    visit.on_request(&mut request());
    kept.on_request(&mut request());
    assert_eq!(filter.chain().held().iter().map(|held| held.1).sum::<usize>(), 2);
}

#[test]
fn requests_of_several_threads_have_contexts_of_their_own() {
    let filter = TestFilter::of(&on_request(""));
    let visits: Vec<FilterVisit> = std::thread::scope(|scope| {
        let threads = (0..4).map(|_| {
            scope.spawn(|| {
                let visit = filter.visit();
                visit.on_request(&mut request());
                visit
            })
        });
        let threads: Vec<_> = threads.collect();
        threads.into_iter().map(|thread| thread.join().expect("no test panics")).collect()
    });
    // Answered on another thread than it was asked on.
    for visit in &visits {
        assert!(visit.on_response(&mut request(), &mut response()));
    }
    assert_eq!(filter.chain().held().iter().map(|held| held.1).sum::<usize>(), 4);
    drop(visits);
    assert_eq!(filter.chain().held().iter().map(|held| held.1).sum::<usize>(), 0);
}
