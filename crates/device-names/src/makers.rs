//! Makers of network cards, by the first three bytes of their MAC addresses.
//!
//! The table is a file of the system's, of some megabytes, and is not held: it is searched once for
//! whatever devices there are, and what was found is kept. Addresses that a device has made up have
//! no maker. Called for each question about devices.

use crate::clean_name::clean_name;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use vocab::MacAddress;

/// Where systems have such a file.
const USUAL_FILES: [&str; 5] = [
    "/usr/share/ieee-data/oui.txt",
    "/var/lib/ieee-data/oui.txt",
    "/usr/share/wireshark/manuf",
    "/usr/share/nmap/nmap-mac-prefixes",
    "/usr/share/arp-scan/ieee-oui.txt",
];
/// Bytes of the file that are read.
const FILE_BYTES_MAX: u64 = 32 << 20;
/// Prefixes that are remembered; at the cap all are forgotten and looked for anew.
const PREFIXES_MAX: usize = 4_096;

type MacPrefix = [u8; 3];

/// Makers that were looked for.
#[derive(Debug, Default)]
pub(crate) struct MakerTable {
    /// The file that was named.
    named: Option<PathBuf>,
    known: HashMap<MacPrefix, Option<String>>,
}

impl MakerTable {
    /// Looks for the makers of these, as far as they are not known.
    pub(crate) fn refresh(
        &mut self,
        named: Option<&Path>,
        devices: impl Iterator<Item = MacAddress>,
    ) {
        if self.named.as_deref() != named || self.known.len() >= PREFIXES_MAX {
            *self = Self { named: named.map(Path::to_path_buf), known: HashMap::new() };
        }
        let wanted = devices.filter(|mac| !mac.is_local()).map(prefix_of);
        let wanted: HashSet<_> = wanted.filter(|prefix| !self.known.contains_key(prefix)).collect();
        if wanted.is_empty() {
            return;
        }
        let usual = || USUAL_FILES.iter().map(Path::new).find(|path| path.is_file());
        let found = named.or_else(usual).map(|path| search(path, &wanted)).unwrap_or_default();
        for prefix in wanted.into_iter().take(PREFIXES_MAX) {
            self.known.insert(prefix, found.get(&prefix).cloned());
        }
    }

    /// The maker of a device.
    pub(crate) fn maker_of(&self, mac: MacAddress) -> Option<&str> {
        let is_given = !mac.is_local();
        is_given.then(|| self.known.get(&prefix_of(mac))?.as_deref()).flatten()
    }
}

fn prefix_of(mac: MacAddress) -> MacPrefix {
    let [first, second, third, ..] = mac.0;
    [first, second, third]
}

/// The makers of these prefixes that a file names; none of a file that cannot be read.
fn search(path: &Path, wanted: &HashSet<MacPrefix>) -> HashMap<MacPrefix, String> {
    let mut found = HashMap::new();
    let file = path.is_file().then(|| File::open(path));
    let Some(Ok(file)) = file else { return found };
    let mut lines = BufReader::new(file.take(FILE_BYTES_MAX)).split(b'\n');
    while let Some(Ok(line)) = lines.next() {
        if let Some((prefix, maker)) = maker_line(&String::from_utf8_lossy(&line))
            && wanted.contains(&prefix)
        {
            found.entry(prefix).or_insert(maker);
        }
        if found.len() == wanted.len() {
            break;
        }
    }
    found
}

/// Reads a line: `00-00-0C (hex) Cisco`, `00:00:0C Cisco Cisco Systems`, `00000C Cisco Systems`,
/// with tabs or blanks between. Longer prefixes belong to many makers and are passed over.
pub(crate) fn maker_line(line: &str) -> Option<(MacPrefix, String)> {
    let (head, rest) = line.split_once(char::is_whitespace)?;
    let digits: Vec<u8> = head.bytes().filter(|byte| !matches!(byte, b'-' | b':')).collect();
    if digits.len() != 6 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let number = u32::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?;
    let [_, first, second, third] = number.to_be_bytes();
    let rest = rest.trim();
    let rest = rest.strip_prefix("(hex)").or(rest.strip_prefix("(base 16)")).unwrap_or(rest);
    // Wireshark's has a short name before the long one.
    let name = rest.rsplit('\t').find(|part| !part.trim().is_empty())?;
    Some(([first, second, third], clean_name(name)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_forms_of_the_table_are_read() {
        let prefix = [0, 0, 0x0c];
        for (line, maker) in [
            ("00-00-0C   (hex)\t\tCisco Systems, Inc\r", "Cisco Systems, Inc"),
            ("00000C     (base 16)\t\tCisco Systems, Inc", "Cisco Systems, Inc"),
            ("00:00:0C\tCisco\tCisco Systems, Inc", "Cisco Systems, Inc"),
            ("00000C Cisco Systems", "Cisco Systems"),
            ("00000c\tCisco <Systems>", "Cisco Systems"),
        ] {
            assert_eq!(maker_line(line), Some((prefix, maker.into())), "{line}");
        }
        for line in [
            "",
            "# comment",
            "OUI/MA-L  Organization",
            "\t\tSan Jose CA 95134",
            "0000 x",
            "00:1B:C5:00:00:00/36\tA\tB",
            "00000C",
            "00000C \t ",
        ] {
            assert_eq!(maker_line(line), None, "{line}");
        }
    }

    #[test]
    fn a_table_is_searched_once_for_a_device_and_not_for_made_up_addresses() {
        let folder = std::env::temp_dir().join(format!("tidegate-makers-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("oui.txt");
        std::fs::write(&file, "00-00-0C   (hex)\t\tCisco\n02-00-0C   (hex)\t\tNobody\n").unwrap();
        let (cisco, unknown) = (MacAddress([0, 0, 12, 1, 2, 3]), MacAddress([0, 0, 13, 1, 2, 3]));
        let made_up = MacAddress([2, 0, 12, 1, 2, 3]);
        let mut table = MakerTable::default();
        table.refresh(Some(&file), [cisco, unknown, made_up].into_iter());
        assert_eq!(table.maker_of(cisco), Some("Cisco"));
        assert_eq!((table.maker_of(unknown), table.maker_of(made_up)), (None, None));
        std::fs::remove_dir_all(&folder).unwrap();
        table.refresh(Some(&file), [cisco, unknown].into_iter());
        assert_eq!(table.maker_of(cisco), Some("Cisco"), "it is kept");
        table.refresh(None, [made_up].into_iter());
        assert_eq!(table.maker_of(cisco), None, "another file is another table");
    }
}
