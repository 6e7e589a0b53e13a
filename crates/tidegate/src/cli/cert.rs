//! `tidegate cert ca`: the certificate to trust, and where each platform keeps such things.

use super::{Exit, Failure, Setup};
use crate::app;
use std::sync::Arc;
use transport::signer::{Ca, Issuer, MintNothing};

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
pub(super) fn explain(setup: &Setup) -> Result<(), Failure> {
    let (ca, path) = open(setup)?;
    println!("certificate   {}", path.display());
    println!("fingerprint   {}", ca.fingerprint_text());
    println!("\n{INSTRUCTIONS}");
    println!("{}", ca.pem.trim_end());
    Ok(())
}

/// Prints the certificate alone.
pub(super) fn pem(setup: &Setup) -> Result<(), Failure> {
    println!("{}", open(setup)?.0.pem.trim_end());
    Ok(())
}

/// Opens the authority, making it where there is none, and signs nothing.
fn open(setup: &Setup) -> Result<(Ca, std::path::PathBuf), Failure> {
    let plan = setup.plan()?;
    let dir = setup.state_dir(&plan).join("ca");
    let issuer = Issuer::open(&dir, Arc::new(MintNothing), app::signer::exclusions(&plan))
        .map_err(|error| Failure::new(Exit::NotStarted, error))?;
    Ok((issuer.certificate().clone(), dir.join("ca.pem")))
}
