/**
 * The platform reports the same end to two gates at once, and each gate serves several campaigns. A gate looks for the
 * session in all of its campaigns, so each of the two may find that the other was first in some campaign.
 */
import type { Environment } from "../../harness/gate.ts"
import { eventually } from "../../harness/process.ts"
import { startRedis } from "../../harness/redis.ts"
import { inWords, judge, peaksInWords } from "../support/judge.ts"
import { orderBack, inWords as timesInWords } from "../support/order.ts"
import { makeRig } from "../support/rig.ts"
import type { Scenario } from "../support/scenario.ts"
import { postWebhook } from "../support/seats.ts"

const SIZES = { small: { callers: 30, slots: 5 }, full: { callers: 100, slots: 5 } }
/** In addition to the default one. Calls are in the last, so a gate has the answers of all others before it. */
const CAMPAIGNS = 4

const campaigns = (slots: number): Environment =>
  Object.fromEntries(
    Array.from({ length: CAMPAIGNS }, (_, n) => `VoiceAiPlatform__Campaigns__c${n + 2}__`).flatMap((prefix, n) => [
      [`${prefix}WebCampaignId`, `campaign-${n + 2}`],
      [`${prefix}MaxConcurrency`, String(slots)],
    ]),
  )

export const endTwice: Scenario = {
  name: "end-twice",
  run: async (size, seed, bench) => {
    const { callers, slots } = SIZES[size]
    const redis = bench.own(await startRedis())
    /** for each session, how many gates answered at once that they freed its slot, per report */
    const released = new Map<string, Array<number>>()
    const wrongs: Array<string> = []
    const rig = await makeRig({
      seed,
      bench,
      storeUrl: redis.url,
      gates: 2,
      slots,
      campaign: `campaign-${CAMPAIGNS + 1}`,
      settings: campaigns(slots),
      webhook: async (id, seats) => {
        const answers = await Promise.all(seats.map(({ url }) => postWebhook(url, id)))
        for (const { status } of answers) if (status !== 200) wrongs.push(`a webhook was answered ${status}`)
        // the two ids of a session differ in their first word
        const session = id.replace(/^\D+/, "")
        const freed = answers.filter((answer) => answer.released).length
        released.set(session, [...(released.get(session) ?? []), freed])
        return { status: 200, released: freed > 0 }
      },
    })
    const crowd = rig.crowd({ callers, arriveMillis: 1_000, talkMillis: [100, 400] })
    await crowd.done(100_000)
    await eventually("all ends are told", () => rig.platform.untold() === 0)
    const pairs = [...released.values()]
    const back = await orderBack(rig, performance.now())
    const first = pairs.map(([freed = 0]) => freed)
    const none = first.filter((freed) => freed === 0).length
    const both = first.filter((freed) => freed > 1).length
    const repeats = pairs.flatMap((times) => times.slice(1))
    const freedAgain = repeats.filter((freed) => freed > 0).length
    const verdict = await judge(rig, { outcomes: [] })
    return [
      {
        fault: `the same end told to both of 2 gates at once, ${first.length} times, with ${CAMPAIGNS + 1} campaigns`,
        promised: "one of the two says that it freed the slot; told once more, neither does",
        seen:
          `of ${first.length} pairs ${none} answered released:false twice, ${both} released:true twice; ` +
          `of ${repeats.length} repeats ${freedAgain} released; ${inWords(verdict.outcomes)}; ${peaksInWords(verdict, rig)}`,
        back: timesInWords(back),
        wrongs: [
          ...wrongs,
          ...(none === 0 ? [] : [`${none} of ${first.length} ends freed a slot, and neither gate said so`]),
          ...(both === 0 ? [] : [`${both} of ${first.length} ends freed a slot at both gates`]),
          ...(freedAgain === 0 ? [] : [`${freedAgain} ends freed a slot again`]),
          ...verdict.wrongs,
        ],
      },
    ]
  },
}
