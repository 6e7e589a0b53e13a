//! Logs on real files and sockets.

use super::*;
use std::net::{TcpListener, UdpSocket};
use std::path::PathBuf;
use std::time::Instant;

const PATIENCE: Duration = Duration::from_secs(20);

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("tidegate-sink-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn lines(&self, file: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.0.join(file)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Waits until `file` has so many lines.
    fn until(&self, file: &str, count: usize) -> Vec<String> {
        let begun = Instant::now();
        loop {
            let lines = self.lines(file);
            if lines.len() >= count {
                return lines;
            }
            assert!(begun.elapsed() < PATIENCE, "only {} lines", lines.len());
            std::thread::yield_now();
        }
    }

    fn log(&self) -> LogSink {
        LogSink::open(&LogDestination::of_file("a.log", &self.0)).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn syslog(address: &str) -> LogSink {
    let settings =
        crate::SyslogSettings { address: address.into(), ..crate::SyslogSettings::default() };
    LogSink::open(&LogDestination::of_syslog(&settings, "access").unwrap()).unwrap()
}

fn put(log: &LogSink, line: &str) {
    log.write(|out| out.extend([line.as_bytes(), b"\n"].concat()));
}

#[test]
fn the_last_lines_of_a_quiet_thread_are_fetched_by_the_writer() {
    let folder = Folder::new("quiet");
    let log = folder.log();
    put(&log, "one");
    put(&log, "two");
    assert_eq!(folder.until("a.log", 2), ["one", "two"]);
    put(&log, "three");
    assert_eq!(folder.until("a.log", 3)[2], "three");
}

#[test]
fn a_full_buffer_does_not_wait_for_a_second() {
    let folder = Folder::new("full");
    let log = folder.log();
    let line = "x".repeat(1_000);
    (0..200).for_each(|_| put(&log, &line));
    log.finish(PATIENCE);
    assert_eq!(folder.lines("a.log").len(), 200);
    assert_eq!(log.dropped(), 0);
}

#[test]
fn threads_that_end_leave_no_line_behind_and_tear_none() {
    let folder = Folder::new("end");
    let log = Arc::new(folder.log());
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let log = Arc::clone(&log);
            std::thread::spawn(move || (0..1_000).for_each(|_| put(&log, "a whole line")))
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    drop(log);
    let lines = folder.until("a.log", 4_000);
    assert!(lines.iter().all(|line| line == "a whole line"));
}

#[test]
fn logs_of_one_destination_share_its_writer() {
    let folder = Folder::new("shared");
    let (first, second) = (folder.log(), folder.log());
    assert_eq!(first.writer.number, second.writer.number);
    put(&first, "by the first");
    drop(first);
    put(&second, "by the second");
    second.finish(PATIENCE);
    assert_eq!(folder.lines("a.log"), ["by the first", "by the second"]);
}

#[test]
fn a_file_that_was_moved_is_opened_anew_with_all_others() {
    let folder = Folder::new("rotate");
    let log = folder.log();
    put(&log, "before");
    log.finish(PATIENCE);
    std::fs::rename(folder.0.join("a.log"), folder.0.join("a.log.1")).unwrap();
    put(&log, "still before");
    crate::reopen_all();
    log.finish(PATIENCE);
    put(&log, "after");
    log.finish(PATIENCE);
    assert_eq!(folder.lines("a.log.1"), ["before", "still before"]);
    assert_eq!(folder.lines("a.log"), ["after"]);
}

#[test]
fn a_disk_that_takes_nothing_costs_lines_and_nothing_else() {
    let log = LogSink::open(&LogDestination::File("/dev/full".into())).unwrap();
    put(&log, "lost");
    log.finish(PATIENCE);
    assert_eq!(log.dropped(), 1);
}

#[test]
fn a_reader_that_reads_nothing_costs_what_does_not_fit_and_never_time() {
    let folder = Folder::new("stuck");
    let path = folder.0.join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    // Open for reading too, so that the writer's opening does not wait; nobody reads.
    let held = std::fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let log = LogSink::open(&LogDestination::File(path)).unwrap();
    let line = "x".repeat(10_000);
    (0..2_000).for_each(|_| put(&log, &line));
    assert!(log.dropped() > 0, "20 MB are more than pipe and queue hold");
    drop((log, held));
}

#[test]
fn each_line_is_a_datagram_of_syslog() {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    server.set_read_timeout(Some(PATIENCE)).unwrap();
    let log = syslog(&format!("udp://{}", server.local_addr().unwrap()));
    put(&log, "first");
    put(&log, "second");
    for expected in ["first", "second"] {
        let mut bytes = [0; 2048];
        let read = server.recv(&mut bytes).unwrap();
        let text = String::from_utf8_lossy(&bytes[..read]).into_owned();
        assert!(text.starts_with("<30>1 ") && text.ends_with(expected), "{text}");
    }
}

#[test]
fn a_server_that_went_away_and_came_back_gets_what_comes_then() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    let log = syslog(&format!("tcp://{address}"));
    let read_one = |server: &TcpListener| {
        let (stream, _) = server.accept().unwrap();
        let mut reader = std::io::BufReader::new(stream);
        let mut length = Vec::new();
        std::io::BufRead::read_until(&mut reader, b' ', &mut length).unwrap();
        let length = String::from_utf8(length).unwrap().trim().parse::<usize>().unwrap();
        let mut message = vec![0; length];
        std::io::Read::read_exact(&mut reader, &mut message).unwrap();
        String::from_utf8(message).unwrap()
    };
    log.write_now(b"here\n".to_vec(), LineSeverity::Warning);
    assert!(read_one(&server).starts_with("<28>1 "));
    // It hangs up after each message, and the next comes over a new connection.
    log.finish(PATIENCE);
    log.write_now(b"again\n".to_vec(), LineSeverity::Info);
    assert!(read_one(&server).ends_with(" again"));
    drop(server);
    log.write_now(b"lost\n".to_vec(), LineSeverity::Info);
    log.finish(PATIENCE);
    assert_eq!(log.dropped(), 1);
}

/// An entry as the journal gets it: of a datagram, or of the sealed file that came with it.
fn entry(journal: &std::os::unix::net::UnixDatagram) -> Vec<u8> {
    use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
    let mut bytes = vec![0; 1 << 16];
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut parts = [std::io::IoSliceMut::new(&mut bytes)];
    let read = recvmsg(journal, &mut parts, &mut ancillary, RecvFlags::empty()).unwrap().bytes;
    let handed = ancillary.drain().find_map(|it| match it {
        RecvAncillaryMessage::ScmRights(mut all) => all.next(),
        _ => None,
    });
    let Some(handed) = handed else { return bytes[..read].to_vec() };
    assert_eq!(read, 0);
    let seals = rustix::fs::fcntl_get_seals(&handed).unwrap();
    assert!(seals.contains(rustix::fs::SealFlags::WRITE | rustix::fs::SealFlags::SHRINK));
    // As the journal reads it: from the beginning, wherever the writer was.
    let mut whole = Vec::new();
    let mut file = std::fs::File::from(handed);
    std::io::Seek::rewind(&mut file).unwrap();
    std::io::Read::read_to_end(&mut file, &mut whole).unwrap();
    whole
}

#[test]
fn each_entry_is_a_datagram_of_the_journal_and_a_large_one_a_sealed_file() {
    let folder = Folder::new("journal");
    let place = folder.0.join("socket");
    let destination = LogDestination::Journal(place.clone());
    assert!(LogSink::open(&destination).is_err(), "nobody listens");
    let journal = std::os::unix::net::UnixDatagram::bind(&place).unwrap();
    journal.set_read_timeout(Some(PATIENCE)).unwrap();
    let log = LogSink::open(&destination).unwrap();
    assert_eq!(entry(&journal), b"", "the journal passes over it");
    log.write_now(b"MESSAGE=a\nPRIORITY=4\n".to_vec(), LineSeverity::Warning);
    assert_eq!(entry(&journal), b"MESSAGE=a\nPRIORITY=4\n");
    let large = [b"MESSAGE=".as_slice(), &vec![b'x'; 4 << 20], b"\n"].concat();
    log.write_now(large.clone(), LineSeverity::Warning);
    assert!(entry(&journal) == large);
    // One that is started anew has another socket at the same place.
    drop(journal);
    std::fs::remove_file(&place).unwrap();
    let before = lost_in_journals();
    log.write_now(b"MESSAGE=lost\n".to_vec(), LineSeverity::Warning);
    log.finish(PATIENCE);
    assert_eq!((log.dropped(), lost_in_journals() - before), (1, 1));
    let journal = std::os::unix::net::UnixDatagram::bind(&place).unwrap();
    journal.set_read_timeout(Some(PATIENCE)).unwrap();
    log.write_now(b"MESSAGE=b\n".to_vec(), LineSeverity::Warning);
    assert_eq!(entry(&journal), b"MESSAGE=b\n");
    // What is lost is counted on when the writer is gone.
    drop(log);
    assert_eq!(lost_in_journals() - before, 1);
}

fn lost_in_journals() -> u64 {
    let all = crate::lost_lines();
    all.iter().find(|(kind, _)| kind.as_str() == "journal").unwrap().1
}
