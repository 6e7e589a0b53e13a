// A provider of single sign-on (OpenID Connect) for the stories: it lets everybody in as the user
// that it is told, after a page that asks, and signs what it says.

import { createSign, generateKeyPairSync, randomUUID, type KeyObject } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface ProviderUser {
  name: string;
  groups: string[];
}

const base64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

export class Provider {
  private readonly keys = generateKeyPairSync("rsa", { modulusLength: 2048 });
  private readonly nonces = new Map<string, string>();

  private constructor(
    private readonly server: Server,
    readonly user: ProviderUser,
  ) {
    server.on("request", (request: IncomingMessage, response: ServerResponse) => this.answer(request, response));
  }

  static async start(user: ProviderUser): Promise<Provider> {
    const server = createServer();
    await new Promise<void>((bound) => server.listen(0, "127.0.0.1", bound));
    return new Provider(server, user);
  }

  get issuer(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((closed) => this.server.close(closed));
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? "/", this.issuer);
    if (url.pathname === "/.well-known/openid-configuration") send(response, this.configuration());
    else if (url.pathname === "/keys") send(response, { keys: [this.publicKey()] });
    else if (url.pathname === "/authorize") this.ask(url, response);
    else if (url.pathname === "/token") void this.exchange(request, response);
    else response.writeHead(404).end();
  }

  private configuration(): object {
    return {
      issuer: this.issuer,
      authorization_endpoint: `${this.issuer}/authorize`,
      token_endpoint: `${this.issuer}/token`,
      jwks_uri: `${this.issuer}/keys`,
      response_types_supported: ["code"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["RS256"],
      code_challenge_methods_supported: ["S256"],
    };
  }

  private publicKey(): object {
    return { ...this.keys.publicKey.export({ format: "jwk" }), kid: "one", alg: "RS256", use: "sig" };
  }

  /** The page on which somebody agrees. */
  private ask(url: URL, response: ServerResponse): void {
    const code = randomUUID();
    this.nonces.set(code, url.searchParams.get("nonce") ?? "");
    const back = new URL(url.searchParams.get("redirect_uri") ?? this.issuer);
    back.searchParams.set("code", code);
    back.searchParams.set("state", url.searchParams.get("state") ?? "");
    const link = back.href.replaceAll("&", "&amp;");
    response.writeHead(200, { "content-type": "text/html" }).end(`<title>Provider</title><a href="${link}">I am ${this.user.name}</a>`);
  }

  private async exchange(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = "";
    for await (const part of request) body += String(part);
    const code = new URLSearchParams(body).get("code") ?? "";
    const nonce = this.nonces.get(code);
    if (nonce === undefined) {
      send(response, { error: "invalid_grant" }, 400);
      return;
    }
    this.nonces.delete(code);
    const now = Math.floor(Date.now() / 1000);
    const claims = {
      iss: this.issuer,
      aud: "tidegate",
      sub: this.user.name,
      preferred_username: this.user.name,
      groups: this.user.groups,
      iat: now,
      exp: now + 300,
      nonce,
    };
    send(response, { access_token: "x", token_type: "Bearer", id_token: signed(claims, this.keys.privateKey) });
  }
}

function signed(claims: object, key: KeyObject): string {
  const text = `${base64({ alg: "RS256", typ: "JWT", kid: "one" })}.${base64(claims)}`;
  return `${text}.${createSign("RSA-SHA256").update(text).sign(key).toString("base64url")}`;
}

function send(response: ServerResponse, value: object, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
}
