/** With a TLS connection string nothing is sent unencrypted, neither to the server nor to the Sentinels. */
import { execFile } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createServer, getCACertificates, setDefaultCACertificates, type TLSSocket } from "node:tls"
import { promisify } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { layer } from "../../../src/store/redis/layer.ts"
import { Store } from "../../../src/store/Store.ts"
import { redisServer } from "../../harness/redis.ts"
import { connectionTo } from "../../harness/stores.ts"

interface Identity {
  readonly key: Buffer
  readonly cert: Buffer
}

/** A certificate for 127.0.0.1 that this process trusts for as long as the scope is open. */
const identity = Effect.acquireRelease(
  Effect.promise(async () => {
    const directory = await mkdtemp(join(tmpdir(), "voicegate-tls-"))
    const [key, cert] = [join(directory, "key.pem"), join(directory, "cert.pem")]
    const request = [
      "req",
      "-x509",
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:prime256v1",
      "-nodes",
      "-days",
      "1",
    ]
    const names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    await promisify(execFile)("openssl", [...request, ...names, "-keyout", key, "-out", cert])
    const made: Identity = { key: await readFile(key), cert: await readFile(cert) }
    await rm(directory, { recursive: true })
    const trusted = getCACertificates("default")
    setDefaultCACertificates([...trusted, made.cert.toString()])
    return { made, trusted }
  }),
  ({ trusted }) => Effect.sync(() => setDefaultCACertificates(trusted)),
)

/** A TLS server on a free port, and the unencrypted data that it received. */
const listening = (made: Identity, serve: (socket: TLSSocket) => void) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const inTheClear: Array<string> = []
      const sockets = new Set<TLSSocket>()
      const server = createServer({ ...made }, (socket) => {
        sockets.add(socket)
        socket.on("error", () => socket.destroy())
        serve(socket)
      })
      server.on("tlsClientError", ({ message }) => inTheClear.push(message))
      server.listen(0, "127.0.0.1")
      await once(server, "listening")
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      return { inTheClear, port, server, sockets }
    }),
    ({ server, sockets }) =>
      Effect.sync(() => {
        for (const socket of sockets) socket.destroy()
        server.close()
      }),
  )

/** Answers a client like a Sentinel: with the master's address, and no other Sentinels. */
const asSentinel = (masterPort: number) => (socket: TLSSocket) => {
  socket.on("data", (data) => {
    for (const command of data.toString().split(/(?=^\*\d)/m)) {
      if (command.includes("get-master-addr-by-name")) {
        socket.write(`*2\r\n$9\r\n127.0.0.1\r\n$${String(masterPort).length}\r\n${masterPort}\r\n`)
      } else if (command.includes("subscribe")) {
        const channels = [...command.matchAll(/\r\n([+-][\w-]+)\r\n/g)].map(([, channel = ""]) => channel)
        for (const [n, channel] of channels.entries()) {
          socket.write(`*3\r\n$9\r\nsubscribe\r\n$${channel.length}\r\n${channel}\r\n:${n + 1}\r\n`)
        }
      } else {
        socket.write("*0\r\n")
      }
    }
  })
}

describe("a connection string that begins with rediss+sentinel", () => {
  it.live("connects to Sentinels and master by TLS only, so that no password is sent unencrypted", () =>
    Effect.gen(function* () {
      const { made } = yield* identity
      const redis = yield* redisServer({ password: "hunter22" })
      const master = yield* listening(made, (socket) => {
        const plain = connect(redis.port, redis.host)
        plain.on("error", () => socket.destroy())
        socket.on("close", () => plain.destroy())
        socket.pipe(plain).pipe(socket)
      })
      const sentinel = yield* listening(made, asSentinel(master.port))
      const url = `rediss+sentinel://:hunter22@127.0.0.1:${sentinel.port}/mymaster`
      const store = yield* Effect.flatMap(Layer.build(layer(connectionTo(url))), (built) =>
        Effect.provide(Store, built),
      )
      yield* store.ping
      assert.deepStrictEqual([...sentinel.inTheClear, ...master.inTheClear], [])
      assert.isAtLeast(master.sockets.size, 2)
    }).pipe(Effect.scoped, Effect.provide(Logger.layer([]))),
  )
})
