-- Takes replies to a question out of the list, until there are so many, or so many bytes. One that
-- is longer than a reply can be is dropped. KEYS: replies. ARGV: most replies, most bytes of all,
-- most bytes of one.
local taken, bytes = {}, 0
for _ = 1, tonumber(ARGV[1]) do
  local reply = redis.call('LPOP', KEYS[1])
  if not reply then
    break
  end
  if #reply <= tonumber(ARGV[3]) then
    bytes = bytes + #reply
    taken[#taken + 1] = reply
    if bytes >= tonumber(ARGV[2]) then
      break
    end
  end
end
return taken
