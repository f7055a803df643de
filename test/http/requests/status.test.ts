/** The state of a ticket, as a page without a push connection polls it. */
import { describe, expect } from "@effect/vitest"
import { Effect } from "effect"
import { hangUp } from "../../support/gate.ts"
import { call, servedTest } from "../../support/gate-server.ts"
import { waiting } from "../push/support.ts"

describe.concurrent("a poll of a ticket's state", () => {
  servedTest(
    "a poll of a ticket's state by a hidden page gives it twice the time to start its turn, once",
    {},
    ({ url }) =>
      Effect.gen(function* () {
        const ticket = yield* waiting
        const poll = (query: string) => call(`${url}/api/session/${ticket}${query}`)
        expect((yield* poll("?hidden=true")).body).toMatchObject({ state: "waiting" })
        yield* hangUp("web-1")
        const startBefore = (query: string) =>
          Effect.map(poll(query), ({ body }) => Date.parse(String(body.startBefore)))
        const shown = yield* startBefore("")
        expect(yield* startBefore("?hidden=no")).toBe(shown)
        expect(yield* startBefore("?hidden=true")).toBe(shown + 30_000)
        expect(yield* startBefore("?hidden=true")).toBe(shown + 30_000)
        expect((yield* poll("?hidden=true&hidden=true&other=1")).status).toBe(200)
      }),
  )
})
