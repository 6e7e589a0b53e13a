//! Filters written by hand, held against the ABI and against their limits.

mod faults;
mod filters;

use crate::chain::{FilterChain, FilterVisit};
use crate::settings::{FilterCourse, WasmFilterSettings};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use scripting::{ScriptLog, ScriptedRequest, ScriptedResponse};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use vocab::Complaint;

/// What every filter of these tests has: imports, memory, an allocator that never frees and begins
/// anew at the end of its page, and texts that `(data …)` of a test puts below 4096.
const FRAME: &str = r#"
  (import "env" "proxy_log" (func $log (param i32 i32 i32) (result i32)))
  (import "env" "proxy_get_header_map_value" (func $get (param i32 i32 i32 i32 i32) (result i32)))
  (import "env" "proxy_get_header_map_pairs" (func $pairs (param i32 i32 i32) (result i32)))
  (import "env" "proxy_set_header_map_pairs" (func $set_pairs (param i32 i32 i32) (result i32)))
  (import "env" "proxy_replace_header_map_value" (func $set (param i32 i32 i32 i32 i32) (result i32)))
  (import "env" "proxy_add_header_map_value" (func $add (param i32 i32 i32 i32 i32) (result i32)))
  (import "env" "proxy_remove_header_map_value" (func $remove (param i32 i32 i32) (result i32)))
  (import "env" "proxy_get_property" (func $property (param i32 i32 i32 i32) (result i32)))
  (import "env" "proxy_get_buffer_bytes" (func $buffer (param i32 i32 i32 i32 i32) (result i32)))
  (import "env" "proxy_send_local_response"
    (func $respond (param i32 i32 i32 i32 i32 i32 i32 i32) (result i32)))
  (import "env" "proxy_get_shared_data" (func $shared (param i32 i32 i32 i32 i32) (result i32)))
  (import "env" "proxy_set_shared_data" (func $share (param i32 i32 i32 i32 i32) (result i32)))
  (import "env" "proxy_define_metric" (func $metric (param i32 i32 i32 i32) (result i32)))
  (import "env" "proxy_increment_metric" (func $count (param i32 i64) (result i32)))
  (import "env" "proxy_get_metric" (func $counted (param i32 i32) (result i32)))
  (import "env" "proxy_set_tick_period_milliseconds" (func $tick (param i32) (result i32)))
  (import "env" "proxy_set_effective_context" (func $speak_for (param i32) (result i32)))
  (memory (export "memory") 2)
  (global $next (mut i32) (i32.const 65536))
  (func (export "proxy_abi_version_0_2_1"))
  (func (export "proxy_on_memory_allocate") (param $size i32) (result i32) (local $place i32)
    (if (i32.gt_u (i32.add (global.get $next) (local.get $size)) (i32.const 131072))
      (then (global.set $next (i32.const 65536))))
    (local.set $place (global.get $next))
    (global.set $next (i32.add (global.get $next) (local.get $size)))
    (local.get $place))
"#;

/// The module of a filter whose other lines these are.
fn module(body: &str) -> Vec<u8> {
    wat::parse_str(format!("(module {FRAME} {body})")).expect("the test wrote it well")
}

/// A filter whose `proxy_on_request_headers` has these lines and goes on.
fn on_request(lines: &str) -> String {
    format!(
        r#"(func (export "proxy_on_request_headers") (param $context i32) (param i32 i32) (result i32)
             {lines} (i32.const 0))"#
    )
}

/// One filter in a folder of its own, and what it wrote to the log.
struct TestFilter {
    folder: PathBuf,
    settings: WasmFilterSettings,
    lines: Arc<Mutex<Vec<String>>>,
    chain: Option<FilterChain>,
}

impl TestFilter {
    fn of(body: &str) -> Self {
        Self::with(body, WasmFilterSettings::default())
    }

    fn with(body: &str, settings: WasmFilterSettings) -> Self {
        let mut filter = Self::closed(&module(body), settings);
        filter.open().unwrap_or_else(|why| panic!("{why}"));
        filter
    }

    /// One that is not opened yet.
    fn closed(bytes: &[u8], settings: WasmFilterSettings) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("wasm-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("the folder for tests is writable");
        std::fs::write(folder.join("test.wasm"), bytes).expect("it was made just now");
        let settings = WasmFilterSettings { file: "test.wasm".to_owned(), ..settings };
        Self { folder, settings, lines: Arc::default(), chain: None }
    }

    fn open(&mut self) -> Result<(), Complaint> {
        let lines = Arc::clone(&self.lines);
        let log: ScriptLog =
            Arc::new(move |line: &str| lines.lock().expect("no test panics").push(line.to_owned()));
        let settings = std::slice::from_ref(&self.settings);
        self.chain = FilterChain::open(settings, &self.folder, &log, self.chain.as_ref())?;
        Ok(())
    }

    fn chain(&self) -> &FilterChain {
        self.chain.as_ref().expect("it was opened")
    }

    fn visit(&self) -> FilterVisit {
        self.chain().visit()
    }

    /// A request, as the filter left it.
    fn request(&self) -> (FilterCourse, ScriptedRequest) {
        let mut request = request();
        let course = self.visit().on_request(&mut request);
        (course, request)
    }

    fn log(&self) -> Vec<String> {
        self.lines.lock().expect("no test panics").clone()
    }
}

impl Drop for TestFilter {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn request() -> ScriptedRequest {
    let mut headers = HeaderMap::new();
    headers.insert("user-agent", HeaderValue::from_static("curl/8.5.0"));
    headers.insert("content-length", HeaderValue::from_static("5"));
    ScriptedRequest {
        method: Method::POST,
        uri: Uri::from_static("/some/page?with=query"),
        headers,
        host: "app.example".to_owned(),
        scheme: "https",
        client: Some([192, 0, 2, 7].into()),
        variables: scripting::ScriptVariables::default(),
    }
}

fn response() -> ScriptedResponse {
    let mut headers = HeaderMap::new();
    headers.insert("server", HeaderValue::from_static("nginx"));
    ScriptedResponse { status: StatusCode::OK, headers }
}

fn field<'m>(headers: &'m HeaderMap, name: &str) -> Option<&'m str> {
    headers.get(name).map(|value| value.to_str().expect("the test wrote it"))
}
