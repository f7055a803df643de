/** Plants faults in a copy of this checkout, one at a time, and looks whether the scenario of each finds it. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Planted } from "../../test/chaos/planted.ts"
import type { Size } from "../../test/chaos/support/scenario.ts"

const root = join(import.meta.dirname, "../..")
/** What the program is built of, besides `node_modules`. */
const COPIED = ["src", "scripts", "package.json", "package-lock.json", "tsconfig.json"]

export interface Search {
  readonly planted: Planted
  readonly found: boolean
  /** what its scenario said */
  readonly wrongs: ReadonlyArray<string>
}

/** What is read of the file that a run of chaos writes. */
interface Results {
  readonly rows: ReadonlyArray<{ readonly wrongs: ReadonlyArray<string> }>
}

let running: ChildProcess | undefined

/** Runs a script of this or the copied checkout; its output goes to standard error. Answers its exit code. */
const run = async (script: string, args: ReadonlyArray<string> = []): Promise<unknown> => {
  running = spawn(process.execPath, [script, ...args], { stdio: ["ignore", 2, 2] })
  const [code] = await once(running, "exit")
  running = undefined
  return code
}

/** A copy of what the program is built of. It is gone when this process is, however that ends but by SIGKILL. */
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

/** Looks for each of these faults. */
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
    if (!built) throw new Error(`${planted.name} cannot be built`)
    rmSync(json, { force: true })
    await run(join(root, "scripts/chaos.ts"), [
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

/** The table as markdown; of each fault what it was found by, or what was said instead. */
export const tableOfSearches = (searches: ReadonlyArray<Search>): string =>
  [
    "| planted fault | scenario | seen of it |",
    "|---|---|---|",
    ...searches.map(({ found, planted, wrongs }) => {
      const said = wrongs.filter((wrong) => !found || planted.says.test(wrong))
      const seen = [...(found ? [] : ["**not found**"]), ...said.slice(0, 2).map((wrong) => wrong.slice(0, 200))]
      return `| ${planted.name} | ${planted.scenario} | ${seen.join("; ").replaceAll("|", "\\|").replaceAll("\n", " ")} |`
    }),
  ].join("\n")
