/**
 * Which web pages may access the gate: those of its own origin and of `Security.AllowedOrigins`. CORS does not cover WebSocket
 * upgrades, so their `Origin` is checked here too. Clients that send no `Origin` are not browsers.
 */

/**
 * The verdict on an `Origin` header. `cross` is an origin that is listed by name, `anyone` one that only `*` allows. Both get CORS
 * headers; cookies are trusted only for `cross`.
 */
export type OriginVerdict = "none" | "same" | "cross" | "anyone" | "foreign"

/** Judges an `Origin` header against the request's `Host`. */
export type OriginCheck = (origin: string | undefined, host: string | undefined) => OriginVerdict

/** @param allowed `Security.AllowedOrigins` */
export const makeOriginCheck = (allowed: ReadonlyArray<string>): OriginCheck => {
  const any = allowed.includes("*")
  const exact = new Set(allowed.map((origin) => origin.toLowerCase()))
  return (origin, host) => {
    if (origin === undefined) return "none"
    const given = origin.toLowerCase()
    if (host !== undefined && (given === `http://${host.toLowerCase()}` || given === `https://${host.toLowerCase()}`)) {
      return "same"
    }
    if (exact.has(given)) return "cross"
    return any ? "anyone" : "foreign"
  }
}

/** How long a browser may remember a preflight's answer, in seconds. */
const PREFLIGHT_SECONDS = "600"

/**
 * Who may read the answer. A listed origin is named exactly and may send credentials, because the existing widget's SignalR client
 * does; an origin that only `*` allows may not.
 */
const allowOrigin = (origin: string, verdict: OriginVerdict): Readonly<Record<string, string>> =>
  verdict === "anyone"
    ? { "access-control-allow-origin": "*" }
    : { "access-control-allow-origin": origin, "access-control-allow-credentials": "true" }

/** The headers that let a page of this origin read the answer. */
export const corsHeaders = (origin: string, verdict: OriginVerdict): Readonly<Record<string, string>> => ({
  ...allowOrigin(origin, verdict),
  // pages use the date to correct for clock differences when they show the gate's deadlines
  "access-control-expose-headers": "date, location, retry-after, ratelimit, ratelimit-policy, x-request-id",
  vary: "Origin",
})

/** The request headers that every client of the gate may send. */
const OWN_HEADERS = ["content-type", "x-request-id", "x-requested-with", "x-signalr-user-agent"]

/** The request headers of a page's offer: the credential's token, and what OpenAI's SDK adds. */
const RELAY_HEADERS = ["authorization", "x-openai-agents-sdk"]

/** What a preflight is for. A client of the hub without cookies sends a token with its negotiation. */
export type PreflightFor = "session" | "relay" | "negotiation" | "other"

export type Preflight = (origin: string, verdict: OriginVerdict, of: PreflightFor) => Readonly<Record<string, string>>

/** @param more `Security.AllowedHeaders`, for session requests and the hub only */
export const makePreflight = (more: ReadonlyArray<string>): Preflight => {
  const namesOf = (names: ReadonlyArray<string>): string => [...new Set([...OWN_HEADERS, ...names])].join(", ")
  const allowed = {
    session: namesOf(more),
    relay: namesOf([...RELAY_HEADERS, ...more]),
    negotiation: namesOf(["authorization", ...more]),
    other: namesOf([]),
  }
  return (origin, verdict, of) => ({
    ...allowOrigin(origin, verdict),
    "access-control-allow-methods": "GET, POST, DELETE, OPTIONS",
    "access-control-allow-headers": allowed[of],
    "access-control-max-age": PREFLIGHT_SECONDS,
    vary: "Origin",
  })
}
