/** Answers are as the schemas of the wire say. */
import { assert, describe, it } from "@effect/vitest"
import { Option, Schema } from "effect"
import { notStarted, startRefused } from "../../../src/embedded/results.ts"
import * as outcomes from "../../../src/gatekeeper/outcomes.ts"
import { failed } from "../../../src/http/answers/answer.ts"
import { type Failure, failures, toProblem } from "../../../src/http/answers/failures.ts"
import { eventsUrl } from "../../../src/http/incoming/paths.ts"
import { QueuedAnswer, queued, StartedAnswer, started } from "../../../src/http/requests/answers.ts"
import { type Problem, problems } from "../../../src/protocol/problems.ts"
import * as refusals from "../../../src/protocol/refusals.ts"
import { InvalidRequest, RateLimited, StoreUnavailable } from "../../../src/protocol/refusals.ts"
import { TooManyConnections } from "../../../src/push-channel/PushChannel.ts"

const declarations: ReadonlyArray<Problem> = [
  ...Object.values(problems),
  ...Object.values(failures).flatMap((failure): ReadonlyArray<Problem> => failure.problems),
]
const strict = { onExcessProperty: "error" } as const

const request = [
  new InvalidRequest({ code: "invalid_request", message: "m", issues: [{ field: "f", message: "m" }] }),
  refusals.blocked("vpn"),
  new RateLimited({
    limit: "hour",
    retryAfterSeconds: 7,
    limits: [{ name: "hour", quota: 1, windowSeconds: 3600, remaining: 0, resetSeconds: 7 }],
    message: "m",
  }),
  refusals.queueFull(0, 1),
  new StoreUnavailable({ message: "redis at 10.0.0.1" }),
  refusals.draining(),
  refusals.platformUnavailable("refused", "m"),
  refusals.platformUnavailable("rejected", "m"),
  refusals.platformUnavailable("unavailable", "m"),
] as const
const start = [
  outcomes.ticketUnknown(),
  outcomes.notYourTurn(3),
  outcomes.startInProgress(),
  outcomes.calledAgain({ busy: true, position: 1 }),
  outcomes.ticketOver("missed"),
] as const
const all: ReadonlyArray<Failure> = [...request, ...start, new TooManyConnections({ message: "m" })]

describe("an answer", () => {
  it("an answer with a session that has started is written as its schema writes it", () => {
    const session = { uniqueRequestId: "t", webSocketUrl: "wss://a", sessionId: "s" }
    assert.deepStrictEqual(
      JSON.parse(started(session).body),
      Schema.encodeSync(StartedAnswer, strict)({ status: "started", ...session }),
    )
  })

  for (const disrupted of [false, true]) {
    it(`an answer with a ticket that waits${disrupted ? " while the platform is away" : ""} is written as its schema writes it`, () => {
      const ticket = outcomes.queued("t", { position: 2, length: 3, averageMillis: 1000, disrupted }, 1)
      assert.deepStrictEqual(
        JSON.parse(queued(ticket, "/voice").body),
        Schema.encodeSync(
          QueuedAnswer,
          strict,
        )({
          status: "queued",
          uniqueRequestId: "t",
          queuePosition: 2,
          estimatedWaitSeconds: disrupted ? null : 2,
          ...(disrupted ? { disrupted } : {}),
          eventsUrl: eventsUrl("/voice", "t"),
        }),
      )
    })
  }

  for (const error of all) {
    const { code, headers, status } = toProblem(error)
    it(`an answer with ${status} ${code} is written as its schema writes it`, () => {
      const answer = failed(error)
      const body: unknown = JSON.parse(answer.body)
      const declared = declarations.filter((problem) =>
        Option.isSome(Schema.decodeUnknownOption(problem.body, strict)(body)),
      )
      assert.isNotEmpty(declared)
      for (const problem of declared) assert.sameMembers(Object.keys(headers), Object.keys(problem.headers))
      assert.strictEqual(answer.status, status)
    })
  }
})

describe("the promise facade", () => {
  const facts = [
    ...request.map((error) => ({ error, result: notStarted(error, "") })),
    ...start.map((error) => ({ error, result: startRefused(error) })),
  ]
  for (const { error, result } of facts) {
    const { code, detail, members } = toProblem(error)
    it(`returns ${code} as HTTP does`, () => {
      const renamed = Object.entries(members).map(([name, value]) => [name === "errors" ? "issues" : name, value])
      const expected: object = { status: "refused", code, message: detail, ...Object.fromEntries(renamed) }
      assert.deepStrictEqual<object>(result, expected)
    })
  }
})
