/** Scripted fakes of the voice-agent platform and of a provider of IP intelligence. */
import { once } from "node:events"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"

interface Listening {
  /** `http://127.0.0.1:port/` */
  readonly origin: string
  readonly dispose: () => Promise<void>
}

const listen = async (answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<Listening> => {
  const server = createServer(answer).listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("a TCP server has a port")
  return {
    origin: `http://127.0.0.1:${address.port}/`,
    dispose: async () => {
      if (!server.listening) return
      const closed = once(server, "close")
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

const read = async (request: IncomingMessage): Promise<string> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks).toString()
}

/** How a server handles a request: answers, breaks the connection, or never answers. */
export type Scripted = { readonly status: number; readonly body: unknown } | "reset" | "hang"

const carryOut = (scripted: Scripted, response: ServerResponse): void => {
  if (scripted === "hang") return
  if (scripted === "reset") {
    response.socket?.destroy()
    return
  }
  const text = typeof scripted.body === "string" ? scripted.body : JSON.stringify(scripted.body)
  response.writeHead(scripted.status, { "content-type": "application/json" }).end(text)
}

/** One call to start a session, as the platform received it. */
export interface StartCall {
  readonly path: string
  readonly authorization: string
  /** the header of W3C Trace Context; empty without one */
  readonly traceparent: string
  readonly body: Readonly<Record<string, unknown>>
  /** what the webhook will name */
  readonly sessionId: string
  /** answers a start that was left hanging */
  readonly release: () => void
  /** its session has begun, whatever the answer says */
  readonly begin: () => void
}

export interface FakePlatform extends Listening {
  readonly baseUrl: string
  readonly starts: ReadonlyArray<StartCall>
  /** how starts are answered from now on; undefined for a session */
  script: ((call: StartCall) => Scripted | undefined) | undefined
}

/**
 * A platform that starts every session it is asked for, unless its script says otherwise, and whose history lists the newest
 * sessions, as `websession/history` does.
 */
export const startPlatform = async (): Promise<FakePlatform> => {
  const starts: Array<StartCall> = []
  const begun: Array<Readonly<Record<string, unknown>>> = []
  const listening = await listen(async (request, response) => {
    const text = await read(request)
    const sessionId = `conversation-${starts.length + 1}`
    const data = { webSessionId: `web-${starts.length + 1}`, conversationSessionId: sessionId }
    const session = {
      status: 200,
      body: { success: true, data: { ...data, sessionWebSocketURL: `ws://127.0.0.1:9/${sessionId}?token=t` } },
    }
    if (request.url?.endsWith("/websession/history")) {
      const items = begun.toReversed().slice(0, JSON.parse(text).limit)
      return carryOut({ status: 200, body: { success: true, data: { items, nextCursor: null } } }, response)
    }
    if (!request.url?.endsWith("/websession/initiate")) {
      return carryOut({ status: 404, body: { detail: "Not found." } }, response)
    }
    const body: StartCall["body"] = JSON.parse(text)
    const begin = (): void => {
      const { clientIdentifier, webCampaignId } = body
      begun.push({ ...data, clientIdentifier, webCampaignId, createdAt: new Date().toISOString() })
    }
    const call: StartCall = {
      path: request.url,
      authorization: request.headers.authorization ?? "",
      traceparent: String(request.headers.traceparent ?? ""),
      body,
      sessionId,
      release: () => {
        begin()
        carryOut(session, response)
      },
      begin,
    }
    starts.push(call)
    const scripted = platform.script?.(call)
    if (scripted === undefined) call.release()
    else carryOut(scripted, response)
  })
  const platform: FakePlatform = { ...listening, baseUrl: `${listening.origin}api/v1`, starts, script: undefined }
  return platform
}

export interface FakeProvider extends Listening {
  /** the addresses that were looked up */
  readonly lookups: ReadonlyArray<string>
  /** how lookups are answered from now on */
  script: (address: string) => Scripted
}

/** Knows nothing against anybody. */
export const clean: Scripted = { status: 200, body: { is_vpn: false, is_proxy: false, is_tor: false } }

/** A provider that speaks as ipapi.is does. */
export const startProvider = async (): Promise<FakeProvider> => {
  const lookups: Array<string> = []
  const listening = await listen((request, response) => {
    const address = new URL(request.url ?? "/", "http://provider").searchParams.get("q") ?? ""
    lookups.push(address)
    carryOut(provider.script(address), response)
  })
  const provider: FakeProvider = { ...listening, lookups, script: () => clean }
  return provider
}

/** A server that refuses every request, with each status in turn, and repeats the headers and the body that it was sent. */
export const startEcho = async (): Promise<Listening & { readonly asked: ReadonlyArray<string> }> => {
  const asked: Array<string> = []
  const listening = await listen(async (request, response) => {
    const sent = { headers: request.headers, url: request.url, body: await read(request) }
    asked.push(request.url ?? "")
    const status = [401, 402, 403, 429, 500, 200][asked.length % 6] ?? 500
    carryOut({ status, body: { ...sent, error: sent, message: JSON.stringify(sent) } }, response)
  })
  return { ...listening, asked }
}
