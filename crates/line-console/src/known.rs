//! Words of Perlbal's that are known here and said otherwise: commands, and names of settings.

/// Commands of Perlbal's that mean nothing here, and what is there instead.
const MEANINGLESS: [(&str, &str); 22] = [
    ("aio", "files are read by the doors' own threads"),
    ("default", "write the setting for each pool"),
    ("disable", "take a listener out with UNSET"),
    ("enable", "add a listener with SET gateway.listen = [...]"),
    ("gladiator", "there are no Perl objects; see PROC"),
    ("header", "fields are added by settings of a route"),
    ("leaks", "there are no Perl objects; see PROC"),
    ("load", "scripts and settings take the place of plug-ins"),
    ("mime", "media types are settings of a site"),
    ("noverify", "see SHOW POOL and NODES"),
    ("obj", "there are no Perl objects; see SOCKS SUMMARY"),
    ("pending", "see BACKENDS"),
    ("plugins", "scripts and settings take the place of plug-ins"),
    ("prof", "measure with `perf`"),
    ("reproxy_state", "see the metrics page"),
    ("server", "limits are settings of each door; see GET gateway"),
    ("shutdown", "the service manager ends Tidegate: send it SIGTERM"),
    ("state", "changes of states are not kept; see STATES"),
    ("track", "there are no Perl objects; see PROC"),
    ("unload", "scripts and settings take the place of plug-ins"),
    ("varsize", "there are no Perl objects; see PROC"),
    ("xs", "there are no Perl modules"),
];

/// Settings of Perlbal's services and pools, and the same of a pool.
const SETTINGS: [(&str, &str); 6] = [
    ("nodefile", "servers_file"),
    ("balance_method", "balance"),
    ("verify_backend", "verify_connection"),
    ("verify_backend_path", "verify_connection"),
    ("backend_persist_cache", "keep_alive.connections"),
    ("max_backend_uses", "keep_alive.requests"),
];

/// A command of Perlbal's that means nothing here, and what is there instead.
pub(crate) fn meaningless(verb: &str) -> Option<(&'static str, &'static str)> {
    MEANINGLESS.into_iter().find(|(known, _)| *known == verb)
}

/// A setting of a pool and its value in our words.
pub(crate) fn pool_setting<'t>(key: &'t str, value: &'t str) -> (&'t str, &'t str) {
    let lower = key.to_ascii_lowercase();
    let Some((_, ours)) = SETTINGS.iter().find(|(theirs, _)| *theirs == lower) else {
        return (key, value);
    };
    let value = match value.to_ascii_lowercase().as_str() {
        "on" | "yes" | "true" => "true",
        "off" | "no" | "false" => "false",
        "1" if *ours == "verify_connection" => "true",
        "0" if *ours == "verify_connection" => "false",
        _ => value,
    };
    (ours, value)
}
