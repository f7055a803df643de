/**
 * Sends hostile requests to the built gate (on a real Redis) and to the built local platform, for as long as one likes:
 *
 *     node scripts/fuzz.ts [--requests N] [--seed S] [--first N] [--connections N] [--store redis|memory] [--patient]
 *
 * Without numbers it sends 1,000,000 of seed 1. It says what was sent and answered, whether memory grew, and what was wrong: a
 * 5xx that `src/docs/wire.md` does not list, a crash, a stack, a secret, a forged line of the log, a smuggled request, silence. What
 * was wrong ends the run with 1, and is repeated by `--seed S --first N --requests 1`; its bytes are kept too. `--patient`
 * measures instead how long clients that do next to nothing may hold a connection.
 */
import { parseArgs } from "node:util"
import { describe } from "../test/security/fuzz/describe.ts"
import { measurePatience } from "../test/security/fuzz/patience.ts"
import { run } from "../test/security/fuzz/run.ts"

const { values } = parseArgs({
  options: {
    requests: { type: "string", default: "1000000" },
    seed: { type: "string", default: "1" },
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
  const report = await run({
    requests,
    seed: Number(values.seed),
    first: Number(values.first),
    connections: Number(values.connections),
    store: values.store === "memory" ? "memory" : "redis",
    samples: Math.max(2, Math.min(40, Math.floor(requests / 5_000))),
    onProgress: (text) => console.error(text),
  })
  console.log(describe(report))
  if (report.findings.length > 0) process.exitCode = 1
}
