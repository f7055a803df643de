/**
 * A random history of one campaign: its steps come at all times, by any gate, while slots and instances change, and time jumps to
 * deadlines and past them. The invariants are checked after every step.
 */

import { keysOf } from "../../../src/fifo-queue/keys.ts"
import { UNATTENDED_MILLIS } from "../../../src/fifo-queue/rules/shared/unattended.ts"
import { rules } from "../../../src/fifo-queue/rules.ts"
import { NO_CONTEXT } from "../../../src/store/rule.ts"
import { Chance } from "../../harness/chance.ts"
import type { Change } from "../../model/change.ts"
import { violations } from "../../model/invariants.ts"
import {
  expectedNews,
  expectedSettlements,
  expectedSignals,
  settlementText,
  signalText,
} from "../../model/obligations.ts"
import { doubtIds, probe, readState } from "../../model/queue-state.ts"
import { type History, recorder } from "./history.ts"
import { RandomCampaign } from "./queue-campaign.ts"
import { type Choice, type Done, makeSteps, type Rules } from "./queue-steps.ts"

const STEPS = 36

const strings = (values: ReadonlyArray<unknown>): string => values.map(String).toSorted().join("\n")

/** Checks that a step's signals and settlements are exactly what it changed. */
const unsaid = (change: Change, { answer, published }: Done, channel: string): ReadonlyArray<string> => {
  const { elsewhere = [], settlements = [], signals = [] } = answer
  const said = [...signals.map(signalText), ...published.map(({ text }) => signalText(JSON.parse(text)))]
  const owed = settlements.map(settlementText)
  const wrong: Array<string> = []
  const expected = expectedSignals(change)
  if (strings(said) !== strings(expected)) wrong.push(`I5: said [${said.join(", ")}] for [${expected.join(", ")}]`)
  const told = [...signals, ...elsewhere].map(signalText)
  const news = expectedNews(change)
  if (strings(told) !== strings(news)) wrong.push(`told the asking gate [${told.join(", ")}] for [${news.join(", ")}]`)
  const due = expectedSettlements(change)
  if (strings(owed) !== strings(due)) wrong.push(`settled [${owed.join(", ")}] for [${due.join(", ")}]`)
  for (const each of due)
    if (change.after.settlements.get(each) !== change.now) wrong.push(`${each} is not kept as owed`)
  for (const each of published)
    if (!each.channel.startsWith(channel)) wrong.push(`published elsewhere: ${each.channel}`)
  return wrong
}

/** Generates the history of a seed. `rules` may be wrong ones, to test that they are detected. */
export const queueHistory = (seed: number, asked: Rules = rules): History => {
  const random = new Chance(seed)
  const prefix = `q${seed}:`
  const { look, run, steps } = recorder(keysOf(`${prefix}{${random.below(9)}}`))
  const campaign = new RandomCampaign(random)
  const { sessions, share, tickets, windowMillis } = campaign
  const { step, sweeping } = makeSteps(campaign, run, asked)

  /** Runs a step and returns what is wrong after it. */
  const taken = (choice: Choice, gate = random.pick("a", "b", "")): ReadonlyArray<string> => {
    const { now, slots, state } = campaign
    const self = choice.self ?? gate
    const done = choice.take(campaign.contextOf(self, prefix))
    const ids = [...tickets, ...doubtIds((state.meta.get("lease") ?? 0) + Math.min(slots, tickets.length))]
    const after = readState(look(probe, { now, context: NO_CONTEXT, call: { tickets: ids, sessions } }))
    const change = { before: state, after, now, slots, share, window: windowMillis, self, swept: false, ...done.about }
    const wrong = [
      ...violations(change),
      ...unsaid(change, done, prefix),
      ...(done.wrong?.(change.before, change.after) ?? []),
    ]
    campaign.settlements.push(...(done.answer.settlements ?? []))
    campaign.state = after
    return wrong
  }

  let sweeps = 0
  for (let n = 0; n < STEPS; n++) {
    const then = campaign.later()
    // gates sweep all the time, here in turn, unless the store or all of them were down
    while (campaign.attended && then - campaign.now > UNATTENDED_MILLIS && then - campaign.now < 100_000) {
      campaign.now += UNATTENDED_MILLIS
      const wrong = taken(sweeping(), sweeps++ % 2 === 0 ? "a" : "b")
      if (wrong.length > 0) return { seed, prefix, steps, wrong }
    }
    campaign.now = then
    if (random.percent(6)) campaign.slots = random.below(5)
    const wrong = taken(step())
    if (wrong.length > 0) return { seed, prefix, steps, wrong }
  }
  const { now, state } = campaign
  const ids = [...tickets, ...doubtIds(state.meta.get("lease") ?? 0)]
  run(probe, { now, context: NO_CONTEXT, call: { tickets: ids, sessions } })
  run(asked.auditLog, { now, context: campaign.contextOf("", prefix), call: { first: 0, count: 100 } })
  return { seed, prefix, steps, wrong: [] }
}
