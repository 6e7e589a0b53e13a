//! How an effect's requests leave: by themselves or through a proxy, with certificates checked or
//! not.
//!
//! It connects to nothing. Read with the settings of hooks and downloads; used by the effects'
//! thread.

use origins::Dialer;
use resolver::SocksProxy;
use transport::tls::VerifyMode;
use vocab::Complaint;

/// The way by which an effect's requests leave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Detour {
    proxy: Option<SocksProxy>,
    certificates: CertificateChecking,
}

/// Tells whether certificates of servers are checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum CertificateChecking {
    #[default]
    Checked,
    Unchecked,
}

impl Detour {
    /// Returns what `socks5` says, with certificates checked so; adds a complaint about what is no
    /// proxy.
    pub(super) fn read(
        socks5: Option<&str>,
        certificates: CertificateChecking,
        wrong: &mut Vec<Complaint>,
    ) -> Self {
        let proxy = socks5.map(str::trim).filter(|it| !it.is_empty()).map(str::parse);
        match proxy.transpose() {
            Ok(proxy) => Self { proxy, certificates },
            Err(bad) => {
                let bad: resolver::BadProxy = bad;
                let remedy = "as in 127.0.0.1:1080 or user:password@127.0.0.1:1080";
                wrong.push(Complaint::new("socks5", bad.to_string()).remedy(remedy));
                Self { proxy: None, certificates }
            }
        }
    }

    /// True if requests leave as everybody's do.
    pub(super) fn is_none(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn dialer(&self, usual: &Dialer) -> Dialer {
        let dialer = match &self.proxy {
            None => usual.clone(),
            Some(proxy) => usual.clone().through(proxy.clone()),
        };
        match self.certificates {
            CertificateChecking::Checked => dialer,
            CertificateChecking::Unchecked => dialer.checking(VerifyMode::Nothing),
        }
    }
}
