-- Leases tokens of a bucket (GCRA): charges what was spent on credit, and grants what there is.
-- KEYS: bucket. ARGV: microseconds between tokens, burst, tokens spent, tokens wanted.
-- Returns tokens granted, tokens left, microseconds until there is one.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local interval = tonumber(ARGV[1])
local span = interval * ARGV[2]
local debt = math.max(tonumber(redis.call('GET', KEYS[1]) or 0), now) + ARGV[3] * interval
local room = math.max(math.floor((now + span - debt) / interval), 0)
local granted = math.min(room, tonumber(ARGV[4]))
debt = debt + granted * interval
if debt > now then
  redis.call('SET', KEYS[1], string.format('%.0f', debt), 'PX', string.format('%.0f', math.ceil((debt - now) / 1000)))
end
return { granted, room - granted, math.max(debt + interval - now - span, 0) }
