//! A ClickHouse of a test's own, with a user and a database.

use crate::{ScratchFolder, until};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

const USER: &str = "tidegate";
const PASSWORD: &str = "secret";
/// The user whom it runs as where the test is root's: it wants none.
const NOBODY: u32 = 65_534;

/// A ClickHouse, ended when it is dropped.
#[derive(Debug)]
pub struct ClickHouseServer {
    folder: ScratchFolder,
    port: u16,
    tls_port: u16,
    running: Option<Child>,
}

impl ClickHouseServer {
    /// Starts one, with the database `fleet`.
    ///
    /// # Panics
    /// ClickHouse is not installed, or does not start.
    #[allow(clippy::new_without_default, reason = "it starts a server, which no default does")]
    pub fn new() -> Self {
        let mut server = Self::stopped();
        server.start();
        server
    }

    /// One that nobody has started.
    pub fn stopped() -> Self {
        let folder = ScratchFolder::new();
        let anybody = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(folder.path(), anybody).unwrap();
        let free = || TcpListener::bind("127.0.0.1:0").unwrap();
        let (one, other) = (free(), free());
        let [port, tls_port] = [one, other].map(|it| it.local_addr().unwrap().port());
        let server = Self { folder, port, tls_port, running: None };
        server.configure("");
        server
    }

    fn configure(&self, more: &str) {
        let at = self.folder.path().display();
        let config = format!(
            "<yandex><logger><level>warning</level><console>1</console></logger>
             <http_port>{}</http_port><listen_host>127.0.0.1</listen_host>
             <path>{at}/data/</path><tmp_path>{at}/tmp/</tmp_path>
             <user_files_path>{at}/files/</user_files_path>
             <format_schema_path>{at}/schemas/</format_schema_path>
             <mark_cache_size>5000000</mark_cache_size><users_config>{at}/users.xml</users_config>
             <default_profile>default</default_profile><default_database>default</default_database>
             {more}</yandex>",
            self.port
        );
        self.folder.write("config.xml", &config);
        let users = format!(
            "<yandex><profiles><default/></profiles><quotas><default/></quotas><users><{USER}>
             <password>{PASSWORD}</password><networks><ip>127.0.0.1</ip></networks>
             <profile>default</profile><quota>default</quota></{USER}></users></yandex>"
        );
        self.folder.write("users.xml", &users);
    }

    /// Has it speak TLS too, with this certificate and its key, in PEM; holds from the next start.
    pub fn use_certificate(&self, certificate: &str, key: &str) {
        let at = self.folder.path().display();
        self.folder.write("server.crt", certificate);
        self.folder.write("server.key", key);
        self.configure(&format!(
            "<https_port>{}</https_port><openSSL><server>
             <certificateFile>{at}/server.crt</certificateFile>
             <privateKeyFile>{at}/server.key</privateKeyFile>
             <verificationMode>none</verificationMode></server></openSSL>",
            self.tls_port
        ));
    }

    /// Starts it and waits until it answers.
    ///
    /// # Panics
    /// It does not.
    pub fn start(&mut self) {
        let mut command = Command::new("/usr/sbin/clickhouse-server");
        let config = self.folder.path().join("config.xml");
        command.arg(format!("--config-file={}", config.display()));
        let owner = std::fs::metadata(self.folder.path()).unwrap();
        if std::os::unix::fs::MetadataExt::uid(&owner) == 0 {
            command.uid(NOBODY).gid(NOBODY);
        }
        let log = std::fs::File::create(self.folder.path().join("log")).unwrap();
        let child = command
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        self.running = Some(child.expect("ClickHouse is not installed: make test-packages"));
        until("ClickHouse answers", || {
            self.try_query("default", "CREATE DATABASE IF NOT EXISTS fleet").is_ok()
        });
    }

    /// Ends it by a signal, and waits until it is gone.
    ///
    /// # Panics
    /// It is not running.
    pub fn end(&mut self, signal: &str) {
        self.signal(signal);
        let mut child = self.running.take().unwrap();
        until("ClickHouse ends", || child.try_wait().unwrap().is_some());
    }

    /// Sends it a signal.
    ///
    /// # Panics
    /// It is not running.
    pub fn signal(&self, signal: &str) {
        let script = format!("kill -{signal} {}", self.running.as_ref().unwrap().id());
        assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success());
    }

    /// URL of its database.
    pub fn url(&self) -> String {
        format!("http://{USER}:{PASSWORD}@127.0.0.1:{}/fleet", self.port)
    }

    /// The same over TLS.
    pub fn tls_url(&self) -> String {
        format!("https://{USER}:{PASSWORD}@127.0.0.1:{}/fleet", self.tls_port)
    }

    /// Rows of a question, one a line, columns with `|` between them.
    ///
    /// # Panics
    /// It cannot be asked.
    pub fn query(&self, sql: &str) -> String {
        self.try_query("fleet", sql).unwrap_or_else(|why| panic!("{sql}: {why}")).replace('\t', "|")
    }

    fn try_query(&self, database: &str, sql: &str) -> std::io::Result<String> {
        let address = format!("http://127.0.0.1:{}/?database={database}", self.port);
        let mut curl = Command::new("curl");
        curl.args(["-s", "--fail-with-body", "--max-time", "10", "-u"]);
        curl.args([&format!("{USER}:{PASSWORD}"), "--data-binary", sql, &address]);
        let output = curl.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
        if output.status.success() { Ok(text) } else { Err(std::io::Error::other(text)) }
    }
}

impl Drop for ClickHouseServer {
    fn drop(&mut self) {
        if let Some(mut child) = self.running.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
