/**
 * An upgrade to budgets, events and hours from the last release, which knows none of them: its gate and one of this version serve the same
 * callers on one Redis. What the older one does not know, the newer one makes good.
 */
import { assert, it } from "@effect/vitest"
import { textOf } from "../harness/http.ts"
import { eventually } from "../harness/process.ts"
import { openSocket } from "./support/push.ts"
import { upgrading } from "./support/upgrade.ts"

const TOKEN = "a-token-of-control-0123456789"

it(
  "a gate of the last release ends a call for which this version holds time, and keeps those who wait when this version is closed",
  { timeout: 180_000 },
  upgrading(async ({ args, bench, released }) => {
    const base = "VoiceAiPlatform__"
    const budgets = {
      [`${base}Budgets__0__Name`]: "team",
      [`${base}Budgets__0__Of`]: "campaign",
      [`${base}Budgets__0__Unit`]: "minutes",
      [`${base}Budgets__0__Per`]: "month",
      [`${base}Budgets__0__Cap`]: "100",
      [`${base}Budgets__0__OnLimit`]: "refuse",
      [`${base}Budget__Token`]: TOKEN,
      [`${base}Events__Token`]: TOKEN,
    }
    const [old, upgraded] = await Promise.all([bench.gate({}, args, released.main), bench.gate(budgets, args)])
    const authorized = { headers: { authorization: `Bearer ${TOKEN}` } }
    const balance = async (gate = upgraded) => (await gate.ask("GET", "/api/budgets/team", authorized)).json
    const types = async () => {
      const { json } = await upgraded.ask("GET", "/api/events", authorized)
      return (json.events as ReadonlyArray<{ readonly type: string }>).map(({ type }) => type)
    }

    // a call of this version, ended by the other one
    assert.deepInclude((await upgraded.call("192.0.2.1")).json, { status: "started" })
    assert.deepInclude(await balance(), { settled: 0, held: 1 })
    const waiting = textOf(await old.call("192.0.2.2"), "uniqueRequestId")
    const page = bench.own(await openSocket(old, waiting))
    assert.deepStrictEqual((await old.sessionEnded("conversation-1")).json, { released: true })
    // a call of the other one: nothing is held for it, and nothing is charged
    await page.sees("start_call")
    assert.strictEqual((await old.ask("POST", `/api/session/${waiting}/start`)).status, 200)
    assert.deepInclude(await balance(), { held: 1 })
    assert.deepStrictEqual(await types(), ["call.accepted", "call.started"])

    // this version is closed: it lets nobody in, and those who wait keep their places while the other one serves them
    const later = textOf(await old.call("192.0.2.3"), "uniqueRequestId")
    bench.own(await openSocket(old, later))
    upgraded.kill("SIGTERM")
    await upgraded.exit
    const closed = await bench.gate(
      { ...budgets, [`${base}Hours__Zone`]: "UTC", [`${base}Hours__Closed__0`]: "Jan 1 to Dec 31" },
      args,
    )
    assert.deepInclude((await closed.call("192.0.2.4")).json, { code: "closed" })
    // what the older gate did not charge, a minute later
    await eventually(
      "the call is charged what was held for it",
      async () => {
        const { held, settled } = await balance(closed)
        return held === 0 && settled === 1
      },
      150_000,
    )
    assert.strictEqual(textOf(await closed.ask("GET", `/api/session/${later}`), "state"), "waiting")
    // the older gate ends its call, and the next caller starts at this version, which holds time for them
    assert.deepStrictEqual((await old.sessionEnded("conversation-2")).json, { released: true })
    await eventually(
      "the next one is called",
      async () => textOf(await closed.ask("GET", `/api/session/${later}`), "state") === "called",
    )
    assert.strictEqual((await closed.ask("POST", `/api/session/${later}/start`)).status, 200)
    assert.deepInclude(await balance(closed), { settled: 1, held: 1 })
    const problems = [old, upgraded, closed].flatMap(
      ({ output }) => output().match(/^.*"level":"(?:error|fatal)".*$/gm) ?? [],
    )
    assert.deepStrictEqual(problems, [])
  }),
)
