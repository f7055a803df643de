/** What the console can do, through a host's gate. */
import { assert, it } from "vitest"
import { rejection, useGates } from "./support.ts"

const gates = useGates()

it("a host sees a queue, finds a ticket and acts on it, with a line in the audit log", async () => {
  const on = await gates.create()
  assert.equal((await on.request({}, { address: "127.0.0.1" })).status, "started")
  const queued = await on.request({}, { address: "127.0.0.1" })
  if (queued.status !== "queued") return assert.fail(queued.status)

  const seen = await on.operator.view()
  if (seen.status !== "found") return assert.fail(seen.code)
  assert.deepInclude(seen.view, { campaign: "default", slots: 1 })
  const [waiting] = seen.view.queue?.waitingPage ?? []
  if (waiting === undefined) return assert.fail("nobody waits")

  const found = await on.operator.find(waiting.ticket.toUpperCase())
  if (found.status !== "found") return assert.fail(found.code)
  assert.deepInclude(found.found.found[0], { ticket: waiting.ticket, state: "waiting", campaign: "default" })

  const removed = await on.operator.act({ who: "Kim", action: { type: "remove", seq: waiting.seq } })
  assert.deepEqual(removed, { status: "done", outcome: { result: "removed", ticket: waiting.ticket } })
  assert.deepInclude((await on.operator.campaigns()).campaigns[0], { name: "default", slots: 1 })
  assert.equal((await on.status(queued.uniqueRequestId)).status, "found")

  const log = await on.operator.auditLog({ count: 1 })
  if (log.status !== "found") return assert.fail(log.code)
  assert.equal(log.auditLog.total, 1)
  assert.deepInclude(log.auditLog.lines[0], { who: "Kim" })
})

it("a host reads lines of one kind, goes on with a search, and acts only by the fields of an action", async () => {
  const on = await gates.create()
  for (const further of ['"untilText": { "until": "tomorrow" }', '"untill": 1']) {
    const action = JSON.parse(`{ "type": "pause", ${further} }`)
    assert.match((await rejection(on.operator.act({ who: "Kim", action }))).message, /^request\.action: .*no others$/)
  }
  assert.equal((await on.operator.act({ who: "Kim", action: { type: "pause" } })).status, "done")
  const lines = async (only: "settings" | "actions") => {
    const found = await on.operator.auditLog({ only })
    return found.status === "found" ? found.auditLog.lines.map(({ target }) => target) : assert.fail(found.code)
  }
  assert.deepEqual([await lines("actions"), await lines("settings")], [["-"], []])

  await on.request({}, { address: "127.0.0.1" })
  const seen = await on.operator.view()
  const hash = (seen.status === "found" && seen.view.queue?.waitingPage[0]?.ticket) || assert.fail("nobody waits")
  const rows = async (from: string) => {
    const found = await on.operator.find(hash, from)
    return found.status === "found" ? found.found.found.map(({ row }) => row) : assert.fail(found.code)
  }
  assert.deepEqual([await rows("0 default"), await rows("1 default")], [[0], []])
  assert.match((await rejection(on.operator.find(hash, "default"))).message, /^from: /)
  const only = JSON.parse('"calls"')
  assert.match((await rejection(on.operator.auditLog({ only }))).message, /^query\.only: /)
})

it("a host forgets a caller, first to see what there is", async () => {
  const on = await gates.create()
  await on.request({}, { address: "127.0.0.1" })
  const forget = async (query: Parameters<typeof on.operator.forget>[0]) => {
    const answer = await on.operator.forget(query)
    return answer.status === "done" ? answer.forgotten : assert.fail(answer.code)
  }
  const dry = await forget({ who: "Kim", address: "127.0.0.1", dryRun: true })
  assert.deepEqual([dry.dryRun, dry.found], [true, [{ place: "limits", count: 1 }]])
  assert.deepEqual((await forget({ who: "Kim", address: "127.0.0.1" })).found, dry.found)
  assert.deepEqual((await forget({ who: "Kim", address: "127.0.0.1" })).found, [])
  const log = await on.operator.auditLog()
  assert.deepEqual(log.status === "found" && log.auditLog.lines.map(({ action, who }) => `${who} ${action}`), [
    "Kim forget",
    "Kim forget",
  ])
  assert.match(
    (await rejection(on.operator.forget({ who: "Kim" }))).message,
    /^forget: Expected a subject or an address/,
  )
  assert.match((await rejection(on.operator.forget({ who: "Kim", subject: "" }))).message, /^query: /)
  assert.match((await rejection(on.operator.forget({ who: "Kim", address: "x" }))).message, /^address: /)
})

it("an unknown campaign is a refusal; an argument that is wrong, a TypeError that names it", async () => {
  const on = await gates.create()
  const unknown = {
    status: "refused" as const,
    code: "unknown_campaign" as const,
    message: "campaign: Expected a configured campaign.",
  }
  assert.deepEqual(await on.operator.view({ campaign: "moon" }), unknown)
  assert.deepEqual(await on.operator.auditLog({ campaign: "moon" }), unknown)
  assert.deepEqual(await on.operator.act({ campaign: "moon", who: "Kim", action: { type: "pause" } }), unknown)
  const misspelt = { campain: "default", slots: -1 }
  assert.equal(
    (await rejection(on.operator.view(misspelt))).message,
    "query.campain: Expected one of campaign, firstSlot, slots, firstPlace, places, since; did you mean campaign?\n" +
      "query.slots: expected a whole number from 0",
  )
  assert.match((await rejection(on.operator.find("xyz"))).message, /^hash: expected 4 to 10 hexadecimal digits/)
  const action = JSON.parse('{ "type": "explode" }')
  assert.match((await rejection(on.operator.act({ who: "Kim", action }))).message, /^request\.action: /)
  const nobody = JSON.parse('{ "action": { "type": "pause" } }')
  assert.match((await rejection(on.operator.act(nobody))).message, /^request\.who: /)
})

it("a host blocks an address, sees it, lifts the block, and reads the history", async () => {
  const on = await gates.create({ ConsoleToken: "console-token-0123456789" })
  const address = "203.0.113.7"
  const ask = async () => (await on.request({}, { address })).status
  assert.equal(await ask(), "started")
  assert.deepEqual(await on.operator.block({ who: "Kim", address }), { status: "done", result: "done" })
  assert.equal(await ask(), "refused")
  const seen = await on.operator.addresses()
  if (seen.status !== "found") return assert.fail(seen.code)
  assert.deepInclude(seen.blocks[0], { address, until: 0, by: "Kim" })
  assert.deepEqual(await on.operator.lift({ who: "Kim", address }), { status: "done", result: "done" })
  assert.deepEqual(await on.operator.lift({ who: "Kim", address }), { status: "done", result: "already" })
  assert.notEqual(await ask(), "refused")

  const history = await on.operator.history({ range: "day" })
  if (history.status !== "found") return assert.fail(history.code)
  assert.deepInclude(history.history, { campaign: "default", range: "day", stepMillis: 600_000 })
  const unknown = await on.operator.history({ campaign: "sales" })
  assert.deepInclude(unknown, { status: "refused", code: "unknown_campaign" })

  const range = JSON.parse('"year"')
  assert.match((await rejection(on.operator.history({ range }))).message, /^query\.range: /)
  assert.match((await rejection(on.operator.block({ who: "Kim", address: "shop" }))).message, /^request\.address: /)
  assert.match(
    (await rejection((await gates.create()).operator.block({ who: "Kim", address }))).message,
    /^Security\.ConsoleToken: /,
  )
})
