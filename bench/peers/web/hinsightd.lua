-- hinsightd serving files, for bench/web. The names in braces are filled in by it. One thread by design. As
-- its own example has it, a script names the file of each request, texts are compressed where the client asks
-- for it, and scripts are kept in its cache. No log: a map that writes one would be a second script a request.
local certificate = create_cert ("@{folder}/cert.pem", "@{folder}/key.pem")

local site = add_vhost {
  host = {"localhost"},
  socket = {
    {bind = "127.0.0.1", port = "@{port}", sock_type = "ipv4"},
    {bind = "127.0.0.1", port = "@{tls_port}", sock_type = "ipv4", ssl = true},
  },
  cert = certificate,
  htdocs = "@{folder}/www",
}

local types = {html = "text/html", js = "text/javascript"}

map (site, "*", 0, function (req)
  local path, query = parse_path (req)
  set_option (req, "cache_key", get_option (req, "vhost"), ":", path, "?", query)
  local _, _, kind = set_path (req, path, {"index.html"})
  if (types[kind]) then
    set_content_type (req, types[kind])
  else
    set_option (req, "disable", "compress")
  end
  if (kind == "js") then
    set_option (req, "cache", 600)
  end
  send_file (req)
  return true
end)
