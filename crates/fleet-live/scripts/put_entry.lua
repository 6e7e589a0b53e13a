-- Takes an entry in, unless a newer one of its key is there; the newest that is there is returned.
-- KEYS: entries, changes. ARGV: key, body, milliseconds left (-1: no end, -2: taken back),
-- milliseconds since it was made (-1: only where there is none), maker, most entries.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local left = tonumber(ARGV[3])
local age = tonumber(ARGV[4])
local made = 1
if age >= 0 then made = now - age end
local old = redis.call('HGET', KEYS[1], ARGV[1])
if old then
  if tonumber(string.match(old, '^(%d+)')) > made then return { 0, old } end
elseif redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[6]) then
  return { -1, '' }
end
local ends = left
if left >= 0 then ends = now + left end
local new = string.format('%.0f %.0f %s %s', made, ends, ARGV[5], ARGV[2])
redis.call('HSET', KEYS[1], ARGV[1], new)
redis.call('XADD', KEYS[2], 'MAXLEN', '~', '10000', '*', 'k', ARGV[1], 'v', new)
return { 1, new }
