//! Out of file descriptors. In a program of its own: the limit is the whole process's.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::Read;
use std::net::TcpStream;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};
use transport::{ConnectionLimits, Cores, Drain, WaitForData, accept_loop, listen_tcp_per_core};

fn limit(descriptors: u64) {
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: Some(descriptors), maximum }).unwrap();
}

#[test]
fn running_out_of_descriptors_pauses_accepting_and_loses_nobody() {
    let any = "127.0.0.1:0".parse().unwrap();
    let listener = listen_tcp_per_core(any, WaitForData::No, 1, &[]).unwrap().remove(0);
    let mut client = TcpStream::connect(listener.local_addr()).unwrap();
    let cores = Cores::start(NonZeroUsize::MIN).unwrap();
    let before = getrlimit(Resource::Nofile).current.unwrap();
    // Every descriptor up to the limit is taken.
    limit(64);
    let mut hoard = Vec::new();
    while let Ok(file) = std::fs::File::open("/dev/null") {
        hoard.push(file);
    }
    let limits = ConnectionLimits::default();
    let counted = limits.clone();
    cores
        .spawn(0, move || async move {
            accept_loop(listener, limits, Drain::new(), |stream| async { drop(stream) })
                .await
                .unwrap();
        })
        .unwrap();
    let start = Instant::now();
    while counted.counts().exhausted < 3 {
        assert!(start.elapsed() < Duration::from_secs(20));
        std::thread::yield_now();
    }
    // Two pauses lie between three failures: it does not spin.
    assert!(start.elapsed() >= Duration::from_millis(100));
    drop(hoard);
    limit(before);
    assert_eq!(client.read(&mut [0]).unwrap(), 0);
    assert_eq!(counted.counts().accepted, 1);
}
