//! Pools made from their settings and from the files that these name.
//!
//! It opens no connection. Called by a door that starts or reloads, and by `tidegate check`.

use crate::pool::ServerPool;
use crate::servers_file::ServersFile;
use crate::settings::{PoolSettings, ServerDetails, ServerTlsSettings};
use origins::{ConnectionPolicy, Dialer, KeepAlive, OwnCertificate, TermsOptions, TlsTerms};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use transport::tls::{BadClientTls, read_pem};
use vocab::Complaint;

/// Pools by name.
pub type Pools = BTreeMap<String, Arc<ServerPool>>;

/// The pools of `settings`, whose connections `dialer` opens; files are read from `base`. One whose
/// settings and certificates are as in `before` goes on as it is, with what was changed while it
/// ran.
pub fn open_pools(
    settings: &BTreeMap<String, PoolSettings>,
    base: &Path,
    dialer: &Dialer,
    before: Option<&Pools>,
) -> Result<Pools, Vec<Complaint>> {
    let (mut pools, mut complaints) = (BTreeMap::new(), Vec::new());
    for (name, settings) in settings {
        let before = before.and_then(|pools| pools.get(name));
        let terms = match connection_policy(settings, base, dialer) {
            Ok(terms) => terms,
            Err(why) => {
                complaints.push(why.under(&format!("pools.{name}")));
                continue;
            }
        };
        let terms = match before {
            Some(pool) if *pool.policy() == terms => {
                if pool.settings() == settings {
                    pools.insert(name.clone(), Arc::clone(pool));
                    continue;
                }
                // Connections are known by their terms: the same ones go on being used.
                pool.policy().clone()
            }
            Some(_) | None => terms,
        };
        let before = before.map(Arc::as_ref);
        let made = servers_file(settings, base)
            .and_then(|file| ServerPool::new(settings, terms, before).reading(file, before));
        match made {
            Ok(pool) => drop(pools.insert(name.clone(), Arc::new(pool))),
            Err(why) => complaints.push(why.under(&format!("pools.{name}"))),
        }
    }
    if complaints.is_empty() { Ok(pools) } else { Err(complaints) }
}

/// Reads the files that pools name, relative ones from `base`, and says what is wrong with them.
pub fn check_pool_files(settings: &BTreeMap<String, PoolSettings>, base: &Path) -> Vec<Complaint> {
    let wrong = settings.iter().filter_map(|(name, pool)| {
        let read = options(pool, base);
        let checked = read.and_then(|options| options.check().map_err(|why| unusable(&why)));
        checked
            .and_then(|()| servers_file(pool, base).map(drop))
            .err()
            .map(|why| why.under(&format!("pools.{name}")))
    });
    wrong.collect()
}

/// The file of servers that a pool names, with the servers in it.
fn servers_file(
    settings: &PoolSettings,
    base: &Path,
) -> Result<Option<(ServersFile, Vec<ServerDetails>)>, Complaint> {
    let Some(path) = &settings.servers_file else { return Ok(None) };
    // An absolute path stands for itself.
    let path = base.join(path);
    ServersFile::open(&path).map(Some).map_err(|why| {
        Complaint::new("servers_file", format!("{}: {why}", path.display()))
            .remedy("write HOST:PORT or a URL a line, in a file that this user may read")
    })
}

/// Terms on which the pool's servers are spoken to. Complaints have paths relative to the pool.
fn connection_policy(
    settings: &PoolSettings,
    base: &Path,
    dialer: &Dialer,
) -> Result<ConnectionPolicy, Complaint> {
    ConnectionPolicy::new(options(settings, base)?, dialer).map_err(|why| unusable(&why))
}

fn options(settings: &PoolSettings, base: &Path) -> Result<TermsOptions, Complaint> {
    let PoolSettings { timeouts, keep_alive, .. } = settings;
    Ok(TermsOptions {
        tls: tls(&settings.tls, base)?,
        http: settings.http.into(),
        proxy_protocol: settings.proxy_protocol.version(),
        connect: timeouts.connect.0.0,
        first_byte: timeouts.first_byte.map(|span| span.0.0),
        between_bytes: timeouts.between_bytes.map(|span| span.0.0),
        keep_alive: KeepAlive {
            connections: keep_alive.connections as usize,
            idle: keep_alive.idle.0.0,
            age: keep_alive.age.map(|span| span.0.0),
            requests: Some(keep_alive.requests).filter(|requests| *requests != 0),
        },
        new_connection: settings.verify_connection.terms(),
    })
}

fn tls(settings: &ServerTlsSettings, base: &Path) -> Result<TlsTerms, Complaint> {
    let read = |setting: &str, path: &Path| -> Result<Arc<[u8]>, Complaint> {
        // An absolute path stands for itself.
        let bytes = read_pem(&base.join(path));
        let bytes =
            bytes.map_err(|why| Complaint::new(format!("tls.{setting}"), why.to_string()))?;
        Ok(bytes.into())
    };
    let ca = settings.ca.as_deref().map(|path| read("ca", path)).transpose()?;
    let certificate = match (&settings.certificate, &settings.key) {
        (Some(chain), Some(key)) => {
            let (chain, key) = (read("certificate", chain)?, read("key", key)?);
            Some(OwnCertificate { chain, key })
        }
        // Checked: there is neither.
        _ => None,
    };
    let (name, verify) = (settings.name.clone(), settings.verify.into());
    Ok(TlsTerms { authorities: ca, certificate, name, verify })
}

fn unusable(why: &BadClientTls) -> Complaint {
    let (path, remedy) = match why {
        BadClientTls::Authorities(_) => ("tls.ca", "give certificates of authorities in PEM"),
        BadClientTls::Certificate(_) => {
            ("tls.certificate", "give a chain, leaf first, and its key, both in PEM")
        }
    };
    Complaint::new(path, why.to_string()).remedy(remedy)
}
