/**
 * The platform dies, hangs, refuses the key or is full while every slot is held and callers wait: everybody is told, and nobody loses a
 * place. `npm run verify -- outages` shows more cases for longer.
 */
import { assert, describe, it } from "@effect/vitest"
import { makeBench } from "../harness/gate.ts"
import type { Trouble } from "../outages/mortal-platform.ts"
import { type Told, watchOutage } from "../outages/observe.ts"

const CALLERS = 10
/** A platform that hangs is read after ten seconds at most, and twice for five. The machine is busy. */
const LATEST = 32

interface Expected {
  readonly caller: RegExp
  readonly headline: RegExp
  readonly log: RegExp
  readonly metric: RegExp
  readonly readiness: string
  readonly campaignShow: RegExp
}

const unavailable: Expected = {
  caller: /^agent unavailable, no estimate$/,
  headline: /^Platform unreachable: /,
  log: /The platform cannot be reached for campaign default \((?:unreachable|timeout|circuit_open)\)/,
  metric: /^unavailable$/,
  readiness: '{"default":"unavailable"}',
  campaignShow: /^state platform unreachable; platform platform unreachable since /,
}
const rejected: Expected = {
  caller: /^agent unavailable, no estimate$/,
  headline:
    /^Platform refuses calls: .*\(API_KEY_INVALID\)\. .*Correct VoiceAiPlatform\.ApiSecretToken, and reload the settings\.$/,
  log: /The platform refuses campaign default \(API_KEY_INVALID\): check VoiceAiPlatform\.ApiSecretToken\./,
  metric: /^rejected API_KEY_INVALID VoiceAiPlatform\.ApiSecretToken$/,
  readiness: '{"default":"rejected"}',
  campaignShow:
    /^state platform refuses the campaign; platform platform refuses the campaign since .*check VoiceAiPlatform\.ApiSecretToken/,
}
const full: Expected = {
  caller: /^wait \d+ s$/,
  headline: /^Platform at capacity: .*no call has started for/,
  log: /The platform has had no free slot for campaign default for \d+ s/,
  metric: /^at_capacity$/,
  readiness: '{"default":"at_capacity"}',
  campaignShow: /^state platform at capacity; platform platform at capacity since /,
}

const CASES: ReadonlyArray<{
  readonly trouble: Trouble
  readonly endsCall: boolean
  readonly expected: Expected
}> = [
  { trouble: "killed", endsCall: false, expected: unavailable },
  { trouble: "hung", endsCall: false, expected: unavailable },
  { trouble: "key refused", endsCall: true, expected: rejected },
  { trouble: "full", endsCall: true, expected: full },
]

const check = (told: Told | undefined, expected: Expected): void => {
  assert.isDefined(told)
  if (told === undefined) return
  assert.match(told.caller, expected.caller)
  assert.match(told.newcomer, new RegExp(`^202, ${expected.caller.source.slice(1)}`))
  assert.match(told.headline, expected.headline)
  assert.match(told.log.join("\n"), expected.log)
  assert.match(told.metric, expected.metric)
  assert.strictEqual(told.readiness, expected.readiness)
  assert.match(told.campaignShow, expected.campaignShow)
  assert.deepStrictEqual([told.waiting, told.over], [CALLERS, 0])
}

describe.concurrent("a platform in trouble while every slot is held", () => {
  for (const { endsCall, expected, trouble } of CASES) {
    it(`a platform that is ${trouble} while every slot is held costs nobody a place, and everybody is told the same`, async () => {
      const bench = makeBench()
      try {
        const watched = await watchOutage(bench, trouble, { callers: CALLERS, endsCall, moments: [LATEST] })
        check(watched.told[0], expected)
        assert.isAtLeast(watched.servedAfter, 3)
        assert.deepStrictEqual([watched.inOrder, watched.over], [true, 0])
      } finally {
        await bench.dispose()
      }
    })
  }
})
