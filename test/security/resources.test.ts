/** Limits of one client: connections, their duration, and the memory they hold. */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { CONNECTIONS_PER_CALLER } from "../../src/push-channel/connection-table.ts"
import { openPatient, SHAPE_NAMES } from "../fuzz/patient.ts"
import { eventually } from "../harness/process.ts"
import { rawCall, refusedUpgrade, servedTest, webSocket } from "../support/gate-server.ts"

/** Clients whose upgrade is refused, and who stay all the same. */
const refused = SHAPE_NAMES.filter((name) => name.startsWith("an upgrade"))

describe("a client that is refused", { timeout: 60_000 }, () => {
  for (const name of refused) {
    servedTest(
      `a client that is refused by ${name} has no connection any more, however long it stays`,
      {},
      ({ port }) =>
        Effect.acquireUseRelease(
          Effect.sync(() => openPatient(port, name, 50)),
          (patient) => Effect.promise(() => eventually("it is cut", () => patient.lasted() !== undefined, 30_000)),
          (patient) => Effect.sync(patient.dispose),
        ),
    )
  }
})

describe("one address", { timeout: 60_000 }, () => {
  servedTest("opens so many connections to the hub and no more, registered or not", {}, ({ port, url }) =>
    Effect.gen(function* () {
      yield* Effect.forEach(Array.from({ length: CONNECTIONS_PER_CALLER }), () => webSocket(`${url}/sessionHub`))
      const more = yield* refusedUpgrade(port, "/sessionHub")
      assert.deepStrictEqual([more.status, more.body.code], [429, "too_many_connections"])
      assert.strictEqual((yield* rawCall(port, { path: "/health/live" })).status, 200)
    }),
  )
})
