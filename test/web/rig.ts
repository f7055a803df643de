/**
 * The real gate and the local platform in this process, as a browser reaches them: both behind lines that a test can cut.
 * The gate serves the widget and the demo's pages as they are built into `dist`.
 */
import { once } from "node:events"
import { createServer, type IncomingMessage } from "node:http"
import { type AddressInfo, connect, createServer as createTcpServer, type Server, type Socket } from "node:net"
import { dirname, join } from "node:path"
import { pathToFileURL } from "node:url"
import { Effect, Exit, Layer, Logger, Redacted, Scope } from "effect"
import { WebSocket } from "ws"
import { pages } from "../../src/cli/demo/pages.ts"
import * as Gate from "../../src/embedded/as-configured.ts"
import { WidgetFiles } from "../../src/http/documents/widget-files.ts"
import { Listeners } from "../../src/http/Listeners.ts"
import * as ListenersLayer from "../../src/http/server/listeners.ts"
import * as Platform from "../../src/platform/Platform.ts"
import { makeStarterAccount } from "../../src/platform/starter.ts"
import { layerFrom } from "../../src/settings/given.ts"
import { program, whenBuilt } from "../harness/build.ts"

export interface Built {
  readonly widget: string
  readonly demo: string
}

const web = join(dirname(program), "web")

/** Where the widget and the pages are, once they are up to date. */
export const whenWebBuilt = async (): Promise<Built> => {
  await whenBuilt()
  return { widget: join(web, "widget"), demo: join(web, "demo") }
}

const portOf = (server: Server): number => {
  const address: AddressInfo | string | null = server.address()
  if (address === null || typeof address === "string") throw new Error("a TCP server has a port")
  return address.port
}

/**
 * `cut` closes every connection and takes no new one; `frozen` lets nothing through and tells nobody; `gone` is `cut` where nobody
 * listens any more, so that nothing is ever sent.
 */
export type LineState = "open" | "cut" | "frozen" | "gone"

export interface Line {
  readonly port: number
  readonly set: (state: LineState) => void
  readonly stop: () => Promise<void>
}

/** A TCP line to a port of this machine. */
const openLine = async (target: () => number): Promise<Line> => {
  let state: LineState = "open"
  const sockets = new Set<Socket>()
  const server = createTcpServer((near) => {
    if (state === "cut") {
      near.destroy()
      return
    }
    const far = connect(target(), "127.0.0.1")
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.setNoDelay(true)
      from.on("data", (chunk) => to.write(chunk))
      from.on("end", () => to.end())
      from.on("error", () => from.destroy())
      from.on("close", () => {
        sockets.delete(from)
        to.destroy()
      })
      if (state === "frozen") from.pause()
    }
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  const port = portOf(server)
  return {
    port,
    set: (next) => {
      if (next === "gone") server.close()
      else if (state === "gone") server.listen(port, "127.0.0.1")
      state = next
      for (const socket of sockets) {
        if (next === "cut" || next === "gone") socket.resetAndDestroy()
        else if (next === "frozen") socket.pause()
        else socket.resume()
      }
    },
    stop: async () => {
      for (const socket of sockets) socket.destroy()
      if (state === "gone") return
      server.close()
      await once(server, "close")
    },
  }
}

export interface Options {
  readonly slots?: number
  readonly settings?: {
    readonly VoiceAiPlatform?: Readonly<Record<string, unknown>>
    readonly Queue?: Readonly<Record<string, unknown>>
    readonly Security?: Readonly<Record<string, unknown>>
    readonly IpIntel?: Readonly<Record<string, unknown>>
  }
}

export interface Rig {
  /** where the gate is reached; ends in a slash */
  readonly url: string
  readonly gateLine: Line
  /** the line of the sessions' WebSockets */
  readonly callLine: Line
  /** the gate's line to the platform's API */
  readonly platformLine: Line
  /** when session-ended webhooks arrived, as `Date.now()` says, which a page of this machine can compare with its own */
  readonly webhooks: ReadonlyArray<number>
  /** a call of somebody else; the answer hangs it up */
  readonly hold: () => Promise<() => void>
  /** as `hold`, but past the gate, as a telephone call on the same account */
  readonly holdPastGate: () => Promise<() => void>
  /** pauses the queue of the first campaign or of another one, until a time (ms since 1970) or not, drains or resumes it, as an operator does */
  readonly operate: (type: "drain" | "pause" | "resume", until?: number, campaign?: string) => Promise<void>
  readonly stop: () => Promise<void>
}

const REGION = "local"

type Account = Effect.Success<ReturnType<typeof makeStarterAccount>>
const TOKEN = "webhook-token-of-the-tests"
const CONSOLE_TOKEN = "console-token-of-the-tests"

const talk = async (url: unknown): Promise<() => void> => {
  const socket = new WebSocket(String(url))
  await once(socket, "open")
  return () => socket.close()
}

const postJson = async (url: string, body: object, headers: Record<string, string> = {}) => {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  })
  const answer: Record<string, unknown> = JSON.parse(await response.text())
  if (response.status !== 200) throw new Error(`${url} answered ${response.status}: ${JSON.stringify(answer)}`)
  return answer
}

/** Starts all of it on free ports of 127.0.0.1. */
export const startRig = async (built: Built, { settings = {}, slots = 1 }: Options = {}): Promise<Rig> => {
  const webhooks: Array<number> = []
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  let platformPort = 0
  const gateLine = await openLine(() => portOf(server))
  const callLine = await openLine(() => platformPort)
  const platformLine = await openLine(() => platformPort)
  let account: Account | undefined

  const platform = Platform.layer({
    publicWebSocketOrigin: `ws://127.0.0.1:${callLine.port}`,
    privateWebhooks: true,
  })

  const gate = Layer.unwrap(
    Effect.gen(function* () {
      const { baseUrl } = yield* Platform.Platform
      platformPort = Number(new URL(baseUrl).port)
      account = yield* makeStarterAccount({
        name: "Tests",
        regionId: REGION,
        callConcurrency: slots,
        sessionEnded: {
          url: `http://127.0.0.1:${portOf(server)}/api/webhook/session-ended`,
          headers: { "X-Api-Token": Redacted.make(TOKEN) },
        },
      })
      return ListenersLayer.layer({ routes: pages(undefined, pathToFileURL(built.demo)) }).pipe(
        Layer.provide(Gate.layer),
        Layer.provide(
          layerFrom({
            StoreConnectionString: "memory:",
            Server: { Host: "127.0.0.1" },
            ...settings,
            VoiceAiPlatform: {
              ApiSecretToken: account.secret,
              BaseUrl: Object.assign(new URL(baseUrl), { port: platformLine.port }).href,
              BusinessId: account.businessId,
              WebCampaignId: account.webCampaignId,
              DefaultRegionId: REGION,
              MaxConcurrency: slots,
              ...settings.VoiceAiPlatform,
            },
            Security: {
              WebhookApiToken: TOKEN,
              ConsoleToken: CONSOLE_TOKEN,
              RateLimitHourly: 0,
              RateLimitDaily: 0,
              RateLimitConcurrency: 0,
              TrustedProxies: ["loopback"],
              ...settings.Security,
            },
          }),
        ),
      )
    }),
  )

  const scope = await Effect.runPromise(Scope.make())
  const everything = gate.pipe(
    Layer.provideMerge(platform),
    Layer.provide(Layer.succeed(WidgetFiles, [pathToFileURL(`${built.widget}/`)])),
    Layer.provide(Logger.layer([])),
  )
  const context = await Effect.runPromise(Layer.buildWithScope(everything, scope))
  const { baseUrl } = await Effect.runPromise(Effect.provide(Platform.Platform, context))
  const listeners = await Effect.runPromise(Effect.provide(Listeners, context))

  if (account === undefined) throw new Error("the gate was built without an account")
  const { businessId, secret, webCampaignId } = account

  server.on("request", (request: IncomingMessage) => {
    if (request.url === "/api/webhook/session-ended") webhooks.push(Date.now())
  })
  server.on("request", listeners.request)
  server.on("upgrade", listeners.upgrade)

  return {
    url: `http://127.0.0.1:${gateLine.port}/`,
    gateLine,
    callLine,
    platformLine,
    webhooks,
    hold: async () => talk((await postJson(`http://127.0.0.1:${portOf(server)}/api/session/request`, {})).webSocketUrl),
    holdPastGate: async () => {
      const audio = { sampleRate: 16_000, bitsPerSample: 16, audioEncodingType: 1, audioEncodingFallbackMode: 0 }
      const { data } = await postJson(
        `${baseUrl}business/${businessId}/websession/initiate`,
        {
          transportType: 0,
          webCampaignId,
          regionId: REGION,
          audioInputConfiguration: audio,
          audioOutputConfiguration: { ...audio, frameDurationMs: 30 },
          dynamicVariables: {},
          metadata: {},
        },
        { authorization: `Token ${Redacted.value(secret)}` },
      )
      if (typeof data !== "object" || data === null || !("sessionWebSocketURL" in data)) throw new Error("no session")
      return talk(data.sessionWebSocketURL)
    },
    operate: async (type, until, campaign) => {
      const headers = { authorization: `Bearer ${CONSOLE_TOKEN}` }
      await postJson(
        `http://127.0.0.1:${portOf(server)}/console/api/actions`,
        {
          ...(campaign === undefined ? {} : { campaign }),
          action: until === undefined ? { type } : { type, until },
        },
        headers,
      )
    },
    stop: async () => {
      await Promise.all([gateLine.stop(), callLine.stop(), platformLine.stop()])
      await Effect.runPromise(Scope.close(scope, Exit.void))
      server.close()
      server.closeAllConnections()
    },
  }
}
