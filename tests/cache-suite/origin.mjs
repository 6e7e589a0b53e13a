// The suite's origin on a free port of 127.0.0.1; the first line it prints is its address.
//
//   node origin.mjs [SUITE]
import { existsSync, mkdtempSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const suite = resolve(process.argv[2] ?? join(here, 'node_modules/http-cache-tests'))
const engine = existsSync(join(suite, 'test-engine')) ? join(suite, 'test-engine') : suite

// The suite takes no port 0, so one is asked of the system first.
const probe = createServer()
await new Promise(resolve => probe.listen(0, '127.0.0.1', resolve))
const { port } = probe.address()
await new Promise(resolve => probe.close(resolve))

process.env.npm_config_protocol = 'http'
process.env.npm_config_port = String(port)
process.env.npm_config_pidfile = join(mkdtempSync(join(tmpdir(), 'cache-suite-')), 'pid')
const say = console.log
console.log = () => {}
await import(pathToFileURL(join(engine, 'server/server.mjs')))
for (;;) {
  try {
    await fetch(`http://127.0.0.1:${port}/`)
    break
  } catch {
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}
say(`http://127.0.0.1:${port}`)
