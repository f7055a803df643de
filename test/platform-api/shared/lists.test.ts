/** A call whose start was not confirmed is found however many calls were made since, up to a bound. */

import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import type { ContractFacts } from "../../../src/platform-api/contract.ts"
import { PlatformApi } from "../../../src/platform-api/PlatformApi.ts"
import { makeFakeRetell } from "../../../src/platform-api/retell/fake.ts"
import { MAX_PAGES, PAGE_LIMIT } from "../../../src/platform-api/shared/recent-calls.ts"
import { makeFakeUltravox } from "../../../src/platform-api/ultravox/fake.ts"
import { makeFakeVapi } from "../../../src/platform-api/vapi/fake.ts"
import { sessionConfig } from "../../platform/support.ts"
import { BEGIN } from "../../support/gate.ts"
import { subjectOf, vendorTest, type World } from "../adapters/rig.ts"

const retell = subjectOf("retell", makeFakeRetell)
const ultravox = subjectOf("ultravox", makeFakeUltravox)
const vapi = subjectOf("vapi", makeFakeVapi)

const LIST_PATHS: Readonly<Record<string, string>> = {
  retell: "POST /v3/list-calls",
  ultravox: "GET /api/calls",
  vapi: "GET /call",
}
/** A page after which there is always another one. */
const ENDLESS: Readonly<Record<string, unknown>> = {
  retell: { items: [], has_more: true, pagination_key: "more" },
  ultravox: { results: [], next: "https://api.ultravox.ai/api/calls?cursor=more" },
  vapi: Array.from({ length: PAGE_LIMIT }, (_, n) => ({ id: `call-${n}`, createdAt: "2100-01-01T00:00:00.000Z" })),
}
const listed = ({ fake }: World, { platform }: ContractFacts) =>
  fake.requests.filter(({ method, path }) => `${method} ${path}` === LIST_PATHS[platform]).length

/** So many starts, one a second. Returns their ids. */
const starts = (world: World, count: number, correlationId: string) =>
  Effect.forEach(Array.from({ length: count }), () => {
    world.shiftVendor(1 / 60)
    return PlatformApi.use((api) =>
      Effect.map(api.initiate(sessionConfig({ correlationId }), "a"), ({ sessionIds: [id = ""] }) => id),
    )
  })

const found = (correlationId: string, since = BEGIN) =>
  PlatformApi.use((api) =>
    Effect.map(api.sessionsOf("default", correlationId, since), (sessions) => sessions?.flat().toSorted()),
  )

for (const subject of [retell, ultravox, vapi]) {
  describe(`the list of ${subject.platform}`, () => {
    vendorTest("is read to the start that is looked for, on as many pages as needed", subject, (world) =>
      Effect.gen(function* () {
        const wanted = yield* starts(world, 1, "mine")
        const others = yield* starts(world, PAGE_LIMIT + 20, "another's")
        assert.deepStrictEqual(yield* found("mine"), wanted)
        assert.deepStrictEqual(yield* found("another's"), others.toSorted())
        assert.deepStrictEqual(yield* found("nobody's"), [])
        assert.isAtLeast(listed(world, subject), 2)
      }),
    )

    vendorTest("is not usable when it is longer than the bound", subject, (world) =>
      Effect.gen(function* () {
        const body = ENDLESS[subject.platform]
        world.fake.failNext(...Array.from({ length: MAX_PAGES + 1 }, () => ({ status: 200, body })))
        assert.isUndefined(yield* found("mine"))
        assert.strictEqual(listed(world, subject), MAX_PAGES)
      }),
    )
  })
}

for (const [subject, body] of [
  [retell, { items: [], has_more: true }],
  [ultravox, { results: [], next: "https://elsewhere.example/api/calls" }],
  [vapi, Array.from({ length: PAGE_LIMIT }, (_, n) => ({ id: `call-${n}` }))],
] as const) {
  vendorTest(`the list of ${subject.platform} that cannot be read further is not usable`, subject, (world) =>
    Effect.gen(function* () {
      world.fake.failNext({ status: 200, body }, { status: 200, body })
      assert.isUndefined(yield* found("mine"))
    }),
  )
}

for (const subject of [ultravox, vapi]) {
  vendorTest(`the list of ${subject.platform} is not read further back than the start`, subject, (world) =>
    Effect.gen(function* () {
      yield* starts(world, PAGE_LIMIT + 20, "mine")
      const since = BEGIN + 10 * PAGE_LIMIT * 1000
      yield* found("mine", since)
      assert.strictEqual(listed(world, subject), 1)
    }),
  )
}
