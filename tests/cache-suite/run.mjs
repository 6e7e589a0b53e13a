// Runs the public suite of HTTP cache tests against a cache and scores what it finds.
//
//   node run.mjs --base http://127.0.0.1:PORT            a reverse proxy in front of the suite's origin
//   node run.mjs --base http://ORIGIN --proxy http://P   a forward proxy
//     --suite DIR    another copy of the suite than the installed one (its newest, say)
//     --id ID        one test only, with its messages
//     --json FILE    every verdict
//     --expected MODE  holds what does not pass against expected.json, and ends with 1 where that is
//                    another set: a test that passes unexpectedly is to be taken off the list
//
// It starts no cache and no origin: see origin.mjs. It prints one line a failure and a closing line a
// kind.
import { readdirSync, readFileSync, existsSync, writeFileSync } from 'node:fs'
import { join, dirname } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { Agent, ProxyAgent, setGlobalDispatcher } from 'undici'

const here = dirname(fileURLToPath(import.meta.url))
const { values: options } = parseArgs({
  options: {
    base: { type: 'string' },
    proxy: { type: 'string' },
    suite: { type: 'string', default: join(here, 'node_modules/http-cache-tests') },
    id: { type: 'string' },
    json: { type: 'string' },
    expected: { type: 'string' }
  }
})
if (!options.base) {
  console.error('run.mjs: say --base URL, where the suite\'s origin is reached')
  process.exit(2)
}

// The suite has moved its engine into a folder of its own since it was first published.
const engine = existsSync(join(options.suite, 'test-engine')) ? join(options.suite, 'test-engine') : options.suite
const load = path => import(pathToFileURL(path))
const { runTests, getResults } = await load(join(engine, 'client/runner.mjs'))

// A forward proxy is asked with whole URLs; a tunnel would go past its cache.
setGlobalDispatcher(options.proxy
  ? new ProxyAgent({ uri: options.proxy, proxyTunnel: false, connections: 64 })
  : new Agent({ connections: 64 }))

const suites = await allSuites()
const chosen = options.id
  ? suites.map(it => ({ ...it, tests: it.tests.filter(test => test.id === options.id) })).filter(it => it.tests.length)
  : suites
if (options.id) chosen.forEach(it => it.tests.forEach(test => { test.dump = true }))

const quiet = console.log
if (!options.id) console.log = () => {}
// Batches of a quarter of the suite: each batch takes as long as its slowest test.
// The published engine asks with the cache mode `no-store`, for which Node adds `Cache-Control: no-cache`
// of its own, as it does in the default mode for conditions; a proxy obeys that, and nothing could be
// found in it. Node has no cache, so `force-cache` forces nothing.
const plainFetch = (url, init) => fetch(url, { ...init, cache: 'force-cache' })
if (runTests.length >= 4) await runTests(chosen, plainFetch, false, options.base, 100)
else await runTests(chosen, false, options.base, 100)
console.log = quiet

const tests = new Map(suites.flatMap(suite => suite.tests.map(test => [test.id, { ...test, suite: suite.id }])))
const raw = getResults()
const verdicts = Object.fromEntries(Object.keys(raw).map(id => [id, verdict(id)]))
if (options.json) writeFileSync(options.json, JSON.stringify(verdicts, null, 1))
report()
process.exit(options.expected ? surprises() : 0)

// Every suite in the folder: the published index leaves some out.
async function allSuites () {
  const folder = join(options.suite, 'tests')
  const files = readdirSync(folder).filter(it => it.endsWith('.mjs') && !['index.mjs', 'header-list.mjs'].includes(it))
  const loaded = await Promise.all(files.map(file => load(join(folder, file))))
  return loaded.map(it => it.default).filter(it => it && Array.isArray(it.tests))
}

// pass, fail, or why neither can be said.
function verdict (id) {
  const test = tests.get(id)
  for (const other of test.depends_on ?? []) {
    if (other in raw && verdict(other).word !== 'pass') return { word: 'depends', why: other }
    if (!(other in raw)) return { word: 'depends', why: `${other} was not run` }
  }
  const result = raw[id]
  if (result === true) return { word: 'pass' }
  const [name, why] = Array.isArray(result) ? result : ['Harness', String(result)]
  if (name === 'Setup') return { word: 'setup', why }
  if (name === 'Assertion') return { word: 'fail', why }
  return { word: 'harness', why: `${name}: ${why}` }
}

function report () {
  const counts = {}
  for (const [id, { word, why }] of Object.entries(verdicts)) {
    const kind = tests.get(id).kind ?? 'required'
    counts[kind] ??= { total: 0 }
    counts[kind].total++
    counts[kind][word] = (counts[kind][word] ?? 0) + 1
    if (word !== 'pass' && kind !== 'check') console.log(`${kind} ${word} ${tests.get(id).suite}/${id}: ${why}`)
  }
  for (const [kind, { total, ...words }] of Object.entries(counts)) {
    const told = Object.entries(words).map(([word, count]) => `${count} ${word}`).join(', ')
    console.log(`${kind}: ${told} of ${total}`)
  }
}

// How many tests end otherwise than expected.json says; each is named.
function surprises () {
  const { both, ...modes } = JSON.parse(readFileSync(join(here, 'expected.json')))
  const expected = new Set([...Object.values(both).flat(), ...Object.values(modes[options.expected]).flat()])
  const judged = Object.keys(verdicts).filter(id => tests.get(id).kind !== 'check')
  const wrong = judged.filter(id => (verdicts[id].word === 'pass') === expected.has(id))
  wrong.forEach(id => console.log(`unexpected: ${id} is ${verdicts[id].word}`))
  return Math.min(wrong.length, 1)
}
