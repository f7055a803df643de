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
export const makeOriginCheck = (allowed: ReadonlyArray<string>) => {
  const any = allowed.includes("*")
  const exact = new Set(allowed.map((origin) => origin.toLowerCase()))
  return (origin: string | undefined, host: string | undefined): OriginVerdict => {
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
  "access-control-expose-headers": "date, retry-after, ratelimit, ratelimit-policy, x-request-id",
  vary: "Origin",
})

/** @param negotiates whether the preflight is for the hub's negotiation, where a client without cookies sends a token */
export const preflightHeaders = (
  origin: string,
  verdict: OriginVerdict,
  negotiates: boolean,
): Readonly<Record<string, string>> => ({
  ...allowOrigin(origin, verdict),
  "access-control-allow-methods": "GET, POST, DELETE, OPTIONS",
  "access-control-allow-headers": `content-type, x-request-id, x-requested-with, x-signalr-user-agent${negotiates ? ", authorization" : ""}`,
  "access-control-max-age": PREFLIGHT_SECONDS,
  vary: "Origin",
})
