/** The platform behind a proxy that keeps its connections. */
import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { KEEP_ALIVE_MILLIS } from "../../../src/platform/http/server.ts"
import { ApiKeys } from "../../../src/platform/keys/ApiKeys.ts"
import * as Platform from "../../../src/platform/Platform.ts"
import { startNginx } from "../../harness/nginx.ts"
import { eventually, freePort } from "../../harness/process.ts"
import { prepare } from "../support.ts"

/** How long nginx keeps an idle connection to what is behind it unless it is told otherwise, in milliseconds. */
const NGINX_MILLIS = 60_000
/** How long it does here. Both sides are shortened alike. */
const SHORT_MILLIS = 2_000
const KEPT_MILLIS = Math.round((KEEP_ALIVE_MILLIS * SHORT_MILLIS) / NGINX_MILLIS)
/** How long what one side sends is on its way, in milliseconds. */
const LATENCY_MILLIS = 50
/** What each client waits more or less than the limit, in milliseconds. */
const SPREADS = Array.from({ length: 24 }, (_, client) => (client - 12) * 10)

/** nginx with one kept connection for each client, so that it is idle for as long as the client waits. */
const configuration = (port: number, platform: string) => `
  ${SPREADS.map(
    (_, client) =>
      `upstream platform${client} { server ${platform}; keepalive 1; keepalive_timeout ${SHORT_MILLIS}ms; }`,
  ).join("\n  ")}
  server {
    listen 127.0.0.1:${port};
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    ${SPREADS.map((_, client) => `location /${client}/ { proxy_pass http://platform${client}/; }`).join("\n    ")}
  }
`

/**
 * A network between nginx and the platform on which everything takes a while, so that a request and the other side's close can cross.
 * Returns its host and port.
 */
const slowNetwork = (platform: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const [host, port] = platform.split(":")
      const sockets = new Set<Socket>()
      const forward = (from: Socket, to: Socket): void => {
        const later = (act: () => void) => setTimeout(act, LATENCY_MILLIS)
        sockets.add(from)
        from.on("data", (chunk) => later(() => to.destroyed || to.write(chunk)))
        from.on("end", () => later(() => to.end()))
        from.on("error", () => later(() => to.resetAndDestroy()))
        from.on("close", () => sockets.delete(from))
      }
      const server = createServer({ allowHalfOpen: true }, (client) => {
        const upstream = connect({ host, port: Number(port), allowHalfOpen: true })
        forward(client, upstream)
        forward(upstream, client)
      })
      server.listen(0, "127.0.0.1")
      await once(server, "listening")
      const address = server.address()
      return {
        host: `127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`,
        close: () => {
          server.close()
          for (const socket of sockets) socket.destroy()
        },
      }
    }),
    ({ close }) => Effect.sync(close),
  )

/** nginx in front of what listens at `host:port`; returns its origin. */
const nginxBefore = Effect.fnUntraced(function* (platform: string) {
  const port = yield* Effect.promise(freePort)
  yield* Effect.acquireRelease(
    Effect.promise(() => startNginx(() => configuration(port, platform))),
    (nginx) => Effect.promise(nginx.dispose),
  )
  const origin = `http://127.0.0.1:${port}`
  yield* Effect.promise(() => eventually("nginx", async () => (await fetch(`${origin}/0/openapi.json`)).ok))
  return origin
})

describe("the platform behind nginx", () => {
  it.live(
    "answers each request that comes when a kept connection is about to be closed: no 502, no reset",
    () =>
      Effect.gen(function* () {
        const context = yield* Layer.build(
          Platform.layer({
            keepAliveMillis: KEPT_MILLIS,
            limits: { requestsPerMinute: 0, startsPerMinute: 0 },
            // its Host is the name of the upstream
            allowedHosts: ["*"],
          }),
        )
        yield* Effect.provideContext(prepare(), context)
        const { secret } = yield* Context.get(context, ApiKeys).create("u1", {
          name: "k",
          scope: { type: "Unrestricted" },
        })
        const network = yield* slowNetwork(new URL(Context.get(context, Platform.Platform).origin).host)
        const origin = yield* nginxBefore(network.host)
        // nginx never repeats a POST by itself
        const ask = (client: number) =>
          Effect.promise(async () => {
            const response = await fetch(`${origin}/${client}/api/v1/business/b1/websession/count`, {
              method: "POST",
              headers: { authorization: `Token ${Redacted.value(secret)}`, "content-type": "application/json" },
              body: "{}",
            })
            await response.arrayBuffer()
            return response.status
          })
        const statuses = yield* Effect.forEach(
          SPREADS,
          (spread, client) =>
            Effect.gen(function* () {
              const seen = [yield* ask(client)]
              // the limit of nginx, that of the platform, and that of the platform as node lengthens it
              for (const pause of [SHORT_MILLIS, KEPT_MILLIS, KEPT_MILLIS + 1_000]) {
                yield* Effect.sleep(pause + spread)
                seen.push(yield* ask(client))
              }
              return seen
            }),
          { concurrency: "unbounded" },
        )
        assert.deepStrictEqual(
          statuses.flat().filter((status) => status !== 200),
          [],
        )
      }),
    60_000,
  )
})
