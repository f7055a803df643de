/** `voicegate budget` and `voicegate forget` of the built program, at a running gate that has charged a call of the caller. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { type Environment, makeBench, runProgram, settingsFor } from "../harness/gate.ts"
import { field } from "../harness/http.ts"
import { eventually } from "../harness/process.ts"
import { startPlatform } from "../harness/servers.ts"
import { accessTo, CONSOLE_TOKEN, operate } from "./support/operator.ts"

const CALLER = "192.0.2.17"

interface Balance {
  readonly budget: string
  readonly adjusted: number
  readonly settled: number
  readonly held: number
  readonly left: number
}

describe("an operator of a campaign with budgets", () => {
  const bench = makeBench()
  afterAll(() => bench.dispose())
  let access: Environment

  beforeAll(async () => {
    const platform = bench.own(await startPlatform())
    const budget = (n: number, of: string, name: string) => ({
      [`VoiceAiPlatform__Budgets__${n}__Name`]: name,
      [`VoiceAiPlatform__Budgets__${n}__Of`]: of,
      [`VoiceAiPlatform__Budgets__${n}__Unit`]: "minutes",
      [`VoiceAiPlatform__Budgets__${n}__Per`]: "month",
      [`VoiceAiPlatform__Budgets__${n}__Cap`]: "10",
      // this platform has no request that ends a session
      [`VoiceAiPlatform__Budgets__${n}__OnLimit`]: "refuse",
    })
    const gate = await bench.gate(
      settingsFor(platform, {
        ...budget(0, "campaign", "team"),
        ...budget(1, "caller", "own"),
        VoiceAiPlatform__Price__MinimumSeconds: "60",
        Security__RateLimitHourly: "10",
        Security__TrustedProxies__0: "loopback",
        Security__ConsoleToken: CONSOLE_TOKEN,
      }),
    )
    access = accessTo(gate)
    const started = await gate.call(CALLER)
    assert.strictEqual(started.status, 200, started.text)
    assert.strictEqual((await gate.sessionEnded(field(started, "sessionId") ?? "")).status, 200)
  })

  const run = (command: string) => operate(command, access, runProgram)
  const balances = async (more = ""): Promise<ReadonlyArray<Balance>> =>
    JSON.parse((await run(`budget show default --json${more}`)).output).budgets

  it("sees what a call was charged, adds to a budget once, and takes it away again", async () => {
    await eventually("the call is charged", async () => {
      const [team] = await balances()
      return team?.settled === 1 && team.held === 0
    })
    const own = (await balances(` --caller ${CALLER}`)).find(({ budget }) => budget === "own")
    assert.deepInclude(own, { settled: 1, held: 0, left: 9 })
    const shown = await run("budget show default")
    assert.match(shown.output, /^team +campaign +month +10 +0 +1 +0 +9 +0 +minutes /m)
    assert.notMatch(shown.output, /^own /m)

    const add = "budget adjust default team --add 5 --reason more --id once-more-1"
    const added = await run(add)
    assert.strictEqual(added.code, 0, added.output)
    assert.include(added.output, "Changed for this month (id once-more-1).")
    assert.include((await run(add)).output, "Nothing was changed: once-more-1 was made before.")
    assert.deepInclude((await balances())[0], { adjusted: 5, left: 14 })
    assert.strictEqual((await run("budget adjust default team --take 5 --reason less --id back-again-1")).code, 0)
    assert.deepInclude((await balances())[0], { adjusted: 0, left: 9 })
    const unknown = await run("budget adjust default own --add 5 --reason more")
    assert.strictEqual(unknown.code, 1)
    assert.include(unknown.output, "it is one of callers: then add --caller or --subject")
  })

  it("has a caller forgotten: it is said what would be, then what was, and a second run finds none", async () => {
    const would = await run(`forget --address ${CALLER}`)
    assert.strictEqual(would.code, 0, would.output)
    assert.include(would.output, "Nothing was removed. To remove what was found, add --yes.")
    const found = async (more: string): Promise<Readonly<Record<string, number>>> => {
      const { output } = await run(`forget --address ${CALLER} --json${more}`)
      const rows: ReadonlyArray<{ readonly place: string; readonly count: number }> = JSON.parse(output).found
      return Object.fromEntries(rows.flatMap(({ count, place }) => (count === 0 ? [] : [[place, count]])))
    }
    const before = await found("")
    for (const place of ["tickets", "limits", "budgets", "billed_calls"]) assert.isAbove(before[place] ?? 0, 0, place)
    assert.deepStrictEqual(await found(" --yes"), before)
    assert.deepStrictEqual(await found(" --yes"), {})
    const again = await run(`forget --address ${CALLER} --yes`)
    assert.include(again.output, "Nothing was found.")
    assert.include(again.output, "Not reached:")
    // what the campaign was charged stays
    assert.deepInclude((await balances())[0], { settled: 1 })
  })
})
