//! One question by multicast DNS (RFC 6762): to the link of a device, for its name, with the answer
//! to come to us alone.
//!
//! It is sent from an address of ours on that link, so that it leaves there and nowhere else, and
//! only an answer from the device itself counts. IPv4 only: with IPv6 the link is a number beside
//! the address, which the log has not. Called by look-ups, on a thread that may wait.

use crate::reverse::{answered_name, multicast_question};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};
use vocab::Name;

/// Where devices listen for questions.
const GROUP: (Ipv4Addr, u16) = (Ipv4Addr::new(224, 0, 0, 251), 5353);
/// Time that a device has for its answer.
const PATIENCE: Duration = Duration::from_secs(1);
/// Messages that are looked at, from whomever they are.
const MESSAGES_MAX: usize = 16;

/// Asks a device for its name.
pub(crate) fn ask(device: Ipv4Addr, name: Name<'_>, id: u16) -> io::Result<Option<String>> {
    ask_at(device, name, id, SocketAddr::from(GROUP))
}

fn ask_at(
    device: Ipv4Addr,
    name: Name<'_>,
    id: u16,
    group: SocketAddr,
) -> io::Result<Option<String>> {
    let Some(question) = multicast_question(name, id) else { return Ok(None) };
    // Sends nothing: it says by which address of ours the device is reached.
    let way = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    way.connect((device, 9))?;
    // The kernel sends to a group by the interface that has the socket's address.
    let socket = UdpSocket::bind((way.local_addr()?.ip(), 0))?;
    socket.set_multicast_loop_v4(false)?;
    socket.send_to(&question, group)?;
    let end = Instant::now() + PATIENCE;
    let mut message = [0; 1500];
    for _ in 0..MESSAGES_MAX {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        socket.set_read_timeout(Some(left))?;
        let (bytes, from) = match socket.recv_from(&mut message) {
            Ok(received) => received,
            Err(why)
                if matches!(why.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) =>
            {
                break;
            }
            Err(why) => return Err(why),
        };
        if from.ip() == IpAddr::V4(device)
            && let Some(found) = answered_name(&message[..bytes], name, id)
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reverse::reverse_name;

    #[test]
    fn a_device_that_is_asked_answers_and_a_silent_one_costs_a_second() {
        let device = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let place = device.local_addr().unwrap();
        let asked = reverse_name(Ipv4Addr::LOCALHOST.into()).unwrap();
        let answering = std::thread::spawn(move || {
            let mut question = [0; 512];
            let (bytes, from) = device.recv_from(&mut question).unwrap();
            let mut answer = question[..bytes].to_vec();
            (answer[2], answer[7]) = (0x84, 1);
            answer.extend_from_slice(&[0xc0, 12, 0, 12, 0x80, 1, 0, 0, 0, 10, 0, 7]);
            answer.extend_from_slice(b"\x05phone\0");
            device.send_to(b"noise", from).unwrap();
            device.send_to(&answer, from).unwrap();
            device
        });
        let named = ask_at(Ipv4Addr::LOCALHOST, asked.as_name(), 77, place).unwrap();
        assert_eq!(named.as_deref(), Some("phone"));
        let _silent = answering.join().unwrap();
        let begun = Instant::now();
        assert_eq!(ask_at(Ipv4Addr::LOCALHOST, asked.as_name(), 78, place).unwrap(), None);
        assert!(begun.elapsed() >= PATIENCE);
    }
}
