/**
 * Takes the pictures of README and documents, from the program as it is built, into `src/docs/pictures`, each for light and for dark pages. Of a
 * still that a page of `/docs` has, there is also a small one (`console.webp`), which the package contains:
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
import { encodeWebp, FULL, SMALL } from "./pictures/webp.ts"

type Take = (program: Program, theme: Theme) => Promise<Uint8Array>

/** Each with the name of its file. */
const FRESH: Readonly<Record<string, Take>> = {
  "three-tabs": threeTabs,
  widget: stills.widget,
  closed: stills.closed,
}
const AFTER_AN_HOUR: Readonly<Record<string, Take>> = {
  console: stills.console,
  dashboard: stills.dashboard,
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

const save = (file: string, bytes: Uint8Array): void => {
  writeFileSync(join(folder, file), bytes)
  console.log(`${file}: ${Math.ceil(bytes.length / 1_000)} kB`)
}

const takeAll = async (
  program: Program,
  takes: ReadonlyArray<readonly [string, Take]>,
  themes: ReadonlyArray<Theme>,
): Promise<void> => {
  for (const [name, take] of takes)
    for (const theme of themes) {
      const picture = await take(program, theme)
      if (name === "three-tabs") save(`${name}-${theme}.gif`, picture)
      else {
        save(`${name}-${theme}.webp`, await encodeWebp(program.browser, picture, FULL))
        if (theme === "light") save(`${name}.webp`, await encodeWebp(program.browser, picture, SMALL))
      }
    }
}

const fresh = chosen(FRESH)
// each theme has a program of its own: the calls of one are short, and would make the waits of the other look long
for (const theme of fresh.length > 0 ? THEMES : []) {
  await using program = await startProgram()
  await takeAll(program, fresh, [theme])
}
const busy = chosen(AFTER_AN_HOUR)
if (busy.length > 0) {
  const caughtUp = caughtUpAt(Date.now())
  await using program = await startProgram(true)
  const over = new AbortController()
  const calling = callAll(program.gate, caughtUp, over.signal)
  await new Promise((resolve) => setTimeout(resolve, caughtUp + 10_000 - Date.now()))
  await takeAll(program, busy, THEMES)
  over.abort()
  await calling
}
