# Varnish as a gateway, for bench/gateway. The names in braces are filled in by it.
vcl 4.1;
import directors;
@{servers}
sub vcl_init {
  new app = directors.@{balance}();
@{added}
}
sub vcl_recv {
  set req.backend_hint = app.backend();
@{refuse}
@{cached}
}
