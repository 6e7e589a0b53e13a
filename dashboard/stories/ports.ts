// Ports for the stories that must know one before anything listens there.

import { createServer, type AddressInfo } from "node:net";

/** A port of loopback that nobody has. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((bound) => server.listen(0, "127.0.0.1", bound));
  const { port } = server.address() as AddressInfo;
  await new Promise((closed) => server.close(closed));
  return port;
}
