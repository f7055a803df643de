/**
 * Prints what callers and operators of the built gate are told while its platform is in trouble, as a table:
 *
 *     npm run verify -- outages [--only WORD] [--callers 30] [--moments 5,30,120]
 *
 * In each case three callers are in a call, so that every slot is held, and the others wait. The case *full* lasts ten minutes.
 */
import { parseArgs } from "node:util"
import { makeBench } from "../harness/gate.ts"
import { alertsAt } from "./alerts.ts"
import type { Trouble } from "./mortal-platform.ts"
import { type Told, watchOutage } from "./observe.ts"

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    callers: { type: "string", default: "30" },
    moments: { type: "string", default: "5,30,120" },
  },
})

const CASES: ReadonlyArray<{ readonly trouble: Trouble; readonly endsCall: boolean }> = [
  { trouble: "killed", endsCall: false },
  { trouble: "hung", endsCall: false },
  { trouble: "key refused", endsCall: false },
  { trouble: "key refused", endsCall: true },
  { trouble: "region refused", endsCall: true },
  { trouble: "full", endsCall: true },
]

const moments = values.moments.split(",").map(Number)
const callers = Number(values.callers)

const row = (told: Told, alerts: ReadonlyArray<string>): string =>
  [
    `after ${told.at} s`,
    `caller: ${told.caller}`,
    `newcomer: ${told.newcomer}`,
    `console: ${told.headline}`,
    `campaign show: ${told.campaignShow}`,
    `metric: ${told.metric}`,
    `alerts: ${alerts.join(", ") || "none"}`,
    `readiness: ${told.readiness}`,
    `places: ${told.waiting} wait, ${told.over} lost`,
    ...told.log.map((line) => `log: ${line}`),
  ].join("\n    ")

for (const { endsCall, trouble } of CASES) {
  if (values.only !== undefined && !trouble.includes(values.only)) continue
  const bench = makeBench()
  try {
    const lasting = trouble === "full" && values.only === undefined ? [...moments, 600] : moments
    const watched = await watchOutage(bench, trouble, { callers, endsCall, moments: lasting })
    console.log(`\n${trouble}, every slot held${endsCall ? "; one call ends after 2 s" : ""}`)
    for (const told of watched.told) console.log(`  ${row(told, alertsAt(watched.states, told.at))}`)
    console.log(
      `  afterwards: ${watched.servedAfter} served, ${watched.inOrder ? "in order" : "NOT in order"}, ${watched.over} lost`,
    )
  } finally {
    await bench.dispose()
  }
}
