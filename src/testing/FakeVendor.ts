/**
 * A vendor in memory, for tests: its API answers the gate's requests, its pages join calls, and its webhooks are signed as the vendor
 * signs them. Nothing leaves the process: `fetch` takes the place of the global one.
 */
import type { VendorWebhook } from "../platform-api/adapter.ts"
import type { Credential } from "../protocol/credential.ts"

/** A request of the gate. */
export interface VendorRequest {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: Headers
  /** the JSON, or the fields of a form; undefined without a body */
  readonly body: unknown
}

/** An answer of the vendor's API. */
export interface VendorAnswer {
  readonly status: number
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** `lost`: the request is carried out and the connection breaks before the answer. `silent`: the same, and no answer ever comes. */
export type VendorTrouble = "lost" | "silent" | VendorAnswer

export interface FakeVendor {
  /** Takes the place of `fetch`, for the gate's HTTP client. */
  readonly fetch: typeof globalThis.fetch
  /** Every request so far. */
  readonly requests: ReadonlyArray<VendorRequest>
  /** The settings below `VoiceAiPlatform` of a campaign that uses this vendor. */
  readonly settings: Readonly<Record<string, unknown>>
  /** The next requests fail in these ways, one each. */
  readonly failNext: (...troubles: ReadonlyArray<VendorTrouble>) => void
  /** How many calls the account may have. No limit at first. */
  readonly setLimit: (limit: number) => void
  /**
   * A page joins with its credential. Returns the call's id; undefined when the vendor does not let it in, or knows no credential
   * because the page joins through the gate.
   */
  readonly join: (credential: Credential) => string | undefined
  /** A page opens a call by its id, with a later credential from the vendor itself; absent where the vendor gives none. */
  readonly open?: (id: string) => void
  /** Whether a call runs. */
  readonly isRunning: (id: string) => boolean
  /** A running call ends. Returns the webhook that the vendor sends; undefined where it sends none, or no such call runs. */
  readonly hangUp: (id: string) => VendorWebhook | undefined
  /** Until the credential of a call has expired, nothing shows that it opens no further call, so its slot stays held. */
  readonly heldUntilExpiry?: true
  /** Signs a body as the vendor signs its webhooks. */
  readonly webhook: (body: unknown) => VendorWebhook
}

const bodyOf = async (request: Request): Promise<unknown> => {
  if (request.headers.get("content-type")?.startsWith("multipart/form-data") === true) {
    return Object.fromEntries(await request.formData())
  }
  const text = await request.text()
  if (request.headers.get("content-type")?.startsWith("application/x-www-form-urlencoded")) {
    return Object.fromEntries(new URLSearchParams(text))
  }
  return text === "" ? undefined : JSON.parse(text)
}

const responseOf = ({ body, headers, status }: VendorAnswer): Response =>
  new Response(body === undefined ? null : typeof body === "string" ? body : JSON.stringify(body), {
    status,
    headers: { "content-type": "application/json", ...headers },
  })

/** What all fakes have in common: their requests, and failures of the connection. */
export const fakeApi = (answer: (request: VendorRequest) => VendorAnswer) => {
  const requests: Array<VendorRequest> = []
  const troubles: Array<VendorTrouble> = []
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init)
    const { pathname, searchParams } = new URL(request.url)
    const given: VendorRequest = {
      method: request.method,
      path: pathname,
      query: searchParams,
      headers: request.headers,
      body: await bodyOf(request),
    }
    requests.push(given)
    const trouble = troubles.shift()
    if (typeof trouble === "object") return responseOf(trouble)
    const answered = answer(given)
    if (trouble === "lost") {
      throw new TypeError("fetch failed", { cause: Object.assign(new Error("reset"), { code: "ECONNRESET" }) })
    }
    return trouble === "silent" ? new Promise<Response>(() => {}) : responseOf(answered)
  }
  return { fetch, requests, failNext: (...more: ReadonlyArray<VendorTrouble>) => void troubles.push(...more) }
}

/** A field of an object that may be anything. */
export const field = (value: unknown, ...names: ReadonlyArray<string>): unknown =>
  names.reduce<unknown>((found, name) => Object(found)[name], value)

/** A page of a list: at most `limit` items, after the page that had this `next`. */
export const pageOf = <A>(
  list: ReadonlyArray<A>,
  limit: number,
  after: unknown,
): { readonly items: ReadonlyArray<A>; readonly next: string | undefined } => {
  const from = Number(after ?? 0)
  const to = from + limit
  return { items: list.slice(from, to), next: to < list.length ? String(to) : undefined }
}

/** A call of a fake whose vendor has a list of calls. */
export interface FakeCall {
  readonly id: string
  readonly metadata: unknown
  /** what lets its page in */
  readonly bearer: string
  running: boolean
}

/** The calls of a fake, up to a limit of those that run at once. */
export const fakeCalls = (prefix: string) => {
  const calls: Array<FakeCall> = []
  let limit = Number.POSITIVE_INFINITY
  const find = (id: string): FakeCall | undefined => calls.find((call) => call.id === id)
  const inUse = (): number => calls.filter(({ running }) => running).length
  const end = (id: string): FakeCall | undefined => {
    const call = find(id)
    if (call?.running !== true) return undefined
    call.running = false
    return call
  }
  return {
    newestFirst: (): ReadonlyArray<FakeCall> => calls.toReversed(),
    find,
    inUse,
    end,
    limit: () => limit,
    setLimit: (to: number): void => {
      limit = to
    },
    isRunning: (id: string): boolean => find(id)?.running === true,
    /** undefined when the limit is reached */
    start: (metadata: unknown): FakeCall | undefined => {
      if (inUse() >= limit) return undefined
      const n = calls.length + 1
      const call: FakeCall = { id: `${prefix}${n}`, metadata, bearer: `bearer-of-${prefix}${n}`, running: true }
      calls.push(call)
      return call
    },
    /** The call that this bearer opens, while it runs. */
    opened: (bearer: string): string | undefined =>
      calls.find((call) => call.running && bearer.includes(call.bearer))?.id,
  }
}

/** The tokens of a fake whose vendor names a call when a page opens it. */
export const fakeTokens = (prefix: string, now: () => number) => {
  const tokens = new Map<string, { readonly expiry: number; uses: number }>()
  const running = new Map<string, string | undefined>()
  const begun: Array<{ readonly id: string; readonly ours: string | undefined; readonly at: number }> = []
  let opened = 0
  let limit = Number.POSITIVE_INFINITY
  return {
    /** @param uses how many calls it opens */
    grant: (seconds: number, uses = Number.POSITIVE_INFINITY): string => {
      const token = `token-of-${prefix}${tokens.size + 1}`
      tokens.set(token, { expiry: now() + seconds * 1000, uses })
      return token
    },
    /** A page opens a call and gives it an id of its own, `ours`. Returns the call's id; undefined where the vendor does not let it in. */
    open: (token: string, ours?: unknown): string | undefined => {
      const found = tokens.get(token)
      if (found === undefined || found.uses < 1 || found.expiry <= now() || running.size >= limit) return undefined
      found.uses--
      opened++
      const id = `${prefix}${opened}`
      const named = typeof ours === "string" ? ours : undefined
      running.set(id, named)
      begun.unshift({ id, ours: named, at: now() })
      return id
    },
    /** Every call so far, the newest first. */
    begun: (): ReadonlyArray<{
      readonly id: string
      /** the id that its page gave it */
      readonly ours: string | undefined
      /** ms since 1970 */
      readonly at: number
    }> => begun,
    /** Ends a running call, and returns the id that its page gave it; undefined if no such call runs. */
    end: (id: string): { readonly ours: string | undefined } | undefined => {
      if (!running.has(id)) return undefined
      const ours = running.get(id)
      running.delete(id)
      return { ours }
    },
    isRunning: (id: string): boolean => running.has(id),
    setLimit: (to: number): void => {
      limit = to
    },
  }
}
