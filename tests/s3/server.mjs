// One bucket, on a free port of loopback: prints its address, then a line for each answer: the
// method, the path without its query, the status or the code of the refusal.
//
// s3rver keeps objects, answers conditions and tells refusals in XML; it does not verify Signature
// Version 4, so AWS' own signer does here: it signs the same request by the same secret.
//
//   node server.mjs FOLDER BUCKET KEY SECRET
import { timingSafeEqual } from 'node:crypto'
import { createRequire } from 'node:module'
import { Sha256 } from '@aws-crypto/sha256-js'
import { SignatureV4 } from '@smithy/signature-v4'
import S3rver from 's3rver'

const [folder, bucket, key, secret] = process.argv.slice(2)
const require = createRequire(import.meta.url)
const S3Error = require('s3rver/lib/models/error.js')
const account = require('s3rver/lib/models/account.js')
account.DUMMY_ACCOUNT.revokeAccessKey('S3RVER')
account.DUMMY_ACCOUNT.createKeyPair(key, secret)

/** Signature of this request by the secret that the key has. */
async function signatureOf(ctx) {
  const [accessKeyId, day, region, service] = ctx.query['X-Amz-Credential'].split('/')
  const signed = ctx.query['X-Amz-SignedHeaders'].split(';')
  const at = ctx.query['X-Amz-Date'].replace(/^(....)(..)(..)T(..)(..)(..)Z$/, '$1-$2-$3T$4:$5:$6Z')
  if (!at.replaceAll('-', '').startsWith(day)) throw new S3Error('AuthorizationQueryParametersError', 'Two dates')
  const signer = new SignatureV4({ service, region, sha256: Sha256, uriEscapePath: false, credentials: { accessKeyId, secretAccessKey: secret } })
  const headers = Object.fromEntries(signed.map((name) => [name, ctx.get(name)]))
  const query = Object.fromEntries(Object.entries(ctx.query).filter(([name]) => !name.startsWith('X-Amz-')))
  // What it takes for the digest of a body, without a field that is signed.
  headers['x-amz-content-sha256'] = 'UNSIGNED-PAYLOAD'
  const [hostname, port] = ctx.host.split(':')
  const made = await signer.presign(
    { method: ctx.method, protocol: 'http:', hostname, port: Number(port), path: ctx.path, query, headers },
    { signingDate: new Date(at), expiresIn: Number(ctx.query['X-Amz-Expires']), unsignableHeaders: new Set(['x-amz-content-sha256']), unhoistableHeaders: new Set(['x-amz-content-sha256']) },
  )
  return made.query['X-Amz-Signature']
}

async function verify(ctx) {
  const given = ctx.query['X-Amz-Signature'] ?? ''
  // Its own default lets in whoever does not sign.
  if (given === '') throw new S3Error('AccessDenied', 'Access Denied')
  if (ctx.query['X-Amz-Credential'].split('/')[0] !== key) return
  const right = await signatureOf(ctx)
  const isRight = given.length === right.length && timingSafeEqual(Buffer.from(given), Buffer.from(right))
  if (!isRight) throw new S3Error('SignatureDoesNotMatch', 'The request signature we calculated does not match')
}

const server = new S3rver({
  address: '127.0.0.1',
  port: 0,
  silent: true,
  directory: folder,
  configureBuckets: [{ name: bucket }],
})
server.middleware.unshift(async (ctx, next) => {
  const tell = (what) => console.log(`${ctx.method} ${ctx.path} ${what}`)
  try {
    await verify(ctx)
    await next()
  } catch (error) {
    tell(error.code)
    throw error
  }
  tell(ctx.status)
})
const { port } = await server.run()
console.log(`127.0.0.1:${port}`)
