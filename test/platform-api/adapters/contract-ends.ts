/** What the contract of every platform says of the end of a call: who notices it, what it frees, and which webhook is believed. */

import { assert } from "@effect/vitest"
import { Effect, Logger, Metric } from "effect"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import * as metrics from "../../../src/gatekeeper/metrics.ts"
import type { ContractFacts } from "../../../src/platform-api/contract.ts"
import { BEGIN } from "../../support/gate.ts"
import { ask, END_PATHS, joined, reportEnd, stateOf, untilUsed, vendorTest, waits } from "./rig.ts"

export const ends = (subject: ContractFacts): void => {
  vendorTest("a call that is reported ended twice frees its slot once", subject, (world) =>
    Effect.gen(function* () {
      const started = yield* ask(1)
      const gate = yield* Gatekeeper
      const id = yield* joined(world, started)
      yield* untilUsed(world, subject)
      const next = yield* waits(2)
      assert.isTrue(yield* reportEnd(world, subject, id))
      assert.isFalse(yield* gate.sessionEnded([id]))
      assert.strictEqual(yield* stateOf(started.uniqueRequestId), "ended")
      assert.strictEqual(yield* stateOf(next.uniqueRequestId), "called")
    }),
  )

  const { noticedAfterMinutes } = subject
  if (noticedAfterMinutes !== undefined) {
    vendorTest("an end that no webhook has reported is noticed", subject, (world) =>
      Effect.gen(function* () {
        const started = yield* ask(1)
        const id = yield* joined(world, started)
        yield* world.pass(1)
        world.fake.hangUp(id)
        if (noticedAfterMinutes > 0) assert.strictEqual(yield* stateOf(started.uniqueRequestId), "live")
        yield* world.pass(noticedAfterMinutes)
        assert.strictEqual(yield* stateOf(started.uniqueRequestId), "ended")
      }),
    )
  } else {
    vendorTest(
      "an end that nobody has reported keeps its slot until the longest call has passed",
      subject,
      (world) =>
        Effect.gen(function* () {
          const started = yield* ask(1)
          const id = yield* joined(world, started)
          yield* world.pass(1)
          world.fake.hangUp(id)
          yield* world.pass(5)
          assert.strictEqual(yield* stateOf(started.uniqueRequestId), "live")
          yield* world.pass(3)
          assert.strictEqual(yield* stateOf(started.uniqueRequestId), "reclaimed")
        }),
      {},
      { MaxCallMinutes: 8 },
    )
  }

  const { pageEnds } = subject
  if (pageEnds !== undefined) {
    vendorTest(`a call that its page has reported over gives its slot back ${pageEnds}, once`, subject, (world) =>
      Effect.gen(function* () {
        const gate = yield* Gatekeeper
        const started = yield* ask(1)
        const id = yield* joined(world, started)
        const next = yield* waits(2)
        world.fake.hangUp(id)
        const requests = world.fake.requests.length
        yield* gate.leave(started.uniqueRequestId)
        yield* gate.leave(started.uniqueRequestId)
        assert.strictEqual(yield* stateOf(started.uniqueRequestId), pageEnds === "at once" ? "ended" : "live")
        // nothing tells the vendor's side, so it is not asked
        assert.lengthOf(world.fake.requests, requests)
        yield* world.pass(0.5)
        assert.strictEqual(yield* stateOf(started.uniqueRequestId), "ended")
        assert.include(["called", "missed"], yield* stateOf(next.uniqueRequestId))
        assert.isFalse(yield* gate.sessionEnded([started.sessionId]))
      }),
    )
  }

  vendorTest("a call that runs is not taken for over", subject, (world) =>
    Effect.gen(function* () {
      const started = yield* ask(1)
      const id = yield* joined(world, started)
      yield* world.pass(6)
      assert.isTrue(world.fake.isRunning(id))
      assert.strictEqual(yield* stateOf(started.uniqueRequestId), "live")
    }),
  )

  const { unusedForMinutes, unusedState = "ended" } = subject
  if (unusedForMinutes !== undefined) {
    vendorTest("a credential that nobody has used gives its slot back after it has expired", subject, (world) =>
      Effect.gen(function* () {
        const { credential, uniqueRequestId } = yield* ask(1)
        yield* world.pass(unusedForMinutes)
        assert.strictEqual(yield* stateOf(uniqueRequestId), unusedState)
        assert.isAbove(BEGIN + unusedForMinutes * 60_000, Date.parse(credential?.expiresAt ?? ""))
      }),
    )
  }

  if (subject.reusable === true && subject.endIsFinal === undefined) {
    vendorTest("a call that is left while its credential opens another one keeps its slot", subject, (world) =>
      Effect.gen(function* () {
        const gate = yield* Gatekeeper
        const started = yield* ask(1)
        const id = yield* joined(world, started)
        yield* gate.leave(started.uniqueRequestId)
        assert.isFalse(world.fake.isRunning(id))
        assert.strictEqual(yield* stateOf(started.uniqueRequestId), "live")
        yield* world.pass(5)
        assert.strictEqual(yield* stateOf(started.uniqueRequestId), "ended")
      }),
    )
  }

  if (subject.ends && subject.limit === undefined) {
    const longest = { MaxCallMinutes: 10 }
    vendorTest(
      "a call that lasts too long is ended at the vendor, and again if that has failed",
      subject,
      (world) =>
        Effect.gen(function* () {
          const started = yield* ask(1)
          const id = yield* joined(world, started)
          yield* world.pass(8.9)
          assert.isTrue(world.fake.isRunning(id))
          world.refuse(END_PATHS)
          yield* world.pass(0.5)
          assert.isTrue(world.fake.isRunning(id))
          assert.strictEqual(yield* stateOf(started.uniqueRequestId), "live")
          assert.isAtLeast(world.refuse(undefined), 2)
          yield* world.pass(0.5)
          assert.isFalse(world.fake.isRunning(id))
          assert.strictEqual(yield* stateOf(started.uniqueRequestId), "ended")
        }),
      {},
      longest,
    )
  }

  const { limit } = subject
  if (limit !== undefined) {
    vendorTest(
      "the longest call is set at the vendor, and left to it",
      subject,
      (world) =>
        Effect.gen(function* () {
          const id = yield* joined(world, yield* ask(1))
          const [start] = world.fake.requests
          assert.include(`${start?.query} ${JSON.stringify(start?.body)}`, limit)
          yield* world.pass(9.9)
          assert.isTrue(world.fake.isRunning(id))
        }),
      {},
      { MaxCallMinutes: 10 },
    )
  }

  if (subject.ends) {
    vendorTest("a call whose caller has left is ended at the vendor", subject, (world) =>
      Effect.gen(function* () {
        const gate = yield* Gatekeeper
        const started = yield* ask(1)
        const id = yield* joined(world, started)
        yield* world.pass(1.5)
        assert.isTrue(world.fake.isRunning(id))
        yield* gate.leave(started.uniqueRequestId)
        assert.isFalse(world.fake.isRunning(id))
        assert.strictEqual(yield* stateOf(started.uniqueRequestId), "ended")
      }),
    )
  }
}

export const webhooks = (subject: ContractFacts): void => {
  const { foreignEnd, otherEvent, platform } = subject
  if (otherEvent === undefined) {
    vendorTest("a webhook of a platform that sends none is not expected", subject, (world) =>
      Effect.gen(function* () {
        const gate = yield* Gatekeeper
        assert.strictEqual((yield* gate.vendorWebhook(platform, world.fake.webhook({})))._tag, "unexpected")
      }),
    )
    return
  }

  vendorTest("a webhook that is unsigned, forged, for another body or too old ends nothing", subject, (world) =>
    Effect.gen(function* () {
      const gate = yield* Gatekeeper
      const started = yield* ask(1)
      const id = yield* joined(world, started)
      yield* untilUsed(world, subject)
      const authentic = world.fake.hangUp(id)
      assert.isDefined(authentic)
      if (authentic === undefined) return
      const forged = world.fake.webhook(otherEvent(id))
      const unsigned = { ...authentic, headers: {} }
      const wrong = Object.fromEntries(Object.keys(authentic.headers).map((name) => [name, "1800000000"]))
      const changed = [
        { ...authentic, headers: forged.headers },
        { ...authentic, rawBody: `${authentic.rawBody} ` },
      ]
      for (const webhook of [unsigned, { ...authentic, headers: wrong }, ...(subject.unsigned ? [] : changed)]) {
        assert.strictEqual((yield* gate.vendorWebhook(platform, webhook))._tag, "refused")
      }
      assert.strictEqual(yield* stateOf(started.uniqueRequestId), "live")
      assert.deepStrictEqual(yield* gate.vendorWebhook(platform, authentic), { _tag: "accepted", released: true })
      assert.deepStrictEqual(yield* gate.vendorWebhook(platform, authentic), {
        ...{ _tag: "accepted", released: false },
        because: "repeat",
      })
      const late = (subject.acceptedLateMinutes ?? 60) + 1
      for (const minutes of subject.unsigned ? [] : [-late, late + 61]) {
        world.shiftVendor(minutes)
        const shifted = world.fake.webhook(otherEvent(id))
        assert.strictEqual((yield* gate.vendorWebhook(platform, shifted))._tag, "refused", `${minutes}`)
        const unread = yield* gate.vendorWebhookRefusal(platform, shifted.headers)
        assert.strictEqual(unread?._tag, subject.readsEveryWebhook ? undefined : "refused", `${minutes}`)
      }
    }),
  )

  vendorTest("a webhook that its headers alone disprove is refused before its body is read", subject, (world) =>
    Effect.gen(function* () {
      const gate = yield* Gatekeeper
      const { headers } = world.fake.webhook(otherEvent("any"))
      assert.isUndefined(yield* gate.vendorWebhookRefusal(platform, headers))
      const optional = ["content-type", ...(subject.optionalHeaders ?? [])]
      const names = Object.keys(headers).filter((name) => !optional.includes(name))
      for (const name of names) {
        const refusal = yield* gate.vendorWebhookRefusal(platform, { ...headers, [name]: undefined })
        assert.strictEqual(refusal?._tag, subject.readsEveryWebhook ? undefined : "refused", name)
      }
      assert.strictEqual((yield* gate.vendorWebhookRefusal("nobody", headers))?._tag, "unexpected")
    }),
  )

  vendorTest(
    "a webhook about something else, about another's call or in a new shape ends nothing, says why, is counted, and logged once",
    subject,
    (world) =>
      Effect.gen(function* () {
        const gate = yield* Gatekeeper
        const started = yield* ask(1)
        const id = yield* joined(world, started)
        const counted = Effect.map(
          Effect.forEach(["ignored", "malformed", "unknown"] as const, (result) =>
            Metric.value(metrics.webhooks(result)),
          ),
          (counts) => counts.reduce((sum, { count }) => sum + count, 0),
        )
        const before = yield* counted
        const unclear = ["malformed", "other_event", "other_session", "unknown_session"]
        const webhooks: ReadonlyArray<readonly [body: unknown, because: ReadonlyArray<string>]> = [
          [otherEvent(id), ["other_event"]],
          // what a generic vendor sends does not tell who has started a call
          [foreignEnd, [platform === "generic" ? "unknown_session" : "other_session"]],
          ...[{}, [], null, { event: 1 }, "text"].map((body) => [body, unclear] as const),
        ]
        const warnings: Array<string> = []
        const noting = Logger.layer([
          Logger.make<unknown, void>(({ logLevel, message }) => {
            if (logLevel === "Warn") warnings.push(String(message))
          }),
        ])
        for (const [body, because] of webhooks) {
          const outcome = yield* Effect.provide(gate.vendorWebhook(platform, world.fake.webhook(body)), noting)
          assert.deepInclude(outcome, { _tag: "accepted", released: false }, JSON.stringify(body))
          const said = outcome._tag === "accepted" && !outcome.released ? outcome.because : ""
          assert.include(because, said, JSON.stringify(body))
        }
        assert.strictEqual((yield* counted) - before, webhooks.length)
        assert.lengthOf(warnings, 1)
        assert.include(warnings[0] ?? "", `An authentic webhook of ${platform} does not have the documented shape`)
        assert.strictEqual(yield* stateOf(started.uniqueRequestId), "live")
      }),
  )
}
