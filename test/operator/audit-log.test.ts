/** The audit log as an operator reads it: what changed of the settings, and lines of one kind. */

import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import type { AuditLine } from "../../src/fifo-queue/answers.ts"
import { auditLogPage, storedChanges } from "../../src/operator/audit-log.ts"
import { SettingsChanges } from "../../src/operator/shapes.ts"

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(SettingsChanges))
const change = (n: number) => ({ setting: `Setting.${n}`, before: "1", after: "2" })

/** A log of so many lines, newest first, of which every third is a change of settings; counts what is read of it. */
const logOf = (size: number) => {
  const all = Array.from({ length: size }, (_, index): AuditLine => {
    const n = size - index
    const line = { n, at: n, who: "me", action: "pause", target: "-", result: "done" }
    return n % 3 === 0 ? { ...line, action: "settings", changes: storedChanges([change(n)]).changes } : line
  })
  const reads: Array<number> = []
  return {
    reads,
    read: (first: number, count: number) =>
      Effect.sync(() => {
        const lines = all.slice(first, first + count)
        reads.push(lines.length)
        return { total: all.length, lines }
      }),
  }
}

describe("the changes in a line of the audit log", () => {
  it("are all that changed, with both values", () => {
    const added = { setting: "VoiceAiPlatform.Campaigns.sales (added)" }
    const { changed, changes } = storedChanges([change(1), added])
    assert.strictEqual(changed, "Setting.1, VoiceAiPlatform.Campaigns.sales (added)")
    assert.deepStrictEqual(decode(changes), { settings: [change(1), added], more: 0 })
  })

  it("are bounded, whatever was changed: long values are cut, and further settings are counted", () => {
    const long = { setting: "Security.TrustedProxies", before: "x".repeat(10_000), after: "y".repeat(10_000) }
    const { changed, changes } = storedChanges(Array.from({ length: 500 }, () => long))
    assert.isBelow(changed.length, 500)
    assert.isBelow(changes.length, 1_600)
    const { more, settings } = decode(changes)
    assert.strictEqual(more + settings.length, 500)
    assert.strictEqual(settings[0]?.before, `${"x".repeat(120)}…`)
  })
})

describe("two long values", () => {
  it("two long values that begin alike are shown from where they differ", () => {
    const path = `https://platform.example/${"a".repeat(300)}/`
    const { settings } = decode(storedChanges([{ setting: "S", before: `${path}old`, after: `${path}new` }]).changes)
    assert.deepStrictEqual(settings, [
      { setting: "S", before: `…${"a".repeat(19)}/old`, after: `…${"a".repeat(19)}/new` },
    ])
  })

  it("are shown from their beginning where they differ there", () => {
    const { settings } = decode(
      storedChanges([{ setting: "S", before: "old", after: `new ${"a".repeat(300)}` }]).changes,
    )
    assert.deepStrictEqual(settings, [{ setting: "S", before: "old", after: `new ${"a".repeat(116)}…` }])
  })
})

describe("a page of the audit log", () => {
  it.effect("shows what changed, and reads nothing but the page", () =>
    Effect.gen(function* () {
      const { read, reads } = logOf(600)
      const { lines, total } = yield* auditLogPage(read, 0, 2, undefined)
      assert.strictEqual(total, 600)
      assert.deepStrictEqual(lines[0]?.changes, { settings: [change(600)], more: 0 })
      assert.isUndefined(lines[1]?.changes)
      assert.deepStrictEqual(reads, [2])
    }),
  )

  it.effect("has lines of one kind, counted, and read in steps of a page", () =>
    Effect.gen(function* () {
      const { read, reads } = logOf(250)
      const settings = yield* auditLogPage(read, 80, 10, "settings")
      assert.strictEqual(settings.total, 83)
      assert.deepStrictEqual(
        settings.lines.map(({ n }) => n),
        [9, 6, 3],
      )
      assert.deepStrictEqual(reads, [100, 100, 50])
      const actions = yield* auditLogPage(read, 0, 2, "actions")
      assert.strictEqual(actions.total, 167)
      assert.deepStrictEqual(
        actions.lines.map(({ n }) => n),
        [250, 248],
      )
    }),
  )

  it.effect("shows a line without its changes when they cannot be read", () =>
    Effect.gen(function* () {
      const line = { n: 1, at: 1, who: "me", action: "settings", target: "Queue.MaxLength", result: "done" }
      const read = () => Effect.succeed({ total: 1, lines: [{ ...line, changes: "{" }] })
      assert.deepStrictEqual(yield* auditLogPage(read, 0, 10, undefined), { total: 1, lines: [line] })
    }),
  )
})
