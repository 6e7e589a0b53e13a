// A Redis for the stories: on a free port, with nothing on disk, ended with the story.

import { spawn, type ChildProcess } from "node:child_process";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { freePort } from "./ports";

export class Redis {
  private constructor(
    private readonly child: ChildProcess,
    readonly url: string,
  ) {}

  static async start(): Promise<Redis> {
    const port = await freePort();
    const words = ["--save", "", "--port", String(port), "--bind", "127.0.0.1"];
    const child = spawn("redis-server", words, { cwd: tmpdir(), stdio: "ignore" });
    const ended = new Promise<never>((_, failed) => {
      child.once("error", failed);
      child.once("exit", (code) => failed(new Error(`redis-server ended with ${code}`)));
    });
    await Promise.race([ended, opened(port)]);
    ended.catch(() => undefined);
    return new Redis(child, `redis://127.0.0.1:${port}`);
  }

  async stop(): Promise<void> {
    const ended = new Promise((done) => this.child.once("exit", done));
    this.child.kill("SIGTERM");
    await ended;
  }
}

/** Waits until somebody listens there. */
async function opened(port: number): Promise<void> {
  const isOpen = (): Promise<boolean> =>
    new Promise((told) => {
      const socket = connect(port, "127.0.0.1");
      socket.once("connect", () => {
        socket.destroy();
        told(true);
      });
      socket.once("error", () => told(false));
    });
  while (!(await isOpen())) await new Promise((again) => setTimeout(again, 20));
}
