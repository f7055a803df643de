/**
 * A soak test: two built gates on one Redis under load around their capacity. Compares their resources afterwards with those before,
 * and their answers with the expected ones.
 *
 *     npm run verify -- soak [--minutes 60] [--seed N] [--out FILE.json] [--no-forget]
 *
 * About three minutes of warm-up precede the load, and up to 16 minutes follow it: lost ends of calls are detected, and tickets are
 * deleted ten minutes after their end (`--no-forget` skips that). Exit code 1 when a figure is not ok.
 */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import { Redis } from "ioredis"
import { shareOf } from "../../src/fifo-queue/bounds.ts"
import { whenBuilt } from "../harness/build.ts"
import { startRedis } from "../harness/redis.ts"
import { judgeAll } from "./checks.ts"
import { cpuSince } from "./cpu.ts"
import { type GateProcess, startGate } from "./gate-process.ts"
import { Ledger } from "./ledger.ts"
import { checkLimits } from "./limits.ts"
import { introduceAddresses, makeLoad } from "./load.ts"
import type { Measured, Sample } from "./measured.ts"
import { makeMeasuring } from "./measuring.ts"
import { startOperator, switchCampaign } from "./operator.ts"
import { NETWORK_SHARE, SLOTS } from "./plan.ts"
import { startPlatform } from "./platform.ts"
import { countsTable, figuresTable, problemsText, seriesTable } from "./report.ts"
import { Sessions } from "./sessions.ts"
import { gateSettings } from "./settings.ts"
import { FORGOTTEN_MILLIS } from "./store-figures.ts"
import { makeTicketAudit, READ_INTERVAL_MILLIS } from "./ticket-audit.ts"
import type { World } from "./world.ts"

const MINUTE = 60_000
const WARM_MINUTES = 1
const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "60" },
    seed: { type: "string", default: "1" },
    out: { type: "string" },
    forget: { type: "boolean", default: true },
  },
  allowNegative: true,
})
const minutes = Number(values.minutes)
const seed = Number(values.seed)
if (!(minutes > 0) || !Number.isInteger(seed)) {
  console.error("--minutes: Expected a positive number. --seed: Expected a whole number.")
  process.exit(2)
}

const say = (text: string): void => console.error(`${new Date().toISOString().slice(11, 19)} ${text}`)
const directory = mkdtempSync(join(tmpdir(), "voicegate-soak-"))
const stops: Array<() => Promise<void> | void> = [() => rmSync(directory, { recursive: true, force: true })]
const stop = async (): Promise<void> => {
  for (let last = stops.pop(); last !== undefined; last = stops.pop()) await last()
}

const soak = async (): Promise<boolean> => {
  await whenBuilt()
  const ledger = new Ledger()
  // a client library throws uncaught errors when a gate breaks its protocol: a finding, which must not end the run
  process.on("uncaughtException", (error) => ledger.problem("uncaught errors of clients", String(error.stack)))
  let gates: ReadonlyArray<GateProcess> = []
  const redis = await startRedis()
  stops.push(redis.dispose)
  const sessions = new Sessions(() => gates, ledger)
  const platform = await startPlatform(seed, sessions, ledger)
  stops.push(platform.stop)
  const settings = gateSettings(redis.url, platform.origin)
  for (const name of ["A", "B"]) {
    const gate = await startGate(name, settings, directory, ledger)
    stops.push(gate.stop)
    gates = [...gates, gate]
  }
  const client = new Redis(redis.url)
  stops.push(() => client.disconnect())
  const world: World = { gates: () => gates, platform: sessions, ledger, holders: new Map(), grants: [] }
  const load = makeLoad(seed, world)
  const audit = makeTicketAudit(
    client,
    ledger,
    (ticket) => {
      const caller = world.holders.get(ticket) ?? -1
      return { times: sessions.retryableStarts(caller), doubts: sessions.failedStarts(caller, "ghost") }
    },
    shareOf(NETWORK_SHARE, SLOTS),
    (ticket) => world.holders.delete(ticket),
  )
  const reading = setInterval(() => {
    audit.read().catch((error: unknown) => ledger.problem("the store could not be read", String(error)))
  }, READ_INTERVAL_MILLIS)
  stops.push(() => clearInterval(reading))

  const measuring = makeMeasuring(gates, client, sessions, load, ledger)
  const settled = async (): Promise<void> => {
    if (!(await measuring.drained())) say("not every call has ended")
  }

  say(`two gates, ${SLOTS} slots, seed ${seed}; warming up`)
  let operator = startOperator(() => gates, ledger)
  await switchCampaign(() => gates, "drain")
  await introduceAddresses(world)
  await switchCampaign(() => gates, "reopen")
  await load.run(WARM_MINUTES)
  await settled()
  operator()
  await measuring.quiet()
  const before = await measuring.atRest()

  say(`${minutes} minutes of load`)
  platform.calm(false)
  measuring.begin()
  const cpu = cpuSince({
    "gate A": gates[0]?.pid ?? 0,
    "gate B": gates[1]?.pid ?? 0,
    redis: redis.pid(),
    load: process.pid,
  })
  operator = startOperator(() => gates, ledger)
  const series: Array<Sample> = []
  let sampling = Promise.resolve()
  const sampler = setInterval(() => {
    sampling = measuring.sample().then(
      (taken) => {
        series.push(taken)
        const problems = [...ledger.problems].map(([kind, { times }]) => `; ${kind}: ${times}`).join("")
        say(
          `minute ${taken.minute.toFixed(0)}: ${taken.callsStarted} calls, ${taken.store.sizes.waiting} wait${problems}`,
        )
      },
      (error: unknown) => ledger.problem("figures could not be taken", String(error)),
    )
  }, MINUTE)
  stops.push(() => clearInterval(sampler))
  await load.run(minutes)
  clearInterval(sampler)
  await sampling
  const used = cpu()
  say("the load has ended; waiting for the last calls")
  await settled()
  operator()
  await audit.conclude()
  say("waiting until ended tickets are deleted")
  await measuring.quiet()
  if (values.forget) await sleep(FORGOTTEN_MILLIS)
  const after = await measuring.atRest()

  checkLimits(world)
  const measured: Measured = {
    ...{ before, after, series, slots: SLOTS, forgotten: values.forget },
    ...{ sessionIds: sessions.ids, peak: sessions.peak },
  }
  const figures = judgeAll(measured, ledger)
  const ok = figures.every((figure) => figure.ok)
  const cores = Object.entries(used).map(([name, percent]) => `${name} ${percent.toFixed(1)} %`)
  const all = Object.values(used).reduce((sum, percent) => sum + percent, 0)
  console.log(
    [
      `# Soak: ${minutes} minutes, seed ${seed}: ${ok ? "ok" : "**not ok**"}`,
      figuresTable(figures),
      seriesTable(series, minutes),
      countsTable(ledger),
      `Of one core: ${cores.join(", ")}, together ${all.toFixed(1)} %.`,
      problemsText(ledger),
    ].join("\n\n"),
  )
  if (values.out !== undefined) {
    const counts = Object.fromEntries(ledger.counts)
    const problems = Object.fromEntries(ledger.problems)
    writeFileSync(
      values.out,
      JSON.stringify({ minutes, seed, ok, figures, counts, problems, cpu: used, ...measured }, null, 2),
    )
  }
  return ok
}

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => void stop().finally(() => process.exit(130)))
}
try {
  process.exitCode = (await soak()) ? 0 : 1
} finally {
  await stop()
}
