//! The script by which browsers choose a proxy for each URL (`FindProxyForURL`).
//!
//! Only text: what may go past the proxy, and where the proxy is. Nothing in it comes unchecked
//! from a request. Called by `own`.

use crate::settings::{PacFallback, PacSettings, ParentHosts};
use http_front::ConnectionSecurity;
use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr};
use vocab::Network;

const HEAD: &str = "function FindProxyForURL(url, host) {
  host = host.toLowerCase();
  var v4 = /^[0-9]+(\\.[0-9]+){3}$/.test(host);
  var v6 = host.indexOf(':') >= 0;
  function below(name) {
    return host === name || host.slice(-name.length - 1) === '.' + name;
  }
  if (!v6 && host.indexOf('.') < 0) return 'DIRECT';
  if (below('local') || below('localhost')) return 'DIRECT';
";

/// Hosts that go past the proxy always: what another machine cannot reach for its clients.
const DIRECT_NETWORKS: [&str; 4] = ["127.0.0.0/8", "169.254.0.0/16", "::1/128", "fe80::/10"];

/// The script for a proxy at `address`, `host:port`.
pub(crate) fn script(
    security: ConnectionSecurity,
    address: &str,
    settings: &PacSettings,
) -> String {
    let mut script = HEAD.to_owned();
    let near =
        DIRECT_NETWORKS.iter().filter_map(|text| text.parse().ok()).map(ParentHosts::Network);
    for place in near.chain(settings.bypass.iter().map(|place| place.0.clone())) {
        // Writing to a string cannot fail.
        let _ = writeln!(script, "  if ({}) return 'DIRECT';", condition(&place));
    }
    let keyword = match security {
        ConnectionSecurity::Plain => "PROXY",
        ConnectionSecurity::Tls(()) => "HTTPS",
    };
    let otherwise = match settings.fallback {
        PacFallback::None => "",
        PacFallback::Direct => "; DIRECT",
    };
    let _ = writeln!(script, "  return '{keyword} {address}{otherwise}';\n}}");
    script
}

fn condition(place: &ParentHosts) -> String {
    match place {
        ParentHosts::Subtree(name) => format!("below('{name}')"),
        ParentHosts::Network(network) => of_network(network),
    }
}

/// Only for hosts that are given by an address: a browser would look a name up for this, past us.
fn of_network(network: &Network) -> String {
    let (address, bits) = (network.address(), network.prefix());
    match address {
        IpAddr::V4(v4) => {
            let mask = Ipv4Addr::from(u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0));
            format!("v4 && isInNet(host, '{v4}', '{mask}')")
        }
        IpAddr::V6(v6) => {
            format!("v6 && typeof isInNetEx === 'function' && isInNetEx(host, '{v6}/{bits}')")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use settings::Text;

    #[test]
    fn the_script_says_what_goes_where() {
        let bypass = ["lan.example", "10.0.0.0/8", "fd00::/8"];
        let settings = PacSettings {
            bypass: bypass.map(|place| Text(place.parse().unwrap())).to_vec(),
            fallback: PacFallback::Direct,
        };
        let script = script(ConnectionSecurity::Tls(()), "p.example:3129", &settings);
        for line in [
            "if (below('lan.example')) return 'DIRECT';",
            "if (v4 && isInNet(host, '10.0.0.0', '255.0.0.0')) return 'DIRECT';",
            "isInNetEx(host, 'fd00::/8')",
            "if (v4 && isInNet(host, '127.0.0.0', '255.0.0.0')) return 'DIRECT';",
            "return 'HTTPS p.example:3129; DIRECT';",
        ] {
            assert!(script.contains(line), "{line}: {script}");
        }
    }
}
