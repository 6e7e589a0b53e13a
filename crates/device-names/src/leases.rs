//! Lease files of DHCP servers: dnsmasq's, ISC dhcpd's and Kea's, told apart by what is in them.
//!
//! Lines that are of no use are passed over. Of one address the last lease counts, as servers
//! append. Called where a file is read; a parser for the fuzzer too.

use crate::clean_name::clean_name;
use std::collections::HashMap;
use std::net::IpAddr;
use vocab::MacAddress;

/// Leases of one file that are kept; those beyond are passed over.
pub const LEASES_MAX: usize = 16_384;

/// A device with an address of a DHCP server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceLease {
    /// Hardware address, where the server knows it.
    pub mac: Option<MacAddress>,
    /// Name that the device gave itself, made fit to be shown; none where it gave none.
    pub name: Option<String>,
    /// End, in seconds since 1970; none where there is none, or the file tells it otherwise.
    pub until_s: Option<u64>,
}

/// Leases by their addresses.
pub type LeaseTable = HashMap<IpAddr, DeviceLease>;

/// Reads the text of a lease file.
pub fn parse_leases(text: &str) -> LeaseTable {
    let mut table = LeaseTable::new();
    if text.trim_start().starts_with("address,") {
        read_kea(text, &mut table);
    } else if text.lines().any(|line| line.starts_with("lease ") && line.contains('{')) {
        read_isc(text, &mut table);
    } else {
        read_dnsmasq(text, &mut table);
    }
    table
}

fn put(table: &mut LeaseTable, address: IpAddr, lease: DeviceLease) {
    if table.len() < LEASES_MAX || table.contains_key(&address) {
        table.insert(address, lease);
    }
}

/// `END MAC ADDRESS NAME CLIENT-ID` a line; of IPv6 an identifier stands in place of the MAC.
fn read_dnsmasq(text: &str, table: &mut LeaseTable) {
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let (Some(end), Some(mac), Some(address), Some(name)) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            continue;
        };
        let (Ok(end), Ok(address)) = (end.parse::<u64>(), address.parse()) else { continue };
        let lease = DeviceLease {
            mac: mac.parse().ok(),
            name: clean_name(name),
            until_s: Some(end).filter(|end| *end > 0),
        };
        put(table, address, lease);
    }
}

/// Blocks `lease ADDRESS { … }` of statements that end in a semicolon (dhcpd.leases(5)).
fn read_isc(text: &str, table: &mut LeaseTable) {
    let mut open: Option<(IpAddr, DeviceLease, LeaseState)> = None;
    for line in text.lines() {
        let line = line.trim();
        if let Some(rest) = line.strip_prefix("lease ") {
            let address = rest.trim_end_matches('{').trim().parse().ok();
            let lease = DeviceLease { mac: None, name: None, until_s: None };
            open = address.map(|address| (address, lease, LeaseState::Held));
        } else if line == "}" {
            match open.take() {
                Some((address, lease, LeaseState::Held)) => put(table, address, lease),
                Some((address, _, LeaseState::Free)) => drop(table.remove(&address)),
                None => {}
            }
        } else if let Some((_, lease, state)) = &mut open {
            let line = line.trim_end_matches(';');
            if let Some(mac) = line.strip_prefix("hardware ethernet ") {
                lease.mac = mac.trim().parse().ok();
            } else if let Some(name) = line.strip_prefix("client-hostname ") {
                lease.name = clean_name(name.trim().trim_matches('"'));
            } else if let Some(word) = line.strip_prefix("binding state ") {
                let is_held = word.trim() == "active";
                *state = if is_held { LeaseState::Held } else { LeaseState::Free };
            }
        }
    }
}

/// Tells whether a device holds the address.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LeaseState {
    Held,
    Free,
}

/// Values with commas between, whose first line names the columns (Kea's memfile).
fn read_kea(text: &str, table: &mut LeaseTable) {
    let mut reader =
        csv::ReaderBuilder::new().flexible(true).from_reader(text.trim_start().as_bytes());
    let Ok(heads) = reader.headers().cloned() else { return };
    let column = |name: &str| heads.iter().position(|head| head == name);
    let places = ["address", "hwaddr", "hostname", "expire", "valid_lifetime", "state"].map(column);
    for row in reader.records().filter_map(Result::ok) {
        let cell =
            |place: usize| places[place].and_then(|place| row.get(place)).unwrap_or_default();
        let Ok(address) = cell(0).parse() else { continue };
        let end: Option<u64> = cell(3).parse().ok();
        // A lifetime of zero stands where a lease was given back; 0 is the state of those held.
        if cell(4) == "0" || !matches!(cell(5), "" | "0") {
            table.remove(&address);
            continue;
        }
        let lease =
            DeviceLease { mac: cell(1).parse().ok(), name: clean_name(cell(2)), until_s: end };
        put(table, address, lease);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Address, MAC address, name and end of a lease.
    type ShownLease = (String, Option<String>, Option<String>, Option<u64>);

    fn shown(text: &str) -> Vec<ShownLease> {
        let table = parse_leases(text);
        let mut all: Vec<_> = table
            .into_iter()
            .map(|(address, it)| {
                (address.to_string(), it.mac.map(|mac| mac.to_string()), it.name, it.until_s)
            })
            .collect();
        all.sort();
        all
    }

    #[test]
    fn leases_of_dnsmasq_are_read_of_both_families() {
        let found = shown(
            "1795262400 00:0c:29:aa:bb:cc 192.168.1.117 laptop 01:00:0c:29:aa:bb:cc\n\
             0 7a:00:00:00:00:01 192.168.1.9 * *\n\
             broken line\n\
             duid 00:01:00:01:2a\n\
             1795262400 1234567 fd00::117 laptop 00:01:00:01\n",
        );
        let mac = Some("00:0c:29:aa:bb:cc".to_owned());
        assert_eq!(
            found,
            [
                ("192.168.1.117".into(), mac, Some("laptop".to_owned()), Some(1_795_262_400)),
                ("192.168.1.9".into(), Some("7a:00:00:00:00:01".to_owned()), None, None),
                ("fd00::117".into(), None, Some("laptop".to_owned()), Some(1_795_262_400)),
            ]
        );
    }

    #[test]
    fn of_isc_dhcpd_the_last_lease_of_an_address_counts() {
        let found = shown(
            "# The format of this file is documented\nlease 192.168.1.5 {\n  starts 4 2026/11/26 \
             12:00:00;\n  binding state active;\n  hardware ethernet 00:11:22:33:44:55;\n  \
             client-hostname \"old\";\n}\nlease 192.168.1.5 {\n  binding state active;\n  next \
             binding state free;\n  hardware ethernet 00:11:22:33:44:55;\n  client-hostname \
             \"Anna's <b>\";\n}\nlease 192.168.1.6 {\n  binding state active;\n}\nlease \
             192.168.1.6 {\n  binding state free;\n}\nlease 192.168.1.7 {\n",
        );
        let mac = Some("00:11:22:33:44:55".to_owned());
        assert_eq!(found, [("192.168.1.5".into(), mac, Some("Anna's b".to_owned()), None)]);
    }

    #[test]
    fn leases_of_kea_are_read_by_the_names_of_their_columns() {
        let found = shown(
            "address,hwaddr,client_id,valid_lifetime,expire,subnet_id,fqdn_fwd,fqdn_rev,hostname,\
             state,user_context,pool_id\n\
             192.168.1.8,aa:bb:cc:00:11:22,01,3600,1795262400,1,0,0,tv.home.arpa.,0,,0\n\
             192.168.1.9,aa:bb:cc:00:11:23,01,3600,1795262400,1,0,0,gone,0,,0\n\
             192.168.1.9,aa:bb:cc:00:11:23,01,0,1795262400,1,0,0,gone,0,,0\n\
             192.168.1.10,aa:bb:cc:00:11:24,01,3600,1795262400,1,0,0,declined,1,,0\n\
             short\n",
        );
        let mac = Some("aa:bb:cc:00:11:22".to_owned());
        let lease =
            ("192.168.1.8".into(), mac, Some("tv.home.arpa".to_owned()), Some(1_795_262_400));
        assert_eq!(found, [lease]);
    }

    #[test]
    fn a_file_of_any_length_has_so_many_leases_at_most() {
        let line = |n: usize| format!("0 - 10.{}.{}.{} n{n}\n", n >> 16, n >> 8 & 255, n & 255);
        let all: String = (0..LEASES_MAX + 10).map(line).collect();
        assert_eq!(parse_leases(&all).len(), LEASES_MAX);
        assert_eq!(parse_leases("").len(), 0);
    }
}
