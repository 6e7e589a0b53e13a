-- Says that an edge is there, and counts those that said so lately.
-- KEYS: edges. ARGV: edge, milliseconds that count as lately.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZADD', KEYS[1], string.format('%.0f', now), ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('(%.0f', now - ARGV[2]))
return { now, redis.call('ZCARD', KEYS[1]) }
