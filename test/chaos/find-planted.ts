/** Plants faults in a copy of this checkout, one at a time, and checks whether each fault's scenario finds it. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Planted } from "./planted.ts"
import type { Size } from "./support/scenario.ts"

const root = join(import.meta.dirname, "../..")
/** The inputs of the build, besides `node_modules`. */
const COPIED = ["src", "scripts", "LICENSE", "package.json", "package-lock.json", "tsconfig.json"]

export interface Search {
  readonly planted: Planted
  readonly found: boolean
  /** the output of its scenario */
  readonly wrongs: ReadonlyArray<string>
}

/** The part of a chaos run's result file that is used. */
interface Results {
  readonly rows: ReadonlyArray<{ readonly wrongs: ReadonlyArray<string> }>
}

let running: ChildProcess | undefined

/** Runs a script of this or the copied checkout, with its output on standard error. Returns its exit code. */
const run = async (script: string, args: ReadonlyArray<string> = []): Promise<unknown> => {
  running = spawn(process.execPath, [script, ...args], { stdio: ["ignore", 2, 2] })
  const [code] = await once(running, "exit")
  running = undefined
  return code
}

/** Copies the inputs of the build. The copy is deleted when this process exits, except by SIGKILL. */
const makeCopy = (): string => {
  const copy = mkdtempSync(join(tmpdir(), "voicegate-planted-"))
  process.on("exit", () => {
    running?.kill("SIGKILL")
    rmSync(copy, { recursive: true, force: true })
  })
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1))
  for (const name of COPIED) cpSync(join(root, name), join(copy, name), { recursive: true })
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"))
  return copy
}

/** Runs the scenario of each of these faults. */
export const findPlanted = async (
  all: ReadonlyArray<Planted>,
  seed: number,
  size: Size,
): Promise<ReadonlyArray<Search>> => {
  const copy = makeCopy()
  const json = join(copy, "chaos.json")
  const searches: Array<Search> = []
  for (const planted of all) {
    console.error(`\n${planted.name} in ${planted.file}`)
    const source = readFileSync(join(root, planted.file), "utf8")
    writeFileSync(
      join(copy, planted.file),
      source.replace(planted.from, () => planted.to),
    )
    const built =
      (await run(join(copy, "scripts/rules.ts"))) === 0 && (await run(join(copy, "scripts/build.mjs"))) === 0
    if (!built) throw new Error(`the checkout with the fault ${planted.name} cannot be built`)
    rmSync(json, { force: true })
    await run(join(root, "test/chaos/long-run.ts"), [
      ...["--only", planted.scenario, "--root", copy, "--json", json],
      ...["--seed", String(seed), "--size", size],
    ])
    writeFileSync(join(copy, planted.file), source)
    const results: Results = existsSync(json) ? JSON.parse(readFileSync(json, "utf8")) : { rows: [] }
    const wrongs = results.rows.flatMap((row) => row.wrongs)
    searches.push({ planted, found: wrongs.some((wrong) => planted.says.test(wrong)), wrongs })
  }
  return searches
}

/** The results as a Markdown table: what revealed each fault, or what the scenario printed instead. */
export const tableOfSearches = (searches: ReadonlyArray<Search>): string =>
  [
    "| planted fault | scenario | observed |",
    "|---|---|---|",
    ...searches.map(({ found, planted, wrongs }) => {
      const messages = wrongs.filter((wrong) => !found || planted.says.test(wrong))
      const seen = [...(found ? [] : ["**not found**"]), ...messages.slice(0, 2).map((wrong) => wrong.slice(0, 200))]
      return `| ${planted.name} | ${planted.scenario} | ${seen.join("; ").replaceAll("|", "\\|").replaceAll("\n", " ")} |`
    }),
  ].join("\n")
