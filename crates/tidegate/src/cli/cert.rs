//! `tidegate cert ca`: the certificate to trust, and where each platform keeps such things.

use super::{CommandFailure, CommandSetup, ExitReason};
use serde_json::json;
use signer::CaCertificate;
use std::io;
use std::path::PathBuf;

const INSTRUCTIONS: &str = "\
Install it on each device whose blocked hosts Tidegate is to answer over HTTPS:

  Windows        double-click the file, Install Certificate, Local Machine,
                 place it in \"Trusted Root Certification Authorities\"
  macOS          open it in Keychain Access (System), then set Trust to \"Always Trust\"
  iOS, iPadOS    open it in Safari, install the profile in Settings, then switch it on under
                 General, About, Certificate Trust Settings
  Android        Settings, Security, Encryption & credentials, Install a certificate, CA certificate
                 (browsers will trust it; most other apps ignore CAs that you add)
  Linux          copy it to /usr/local/share/ca-certificates/tidegate.crt, run update-ca-certificates
  Firefox        Settings, Privacy & Security, Certificates, View Certificates, Authorities, Import
                 (not needed where Firefox takes the system's authorities)
  Chromium on Linux
                 certutil -d sql:$HOME/.pki/nssdb -A -t C,, -n tidegate -i FILE

It signs only names that your policy blocks. To undo it, remove the certificate from the device.
";

/// Prints the certificate's path, fingerprint and instructions.
pub(super) fn explain(setup: &CommandSetup) -> Result<(), CommandFailure> {
    let (ca, path) = read(setup)?;
    println!("certificate   {}", path.display());
    println!("fingerprint   {}", ca.fingerprint_text());
    println!("\n{INSTRUCTIONS}");
    println!("{}", ca.pem.trim_end());
    Ok(())
}

/// Prints the certificate alone.
pub(super) fn pem(setup: &CommandSetup) -> Result<(), CommandFailure> {
    println!("{}", read(setup)?.0.pem.trim_end());
    Ok(())
}

/// Prints where it is, its fingerprint and the certificate, for programs.
pub(super) fn json(setup: &CommandSetup) -> Result<(), CommandFailure> {
    let (ca, path) = read(setup)?;
    let (file, pem) = (path.display().to_string(), ca.pem.trim_end());
    println!("{:#}", json!({ "file": file, "fingerprint": ca.fingerprint_text(), "pem": pem }));
    Ok(())
}

/// The authority's certificate in the state folder. None is made here: one that nothing signs with
/// would be installed for nothing.
fn read(setup: &CommandSetup) -> Result<(CaCertificate, PathBuf), CommandFailure> {
    let plan = setup.plan();
    let state = match (setup.state_path(), plan) {
        (Some(named), _) => named.to_owned(),
        (None, plan) => setup.state_dir(&plan?),
    };
    let dir = state.join("ca");
    let path = dir.join("ca.pem");
    match std::fs::File::open(&path) {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let message = format!(
                "there is no certificate authority in the state folder {}: it is made when Tidegate \
                 first runs there with a door that needs one (pixel, or an encrypted listener); name \
                 the folder of your Tidegate with --state DIR",
                state.display()
            );
            return Err(CommandFailure::new(ExitReason::Wrong, message));
        }
        Err(error) => {
            let message = format!(
                "{}: {error}; ask as the user that Tidegate runs as, or with sudo",
                path.display()
            );
            return Err(CommandFailure::new(ExitReason::Wrong, message));
        }
    }
    let ca = CaCertificate::read(&dir).ok_or_else(|| {
        let message = format!(
            "{}: this is no certificate of an authority; start Tidegate, which says what to do",
            path.display()
        );
        CommandFailure::new(ExitReason::Wrong, message)
    })?;
    Ok((ca, path))
}
