/**
 * An upgrade to events and hours: gates of this version beside an older one on one Redis. What the older gate does not know, it leaves to the
 * others, and nobody loses anything by it.
 */
import { assert, it } from "@effect/vitest"
import { eventKeysOf } from "../../src/events/keys.ts"
import { isSignedBy, startReceiver } from "../events/receiver.ts"
import type { Gate } from "../harness/gate.ts"
import { textOf } from "../harness/http.ts"
import { eventually } from "../harness/process.ts"
import { openSocket } from "./support/push.ts"
import { upgrading } from "./support/upgrade.ts"

const TOKEN = "a-token-of-control-0123456789"
const authorized = { headers: { authorization: `Bearer ${TOKEN}` } }
const BASE = "VoiceAiPlatform__"
/** No wait ends by the hours within this time, beyond the five seconds for which the word of a gate counts (ms). */
const LONGER_MILLIS = 12_000

interface Read {
  readonly id: string
  readonly seq: number
  readonly type: string
  readonly budget?: string
  readonly share?: number
}

const readAll = async (gate: Gate): Promise<ReadonlyArray<Read>> => {
  const all: Array<Read> = []
  for (let after = ""; ; ) {
    const { json } = await gate.ask("GET", `/api/events?limit=100${after}`, authorized)
    const { events, more, next } = json as { events: ReadonlyArray<Read>; more: boolean; next: string }
    all.push(...events)
    if (!more) return all
    after = `&after=${next}`
  }
}

const errorsOf = (gates: ReadonlyArray<Gate>): ReadonlyArray<string> =>
  gates
    .flatMap(({ output }) => output().match(/^.*"level":"(?:error|fatal)".*$/gm) ?? [])
    // the checks at the start ask for what the fake platform does not have
    .filter((line) => !line.includes("there is no platform API at this address"))

it.concurrent(
  "nobody who waits at a gate of the last release is ended by the hours of this version, and the calls that it handles have some of their events",
  { timeout: 120_000 },
  upgrading(async ({ args, bench, released }) => {
    const events = { [`${BASE}Events__Token`]: TOKEN }
    const [old, upgraded] = await Promise.all([bench.gate({}, args, released.main), bench.gate(events, args)])

    // a call of this version, ended by the older gate, which starts the next one
    assert.deepInclude((await upgraded.call("192.0.2.1")).json, { status: "started" })
    const second = textOf(await old.call("192.0.2.2"), "uniqueRequestId")
    const page = bench.own(await openSocket(old, second))
    assert.deepStrictEqual((await old.sessionEnded("conversation-1")).json, { released: true })
    await page.sees("start_call")
    assert.strictEqual((await old.ask("POST", `/api/session/${second}/start`)).status, 200)
    assert.deepStrictEqual(
      (await readAll(upgraded)).map(({ type }) => type),
      ["call.accepted", "call.started"],
    )

    upgraded.kill("SIGTERM")
    await upgraded.exit
    const hours = { [`${BASE}Hours__Zone`]: "UTC", [`${BASE}Hours__Closed__0`]: "Jan 1 to Dec 31" }
    const closed = await bench.gate({ ...events, ...hours }, args)
    assert.deepInclude((await closed.call("192.0.2.3")).json, { code: "closed" })
    const third = textOf(await old.call("192.0.2.4"), "uniqueRequestId")
    const waits = bench.own(await openSocket(old, third))
    const until = Date.now() + LONGER_MILLIS
    await eventually("the hours would have acted", () => Date.now() > until)
    for (const gate of [old, closed])
      assert.deepInclude((await gate.ask("GET", `/api/session/${third}`)).json, { state: "waiting" })
    assert.deepStrictEqual((await closed.sessionEnded("conversation-2")).json, { released: true })
    await waits.sees("start_call")
    assert.strictEqual((await old.ask("POST", `/api/session/${third}/start`)).status, 200)
    assert.deepStrictEqual(errorsOf([old, upgraded, closed]), [])
  }),
)

/** The last program that wrote no event of a budget, and knew no `share` in one. */
const BEFORE_BUDGET_EVENTS = {
  version: "the gate before events of budgets",
  commit: "129f0abdceb5cca9624102e1624da4d1babdf2ce",
}
/** Appends an event of a type that no version has, in one step as each version does. */
const APPEND = `local seq = redis.call("HINCRBY", KEYS[2], "events", 1)
redis.call("ZADD", KEYS[1], seq, cjson.encode({ type = "caller.rated", seq = seq, at = tonumber(ARGV[1]), stars = 5 }))
return seq`
const CALLS = 30
const OLD_SECRET = "whsec_b2xkZXIgZ2F0ZSBvZiB0aGUgdXBncmFkZSB0ZXN0"
const NEW_SECRET = "whsec_bmV3ZXIgZ2F0ZSBvZiB0aGUgdXBncmFkZSB0ZXN0"

it.concurrent(
  "an older gate delivers and lists the events of types that it does not know; each is taken once, by whichever gate",
  { timeout: 120_000 },
  upgrading(async ({ args, bench, platform, redis, released }) => {
    const receiver = bench.own(await startReceiver())
    const common = {
      [`${BASE}MaxConcurrency`]: "100",
      [`${BASE}Events__Url`]: receiver.url,
      [`${BASE}Events__Token__0`]: TOKEN,
    }
    const budgets = Object.fromEntries(
      ["hour", "day", "month"].flatMap((per, n) =>
        Object.entries({ Name: per, Of: "campaign", Unit: "minutes", Per: per, Cap: "100", AlertAt__0: "0.1" }).map(
          ([name, value]) => [`${BASE}Budgets__${n}__${name}`, value],
        ),
      ),
    )
    const [old, upgraded] = await Promise.all([
      bench.gate({ ...common, [`${BASE}Events__Secrets__0`]: OLD_SECRET }, args, released.main),
      bench.gate({ ...common, ...budgets, [`${BASE}Events__Secrets__0`]: NEW_SECRET }, args),
    ])
    const isOfCall = ({ type }: { readonly type: string }) => type.startsWith("call.")
    // what is not about a call is taken from the older gate alone
    receiver.script = async (event, response) => {
      await new Promise((resolve) => setTimeout(resolve, 50))
      const takes = isOfCall(event) || isSignedBy(event, OLD_SECRET)
      response.writeHead(takes ? 204 : 503).end()
      return takes
    }
    for (let n = 0; n < CALLS; n++) {
      assert.strictEqual((await (n % 2 === 0 ? old : upgraded).call(`198.51.100.${n + 1}`)).status, 200)
    }
    // an event of a version after this one
    const [events = "", meta = ""] = eventKeysOf("business-1/campaign-1")
    const seq = Number(await redis.command("EVAL", APPEND, "2", events, meta, String(Date.now())))
    await Promise.all(platform.starts.map(({ sessionId }, n) => (n % 2 === 0 ? upgraded : old).sessionEnded(sessionId)))
    const taken = () => receiver.taken.map(({ id }) => id)
    await eventually("the events of calls have arrived", async () => {
      const missing = (await readAll(upgraded)).filter((each) => isOfCall(each) && !taken().includes(each.id))
      return missing.length === 0
    })
    for (const secret of [OLD_SECRET, NEW_SECRET]) {
      assert.isAbove(receiver.taken.filter((each) => isSignedBy(each, secret)).length, 0)
    }
    upgraded.kill("SIGTERM")
    assert.deepStrictEqual(await upgraded.exit, { code: 0, signal: null })

    const all = await readAll(old)
    await eventually("the older gate has delivered the rest", () => taken().length >= all.length, 60_000)
    assert.strictEqual(all.length, 3 * CALLS + 4)
    assert.sameMembers(
      taken(),
      all.map(({ id }) => id),
    )
    assert.strictEqual(receiver.mostOfOneTicket(), 1)
    const sent = receiver.taken.filter(({ type }) => type === "budget.alert")
    assert.sameMembers(
      sent.map(({ body }) => JSON.parse(body).budget),
      ["hour", "day", "month"],
    )
    assert.isTrue(sent.every((each) => isSignedBy(each, OLD_SECRET)))
    // fields that it does not know are not in what it sends and lists
    assert.deepStrictEqual(
      sent.map(({ body }) => JSON.parse(body).share),
      sent.map(() => undefined),
    )
    assert.strictEqual(all.find(({ type }) => type === "caller.rated")?.seq, seq)
    assert.deepStrictEqual(errorsOf([old, upgraded]), [])
  }, BEFORE_BUDGET_EVENTS),
)
