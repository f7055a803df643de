/** One run: so many cases of a seed against both targets, from several connections at once, judged and counted. */
import { mkdirSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SMUGGLED } from "./broken.ts"
import { type Case, caseOf } from "./cases.ts"
import { Kept, type Outcome, sendAlone } from "./drive.ts"
import type { Memory } from "./inspected.ts"
import { codeOf, wrongAnswer, wrongLine } from "./judge.ts"
import { Known } from "./known.ts"
import { surfaceOf } from "./surface.ts"
import { isWell, startTargets, type Target, type Targets } from "./targets.ts"

export interface Options {
  readonly seed: number
  readonly requests: number
  /** the number of the first case; 0 for all of a seed */
  readonly first?: number
  readonly connections?: number
  readonly store?: "redis" | "memory"
  /** how many times memory is looked at */
  readonly samples?: number
  /** what else is done to them meanwhile; the run waits for it */
  readonly alongside?: (targets: Targets) => Promise<void>
  /** called regularly with the progress */
  readonly onProgress?: (text: string) => void
}

export interface Finding {
  readonly case: number | undefined
  readonly what: string
  readonly detail: string
}

export interface Sample {
  /** cases sent by then */
  readonly sent: number
  readonly gate: Memory
  readonly platform: Memory
}

export interface Report {
  readonly seed: number
  readonly sent: number
  readonly answers: number
  readonly seconds: number
  readonly byKind: ReadonlyMap<string, number>
  /** `gate 503 queue_full` and the like */
  readonly byStatus: ReadonlyMap<string, number>
  readonly findings: ReadonlyArray<Finding>
  readonly logLines: number
  readonly samples: ReadonlyArray<Sample>
  /** open descriptors of both before and after */
  readonly descriptors: Readonly<Record<"gate" | "platform", readonly [before: number, after: number]>>
}

/** Maximum findings kept. */
const MOST_FINDINGS = 50
const PIPELINED = 8

const count = (counts: Map<string, number>, name: string): void => {
  counts.set(name, (counts.get(name) ?? 0) + 1)
}

/** Keeps the bytes of a case, to be looked at and sent again. */
const save = (seed: number, { bytes, n }: Case): string => {
  const directory = join(tmpdir(), "voicegate-fuzz-findings")
  mkdirSync(directory, { recursive: true })
  const file = join(directory, `${seed}-${n}.bin`)
  writeFileSync(file, bytes)
  return file
}

export const run = async (options: Options): Promise<Report> => {
  const {
    connections = 64,
    first = 0,
    onProgress = () => {},
    requests,
    samples: wanted = 2,
    seed,
    store = "redis",
  } = options
  const byKind = new Map<string, number>()
  const byStatus = new Map<string, number>()
  const findings: Array<Finding> = []
  let secrets: ReadonlyArray<string> = []
  let logLines = 0
  let answers = 0
  const found = (what: string, detail: string, of?: Case): void => {
    if (findings.length >= MOST_FINDINGS) return
    const file = of === undefined ? "" : ` (${of.kind}, sent to the ${of.to}, kept in ${save(seed, of)})`
    findings.push({ case: of?.n, what, detail: detail.slice(0, 2_000) + file })
  }

  const targets = await startTargets({
    store,
    onLine: (from, line) => {
      logLines++
      const wrong = wrongLine(line, { secrets })
      if (wrong !== undefined) found(`${from}: ${wrong}`, line)
      if (line.includes(`"path":"${SMUGGLED}"`)) found(`${from}: a request was smuggled`, line)
    },
  })
  try {
    const { credentials } = targets
    secrets = credentials.secrets
    const known = new Known(credentials)
    const surface = surfaceOf(seed)
    const before = { gate: targets.gate.process.descriptors(), platform: targets.platform.process.descriptors() }
    const gone = (): string | undefined => {
      const ends = [targets.gate.process.ended(), targets.platform.process.ended()]
      return ends.find((end) => end !== undefined)
    }

    const samples: Array<Sample> = []
    const sample = async (sent: number): Promise<void> => {
      const [gate, platform] = await Promise.all([targets.gate.process.memory(), targets.platform.process.memory()])
      samples.push({ sent, gate, platform })
      const megabytes = (bytes: number) => (bytes / 2 ** 20).toFixed(1)
      onProgress(
        `${sent} sent, ${answers} answers, ${findings.length} findings; MiB rss/heap: gate ${megabytes(gate.rss)}/${megabytes(gate.heap)}, platform ${megabytes(platform.rss)}/${megabytes(platform.heap)}`,
      )
    }

    const outcomeOf = (cases: ReadonlyArray<Case>): Outcome => {
      const at = (index: number): Case | undefined => cases[Math.min(index, cases.length - 1)]
      return {
        answered: (index, response) => {
          const of = at(index)
          if (of === undefined) return
          answers++
          const text = response.body.length < 20_000 ? response.body.toString() : ""
          count(byStatus, `${of.to} ${response.status} ${response.status >= 400 ? codeOf(text) : ""}`.trim())
          if (response.status < 300) known.learn(text)
          const wrong = wrongAnswer(of, response, credentials)
          // the answer that made a key is the one that shows it
          if (wrong !== undefined) found(wrong, `${response.head}\n\n${text}`, of)
        },
        silent: (index) => found("no answer, and no end", "", at(index)),
        garbled: (index, error) => found("no HTTP", String(error), at(index)),
      }
    }

    const last = first + requests
    let next = first
    let sampled = 0
    let sampling: Promise<void> = Promise.resolve()
    const take = (): Case | undefined => {
      if (next >= last || gone() !== undefined) return undefined
      const made = caseOf(seed, next, surface, known)
      next++
      count(byKind, made.kind)
      if (next - first >= ((sampled + 1) * requests) / wanted) {
        sampled++
        const sent = next - first
        sampling = sampling.then(() => sample(sent))
      }
      return made
    }
    const portOf = (to: Case["to"]): number => targets[to].port

    const work = async (): Promise<void> => {
      const kept = { gate: new Kept(portOf("gate")), platform: new Kept(portOf("platform")) }
      let alone: Case | undefined
      for (let more = true; more; ) {
        const batches: Record<Case["to"], Array<Case>> = { gate: [], platform: [] }
        alone = undefined
        for (let n = 0; n < PIPELINED && alone === undefined; n++) {
          const made = take()
          if (made === undefined) more = false
          if (made === undefined) break
          if (made.sound) batches[made.to].push(made)
          else alone = made
        }
        for (const to of ["gate", "platform"] as const) {
          for (let left = batches[to]; left.length > 0; ) {
            const got = await kept[to].send(left, outcomeOf(left))
            // a server that closes answers nothing more: the one in question is not sent again, those behind it are
            if (got === 0) count(byStatus, `${to} closed without an answer: ${left[0]?.kind}`)
            left = left.slice(Math.max(1, got))
          }
        }
        if (alone !== undefined) await sendAlone(portOf(alone.to), alone, outcomeOf([alone]))
        await sampling
      }
      kept.gate.close()
      kept.platform.close()
    }

    await sample(0)
    const began = performance.now()
    const [, seconds] = await Promise.all([
      options.alongside?.(targets),
      Promise.all(Array.from({ length: connections }, work)).then(() => (performance.now() - began) / 1_000),
    ])
    await sampling

    const check = async (name: string, target: Target, path: string): Promise<void> => {
      const { ended, evaluate } = target.process
      const end = ended()
      if (end !== undefined) return found(`the ${name} is gone: ${end}`, "")
      if (!(await isWell(target, path).catch(() => false))) found(`the ${name} does not answer any more`, "")
      const inherited = await evaluate(
        "(() => { const names = []; for (const name in {}) names.push(name); return names.join() })()",
      )
      if (inherited !== "") found(`the ${name} has a polluted prototype`, String(inherited))
    }
    await check("gate", targets.gate, "/health/live")
    await check("platform", targets.platform, "/openapi.json")
    // what the last conversations left is closed by then
    await new Promise((resolve) => setTimeout(resolve, 500))
    return {
      seed,
      sent: next - first,
      answers,
      seconds,
      byKind,
      byStatus,
      findings,
      logLines,
      samples,
      descriptors: {
        gate: [before.gate, targets.gate.process.descriptors()],
        platform: [before.platform, targets.platform.process.descriptors()],
      },
    }
  } finally {
    await targets.dispose()
  }
}
