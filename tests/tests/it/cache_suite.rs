//! The public suite of HTTP cache tests, against the proxy as a forward cache and the gateway as a
//! reverse one. Which tests fail, and why, stands in `tests/cache-suite/expected.json`.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use tidegate_tests::tidegate::Tidegate;
use tidegate_tests::{Scratch, repository};

struct Suite {
    folder: PathBuf,
    origin: Child,
    address: String,
    /// Where its server notes its number.
    _scratch: Scratch,
}

impl Suite {
    fn start() -> Self {
        let folder = repository().join("tests/cache-suite");
        assert!(folder.join("node_modules").is_dir(), "make e2e installs the suite: npm ci there");
        let scratch = Scratch::new();
        let mut node = Command::new("node");
        node.arg("origin.mjs").current_dir(&folder).env("TMPDIR", scratch.path());
        let mut origin = node.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(origin.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { folder, origin, address: line.trim().to_owned(), _scratch: scratch }
    }

    /// Runs it and holds what fails against what is expected to.
    fn run(&self, mode: &str, args: &[&str]) {
        let mut node = Command::new("node");
        node.args(["--no-warnings", "run.mjs", "--expected", mode]).args(args);
        let output = node.current_dir(&self.folder).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    }
}

impl Drop for Suite {
    fn drop(&mut self) {
        let _ = self.origin.kill();
        let _ = self.origin.wait();
    }
}

#[test]
fn the_proxy_is_a_cache_as_the_suite_wants_one() {
    let suite = Suite::start();
    let edge = Tidegate::start(
        r#"
proxy: { listen: ["http://127.0.0.1:0"], destinations: any, cache: { memory: 64MiB } }
admin: { listen: "127.0.0.1:0" }
"#,
    );
    let proxy = format!("http://{}", edge.address("proxy", "http"));
    suite.run("forward", &["--base", &suite.address, "--proxy", &proxy]);
}

#[test]
fn the_gateway_is_a_cache_as_the_suite_wants_one() {
    let suite = Suite::start();
    let yaml = r#"
gateway:
  listen: ["http://127.0.0.1:0"]
  pools: { app: { servers: ["ORIGIN"] } }
  routes: [{ path: "/*", pool: app, cache: true }]
admin: { listen: "127.0.0.1:0" }
"#;
    let edge = Tidegate::start(&yaml.replace("ORIGIN", &suite.address));
    let base = format!("http://{}", edge.address("gateway", "http"));
    suite.run("reverse", &["--base", &base]);
}
