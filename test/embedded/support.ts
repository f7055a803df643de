/** Shared by the tests of a host: a scripted platform, a gate on it, and a server for its listeners. */
import { once } from "node:events"
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http"
import { afterEach, assert, beforeEach } from "vitest"
import { createGate, type Gate, type GateOptions, type GateSettings } from "../../src/index.ts"

export interface Running {
  readonly server: Server
  readonly origin: string
  readonly close: () => Promise<void>
}

/** Serves on a free port of 127.0.0.1. */
export const serve = async (listener: RequestListener): Promise<Running> => {
  const server = createServer(listener).listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("a TCP server has a port")
  return {
    server,
    origin: `http://127.0.0.1:${address.port}`,
    close: async () => {
      const closed = once(server, "close")
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

export interface FakePlatform extends Running {
  /** the bodies of the start requests */
  readonly starts: Array<Readonly<Record<string, unknown>>>
  /** its next answer; by default a new session */
  next: ((sessionId: string) => Promise<{ readonly status: number; readonly body: unknown }>) | undefined
}

const textOf = async (request: IncomingMessage): Promise<string> => {
  let text = ""
  for await (const chunk of request) text += String(chunk)
  return text
}

export const startPlatform = async (): Promise<FakePlatform> => {
  const starts: FakePlatform["starts"] = []
  const running = await serve(async (request, response) => {
    if (request.method === "POST") starts.push(JSON.parse(await textOf(request)))
    const sessionId = `session-${starts.length}`
    const { body, status } = (await platform.next?.(sessionId)) ?? {
      status: 200,
      body: { success: true, data: { sessionId, sessionWebSocketURL: `wss://agent.example/${sessionId}` } },
    }
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
  })
  const platform: FakePlatform = { ...running, starts, next: undefined }
  return platform
}

export const WEBHOOK_TOKEN = "webhook-token-of-the-tests"

export const settingsFor = (platform: Running, security: GateSettings["Security"] = {}, slots = 1): GateSettings => ({
  VoiceAiPlatform: {
    ApiSecretToken: "platform-key-of-the-tests",
    BaseUrl: platform.origin,
    BusinessId: "business",
    WebCampaignId: "campaign",
    DefaultRegionId: "eu",
    AllowedRegionIds: ["eu", "us"],
    MaxConcurrency: slots,
  },
  Security: { WebhookApiToken: WEBHOOK_TOKEN, ...security },
})

/** A gate that discards its log. */
export const gateOn = (
  platform: Running,
  security: GateSettings["Security"] = {},
  options: GateOptions = {},
): Promise<Gate> => createGate(settingsFor(platform, security), { log: () => {}, ...options })

/** A scripted platform for each test of a file, and gates on it that are closed after the test. */
export const useGates = () => {
  let platform: FakePlatform
  let gates: Array<Gate> = []
  beforeEach(async () => {
    gates = []
    platform = await startPlatform()
  })
  afterEach(async () => {
    for (const each of gates) await each.close()
    await platform.close()
  })
  const own = (gate: Gate): Gate => {
    gates.push(gate)
    return gate
  }
  return {
    get platform() {
      return platform
    },
    create: async (security?: GateSettings["Security"], options?: GateOptions) =>
      own(await gateOn(platform, security, options)),
    /** closes this gate too after the test */
    own,
  }
}

export const rejection = async (promise: Promise<unknown>): Promise<Error> => {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  assert.instanceOf(error, Error)
  return error
}
