-- Adds a purge to the stream, with the next number of its line. A line ends when the engine loses
-- what it had. KEYS: purges, line. ARGV: a name for a new line, maker, body, most purges kept.
local line = redis.call('HGET', KEYS[2], 'line')
if not line then
  line = ARGV[1]
  redis.call('HSET', KEYS[2], 'line', line)
end
local number = redis.call('HINCRBY', KEYS[2], 'number', 1)
redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[4], '*', 'l', line, 'n', number, 'e', ARGV[2], 'b', ARGV[3])
return number
