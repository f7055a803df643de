/**
 * Credentials that may be valid for longer than the start window: `check` names what bounds them, and the slot of a caller who has left
 * stays held for as long as the credential opens the call.
 */

import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import { makeFakeElevenLabs } from "../../../src/platform-api/elevenlabs/fake.ts"
import { makeFakeGeneric } from "../../../src/platform-api/generic/fake.ts"
import { PlatformApi } from "../../../src/platform-api/PlatformApi.ts"
import { makeFakeRetell } from "../../../src/platform-api/retell/fake.ts"
import { makeFakeUltravox } from "../../../src/platform-api/ultravox/fake.ts"
import { makeFakeVapi } from "../../../src/platform-api/vapi/fake.ts"
import { ask, END_PATHS, joined, reportEnd, stateOf, subjectOf, vendorTest } from "./rig.ts"

const elevenlabs = subjectOf("elevenlabs", makeFakeElevenLabs)
const generic = subjectOf("generic", makeFakeGeneric)
const retell = subjectOf("retell", makeFakeRetell)
const ultravox = subjectOf("ultravox", makeFakeUltravox)
const vapi = subjectOf("vapi", makeFakeVapi)

const { EndPath: _end, StartBody: BODY, ...GENERIC } = Object(makeFakeGeneric(() => 0).settings.Generic)
const { StatusPath: _status, WebhookSecret: _secret, ...UNTOLD } = GENERIC

const leave = (ticket: string) => Gatekeeper.use((gate) => gate.leave(ticket))

describe("a call of a generic vendor that tells nobody of its end", () => {
  vendorTest(
    "is over when its page says so and its credential has expired, and frees its slot once",
    generic,
    (world) =>
      Effect.gen(function* () {
        const started = yield* ask(1)
        world.fake.hangUp(yield* joined(world, started))
        yield* leave(started.uniqueRequestId)
        assert.strictEqual(yield* stateOf(started.uniqueRequestId), "live")
        yield* world.pass(1)
        assert.strictEqual(yield* stateOf(started.uniqueRequestId), "ended")
        assert.isFalse(yield* Gatekeeper.use((gate) => gate.sessionEnded([started.sessionId])))
      }),
    { Generic: { ...UNTOLD, StartBody: BODY } },
  )

  vendorTest(
    "holds its slot if its credential has no known end: it could open a call whose slot is free",
    generic,
    () =>
      Effect.gen(function* () {
        const started = yield* ask(1)
        yield* leave(started.uniqueRequestId)
        assert.strictEqual(yield* stateOf(started.uniqueRequestId), "live")
      }),
    { Generic: { ...UNTOLD } },
  )
})

describe("a credential that outlives the start window", () => {
  for (const [subject, bounds, settings] of [
    [elevenlabs, /once, within 15 minutes, which may be longer than the start window/, {}],
    [retell, /one call; Retell says in each how long it is valid, which may be longer than the start window/, {}],
    [vapi, /one call and opens it until it is over; the call waits 20 s for its caller/, {}],
    [generic, /the vendor decides how long a credential is valid/, { Generic: { ...GENERIC } }],
  ] as const) {
    vendorTest(
      `a credential of ${subject.platform} that outlives the start window is named by the check, with what bounds it`,
      subject,
      () =>
        Effect.gen(function* () {
          const findings = yield* PlatformApi.use((api) => api.verify("default"))
          const credential = findings.find((finding) => finding.subject === "credential")
          assert.match(credential?.detail ?? "", bounds)
        }),
      settings,
    )
  }

  vendorTest(
    "a credential of ElevenLabs that outlives the start window holds the slot of a caller who has left until it has expired",
    elevenlabs,
    (world) =>
      Effect.gen(function* () {
        const { credential, uniqueRequestId } = yield* ask(1)
        yield* leave(uniqueRequestId)
        yield* world.pass(14.9)
        assert.strictEqual(yield* stateOf(uniqueRequestId), "live")
        yield* world.pass(2)
        assert.strictEqual(yield* stateOf(uniqueRequestId), "ended")
        assert.isUndefined(credential && world.fake.join(credential))
      }),
  )

  for (const subject of [retell, vapi, ultravox]) {
    for (const status of [200, 403]) {
      vendorTest(
        `a credential of ${subject.platform} that outlives the start window holds the slot of a caller who has left until the call is over, if the vendor answers ${status} and does not end it`,
        subject,
        (world) =>
          Effect.gen(function* () {
            const started = yield* ask(1)
            world.refuse(END_PATHS, status)
            yield* leave(started.uniqueRequestId)
            assert.strictEqual(world.refuse(END_PATHS, status), 1)
            assert.strictEqual(yield* stateOf(started.uniqueRequestId), "live")
            const id = started.credential && world.fake.join(started.credential)
            assert.isDefined(id)
            yield* world.pass(6)
            assert.strictEqual(yield* stateOf(started.uniqueRequestId), "live")
            assert.isTrue(yield* reportEnd(world, subject, id ?? ""))
            assert.strictEqual(yield* stateOf(started.uniqueRequestId), "ended")
          }),
      )
    }
  }

  vendorTest(
    "a credential of a vendor that ends no calls holds the slot of a caller who has left until the call is over",
    generic,
    (world) =>
      Effect.gen(function* () {
        const started = yield* ask(1)
        yield* leave(started.uniqueRequestId)
        yield* world.pass(6)
        assert.strictEqual(yield* stateOf(started.uniqueRequestId), "live")
        world.fake.hangUp(yield* joined(world, started))
        yield* world.pass(2)
        assert.strictEqual(yield* stateOf(started.uniqueRequestId), "ended")
      }),
    { Generic: { ...GENERIC } },
  )
})
