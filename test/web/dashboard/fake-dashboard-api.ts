/** The dashboard's API (`DashboardApi`) as a fake: each endpoint reads or changes the state of a test. It makes no secret worth having. */
import { randomBytes } from "node:crypto"
import { Effect, Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { DashboardApi, Session, SignedIn } from "../../../src/platform/http/DashboardApi.ts"
import { clearCookie, readCookie, setCookie } from "../../../src/platform/http/dashboard/cookie.ts"
import { Conflict, Invalid, NotFound, SignedOut, SignInFailed } from "../../../src/platform/http/dashboard/failures.ts"
import { forms, sameOrigin } from "../../../src/platform/http/dashboard/middleware.ts"
import type {
  Business,
  Campaign,
  CampaignInput,
  DeliveryDetail,
  Page,
} from "../../../src/platform/http/dashboard/shapes.ts"
import type { ApiKey } from "../../../src/platform/keys/ApiKey.ts"
import { ADA, type State } from "./fake-dashboard-state.ts"

const find = <A extends { readonly id: string }>(list: ReadonlyArray<A>, id: string, what: string) => {
  const index = list.findIndex((each) => each.id === id)
  const item = list[index]
  return item === undefined
    ? Effect.fail(new NotFound({ code: "NOT_FOUND", message: `no such ${what}` }))
    : Effect.succeed({ index, item })
}

const pageOf = <A>(all: ReadonlyArray<A>, query: { limit?: number; next?: string; previous?: string }): Page<A> => {
  const limit = query.limit ?? 20
  const start = query.previous === undefined ? Number(query.next ?? 0) : Math.max(0, Number(query.previous) - limit)
  const end = start + limit
  return {
    items: all.slice(start, end),
    nextCursor: end < all.length ? String(end) : null,
    previousCursor: start > 0 ? String(start) : null,
  }
}

/** The routes of the API on this state. */
export const fakeApi = (state: State) => {
  const record = (action: string, subjectId: string, detail: string) =>
    state.audit.unshift({ id: `audit-${state.audit.length}`, action, subjectId, detail, at: Date.now() })

  const guard = Layer.succeed(
    Session,
    Effect.fnUntraced(function* (handler) {
      const cookie = yield* readCookie
      yield* Effect.sleep(state.delayMillis)
      if (cookie === undefined || !state.sessions.has(cookie)) return yield* new SignedOut()
      return yield* Effect.provideService(handler, SignedIn, { ...ADA, signInId: "sign-in-1" })
    }),
  )

  const session = HttpApiBuilder.group(DashboardApi, "session", (handlers) =>
    handlers.handleAll({
      signIn: Effect.fnUntraced(function* ({ payload }) {
        yield* Effect.sleep(state.delayMillis)
        if (payload.email !== ADA.email || payload.password !== state.password) {
          return yield* new SignInFailed({
            code: "SIGN_IN_FAILED",
            message: "incorrect email or password",
          })
        }
        yield* setCookie(state.newSession(), false, 3_600_000)
        return ADA
      }),
      whoAmI: () => Effect.succeed(ADA),
      signOut: Effect.fnUntraced(function* () {
        state.sessions.delete((yield* readCookie) ?? "")
        yield* clearCookie(false)
      }),
    }),
  )

  const account = HttpApiBuilder.group(DashboardApi, "account", (handlers) =>
    handlers.handleAll({
      changePassword: Effect.fnUntraced(function* ({ payload }) {
        if (payload.current !== state.password) {
          return yield* new Invalid({ code: "PASSWORD_WRONG", message: "the current password is incorrect" })
        }
        state.password = payload.next
        state.signIns.splice(0, state.signIns.length, ...state.signIns.filter(({ current }) => current))
      }),
      signIns: () => Effect.sync(() => state.signIns),
      endSignIn: Effect.fnUntraced(function* ({ params }) {
        const { index } = yield* find(state.signIns, params.id, "sign-in")
        state.signIns.splice(index, 1)
      }),
      endOtherSignIns: () =>
        Effect.sync(() => {
          const others = state.signIns.filter(({ current }) => !current)
          state.signIns.splice(0, state.signIns.length, ...state.signIns.filter(({ current }) => current))
          return { ended: others.length }
        }),
    }),
  )

  const keys = HttpApiBuilder.group(DashboardApi, "keys", (handlers) =>
    handlers.handleAll({
      list: () => Effect.sync(() => state.keys),
      create: Effect.fnUntraced(function* ({ payload }) {
        if (state.refuseKeys !== undefined) {
          return yield* new Invalid({ code: "REFUSED", message: "refused", fields: state.refuseKeys })
        }
        if (payload.scope.type === "Restricted" && payload.scope.businessIds.length === 0) {
          return yield* new Invalid({
            code: "BUSINESSES_REQUIRED",
            message: "select at least one business",
          })
        }
        if (payload.permissions.length === 0) {
          return yield* new Invalid({ code: "PERMISSIONS_REQUIRED", message: "select at least one permission" })
        }
        const secret = `vgp_${randomBytes(24).toString("hex")}`
        const key: ApiKey = {
          ...payload,
          id: `key-${state.keys.length + 1}`,
          display: `vgp_…${secret.slice(-4)}`,
          createdAt: Date.now(),
          lastUsedAt: null,
          revokedAt: null,
          previousSecretUntil: null,
        }
        state.keys.unshift(key)
        state.secrets.push(secret)
        record("api_key.created", key.id, `${key.name} (${key.display})`)
        return { key, secret }
      }),
      change: Effect.fnUntraced(function* ({ params, payload }) {
        const { index, item } = yield* find(state.keys, params.id, "key")
        const changed: ApiKey = { ...item, ...payload }
        state.keys[index] = changed
        record("api_key.changed", item.id, `${item.name} (${item.display})`)
        return changed
      }),
      usage: Effect.fnUntraced(function* ({ params }) {
        yield* find(state.keys, params.id, "key")
        return state.usage.get(params.id) ?? []
      }),
      rotate: Effect.fnUntraced(function* ({ params, payload }) {
        const { index, item } = yield* find(state.keys, params.id, "key")
        const secret = `vgp_${randomBytes(24).toString("hex")}`
        const key = { ...item, display: `vgp_…${secret.slice(-4)}`, previousSecretUntil: payload.previousUntil }
        state.keys[index] = key
        state.secrets.push(secret)
        record("api_key.rotated", item.id, `${item.name} (${item.display})`)
        return { key, secret }
      }),
      revoke: Effect.fnUntraced(function* ({ params }) {
        const { index, item } = yield* find(state.keys, params.id, "key")
        const revoked = { ...item, revokedAt: Date.now() }
        state.keys[index] = revoked
        record("api_key.revoked", item.id, `${item.name} (${item.display})`)
        return revoked
      }),
    }),
  )

  const businesses = HttpApiBuilder.group(DashboardApi, "businesses", (handlers) =>
    handlers.handleAll({
      list: () => Effect.sync(() => state.businesses),
      create: ({ payload }) =>
        Effect.sync(() => {
          const made: Business = {
            id: `business-${randomBytes(4).toString("hex")}`,
            name: payload.name,
            disabled: false,
            createdAt: Date.now(),
            campaigns: [],
          }
          state.businesses.push(made)
          return made
        }),
      rename: Effect.fnUntraced(function* ({ params, payload }) {
        const { index, item } = yield* find(state.businesses, params.id, "business")
        const renamed = { ...item, name: payload.name }
        state.businesses[index] = renamed
        return renamed
      }),
      remove: Effect.fnUntraced(function* ({ params }) {
        const { index, item } = yield* find(state.businesses, params.id, "business")
        if (state.live.some(({ businessId }) => businessId === item.id)) {
          return yield* new Conflict({ code: "BUSINESS_BUSY", message: "a session of this business still runs" })
        }
        state.businesses.splice(index, 1)
      }),
      regions: () => Effect.succeed([{ id: "local", name: "This machine" }]),
    }),
  )

  const campaignOf = (id: string, { maxCallMinutes = 30, name, webhook }: CampaignInput): Campaign => ({
    id,
    name,
    maxCallMinutes,
    webhook:
      webhook === null
        ? null
        : {
            url: webhook.url,
            headerNames: webhook.headers.map((header) => header.name),
            signed: webhook.signing.type !== "none",
          },
    createdAt: Date.now(),
  })
  const withCampaigns = (index: number, change: (before: ReadonlyArray<Campaign>) => ReadonlyArray<Campaign>) => {
    const business = state.businesses[index]
    if (business !== undefined) state.businesses[index] = { ...business, campaigns: change(business.campaigns) }
  }

  const campaigns = HttpApiBuilder.group(DashboardApi, "campaigns", (handlers) =>
    handlers.handleAll({
      create: Effect.fnUntraced(function* ({ params, payload }) {
        const { index } = yield* find(state.businesses, params.businessId, "business")
        const made = campaignOf(`campaign-${randomBytes(4).toString("hex")}`, payload)
        state.campaignInputs.set(made.id, payload)
        withCampaigns(index, (before) => [...before, made])
        return made
      }),
      edit: Effect.fnUntraced(function* ({ params, payload }) {
        const { index, item } = yield* find(state.businesses, params.businessId, "business")
        yield* find(item.campaigns, params.id, "web campaign")
        const edited = campaignOf(params.id, payload)
        state.campaignInputs.set(edited.id, payload)
        withCampaigns(index, (before) => before.map((each) => (each.id === edited.id ? edited : each)))
        return edited
      }),
      remove: Effect.fnUntraced(function* ({ params }) {
        const { index, item } = yield* find(state.businesses, params.businessId, "business")
        yield* find(item.campaigns, params.id, "web campaign")
        withCampaigns(index, (before) => before.filter(({ id }) => id !== params.id))
      }),
    }),
  )

  const conversations = HttpApiBuilder.group(DashboardApi, "conversations", (handlers) =>
    handlers.handleAll({
      overview: ({ query }) =>
        Effect.sync(() => {
          const today = state.conversations.filter(({ startedAt }) => startedAt >= query.from)
          const millis = today.reduce((sum, { endedAt, startedAt }) => sum + (endedAt ?? startedAt) - startedAt, 0)
          const [last = null] = state.deliveries
          const failed = state.deliveries.filter(({ state }) => state === "given_up").length
          const retrying = state.deliveries.filter(
            (each) => each.state === "pending" && each.lastOutcome !== null,
          ).length
          return {
            asOf: Date.now(),
            today: { count: today.length, seconds: Math.round(millis / 1_000) },
            hours: Array.from({ length: 24 }, (_, hour) => (hour === 23 ? today.length : 0)),
            webhooks: { last, failed, retrying },
          }
        }),
      list: ({ query }) =>
        Effect.sync(() => {
          const { businessId = undefined, kind = undefined, search = "", ...place } = query
          const some = state.conversations.filter(
            (each) =>
              (businessId === undefined || each.businessId === businessId) &&
              (kind === undefined || each.kind === kind) &&
              `${each.clientIdentifier} ${each.turns.map(({ text }) => text).join(" ")}`.includes(search),
          )
          const { items, ...rest } = pageOf(some, place)
          return {
            ...rest,
            items: items.map((each) => {
              const turn = search === "" ? undefined : each.turns.find(({ text }) => text.includes(search))
              if (turn === undefined) return each
              const [before = "", after = ""] = turn.text.split(search)
              return { ...each, found: { role: turn.role, at: turn.at, before, text: search, after } }
            }),
          }
        }),
      read: ({ params }) => Effect.map(find(state.conversations, params.id, "conversation"), ({ item }) => item),
      live: () =>
        Effect.sync(() => ({
          asOf: Date.now(),
          limit: state.limit,
          running: state.live.length,
          sessions: state.live,
        })),
    }),
  )

  const deliveries = HttpApiBuilder.group(DashboardApi, "deliveries", (handlers) =>
    handlers.handleAll({
      list: ({ query }) =>
        Effect.sync(() => {
          const { businessId, state: wanted, ...place } = query
          const some = state.deliveries.filter(
            (each) =>
              (businessId === undefined || each.businessId === businessId) &&
              (wanted === undefined || each.state === wanted),
          )
          return pageOf(some, place)
        }),
      read: ({ params }) => Effect.map(find(state.deliveries, params.id, "delivery"), ({ item }) => item),
      sendFailedAgain: ({ payload }) =>
        Effect.sync(() => {
          const failed = state.deliveries.filter(
            (each) =>
              each.state === "given_up" &&
              each.createdAt >= payload.since &&
              (payload.businessId === undefined || each.businessId === payload.businessId),
          )
          for (const each of failed) state.deliveries[state.deliveries.indexOf(each)] = { ...each, state: "pending" }
          return { resent: failed.length }
        }),
      sendAgain: Effect.fnUntraced(function* ({ params }) {
        const { index, item } = yield* find(state.deliveries, params.id, "delivery")
        const sent: DeliveryDetail = {
          ...item,
          state: "delivered",
          attempts: item.attempts + 1,
          lastOutcome: "HTTP 200",
          nextAttemptAt: null,
          settledAt: Date.now(),
        }
        state.deliveries[index] = sent
        return sent
      }),
    }),
  )

  const audit = HttpApiBuilder.group(DashboardApi, "audit", (handlers) =>
    handlers.handleAll({
      list: ({ query: { subject = "", ...place } }) =>
        Effect.sync(() =>
          pageOf(
            state.audit.filter(({ action }) => action.startsWith(subject)),
            place,
          ),
        ),
    }),
  )

  const setup = HttpApiBuilder.group(DashboardApi, "setup", (handlers) =>
    handlers.handleAll({ check: () => Effect.sync(() => ({ asOf: Date.now(), ...state.setup })) }),
  )

  const groups = Layer.mergeAll(session, account, keys, businesses, campaigns, conversations, deliveries, audit, setup)
  return HttpApiBuilder.layer(DashboardApi).pipe(Layer.provide(groups), Layer.provide([guard, sameOrigin, forms]))
}
