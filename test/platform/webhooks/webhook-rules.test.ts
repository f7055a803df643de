/** Where webhooks may go. */
import { createServer, type Server } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { HttpClient } from "effect/http"
import type { WebhookTarget } from "../../../src/platform/model.ts"
import { client, isPublicAddress, layer, WebhookRules } from "../../../src/platform/webhooks/rules.ts"

const problemOf = (target: Partial<WebhookTarget>, allowPrivate = false) =>
  WebhookRules.pipe(
    Effect.flatMap((rules) => rules.check({ url: "https://gate.example/hook", headers: {}, ...target })),
    Effect.match({ onFailure: ({ message }) => message, onSuccess: () => undefined }),
    Effect.provide(layer(allowPrivate)),
  )

describe("the addresses of webhooks", () => {
  it("are public ones, however they are written", () => {
    for (const address of ["93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946", "::ffff:93.184.216.34"]) {
      assert.isTrue(isPublicAddress(address), address)
    }
    for (const address of [
      ...["127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0"],
      ...["255.255.255.255", "224.0.0.1", "::1", "::", "fe80::1", "fc00::1", "fd00:ec2::254", "ff02::1"],
      ...["::ffff:127.0.0.1", "::ffff:a00:1", "64:ff9b::7f00:1", "2002:7f00:1::", "2001:db8::1", "nonsense", ""],
      // IPv4 addresses that are not public, embedded: compatible, NAT64, local NAT64, SIIT, 6to4, Teredo, ISATAP
      ...[
        "::7f00:1",
        "::a9fe:a9fe",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::a00:1",
        "64:ff9b:1:a00:0:100::",
        "::ffff:0:a00:1",
      ],
      ...["2002:a00:1::1", "2001:0:1::f5ff:fffe", "2606:4700:1:2:0:5efe:a00:1", "2606:4700:1:2:200:5efe:7f00:1"],
      // discard-only, dummy, documentation, segment routing, site-local, and what is assigned to nobody
      ...["100::1", "100:0:0:1::1", "3fff::1", "5f00::1", "fec0::1", "1::1", "4000::1", "8000::1", "fe00::1"],
    ]) {
      assert.isFalse(isPublicAddress(address), address)
    }
  })

  it.effect("are refused when typed, as far as the text tells", () =>
    Effect.gen(function* () {
      for (const url of [
        ...["http://127.0.0.1/", "http://[::1]:80/", "http://localhost:9/", "http://a.localhost/", "http://0x7f.1/"],
        ...["http://2130706433/", "http://169.254.169.254/latest", "http://[::ffff:10.0.0.1]/"],
        ...["http://[::7f00:1]/", "http://[::127.0.0.1]/", "http://[100:0:0:1::1]/", "http://[64:ff9b::10.0.0.1]/"],
        ...["http://[2606:4700::5efe:10.0.0.1]/"],
      ]) {
        assert.include(yield* problemOf({ url }), "public internet", url)
        assert.isUndefined(yield* problemOf({ url }, true), url)
      }
      for (const url of ["ftp://gate.example/", "gate.example", "https://a:b@gate.example/", ""]) {
        assert.include(yield* problemOf({ url }, true), "http or https", url)
      }
      assert.isUndefined(yield* problemOf({}))
    }),
  )

  it.effect("carry headers and secrets of the documented form only, and no refusal tells a value", () =>
    Effect.gen(function* () {
      const value = Redacted.make("ok")
      for (const headers of [
        { Host: value },
        { "webhook-id": value },
        { "a b": value },
        { a: Redacted.make("x\r\nevil: 1") },
        { a: Redacted.make("") },
      ]) {
        const problem = yield* problemOf({ headers })
        assert.isString(problem)
        assert.notInclude(problem, "evil")
      }
      assert.isUndefined(yield* problemOf({ headers: { "X-Api-Token": Redacted.make("a b") } }))
      assert.include(yield* problemOf({ signingSecret: Redacted.make("whsec_short") }), "whsec_")
      const secret = Redacted.make("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
      assert.isUndefined(yield* problemOf({ signingSecret: secret }))
    }),
  )

  /** A server on this machine, and how often it was reached. */
  const here = Effect.gen(function* () {
    const reached = { times: 0 }
    const server = yield* Effect.acquireRelease(
      Effect.callback<Server>((resume) => {
        const made = createServer((_request, response) => {
          reached.times++
          response.writeHead(302, { location: "/again" }).end()
        })
        made.listen(0, "127.0.0.1", () => resume(Effect.succeed(made)))
      }),
      (made) => Effect.promise(() => new Promise((done) => void made.close(done))),
    )
    const address = server.address()
    if (address === null || typeof address === "string") return yield* Effect.die("the server has a port")
    return { reached, port: address.port }
  })
  const statusOf = (url: string, allowPrivate: boolean) =>
    HttpClient.get(url).pipe(
      Effect.flatMap((response) => Effect.as(response.text, response.status)),
      Effect.match({ onFailure: ({ reason }) => reason._tag, onSuccess: (status) => status }),
      Effect.provide(client(allowPrivate)),
    )

  it.live("are judged again when connected to: a name that leads here reaches nothing", () =>
    Effect.gen(function* () {
      const { port, reached } = yield* here
      for (const host of ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0"]) {
        assert.strictEqual(yield* statusOf(`http://${host}:${port}/`, false), "TransportError", host)
        assert.strictEqual(yield* statusOf(`https://${host}:${port}/`, false), "TransportError", host)
      }
      assert.strictEqual(reached.times, 0)
    }),
  )

  it.live("may be private ones when allowed, and no redirect is followed", () =>
    Effect.gen(function* () {
      const { port, reached } = yield* here
      assert.strictEqual(yield* statusOf(`http://localhost:${port}/`, true), 302)
      assert.strictEqual(reached.times, 1)
    }),
  )
})
