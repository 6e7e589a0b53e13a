//! A receiver of the OpenTelemetry protocol over HTTP that the test controls: it keeps what it is
//! sent, decoded by the protocol's own messages, and answers as it is told.

use crate::wait;
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::metrics::v1::Metric;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

/// A request that a collector got.
#[derive(Clone, Debug)]
pub struct Export {
    /// Request line and fields.
    pub head: String,
    /// As it was sent.
    pub body: Vec<u8>,
    /// As it was answered.
    pub status: u16,
}

/// Answer that a collector gives next: a status, further fields, a body.
pub type Answer = (u16, &'static str, &'static [u8]);

#[derive(Debug, Default)]
struct State {
    exports: Vec<Export>,
    answers: VecDeque<Answer>,
    is_silent: bool,
}

/// A collector.
#[derive(Debug)]
pub struct Collector {
    pub address: SocketAddr,
    state: Arc<Mutex<State>>,
}

impl Default for Collector {
    fn default() -> Self {
        Self::start()
    }
}

impl Collector {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(State::default()));
        let kept = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let state = Arc::clone(&kept);
                std::thread::spawn(move || {
                    let _ = serve(stream, &state);
                });
            }
        });
        Self { address, state }
    }

    /// The value of `endpoint`.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Answers the next requests so, and all others well.
    pub fn answer(&self, answers: &[Answer]) {
        self.state.lock().unwrap().answers.extend(answers);
    }

    /// Takes requests and answers none, from now on.
    pub fn silence(&self) {
        self.state.lock().unwrap().is_silent = true;
    }

    /// Requests so far whose path ends so.
    pub fn exports(&self, path: &str) -> Vec<Export> {
        let state = self.state.lock().unwrap();
        let line = |it: &&Export| it.head.split(' ').nth(1).is_some_and(|it| it.ends_with(path));
        state.exports.iter().filter(line).cloned().collect()
    }

    /// Spans of requests that were answered well.
    pub fn spans(&self) -> Vec<Span> {
        let decoded: Vec<ExportTraceServiceRequest> = taken(&self.exports("/v1/traces"));
        let of = decoded.into_iter().flat_map(|it| it.resource_spans);
        of.flat_map(|it| it.scope_spans).flat_map(|it| it.spans).collect()
    }

    /// Log records of requests that were answered well.
    pub fn records(&self) -> Vec<LogRecord> {
        let decoded: Vec<ExportLogsServiceRequest> = taken(&self.exports("/v1/logs"));
        let of = decoded.into_iter().flat_map(|it| it.resource_logs);
        of.flat_map(|it| it.scope_logs).flat_map(|it| it.log_records).collect()
    }

    /// Metrics of the last request that was answered well.
    pub fn metrics(&self) -> Vec<Metric> {
        let decoded: Vec<ExportMetricsServiceRequest> = taken(&self.exports("/v1/metrics"));
        let of = decoded.into_iter().next_back().into_iter().flat_map(|it| it.resource_metrics);
        of.flat_map(|it| it.scope_metrics).flat_map(|it| it.metrics).collect()
    }

    /// Waits for so many spans, and gives all.
    pub fn wait_for_spans(&self, count: usize) -> Vec<Span> {
        wait::until(&format!("{count} spans"), || {
            let spans = self.spans();
            (spans.len() >= count).then_some(spans)
        })
    }
}

fn taken<T: Message + Default>(exports: &[Export]) -> Vec<T> {
    let well = exports.iter().filter(|it| it.status == 200);
    well.map(|it| T::decode(&body(it)[..]).expect("messages of the protocol")).collect()
}

/// A body without its compression.
fn body(export: &Export) -> Vec<u8> {
    if !export.head.to_ascii_lowercase().contains("content-encoding: gzip") {
        return export.body.clone();
    }
    let mut gzip = Command::new("gzip")
        .arg("-dc")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut input, packed) = (gzip.stdin.take().unwrap(), export.body.clone());
    let writer = std::thread::spawn(move || input.write_all(&packed));
    let plain = gzip.wait_with_output().unwrap().stdout;
    writer.join().unwrap().unwrap();
    plain
}

fn serve(stream: TcpStream, state: &Mutex<State>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head)? == 0 {
                return Ok(());
            }
        }
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
        });
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body)?;
        let (status, fields, text) = {
            let mut state = state.lock().unwrap();
            let (status, fields, text) = state.answers.pop_front().unwrap_or((200, "", b""));
            state.exports.push(Export { head, body, status });
            if state.is_silent {
                drop(state);
                std::thread::park();
            }
            (status, fields, text)
        };
        let head = format!("HTTP/1.1 {status} x\r\ncontent-length: {}\r\n{fields}\r\n", text.len());
        stream.write_all(head.as_bytes())?;
        stream.write_all(text)?;
    }
}

/// The value of a text attribute, or of a number in digits.
pub fn attribute(attributes: &[KeyValue], name: &str) -> Option<String> {
    let found = attributes.iter().find(|it| it.key == name)?;
    text(found.value.as_ref()?)
}

/// A value as text.
pub fn text(value: &AnyValue) -> Option<String> {
    match value.value.as_ref()? {
        Value::StringValue(text) => Some(text.clone()),
        Value::IntValue(number) => Some(number.to_string()),
        Value::DoubleValue(number) => Some(number.to_string()),
        Value::BoolValue(it) => Some(it.to_string()),
        _ => None,
    }
}
