//! Files of the hosts format, and files that are nothing but a list of what is blocked.

use crate::draft::ImportDraft;
use crate::words;
use import_report::NotePlace;
use policy::ListKind;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

/// Blocking lines of a file from which on it is subscribed to as a list, and not copied.
const LIST_LINES_MIN: usize = 500;

/// Completion of short names of a hosts file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ShortNames {
    /// They stay as they are.
    #[default]
    Kept,
    /// The domain of the network is added to them.
    Expanded,
}

/// Reads a hosts file.
pub(crate) fn read(
    file: &Arc<str>,
    text: &str,
    domain: Option<(&str, ShortNames)>,
    draft: &mut ImportDraft<'_>,
) {
    let entry = |line: &str| -> Option<(IpAddr, Vec<String>)> {
        let line = line.split('#').next().unwrap_or(line);
        let mut words = line.split_whitespace();
        let ip = words.next()?.parse().ok()?;
        Some((ip, words.map(str::to_owned).collect()))
    };
    let is_block = |ip: &IpAddr| ip.is_unspecified();
    let blocked = text.lines().filter_map(entry).filter(|(ip, _)| is_block(ip)).count();
    if blocked >= LIST_LINES_MIN {
        subscribe(file, blocked, draft);
    }
    for (index, line) in text.lines().enumerate() {
        let Some((ip, names)) = entry(line) else { continue };
        let place = NotePlace::new(file, index + 1);
        let said = line.trim();
        for name in names {
            let Some(name) = words::name(&name) else {
                draft.report.left_out(&place, said, "this is no name");
                continue;
            };
            if is_block(&ip) {
                if blocked < LIST_LINES_MIN {
                    draft.own_rule(name, &place, said);
                }
                continue;
            }
            if is_own(&name, ip) {
                continue;
            }
            if let Some((domain, ShortNames::Expanded)) = domain
                && !name.contains('.')
            {
                let long = words::address_record(&format!("{name}.{domain}"), ip);
                draft.local(long, &place, said);
            }
            draft.local(words::address_record(&name, ip), &place, said);
        }
    }
}

/// Names that every machine has of itself.
fn is_own(name: &str, ip: IpAddr) -> bool {
    let is_group = |ip: IpAddr| match ip {
        IpAddr::V4(ip) => ip.is_broadcast(),
        IpAddr::V6(ip) => ip.is_multicast() || ip.segments()[0] == 0xfe00,
    };
    ip.is_loopback()
        || is_group(ip)
        || matches!(name, "localhost" | "ip6-localhost" | "ip6-loopback" | "broadcasthost")
}

/// Makes a file of blocked names a list of ours.
pub(crate) fn subscribe(file: &Arc<str>, lines: usize, draft: &mut ImportDraft<'_>) {
    let name = Path::new(&**file)
        .file_name()
        .map_or_else(String::new, |it| it.to_string_lossy().into_owned());
    let place = NotePlace::new(file, 0);
    let said = format!("{lines} blocked names");
    let name = if name.is_empty() { "blocked".into() } else { name };
    match draft.lists.subscribe(&name, ListKind::Block, file, &[]) {
        Some(list) => {
            let why = "the file is read as a list: keep it where it is";
            draft.report.changed(&place, &said, &format!("policy.lists, {list}"), why);
        }
        None => draft.report.left_out(&place, &said, "48 lists have room: join some"),
    }
}

/// True if a file has so many blocking lines that it is a list.
pub(crate) fn is_list(blocked: usize) -> bool {
    blocked >= LIST_LINES_MIN
}
