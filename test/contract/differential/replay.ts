/**
 * Replays recorded histories on a real Redis, many in one pipeline, and compares every answer and every published
 * message, ignoring the order of fields. Each history has its own keys and channels.
 */
import { createHash } from "node:crypto"
import { afterAll, beforeAll } from "@effect/vitest"
import { Redis } from "ioredis"
import { argumentsOf } from "../../../src/store/redis/batch.ts"
import { eventually } from "../../harness/process.ts"
import { type RedisServer, startRedis } from "../../harness/redis.ts"
import { type AnyRule, describeStep, type History, type Message } from "./history.ts"

export interface Mismatch {
  readonly seed: number
  readonly report: string
}

export interface Replayer {
  readonly replay: (histories: ReadonlyArray<History>) => Promise<ReadonlyArray<Mismatch>>
  readonly counts: () => { readonly answers: number; readonly messages: number }
  readonly close: () => void
}

const digests = new Map<string, string>()
const digestOf = (lua: string): string => {
  const known = digests.get(lua) ?? createHash("sha1").update(lua).digest("hex")
  digests.set(lua, known)
  return known
}

/** Sorts the fields of an object. */
const inOrder = (_: string, value: unknown): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
    : value

/** The same text for equal JSON. */
const canonical = (value: unknown): string => JSON.stringify(value, inOrder)

/** The limiter publishes texts, the queue JSON. */
const messageText = ({ channel, text }: Message): string => {
  try {
    return `${channel} ${canonical(JSON.parse(text))}`
  } catch {
    return `${channel} ${text}`
  }
}

/** Whether two values are the same as JSON, where they are plain ones without optional fields; never true where they differ. */
const isPlainlySame = (a: unknown, b: unknown): boolean => {
  if (a === b) return true
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const fields = Object.keys(a)
  return (
    fields.length === Object.keys(b).length &&
    fields.every((field) => Object.hasOwn(b, field) && isPlainlySame(Reflect.get(a, field), Reflect.get(b, field)))
  )
}

/** The texts take most of the time, and are made only where they are needed. */
const isSame = (a: unknown, b: unknown): boolean => isPlainlySame(a, b) || canonical(a) === canonical(b)

/**
 * What is wrong with what Redis answers to one call, as the store reads it; a field that the store would not read is wrong too.
 * Undefined where it is what was expected.
 */
const differs = (rule: AnyRule, reply: unknown, expected: unknown): string | undefined => {
  try {
    const answers: unknown = JSON.parse(String(reply))
    if (!Array.isArray(answers) || answers.length !== 1) return `no list with one answer: ${reply}`
    const [answer] = answers
    const read = rule.decode(answer)
    if (!rule.name.startsWith("test.") && !isSame(read, answer))
      return `of ${canonical(answer)} was read ${canonical(read)}`
    return isSame(read, expected) ? undefined : canonical(read)
  } catch (error) {
    return `${reply} cannot be read: ${error}`
  }
}

export const makeReplayer = async ({ host, port }: RedisServer): Promise<Replayer> => {
  const client = new Redis({ host, port })
  const subscriber = new Redis({ host, port })
  const heard = new Map<string, Array<Message>>()
  subscriber.on("pmessage", (_, channel: string, text: string) => {
    const prefix = channel.slice(0, channel.indexOf(":") + 1)
    const messages = heard.get(prefix) ?? []
    messages.push({ channel, text })
    heard.set(prefix, messages)
  })
  await subscriber.psubscribe("*")
  const loaded = new Set<string>()
  let counted = 0
  let messages = 0
  let batches = 0

  const send = async (histories: ReadonlyArray<History>): Promise<ReadonlyArray<readonly [Error | null, unknown]>> => {
    const steps = histories.flatMap((history) => history.steps)
    for (const { rule } of steps) {
      if (loaded.has(rule.lua)) continue
      loaded.add(rule.lua)
      await client.script("LOAD", rule.lua)
    }
    const pipeline = client.pipeline()
    let sent = 0
    for (const { call, context, keys, now, rule } of steps) {
      // every other one as a host's own store may send it, in one piece
      const args = [
        String(now),
        JSON.stringify(context),
        ...(sent++ % 2 === 0 ? argumentsOf(call, rule.texts) : [JSON.stringify(call)]),
      ]
      pipeline.evalsha(digestOf(rule.lua), keys.length, ...keys, ...args)
    }
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
        const [error, reply] = answers.next().value ?? [null, undefined]
        const wrong = error === null ? differs(step.rule, reply, step.answer) : String(error)
        counted++
        if (wrong !== undefined && report.length === 0)
          report.push(`step ${n}: ${describeStep(step)}`, `memory: ${canonical(step.answer)}`, `Redis:  ${wrong}`)
      }
      const expected = steps.flatMap((step) => step.published).map(messageText)
      const actual = (heard.get(prefix) ?? []).map(messageText)
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
    counts: () => ({ answers: counted, messages }),
    close: () => {
      client.disconnect()
      subscriber.disconnect()
    },
  }
}

/** One for all tests of a suite, on a server of its own. */
export const replayerOfSuite = (): (() => Replayer) => {
  let server: RedisServer | undefined
  let replayer: Replayer | undefined
  beforeAll(async () => {
    server = await startRedis()
    replayer = await makeReplayer(server)
  })
  afterAll(async () => {
    replayer?.close()
    await server?.dispose()
  })
  return () => {
    if (replayer === undefined) throw new Error("the server has not started")
    return replayer
  }
}
