"""All sites and third parties of the world as one process: HTTPS by name, HTTP/1.1, kept connections.

Each host has its own address, certificate and time to think; the way there is the relay's affair. It
speaks as much HTTP as a browser needs: bodies with a length, CORS, an event stream and a WebSocket that
stay open. Runs inside the servers' namespace:

    origin.py CERTIFICATES_FOLDER
"""

import asyncio
import base64
import hashlib
import ssl
import sys
from pathlib import Path

import pages
import world

HEAD_BYTES_MAX = 32 * 1024
BODY_BYTES_MAX = 1 << 20
WEBSOCKET_SALT = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455 section 1.3


class Origins:
    def __init__(self, folder):
        self.world = world.World()
        self.hosts = {it.name: it for it in self.world.hosts}
        self.table = pages.everything(self.world)
        self.contexts = {}
        for name in self.hosts:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(folder / f"{name}.crt", folder / "leaf.key")
            context.set_alpn_protocols(["http/1.1"])
            self.contexts[name] = context
        self.first = next(iter(self.contexts.values()))
        self.first.sni_callback = self.choose

    def choose(self, connection, name, _context):
        connection.context = self.contexts.get(name, self.first)

    async def serve(self, reader, writer):
        try:
            while await self.one(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ssl.SSLError):
            pass  # the browser went away
        finally:
            writer.close()

    async def one(self, reader, writer):
        """One request; whether another may follow."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, target, _ = head[0].split(" ", 2)
        headers = {key.lower(): value.strip() for key, _, value in (it.partition(":") for it in head[1:] if it)}
        await reader.readexactly(min(int(headers.get("content-length", 0)), BODY_BYTES_MAX))
        host = self.hosts.get(headers.get("host", "").lower())
        if not host:
            writer.write(b"HTTP/1.1 421 Misdirected\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return False
        await asyncio.sleep(host.think_ms / 1000)
        answer = self.table[host.name].get(target.partition("?")[0])
        if answer and answer.kind == "ws":
            return await self.websocket(reader, writer, headers)
        writer.write(self.render(method, answer, headers))
        await writer.drain()
        if answer and answer.kind == "text/event-stream":
            await reader.read(1)
            return False
        return True

    def render(self, method, answer, headers):
        cors = ""
        if "origin" in headers:
            cors = (f"Access-Control-Allow-Origin: {headers['origin']}\r\nAccess-Control-Allow-Credentials: true\r\n"
                    "Access-Control-Allow-Headers: x-tag, x-page, content-type, accept\r\n")
        if method == "OPTIONS":
            return f"HTTP/1.1 204 No Content\r\n{cors}\r\n".encode()
        if answer is None:
            return f"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n{cors}\r\n".encode()
        length = "" if answer.kind == "text/event-stream" else f"Content-Length: {len(answer.body)}\r\n"
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {answer.kind}\r\n{length}Cache-Control: max-age=300\r\n{cors}\r\n"
        return head.encode() + answer.body

    async def websocket(self, reader, writer, headers):
        key = headers.get("sec-websocket-key", "").encode()
        accept = base64.b64encode(hashlib.sha1(key + WEBSOCKET_SALT).digest()).decode()
        writer.write(("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                      f"Sec-WebSocket-Accept: {accept}\r\n\r\n").encode())
        while await reader.read(4096):
            pass
        return False

    async def run(self):
        for host in self.world.hosts:
            await asyncio.start_server(self.serve, host.address, 443, ssl=self.first, limit=HEAD_BYTES_MAX)
        print("ready", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(Origins(Path(sys.argv[1])).run())
