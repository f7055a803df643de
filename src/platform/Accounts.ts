/**
 * Users, their businesses with web campaigns, and the API keys that act for them. Answers who a key is and what it may
 * touch; a refusal says what is missing, but never whether a key or somebody else's business exists.
 */
import { Clock, Context, Effect, Layer, Redacted, Schema } from "effect"
import { digestSecret, displaySecret, hasSecretForm, sameDigest } from "./ApiKeys.ts"

export interface User {
  readonly id: string
  readonly name: string
  /** how many calls of all the user's businesses may run at once */
  readonly callConcurrency: number
  readonly disabled?: boolean
}

/** Where a campaign's session-ended is sent, as its owner typed it. */
export interface WebhookTarget {
  readonly url: string
  /** custom headers such as `X-Api-Token` */
  readonly headers?: Readonly<Record<string, Redacted.Redacted<string>>>
  /** Standard Webhooks secret, `whsec_` and base64; unsigned without it */
  readonly signingSecret?: Redacted.Redacted<string>
}

export interface WebCampaign {
  readonly id: string
  readonly name: string
  readonly sessionEnded?: WebhookTarget
}

export interface Business {
  readonly id: string
  readonly userId: string
  readonly name: string
  readonly webCampaigns: ReadonlyArray<WebCampaign>
  readonly disabled?: boolean
}

/** All businesses of the creating user, or the listed ones. Restricted to none is not the same as unrestricted. */
export type KeyScope =
  | { readonly type: "Unrestricted" }
  | { readonly type: "Restricted"; readonly businessIds: ReadonlyArray<string> }

/** A key as it is kept: without its secret. Times in milliseconds since 1970. */
export interface ApiKey {
  readonly name: string
  readonly userId: string
  readonly scope: KeyScope
  /** whether everything at and below `/user` is open to the key */
  readonly userManagement: boolean
  readonly expiresAt?: number
  readonly digest: string
  readonly display: string
}

/** What the in-memory layer starts with. */
export interface Seed {
  readonly regions: ReadonlyArray<string>
  readonly users: ReadonlyArray<User>
  readonly businesses: ReadonlyArray<Business>
  readonly keys: ReadonlyArray<Omit<ApiKey, "digest" | "display"> & { readonly secret: Redacted.Redacted<string> }>
}

/** A caller who proved a key. */
export interface Principal {
  readonly key: ApiKey
  readonly user: User
}

/** The caller may not, or what was asked for is not there. Codes are those of the reference. */
export class Denied extends Schema.TaggedError<Denied>()("Denied", {
  kind: Schema.Literals(["unauthenticated", "forbidden", "not_found"]),
  code: Schema.String,
  message: Schema.String,
}) {}

/** The seed contradicts itself; `problems` names every place. */
export class SeedInvalid extends Schema.TaggedError<SeedInvalid>()("SeedInvalid", {
  problems: Schema.Array(Schema.String),
}) {
  override get message(): string {
    return `the platform's seed is wrong: ${this.problems.join("; ")}`
  }
}

export class Accounts extends Context.Service<
  Accounts,
  {
    /** Who the secret of a key stands for; one answer for every secret that is not good. */
    readonly authenticate: (secret: string) => Effect.Effect<Principal, Denied>
    /** A business within the key's scope. */
    readonly business: (caller: Principal, businessId: string) => Effect.Effect<Business, Denied>
    /** Fails unless the key may make user management requests. */
    readonly userManagement: (caller: Principal) => Effect.Effect<void, Denied>
    readonly hasRegion: (regionId: string) => boolean
  }
>()("voicegate/platform/Accounts") {}

/** Everything in the process, seeded once. */
export const layerMemory = (seed: Seed): Layer.Layer<Accounts, SeedInvalid> =>
  Layer.effect(
    Accounts,
    Effect.gen(function* () {
      const problems = problemsOf(seed)
      if (problems.length > 0) return yield* new SeedInvalid({ problems })
      const users = new Map(seed.users.map((user) => [user.id, user]))
      const businesses = new Map(seed.businesses.map((business) => [business.id, business]))
      const keys = new Map(
        seed.keys.map(({ secret, ...key }) => {
          const digest = digestSecret(Redacted.value(secret))
          return [digest, { ...key, digest, display: displaySecret(Redacted.value(secret)) } satisfies ApiKey]
        }),
      )

      const authenticate = Effect.fnUntraced(function* (secret: string) {
        if (!hasSecretForm(secret)) return yield* keyInvalid
        const digest = digestSecret(secret)
        const key = keys.get(digest)
        const user = key && users.get(key.userId)
        if (key === undefined || user === undefined || !sameDigest(key.digest, digest)) return yield* keyInvalid
        if (key.expiresAt !== undefined && key.expiresAt <= (yield* Clock.currentTimeMillis)) return yield* keyInvalid
        if (user.disabled) return yield* forbidden("USER_DISABLED", "the user of this key is disabled")
        return { key, user } satisfies Principal
      })

      const business = Effect.fnUntraced(function* ({ key }: Principal, businessId: string) {
        if (key.scope.type === "Restricted" && !key.scope.businessIds.includes(businessId)) {
          return yield* forbidden("RESTRICTED_API_KEY", "this key is restricted to other businesses")
        }
        const found = businesses.get(businessId)
        if (found === undefined || found.userId !== key.userId) {
          return yield* new Denied({ kind: "not_found", code: "BUSINESS_NOT_FOUND", message: "no such business" })
        }
        if (found.disabled) return yield* forbidden("BUSINESS_DISABLED", "this business is disabled")
        return found
      })

      const userManagement = ({ key }: Principal) =>
        key.userManagement
          ? Effect.void
          : forbidden("API_ACCESS_MANAGEMENT_RESTRICTION", "this key does not allow user management requests")

      const regions = new Set(seed.regions)
      return Accounts.of({ authenticate, business, userManagement, hasRegion: (id) => regions.has(id) })
    }),
  )

const keyInvalid = Effect.suspend(() =>
  Effect.fail(new Denied({ kind: "unauthenticated", code: "API_KEY_INVALID", message: "the API key is not valid" })),
)

const forbidden = (code: string, message: string) => Effect.fail(new Denied({ kind: "forbidden", code, message }))

const problemsOf = (seed: Seed): ReadonlyArray<string> => {
  const userIds = new Set(seed.users.map((user) => user.id))
  const owners = new Map(seed.businesses.map((business) => [business.id, business.userId]))
  const repeated = (what: string, ids: ReadonlyArray<string>) =>
    new Set(ids).size === ids.length ? [] : [`two ${what} have the same id`]
  return [
    ...repeated("users", [...seed.users.map((user) => user.id)]),
    ...repeated("businesses", [...seed.businesses.map((business) => business.id)]),
    ...repeated("keys", [...seed.keys.map((key) => digestSecret(Redacted.value(key.secret)))]),
    ...seed.businesses.flatMap((business) =>
      userIds.has(business.userId) ? [] : [`business ${business.id} belongs to an unknown user`],
    ),
    ...seed.keys.flatMap((key) => [
      ...(userIds.has(key.userId) ? [] : [`key ${key.name} belongs to an unknown user`]),
      ...(hasSecretForm(Redacted.value(key.secret))
        ? []
        : [`the secret of key ${key.name} is not one that was minted`]),
      ...(key.scope.type === "Restricted" ? key.scope.businessIds : []).flatMap((id) =>
        owners.get(id) === key.userId ? [] : [`key ${key.name} lists business ${id}, which its user does not own`],
      ),
    ]),
  ]
}
