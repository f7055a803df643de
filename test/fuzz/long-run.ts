/**
 * Fuzzes the built gate (on a real Redis) and the built local platform with hostile requests:
 *
 *     npm run verify -- fuzz [--seed S] [--minutes M] [--requests N] [--first N] [--connections N] [--store redis|memory] [--patient]
 *
 * By default it sends 1,000,000 requests; with `--minutes` as many again, of the next seed, until the time is up. It reports requests and answers, memory growth, and findings: a 5xx that
 * `src/docs/wire.md` does not list, a crash, a stack, a secret, a forged log line, a smuggled request, a missing answer. A finding
 * makes the exit code 1; `--seed S --first N --requests 1` repeats it, and its bytes are saved. `--patient` instead measures how long
 * clients that send almost nothing can keep a connection.
 */
import { parseArgs } from "node:util"
import { makeRounds, millisOf, SHARED_FLAGS, seedOf } from "../harness/long-run.ts"
import { describe } from "./describe.ts"
import { measurePatience } from "./patience.ts"
import { run } from "./run.ts"

const { values } = parseArgs({
  options: {
    requests: { type: "string", default: "1000000" },
    ...SHARED_FLAGS,
    first: { type: "string", default: "0" },
    connections: { type: "string", default: "64" },
    store: { type: "string", default: "redis" },
    patient: { type: "boolean", default: false },
  },
})

if (values.patient) {
  for (const line of await measurePatience()) console.log(line)
} else {
  const requests = Number(values.requests)
  const another = makeRounds(millisOf(values.minutes))
  for (let seed = seedOf(values.seed); another() && process.exitCode === undefined; seed++) {
    const report = await run({
      requests,
      seed,
      first: Number(values.first),
      connections: Number(values.connections),
      store: values.store === "memory" ? "memory" : "redis",
      samples: Math.max(2, Math.min(40, Math.floor(requests / 5_000))),
      onProgress: (text) => console.error(text),
    })
    console.log(describe(report))
    if (report.findings.length > 0) process.exitCode = 1
  }
}
