/**
 * What the hand-written servers share: the gate's own two scripts as plain ioredis commands, with the arguments the gate
 * sends, and the same JSON. What they leave out is everything else.
 */
import { randomBytes } from "node:crypto"
import { Redis } from "ioredis"
import { admit } from "../../../src/queue/admit.ts"
import { keysOf as campaignKeys } from "../../../src/queue/step.ts"
import { keysOf as callerKeys, HOLD_MILLIS, scripts } from "../../../src/RateLimiter.ts"
import { limits } from "../support/limits.ts"

const GRACE_MILLIS = 30_000
const WINDOW_MILLIS = 30_000
const START_MILLIS = 30_000

type Done = (error: Error | null | undefined, reply?: unknown) => void

const commands = (redis: Redis, script: { readonly lua: string; readonly numberOfKeys: number }, name: string) => {
  redis.defineCommand(name, { lua: script.lua, numberOfKeys: script.numberOfKeys })
  const command: unknown = Reflect.get(redis, name)
  if (typeof command !== "function") throw new Error(`${name} is not defined`)
  return (args: ReadonlyArray<string | number>, done: Done): void => {
    Reflect.apply(command, redis, [...args, done])
  }
}

/** What came of the two scripts. */
export type Decision =
  | { readonly status: 429; readonly resetMillis: number }
  | { readonly status: 200 | 202; readonly id: string; readonly position: number }

/** Decides a request of one caller: limits, then slot or queue. */
export const makeDecide = (url: string) => {
  const redis = new Redis(url, { enableAutoPipelining: process.env.AUTO_PIPELINING === "1" })
  const take = commands(redis, scripts.take, "take")
  const enter = commands(redis, admit, "enter")
  const campaign = campaignKeys("business-1/campaign-1")
  return (caller: string, data: string, done: (error: Error | undefined, decision?: Decision) => void): void => {
    const id = randomBytes(16).toString("base64url")
    const now = Date.now()
    const limited = [now, id, limits.hourly, limits.daily, 0, now + HOLD_MILLIS]
    take([...callerKeys(caller), ...limited], (error, replies) => {
      if (error || !Array.isArray(replies)) return done(error ?? new Error("no list"))
      const [taken] = replies
      if (taken[0] !== 1) return done(undefined, { status: 429, resetMillis: Number(taken[2]) - now })
      const queue = [now, 1, "instance", "vg:i:", WINDOW_MILLIS]
      const ticket = [id, 1_000_000, now + GRACE_MILLIS, now + START_MILLIS, `-${caller}`, data]
      enter([...campaign, ...queue, ...ticket], (error, reply) => {
        if (error || !Array.isArray(reply)) return done(error ?? new Error("no list"))
        const [[[state, position]]] = reply
        done(undefined, { status: state === "waiting" ? 202 : 200, id, position: Number(position) })
      })
    })
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
