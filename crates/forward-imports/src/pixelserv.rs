//! pixelserv-tls: the options that a router's script, a unit or a file of defaults starts it with.

use crate::draft::{ImportDraft, socket};
use import_report::{ImportFault, ImportSurroundings, ImportedConfig, NotePlace};
use serde_json::json;
use std::net::IpAddr;
use std::path::PathBuf;

/// Networks of a home, whose people may read the counters.
const HOME: [&str; 6] =
    ["127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1/128", "fc00::/7"];
/// Options that are followed by a value.
const WITH_VALUE: &str = "pkAzuTcOstno";

/// The options of pixelserv-tls in a file, as one of our configurations.
///
/// # Errors
/// Files that cannot be read, and files in which it is not started.
pub fn from_pixelserv(
    paths: &[PathBuf],
    around: &dyn ImportSurroundings,
) -> Result<ImportedConfig, Vec<ImportFault>> {
    let mut draft = ImportDraft::new(around);
    for path in paths {
        let Some((file, text)) = draft.open(path) else { continue };
        let found = text.lines().enumerate().find_map(|(at, line)| Some((at, arguments(line)?)));
        match found {
            Some((at, words)) => {
                let place = NotePlace::new(&file, at + 1);
                PixelservOptions::default().read(&words, &place, &mut draft);
            }
            None => {
                let place = NotePlace::new(&file, 1);
                let fault = ImportFault::new(&place, "no line starts pixelserv-tls");
                draft.faults.push(fault.remedy("name its init script, unit or file of options"));
            }
        }
    }
    draft.finish("pixelserv-tls")
}

/// Arguments of a line that starts it, or that holds them: `ARGS="192.168.1.2 -l 3"`.
fn arguments(line: &str) -> Option<Vec<String>> {
    let line = line.trim();
    if line.starts_with('#') {
        return None;
    }
    let rest = match line.split_once('=') {
        // Of Entware's scripts, of files of defaults, of units.
        Some((key, rest)) if is_arguments(key) => rest,
        _ => line,
    };
    let is_plain = rest.len() < line.len();
    let words: Vec<String> =
        rest.split_whitespace().map(|it| it.trim_matches(['"', '\'']).to_owned()).collect();
    let start = words.iter().position(|it| it.rsplit('/').next().is_some_and(is_program));
    let words = match (start, is_plain) {
        (Some(start), _) => words[start + 1..].to_vec(),
        (None, true) => words,
        (None, false) => return None,
    };
    let looks = |it: &String| it.starts_with('-') || it.parse::<IpAddr>().is_ok();
    words.first().is_some_and(looks).then_some(words)
}

fn is_program(name: &str) -> bool {
    matches!(name, "pixelserv-tls" | "pixelserv")
}

fn is_arguments(key: &str) -> bool {
    let key = key.trim().trim_start_matches("export ").to_ascii_lowercase();
    matches!(key.as_str(), "args" | "execstart")
        || key.contains("pixelserv")
        || key.ends_with("_opts")
}

/// Options so far.
#[derive(Default)]
struct PixelservOptions {
    address: Option<IpAddr>,
    http: Vec<u64>,
    https: Vec<u64>,
}

impl PixelservOptions {
    fn read(mut self, words: &[String], place: &NotePlace, draft: &mut ImportDraft<'_>) {
        let mut words = words.iter().map(String::as_str).peekable();
        while let Some(word) = words.next() {
            let Some(option) = word.strip_prefix('-').and_then(|it| it.chars().next()) else {
                match word.parse() {
                    Ok(ip) => {
                        self.address = Some(ip);
                        draft.report.carried(place, word, "pixel.listen");
                    }
                    Err(_) if word.starts_with(['&', '>', '$', ';', '|']) => break,
                    Err(_) => draft.report.left_out(place, word, "this is no option"),
                }
                continue;
            };
            // A value stands behind its letter, or in the next word.
            let joined = word.get(2..).unwrap_or("");
            let value = match (joined, WITH_VALUE.contains(option)) {
                ("", true) => words.next().unwrap_or(""),
                ("", false) if option == 'l' => {
                    words.next_if(|it| it.parse::<u8>().is_ok()).unwrap_or("")
                }
                (joined, _) => joined,
            };
            self.option(option, value, place, draft);
        }
        self.finish(draft);
    }

    fn option(
        &mut self,
        option: char,
        value: &str,
        place: &NotePlace,
        draft: &mut ImportDraft<'_>,
    ) {
        let said = format!("-{option} {value}");
        let number = value.parse::<u64>().ok();
        let mut pixel = |key: &str, value: serde_json::Value| {
            draft.sections.set("pixel", key, value);
            draft.report.carried(place, &said, &format!("pixel.{key}"));
        };
        match (option, number) {
            ('p', Some(port)) => {
                self.http.push(port);
                draft.report.carried(place, &said, "pixel.listen");
            }
            ('k' | 'A', Some(port)) => {
                self.https.push(port);
                draft.report.carried(place, &said, "pixel.listen");
            }
            ('T', Some(count)) => pixel("connections", json!(count.clamp(1, 1_000_000))),
            ('O', Some(seconds)) => {
                pixel("idle_timeout", json!(format!("{}s", seconds.clamp(1, 3600))));
            }
            ('R', _) => pixel("redirect", json!(true)),
            ('u', _) => {
                draft.sections.set("user", "", value);
                draft.report.carried(place, &said, "user");
            }
            ('z', _) => {
                let why = format!(
                    "copy {value}/ca.crt to ca/ca.pem of the state folder, and {value}/ca.key to \
                     ca/ca.key, with mode 0600: devices need nothing new. Certificates of names \
                     are made anew"
                );
                draft.report.changed(place, &said, "state_dir", &why);
            }
            ('n', _) => {
                let why = "listeners have addresses: write those of the interface";
                draft.report.left_out(place, &said, why);
            }
            ('s' | 't', _) => {
                let why = "the counters are at /servstats and /servstats.txt";
                draft.report.changed(place, &said, "pixel.servstats", why);
            }
            ('l', _) => draft.report.changed(place, &said, "ledger", "every request is in the log"),
            ('c' | 'f' | 'o' | 'r', _) => draft.report.carried(place, &said, "needless"),
            ('2', _) => draft.report.left_out(place, &said, "/generate_204 is always 204"),
            _ => draft.report.left_out(place, &said, "there is no such option"),
        }
    }

    fn finish(self, draft: &mut ImportDraft<'_>) {
        let ip = self.address.unwrap_or(IpAddr::from([0, 0, 0, 0]));
        let ports =
            |given: &[u64], usual| if given.is_empty() { vec![usual] } else { given.to_vec() };
        for (scheme, ports) in [("http", ports(&self.http, 80)), ("https", ports(&self.https, 443))]
        {
            for port in ports {
                draft.sections.push("pixel", "listen", format!("{scheme}://{}", socket(ip, port)));
            }
        }
        draft.sections.set("pixel", "addresses", json!([]));
        draft.sections.set("pixel", "any_name", true);
        draft.sections.set("pixel", "servstats", json!(HOME));
        draft.sections.set("signer", "names", "any");
        // Another blocker decides which names come here.
        draft.sections.set("policy", "lists", json!([]));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;
    use crate::testing::OneFolder;

    fn imported(text: &str) -> ImportedConfig {
        from_pixelserv(&["s".into()], &OneFolder::of(&[("s", text)])).unwrap()
    }

    #[test]
    fn options_of_scripts_and_units_are_carried_over() {
        for text in [
            "#!/bin/sh\nENABLED=yes\nPROCS=pixelserv-tls\nARGS=\"192.168.1.3 -p 80 -p 8080 -k443 -l 3 -z /opt/ca -T 300 -R -u nobody\"\n",
            "[Service]\nExecStart=/usr/sbin/pixelserv-tls 192.168.1.3 -p 80 -p 8080 -k 443 -l -z /opt/ca -T 300 -R -u nobody\n",
            "/opt/bin/pixelserv-tls 192.168.1.3 -p 80 -p 8080 -k 443 -z /opt/ca -T 300 -R -u nobody &\n",
        ] {
            let made = imported(text);
            for due in [
                "\"http://192.168.1.3:80\"",
                "http://192.168.1.3:8080",
                "https://192.168.1.3:443",
                "connections: 300",
                "redirect: true",
                "user: \"nobody\"",
                "any_name: true",
                "names: \"any\"",
            ] {
                assert!(made.yaml.contains(due), "{due}\n{text}\n{}", made.commented());
            }
            assert!(made.table().contains("/opt/ca/ca.key"), "{}", made.table());
        }
    }

    #[test]
    fn a_file_that_starts_something_else_is_refused() {
        let around = OneFolder::of(&[("s", "# pixelserv-tls 1.2.3.4\nexec nginx -g x\n")]);
        assert!(from_pixelserv(&["s".into()], &around).is_err());
    }
}
