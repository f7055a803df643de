/**
 * Calls of a campaign with budgets, over three gates that die and are replaced: at any moment a gate's path to the store ends, with a step
 * carried out or not, and nothing of it is done any more. Afterwards all must add up (`test/model/budgets.ts`).
 */
import { Clock, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { callerBook, campaignBook } from "../../src/budgets/keys.ts"
import { keyOfCampaign } from "../../src/fifo-queue/keys.ts"
import { Gatekeeper } from "../../src/gatekeeper/Gatekeeper.ts"
import { limitKey } from "../../src/lib/ip/address.ts"
import { NO_CONTEXT } from "../../src/store/rule.ts"
import { type Rule, Store } from "../../src/store/Store.ts"
import { Chance } from "../harness/chance.ts"
import { type HoldLine, holdLines, ledgerLines, ledgerViolations } from "../model/budgets.ts"
import { startDyingGate, untilAnswered } from "./dying-gates.ts"
import { caller, makeWorld, session } from "./gate.ts"

const GATES = 3
const CALLERS = 12
const ACCOUNT = "account"

/** A hash of the store, as field, value, field, value … */
export const readHash: Rule<object, object, ReadonlyArray<string>> = {
  name: "test.hash",
  run: (db, [key = ""], _now, _context, calls) => calls.map(() => [...db.hgetall(key)]),
  lua: "local all = redis.call('HGETALL', KEYS[1]) if #all == 0 then return '[[]]' end return cjson.encode({all})",
  decode: (answer) => (Array.isArray(answer) ? answer.map(String) : []),
  batch: false,
}

/** A call at the platform. */
interface Call {
  readonly id: string
  readonly began: number
  ended: number | undefined
  reported: boolean
}

export interface KillsReport {
  readonly wrong: ReadonlyArray<string>
  readonly calls: number
  readonly refused: number
  readonly kills: number
  /** seconds that the calls lasted at the platform, and that were charged to the campaign */
  readonly lasted: number
  readonly charged: number
  /** and to their callers */
  readonly ofCallers: number
}

/**
 * @param shared the store of the gates
 * @param isRemote the store is on another server: what is sent to it is awaited in real time
 */
export const playKills = (
  seed: number,
  shared: Store["Service"],
  {
    calls: wanted,
    accountMinutes,
    callerMinutes,
    capMinutes,
    perSecond = 6,
  }: {
    readonly calls: number
    readonly capMinutes: number
    readonly callerMinutes: number
    /** without it the campaign has no account */
    readonly accountMinutes?: number
    /** requests at most */
    readonly perSecond?: number
  },
  isRemote = false,
): Effect.Effect<KillsReport, unknown> =>
  Effect.gen(function* () {
    const random = new Chance(seed)
    const world = makeWorld()
    const calls: Array<Call> = []
    const ofAccount = { Name: "all", Of: "account", Unit: "minutes", Per: "month", Cap: accountMinutes }
    const given = {
      VoiceAiPlatform: {
        MaxConcurrency: 200,
        ...(accountMinutes === undefined ? {} : { Account: { Name: ACCOUNT, MaxConcurrency: 200 } }),
        Budgets: [
          { Name: "team", Of: "campaign", Unit: "minutes", Per: "month", Cap: capMinutes },
          { Name: "own", Of: "caller", Unit: "minutes", Per: "month", Cap: callerMinutes },
          ...(accountMinutes === undefined ? [] : [ofAccount]),
        ],
      },
      Security: { RateLimitHourly: 0, RateLimitDaily: 0 },
    }
    world.initiate = (n) =>
      Effect.map(Clock.currentTimeMillis, (began) => {
        calls.push({ id: `web-${n}`, began, ended: undefined, reported: false })
        return session(n)
      })
    world.sessionStatus = (id) =>
      Effect.sync(() => {
        const call = calls.find((each) => each.id === id)
        return call === undefined || call.ended !== undefined ? "over" : "running"
      })
    world.end = ({ sessionIds: [id] }) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const call = calls.find((each) => each.id === id)
        if (call !== undefined && call.ended === undefined) call.ended = now
        return true
      })

    let kills = 0
    const makeGate = startDyingGate(world, () => Layer.succeed(Store, shared), given)
    const gates = yield* Effect.forEach(Array.from({ length: GATES }), () => makeGate)
    const answered = isRemote ? untilAnswered(() => gates.map(({ path }) => path)) : Effect.void
    const pass = Effect.andThen(TestClock.adjust("1 second"), answered)
    const anyGate = () => gates.filter(({ path }) => !path.isDying())[random.below(GATES)] ?? gates[0]

    let asked = 0
    let refused = 0
    const on = (effect: Effect.Effect<unknown, unknown, Gatekeeper>) =>
      Effect.gen(function* () {
        const gate = anyGate()
        if (gate !== undefined) yield* Effect.forkDetach(Effect.ignore(gate.on(effect)))
      })
    for (
      let second = 0;
      second < 4_000 && (asked < wanted || calls.some(({ ended }) => ended === undefined));
      second++
    ) {
      for (let n = 0; n < perSecond && asked < wanted; n++) {
        if (random.percent(50)) continue
        asked++
        const address = caller(random.below(CALLERS))
        yield* on(
          Gatekeeper.use((gate) =>
            Effect.tapErrorTag(gate.request({}, { address }), "BudgetExhausted", () =>
              Effect.sync(() => void refused++),
            ),
          ),
        )
      }
      const now = yield* Clock.currentTimeMillis
      for (const call of calls) {
        // a caller hangs up
        if (call.ended === undefined && random.below(100) < 4) call.ended = now
        // the platform reports the end until a gate has taken it
        if (call.ended !== undefined && !call.reported && random.percent(60)) {
          yield* on(
            Effect.andThen(
              Gatekeeper.use((gate) => gate.sessionEnded([call.id])),
              Effect.sync(() => {
                call.reported = true
              }),
            ),
          )
        }
      }
      if (second === 15 || random.below(100) < 4) {
        const victim = random.below(GATES)
        const gate = gates[victim]
        if (gate !== undefined) {
          kills++
          // the last step arrives, or it does not
          gate.path.kill(random.percent(50))
          gates[victim] = yield* makeGate
        }
      }
      yield* pass
    }
    // whoever has died is replaced; everything that is owed is carried out, and what was lost is found
    yield* Effect.replicateEffect(pass, 480, { discard: true })
    for (const call of calls) if (!call.reported) yield* on(Gatekeeper.use((gate) => gate.sessionEnded([call.id])))
    yield* Effect.replicateEffect(pass, 240, { discard: true })

    const now = yield* shared.now
    const hash = (key: string) => shared.run(readHash, { keys: [key], now, context: NO_CONTEXT, call: {} })
    const wrong: Array<string> = []
    const judge = Effect.fnUntraced(function* (ledger: string, records: string, cap: number) {
      const [lines, holds] = [yield* hash(ledger), yield* hash(records)]
      const found = ledgerLines({ hgetall: () => lines }, ledger)
      const own: ReadonlyArray<HoldLine> = holdLines({ hgetall: () => holds }, records)
      wrong.push(...ledgerViolations(found, own, new Map(), () => cap))
      for (const [line, { held }] of found) if (held !== 0) wrong.push(`${line} still holds ${held}`)
      return [...found.values()].reduce((sum, { settled }) => sum + settled, 0)
    })
    const key = keyOfCampaign({
      ...{ BusinessId: "business", WebCampaignId: "campaign" },
      ...(accountMinutes === undefined ? {} : { Account: { Name: ACCOUNT } }),
    })
    const [ledger = "", records = "", , sharedLedger = ""] = campaignBook(key)
    const charged = yield* judge(ledger, records, capMinutes * 60)
    if (accountMinutes !== undefined) {
      const ofAll = yield* judge(sharedLedger, records, accountMinutes * 60)
      if (ofAll !== charged) wrong.push(`the account was charged ${ofAll} s, and its campaign ${charged} s`)
    }
    let ofCallers = 0
    for (let n = 0; n < CALLERS; n++) {
      const [own = "", holds = ""] = callerBook(limitKey(caller(n)))
      ofCallers += yield* judge(own, holds, callerMinutes * 60)
    }
    const lasted = calls.reduce((sum, { began, ended }) => sum + Math.ceil(((ended ?? began) - began) / 1000), 0)
    if (ofCallers > charged) wrong.push(`callers were charged ${ofCallers} s, more than the campaign's ${charged} s`)
    // a start that nobody had is charged to the campaign alone, and an end is known some seconds later
    if (ofCallers < charged * 0.8) wrong.push(`callers were charged ${ofCallers} s, and the campaign ${charged} s`)
    if (charged > lasted * 1.6) wrong.push(`${charged} s were charged, and the calls lasted ${lasted} s`)
    // none of them closes anything any more
    for (const { path } of gates) path.kill()
    return { wrong, calls: calls.length, refused, kills, lasted, charged, ofCallers }
  }).pipe(Effect.scoped)
