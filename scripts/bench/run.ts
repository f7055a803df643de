/**
 * Benchmarks the built gate against its reference servers, in alternating runs on this machine, and prints ratios:
 *
 *     npm run build && node scripts/bench/run.ts [BENCH...] [OPTIONS]   # --help lists both
 *
 * Needs Debian's redis-server and wrk. Figures depend on the machine, ratios much less; run it on an idle machine.
 */
import { execFileSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { cpus, totalmem } from "node:os"
import { parseArgs } from "node:util"
import { admission } from "./admission.ts"
import { control } from "./control.ts"
import { embedded } from "./embedded.ts"
import { growth } from "./growth.ts"
import { moving } from "./moving.ts"
import { push } from "./push.ts"
import { startup } from "./startup.ts"
import { type Found, tables } from "./support/report.ts"
import { waiting as waitingCost } from "./waiting.ts"
import { webhook } from "./webhook.ts"

const USAGE = `node scripts/bench/run.ts [admission processes embedded push webhook growth startup control] [--rounds 3] [--turns 6]
                          [--waiting 10000] [--before DIR] [--json FILE]
node scripts/bench/run.ts waiting [--sizes 1000,10000,100000,1000000] [--seconds 60] [--held] [--before DIR] [--json FILE]
node scripts/bench/run.ts moving [--connected 12000] [--gates 3] [--behind 88000] [--calls 600] [--rounds 3]
                                 [--before DIR [--before-connected 12000]] [--json FILE]

Run npm run build first. Without names, all benches run but waiting and moving, which take half an hour each.`

const read = () => {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        help: { type: "boolean", default: false },
        rounds: { type: "string", default: "3" },
        turns: { type: "string", default: "6" },
        waiting: { type: "string", default: "10000" },
        json: { type: "string" },
        sizes: { type: "string", default: "1000,10000,100000,1000000" },
        seconds: { type: "string", default: "60" },
        held: { type: "boolean", default: false },
        before: { type: "string" },
        connected: { type: "string", default: "12000" },
        gates: { type: "string", default: "3" },
        behind: { type: "string", default: "88000" },
        calls: { type: "string", default: "600" },
        "before-connected": { type: "string" },
      },
    })
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${USAGE}`)
    process.exit(2)
  }
}

const { positionals, values } = read()
if (values.help) {
  console.log(USAGE)
  process.exit(0)
}
const [rounds, turns, waiting] = [Number(values.rounds), Number(values.turns), Number(values.waiting)]

const benches: Readonly<Record<string, () => Promise<Found>>> = {
  admission: () => admission(rounds, turns, 1),
  processes: () => admission(rounds, turns, 2),
  embedded: () => embedded(rounds),
  push: () => push(rounds, waiting),
  webhook: () => webhook(rounds),
  growth: () => growth(rounds, turns),
  startup: () => startup(rounds),
  control: () => control(rounds, turns, values.before),
  waiting: () =>
    waitingCost({
      sizes: values.sizes.split(",").map(Number),
      seconds: Number(values.seconds),
      held: values.held,
      before: values.before,
    }),
  moving: () =>
    moving({
      rounds,
      calls: Number(values.calls),
      gates: Number(values.gates),
      connected: Number(values.connected),
      behind: Number(values.behind),
      before: values.before,
      beforeConnected: Number(values["before-connected"] ?? values.connected),
    }),
}

/** They take half an hour each, so they run only when they are asked for. */
const LONG = ["waiting", "moving"]

const wanted = positionals.length > 0 ? positionals : Object.keys(benches).filter((name) => !LONG.includes(name))
const unknown = wanted.filter((name) => !(name in benches))
if (unknown.length > 0 || [rounds, turns, waiting].some((n) => !(n >= 1))) {
  console.error(`Expected some of: ${Object.keys(benches).join(", ")}; and numbers of at least 1`)
  process.exit(2)
}

const versionOf = (command: string, args: ReadonlyArray<string>): string => {
  try {
    return execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).split("\n")[0] ?? ""
  } catch (error) {
    // wrk prints its version and fails
    const output = Reflect.get(Object(error), "stdout")
    if (typeof output === "string" && output !== "") return output.split("\n")[0] ?? ""
    console.error(`${command} is not installed: apt-get install redis-server wrk`)
    process.exit(2)
  }
}

const machine = {
  date: new Date().toISOString(),
  cpu: `${cpus().length} × ${cpus()[0]?.model}`,
  memory: `${Math.round(totalmem() / 2 ** 30)} GiB`,
  node: process.version,
  redis: versionOf("redis-server", ["--version"]),
  wrk: versionOf("wrk", ["--version"]),
  rounds,
  turns,
}
console.log(
  Object.entries(machine)
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n"),
)

const figures: Array<Found["figures"][number]> = []
const ratios: Array<Found["ratios"][number]> = []
for (const name of wanted) {
  const found = await benches[name]?.()
  figures.push(...(found?.figures ?? []))
  ratios.push(...(found?.ratios ?? []))
}
console.log(`\n${tables({ figures, ratios })}`)
if (values.json !== undefined) writeFileSync(values.json, JSON.stringify({ machine, ratios, figures }, undefined, 2))
process.exit(ratios.some(({ reached }) => reached === false) ? 1 : 0)
