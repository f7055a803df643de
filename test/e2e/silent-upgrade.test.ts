/**
 * Ends of calls that the last release does not know, during an upgrade: of a silent call, and of one that an operator has ended. A gate of
 * the last release and one of this version serve the same callers on one Redis.
 */
import { assert, it } from "@effect/vitest"
import { textOf } from "../harness/http.ts"
import { eventually } from "../harness/process.ts"
import { openSocket } from "./support/push.ts"
import { consoleAsks } from "./support/reload.ts"
import { upgrading } from "./support/upgrade.ts"

/** What the console shows of a slot. */
interface Shown {
  readonly queue?: { readonly slotPage?: ReadonlyArray<{ readonly lease: string; readonly deadline: number }> }
}

it(
  "a gate of the last release serves the callers of calls that this version has ended as silent or stopped",
  {
    timeout: 120_000,
  },
  upgrading(async ({ args, bench, released }) => {
    const [old, upgraded] = await Promise.all([
      bench.gate({}, args, released.main),
      bench.gate({ VoiceAiPlatform__SilenceSeconds: "10" }, args),
    ])
    const statusAt = async (gate: typeof old, ticket: string) => (await gate.ask("GET", `/api/session/${ticket}`)).json
    const silence = (gate: typeof old, ticket: string) =>
      gate.ask("POST", `/api/session/${ticket}/silence`, { body: { seconds: 60 } })

    const started = await upgraded.call("192.0.2.1")
    assert.deepInclude(started.json, { status: "started", silenceSeconds: 10 })
    const first = textOf(started, "uniqueRequestId")
    const second = textOf(await old.call("192.0.2.2"), "uniqueRequestId")
    const third = textOf(await upgraded.call("192.0.2.3"), "uniqueRequestId")
    const [waitingAtOld, waitingAtNew] = [
      bench.own(await openSocket(old, second)),
      bench.own(await openSocket(upgraded, third)),
    ]

    // the last release takes no reports: the page ends such a call by its own clock
    assert.strictEqual((await silence(old, first)).status, 404)
    const endsAt = Date.parse(textOf(await silence(upgraded, first), "endsAt"))
    const inCall = bench.own(await openSocket(old, first))
    await inCall.sees("session")
    inCall.send({ type: "silence", seconds: 9 })
    await inCall.sees("error", { code: "invalid_message" })
    await eventually("the time is over", () => Date.now() >= endsAt)
    assert.deepStrictEqual((await upgraded.sessionEnded("conversation-1")).json, { released: true })
    assert.strictEqual((await statusAt(upgraded, first)).state, "silent")
    assert.strictEqual((await statusAt(old, first)).state, "ended")
    await inCall.sees("ended", { reason: "ended" })
    assert.strictEqual((await statusAt(upgraded, first)).state, "silent")

    // a call that is silent by the gate of this version ends at that of the last release
    await waitingAtOld.sees("start_call")
    assert.strictEqual((await old.ask("POST", `/api/session/${second}/start`)).status, 200)
    assert.strictEqual((await silence(upgraded, second)).status, 200)
    assert.strictEqual((await statusAt(old, second)).state, "live")
    assert.deepStrictEqual((await old.sessionEnded("conversation-2")).json, { released: true })
    assert.strictEqual((await statusAt(upgraded, second)).state, "ended")

    // an operator ends one
    await waitingAtNew.sees("start_call")
    assert.strictEqual((await upgraded.ask("POST", `/api/session/${third}/start`)).status, 200)
    const view: { readonly json: Shown } = await consoleAsks(upgraded, "GET", "view?campaign=default&slots=1")
    const slot = view.json.queue?.slotPage?.[0]
    assert.isDefined(slot)
    const action = { type: "end", lease: slot?.lease, deadline: slot?.deadline }
    const ended = await consoleAsks(upgraded, "POST", "actions", { campaign: "default", action })
    assert.strictEqual(ended.status, 200, ended.text)
    assert.strictEqual((await statusAt(upgraded, third)).state, "stopped")
    assert.strictEqual((await statusAt(old, third)).state, "ended")

    for (const { output } of [old, upgraded])
      assert.notInclude(output(), "records of campaign default that cannot be read")
  }),
)
