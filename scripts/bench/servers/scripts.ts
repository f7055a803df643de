/**
 * Shared by the reference servers: the gate's two rules as plain ioredis commands, with the gate's arguments and JSON, and nothing
 * else of the gate.
 */
import { randomBytes } from "node:crypto"
import { Redis } from "ioredis"
import { keysOf as campaignKeys } from "../../../src/queue/keys.ts"
import { rules as queueRules } from "../../../src/queue/rules.ts"
import { keysOf as callerKeys, rules } from "../../../src/RateLimiter.ts"
import type { Take } from "../../../src/rules/limits/take.ts"
import type { Budgets } from "../../../src/rules/limits/units.ts"
import type { Newcomer } from "../../../src/rules/queue/admit.ts"
import type { QueueContext } from "../../../src/rules/step.ts"
import { limits } from "../support/limits.ts"

type Done = (error: Error | null | undefined, reply?: unknown) => void
type Args = ReadonlyArray<string | number>

/** A rule as a command of ioredis: with a callback, or as a promise without. */
const commandOf = (redis: Redis, { lua }: { readonly lua: string }, name: string, numberOfKeys: number) => {
  redis.defineCommand(name, { lua, numberOfKeys })
  const command: unknown = Reflect.get(redis, name)
  if (typeof command !== "function") throw new Error(`${name} is not defined`)
  return (args: Args, done?: Done): unknown =>
    Reflect.apply(command, redis, done === undefined ? args : [...args, done])
}

/** The result of the two rules. */
export type Decision =
  | { readonly status: 429; readonly resetMillis: number }
  | { readonly status: 200 | 202; readonly id: string; readonly position: number }

const campaign = campaignKeys("business-1/campaign-1")
const newId = (): string => randomBytes(16).toString("base64url")

const budgets = JSON.stringify({
  hourly: limits.hourly,
  daily: limits.daily,
  concurrent: limits.open,
} satisfies Budgets)
const context = JSON.stringify({
  slots: 1,
  share: 0.25,
  maxLength: 1_000_000,
  instance: "instance",
  channel: "vg:i:",
  windowMillis: 30_000,
  graceMillis: 30_000,
  seenMillis: 32_000,
  callMillis: 7_200_000,
} satisfies QueueContext)

const takeArgs = (caller: string, token: string, now: number): Args => {
  const call: Take = { token, omitUsage: true }
  return [callerKeys(caller)[0], now, budgets, JSON.stringify(call)]
}
const enterArgs = (caller: string, id: string, now: number, data: string): Args => {
  const network = caller.slice(0, caller.lastIndexOf("."))
  const call: Newcomer = { id, caller, holds: true, data, network }
  return [...campaign, now, context, JSON.stringify(call)]
}

/** The gate's Retry-After while the caller's own tickets are open. */
const OPEN_RETRY_MILLIS = 30_000

const answerOf = (reply: unknown): unknown => {
  if (typeof reply !== "string") throw new Error("no JSON")
  const answers: unknown = JSON.parse(reply)
  return Array.isArray(answers) ? answers[0] : undefined
}
/** The refusal, if any. */
const refusalOf = (reply: unknown, now: number): Decision | undefined => {
  const { taken, usage } = rules.take.decode(answerOf(reply))
  if (taken || usage === undefined) return undefined
  return { status: 429, resetMillis: usage.hour < limits.hourly ? OPEN_RETRY_MILLIS : usage.hourReset - now }
}
const placeOf = (reply: unknown, id: string): Decision => {
  const { result } = queueRules.admit.decode(answerOf(reply))
  return result._tag === "waiting" ? { status: 202, id, position: result.position } : { status: 200, id, position: 0 }
}

const open = (url: string) => {
  const redis = new Redis(url)
  return {
    take: commandOf(redis, rules.take, "take", 1),
    enter: commandOf(redis, queueRules.admit, "enter", campaign.length),
  }
}

/** Decides a request: limits, then slot or queue. With callbacks, which are the cheapest. */
export const makeDecide = (url: string) => {
  const { enter, take } = open(url)
  return (caller: string, data: string, done: (error: Error | undefined, decision?: Decision) => void): void => {
    const id = newId()
    const now = Date.now()
    take(takeArgs(caller, id, now), (error, reply) => {
      if (error) return done(error)
      const refusal = refusalOf(reply, now)
      if (refusal !== undefined) return done(undefined, refusal)
      enter(enterArgs(caller, id, now, data), (error, reply) => {
        if (error) done(error)
        else done(undefined, placeOf(reply, id))
      })
    })
  }
}

/** The same in the usual style of handlers: each command awaited. */
export const makeDecideAsync = (url: string) => {
  const { enter, take } = open(url)
  return async (caller: string, data: string): Promise<Decision> => {
    const id = newId()
    const now = Date.now()
    const refusal = refusalOf(await take(takeArgs(caller, id, now)), now)
    return refusal ?? placeOf(await enter(enterArgs(caller, id, now, data)), id)
  }
}

/** The response body of a decision, as the gate writes it. */
export const bodyOf = (decision: Decision): unknown => {
  switch (decision.status) {
    case 200:
      return {
        status: "started",
        webSocketUrl: `ws://127.0.0.1/${decision.id}`,
        sessionId: decision.id,
        uniqueRequestId: decision.id,
      }
    case 202:
      return {
        status: "queued",
        uniqueRequestId: decision.id,
        queuePosition: decision.position,
        estimatedWaitSeconds: null,
        eventsUrl: `/api/session/${decision.id}/events`,
      }
    case 429:
      return {
        type: "urn:voicegate:problem:rate_limited",
        title: "Too Many Requests",
        status: 429,
        detail: "Too many calls from this address. Try again later.",
        code: "rate_limited",
        message: "Too many calls from this address. Try again later.",
        retryAfterSeconds: Math.ceil(decision.resetMillis / 1000),
        limit: "hour",
      }
  }
}
