//! A configuration of Perlbal as one of ours, with its complaints at their lines.
//!
//! The words are crate `perlbal-config`'s. Called by `tidegate import perlbal`.

use crate::FileComplaint;
use crate::yaml::TextPosition;
use perlbal_config::BadCommand;
pub use perlbal_config::PerlbalSurroundings;
use std::path::Path;

/// Perlbal's configuration `text`, of the file `source`, as a configuration of ours.
///
/// # Errors
/// Lines that Perlbal would not take either, and values that say nothing to us.
pub fn from_perlbal(
    text: &str,
    source: &Path,
    around: &dyn PerlbalSurroundings,
) -> Result<String, Vec<FileComplaint>> {
    let placed = |BadCommand { place, complaint }: BadCommand| {
        let file = place.file.as_deref().map_or(source, Path::new);
        FileComplaint::at(file, TextPosition::at(place.line, 1), complaint)
    };
    let made = perlbal_config::from_perlbal(text, source, around);
    made.map_err(|wrong| wrong.into_iter().map(placed).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;
    use std::io;

    struct NoFiles;

    impl PerlbalSurroundings for NoFiles {
        fn read(&self, _: &Path) -> io::Result<String> {
            Err(io::Error::other("not there"))
        }

        fn list(&self, _: &Path) -> io::Result<Vec<String>> {
            Ok(Vec::new())
        }

        fn variable(&self, _: &str) -> Option<String> {
            None
        }
    }

    #[test]
    fn what_comes_of_it_is_a_configuration() {
        let all = "CREATE POOL p\nPOOL p ADD 10.0.0.1:8080\nCREATE POOL q\nCREATE SERVICE proxy\n\
             SET listen = 0.0.0.0:8080\nSET role = reverse_proxy\nSET pool = p\n\
             SET persist_backend = 1\nSET backend_persist_cache = 5000\nSET enable_reproxy = 1\n\
             SET buffer_uploads = 1\nSET high_priority_cookie = paid\n\
             SET high_priority_cookie_contents = yes\nSET queue_relief_size = 9\n\
             SET enable_error_retries = 1\nSET always_trusted = 1\nSET max_backend_uses = 10\n\
             SET plugins = highpri, accesscontrol, queues\nACCESS QUEUE_LOW ip 192.0.2.1\n\
             ACCESS POLICY deny\nHEADER proxy INSERT X-A: {b}\nENABLE proxy\n\
             CREATE SERVICE web\nSET role = web_server\nSET docroot = /srv/www\n\
             SET enable_put = 1\nSET enable_delete = 1\nSET dirindexing = 1\n\
             CREATE SERVICE blind\nSET role = reverse_proxy\nSET pool = q\nSET blind_proxy = 1\n\
             CREATE SERVICE ss\nSET listen = 127.0.0.1:8081\nSET role = selector\n\
             SET plugins = vhosts notmodified\nSET ss.notmodified.host_pattern = ^img\\.\n\
             VHOST * = web\nVHOST blind.example = blind\nVHOST a_b = web\nENABLE ss\n\
             CREATE SERVICE paths\nSET listen = 127.0.0.1:8082\nSET role = selector\n\
             SET plugins = vpaths\nVPATH ^/(?!a) = web\nVPATH ^/img/ = proxy\n\
             SET default_service = web\nENABLE paths\n\
             CREATE SERVICE files\nSET listen = 127.0.0.1:8083\nSET role = web_server\n\
             SET docroot = /srv/www\nSET plugins = palimg autoremoveleadingdir\nENABLE files\n\
             CREATE SERVICE mgmt\nSET role = management\nSET listen = 60000\nENABLE mgmt\n";
        let yaml = from_perlbal(all, Path::new("perlbal.conf"), &NoFiles).unwrap();
        let plan = crate::parse(&yaml, Path::new("tidegate.yaml"));
        let plan = plan.unwrap_or_else(|wrong| panic!("{wrong:?}\n{yaml}"));
        assert_eq!(plan.file.gateway.unwrap().listen.len(), 3, "{yaml}");
        assert!(yaml.contains("line 46: VPATH ^/(?!a): a route does not take"), "{yaml}");
        assert!(yaml.contains("mgmt: a console encrypts nothing"), "{yaml}");
    }

    #[test]
    fn a_wrong_line_of_an_included_file_is_placed_there() {
        let wrong = from_perlbal("CREATE\n", Path::new("perlbal.conf"), &NoFiles).unwrap_err();
        assert_eq!((wrong[0].line, wrong[0].file.as_path()), (1, Path::new("perlbal.conf")));
    }
}
