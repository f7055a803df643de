/** A host that says who calls, and one whose pages carry tokens. */
import { afterEach, assert, describe, it } from "vitest"
import { createGate, type Gate, type SessionBody } from "../../src/index.ts"
import { claimsOf, SECRET, token } from "../support/tokens.ts"
import { settingsFor, useGates } from "./support.ts"

const gates = useGates()
const open: Array<Gate> = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((gate) => gate.close()))
})

const tokenOf = (sub: string): string => token(claimsOf(sub, {}, Math.floor(Date.now() / 1000) * 1000))

describe("createGate", () => {
  it("counts the callers whom the host names, and passes on what the host knows of them", async () => {
    const on = await gates.create({ RateLimitHourly: 1 })
    const ada = { subject: "ada", name: "Ada", variables: { plan: "gold" } }
    const started = await on.request({ dynamicVariables: { plan: "free" } }, { address: "192.0.2.1", identity: ada })
    assert.strictEqual(started.status, "started")
    assert.deepInclude(gates.platform.starts[0], { dynamicVariables: { plan: "gold" } })
    const refused = await on.request({}, { address: "192.0.2.2", identity: ada })
    assert.deepInclude(refused, { status: "refused", code: "rate_limited" })
    assert.strictEqual((await on.request({}, { address: "192.0.2.1", identity: { subject: "bob" } })).status, "queued")
    const wrong: SessionBody = {}
    const mistaken = await on.request(wrong, { address: "192.0.2.1", identity: Object({ subject: "bob", plan: "x" }) })
    assert.deepInclude(mistaken, { status: "refused", code: "invalid_request" })
  })

  it("reads tokens of pages by its settings, over HTTP too", async () => {
    const gate = await createGate(
      { ...settingsFor(gates.platform), Identity: { Secrets: [SECRET], Required: true } },
      { log: () => {} },
    )
    open.push(gate)
    const client = { address: "192.0.2.1" }
    assert.deepInclude(await gate.request({}, client), { status: "refused", code: "identity_required" })
    assert.deepInclude(await gate.request({ identity: "x" }, client), {
      status: "refused",
      code: "identity_refused",
      reason: "malformed",
    })
    assert.strictEqual((await gate.request({ identity: tokenOf("ada") }, client)).status, "started")
    const answer = await gate.fetch(
      new Request("http://gate.example/api/session/request", {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${tokenOf("bob")}` },
        body: "{}",
      }),
      client,
    )
    assert.strictEqual(answer.status, 202)
    const none = await gate.fetch(
      new Request("http://gate.example/api/session/request", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: "{}",
      }),
      client,
    )
    assert.strictEqual(none.status, 401)
    assert.strictEqual(none.headers.get("www-authenticate"), 'Bearer realm="voicegate"')
  })
})
