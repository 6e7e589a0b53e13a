"""What a proxy says in place of a blocked URL, and whether a run of such answers was right.

The blocked name is one of the origin's own: whoever does not refuse it finds the origin there, whose log
then shows it. All refuse a host, as lists do, and no pattern of a path.
"""

import http.client
from typing import NamedTuple

HOST = "localhost"
PATH = "ad.gif"  # most of what lists block are pictures and scripts; it is not at the origin, which would say 404
STATUSES = (200, 403)  # a null answer, or a refusal


class Answer(NamedTuple):
    status: int
    length: int
    is_kept: bool  # whether the connection stays for the next one


def ask(proxy, url):
    """The second of two answers on one connection, where it stays."""
    connection = http.client.HTTPConnection(proxy.host, proxy.port, timeout=10)
    try:
        for _ in range(2):
            connection.request("GET", url)
            answer = connection.getresponse()
            said = Answer(answer.status, len(answer.read()), not answer.will_close)
            if not said.is_kept:
                break
    except http.client.HTTPException as why:
        raise RuntimeError(f"{url} is not answered: {why}") from None
    finally:
        connection.close()
    return said


def complaint(said, figures, fetched):
    """What was wrong with a run of wrk or ab; nothing where all was right. Of each answer they tell whether it was
    a refusal, so that none of another kind is among them. `fetched`: what the origin was asked for meanwhile."""
    if said.status not in STATUSES:
        return f"a blocked URL is answered with {said.status}"
    if fetched:
        return f"the origin was asked {fetched} times for what is blocked"
    if figures["cut"]:
        return f"{figures['cut']} cut off"
    refused = 0 if said.status < 400 else figures["count"]
    if figures["refused"] != refused:
        return f"{figures['refused']} of {figures['count']} refused, where one alone is answered with {said.status}"
    return ""
