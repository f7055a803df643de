/** Scripted fakes of the voice-agent platform and of a provider of IP intelligence. */
import type { ServerResponse } from "node:http"
import { text } from "node:stream/consumers"
import {
  type Answer,
  askedOf,
  type Listed,
  type Listening,
  listed,
  listen,
  NOT_FOUND,
  reply,
  type StartBody,
  started,
} from "./platform-wire.ts"

/** How a server handles a request: answers, breaks the connection, or never answers. */
export type Scripted = Answer | "reset" | "hang"

const carryOut = (scripted: Scripted, response: ServerResponse): void => {
  if (scripted === "hang") return
  if (scripted === "reset") {
    response.socket?.destroy()
    return
  }
  reply(response, scripted)
}

/** One call to start a session, as the platform received it. */
export interface StartCall {
  readonly path: string
  readonly authorization: string
  /** the header of W3C Trace Context; empty without one */
  readonly traceparent: string
  readonly body: StartBody
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
  const begun: Array<Listed> = []
  const listening = await listen(async (request, response) => {
    const asked = await askedOf(request)
    if (asked.what === "list") return reply(response, listed(begun.toReversed().slice(0, asked.limit)))
    if (asked.what !== "start") return reply(response, NOT_FOUND)
    const n = starts.length + 1
    const ids = { web: `web-${n}`, conversation: `conversation-${n}` }
    const { body } = asked
    const begin = (): void => {
      const { clientIdentifier: client = "", webCampaignId: campaign = "" } = body
      begun.push({ ...ids, client, campaign, createdAt: Date.now() })
    }
    const call: StartCall = {
      path: request.url ?? "",
      authorization: request.headers.authorization ?? "",
      traceparent: String(request.headers.traceparent ?? ""),
      body,
      sessionId: ids.conversation,
      release: () => {
        begin()
        reply(response, started(ids))
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
    const sent = { headers: request.headers, url: request.url, body: await text(request) }
    asked.push(request.url ?? "")
    const status = [401, 402, 403, 429, 500, 200][asked.length % 6] ?? 500
    reply(response, { status, body: { ...sent, error: sent, message: JSON.stringify(sent) } })
  })
  return { ...listening, asked }
}
