//! Texts of the units, as they are written for one binary and one configuration.

use crate::error::ServiceError;
use std::path::Path;

/// The unit that all of this is about.
pub(crate) const SERVICE: &str = "tidegate.service";
/// The socket of the launcher of signers, which is to listen before the service starts.
pub(crate) const SIGNER_SOCKET: &str = "tidegate-signer.socket";

/// Files of the package, by name.
const UNITS: [(&str, &str); 3] = [
    (SIGNER_SOCKET, include_str!("../../../packaging/systemd/tidegate-signer.socket")),
    (
        "tidegate-signer@.service",
        include_str!("../../../packaging/systemd/tidegate-signer@.service"),
    ),
    (SERVICE, include_str!("../../../packaging/systemd/tidegate.service")),
];

/// First line of what is written here, by which it is known. The package's preinst looks for it.
pub(crate) const MARK: &str = "# Written by tidegate service install; `tidegate service remove` \
                               takes it away.";

const PACKAGED_BINARY: &str = "/usr/bin/tidegate";
const PACKAGED_CONFIGURATION: &str = "/etc/tidegate/tidegate.yaml";

/// Names of the units.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    UNITS.iter().map(|(name, _)| *name)
}

/// The units with these paths in place of the package's.
pub(crate) fn texts(
    binary: &Path,
    configuration: &Path,
) -> Result<Vec<(&'static str, String)>, ServiceError> {
    let (binary, configuration) = (word(binary)?, word(configuration)?);
    let adapted = |text: &str| {
        text.lines().fold(format!("{MARK}\n"), |mut whole, line| {
            if line.starts_with("ExecStart=") {
                let line = line.replacen(PACKAGED_BINARY, &binary, 1);
                whole.push_str(&line.replacen(PACKAGED_CONFIGURATION, &configuration, 1));
            } else {
                whole.push_str(line);
            }
            whole.push('\n');
            whole
        })
    };
    Ok(UNITS.iter().map(|(name, text)| (*name, adapted(text))).collect())
}

/// A path as a word of a command line in a unit (systemd.service(5), systemd.unit(5)).
fn word(path: &Path) -> Result<String, ServiceError> {
    let text = path.to_str().filter(|text| !text.contains(char::is_control));
    let text = text.ok_or_else(|| ServiceError::UnwritablePath(path.into()))?;
    let mut word = String::from('"');
    for letter in text.chars() {
        match letter {
            '%' => word.push_str("%%"),
            '$' => word.push_str("$$"),
            '"' | '\\' => word.extend(['\\', letter]),
            _ => word.push(letter),
        }
    }
    let is_plain = word.len() == text.len() + 1 && !text.contains([' ', ';', '\'', '{']);
    Ok(if is_plain { text.into() } else { word + "\"" })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn unit(binary: &str, configuration: &str, name: &str) -> String {
        let all = texts(Path::new(binary), Path::new(configuration)).unwrap();
        all.into_iter().find(|(it, _)| *it == name).unwrap().1
    }

    #[test]
    fn the_units_are_the_package_s_with_other_paths() {
        let text = unit("/usr/local/bin/tidegate", "/srv/edge.yaml", SERVICE);
        assert!(text.starts_with("# Written by tidegate service install"));
        assert!(text.contains("\nExecStart=/usr/local/bin/tidegate run --config /srv/edge.yaml\n"));
        let packaged = unit(PACKAGED_BINARY, PACKAGED_CONFIGURATION, SERVICE);
        assert_eq!(packaged.strip_prefix(MARK).unwrap().trim_start(), UNITS[2].1);
        let launcher = unit("/opt/t", "/srv/edge.yaml", "tidegate-signer@.service");
        assert!(launcher.contains("ExecStart=/opt/t --config /srv/edge.yaml --state /var/lib"));
    }

    #[test]
    fn a_path_stays_one_word_whatever_letters_it_has() {
        for (path, written) in [
            ("/srv/edge.yaml", "/srv/edge.yaml"),
            ("/srv/my edge.yaml", "\"/srv/my edge.yaml\""),
            ("/srv/50%$a\"b\\.yaml", "\"/srv/50%%$$a\\\"b\\\\.yaml\""),
        ] {
            assert_eq!(word(Path::new(path)).unwrap(), written);
        }
        assert!(word(Path::new("/srv/a\nExecStart=/bin/sh")).is_err());
    }
}
