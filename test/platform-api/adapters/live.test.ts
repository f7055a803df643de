/** `voicegate check --live` against the fake of each vendor: what a real key would show. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { FetchHttpClient } from "effect/http"
import { TestClock } from "effect/testing"
import { checkLive } from "../../../src/cli/check/live.ts"
import type { ContractFacts } from "../../../src/platform-api/contract.ts"
import { layer as platformLayer } from "../../../src/platform-api/layer.ts"
import { makeFakeRetell } from "../../../src/platform-api/retell/fake.ts"
import { makeFakeVapi } from "../../../src/platform-api/vapi/fake.ts"
import { VENDORS } from "../../../src/platform-api/vendors.ts"
import { settingsFrom } from "../../../src/settings/given.ts"
import { Settings } from "../../../src/settings/Settings.ts"
import type { FakeVendor } from "../../../src/testing/FakeVendor.ts"
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

const contractOf = async (platform: string): Promise<ContractFacts> => {
  const { contracts }: { readonly contracts: readonly [ContractFacts] } = await import(
    `../../../src/platform-api/${platform}/contract.ts`
  )
  return contracts[0]
}

describe("the check with a real key", () => {
  for (const { platform } of VENDORS) {
    it.effect(`finds nothing wrong with the fake of ${platform}`, () =>
      Effect.gen(function* () {
        yield* TestClock.setTime(BEGIN)
        const facts = yield* Effect.promise(() => contractOf(platform))
        const findings = yield* checked(facts.fake(() => BEGIN))
        assert.deepStrictEqual(
          findings.filter(({ status }) => status === "failed"),
          [],
        )
        const messages = findings.map(({ message }) => message).join("; ")
        assert.match(
          messages,
          /\d+ of \d+ calls run|\d+ calls run, and the platform tells no limit|how many calls run: /,
        )
        assert.match(messages, /gave a credential of the shape|made a credential of the shape/)
        if (facts.lists) {
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
