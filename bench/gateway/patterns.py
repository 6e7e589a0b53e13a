"""Patterns of URLs, the same for every server, written in the language of each; and requests for them.

A text is a path that no two patterns share. Every request carries something of its own, so that no
cache of decisions answers in place of the decision (HAProxy keeps one by the path).
"""

from dataclasses import dataclass

MULTIPLIER, RANGE = 2654435761, 1 << 32  # spreads numbers over all of the range, none twice
STEP = 7919  # which pattern is asked next: not its neighbour


@dataclass(frozen=True)
class Patterns:
    """`count` of them; `kind` is text or regex."""

    count: int
    kind: str = "text"

    def words(self):
        return (f"{number * MULTIPLIER % RANGE:08x}" for number in range(self.count))

    def texts(self):
        return (f"/w{word}/s.php" for word in self.words())

    def regexes(self):
        """With something to count in each, and a literal to be found by, as those of real lists."""
        return (rf"/r{word}/[a-z0-9]+\.(php|asp)" for word in self.words())

    def write(self, path, form):
        """`form` makes a line of one pattern."""
        found = self.texts() if self.kind == "text" else self.regexes()
        with open(path, "w") as out:
            out.writelines(form(it) + "\n" for it in found)
        return path

    def example(self, tail):
        word = f"{(self.count - 1) * MULTIPLIER % RANGE:08x}"
        return f"/w{word}/s.php{tail}1" if self.kind == "text" else f"/r{word}/a1.php{tail}1"

    def script(self, tail):
        """Lua for wrk: every request hits another pattern, and differs behind it (`tail` and a number)."""
        path = f'"/w" .. word .. "/s.php{tail}" .. at' if self.kind == "text" else \
            f'"/r" .. word .. "/a" .. at .. ".php{tail}" .. at'
        return f"""
local at = 0
function request()
  at = at + 1
  local number = (at * {STEP} % {self.count}) * {MULTIPLIER} % {RANGE}
  local word = string.format("%04x%04x", math.floor(number / 65536), number % 65536)
  return wrk.format("GET", {path})
end
"""


# What nobody refuses, always another.
CLEAN = """
local at = 0
function request()
  at = at + 1
  return wrk.format("GET", "/shop/" .. at .. "/view.html?colour=blue&page=" .. at % 50)
end
"""


def literal(text):
    """A text as a regular expression."""
    return text.replace(".", r"\.")
