-- Reads a page of entries; what is longer than an entry can be is left out.
-- KEYS: entries. ARGV: cursor, entries of a page, longest key, longest entry.
-- Returns the next cursor, and keys and entries by turns.
local page = redis.call('HSCAN', KEYS[1], ARGV[1], 'COUNT', ARGV[2])
local kept = {}
for at = 1, #page[2], 2 do
  local key, entry = page[2][at], page[2][at + 1]
  if #key <= tonumber(ARGV[3]) and #entry <= tonumber(ARGV[4]) then
    kept[#kept + 1] = key
    kept[#kept + 1] = entry
  end
end
return { page[1], kept }
