//! Real clients: curl, dig, openssl; and a bare one that asks from any address.

use crate::wait;
use rustix::net::{AddressFamily, SocketType};
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::process::{Command, Stdio};

/// Runs curl quietly; the status (0 when there was no answer) and the body.
pub fn curl(args: &[&str]) -> (u16, String) {
    let output = Command::new("curl")
        .args(["-sS", "--max-time", "20", "-w", "\n%{http_code}"])
        .args(args)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (body, status) = text.rsplit_once('\n').unwrap_or(("", "0"));
    (status.parse().unwrap_or(0), body.to_owned())
}

/// The same with the head of the answer in front of the body.
pub fn curl_with_head(args: &[&str]) -> (u16, String) {
    let mut all = vec!["-i"];
    all.extend(args);
    curl(&all)
}

/// Runs dig against `server` and returns what it prints.
pub fn dig(server: SocketAddr, args: &[&str]) -> String {
    let output = Command::new("dig")
        .arg(format!("@{}", server.ip()))
        .args(["-p", &server.port().to_string(), "+tries=1", "+time=10"])
        .args(args)
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The answer section alone, a record a line.
pub fn dig_short(server: SocketAddr, args: &[&str]) -> String {
    let mut all = vec!["+short"];
    all.extend(args);
    dig(server, &all)
}

/// What `openssl s_client` says of the handshake with `name` at `server`.
pub fn openssl(server: SocketAddr, name: &str, args: &[&str]) -> String {
    let output = Command::new("openssl")
        .args(["s_client", "-connect", &server.to_string(), "-servername", name])
        .args(args)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text += &String::from_utf8_lossy(&output.stderr);
    text
}

/// Bytes that a server sends to a client with this address, up to the end.
pub fn said(client: Ipv4Addr, server: SocketAddr, head: &str) -> Vec<u8> {
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    rustix::net::bind(&socket, &SocketAddr::new(IpAddr::V4(client), 0)).unwrap();
    rustix::net::connect(&socket, &server).unwrap();
    let mut stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(wait::DEADLINE)).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = Vec::new();
    // A reset after the answer is as good as its end.
    let _ = stream.read_to_end(&mut answer);
    answer
}
