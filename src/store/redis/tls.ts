/** TLS to Redis: its options, and whether it is the reason why no connection comes about. Certificates are always verified. */
import { type ConnectionOptions, connect as connectTls } from "node:tls"
import { Cluster, type Redis } from "ioredis"
import type { HostPort, RedisConnection } from "../connection-string.ts"
import { tlsFault } from "./tls-faults.ts"

/** Undefined without TLS. */
export const tlsOptions = ({ serverName, tls, tlsContext }: RedisConnection): ConnectionOptions | undefined =>
  tls ? { ...tlsContext, ...(serverName === undefined ? {} : { servername: serverName }) } : undefined

/** Undefined without TLS. */
export const sentinelTlsOptions = (
  connection: Extract<RedisConnection, { readonly kind: "sentinel" }>,
): ConnectionOptions | undefined =>
  connection.tls && connection.sentinelTlsContext !== undefined
    ? { ...connection.sentinelTlsContext }
    : tlsOptions(connection)

const PROBE_MILLIS = 2_000

/**
 * Why a connection to this server does not come about, if the reason is TLS on one side only, or that the server demands a client
 * certificate. Sends nothing but the beginning of a TLS connection. A server without TLS waits for more of it, and so does one that
 * stands still.
 *
 * @param tls the options of the gate's TLS (`tlsOptions`); undefined if it uses none
 */
export const tlsProblem = ({ host, port }: HostPort, tls: ConnectionOptions | undefined): Promise<string | undefined> =>
  new Promise((resolve) => {
    const socket = connectTls({ host, port, ...tls, rejectUnauthorized: false })
    let reached = false
    let secured = false
    let answered = false
    const done = (found: string | undefined): void => {
      socket.destroy()
      resolve(found)
    }
    socket.once("connect", () => {
      reached = true
    })
    socket.once("secureConnect", () => {
      secured = true
      if (tls === undefined) done(SPEAKS_TLS)
    })
    socket.once("data", () => {
      answered = true
    })
    // TLS 1.3: the server judges the client after the beginning, and its reason may be lost when it closes
    const closed = (): void => done(tls !== undefined && secured && !answered ? CLOSES_TLS : undefined)
    // of a real socket, so in real time in tests as well
    socket.setTimeout(PROBE_MILLIS, () => done(tls !== undefined && reached && !secured ? SPEAKS_NO_TLS : undefined))
    socket.once("close", closed)
    socket.on("error", (error: Error) => {
      // a refusal within TLS shows that the server speaks it
      const fault = tlsFault([String(error), "code" in error ? String(error.code) : ""])
      if (fault === undefined) closed()
      else done(tls === undefined ? SPEAKS_TLS : fault)
    })
  })

const SPEAKS_TLS = "the server speaks TLS on this port: use rediss://, or ssl=true in the form host:port"
const SPEAKS_NO_TLS = "the server does not speak TLS on this port: use its TLS port, or redis:// if it has none"
const CLOSES_TLS =
  "the server closes every TLS connection as soon as it is open: it may demand a client certificate, and the gate has none (at the server: tls-auth-clients no)"

/**
 * Also hears the errors of a connection's stream after the first: with TLS, the reason for which the server closes may follow the error
 * of a write. ioredis listens once for each stream, and an error that nobody listens for would end the process.
 *
 * @param failed hears those of a stream that is open
 */
export const onStreamError = (client: Redis | Cluster, failed: (error: unknown) => void): void => {
  if (client instanceof Cluster) {
    client.on("+node", (node: Redis) => onStreamError(node, failed))
    return
  }
  let current = client.stream
  // ioredis has no event for a new stream
  Object.defineProperty(client, "stream", {
    configurable: true,
    enumerable: true,
    get: () => current,
    set: (stream: typeof current) => {
      current = stream
      stream.on("error", () => {})
    },
  })
  client.on("connect", () => void current.on("error", failed))
}
