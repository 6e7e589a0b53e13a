-- Puts the next keys of tickets in the place of those of this number, if their time is over.
-- KEYS: tickets. ARGV: number that they have (0: none are there), time of a key in milliseconds,
-- sealed keys. Returns the number that is there now.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local number = tonumber(redis.call('HGET', KEYS[1], 'number') or 0)
if number ~= tonumber(ARGV[1]) then return number end
if number > 0 and now - redis.call('HGET', KEYS[1], 'made') < tonumber(ARGV[2]) then return number end
redis.call('HSET', KEYS[1], 'number', number + 1, 'made', string.format('%.0f', now), 'keys', ARGV[3])
return number + 1
