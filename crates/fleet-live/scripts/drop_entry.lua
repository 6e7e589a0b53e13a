-- Forgets an entry, if it is still as it was read. KEYS: entries. ARGV: key, entry.
if redis.call('HGET', KEYS[1], ARGV[1]) == ARGV[2] then
  return redis.call('HDEL', KEYS[1], ARGV[1])
end
return 0
