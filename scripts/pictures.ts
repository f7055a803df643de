/**
 * Takes the pictures of the README, from the program as it is built, into `src/docs/pictures`, each for light and for dark pages:
 *
 *     npm run build && node scripts/pictures.ts [NAME …]
 *
 * It takes five minutes of an idle machine: the console has an hour of calls, which pass in three. Take the pictures anew for each release, and
 * look at each one.
 */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { callAll } from "./pictures/callers.ts"
import { caughtUpAt } from "./pictures/pace.ts"
import { type Program, startProgram, THEMES, type Theme } from "./pictures/program.ts"
import * as stills from "./pictures/stills.ts"
import { threeTabs } from "./pictures/three-tabs.ts"

type Take = (program: Program, theme: Theme) => Promise<Uint8Array>

/** Each with the name of its file. */
const FRESH: Readonly<Record<string, Take>> = { "three-tabs": threeTabs, widget: stills.widget }
const AFTER_AN_HOUR: Readonly<Record<string, Take>> = {
  console: stills.console,
  waiting: stills.waitingRoom,
}

const folder = join(import.meta.dirname, "../src/docs/pictures")
const wanted = process.argv.slice(2)
const unknown = wanted.filter((name) => !(name in FRESH) && !(name in AFTER_AN_HOUR))
if (unknown.length > 0) {
  console.error(
    `There is no picture ${unknown.join(", ")}: expected ${Object.keys({ ...FRESH, ...AFTER_AN_HOUR }).join(", ")}.`,
  )
  process.exit(2)
}
mkdirSync(folder, { recursive: true })
const chosen = (takes: Readonly<Record<string, Take>>) =>
  Object.entries(takes).filter(([name]) => wanted.length === 0 || wanted.includes(name))

const takeAll = async (program: Program, takes: ReadonlyArray<readonly [string, Take]>): Promise<void> => {
  for (const [name, take] of takes)
    for (const theme of THEMES) {
      const picture = await take(program, theme)
      const file = `${name}-${theme}.${name === "three-tabs" ? "gif" : "png"}`
      writeFileSync(join(folder, file), picture)
      console.log(`${file}: ${Math.ceil(picture.length / 1_000)} kB`)
    }
}

const fresh = chosen(FRESH)
if (fresh.length > 0) {
  await using program = await startProgram()
  await takeAll(program, fresh)
}
const busy = chosen(AFTER_AN_HOUR)
if (busy.length > 0) {
  const caughtUp = caughtUpAt(Date.now())
  await using program = await startProgram(true)
  const over = new AbortController()
  const calling = callAll(program.gate, caughtUp, over.signal)
  await new Promise((resolve) => setTimeout(resolve, caughtUp + 10_000 - Date.now()))
  await takeAll(program, busy)
  over.abort()
  await calling
}
