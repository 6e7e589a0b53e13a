// A running Tidegate for the stories, with an upstream of its own: started on free ports, in a
// folder of its own, and stopped at the end.

import { execFile, spawn, type ChildProcess } from "node:child_process";
import { createSocket, type Socket } from "node:dgram";
import { promises as dns } from "node:dns";
import { chmod, chown, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const BINARY = process.env["TIDEGATE_BIN"] ?? fileURLToPath(new URL("../../target/debug/tidegate", import.meta.url));
/** The address that the upstream has for every name. */
export const ADDRESS = "192.0.2.10";

/** Answers every question for an address with [`ADDRESS`], and others with nothing. */
async function upstream(): Promise<Socket> {
  const socket = createSocket("udp4");
  socket.on("message", (question, from) => {
    const end = question.indexOf(0, 12) + 5;
    const isAddress = question.readUInt16BE(end - 4) === 1;
    const head = Buffer.from(question.subarray(0, 12));
    head.writeUInt16BE(0x8180, 2);
    head.writeUInt16BE(isAddress ? 1 : 0, 6);
    head.writeUInt16BE(0, 8);
    head.writeUInt16BE(0, 10);
    const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, ...ADDRESS.split(".").map(Number)]);
    socket.send(Buffer.concat([head, question.subarray(12, end), ...(isAddress ? [record] : [])]), from.port, from.address);
  });
  await new Promise<void>((bound) => socket.bind(0, "127.0.0.1", bound));
  return socket;
}

/** Runs a command of the binary to its end; what it said. */
export async function tidegate(words: string[]): Promise<string> {
  return (await promisify(execFile)(BINARY, words)).stdout;
}

export class Edge {
  private constructor(
    readonly folder: string,
    private readonly child: ChildProcess,
    private readonly resolver: Socket,
    private readonly greeting: string[],
  ) {}

  /** Starts one; `UPSTREAM` in the configuration is the address of the upstream. */
  static start(yaml: string): Promise<Edge> {
    return Edge.startBy([BINARY], yaml);
  }

  /** The same as a user who has no other to become: root of a namespace that nobody else is in. */
  static startAsItself(yaml: string): Promise<Edge> {
    return Edge.startBy(["unshare", "--map-root-user", "--", BINARY], yaml);
  }

  private static async startBy([program = BINARY, ...before]: string[], yaml: string): Promise<Edge> {
    const folder = await mkdtemp(join(tmpdir(), "tidegate-story-"));
    // Started by root it becomes another user, who has to reach the folder.
    await chmod(folder, 0o755);
    const resolver = await upstream();
    const config = join(folder, "tidegate.yaml");
    await writeFile(config, yaml.replaceAll("UPSTREAM", `127.0.0.1:${resolver.address().port}`));
    const child = spawn(program, [...before, "run", "--config", config, "--state", join(folder, "state")], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const greeting: string[] = [];
    await new Promise<void>((ready, failed) => {
      child.once("exit", (code) => failed(new Error(`it ended with ${code}:\n${greeting.join("\n")}`)));
      createInterface({ input: child.stdout }).on("line", (line) => {
        if (line === "ready") ready();
        else greeting.push(line);
      });
    });
    return new Edge(folder, child, resolver, greeting);
  }

  /** Host and port of a listener, as the first lines name it. */
  address(door: string, scheme: string): string {
    const line = this.greeting.find((one) => one.trimStart().startsWith(door) && one.includes(`${scheme}://`));
    const found = line?.split(`${scheme}://`)[1]?.split(/[ /]/)[0];
    if (found === undefined) throw new Error(`no ${door} ${scheme} among:\n${this.greeting.join("\n")}`);
    return found;
  }

  /** Lets the user that it runs as write its configuration. */
  async giveConfiguration(): Promise<void> {
    const owner = await stat(join(this.folder, "state"));
    for (const path of [join(this.folder, "tidegate.yaml"), this.folder]) await chown(path, owner.uid, owner.gid);
  }

  /** Runs a command on this machine; what it said. */
  command(words: string[]): Promise<string> {
    return tidegate([...words, "--config", join(this.folder, "tidegate.yaml"), "--state", join(this.folder, "state")]);
  }

  async token(): Promise<string> {
    return (await readFile(join(this.folder, "state", "admin.token"), "utf8")).trim();
  }

  /** The dashboard's address that signs its reader in. */
  async page(): Promise<string> {
    return `http://${this.address("admin", "http")}/#token=${await this.token()}`;
  }

  /** The first address of a name, or the error's code. */
  async lookUp(name: string): Promise<string> {
    const resolver = new dns.Resolver({ timeout: 5_000, tries: 1 });
    resolver.setServers([this.address("dns", "udp")]);
    try {
      return (await resolver.resolve4(name))[0] ?? "nothing";
    } catch (error) {
      return (error as NodeJS.ErrnoException).code ?? String(error);
    }
  }

  async stop(): Promise<void> {
    const ended = new Promise((done) => this.child.once("exit", done));
    this.child.kill("SIGTERM");
    await ended;
    this.resolver.close();
    await rm(this.folder, { recursive: true, force: true });
  }
}
