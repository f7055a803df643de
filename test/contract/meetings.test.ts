/** Whether a session had several meetings, as all gates on one store know it. */
import { randomUUID } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { makeIsOnlyMeeting } from "../../src/gatekeeper/calls/meetings.ts"
import { Store } from "../../src/store/Store.ts"
import { onEveryStore } from "../harness/stores.ts"

describe("the meetings of a session", () => {
  onEveryStore((store) => {
    it.effect("are several as soon as a second is noted, and one however often it is noted", () =>
      Effect.gen(function* () {
        const isOnly = makeIsOnlyMeeting(yield* Store)
        const session = randomUUID()
        for (const _ of [1, 2]) assert.isTrue(yield* isOnly("daily", session, "first"))
        assert.isFalse(yield* isOnly("daily", session, "second"))
        for (const meeting of ["first", "second", "third"]) assert.isFalse(yield* isOnly("daily", session, meeting))
        // an id is unique only within a vendor
        assert.isTrue(yield* isOnly("other", session, "second"))
      }).pipe(Effect.provide(store)),
    )
  })
})
