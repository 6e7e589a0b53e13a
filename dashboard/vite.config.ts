import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { defineConfig } from "vite";
import { mock } from "./dev/mock.mjs";

// `npm run dev` answers from the mock; TIDEGATE_ADMIN=http://127.0.0.1:9053 asks a running Tidegate.
const admin = process.env["TIDEGATE_ADMIN"];

/** Writes every asset once more in the codings that browsers ask for; what is not shorter stays alone. */
function compress(folder: string): void {
  for (const name of readdirSync(folder)) {
    const bytes = readFileSync(join(folder, name));
    for (const [ending, coded] of [["br", brotliCompressSync(bytes)], ["gz", gzipSync(bytes, { level: 9 })]] as const) {
      if (coded.length < bytes.length) writeFileSync(join(folder, `${name}.${ending}`), coded);
    }
  }
}

export default defineConfig({
  // Relative, so that the page also works behind a reverse proxy under a path.
  base: "./",
  build: {
    target: "es2022",
    outDir: "dist",
    // The page is served with default-src 'self': data: URLs would be refused.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  server: {
    host: "127.0.0.1",
    ...(admin
      ? {
          proxy: Object.fromEntries(
            // The admin door takes changes only from its own page: say that we are it.
            ["/api", "/login", "/logout"].map((path) => [
              path,
              { target: admin, changeOrigin: true, headers: { origin: admin } },
            ]),
          ),
        }
      : {}),
  },
  plugins: [
    {
      name: "tidegate-mock",
      configureServer(server) {
        if (!admin) server.middlewares.use(mock);
      },
    },
    {
      name: "tidegate-codings",
      apply: "build",
      closeBundle: () => compress(join(import.meta.dirname, "dist/assets")),
    },
  ],
});
