/** What an operator sees of the public keys of tokens. */
import { assert, describe, it } from "@effect/vitest"
import { healthOfKeys } from "../../src/operator/health.ts"

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
