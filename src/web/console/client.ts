/** The console's requests to the gate, with the token of this tab. Paths are relative, so the gate may be mounted at any path. */
import type { Action, ActionOutcome } from "../../fifo-queue/operator/actions.ts"
import type { BudgetsView } from "../../operator/budget-shapes.ts"
import type {
  Deliveries,
  DeliveryFilter,
  Redelivered,
  Redelivery,
  TestedEvent,
} from "../../operator/delivery-shapes.ts"
import type {
  Asking,
  AuditFilter,
  AuditLog,
  CampaignHistory,
  Campaigns,
  Found,
  HistoryRange,
  Reloaded,
  View,
} from "../../operator/shapes.ts"
import { VIEW_VERSION } from "../../operator/view-version.ts"
import type { Sought } from "./sought.ts"

/** `status` is 0 if the gate did not answer. */
class RequestFailed extends Error {
  readonly status: number
  readonly isOtherVersion: boolean

  constructor(status: number, message: string, isOtherVersion = false) {
    super(message)
    this.status = status
    this.isOtherVersion = isOtherVersion
  }
}

export const isWrongToken = (error: unknown): boolean => error instanceof RequestFailed && error.status === 401

/** The page is of another version than the gate that answered: it must be loaded anew. */
export const isOtherVersion = (error: unknown): boolean => error instanceof RequestFailed && error.isOtherVersion

/** The gate knows no campaign of this name. */
export const isUnknown = (error: unknown): boolean => error instanceof RequestFailed && error.status === 404

export const messageOf = (error: unknown): string =>
  error instanceof RequestFailed ? error.message : "The gate sent an invalid response."

const TIMEOUT_MILLIS = 8_000

export interface ViewRequest {
  readonly campaign: string
  readonly since: number
  readonly firstSlot: number
  readonly firstPlace: number
  readonly rows: number
}

export interface Client {
  readonly view: (request: ViewRequest) => Promise<View>
  readonly auditLog: (
    campaign: string,
    first: number,
    count: number,
    only: AuditFilter | undefined,
  ) => Promise<AuditLog>
  readonly campaigns: () => Promise<Campaigns>
  readonly budgets: (campaign: string) => Promise<BudgetsView>
  /** `from`: the `next` of the answer before */
  readonly find: (what: Sought, from: string | undefined) => Promise<Found>
  readonly history: (campaign: string, range: HistoryRange) => Promise<CampaignHistory>
  readonly asking: () => Promise<Asking>
  /** `until` in ms since 1970, 0 for no end; undefined to lift the block */
  readonly block: (
    address: string,
    until: number | undefined,
  ) => Promise<{ readonly result: "done" | "already" | "full" }>
  readonly act: (campaign: string, action: Action) => Promise<ActionOutcome>
  /** Events before this number; 0 for the newest. */
  readonly deliveries: (campaign: string, filter: DeliveryFilter, before: number, count: number) => Promise<Deliveries>
  readonly redeliver: (campaign: string, redelivery: Redelivery) => Promise<Redelivered>
  readonly testEvent: (campaign: string) => Promise<TestedEvent>
  readonly reload: () => Promise<Reloaded>
}

const problemDetail = async (response: Response): Promise<string> => {
  try {
    const { detail }: { detail?: unknown } = await response.json()
    return typeof detail === "string" ? detail : response.statusText
  } catch {
    return response.statusText
  }
}

export const createClient = (token: string): Client => {
  const send = async <A>(path: string, init: RequestInit = {}): Promise<A> => {
    const response = await fetch(path, {
      ...init,
      headers: { ...init.headers, authorization: `Bearer ${token}` },
      cache: "no-store",
      signal: AbortSignal.timeout(TIMEOUT_MILLIS),
    }).catch(() => {
      throw new RequestFailed(0, "The gate isn’t responding.")
    })
    if (!response.ok) {
      throw new RequestFailed(response.status, await problemDetail(response))
    }
    return await response.json()
  }
  const query = (values: Readonly<Record<string, string | number>>): string =>
    new URLSearchParams(Object.entries(values).map(([name, value]) => [name, String(value)])).toString()

  const post = <A>(path: string, body: object): Promise<A> =>
    send(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) })

  return {
    view: async ({ campaign, firstPlace, firstSlot, rows, since }) => {
      const asked = query({ campaign, since, firstSlot, firstPlace, slots: rows, places: rows })
      const view = await send<View>(`api/view?${asked}`)
      // differs behind a load balancer while instances are replaced; absent from an instance that is older than this field
      if (view.version !== VIEW_VERSION)
        throw new RequestFailed(0, "An instance running another version responded.", true)
      return view
    },
    auditLog: (campaign, first, count, only) =>
      send(`api/audit-log?${query({ campaign, first, count, ...(only === undefined ? {} : { only }) })}`),
    campaigns: () => send("api/campaigns"),
    budgets: (campaign) => send(`api/budgets?${query({ campaign })}`),
    find: (what, from) => send(`api/find?${query({ ...what, ...(from === undefined ? {} : { from }) })}`),
    history: (campaign, range) => send(`api/history?${query({ ...(campaign === "" ? {} : { campaign }), range })}`),
    asking: () => send("api/addresses"),
    block: (address, until) => post("api/addresses", { address, ...(until === undefined ? {} : { until }) }),
    reload: () => send("api/reload", { method: "POST" }),
    deliveries: (campaign, filter, before, count) => send(`api/events?${query({ campaign, filter, before, count })}`),
    redeliver: (campaign, redelivery) => post("api/events/redeliver", { campaign, redelivery }),
    testEvent: (campaign) => post("api/events/test", { campaign }),
    act: (campaign, action) => post("api/actions", { ...(campaign === "" ? {} : { campaign }), action }),
  }
}
