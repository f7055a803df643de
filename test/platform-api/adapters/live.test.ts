/** `voicegate check --live` against the fake of each vendor: what a real key would show. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { FetchHttpClient } from "effect/http"
import { TestClock } from "effect/testing"
import { checkLive } from "../../../src/cli/check/live.ts"
import { layer as platformLayer } from "../../../src/platform-api/layer.ts"
import { settingsFrom } from "../../../src/settings/given.ts"
import { Settings } from "../../../src/settings/Settings.ts"
import { makeFakeAssemblyAI } from "../../../src/testing/vendors/FakeAssemblyAI.ts"
import { makeFakeCartesia } from "../../../src/testing/vendors/FakeCartesia.ts"
import { makeFakeDaily } from "../../../src/testing/vendors/FakeDaily.ts"
import { makeFakeDeepgram } from "../../../src/testing/vendors/FakeDeepgram.ts"
import { makeFakeElevenLabs } from "../../../src/testing/vendors/FakeElevenLabs.ts"
import { makeFakeGeneric } from "../../../src/testing/vendors/FakeGeneric.ts"
import { makeFakeLiveKit } from "../../../src/testing/vendors/FakeLiveKit.ts"
import { makeFakeOpenAI } from "../../../src/testing/vendors/FakeOpenAI.ts"
import { makeFakePipecat } from "../../../src/testing/vendors/FakePipecat.ts"
import { makeFakeRetell } from "../../../src/testing/vendors/FakeRetell.ts"
import { makeFakeUltravox } from "../../../src/testing/vendors/FakeUltravox.ts"
import { makeFakeVapi } from "../../../src/testing/vendors/FakeVapi.ts"
import type { FakeVendor } from "../../../src/testing/vendors/fake-vendor.ts"
import { BEGIN } from "../../support/gate.ts"

/** Checks the campaign of a fake, while time passes. */
const checked = (fake: FakeVendor) =>
  Effect.gen(function* () {
    const { tree } = yield* Effect.orDie(
      Effect.fromResult(settingsFrom({ VoiceAiPlatform: fake.settings, Server: { Host: "127.0.0.1" } })),
    )
    const settings = Layer.succeed(Settings, tree)
    const platform = platformLayer.pipe(
      Layer.provide([settings, FetchHttpClient.layer]),
      Layer.provide(Layer.succeed(FetchHttpClient.Fetch, fake.fetch)),
    )
    const fiber = yield* Effect.forkChild(Effect.provide(checkLive(tree.Campaigns[0], tree), platform))
    for (let seconds = 0; seconds < 60; seconds++) yield* TestClock.adjust("1 second")
    return yield* Fiber.join(fiber)
  })

const VENDORS: Readonly<Record<string, (now: () => number) => FakeVendor>> = {
  livekit: makeFakeLiveKit,
  retell: makeFakeRetell,
  vapi: makeFakeVapi,
  elevenlabs: makeFakeElevenLabs,
  ultravox: makeFakeUltravox,
  openai: makeFakeOpenAI,
  pipecat: makeFakePipecat,
  daily: makeFakeDaily,
  deepgram: makeFakeDeepgram,
  assemblyai: makeFakeAssemblyAI,
  cartesia: makeFakeCartesia,
  generic: makeFakeGeneric,
}
/** The vendors whose call the gate lists, and ends. */
const LISTED = ["retell", "vapi", "ultravox"]

describe("the check with a real key", () => {
  for (const [vendor, make] of Object.entries(VENDORS)) {
    it.effect(`finds nothing wrong with the fake of ${vendor}`, () =>
      Effect.gen(function* () {
        yield* TestClock.setTime(BEGIN)
        const findings = yield* checked(make(() => BEGIN))
        assert.deepStrictEqual(
          findings.filter(({ status }) => status === "failed"),
          [],
        )
        const messages = findings.map(({ message }) => message).join("; ")
        assert.match(messages, /gave a credential of the shape|made a credential of the shape/)
        if (LISTED.includes(vendor)) {
          assert.include(messages, "the list has the call")
          assert.include(messages, "the gate has ended the call")
        }
      }),
    )
  }

  it.effect("ends a call whose start was not confirmed, and starts no second one", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(BEGIN)
      const fake = makeFakeRetell(() => BEGIN)
      // the figures are read before
      fake.failNext({ status: 500 }, { status: 500 }, "lost")
      const findings = yield* checked(fake)
      assert.include(JSON.stringify(findings), "It had started, and was ended.")
      assert.lengthOf(
        fake.requests.filter(({ path }) => path.includes("create-web-call")),
        1,
      )
      assert.isFalse(
        fake.requests.some(({ path }) => path.includes("get-call") && fake.isRunning(path.split("/").at(-1) ?? "")),
      )
    }),
  )

  it.effect("says that a key is refused", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(BEGIN)
      const fake = makeFakeVapi(() => BEGIN)
      const wrong = {
        ...fake,
        settings: { ...fake.settings, Vapi: { ...Object(fake.settings.Vapi), ApiKey: "another-key" } },
      }
      const findings = yield* checked(wrong)
      const failed = findings.filter(({ status }) => status === "failed")
      assert.lengthOf(failed, 1)
      assert.match(failed[0]?.message ?? "", /^the start: /)
      assert.notInclude(JSON.stringify(findings), "another-key")
    }),
  )
})
