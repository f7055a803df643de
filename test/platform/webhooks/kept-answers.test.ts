/** What is kept of a receiver's answer: no secret of the campaign, in no form, and not more than the limit. */
import { assert, describe, it } from "@effect/vitest"
import { Redacted } from "effect"
import { keptAnswer, MASK, MAX_ANSWER_BYTES } from "../../../src/platform/webhooks/attempts.ts"

const TOKEN = 'to"ken/with+signs-0123456789'
const SIGNING = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
const target = {
  url: "https://gate.example/hook",
  headers: {
    Authorization: Redacted.make("Bearer the-bearer-token-0123"),
    "X-Api-Token": Redacted.make(TOKEN),
  },
  signingSecret: Redacted.make(`whsec_${SIGNING}`),
}
const kept = (text: string, truncated = false, of: typeof target = target): string =>
  keptAnswer(of, new TextEncoder().encode(text), truncated)

describe("what is kept of an answer", () => {
  it("masks a token that is repeated without its scheme, and the key of the signature without its prefix", () => {
    assert.strictEqual(kept("invalid token the-bearer-token-0123"), `invalid token ${MASK}`)
    assert.strictEqual(kept(`bad key ${SIGNING}`), `bad key ${MASK}`)
  })

  it("masks a value as JSON or a URL has it", () => {
    assert.strictEqual(kept(JSON.stringify({ got: TOKEN })), `{"got":"${MASK}"}`)
    assert.strictEqual(kept(`?token=${encodeURIComponent(TOKEN)}`), `?token=${MASK}`)
  })

  it("leaves out the start of a secret at which the answer was cut", () => {
    for (let length = 1; length < TOKEN.length; length++) {
      assert.strictEqual(kept(`got ${TOKEN.slice(0, length)}`, true), "got ")
    }
    assert.strictEqual(kept("got to", false), "got to")
  })

  it("is not longer than the limit where masks are longer than what they replace", () => {
    const short = { ...target, headers: { ...target.headers, "X-Api-Token": Redacted.make("a") } }
    assert.isAtMost(kept("a".repeat(MAX_ANSWER_BYTES), true, short).length, MAX_ANSWER_BYTES)
  })

  it("leaves out a character at which the answer was cut", () => {
    const bytes = new TextEncoder().encode("né")
    assert.strictEqual(keptAnswer(target, bytes.subarray(0, 2), true), "n")
  })
})
