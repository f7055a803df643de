/** What one address may open, and whose address a request's caller has, as at the gate. */
import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Logger, Redacted } from "effect"
import { IpNetwork } from "effect/net"
import { ApiKeys } from "../../../src/platform/keys/ApiKeys.ts"
import * as Platform from "../../../src/platform/Platform.ts"
import { eventually } from "../../harness/process.ts"
import { rawCall } from "../../support/gate-server.ts"
import { prepare } from "../support.ts"

const running = Effect.fnUntraced(function* (options: Platform.Options) {
  const lines: Array<string> = []
  const logger = Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])
  const context = yield* Layer.build(Platform.layer(options).pipe(Layer.provide(logger)))
  const { origin } = Context.get(context, Platform.Platform)
  return { context, lines, port: Number(new URL(origin).port) }
})

const open = async (port: number): Promise<Socket> => {
  const socket = connect(port, "127.0.0.1")
  socket.on("error", () => {})
  await once(socket, "connect")
  return socket
}

const LOOPBACK = [IpNetwork.fromStringUnsafe("127.0.0.0/8")]

describe("open connections of one address to the platform", () => {
  it.live("are limited: one too many is closed at once and logged, and a closed one makes room", () =>
    Effect.gen(function* () {
      const { lines, port } = yield* running({ connectionsPerAddress: 3 })
      const held = yield* Effect.promise(() => Promise.all([open(port), open(port), open(port)]))
      const tooMany = yield* Effect.promise(() => open(port))
      yield* Effect.promise(() => once(tooMany, "close"))
      assert.isTrue(held.every((socket) => !socket.destroyed))
      yield* Effect.promise(() =>
        eventually("it is logged", () => lines.some((line) => line.includes("--connections-per-address"))),
      )
      held[0]?.destroy()
      yield* Effect.promise(() =>
        eventually("there is room", () =>
          fetch(`http://127.0.0.1:${port}/openapi.json`).then(
            ({ ok }) => ok,
            () => false,
          ),
        ),
      )
      for (const socket of held) socket.destroy()
    }).pipe(Effect.scoped),
  )

  it.live("open connections of a trusted proxy to the platform are not limited, and 0 is no limit", () =>
    Effect.gen(function* () {
      for (const options of [{ connectionsPerAddress: 1, trustedProxies: LOOPBACK }, { connectionsPerAddress: 0 }]) {
        const { port } = yield* running(options)
        const held = yield* Effect.promise(() => Promise.all([open(port), open(port), open(port)]))
        assert.strictEqual((yield* rawCall(port, { path: "/openapi.json" })).status, 200)
        assert.isTrue(held.every((socket) => !socket.destroyed))
        for (const socket of held) socket.destroy()
      }
    }).pipe(Effect.scoped),
  )
})

describe("the address of a caller of the platform", () => {
  /** The status for a key that may be used from 198.51.100.7 alone. */
  const asking = Effect.fnUntraced(function* (options: Platform.Options) {
    const { context, lines, port } = yield* running(options)
    yield* Effect.provideContext(prepare(), context)
    const { secret } = yield* Context.get(context, ApiKeys).create("u1", {
      name: "k",
      scope: { type: "Unrestricted" },
      allowedAddresses: ["198.51.100.7"],
    })
    const ask = (headers: Readonly<Record<string, string>>) =>
      Effect.map(
        rawCall(port, {
          path: "/api/v1/business",
          headers: { authorization: `Token ${Redacted.value(secret)}`, ...headers },
        }),
        ({ status }) => status,
      )
    return { ask, lines }
  })

  it.live("is in the header that the trusted proxy sets, whichever that is, and in no other", () =>
    Effect.gen(function* () {
      const address = "198.51.100.7"
      for (const [clientAddressHeader, value] of [
        [undefined, address],
        ["CF-Connecting-IP", address],
        ["x-real-ip", address],
        ["forwarded", `for=${address};proto=https`],
      ] as const) {
        const { ask } = yield* asking({
          trustedProxies: LOOPBACK,
          ...(clientAddressHeader !== undefined && { clientAddressHeader }),
        })
        const name = clientAddressHeader ?? "x-forwarded-for"
        assert.strictEqual(yield* ask({ [name]: value }), 200, name)
        assert.strictEqual(yield* ask({ "true-client-ip": address }), 403, name)
        assert.strictEqual(yield* ask({ [name]: `${value}, for=203.0.113.9` }), 403, name)
      }
      const { ask } = yield* asking({})
      assert.strictEqual(yield* ask({ "x-forwarded-for": address }), 403)
    }).pipe(Effect.scoped),
  )

  it.live("is the one before a comma at the end, and of a list the nearest that is no proxy", () =>
    Effect.gen(function* () {
      const { ask } = yield* asking({ trustedProxies: LOOPBACK })
      assert.strictEqual(yield* ask({ "x-forwarded-for": "198.51.100.7," }), 200)
      assert.strictEqual(yield* ask({ "x-forwarded-for": "203.0.113.9, 198.51.100.7, 127.0.0.1" }), 200)
      assert.strictEqual(yield* ask({ "x-forwarded-for": "198.51.100.7, 203.0.113.9" }), 403)
    }).pipe(Effect.scoped),
  )

  it.live("an address of a caller that a proxy names in vain is said once in the log, with the option to set", () =>
    Effect.gen(function* () {
      const untrusted = yield* asking({})
      yield* untrusted.ask({ "x-forwarded-for": "198.51.100.7" })
      yield* untrusted.ask({ "x-forwarded-for": "198.51.100.7" })
      assert.lengthOf(
        untrusted.lines.filter((line) => line.includes("add it to --trusted-proxy")),
        1,
      )
      const other = yield* asking({ trustedProxies: LOOPBACK })
      yield* other.ask({ "cf-connecting-ip": "198.51.100.7" })
      assert.isTrue(other.lines.some((line) => line.includes("set --client-address-header to CF-Connecting-IP")))
    }).pipe(Effect.scoped),
  )
})
