//! Settings, plug-ins and roles of Perlbal without a counterpart, and what to do instead.

/// Settings of services, and the reason that they share.
const SETTINGS: [(&[&str], &str); 12] = [
    (
        &["buffer_size", "buffer_size_reproxy_url"],
        "answers go out at the client's pace, with fixed buffers",
    ),
    (&["connect_ahead"], "connections are opened when they are needed, and kept"),
    (&["client_sndbuf_size"], "the system sizes the buffers of connections"),
    (&["latency"], "answers are not delayed"),
    (&["server_process"], "start the server by a service manager, and name it in a pool"),
    (
        &["server_tokens"],
        "Tidegate does not name itself; what a server says goes on, or remove Server by \
         gateway.headers.response",
    ),
    (
        &["ssl_cipher_list", "ssl_honor_cipher_order"],
        "TLS 1.2 and 1.3 with the ciphers that are safe today",
    ),
    (
        &["ssl_verify_mode", "ssl_ca_path"],
        "clients are asked for certificates by tls.client_certificate and tls.client_ca, one file",
    ),
    (
        &["upload_status_listeners"],
        "nothing is sent by UDP: write upload_status: true at the route",
    ),
    (
        &["error_retry_schedule"],
        "the next server is asked at once: see retry.attempts and retry.budget of the pool",
    ),
    (&["verify_backend_path"], "it is asked for where verify_backend is on"),
    (&["high_priority_cookie_contents", "queue_relief_chance"], "its other half is not set"),
];

/// Plug-ins, in lower case.
const PLUGINS: [(&[&str], &str); 6] = [
    (
        &["throttle"],
        "write limit: { rate: 10/s } and requests: { max: 2 } at the route: clients beyond are \
         refused, not delayed or banned",
    ),
    (&["stats"], "counters and times are on the metrics page"),
    (&["cgilike"], "write a script in Luau, or serve CGI programs by web[].cgi"),
    (&["lazycdn"], "see \"A folder that fills by itself\" in the manual"),
    (&["atominject", "atomstream"], "endless streams are not made here: serve them from a pool"),
    (&["echoservice"], "there is no such role"),
];

/// Settings of the program.
const SERVER: [(&str, &str); 8] = [
    ("aio_mode", "files are read by threads of the doors"),
    ("aio_threads", "files are read by threads of the doors"),
    ("crash_backtrace", "what goes wrong is told on standard error"),
    ("max_connections", "see gateway.connections; descriptors are the service manager's"),
    ("nice_level", "the service manager sets it"),
    ("pidfile", "the service manager knows the process"),
    ("track_obj", "there are no Perl objects"),
    ("max_reproxy_connections", "connections to a URL's host are not bounded"),
];

/// Fate of a setting of a service that nothing took.
pub(crate) fn setting(name: &str) -> &'static str {
    let found = SETTINGS.iter().find(|(names, _)| names.contains(&name));
    found.map_or("Perlbal has no such setting for this role", |(_, why)| why)
}

/// Fate of a plug-in that is not known here.
pub(crate) fn plugin(name: &str) -> &'static str {
    let found = PLUGINS.iter().find(|(names, _)| names.contains(&name));
    found.map_or("a plug-in of your own becomes a script in Luau", |(_, why)| why)
}

/// Fate of a setting of the program.
pub(crate) fn server(name: &str) -> &'static str {
    let name = name.split('(').next().unwrap_or(name);
    let found = SERVER.iter().find(|(known, _)| *known == name);
    found.map_or("Perlbal has no such setting of the server", |(_, why)| why)
}
