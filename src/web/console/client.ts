/** Asks the gate, with the token that was entered for this tab. Addresses are relative, so that any mount path will do. */
import type { Action, Done, Trail, View } from "../../operator/shapes.ts"

/** Why the gate did not answer as asked. `status` is 0 when it did not answer at all. */
class Refused extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

export const isWrongToken = (error: unknown): boolean => error instanceof Refused && error.status === 401

/** In words. */
export const why = (error: unknown): string => (error instanceof Refused ? error.message : "The answer cannot be read.")

/** An answer that takes longer is as good as none. */
const TIMEOUT_MILLIS = 8_000

export interface Asked {
  readonly campaign: string
  readonly since: number
  readonly firstSlot: number
  readonly firstPlace: number
  readonly rows: number
}

export interface Client {
  readonly view: (asked: Asked) => Promise<View>
  readonly trail: (campaign: string, first: number, most: number) => Promise<Trail>
  readonly act: (campaign: string, action: Action) => Promise<Done>
}

const message = async (response: Response): Promise<string> => {
  try {
    const { detail }: { detail?: unknown } = await response.json()
    return typeof detail === "string" ? detail : response.statusText
  } catch {
    return response.statusText
  }
}

export const createClient = (token: string): Client => {
  const ask = async <A>(path: string, init: RequestInit = {}): Promise<A> => {
    const response = await fetch(path, {
      ...init,
      headers: { ...init.headers, authorization: `Bearer ${token}` },
      cache: "no-store",
      signal: AbortSignal.timeout(TIMEOUT_MILLIS),
    }).catch(() => {
      throw new Refused(0, "The gate does not answer.")
    })
    if (!response.ok) {
      throw new Refused(response.status, await message(response))
    }
    return await response.json()
  }
  const query = (values: Readonly<Record<string, string | number>>): string =>
    new URLSearchParams(Object.entries(values).map(([name, value]) => [name, String(value)])).toString()

  return {
    view: ({ rows, ...asked }) => ask(`api/view?${query({ ...asked, slots: rows, places: rows })}`),
    trail: (campaign, first, most) => ask(`api/trail?${query({ campaign, first, most })}`),
    act: (campaign, action) =>
      ask("api/actions", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ ...(campaign === "" ? {} : { campaign }), action }),
      }),
  }
}
