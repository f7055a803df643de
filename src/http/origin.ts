/**
 * Which web pages may talk to the gate: those of its own origin, and those of `Security.AllowedOrigins`. CORS does not
 * cover a WebSocket's upgrade, so its `Origin` is checked here too; programs that send none are not browsers.
 */

/** What an `Origin` header means. `cross` origins get the headers of CORS. */
export type OriginVerdict = "none" | "same" | "cross" | "foreign"

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
    return any || exact.has(given) ? "cross" : "foreign"
  }
}

/** How long a browser may remember a preflight's answer, in seconds. */
const PREFLIGHT_SECONDS = "600"

/**
 * The headers that let a page of this origin read the answer. The origin is named exactly and credentials are allowed,
 * because the existing widget's SignalR client sends them.
 */
export const corsHeaders = (origin: string): Readonly<Record<string, string>> => ({
  "access-control-allow-origin": origin,
  "access-control-allow-credentials": "true",
  // the date tells a page how far its clock is from the gate's, whose deadlines it shows
  "access-control-expose-headers": "date, retry-after, ratelimit, ratelimit-policy, x-request-id",
  vary: "Origin",
})

export const preflightHeaders = (origin: string): Readonly<Record<string, string>> => ({
  "access-control-allow-origin": origin,
  "access-control-allow-credentials": "true",
  "access-control-allow-methods": "GET, POST, DELETE, OPTIONS",
  "access-control-allow-headers": "content-type, x-request-id, x-requested-with, x-signalr-user-agent",
  "access-control-max-age": PREFLIGHT_SECONDS,
  vary: "Origin",
})
