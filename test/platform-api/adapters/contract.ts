/** What holds for every platform, run against each vendor's fake. */

import { assert, describe } from "@effect/vitest"
import { Effect, Fiber, Logger, Metric } from "effect"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import * as metrics from "../../../src/gatekeeper/metrics.ts"
import type { ContractFacts } from "../../../src/platform-api/contract.ts"
import { PlatformApi } from "../../../src/platform-api/PlatformApi.ts"
import { sessionConfig } from "../../platform/support.ts"
import { BEGIN } from "../../support/gate.ts"
import { documented } from "./documented.ts"
import { admitted, ask, END_PATHS, joined, reportEnd, stateOf, vendorTest, type World, waits } from "./rig.ts"

const START_WINDOW_MILLIS = 20_000

/** Until the credential opens no other call. */
const untilUsed = (world: World, { reusable }: ContractFacts) => world.pass(reusable === true ? 1.5 : 0)

const credentials = (subject: ContractFacts): void => {
  vendorTest("a start gives a credential that holds no secret of the gate", subject, () =>
    Effect.gen(function* () {
      const started = yield* ask(1)
      assert.strictEqual(started.credential?.shape, subject.shape)
      assert.strictEqual(started.webSocketUrl === undefined, subject.shape !== undefined)
      assert.notStrictEqual(started.sessionId, "")
      for (const secret of subject.secrets) assert.notInclude(JSON.stringify(started), secret)
    }),
  )

  if (subject.shape !== undefined && subject.unboundedLifetime === undefined) {
    vendorTest("a credential is valid no longer than the start window", subject, (world) =>
      Effect.gen(function* () {
        const started = yield* ask(1)
        const { credential } = started
        const expiresAt = Date.parse(credential?.expiresAt ?? "")
        assert.isAbove(expiresAt, BEGIN)
        assert.isAtMost(expiresAt, BEGIN + START_WINDOW_MILLIS)
        yield* world.pass(0.5)
        assert.isUndefined(yield* admitted(world, started))
      }),
    )
  }

  vendorTest("whoever asks again with the ticket gets the same credential", subject, (world) =>
    Effect.gen(function* () {
      const started = yield* ask(1)
      const requests = world.fake.requests.length
      assert.deepStrictEqual(yield* ask(1, { uniqueRequestId: started.uniqueRequestId }), started)
      assert.lengthOf(world.fake.requests, requests)
    }),
  )
}

const refusals = (subject: ContractFacts): void => {
  for (const [n, answer] of subject.atCapacity.entries()) {
    vendorTest(
      `a refusal at capacity puts the caller back at the head of the queue (way ${n + 1}: HTTP ${answer.status})`,
      subject,
      (world) =>
        Effect.gen(function* () {
          const gate = yield* Gatekeeper
          const talking = yield* ask(1)
          const id = yield* joined(world, talking)
          yield* untilUsed(world, subject)
          world.fake.failNext(answer)
          const head = yield* waits(2)
          assert.strictEqual(head.queuePosition, 1)
          assert.strictEqual((yield* waits(3)).queuePosition, 2)
          assert.isTrue(yield* reportEnd(world, subject, id))
          assert.strictEqual(yield* stateOf(head.uniqueRequestId), "called")
          assert.notStrictEqual((yield* gate.start(head.uniqueRequestId)).sessionId, talking.sessionId)
        }),
      { MaxConcurrency: 2 },
    )
  }

  if (!subject.asksToStart) return

  // 402: no credit
  for (const status of [401, 402, 403, 404]) {
    vendorTest(
      `a start that is refused with ${status}, which the operator must mend, costs its caller no place`,
      subject,
      (world) =>
        Effect.gen(function* () {
          world.fake.failNext({ status, body: { message: "no" } })
          assert.deepInclude(yield* waits(1), { queuePosition: 1, disrupted: true })
          assert.lengthOf(world.fake.requests, 1)
          assert.deepInclude(yield* waits(2), { queuePosition: 2, disrupted: true })
          assert.lengthOf(world.fake.requests, 1)
        }),
    )
  }

  const limited = subject.limitIsCapacity === true ? "AtCapacity" : "KeyRateLimited"
  vendorTest(`a limit of the key's requests is ${limited}`, subject, (world) =>
    Effect.gen(function* () {
      world.fake.failNext({ status: 429, body: { message: "slow down" }, headers: { "retry-after": "7" } })
      const error = yield* Effect.flip(PlatformApi.use((api) => api.initiate(sessionConfig(), "a")))
      assert.strictEqual(error.reason._tag, limited)
      if (error.reason._tag === "KeyRateLimited") assert.strictEqual(error.reason.retryAfterMillis, 7_000)
    }),
  )

  vendorTest("an outage keeps the callers' places", subject, (world) =>
    Effect.gen(function* () {
      world.fake.failNext({ status: 503, body: "<html>" })
      assert.strictEqual((yield* waits(1)).queuePosition, 1)
      for (const [status, mayHaveHappened] of [
        [503, false],
        [500, subject.startsNothing !== true],
      ] as const) {
        world.fake.failNext({ status, body: "<html>" })
        const error = yield* Effect.flip(PlatformApi.use((api) => api.initiate(sessionConfig(), "a")))
        assert.deepInclude(error.reason, { _tag: "Unavailable", mayHaveHappened })
      }
    }),
  )

  if (subject.startsNothing === true) {
    vendorTest("a start whose answer is lost has started nothing, and its caller is called again", subject, (world) =>
      Effect.gen(function* () {
        const gate = yield* Gatekeeper
        world.fake.failNext("lost")
        const head = yield* waits(1)
        assert.strictEqual(head.queuePosition, 1)
        assert.lengthOf(world.fake.requests, 1)
        for (let looks = 0; looks < 6 && (yield* stateOf(head.uniqueRequestId)) === "waiting"; looks++) {
          yield* world.pass(1 / 12)
        }
        assert.strictEqual(yield* stateOf(head.uniqueRequestId), "called")
        assert.notStrictEqual((yield* gate.start(head.uniqueRequestId)).sessionId, "")
      }),
    )
  } else {
    lostAnswers(subject)
  }

  vendorTest("a start that is never answered is given up after its time limit", subject, (world) =>
    Effect.gen(function* () {
      world.fake.failNext("silent")
      const fiber = yield* Effect.forkChild(Effect.flip(PlatformApi.use((api) => api.initiate(sessionConfig(), "a"))))
      yield* world.pass(0.5)
      assert.deepInclude((yield* Fiber.join(fiber)).reason, {
        _tag: "Unavailable",
        reason: "timeout",
        mayHaveHappened: subject.startsNothing !== true,
      })
      assert.lengthOf(world.fake.requests, 1)
    }),
  )
}

/** A start may have happened although its answer was lost. */
const lostAnswers = (subject: ContractFacts): void => {
  vendorTest(
    "a start whose answer is lost is sent once, keeps its slot, and its caller keeps the place",
    subject,
    (world) =>
      Effect.gen(function* () {
        world.fake.failNext("lost")
        const head = yield* waits(1)
        assert.strictEqual(head.queuePosition, 1)
        assert.lengthOf(world.fake.requests, 1)
        assert.strictEqual((yield* waits(2)).queuePosition, 2)
        yield* world.pass(0.1)
        assert.strictEqual(yield* stateOf(head.uniqueRequestId), "waiting")
        assert.lengthOf(
          world.fake.requests.filter(({ path }) => path === world.fake.requests[0]?.path),
          1,
        )
      }),
  )

  if (subject.lists && subject.shape !== undefined) {
    vendorTest(
      "a call whose start was not confirmed is found in the list and ended, and its caller is called again",
      subject,
      (world) =>
        Effect.gen(function* () {
          const gate = yield* Gatekeeper
          world.fake.failNext("lost")
          const { uniqueRequestId } = yield* waits(1)
          // the vendor runs one call at a time, and the orphan is it
          world.fake.setLimit(1)
          const [first] = world.fake.requests
          const starts = () =>
            world.fake.requests.filter(({ method, path }) => method === first?.method && path === first.path)
          for (let looks = 0; looks < 12 && (yield* stateOf(uniqueRequestId)) === "waiting"; looks++) {
            yield* world.pass(1 / 12)
          }
          assert.strictEqual(yield* stateOf(uniqueRequestId), "called")
          assert.lengthOf(starts(), 1)
          const started = yield* gate.start(uniqueRequestId)
          assert.lengthOf(starts(), 2)
          assert.isTrue(world.fake.isRunning(yield* joined(world, started)))
        }),
    )

    vendorTest("the end of such a call is asked for until the vendor confirms it", subject, (world) =>
      Effect.gen(function* () {
        world.fake.failNext("lost")
        const { uniqueRequestId } = yield* waits(1)
        world.refuse(END_PATHS)
        for (let n = 0; n < 8; n++) {
          yield* world.pass(0.25)
          assert.strictEqual(yield* stateOf(uniqueRequestId), "waiting")
        }
        assert.isAtLeast(world.refuse(undefined), 4)
        yield* world.pass(0.4)
        assert.strictEqual(yield* stateOf(uniqueRequestId), "called")
      }),
    )
  }
}

const ends = (subject: ContractFacts): void => {
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

const webhooks = (subject: ContractFacts): void => {
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
      assert.deepStrictEqual(yield* gate.vendorWebhook(platform, authentic), { _tag: "accepted", released: false })
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
    "a webhook about something else, about another's call or in a new shape ends nothing, is counted, and logged once",
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
        const bodies = [otherEvent(id), foreignEnd, {}, [], null, { event: 1 }, "text"]
        const warnings: Array<string> = []
        const noting = Logger.layer([
          Logger.make<unknown, void>(({ logLevel, message }) => {
            if (logLevel === "Warn") warnings.push(String(message))
          }),
        ])
        for (const body of bodies) {
          const outcome = yield* Effect.provide(gate.vendorWebhook(platform, world.fake.webhook(body)), noting)
          assert.deepStrictEqual(outcome, { _tag: "accepted", released: false }, JSON.stringify(body))
        }
        assert.strictEqual((yield* counted) - before, bodies.length)
        assert.lengthOf(warnings, 1)
        assert.include(warnings[0] ?? "", `An authentic webhook of ${platform} does not have the documented shape`)
        assert.strictEqual(yield* stateOf(started.uniqueRequestId), "live")
      }),
  )
}

const checks = (subject: ContractFacts): void => {
  if (subject.unchecked === true) {
    vendorTest("the check of the settings says that it checks nothing, and what bounds the credential", subject, () =>
      Effect.gen(function* () {
        const findings = yield* PlatformApi.use((api) => api.verify("default"))
        assert.deepStrictEqual(
          findings.map(({ state, subject }) => [subject, state]),
          [
            ["platform", "not_checked"],
            ["credential", "ok"],
          ],
        )
      }),
    )
    return
  }

  vendorTest("the check of the settings says that the vendor accepts the key", subject, () =>
    Effect.gen(function* () {
      const findings = yield* PlatformApi.use((api) => api.verify("default"))
      assert.deepInclude(findings[0], { subject: "platform", state: "ok" })
      for (const secret of subject.secrets) assert.notInclude(JSON.stringify(findings), secret)
    }),
  )

  vendorTest("the check of the settings says that the vendor refuses the key", subject, (world) =>
    Effect.gen(function* () {
      world.fake.failNext({ status: 401, body: { message: `bad ${subject.secrets.join(" ")}` } })
      const findings = yield* PlatformApi.use((api) => api.verify("default"))
      assert.deepInclude(findings[0], { subject: "platform", state: "failed" })
      for (const secret of subject.secrets) assert.notInclude(JSON.stringify(findings), secret)
    }),
  )
}

/** The whole contract for one vendor. */
export const adapterContract = (subject: ContractFacts): void => {
  describe(`the adapter of ${subject.name ?? subject.platform}`, () => {
    credentials(subject)
    refusals(subject)
    ends(subject)
    webhooks(subject)
    checks(subject)
    documented(subject)
  })
}
