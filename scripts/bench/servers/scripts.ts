/**
 * What the hand-written servers share: the gate's own two scripts as plain ioredis commands, with the arguments the gate
 * sends, and the same JSON. What they leave out is everything else.
 */
import { randomBytes } from "node:crypto"
import { Redis } from "ioredis"
import { admit } from "../../../src/queue/admit.ts"
import { keysOf as campaignKeys } from "../../../src/queue/step.ts"
import { keysOf as callerKeys, scripts } from "../../../src/RateLimiter.ts"
import { limits } from "../support/limits.ts"

const GRACE_MILLIS = 30_000
const WINDOW_MILLIS = 30_000
const START_MILLIS = 30_000

type Done = (error: Error | null | undefined, reply?: unknown) => void
type Args = ReadonlyArray<string | number>

/** A script as a command of ioredis: with a callback, or as a promise without. */
const commandOf = (redis: Redis, script: { readonly lua: string; readonly numberOfKeys: number }, name: string) => {
  redis.defineCommand(name, { lua: script.lua, numberOfKeys: script.numberOfKeys })
  const command: unknown = Reflect.get(redis, name)
  if (typeof command !== "function") throw new Error(`${name} is not defined`)
  return (args: Args, done?: Done): unknown =>
    Reflect.apply(command, redis, done === undefined ? args : [...args, done])
}

/** What came of the two scripts. */
export type Decision =
  | { readonly status: 429; readonly resetMillis: number }
  | { readonly status: 200 | 202; readonly id: string; readonly position: number }

const campaign = campaignKeys("business-1/campaign-1")
const newId = (): string => randomBytes(16).toString("base64url")

const takeArgs = (caller: string, id: string, now: number): Args => [
  callerKeys(caller)[0] ?? "",
  ...[now, id, limits.hourly, limits.daily, limits.open, "brief"],
]
const enterArgs = (caller: string, id: string, now: number, data: string): Args => [
  ...campaign,
  ...[now, "1 0.25", "instance", "vg:i:", WINDOW_MILLIS],
  ...[
    id,
    1_000_000,
    now + GRACE_MILLIS,
    now + START_MILLIS,
    `+${caller}`,
    data,
    caller.slice(0, caller.lastIndexOf(".")),
  ],
]

/** When to come back while one's own tickets are open, as the gate says it. */
const OPEN_RETRY_MILLIS = 30_000

/** The refusal, where there is one. */
const refusalOf = (replies: unknown, now: number): Decision | undefined => {
  if (!Array.isArray(replies)) throw new Error("no list")
  const [[taken, hour, hourReset]] = replies
  if (taken === 1) return undefined
  return { status: 429, resetMillis: hour < limits.hourly ? OPEN_RETRY_MILLIS : Number(hourReset) - now }
}
const placeOf = (replies: unknown, id: string): Decision => {
  if (!Array.isArray(replies)) throw new Error("no list")
  const [[[state, position]]] = replies
  return { status: state === "waiting" ? 202 : 200, id, position: Number(position) }
}

const open = (url: string) => {
  const redis = new Redis(url)
  return { take: commandOf(redis, scripts.take, "take"), enter: commandOf(redis, admit, "enter") }
}

/** Decides a request of one caller, limits, then slot or queue: with callbacks, which cost the least. */
export const makeDecide = (url: string) => {
  const { enter, take } = open(url)
  return (caller: string, data: string, done: (error: Error | undefined, decision?: Decision) => void): void => {
    const id = newId()
    const now = Date.now()
    take(takeArgs(caller, id, now), (error, replies) => {
      if (error) return done(error)
      const refusal = refusalOf(replies, now)
      if (refusal !== undefined) return done(undefined, refusal)
      enter(enterArgs(caller, id, now, data), (error, reply) => {
        if (error) done(error)
        else done(undefined, placeOf(reply, id))
      })
    })
  }
}

/** The same as handlers are written: each command awaited. */
export const makeDecideAsync = (url: string) => {
  const { enter, take } = open(url)
  return async (caller: string, data: string): Promise<Decision> => {
    const id = newId()
    const now = Date.now()
    const refusal = refusalOf(await take(takeArgs(caller, id, now)), now)
    return refusal ?? placeOf(await enter(enterArgs(caller, id, now, data)), id)
  }
}

/** The body of a decision, as the gate writes it. */
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
