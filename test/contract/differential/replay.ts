/**
 * Plays recorded histories on a real Redis, many in one pipeline, and compares every reply and every published message. Each
 * history has keys and channels of its own, so that they do not meet.
 */
import { createHash } from "node:crypto"
import { Redis } from "ioredis"
import { eventually } from "../../support/process.ts"
import type { RedisServer } from "../../support/redis.ts"
import { describeStep, type History } from "./history.ts"

export interface Mismatch {
  readonly seed: number
  readonly report: string
}

export interface Replayer {
  readonly replay: (histories: ReadonlyArray<History>) => Promise<ReadonlyArray<Mismatch>>
  readonly counts: () => { readonly replies: number; readonly messages: number }
  readonly close: () => void
}

const digests = new Map<string, string>()
const digestOf = (lua: string): string => {
  const known = digests.get(lua) ?? createHash("sha1").update(lua).digest("hex")
  digests.set(lua, known)
  return known
}

export const makeReplayer = async ({ host, port }: RedisServer): Promise<Replayer> => {
  const client = new Redis({ host, port })
  const subscriber = new Redis({ host, port })
  const heard = new Map<string, Array<string>>()
  subscriber.on("pmessage", (_, channel: string, message: string) => {
    const prefix = channel.slice(0, channel.indexOf(":") + 1)
    const messages = heard.get(prefix) ?? []
    messages.push(`${channel} ${message}`)
    heard.set(prefix, messages)
  })
  await subscriber.psubscribe("*")
  const loaded = new Set<string>()
  let replies = 0
  let messages = 0
  let batches = 0

  const send = async (histories: ReadonlyArray<History>): Promise<ReadonlyArray<readonly [Error | null, unknown]>> => {
    const steps = histories.flatMap((history) => history.steps)
    for (const { script } of steps) {
      if (loaded.has(script.lua)) continue
      loaded.add(script.lua)
      await client.script("LOAD", script.lua)
    }
    const pipeline = client.pipeline()
    for (const { args, keys, script } of steps) pipeline.evalsha(digestOf(script.lua), keys.length, ...keys, ...args)
    return (await pipeline.exec()) ?? []
  }

  const replay = async (histories: ReadonlyArray<History>): Promise<ReadonlyArray<Mismatch>> => {
    const answers = (await send(histories)).values()
    const end = `end${batches++}:`
    await client.publish(end, "")
    await eventually("the last message", () => heard.has(end))
    const found: Array<Mismatch> = []
    for (const { prefix, seed, steps } of histories) {
      const report: Array<string> = []
      for (const [n, step] of steps.entries()) {
        const [error, answer] = answers.next().value ?? [null, undefined]
        const reply = step.script.joins !== undefined && Array.isArray(answer) ? answer[0] : answer
        const expected = JSON.stringify(step.reply)
        const actual = error === null ? JSON.stringify(reply) : String(error)
        replies++
        if (actual !== expected && report.length === 0)
          report.push(`step ${n}: ${describeStep(step)}`, `Redis: ${actual}`)
      }
      const expected = steps.flatMap((step) => step.published)
      const actual = heard.get(prefix) ?? []
      messages += expected.length
      if (JSON.stringify(actual) !== JSON.stringify(expected)) {
        report.push(`published: ${expected.join(" | ")}`, `Redis: ${actual.join(" | ")}`)
      }
      if (report.length > 0) found.push({ seed, report: report.join("\n") })
    }
    heard.clear()
    await client.flushall()
    return found
  }

  return {
    replay,
    counts: () => ({ replies, messages }),
    close: () => {
      client.disconnect()
      subscriber.disconnect()
    },
  }
}
