/** What an operator sees of the public keys of tokens, and of instances that died. */
import { assert, describe, it } from "@effect/vitest"
import { instancesOf } from "../../src/operator/activity.ts"
import { healthOfKeys, healthOfSilent } from "../../src/operator/health.ts"

const NOW = Date.UTC(2026, 10, 27, 12)
const MINUTE = 60_000

describe("the health of the public keys", () => {
  it("is absent without them, and waits for the first read", () => {
    assert.deepStrictEqual(healthOfKeys(undefined, NOW), [])
    const [first] = healthOfKeys({ keys: 0, readAt: 0, nextAt: 0, usedUntil: 0, problem: "" }, NOW)
    assert.strictEqual(first?.state, "checking")
  })

  it("says when they were read, and when they are read next", () => {
    const state = { keys: 2, readAt: NOW - MINUTE, nextAt: NOW + 4 * MINUTE, usedUntil: NOW + MINUTE, problem: "" }
    assert.deepInclude(healthOfKeys(state, NOW)[0], {
      name: "Identity keys",
      state: "ok",
      detail: "known: 2 keys. last read: 2026-11-27T11:59:00.000Z. next read: 2026-11-27T12:04:00.000Z",
    })
  })

  it("says so by the time of day, where the store's time is another one", () => {
    const state = { keys: 2, readAt: NOW - MINUTE, nextAt: NOW + 4 * MINUTE, usedUntil: NOW + MINUTE, problem: "" }
    assert.deepInclude(healthOfKeys(state, NOW, 60 * MINUTE)[0], {
      detail: "known: 2 keys. last read: 2026-11-27T12:59:00.000Z. next read: 2026-11-27T13:04:00.000Z",
    })
    assert.deepInclude(healthOfKeys({ ...state, problem: "No answer" }, NOW, 60 * MINUTE)[0], {
      detail:
        "No answer. Until 2026-11-27T13:01:00.000Z tokens are checked with what was read last, 2 keys. It is read again at 2026-11-27T13:04:00.000Z",
    })
  })

  it("says why they cannot be read, and until when the known ones are used", () => {
    const problem = "Identity.JwksUrl (https://keys.example/) answers with HTTP 500"
    const known = { keys: 1, readAt: NOW - MINUTE, nextAt: NOW - 1, usedUntil: NOW + 60 * MINUTE, problem }
    const [failing] = healthOfKeys(known, NOW)
    assert.strictEqual(failing?.state, "failed")
    assert.deepStrictEqual(failing?.facts, [
      { subject: "error", detail: problem },
      { subject: "known", detail: "1 key, used until 2026-11-27T13:00:00.000Z" },
      { subject: "last read", detail: "2026-11-27T11:59:00.000Z" },
      { subject: "next read", detail: "2026-11-27T12:00:00.000Z" },
    ])
    assert.strictEqual(
      failing?.detail,
      `${problem}. Until 2026-11-27T13:00:00.000Z tokens are checked with what was read last, 1 key. It is read again at 2026-11-27T12:00:00.000Z`,
    )
    const none = { keys: 0, readAt: 0, nextAt: NOW, usedUntil: 0, problem }
    assert.deepInclude(healthOfKeys(none, NOW)[0]?.facts?.[1], { detail: "0 keys" })
    assert.match(healthOfKeys(none, NOW)[0]?.detail ?? "", /No key is known, so callers with a token are refused\./)
  })
})

describe("the health of instances", () => {
  /** One that has been silent since `seenAt`, or still reports. */
  const one = (id: string, startedAt: number, seenAt = NOW, leaves = true) => ({
    id,
    seenAt,
    about: JSON.stringify({ host: id, startedAt, connections: 0, ...(leaves ? { leaves } : {}) }),
  })
  const BEFORE = NOW - 10 * MINUTE
  const at = (seconds: number): number => BEFORE + seconds * 1000
  const down = (instances: ReadonlyArray<ReturnType<typeof one>>) =>
    healthOfSilent(instancesOf({ instances, buckets: [] }, NOW), { since: BEFORE }, NOW)

  it("says which one has died, and since when", () => {
    assert.deepStrictEqual(down([one("a", at(0), at(100)), one("b", at(0))]), [
      {
        name: "Instance a",
        state: "failed",
        detail: "a has sent no heartbeat since 2026-11-27T11:51:40.000Z. It did not shut down in order.",
        at: NOW,
      },
    ])
  })

  it("says it of several on one host", () => {
    const onHost = (id: string, seenAt: number) => ({ ...one(id, at(0), seenAt), about: one("h", at(0)).about })
    assert.deepInclude(down([onHost("a", at(100)), onHost("b", at(200))])[0], {
      name: "Instance h",
      detail:
        "a has sent no heartbeat since 2026-11-27T11:51:40.000Z, b has sent no heartbeat since 2026-11-27T11:53:20.000Z. They did not shut down in order.",
    })
  })

  it("is good again when two have died and both have been started again, whichever reported last", () => {
    const dead = [one("a", at(0), at(100)), one("b", at(0), at(200))]
    const again = [one("a2", at(110), NOW - 1000), one("b2", at(210), NOW - 500)]
    const swapped = [one("a2", at(110), NOW - 500), one("b2", at(210), NOW - 1000)]
    assert.deepStrictEqual(down([...dead, ...again]), [])
    assert.deepStrictEqual(down([...dead, ...swapped]), [])
    assert.deepStrictEqual(
      down([...dead, one("b2", at(210))]).map(({ name }) => name),
      ["Instance b"],
    )
  })

  it("is good again when one that has died twice is up", () => {
    const twice = [one("a", at(0), at(100)), one("a2", at(110), at(200))]
    assert.deepStrictEqual(down([...twice, one("a3", at(210))]), [])
    assert.deepStrictEqual(
      down(twice).map(({ name }) => name),
      ["Instance a2"],
    )
  })

  it("is not bad because of one of an earlier release, which does not say that it stops", () => {
    assert.deepStrictEqual(down([one("a", at(0), at(100), false), one("b", at(50))]), [])
  })
})
