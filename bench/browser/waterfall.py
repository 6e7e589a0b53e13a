"""Where the time of a load went: a line for each request, with the phases that the browser measured.

Used by run.py --trace; watches the same events as browser.py and changes nothing.
"""

PHASES = [("dns", "dnsStart", "dnsEnd"), ("connect", "connectStart", "connectEnd"), ("tls", "sslStart", "sslEnd")]


class Waterfall:
    def __init__(self):
        self.requests = {}

    def take(self, method, it):
        if not method.startswith("Network.") or "requestId" not in it:
            return
        one = self.requests.setdefault(it["requestId"], {})
        if method == "Network.requestWillBeSent":
            one.update(url=it["request"]["url"], start=it["timestamp"])
        elif method == "Network.responseReceived":
            one["response"] = it["response"]
        elif method in ("Network.loadingFinished", "Network.loadingFailed"):
            one.update(end=it["timestamp"], error=it.get("errorText", ""))

    def text(self, title):
        """Milliseconds from the first request: begin, end; waiting before, then within the request its phases."""
        seen = sorted((it for it in self.requests.values() if "start" in it), key=lambda it: it["start"])
        zero = seen[0]["start"] if seen else 0
        return "\n".join([f"\n{title}", *(line(it, zero) for it in seen)]) + "\n"


def line(it, zero):
    at = lambda moment: f"{(moment - zero) * 1000:6.0f}"  # noqa: E731
    begun = f"{at(it['start'])} {at(it['end']) if 'end' in it else '     -'}"
    response = it.get("response")
    if not response:
        return f"{begun}  {it.get('error') or 'no answer':<60} {it['url'][:100]}"
    times = response.get("timing")
    if not times:
        return f"{begun}  {'from memory':<60} {it['url'][:100]}"
    waited = (times["requestTime"] - it["start"]) * 1000
    spans = [f"{name} {times[first]:.0f}-{times[last]:.0f}" for name, first, last in PHASES if times[first] >= 0]
    words = f"waited {waited:.0f}; {', '.join(spans) or 'kept'}; sent {times['sendStart']:.0f}, head " \
            f"{times['receiveHeadersEnd']:.0f}"
    return f"{begun}  {words:<60} {response.get('protocol')} #{response.get('connectionId')} {it['url'][:100]}"
