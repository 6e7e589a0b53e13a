//! The programs whose configurations are read, one arm each.

use crate::disk_files::DiskFiles;
use crate::older_imports::{self, OlderProgram};
use crate::{ImportFailure, ReadProgram};
use clap::ValueEnum;
use import_report::{ImportFault, ImportSurroundings, ImportedConfig};
use std::path::{Path, PathBuf};

/// Rounds of complaints that are taken out.
const ROUNDS_MAX: usize = 20;

/// A program whose configuration can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ForeignProgram {
    /// AdGuard Home.
    AdguardHome,
    /// blocky.
    Blocky,
    /// Caddy, by its Caddyfile.
    Caddy,
    /// dnsmasq.
    Dnsmasq,
    /// HAProxy.
    Haproxy,
    /// hinsightd, whose configuration is a program in Lua.
    Hinsightd,
    /// nginx.
    Nginx,
    /// Perlbal.
    Perlbal,
    /// Pi-hole, of versions 5 and 6.
    Pihole,
    /// pixelserv-tls: the script or unit that starts it.
    Pixelserv,
    /// Polipo.
    Polipo,
    /// Privoxy.
    Privoxy,
    /// Squid.
    Squid,
    /// Unbound, as far as it forwards.
    Unbound,
}

/// A crate that reads configurations: from paths to one of ours.
type ReadConfig = fn(
    paths: &[PathBuf],
    around: &dyn ImportSurroundings,
) -> Result<ImportedConfig, Vec<ImportFault>>;

/// Reader of a program's configuration.
enum ProgramReader {
    /// With a note for each line.
    Reported(ReadConfig),
    /// With remarks about what was left out.
    Remarked(OlderProgram),
}

fn reader(program: ForeignProgram) -> ProgramReader {
    use ProgramReader::{Remarked, Reported};
    match program {
        ForeignProgram::AdguardHome => Reported(forward_imports::from_adguard_home),
        ForeignProgram::Blocky => Reported(forward_imports::from_blocky),
        ForeignProgram::Caddy => Reported(caddy_imports::from_caddy),
        ForeignProgram::Dnsmasq => Reported(forward_imports::from_dnsmasq),
        ForeignProgram::Haproxy => Reported(haproxy_imports::from_haproxy),
        ForeignProgram::Hinsightd => Remarked(OlderProgram::Hinsightd),
        ForeignProgram::Nginx => Reported(nginx_imports::from_nginx),
        ForeignProgram::Perlbal => Remarked(OlderProgram::Perlbal),
        ForeignProgram::Pihole => Reported(forward_imports::from_pihole),
        ForeignProgram::Pixelserv => Reported(forward_imports::from_pixelserv),
        ForeignProgram::Polipo => Remarked(OlderProgram::Polipo),
        ForeignProgram::Privoxy => Reported(forward_imports::from_privoxy),
        ForeignProgram::Squid => Reported(forward_imports::from_squid),
        ForeignProgram::Unbound => Reported(forward_imports::from_unbound),
    }
}

/// Reads the configuration of `program` at `paths`.
pub(crate) fn read(
    program: ForeignProgram,
    paths: &[PathBuf],
    script: Option<&Path>,
    around: &DiskFiles,
) -> Result<ReadProgram, ImportFailure> {
    match reader(program) {
        ProgramReader::Reported(read) => {
            let mut config = read(paths, around).map_err(crate::placed)?;
            take_out_refused(&mut config);
            Ok(ReadProgram { text: config.commented(), config, script: None })
        }
        ProgramReader::Remarked(program) => older_imports::read(program, paths, script, around),
    }
}

/// Takes out what our own check complains of, each with a note: a value that no reader thought of.
fn take_out_refused(made: &mut ImportedConfig) {
    for _ in 0..ROUNDS_MAX {
        let Err(mut found) = config::parse(&made.yaml, Path::new("tidegate.yaml")) else { return };
        // Of a list the last first, so that the numbers of the others stay theirs.
        found.reverse();
        let mut is_changed = false;
        for complaint in found {
            is_changed |= made.take_out(&complaint.path, &complaint.message);
        }
        if !is_changed {
            return;
        }
    }
}
