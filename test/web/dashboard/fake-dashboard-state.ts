/** What the fake of the dashboard's API knows: one user, and what the user has made. A test changes and inspects it. */
import { randomBytes } from "node:crypto"
import type {
  Account,
  AuditEntry,
  Business,
  CampaignInput,
  DeliveryDetail,
  KeyUsage,
  LiveSession,
  SetupCheck,
  SignInEntry,
  Transcript,
} from "../../../src/platform/http/dashboard/shapes.ts"
import type { ApiKey } from "../../../src/platform/keys/ApiKey.ts"

export const PASSWORD = "correct horse battery staple"
export const ADA: Account = { id: "user-ada", name: "Ada Lovelace", email: "ada@example.test" }

/** The state that a test may change and inspect. */
export interface State {
  readonly sessions: Set<string>
  /** the cookie's value for an existing session */
  readonly newSession: () => string
  readonly keys: Array<ApiKey>
  /** what a new key is refused for; undefined for none */
  refuseKeys: ReadonlyArray<{ readonly field: string; readonly message: string }> | undefined
  readonly secrets: Array<string>
  /** what each key started, by the key's id */
  readonly usage: Map<string, KeyUsage>
  readonly businesses: Array<Business>
  /** what was sent for campaigns, by campaign */
  readonly campaignInputs: Map<string, CampaignInput>
  readonly conversations: Array<Transcript>
  readonly live: Array<LiveSession>
  readonly deliveries: Array<DeliveryDetail>
  readonly audit: Array<AuditEntry>
  /** what the platform has seen of the gate that is set up */
  setup: Omit<SetupCheck, "asOf">
  /** every answer takes this long */
  delayMillis: number
  password: string
  readonly signIns: Array<SignInEntry>
  limit: number
}

/** The state at first: these businesses, two sign-ins and nothing else. */
export const makeState = (businesses: ReadonlyArray<Business>): State => {
  const state: State = {
    sessions: new Set(),
    newSession: () => {
      const token = randomBytes(32).toString("base64url")
      state.sessions.add(token)
      return token
    },
    keys: [],
    refuseKeys: undefined,
    secrets: [],
    usage: new Map(),
    businesses: [...businesses],
    campaignInputs: new Map(),
    conversations: [],
    live: [],
    deliveries: [],
    audit: [],
    setup: { firstRequestAt: null, lastRequestAt: null, firstDeliveryAt: null, lastDelivery: null },
    delayMillis: 0,
    password: PASSWORD,
    signIns: [
      {
        id: "sign-in-1",
        address: "192.0.2.7",
        userAgent:
          "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
        createdAt: Date.now() - 3_600_000,
        lastUsedAt: Date.now(),
        current: true,
      },
      {
        id: "sign-in-2",
        address: "2001:db8:1:2:3:4:5:6",
        userAgent:
          "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1",
        createdAt: Date.now() - 7_200_000,
        lastUsedAt: Date.now() - 600_000,
        current: false,
      },
    ],
    limit: 5,
  }
  return state
}
