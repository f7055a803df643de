/**
 * Addresses at which a vendor's own SDK asks for a session, in the vendor's shape: a page with such an SDK needs no client of the gate.
 * These SDKs cannot wait. A caller for whom no slot is free is answered 503 and has no place in the queue.
 *
 * An SDK's agent and room are ignored: the settings of the campaign decide both.
 */
import { DateTime, Option, Predicate } from "effect"
import type { Started } from "../Session.ts"

/** An endpoint for one vendor's SDK: how its requests and answers differ from the gate's own. */
interface Shape {
  /** below `/api/vendors/{vendor}/{campaign}/` */
  readonly path: string
  /** The fields of a session request, each with the path of the SDK's field that gives it. */
  readonly fields: Readonly<Record<string, string>>
  /** The SDK's answer; undefined if the session has no such credential. */
  readonly answerOf: (started: Started) => unknown
}

const shapes = {
  // TokenSource.endpoint of livekit-client
  livekit: {
    path: "token",
    fields: {
      clientIdentifier: "participant_identity",
      dynamicVariables: "participant_attributes",
      "metadata.participant_name": "participant_name",
      "metadata.participant_metadata": "participant_metadata",
    },
    answerOf: ({ credential }) =>
      credential?.shape === "url+token"
        ? { server_url: credential.url, participant_token: credential.token }
        : undefined,
  },
  // startBotAndConnect of @pipecat-ai/client-js
  pipecat: {
    path: "start",
    fields: { dynamicVariables: "body" },
    answerOf: ({ credential, sessionId }) =>
      credential?.shape === "url+token"
        ? { sessionId, dailyRoom: credential.url, dailyToken: credential.token }
        : undefined,
  },
  // RetellClient.createWebCall of retell-client-js-sdk 3
  retell: {
    path: "v3/create-web-call",
    fields: { dynamicVariables: "retell_llm_dynamic_variables", metadata: "metadata" },
    answerOf: ({ credential, sessionId }) => {
      if (credential?.shape !== "token") return undefined
      const { iceServers = [], transport = null, url } = credential.details ?? {}
      const expiry = DateTime.make(credential.expiresAt ?? "")
      return {
        call_id: sessionId,
        access_token: credential.token,
        transport,
        ice_servers: iceServers,
        ...Option.match(expiry, {
          onNone: () => ({}),
          onSome: ({ epochMilliseconds }) => ({ expires_at: epochMilliseconds }),
        }),
        ...(url === undefined ? {} : { url }),
      }
    },
  },
} satisfies Record<string, Shape>

/** The endpoint for one campaign. */
export interface Door extends Shape {
  readonly vendor: string
  readonly campaign: string
}

const PREFIX = "/api/vendors/"

/** Whether a path is such an endpoint, of any vendor. */
export const isDoorPath = (path: string): boolean => path.startsWith(PREFIX)

const decoded = (part: string): string | undefined => {
  try {
    return decodeURIComponent(part)
  } catch {
    return undefined
  }
}

/** The endpoint at a path; undefined if there is none. */
export const doorAt = (path: string): Door | undefined => {
  if (!isDoorPath(path)) return undefined
  const [vendor = "", named = "", ...rest] = path.slice(PREFIX.length).split("/")
  const campaign = decoded(named)
  const found = Object.entries<Shape>(shapes).find(([name, { path }]) => name === vendor && path === rest.join("/"))
  return found === undefined || campaign === undefined ? undefined : { ...found[1], vendor, campaign }
}

/** The session request of an SDK's body; undefined if the body is not an object. */
export const requestOf = ({ campaign, fields }: Door, body: unknown): Record<string, unknown> | undefined => {
  if (!Predicate.isObject(body) || Array.isArray(body)) return undefined
  const request: Record<string, unknown> = { campaignId: campaign }
  const further: Record<string, unknown> = {}
  for (const [field, given] of Object.entries(fields)) {
    const value = Predicate.hasProperty(body, given) ? body[given] : undefined
    if (value === undefined || value === null || value === "") continue
    const [, below] = field.split(".")
    if (below === undefined) request[field] = value
    else further[below] = value
  }
  return Object.keys(further).length === 0 ? request : { ...request, metadata: further }
}

/** The SDK's name of a field of the session request. */
export const givenField = ({ fields }: Door, field: string): string => {
  const names = Object.entries(fields).sort(([a], [b]) => b.length - a.length)
  const found = names.find(([name]) => field === name || field.startsWith(`${name}.`) || field.startsWith(`${name}[`))
  return found === undefined ? field : found[1] + field.slice(found[0].length)
}
