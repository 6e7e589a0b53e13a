//! Load for DNS over QUIC, which dnsperf has not, and over HTTPS, where dnsperf 2.10 waits for
//! delayed acknowledgements and loses answers of some servers. A number of connections share a
//! number of questions in flight, for some seconds.
//!
//!     secure-load doh|doq ADDRESS:PORT FILE CLIENTS OUTSTANDING SECONDS
//!
//! FILE holds `NAME TYPE [ADDRESS]` a line; an answer without that address is an error and ends
//! the run. It believes any certificate, and prints its figures in dnsperf's words.

mod message;
mod session;
mod trust;

use message::Question;
use session::Session;
use std::error::Error;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// How long one answer may take before it counts as lost; dnsperf's default.
const PATIENCE: Duration = Duration::from_secs(5);

type Failure = Box<dyn Error>;

/// What one worker saw.
#[derive(Default)]
struct Seen {
    completed: u64,
    lost: u64,
    codes: [u64; 16],
    /// Sum and sum of squares of the latencies, in seconds.
    total: f64,
    squares: f64,
}

impl Seen {
    fn add(&mut self, other: &Self) {
        self.completed += other.completed;
        self.lost += other.lost;
        self.total += other.total;
        self.squares += other.squares;
        for (mine, theirs) in self.codes.iter_mut().zip(other.codes) {
            *mine += theirs;
        }
    }

    fn print(&self, took: Duration) {
        const WORDS: [&str; 6] =
            ["NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED"];
        let completed = self.completed.max(1) as f64;
        let mean = self.total / completed;
        let deviation = (self.squares / completed - mean * mean).max(0.0).sqrt();
        let codes: Vec<String> = (WORDS.iter().zip(self.codes))
            .filter(|(_, count)| *count > 0)
            .map(|(word, count)| {
                format!("{word} {count} ({:.2}%)", 100.0 * count as f64 / completed)
            })
            .collect();
        println!("  Queries completed:    {}", self.completed);
        println!("  Queries lost:         {}", self.lost);
        println!("  Response codes:       {}", codes.join(", "));
        println!("  Queries per second:   {:.6}", self.completed as f64 / took.as_secs_f64());
        println!("  Average Latency (s):  {mean:.6}");
        println!("  Latency StdDev (s):   {deviation:.6}");
    }
}

async fn work(
    session: Session,
    questions: Rc<Vec<Question>>,
    first: usize,
    step: usize,
    until: Instant,
) -> Result<Seen, String> {
    let mut seen = Seen::default();
    let mut at = first;
    while Instant::now() < until {
        let question = &questions[at % questions.len()];
        at += step;
        let begun = Instant::now();
        match tokio::time::timeout(PATIENCE, session.ask(question)).await {
            Ok(Ok(code)) => {
                let latency = begun.elapsed().as_secs_f64();
                seen.completed += 1;
                seen.codes[usize::from(code)] += 1;
                seen.total += latency;
                seen.squares += latency * latency;
            }
            Ok(Err(why)) => return Err(format!("{}: {why}", question.name)),
            Err(_) => seen.lost += 1,
        }
    }
    Ok(seen)
}

async fn run(args: &[String]) -> Result<(), Failure> {
    let [way, server, file, clients, outstanding, seconds] = args else {
        return Err(
            "usage: secure-load doh|doq ADDRESS:PORT FILE CLIENTS OUTSTANDING SECONDS".into()
        );
    };
    let server: SocketAddr = server.parse()?;
    let questions = Rc::new(message::read_file(&std::fs::read_to_string(file)?)?);
    let (clients, outstanding): (usize, usize) = (clients.parse()?, outstanding.parse()?);
    let mut sessions = Vec::new();
    for _ in 0..clients {
        sessions.push(Session::open(way, server).await?);
    }
    let begun = Instant::now();
    let until = begun + Duration::from_secs(seconds.parse()?);
    let workers: Vec<_> = (0..outstanding)
        .map(|number| {
            let session = sessions[number % clients].clone();
            let questions = Rc::clone(&questions);
            tokio::task::spawn_local(work(session, questions, number, outstanding, until))
        })
        .collect();
    let mut all = Seen::default();
    for worker in workers {
        all.add(&worker.await??);
    }
    all.print(begun.elapsed());
    Ok(())
}

fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    tokio::task::LocalSet::new().block_on(&runtime, run(&args))
}
