-- Puts a reply to a question into the list, unless there are as many as there can be.
-- KEYS: replies. ARGV: reply, most replies, milliseconds for which they are kept.
if redis.call('LLEN', KEYS[1]) >= tonumber(ARGV[2]) then
  return 0
end
redis.call('RPUSH', KEYS[1], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
