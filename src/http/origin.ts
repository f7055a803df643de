/**
 * Which web pages may talk to the gate: those of its own origin, and those of `Security.AllowedOrigins`. CORS does not
 * cover a WebSocket's upgrade, so its `Origin` is checked here too; programs that send none are not browsers.
 */

/**
 * What an `Origin` header means. `cross` is an origin that is listed by name, `anyone` one that only `*` lets in: both get the
 * headers of CORS, but cookies count for the former alone.
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
 * Who may read the answer. An origin that is listed is named exactly and may send credentials, because the existing widget's
 * SignalR client does; a page that only `*` lets in may not.
 */
const reader = (origin: string, verdict: OriginVerdict): Readonly<Record<string, string>> =>
  verdict === "anyone"
    ? { "access-control-allow-origin": "*" }
    : { "access-control-allow-origin": origin, "access-control-allow-credentials": "true" }

/** The headers that let a page of this origin read the answer. */
export const corsHeaders = (origin: string, verdict: OriginVerdict): Readonly<Record<string, string>> => ({
  ...reader(origin, verdict),
  // the date tells a page how far its clock is from the gate's, whose deadlines it shows
  "access-control-expose-headers": "date, retry-after, ratelimit, ratelimit-policy, x-request-id",
  vary: "Origin",
})

/** @param negotiates whether it is for the hub's negotiation, which a client without cookies proves itself to by a token */
export const preflightHeaders = (
  origin: string,
  verdict: OriginVerdict,
  negotiates: boolean,
): Readonly<Record<string, string>> => ({
  ...reader(origin, verdict),
  "access-control-allow-methods": "GET, POST, DELETE, OPTIONS",
  "access-control-allow-headers": `content-type, x-request-id, x-requested-with, x-signalr-user-agent${negotiates ? ", authorization" : ""}`,
  "access-control-max-age": PREFLIGHT_SECONDS,
  vary: "Origin",
})
