//! Batched UDP over real sockets.
#![allow(clippy::unwrap_used)] // A test that cannot set itself up has failed.

use std::net::{SocketAddr, UdpSocket as Client};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use transport::udp::{
    DATAGRAM_BYTES_MAX, DatagramBatch, DatagramOrigin, ReceiveOutcome, UdpReceiver, UdpSocket,
    listen_udp,
};

const DEADLINE: Duration = Duration::from_secs(10);

fn listen(address: &str) -> Arc<UdpSocket> {
    let mut sockets = listen_udp(address.parse().unwrap(), 1).unwrap();
    Arc::new(sockets.pop().unwrap())
}

fn client(bind: &str, server: SocketAddr) -> Client {
    let client = Client::bind(bind).unwrap();
    client.set_read_timeout(Some(DEADLINE)).unwrap();
    client.connect(server).unwrap();
    client
}

/// Waits for what a receive brings.
fn receive(batch: &mut DatagramBatch, socket: &Arc<UdpSocket>) -> std::io::Result<ReceiveOutcome> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let receiver = UdpReceiver::new(Arc::clone(socket))?;
        tokio::time::timeout(DEADLINE, receiver.receive(batch)).await.unwrap()
    })
}

/// Receives until something came and hands each datagram to `each`; what that writes is sent.
fn serve(
    socket: &Arc<UdpSocket>,
    mut each: impl FnMut(&[u8], DatagramOrigin, &mut Vec<u8>),
) -> usize {
    let mut batch = DatagramBatch::new();
    let ReceiveOutcome::Datagrams(count) = receive(&mut batch, socket).unwrap() else { return 0 };
    for index in 0..count {
        if let Some(datagram) = batch.datagram(index) {
            let origin = datagram.route.origin();
            each(datagram.bytes, origin, datagram.reply);
        }
    }
    assert_eq!(batch.send(socket), 0, "the kernel refused a reply");
    count
}

fn read(client: &Client) -> Vec<u8> {
    let mut bytes = vec![0; 65_535];
    let length = client.recv(&mut bytes).unwrap();
    bytes[..length].to_vec()
}

/// A connected client hears only the address it asked, so receiving proves the source address.
fn replies_come_from(bind: &str, local: &str, asked: &str) {
    let socket = listen(bind);
    let server = SocketAddr::new(asked.parse().unwrap(), socket.local().port());
    let client = client(local, server);
    client.send(b"batched").unwrap();
    serve(&socket, |bytes, _, reply| reply.extend_from_slice(bytes));
    assert_eq!(read(&client), b"batched");

    client.send(b"single").unwrap();
    let mut origin = None;
    serve(&socket, |_, from, _| origin = Some(from));
    let from_elsewhere = Arc::clone(&socket);
    thread::spawn(move || from_elsewhere.reply(&origin.unwrap(), b"later").unwrap())
        .join()
        .unwrap();
    assert_eq!(read(&client), b"later");
}

#[test]
fn a_bound_socket_replies_from_its_address() {
    replies_come_from("127.0.0.1:0", "127.0.0.1:0", "127.0.0.1");
}

#[test]
fn a_wildcard_socket_replies_from_the_address_asked() {
    replies_come_from("0.0.0.0:0", "127.0.0.1:0", "127.0.0.77");
}

#[test]
fn an_ipv6_wildcard_replies_from_the_address_asked_and_leaves_ipv4_alone() {
    if Client::bind("[::1]:0").is_err() {
        return; // No IPv6 on this machine.
    }
    replies_come_from("[::]:0", "[::1]:0", "::1");
    // The port may be another's for IPv4; not that of each.
    let is_free_beside = |_| {
        let six = listen("[::]:0");
        let beside = SocketAddr::new([0, 0, 0, 0].into(), six.local().port());
        listen_udp(beside, 1).is_ok()
    };
    assert!((0..8).any(is_free_beside));
}

#[test]
fn a_datagram_says_who_sent_it() {
    let socket = listen("127.0.0.1:0");
    let client = client("127.0.0.1:0", socket.local());
    client.send(b"who").unwrap();
    let mut batch = DatagramBatch::new();
    assert_eq!(receive(&mut batch, &socket).unwrap(), ReceiveOutcome::Datagrams(1));
    assert_eq!(batch.datagram(0).unwrap().peer, client.local_addr().unwrap());
    assert!(batch.datagram(1).is_none());
}

#[test]
fn a_burst_of_4096_queries_loses_none() {
    let socket = listen("127.0.0.1:0");
    // Where net.core.rmem_max is small and we may not exceed it, the burst is what must fit.
    let burst = u32::try_from(socket.receive_buffer_bytes().unwrap() / 1280).unwrap().min(4096);
    let client = client("127.0.0.1:0", socket.local());
    for number in 0..burst {
        let mut query = [0; 64];
        query[..4].copy_from_slice(&number.to_be_bytes());
        client.send(&query).unwrap();
    }
    let (mut batch, mut next) = (DatagramBatch::new(), 0u32);
    while next < burst {
        let ReceiveOutcome::Datagrams(count) = receive(&mut batch, &socket).unwrap() else {
            unreachable!()
        };
        for index in 0..count {
            let datagram = batch.datagram(index).unwrap();
            assert_eq!(datagram.bytes[..4], next.to_be_bytes());
            next += 1;
        }
    }
}

#[test]
fn an_overlong_datagram_is_marked_and_the_next_one_is_whole() {
    let socket = listen("127.0.0.1:0");
    let client = client("127.0.0.1:0", socket.local());
    client.send(&vec![7; DATAGRAM_BYTES_MAX + 1]).unwrap();
    client.send(&vec![7; DATAGRAM_BYTES_MAX]).unwrap();
    client.send(b"").unwrap();
    let (mut batch, mut seen) = (DatagramBatch::new(), Vec::new());
    while seen.len() < 3 {
        let ReceiveOutcome::Datagrams(count) = receive(&mut batch, &socket).unwrap() else {
            unreachable!()
        };
        for index in 0..count {
            let datagram = batch.datagram(index).unwrap();
            seen.push((datagram.bytes.len(), datagram.cut));
        }
    }
    assert_eq!(seen, [(DATAGRAM_BYTES_MAX, true), (DATAGRAM_BYTES_MAX, false), (0, false)]);
}

#[test]
fn replies_that_were_never_sent_do_not_leak_into_the_next_batch() {
    let socket = listen("127.0.0.1:0");
    let client = client("127.0.0.1:0", socket.local());
    let mut batch = DatagramBatch::new();
    for _ in 0..2 {
        client.send(b"x").unwrap();
        assert_eq!(receive(&mut batch, &socket).unwrap(), ReceiveOutcome::Datagrams(1));
        let datagram = batch.datagram(0).unwrap();
        assert!(datagram.reply.is_empty());
        datagram.reply.extend_from_slice(b"unsent");
    }
}

#[test]
fn stop_finishes_what_has_arrived_and_wakes_a_waiting_thread() {
    let socket = listen("127.0.0.1:0");
    let client = client("127.0.0.1:0", socket.local());
    client.send(b"early").unwrap();
    socket.stop();
    assert_eq!(serve(&socket, |_, _, reply| reply.extend_from_slice(b"still served")), 1);
    assert_eq!(read(&client), b"still served");
    assert_eq!(receive(&mut DatagramBatch::new(), &socket).unwrap(), ReceiveOutcome::Stopped);

    let waiting = listen("0.0.0.0:0");
    let thread = thread::spawn({
        let waiting = Arc::clone(&waiting);
        move || {
            let mut batch = DatagramBatch::new();
            while let ReceiveOutcome::Datagrams(count) = receive(&mut batch, &waiting).unwrap() {
                assert!((0..count).all(|index| batch.datagram(index).is_none()));
            }
        }
    });
    let begun = Instant::now();
    waiting.stop();
    thread.join().unwrap();
    assert!(begun.elapsed() < DEADLINE);
}

#[test]
fn several_sockets_share_a_port_and_a_stranger_finds_it_taken() {
    let sockets = listen_udp("127.0.0.1:0".parse().unwrap(), 3).unwrap();
    let address = sockets[0].local();
    assert!(sockets.iter().all(|socket| socket.local() == address));
    let taken = listen_udp(address, 1).unwrap_err().to_string();
    assert!(taken.contains(&address.to_string()), "{taken}");

    let sockets: Vec<_> = sockets.into_iter().map(Arc::new).collect();
    let threads: Vec<_> = sockets
        .iter()
        .map(|socket| {
            let socket = Arc::clone(socket);
            thread::spawn(move || {
                let (mut batch, mut served) = (DatagramBatch::new(), 0);
                while let ReceiveOutcome::Datagrams(count) = receive(&mut batch, &socket).unwrap() {
                    for index in 0..count {
                        let Some(datagram) = batch.datagram(index) else { continue };
                        datagram.reply.extend_from_slice(datagram.bytes);
                        served += 1;
                    }
                    batch.send(&socket);
                }
                served
            })
        })
        .collect();
    for _ in 0..64 {
        let client = client("127.0.0.1:0", address);
        client.send(b"spread").unwrap();
        assert_eq!(read(&client), b"spread");
    }
    for socket in &sockets {
        socket.stop();
    }
    let served: usize = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    assert_eq!(served, 64);
}

#[test]
fn the_receive_buffer_is_large_where_the_kernel_lets_us() {
    let allowed: usize =
        std::fs::read_to_string("/proc/sys/net/core/rmem_max").unwrap().trim().parse().unwrap();
    let socket = listen("127.0.0.1:0");
    // Linux reports twice what was granted: the half is for its own bookkeeping.
    assert!(socket.receive_buffer_bytes().unwrap() >= 2 * allowed.min(4 << 20));
}
