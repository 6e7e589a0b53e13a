#!/usr/bin/env python3
"""An origin whose pages are made on demand: it cannot say how long they are.

    far_origin.py ADDRESS PORT WWW

HTTP/1.1 clients get chunks on a connection that stays; for HTTP/1.0 the end of the connection is the
end of the page, as with the scripts of old. What it makes has no validator and no lifetime.
"""

import asyncio
import re
import socket
import sys
from pathlib import Path

import corpus


async def serve(reader, writer):
    writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        while await one(reader, writer):
            pass
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def one(reader, writer):
    """Answers a request; whether the connection stays."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    line = head.split("\r\n", 1)[0].split()
    path, modern = line[1], line[2] == "HTTP/1.1"
    found = re.fullmatch(r"/dynamic/(sub\d)/(?:made(\d+)|(static\d+\.png))?", path)
    stays = modern and not re.search(r"(?im)^connection:\s*close", head)
    if not found:
        writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
    elif found[3]:
        stays = stays or bool(re.search(r"(?im)^connection:\s*keep-alive", head))
        body = (WWW / "dynamic" / found[1] / found[3]).read_bytes()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nCache-Control: max-age=3600\r\n"
                     b"Connection: %s\r\nContent-Length: %d\r\n\r\n%s"
                     % (b"keep-alive" if stays else b"close", len(body), body))
    else:
        body = corpus.dynamic_page(found[1], int(found[2] or 0))
        if modern:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
                         b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))
        else:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n" + body)
            stays = False
    await writer.drain()
    return stays


async def main():
    server = await asyncio.start_server(serve, sys.argv[1], int(sys.argv[2]), backlog=1024)
    async with server:
        await server.serve_forever()


WWW = Path(sys.argv[3])
asyncio.run(main())
