/** Signed tokens of tests, and a server of keys. */
import { createHmac, generateKeyPairSync, type KeyObject, sign } from "node:crypto"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { ask, BEGIN } from "./gate.ts"

/** A secret of `Identity.Secrets`. */
export const SECRET = "a-secret-of-32-characters-or-more"

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url")

/** The claims of a token that every gate of these tests accepts. */
export const claimsOf = (sub: string, more: Readonly<Record<string, unknown>> = {}, now = BEGIN) => ({
  sub,
  iat: now / 1000,
  exp: now / 1000 + 600,
  ...more,
})

/** A token as it is written: by hand, so that the tests do not share a mistake with the gate's library. */
export const token = (
  claims: unknown,
  { alg = "HS256", kid, secret = SECRET, ...header }: Readonly<Record<string, unknown>> = {},
): string => {
  const signed = `${encode({ alg, ...(kid === undefined ? {} : { kid }), ...header })}.${encode(claims)}`
  return `${signed}.${createHmac("sha256", String(secret)).update(signed).digest("base64url")}`
}

/** A token of a subject. */
export const tokenOf = (sub: string, more: Readonly<Record<string, unknown>> = {}): string => token(claimsOf(sub, more))

/** Requests a session with a token. */
export const askBy = (identity: string, address?: string, body: object = {}) => ask(address, { ...body, identity })

const ALGORITHMS = {
  RS256: { pair: () => generateKeyPairSync("rsa", { modulusLength: 2048 }), hash: "sha256" },
  ES256: { pair: () => generateKeyPairSync("ec", { namedCurve: "P-256" }), hash: "sha256" },
  ES384: { pair: () => generateKeyPairSync("ec", { namedCurve: "P-384" }), hash: "sha384" },
  EdDSA: { pair: () => generateKeyPairSync("ed25519"), hash: undefined },
} as const
export type PairAlgorithm = keyof typeof ALGORITHMS

/** A pair of keys of a server: what it publishes, and tokens that it signs. */
export const makePair = (alg: PairAlgorithm, kid: string) => {
  const { privateKey, publicKey }: { readonly privateKey: KeyObject; readonly publicKey: KeyObject } =
    ALGORITHMS[alg].pair()
  return {
    published: { ...publicKey.export({ format: "jwk" }), kid, use: "sig" },
    publicKey,
    token: (claims: object, header: Readonly<Record<string, unknown>> = {}): string => {
      const signed = `${encode({ alg, kid, ...header })}.${encode(claims)}`
      const key = { key: privateKey, dsaEncoding: "ieee-p1363" as const }
      return `${signed}.${sign(ALGORITHMS[alg].hash, Buffer.from(signed), key).toString("base64url")}`
    },
  }
}

export interface KeyServer {
  readonly url: string
  /** how often it was asked */
  asked: number
  /** answers a request; undefined never answers */
  answer: (() => { readonly status?: number; readonly body: string } | undefined) | undefined
  readonly publish: (...keys: ReadonlyArray<object>) => void
  readonly close: () => Promise<void>
}

/** A server of keys on this machine. */
export const startKeyServer = async (...keys: ReadonlyArray<object>): Promise<KeyServer> => {
  const server: Server = createServer((_request, response) => {
    keyServer.asked++
    const answer = keyServer.answer?.()
    if (answer === undefined) return
    response.writeHead(answer.status ?? 200, { "content-type": "application/json" })
    response.end(answer.body)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port }: Pick<AddressInfo, "port"> = Object(server.address())
  const keyServer: KeyServer = {
    url: `http://127.0.0.1:${port}/keys`,
    asked: 0,
    answer: undefined,
    publish: (...published) => {
      keyServer.answer = () => ({ body: JSON.stringify({ keys: published }) })
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  keyServer.publish(...keys)
  return keyServer
}
