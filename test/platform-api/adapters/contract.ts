/** What holds for every platform, run against each vendor's fake. What it says of ends is in `contract-ends.ts`. */

import { assert, describe } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import type { ContractFacts } from "../../../src/platform-api/contract.ts"
import { PlatformApi } from "../../../src/platform-api/PlatformApi.ts"
import { sessionConfig } from "../../platform/support.ts"
import { BEGIN } from "../../support/gate.ts"
import { ends, webhooks } from "./contract-ends.ts"
import { documented } from "./documented.ts"
import { admitted, ask, END_PATHS, joined, reportEnd, stateOf, untilUsed, vendorTest, waits } from "./rig.ts"

const START_WINDOW_MILLIS = 20_000

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
