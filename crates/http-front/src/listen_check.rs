//! Check of the listeners that a door's settings name.
//!
//! It opens none. Called by the doors' settings when they are checked.

use vocab::{Complaint, Door, Listen, Scheme};

/// The complaint about a listener that an HTTP door cannot have, at the setting `path`; `no_path`
/// says why its URL has no path.
pub fn check_listen(door: Door, path: &str, listen: &Listen, no_path: &str) -> Option<Complaint> {
    let address = listen.address;
    match listen.scheme {
        scheme if is_spoken(door, scheme) && listen.path.is_empty() => None,
        scheme if is_spoken(door, scheme) => Some(
            Complaint::new(path, no_path).remedy(format!("write {}://{address}", scheme.as_str())),
        ),
        Scheme::Quic => Some(
            Complaint::new(path, format!("the {door} door does not speak HTTP/3 yet"))
                .remedy(format!("write https://{address}")),
        ),
        Scheme::Udp
        | Scheme::Tcp
        | Scheme::Tls
        | Scheme::Http
        | Scheme::Https
        | Scheme::Redirect
        | Scheme::Tproxy => Some(
            Complaint::new(
                path,
                format!("the {door} door does not speak {}", listen.scheme.as_str()),
            )
            .remedy(format!("write http://{address} or https://{address}")),
        ),
    }
}

/// True for a scheme that an HTTP door has listeners of. Only a proxy goes on to where a client has
/// meant to connect.
fn is_spoken(door: Door, scheme: Scheme) -> bool {
    match scheme {
        Scheme::Http | Scheme::Https => true,
        Scheme::Redirect | Scheme::Tproxy => door == Door::Proxy,
        Scheme::Udp | Scheme::Tcp | Scheme::Tls | Scheme::Quic => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_is_an_address_that_speaks_http() {
        let message = |listen: &str| {
            let listen: Listen = listen.parse().expect("a listener");
            check_listen(Door::Web, "listen.0", &listen, "no path here").map(|it| it.message)
        };
        assert_eq!(message("http://127.0.0.1:80"), None);
        assert_eq!(message("https://127.0.0.1:443"), None);
        assert_eq!(message("http://127.0.0.1:80/x").as_deref(), Some("no path here"));
        let udp = message("udp://127.0.0.1:53");
        assert_eq!(udp.as_deref(), Some("the web door does not speak udp"));
        let redirect = message("redirect://127.0.0.1:3129");
        assert_eq!(redirect.as_deref(), Some("the web door does not speak redirect"));
        let quic = message("quic://127.0.0.1:443");
        assert_eq!(quic.as_deref(), Some("the web door does not speak HTTP/3 yet"));
    }
}
