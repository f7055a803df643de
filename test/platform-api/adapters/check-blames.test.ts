/** Which setting `check` names for each way in which a vendor refuses, or is not there. */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { PlatformApi } from "../../../src/platform-api/PlatformApi.ts"
import { makeFakeRetell } from "../../../src/platform-api/retell/fake.ts"
import { subjectOf, vendorTest } from "./rig.ts"

const retell = subjectOf("retell", makeFakeRetell)

describe("the check of a vendor", () => {
  for (const [what, answer, says] of [
    ["the agent for an id that no agent can have", { status: 400, body: {} }, /^Retell\.AgentId: /],
    ["the agent for one that does not exist", { status: 404, body: {} }, /^Retell\.AgentId: /],
    ["the agent for an id that does not fit", { status: 422, body: {} }, /^Retell\.AgentId: /],
    ["the key for a refused key", { status: 401, body: {} }, /^Retell\.ApiKey: /],
    ["the account where it has no credit", { status: 402, body: {} }, /^the account of Retell\.ApiKey: /],
    [
      "the vendor's own address for a page, which no setting has",
      { status: 200, body: "<!doctype html>" },
      /^Retell gives no usable answer at https:\/\/api\.retellai\.com\/, its own address: Retell's answer is not JSON/,
    ],
    ["no setting when the vendor fails", { status: 500, body: {} }, /^Retell/],
  ] as const) {
    vendorTest(`names ${what}`, retell, (world) =>
      Effect.gen(function* () {
        // a read without a usable answer is repeated once
        world.fake.failNext(answer, answer)
        const [platform] = yield* PlatformApi.use((api) => api.verify("default"))
        assert.strictEqual(platform?.state, "failed")
        assert.match(platform?.detail ?? "", says)
      }),
    )
  }

  for (const [what, BaseUrl, says] of [
    [
      "the vendor's own address, which no setting has",
      undefined,
      /^Retell gives no usable answer at https:\/\/api\.retellai\.com\/, its own address: cannot connect to api\.retellai\.com/,
    ],
    [
      "the setting with another address",
      "https://retell.example",
      /^Retell\.BaseUrl: cannot connect to retell\.example/,
    ],
  ] as const) {
    vendorTest(
      `names ${what}, when nothing answers there`,
      retell,
      (world) =>
        Effect.gen(function* () {
          world.refuse(/./, "unreachable")
          const [platform] = yield* PlatformApi.use((api) => api.verify("default"))
          assert.match(platform?.detail ?? "", says)
        }),
      BaseUrl === undefined ? {} : { Retell: { ...Object(makeFakeRetell(() => 0).settings).Retell, BaseUrl } },
    )
  }
})
