/**
 * The n-th hostile request of a seed. It is made again from both numbers alone; only ids that answers have named meanwhile
 * may differ.
 */
import { createHmac } from "node:crypto"
import { Chance } from "../harness/chance.ts"
import { broken } from "./broken.ts"
import { conversation } from "./conversations.ts"
import type { Known } from "./known.ts"
import { spoil, spoilText } from "./mutate.ts"
import type { Endpoint, Surface } from "./surface.ts"
import { forwardedFor, heavyJson, hostileHeader, hostileQuery, hostileSegment } from "./texts.ts"
import { type Header, http } from "./wire.ts"

export interface Case {
  readonly n: number
  readonly kind: string
  readonly to: "gate" | "platform"
  readonly bytes: Buffer
  /** framed so that the connection can be used on; anything else gets one of its own, which ends with it */
  readonly sound: boolean
  /** what is asked with, as the answer's body depends on it */
  readonly method: string
}

type Made = Omit<Case, "n" | "kind">

interface Source {
  readonly chance: Chance
  readonly surface: Surface
  readonly known: Known
}

const JSON_TYPE: Header = ["content-type", "application/json"]

const sound = (
  to: Case["to"],
  method: string,
  target: string,
  headers: ReadonlyArray<Header>,
  body?: string,
): Made => ({
  to,
  method,
  // an upgrade and a stream are taken to their end on a connection of their own, and so is what the server ends itself
  sound:
    !/^\/api\/session\/[^/]*\/events|^\/session\/|[^!-~]/.test(target) &&
    !headers.some(([name]) => name === "upgrade" || name === "expect") &&
    (body?.length ?? 0) < 65_000,
  bytes: http(method, target, headers, body),
})

const anyOf = <A>(chance: Chance, from: ReadonlyArray<A>): A => {
  const found = from[chance.below(from.length)]
  if (found === undefined) throw new Error("nothing to choose from")
  return found
}

/** The path of an endpoint with parameters that exist, mostly. */
const pathOf = ({ chance, known }: Source, { method, path }: Endpoint, gate: boolean): string => {
  const { business, campaign } = known.credentials
  const hostile = chance.percent(10)
  return path.replace(/:(\w+)/g, (_, name: string) => {
    const id = gate ? known.tickets.pick(chance, "A".repeat(26)) : known.ids.pick(chance, "none")
    if (hostile) return hostileSegment(chance)
    // what the others need is not deleted
    if (method === "DELETE" && path.endsWith(`:${name}`)) return id
    if (name === "businessId") return chance.percent(80) ? business : id
    return name === "webCampaignId" && chance.percent(60) ? campaign : id
  })
}

const bodyOf = ({ chance, known }: Source, { bodies }: Endpoint): string | undefined => {
  if (bodies.length === 0) return chance.percent(5) ? "{}" : undefined
  if (chance.percent(3)) return heavyJson(chance)
  const { business, campaign } = known.credentials
  const good = anyOf(chance, bodies)
  return (chance.percent(30) ? JSON.stringify(good) : spoil(chance, good))
    .replace(/"campaignId":"[^"]*"/, chance.percent(80) ? '"campaignId":"default"' : "$&")
    .replace(/"webCampaignId":"[^"]*"/, chance.percent(70) ? `"webCampaignId":"${campaign}"` : "$&")
    .replace(/"regionId":"[^"]*"/, chance.percent(70) ? '"regionId":"eu"' : "$&")
    .replace(/"businessIds":\[[^\]]*\]/, chance.percent(50) ? `"businessIds":["${business}"]` : "$&")
}

const REQUEST = "/api/session/request"

const gateRequest = (source: Source): Made => {
  const { chance, known, surface } = source
  const endpoint = chance.percent(45)
    ? anyOf(
        chance,
        surface.gate.filter(({ path }) => path === REQUEST),
      )
    : anyOf(chance, surface.gate)
  const { webhookToken } = known.credentials
  const headers: Array<Header> = [["x-forwarded-for", forwardedFor(chance)]]
  if (endpoint.bodies.length > 0 && chance.percent(95)) headers.push(JSON_TYPE)
  if (chance.percent(10)) headers.push(["origin", chance.pick("https://shop.example", "https://evil.example", "null")])
  if (endpoint.path.includes("webhook") && chance.percent(90)) headers.push(["x-api-token", webhookToken])
  const ended = `{"ConversationSessionId":${JSON.stringify(known.sessions.pick(chance, "s"))}}`
  const body = endpoint.path.includes("webhook") && chance.percent(50) ? ended : bodyOf(source, endpoint)
  return sound("gate", endpoint.method, pathOf(source, endpoint, true), headers, body)
}

const consoleRequest = (source: Source): Made => {
  const { chance, known, surface } = source
  const endpoint = anyOf(chance, surface.console)
  const operator = chance.percent(90)
  const token = operator ? known.credentials.consoleToken : spoilText(chance, "wrong-token-0123456789")
  const headers: Array<Header> = [
    ["authorization", `Bearer ${token.replace(/[^\x20-\x7e]/g, "")}`],
    ["x-forwarded-for", operator ? "192.0.2.200" : `192.0.2.${chance.below(8)}`],
    JSON_TYPE,
  ]
  // what closes the gate is undone more often than done, so that the other requests still meet an open one
  const body = bodyOf(source, endpoint)?.replace(/"(pause|drain)"/, chance.percent(80) ? '"resume"' : "$&")
  const reopened = body?.replace('"resume"', chance.percent(50) ? '"reopen"' : "$&")
  return sound("gate", endpoint.method, pathOf(source, endpoint, true) + hostileQuery(chance), headers, reopened)
}

const webhook = ({ chance, known }: Source): Made => {
  const body = spoil(chance, { ConversationSessionId: known.sessions.pick(chance, "s"), WebSessionId: "w" })
  const id = chance.pick("msg_1", "msg_2", "", "a.b.c")
  const time = String(Math.floor(Date.now() / 1000) + chance.pick(0, 0, 0, -299, 299, -301, 301, 1e9))
  const key = Buffer.from(known.credentials.signingSecret.slice("whsec_".length), "base64")
  const good = `v1,${createHmac("sha256", key).update(`${id}.${time}.${body}`).digest("base64")}`
  const signature = chance.pick(good, good, `v1,AAAA ${good}`, spoilText(chance, good), "v1,", "v2,x ".repeat(200))
  return sound(
    "gate",
    "POST",
    "/api/webhook/session-ended",
    [
      JSON_TYPE,
      ["webhook-id", id],
      ["webhook-timestamp", chance.percent(90) ? time : chance.pick("NaN", "1e9", "-1", "0x10", "")],
      ["webhook-signature", signature.replace(/[^\x20-\x7e]/g, "?")],
    ],
    body,
  )
}

const platformRequest = (source: Source): Made => {
  const { chance, known, surface } = source
  const endpoint = anyOf(chance, surface.platform)
  const owner = chance.percent(95)
  const key = owner ? chance.pick(...known.credentials.keys) : chance.pick("vgp_x", "", "Bearer y")
  // an address with many wrong keys is refused, so those come from another
  const from: Header = ["x-forwarded-for", owner ? "192.0.2.10" : "192.0.2.11"]
  const headers: Array<Header> = [["authorization", `Token ${key}`], from, JSON_TYPE]
  return sound("platform", endpoint.method, pathOf(source, endpoint, false), headers, bodyOf(source, endpoint))
}

const dashboardRequest = (source: Source): Made => {
  const { chance, known, surface } = source
  // each try to sign in costs a third of a second of a core, which its limits by address bound
  const signIn = chance.percent(1)
  const endpoint = anyOf(
    chance,
    surface.dashboard.filter(({ bodies, path }) => (path.endsWith("/session") && bodies.length > 0) === signIn),
  )
  const headers: Array<Header> = [
    ["x-forwarded-for", "192.0.2.9"],
    ["sec-fetch-site", chance.pick("same-origin", "same-origin", "same-origin", "cross-site")],
    JSON_TYPE,
  ]
  // signing out ends the session that all share
  const cookie = endpoint.method === "DELETE" && endpoint.path.endsWith("/session") ? "x" : known.credentials.cookie
  if (chance.percent(95)) headers.push(["cookie", `voicegate_session=${cookie}`])
  const target = pathOf(source, endpoint, false) + (chance.percent(30) ? hostileQuery(chance) : "")
  return sound("platform", endpoint.method, target, headers, bodyOf(source, endpoint))
}

/** Where it goes: mostly the gate, which is what the internet reaches. */
const side = (chance: Chance): Case["to"] => chance.pick("gate", "gate", "gate", "gate", "platform")

const oddPath = ({ chance }: Source): Made => {
  const bases = [
    "/",
    "/api/",
    "/api/session/",
    "/console/",
    "/console/assets/",
    "/widget/",
    "/assets/",
    "/dashboard/api/",
  ]
  const target = anyOf(chance, [...bases, "/docs/", "/metrics/", "//", "/api/v1/business/"]) + hostileSegment(chance)
  return sound(side(chance), "GET", target + hostileQuery(chance), [])
}

const oddMethod = ({ chance }: Source): Made => {
  const method = chance.pick("PUT", "PATCH", "OPTIONS", "HEAD", "TRACE", "DELETE", "PROPFIND", "QUERY", "SEARCH", "GET")
  const target = chance.pick(
    REQUEST,
    "/health/ready",
    "/console/",
    "/widget.js",
    "/openapi.json",
    "/api/v1/user",
    "/nothing",
  )
  const override: Header = ["x-http-method-override", chance.pick("DELETE", "POST", "CONNECT", "")]
  return sound(side(chance), method, target, [override, ["access-control-request-method", "POST"]], undefined)
}

const oddHeaders = ({ chance }: Source): Made => {
  const headers = Array.from({ length: chance.pick(1, 2, 5, 60, 400) }, () => hostileHeader(chance))
  const small = headers.filter(([, value]) => headers.length < 6 || value.length < 40)
  return { ...sound(side(chance), "POST", REQUEST, [JSON_TYPE, ...small], "{}"), sound: false }
}

const deepJson = ({ chance, known }: Source): Made => {
  const to = side(chance)
  const body = heavyJson(chance).repeat(chance.percent(5) ? 9 : 1)
  const [key] = known.credentials.keys
  const target =
    to === "gate" ? chance.pick(REQUEST, "/api/webhook/session-ended", "/console/api/actions") : "/api/v1/business"
  const headers: ReadonlyArray<Header> = [
    JSON_TYPE,
    ["authorization", to === "gate" ? `Bearer ${known.credentials.consoleToken}` : `Token ${key}`],
    ["x-api-token", known.credentials.webhookToken],
    ["x-forwarded-for", "192.0.2.200"],
  ]
  return { ...sound(to, "POST", target, headers, body), sound: body.length < 60_000 }
}

const alone = (made: { readonly to: Case["to"]; readonly bytes: Buffer }): Made => ({
  ...made,
  sound: false,
  method: "",
})

/** How often each is drawn, of a thousand. */
const KINDS: ReadonlyArray<readonly [kind: string, weight: number, make: (source: Source) => Made]> = [
  ["gate request", 495, gateRequest],
  ["webhook", 60, webhook],
  ["console", 80, consoleRequest],
  ["platform API", 110, platformRequest],
  ["dashboard API", 40, dashboardRequest],
  ["odd path", 70, oddPath],
  ["odd method", 40, oddMethod],
  ["odd headers", 10, oddHeaders],
  ["deep JSON", 20, deepJson],
  ["broken HTTP", 40, ({ chance }) => alone(broken(chance))],
  ["upgrade, frames", 35, ({ chance, known }) => alone(conversation(chance, known))],
]

export const caseOf = (seed: number, n: number, surface: Surface, known: Known): Case => {
  const chance = new Chance(seed * 1_000_003 + n)
  let drawn = chance.below(1_000)
  for (const [kind, weight, make] of KINDS) {
    if (drawn < weight) return { n, kind, ...make({ chance, surface, known }) }
    drawn -= weight
  }
  throw new Error("the weights are not a thousand")
}
