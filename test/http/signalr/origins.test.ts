/** The hub stores tickets by browser and origin, or, without cookies, by page. */
import { once } from "node:events"
import { assert, describe } from "@effect/vitest"
import { DefaultHttpClient, type HubConnection, HubConnectionBuilder, LogLevel, NullLogger } from "@microsoft/signalr"
import { Effect } from "effect"
import { WebSocket } from "ws"
import { eventually } from "../../harness/process.ts"
import { begin, enqueue } from "../../support/gate.ts"
import { call, rawCall, type Served, servedTest } from "../../support/gate-server.ts"

const SHOP = "https://shop.example"
const OTHER = "https://other.example"
/** Longer than the hub waits for a registration before it treats a connection as a reconnect. */
const RESTORED_MILLIS = 3_800

const frame = (record: object): string => `${JSON.stringify(record)}\u001e`

interface Page {
  readonly messages: ReadonlyArray<string>
  readonly close: () => void
}

/** Opens the hub as a page of this origin, shakes hands, and registers the ticket when there is one. */
const page = (port: number, headers: Readonly<Record<string, string>>, ticket?: string, id?: string) =>
  Effect.acquireRelease(
    Effect.promise(async (): Promise<Page> => {
      const socket = new WebSocket(`ws://127.0.0.1:${port}/sessionHub${id === undefined ? "" : `?id=${id}`}`, {
        headers,
      })
      const messages: Array<string> = []
      socket.on("message", (data) => messages.push(String(data)))
      socket.on("error", () => {})
      await once(socket, "open")
      socket.send(frame({ protocol: "json", version: 1 }))
      if (ticket !== undefined)
        socket.send(frame({ type: 1, target: "Register", arguments: [ticket], invocationId: "0" }))
      return { messages, close: () => socket.terminate() }
    }),
    ({ close }) => Effect.sync(close),
  )

const negotiate = (port: number, headers: Readonly<Record<string, string>>) =>
  rawCall(port, { method: "POST", path: "/sessionHub/negotiate?negotiateVersion=1", headers })

const holders = ({ connected }: Served, many: number) =>
  Effect.promise(() =>
    eventually("so many tickets have a connection", async () => (await Effect.runPromise(connected)).length === many),
  )

/** A waiting ticket, registered by a page of the shop that has disconnected. */
const registered = (served: Served, headers: Readonly<Record<string, string>>, id?: string) =>
  Effect.gen(function* () {
    yield* begin()
    const ticket = yield* enqueue()
    const shop = yield* page(served.port, headers, ticket, id)
    yield* holders(served, 1)
    shop.close()
    yield* holders(served, 0)
    return ticket
  })

const cookieFrom = (answer: {
  readonly headers: { readonly "set-cookie"?: ReadonlyArray<string> | undefined }
}): string => answer.headers["set-cookie"]?.[0]?.split(";")[0] ?? ""

describe.concurrent("what the hub stores about a browser", { timeout: 30_000 }, () => {
  servedTest(
    "is one that the gate has issued, in a cookie that no other host of the domain can set",
    { Security: { AllowedOrigins: [SHOP] } },
    ({ port }) =>
      Effect.gen(function* () {
        const chosen = "c".repeat(22)
        for (const name of ["voicegate_hub", "__Host-voicegate_hub"]) {
          const fresh = yield* negotiate(port, { origin: SHOP, cookie: `${name}=${chosen}` })
          assert.match(
            fresh.headers["set-cookie"]?.[0] ?? "",
            /^__Host-voicegate_hub=[\w-]{22}; Path=\/; HttpOnly;.* Secure/,
          )
          assert.notInclude(cookieFrom(fresh), chosen)
        }
        const bearer = yield* negotiate(port, { origin: SHOP, authorization: `Bearer ${chosen}` })
        assert.notStrictEqual(bearer.body.accessToken, chosen)
        const issued = cookieFrom(yield* negotiate(port, { origin: SHOP }))
        assert.strictEqual(cookieFrom(yield* negotiate(port, { origin: SHOP, cookie: issued })), issued)
        // set by another host of the domain, which has its own id from the gate
        const planted = issued.replace("__Host-", "")
        assert.notStrictEqual(cookieFrom(yield* negotiate(port, { origin: SHOP, cookie: planted })), issued)
      }),
  )

  servedTest(
    "is only for pages of the origin that registered: another allowed page with its cookie gets nothing",
    { Security: { AllowedOrigins: [SHOP, OTHER] } },
    (served) =>
      Effect.gen(function* () {
        const negotiated = yield* negotiate(served.port, { origin: SHOP })
        const cookie = cookieFrom(negotiated)
        const attributes = negotiated.headers["set-cookie"]?.[0] ?? ""
        for (const each of ["HttpOnly", "Secure", "SameSite=None", "Partitioned"])
          assert.include(attributes, `; ${each}`)
        const ticket = yield* registered(served, { origin: SHOP, cookie })
        const stolen = yield* negotiate(served.port, { origin: OTHER, cookie })
        const others = [
          yield* page(served.port, { origin: OTHER, cookie }),
          yield* page(served.port, { origin: OTHER, cookie }, undefined, String(stolen.body.connectionToken)),
          yield* page(served.port, { origin: `http://127.0.0.1:${served.port}`, cookie }),
        ]
        yield* Effect.sleep(RESTORED_MILLIS)
        assert.deepStrictEqual(yield* served.connected, [])
        // its own page is still known
        yield* page(served.port, { origin: SHOP, cookie })
        yield* Effect.sleep(RESTORED_MILLIS)
        assert.deepStrictEqual(yield* served.connected, [ticket])
        for (const { messages } of others) assert.notInclude(messages.join(""), "Session")
      }),
  )

  servedTest(
    "accepts no credentials from pages that only * allows",
    { Security: { AllowedOrigins: ["*"] } },
    (served) =>
      Effect.gen(function* () {
        const { port } = served
        const own = { origin: `http://127.0.0.1:${port}` }
        const cookie = cookieFrom(yield* negotiate(port, { ...own, host: `127.0.0.1:${port}` }))
        assert.notStrictEqual(cookie, "")
        const foreign = yield* negotiate(port, { origin: OTHER, cookie })
        assert.strictEqual(foreign.status, 200)
        assert.isUndefined(foreign.headers["set-cookie"])
        assert.notInclude(cookie, String(foreign.body.accessToken))
        const preflight = yield* rawCall(port, {
          method: "OPTIONS",
          path: "/api/session/request",
          headers: { origin: OTHER, "access-control-request-method": "POST" },
        })
        for (const { headers } of [foreign, preflight]) {
          assert.strictEqual(headers["access-control-allow-origin"], "*")
          assert.isUndefined(headers["access-control-allow-credentials"])
        }
        yield* registered(served, { origin: OTHER, cookie })
        yield* page(port, { origin: OTHER, cookie })
        yield* Effect.sleep(RESTORED_MILLIS)
        assert.deepStrictEqual(yield* served.connected, [])
      }),
  )
})

/** The stock client as a page uses it whose browser keeps no cookies. */
const withoutCookies = (url: string) =>
  Effect.acquireRelease(
    Effect.promise(async (): Promise<HubConnection> => {
      const http = new DefaultHttpClient(NullLogger.instance)
      http.getCookieString = () => ""
      const send = http.send.bind(http)
      http.send = (request) => send({ ...request, withCredentials: false, headers: { ...request.headers, cookie: "" } })
      const connection = new HubConnectionBuilder()
        .withUrl(`${url}/sessionHub`, { httpClient: http, withCredentials: false })
        .withAutomaticReconnect([0, 100, 100, 100])
        .configureLogging(LogLevel.None)
        .build()
      await connection.start()
      return connection
    }),
    (connection) => Effect.promise(() => connection.stop()),
  )

describe.concurrent("the stock client without cookies", { timeout: 30_000 }, () => {
  servedTest(
    "is known after a reconnect by the token of its first negotiation, and is called",
    { Security: { WebhookApiToken: "the-webhook-token" } },
    (served) =>
      Effect.gen(function* () {
        yield* begin()
        const ticket = yield* enqueue()
        const connection = yield* withoutCookies(served.url)
        let ready = ""
        connection.on("SessionReady", ({ webSocketUrl }: { readonly webSocketUrl: string }) => {
          ready = webSocketUrl
        })
        yield* Effect.promise(() => connection.invoke("Register", ticket))
        yield* holders(served, 1)
        const back = new Promise<void>((resolve) => connection.onreconnected(() => resolve()))
        served.cut()
        yield* Effect.promise(() => back)
        yield* holders(served, 1)
        const ended = yield* call(`${served.url}/api/webhook/session-ended`, {
          method: "POST",
          headers: { "content-type": "application/json", "x-api-token": "the-webhook-token" },
          body: JSON.stringify({ ConversationSessionId: "conversation-1" }),
        })
        assert.strictEqual(ended.status, 200)
        yield* Effect.promise(() => eventually("it is called", () => ready !== ""))
        assert.notInclude(served.log(), "cookie")
      }),
  )

  servedTest(
    "may send its token from an allowed page: only negotiation accepts the header",
    { Security: { AllowedOrigins: [SHOP] } },
    ({ port }) =>
      Effect.gen(function* () {
        for (const [path, allowed] of [
          ["/sessionHub/negotiate", true],
          ["/console/api/view", false],
          ["/api/session/request", false],
        ] as const) {
          const { headers } = yield* rawCall(port, {
            method: "OPTIONS",
            path,
            headers: { origin: SHOP, "access-control-request-method": "POST" },
          })
          assert.strictEqual((headers["access-control-allow-headers"] ?? "").includes("authorization"), allowed, path)
        }
      }),
  )
})
