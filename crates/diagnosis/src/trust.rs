//! Trust of this machine's programs in the certificate authority.

use crate::DiagnosisSubject;
use crate::finding::{CheckGroup, MachineFinding};
use crate::surroundings::text;

const GROUP: CheckGroup = CheckGroup::Trust;
/// Bundles of authorities, as distributions have them below `/etc`.
const BUNDLES: [&str; 4] = [
    "ssl/certs/ca-certificates.crt",
    "pki/tls/certs/ca-bundle.crt",
    "ssl/ca-bundle.pem",
    "ssl/cert.pem",
];

pub(crate) fn check(subject: &DiagnosisSubject) -> Vec<MachineFinding> {
    let path = subject.state.join("ca/ca.pem");
    let Some(ours) = text(&path) else {
        let what =
            format!("there is no authority yet, or this user cannot read {}", path.display());
        return vec![MachineFinding::note(GROUP, what)];
    };
    let ours = body(&ours);
    let bundles = BUNDLES.iter().filter_map(|name| text(&subject.machine.etc.join(name)));
    let is_trusted = !ours.is_empty() && bundles.map(|it| joined(&it)).any(|it| it.contains(&ours));
    vec![if is_trusted {
        MachineFinding::fine(GROUP, "programs of this machine trust our authority")
    } else {
        let what = "programs of this machine do not trust our authority";
        MachineFinding::note(GROUP, what).remedy(format!(
            "where they are to: sudo cp {} /usr/local/share/ca-certificates/tidegate.crt && sudo \
             update-ca-certificates; `tidegate cert ca` tells of other devices",
            path.display()
        ))
    }]
}

/// The base64 of the first certificate of a PEM file, on one line.
fn body(pem: &str) -> String {
    let inside = pem.lines().skip_while(|line| !line.starts_with("-----BEGIN CERTIFICATE"));
    inside.skip(1).take_while(|line| !line.starts_with('-')).map(str::trim).collect()
}

fn joined(text: &str) -> String {
    text.lines().map(str::trim).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::FindingSeverity;
    use crate::surroundings::tests::FakeMachine;

    #[test]
    fn an_authority_is_found_in_the_bundle_however_its_lines_are_broken() {
        let bundle = |inside: &str| {
            let bundle =
                format!("-----BEGIN CERTIFICATE-----\nXXXX\n-----END CERTIFICATE-----\n{inside}\n");
            let fake = FakeMachine::new(
                "trust",
                &[
                    (
                        "state/ca/ca.pem",
                        "-----BEGIN CERTIFICATE-----\nMIIBabc\nDEFG==\n-----END CERTIFICATE-----\n",
                    ),
                    ("etc/ssl/cert.pem", &bundle),
                ],
            );
            check(&fake.subject("")).remove(0).severity
        };
        let inside = "-----BEGIN CERTIFICATE-----\nMIIB\nabcDEFG==\n-----END CERTIFICATE-----";
        assert_eq!(bundle(inside), FindingSeverity::Fine);
        assert_eq!(bundle(""), FindingSeverity::Note);
    }
}
