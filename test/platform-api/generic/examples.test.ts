/** The two worked examples of `generic` in the documents, each against a fake of its vendor: starts, ends, capacity, refusals. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import {
  type FakeVendor,
  fakeApi,
  fakeCalls,
  fakeTokens,
  field,
  type VendorAnswer,
  type VendorRequest,
} from "../../../src/testing/FakeVendor.ts"
import { treeOf } from "../../settings/support.ts"
import { ask, joined, stateOf, subjectOf, vendorTest, waits } from "../adapters/rig.ts"

const document = readFileSync(join(import.meta.dirname, "../../../src/docs/vendors.md"), "utf8")
const KEY = "key-of-the-example"
/** The sample of the document with this text in it, with a key. */
const sampleWith = (text: string): Readonly<Record<string, unknown>> => {
  const samples = [...document.matchAll(/```json\n([\s\S]*?)```/g)].map(([, sample = ""]) => sample)
  const found = samples.find((sample) => sample.includes(text))
  if (found === undefined) throw new Error(`no sample has ${text}`)
  return JSON.parse(found.replace("…", KEY))
}
const none = () => ({ headers: {}, rawBody: "" })

const makeTavus = (): FakeVendor => {
  const calls = fakeCalls("c")
  const answer = ({ body, headers, method, path }: VendorRequest): VendorAnswer => {
    if (headers.get("x-api-key") !== KEY) return { status: 401, body: { message: "Invalid access token" } }
    if (`${method} ${path}` === "POST /v2/conversations") {
      if (field(body, "persona_id") !== "persona-id") return { status: 400, body: { error: "Invalid persona_id" } }
      const { max_call_duration: most, participant_absent_timeout: absent } = Object(field(body, "properties"))
      if (!(most > 0 && most <= 3_600 && absent > 0)) return { status: 400, body: { error: "Invalid properties" } }
      const call = calls.start({})
      if (call === undefined)
        return { status: 400, body: { message: "User has reached maximum concurrent conversations" } }
      const conversation_url = `https://tavus.daily.example/${call.bearer}`
      return { status: 200, body: { conversation_id: call.id, conversation_url, status: "active" } }
    }
    const [, id = "", end] = /^\/v2\/conversations\/([^/]+)(\/end)?$/.exec(path) ?? []
    if (calls.find(id) === undefined) return { status: 404, body: { message: "not found" } }
    if (end !== undefined && method === "POST") calls.end(id)
    return { status: 200, body: { conversation_id: id, status: calls.isRunning(id) ? "active" : "ended" } }
  }
  return {
    ...fakeApi(answer),
    settings: sampleWith("tavusapi.com"),
    setLimit: calls.setLimit,
    join: (credential) => (credential.shape === "url" ? calls.opened(credential.url) : undefined),
    isRunning: calls.isRunning,
    hangUp: (id) => void calls.end(id),
    webhook: none,
  }
}

const makeXai = (now: () => number): FakeVendor => {
  const tokens = fakeTokens("session-", now)
  const answer = ({ body, headers, method, path }: VendorRequest): VendorAnswer => {
    if (headers.get("authorization") !== `Bearer ${KEY}`) return { status: 401, body: { error: "Incorrect API key" } }
    const seconds = field(body, "expires_after", "seconds")
    if (`${method} ${path}` !== "POST /v1/realtime/client_secrets" || typeof seconds !== "number") {
      return { status: 400, body: { error: "Bad request" } }
    }
    return { status: 200, body: { value: tokens.grant(seconds), expires_at: Math.floor(now() / 1000) + seconds } }
  }
  return {
    ...fakeApi(answer),
    settings: sampleWith("api.x.ai"),
    setLimit: tokens.setLimit,
    join: (credential) => (credential.shape === "token" ? tokens.open(credential.token) : undefined),
    isRunning: tokens.isRunning,
    hangUp: (id) => void tokens.end(id),
    webhook: none,
  }
}

const tavus = subjectOf("generic", makeTavus)
const xai = subjectOf("generic", makeXai)

describe("the example of Tavus", () => {
  vendorTest("starts conversations, keeps the place at capacity, and notices an end", tavus, (world) =>
    Effect.gen(function* () {
      world.fake.setLimit(2)
      const first = yield* ask(1)
      assert.strictEqual(first.credential?.shape, "url")
      const call = yield* joined(world, first)
      yield* ask(2)
      yield* waits(3)
      world.fake.hangUp(call)
      yield* world.pass(5)
      assert.strictEqual(yield* stateOf(first.uniqueRequestId), "ended")
    }),
  )

  vendorTest("ends the conversation of a caller who leaves", tavus, (world) =>
    Effect.gen(function* () {
      const started = yield* ask(1)
      const call = yield* joined(world, started)
      yield* Gatekeeper.use((gate) => gate.leave(started.uniqueRequestId))
      yield* world.pass(0.5)
      assert.isFalse(world.fake.isRunning(call))
      assert.strictEqual(yield* stateOf(started.uniqueRequestId), "ended")
    }),
  )
})

describe("the example of xAI", () => {
  vendorTest(
    "gives a token for the start window, and frees the slot when the page has left and the token opens nothing",
    xai,
    (world) =>
      Effect.gen(function* () {
        const started = yield* ask(1)
        if (started.credential?.shape !== "token") throw new Error("Expected a token")
        assert.strictEqual(field(world.fake.requests[0]?.body, "expires_after", "seconds"), 20)
        yield* joined(world, started)
        yield* Gatekeeper.use((gate) => gate.leave(started.uniqueRequestId))
        assert.strictEqual(yield* stateOf(started.uniqueRequestId), "live")
        yield* world.pass(0.5)
        assert.strictEqual(yield* stateOf(started.uniqueRequestId), "ended")
      }),
  )

  vendorTest(
    "holds no slot for a start whose answer was lost, because nobody has its token",
    xai,
    (world) =>
      Effect.gen(function* () {
        world.fake.failNext("lost")
        const { uniqueRequestId } = yield* waits(1)
        yield* world.pass(0.25)
        assert.strictEqual(yield* stateOf(uniqueRequestId), "called")
      }),
    { MaxConcurrency: 1 },
  )
})

describe("a generic vendor whose answer names no session", () => {
  it("cannot be asked for its state or its end, nor send webhooks: the setting that is missing is named", () => {
    const sample = sampleWith("api.x.ai")
    for (const extra of [
      { StatusPath: "s/{{sessionId}}" },
      { EndPath: "e/{{sessionId}}" },
      { WebhookSecret: "a-secret-of-webhooks" },
    ]) {
      const VoiceAiPlatform = { ...sample, Generic: { ...Object(sample.Generic), ...extra } }
      assert.throws(() => treeOf({ VoiceAiPlatform, Server: { Host: "127.0.0.1" } }), /SessionIdField/)
    }
  })
})
