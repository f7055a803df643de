/** What vendors say of who speaks in a call that may not be silent for long (`SilenceSeconds`). */

import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { FetchHttpClient } from "effect/http"
import { TestClock } from "effect/testing"
import { REPORT_MILLIS } from "../../../src/gatekeeper/calls/NoteSpeech.ts"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import { makeFakeVapi } from "../../../src/platform-api/vapi/fake.ts"
import * as memory from "../../../src/store/memory/layer.ts"
import { Store } from "../../../src/store/Store.ts"
import { BEGIN } from "../../support/gate.ts"
import { begins, relayed } from "../openai/relay-rig.ts"
import { ask, layerOf, stateOf, subjectOf, vendorTest, type World } from "./rig.ts"

const limited = { SilenceSeconds: 30 }
const silence = (ticket: string, seconds: number) => Gatekeeper.use((gate) => gate.silence(ticket, seconds * 1000))
/** How long the call may go on, after the page has reported so much silence (s). */
const left = (ticket: string, seconds: number) =>
  Effect.gen(function* () {
    const endsAt = yield* silence(ticket, seconds)
    return ((endsAt ?? Number.NaN) - (yield* Effect.clockWith((clock) => clock.currentTimeMillis))) / 1000
  })

describe("the speech that OpenAI hears", () => {
  relayed(
    "keeps a call whose page hears nobody, and the silence counts from its end",
    ({ fake, pass }) =>
      Effect.gen(function* () {
        const { uniqueRequestId, ...started } = yield* ask(1)
        const id = yield* begins({ uniqueRequestId, ...started })
        yield* pass(1)
        assert.strictEqual(yield* left(uniqueRequestId, 20), 10)
        fake.says(id, "input_audio_buffer.speech_started")
        yield* pass(0.5)
        assert.isTrue(fake.isRunning(id))
        fake.says(id, "input_audio_buffer.speech_stopped")
        yield* pass(0.25)
        assert.strictEqual(yield* left(uniqueRequestId, 60), 15)
        fake.says(id, "output_audio_buffer.started")
        yield* pass(0.5)
        assert.isTrue(fake.isRunning(id))
        fake.says(id, "output_audio_buffer.cleared")
        yield* pass(0.25)
        assert.strictEqual(yield* left(uniqueRequestId, 60), 15)
        // what is no speech keeps no call
        fake.says(id, "response.created")
        yield* pass(0.5)
        assert.isFalse(fake.isRunning(id))
        assert.strictEqual(yield* stateOf(uniqueRequestId), "silent")
      }),
    limited,
  )
})

describe("the speech that OpenAI's Live API writes down", () => {
  relayed(
    "keeps a call whose page hears nobody",
    ({ fake, pass }) =>
      Effect.gen(function* () {
        const started = yield* ask(1)
        const id = yield* begins(started)
        yield* pass(1)
        for (const side of ["input", "output"]) {
          yield* silence(started.uniqueRequestId, 20)
          fake.says(id, `session.${side}_transcript.delta`)
          yield* pass(0.25)
          assert.isTrue(fake.isRunning(id))
          assert.strictEqual(yield* left(started.uniqueRequestId, 60), 15)
        }
        yield* pass(0.5)
        assert.isFalse(fake.isRunning(id))
      }),
    limited,
    {},
    "live",
  )
})

const vapi = subjectOf("vapi", makeFakeVapi)

/** Vapi's message `speech-update` about the call that the first start began, as its fake signs it. */
const speechUpdate = (
  { fake }: Pick<World, "fake">,
  role: string,
  status: string,
  more: Readonly<Record<string, unknown>> = {},
) => {
  const { assistantOverrides } = Object(fake.requests.find(({ path }) => path === "/call/web")?.body)
  const call = { id: "call-1", status: "in-progress", assistantOverrides, ...more }
  const webhook = fake.webhook({ message: { type: "speech-update", role, status, turn: 1, call } })
  return Gatekeeper.use((gate) => gate.vendorWebhook("vapi", webhook))
}

describe("the speech that Vapi reports", () => {
  vendorTest(
    "keeps a call whose page hears nobody, and the silence counts from its end",
    vapi,
    (world) =>
      Effect.gen(function* () {
        const { uniqueRequestId } = yield* ask(1)
        yield* world.pass(1)
        assert.strictEqual(yield* left(uniqueRequestId, 20), 10)
        assert.deepStrictEqual(yield* speechUpdate(world, "assistant", "started"), {
          _tag: "accepted",
          released: false,
          because: "speech",
        })
        yield* world.pass(0.5)
        assert.strictEqual(yield* stateOf(uniqueRequestId), "live")
        yield* speechUpdate(world, "assistant", "stopped")
        yield* world.pass(0.25)
        assert.strictEqual(yield* left(uniqueRequestId, 60), 15)
        // of another program's call, or another message
        yield* speechUpdate(world, "user", "started", { assistantOverrides: {} })
        yield* speechUpdate(world, "user", "paused")
        yield* world.pass(0.5)
        assert.isFalse(world.fake.isRunning("call-1"))
        assert.strictEqual(yield* stateOf(uniqueRequestId), "silent")
      }),
    limited,
  )
})

describe("what a vendor reports of speech", () => {
  /** A gate in front of the fake of Vapi, and the rules of the store that it has run for reports. */
  const reported = (
    settings: object,
    body: (world: Pick<World, "fake">, reports: Array<string>) => Effect.Effect<void, unknown, Gatekeeper>,
  ) =>
    Effect.gen(function* () {
      yield* TestClock.setTime(BEGIN)
      const reports: Array<string> = []
      const fake = makeFakeVapi(() => BEGIN)
      const store = Layer.effect(
        Store,
        Effect.map(Store, (inner) => ({
          ...inner,
          run: (rule, asked) => {
            if (rule.name === "queue.speech") reports.push(JSON.stringify(asked.call))
            return inner.run(rule, asked)
          },
        })),
      ).pipe(Layer.provide(Layer.fresh(memory.layer)))
      yield* body({ fake }, reports).pipe(
        Effect.provide(layerOf({ ...fake.settings, ...settings }, {}, store)),
        Effect.provideService(FetchHttpClient.Fetch, fake.fetch),
      )
    })

  it.effect("costs the store one command in three seconds, however often it changes, and the last word counts", () =>
    reported(limited, (world, reports) =>
      Effect.gen(function* () {
        yield* ask(1)
        for (let n = 0; n < 50; n++) {
          yield* speechUpdate(world, "user", "started")
          yield* speechUpdate(world, "user", "stopped")
          yield* speechUpdate(world, "assistant", "started")
        }
        assert.lengthOf(reports, 1)
        yield* TestClock.adjust(REPORT_MILLIS)
        assert.lengthOf(reports, 2)
        assert.deepInclude(JSON.parse(reports[1] ?? ""), { sessions: ["call-1"], caller: false, agent: true })
        yield* TestClock.adjust("1 minute")
        assert.lengthOf(reports, 2)
        yield* speechUpdate(world, "assistant", "stopped")
        yield* TestClock.adjust("1 minute")
        assert.lengthOf(reports, 3)
      }),
    ),
  )

  it.effect("costs the store nothing where calls may be silent", () =>
    reported({}, (world, reports) =>
      Effect.gen(function* () {
        yield* ask(1)
        yield* speechUpdate(world, "user", "started")
        yield* TestClock.adjust("1 minute")
        assert.lengthOf(reports, 0)
      }),
    ),
  )
})
