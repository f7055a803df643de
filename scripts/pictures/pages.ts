/**
 * Takes pictures of all of the console and of the dashboard as they are built, on pages of several kinds, into a folder outside the repository, to
 * be looked at one by one:
 *
 *     npm run build && node scripts/pictures/pages.ts FOLDER [console | dashboard] [--on wide,phone-dark,…]
 *
 * The console is that of a gate with all of control on (`controlled.ts`), the dashboard that of the demo; both have an hour of calls.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { parseArgs } from "node:util"
import type { Browser, Page } from "playwright-core"
import { callAll } from "./callers.ts"
import { open, type Setting, tabThrough } from "./camera.ts"
import { dashboardPages, furnish } from "./dashboard-pages.ts"
import { caughtUpAt } from "./pace.ts"
import { launchBrowser, startProgram } from "./program.ts"

const WIDE = { width: 1_280, height: 800 }
const PHONE = { width: 360, height: 740 }
const SETTINGS: Readonly<Record<string, Setting>> = {
  wide: WIDE,
  "wide-dark": { ...WIDE, theme: "dark" },
  phone: PHONE,
  "phone-dark": { ...PHONE, theme: "dark" },
  tablet: { width: 900, height: 1_100 },
  // as a browser shows 1,280 by 800 at 200 %
  doubled: { width: 640, height: 400 },
  forced: { ...WIDE, theme: "dark", forcedColors: true },
}

const { positionals, values } = parseArgs({ allowPositionals: true, options: { on: { type: "string" } } })
const [folder, which] = positionals
const settings = (values.on ?? Object.keys(SETTINGS).join()).split(",")
const unknown = settings.filter((name) => !(name in SETTINGS))
if (folder === undefined || unknown.length > 0 || !["console", "dashboard", undefined].includes(which)) {
  console.error(
    `Expected a folder, console or dashboard or both, and of the pages ${Object.keys(SETTINGS).join(", ")}.`,
  )
  process.exit(2)
}
mkdirSync(folder, { recursive: true })

const openConsole = async (browser: Browser, name: string, gate: string, token: string) => {
  const opened = await open(folder, browser, name, SETTINGS[name] ?? WIDE, `${gate}/console`)
  const { page, shoot } = opened
  await shoot("console-sign-in")
  await page.getByLabel("Console token").fill(token)
  await page.getByRole("button", { name: "Sign in" }).click()
  await page.getByText("Live", { exact: true }).waitFor()
  await page.waitForTimeout(4_000)
  const choose = async (campaign: string): Promise<void> => {
    await page.getByRole("navigation", { name: "Campaigns" }).getByRole("link", { name: campaign }).click()
    await page.waitForTimeout(3_500)
  }
  return { ...opened, choose }
}

/** What the gate answers is changed so, until `restore` is called. */
const answering = async (
  page: Page,
  change: (answer: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>,
): Promise<{ readonly restore: () => Promise<void> }> => {
  const address = /\/api\/(view|campaigns)/
  await page.route(address, async (route) => {
    const response = await route.fetch()
    const answer: Readonly<Record<string, unknown>> = await response.json()
    await route.fulfill({ response, json: { ...answer, ...change(answer) } })
  })
  return { restore: () => page.unroute(address) }
}

const listIn = (answer: Readonly<Record<string, unknown>>, name: string): ReadonlyArray<object> => {
  const list = answer[name]
  return Array.isArray(list) ? list : []
}

/** What cannot be brought about in one process: the store is away, another instance has died, and an answer takes long. */
const answeredPages = async (page: Page, shoot: (what: string) => Promise<void>): Promise<void> => {
  const away = await answering(page, (answer) => {
    const campaigns = listIn(answer, "campaigns").map((each) =>
      typeof each === "string" ? each : { ...each, figures: null, refused: null },
    )
    if (!("health" in answer)) return { campaigns }
    const store = { name: "Store", state: "failed", detail: "The shared store is unreachable.", at: answer.now }
    const health = listIn(answer, "health").map((each) => (Object(each).name === "Store" ? store : each))
    return { health, queue: null, instances: [], refused: [], buckets: [] }
  })
  await page.getByRole("heading", { level: 1, name: "Store unreachable" }).waitFor()
  await page.waitForTimeout(4_500)
  await shoot("console-store-away")
  await away.restore()
  const dead = await answering(page, (answer) => {
    if (!("health" in answer)) return {}
    const now = Number(answer.now)
    const [one] = listIn(answer, "instances")
    const silent = { ...one, id: "I-k40TzR", host: "gate-2", seenAt: now - 185_000, startedAt: now - 9_000_000 }
    const at = new Date(now - 185_000).toISOString()
    const detail = `I-k40TzR has not reported since ${at}, and did not say that it stops.`
    const down = { name: "Instance gate-2", state: "failed", detail, at: now }
    return { instances: [silent, ...listIn(answer, "instances")], health: [...listIn(answer, "health"), down] }
  })
  await page.getByRole("heading", { level: 1, name: "Instance gate-2 is down" }).waitFor()
  await shoot("console-instance-down")
  await page.getByRole("link", { name: "Health", exact: true }).click()
  await shoot("console-instance-down-health")
  await dead.restore()
  let release = (): void => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  await page.route(/\/api\/view\?campaign=sales/, async (route) => {
    await held
    await route.continue()
  })
  await page.getByRole("navigation", { name: "Campaigns" }).getByRole("link", { name: "sales" }).click()
  await page.getByRole("heading", { level: 1, name: "Loading sales…" }).waitFor()
  await shoot("console-awaits")
  release()
  await page.waitForTimeout(3_000)
}

/** While the vendor of one campaign fails. */
const brokenPages = async (...given: Parameters<typeof openConsole>): Promise<void> => {
  const { choose, context, shoot } = await openConsole(...given)
  await shoot("console-broken")
  await choose("support")
  await shoot("console-broken-support", true)
  await choose("returns")
  await shoot("console-broken-returns")
  await context.close()
}

const consolePages = async (...given: Parameters<typeof openConsole>): Promise<void> => {
  const [, name] = given
  const opened = await openConsole(...given)
  const { choose, context, page, shoot } = opened
  await shoot("console")
  await shoot("console-all", true)
  if (name === "wide") await tabThrough(opened, 120)
  for (const campaign of ["sales", "returns", "night-desk", "trial-of-the-spanish-agent", "support"]) {
    await choose(campaign)
    await shoot(`console-${campaign}`, campaign === "sales")
  }
  for (const part of ["Callers", "Health", "Log"]) {
    await page.getByRole("link", { name: part, exact: true }).click()
    await shoot(`console-jump-${part.toLowerCase()}`)
  }
  await page.getByRole("link", { name: "Now", exact: true }).click()
  await choose("default")
  await page.mouse.move(0, 0)
  await page.locator("h1").click()
  for (const key of ["?", "p", "d"]) {
    await page.keyboard.press(key)
    await shoot(`console-key-${key === "?" ? "help" : key}`)
    await page.keyboard.press("Escape")
  }
  await page.getByRole("button", { name: "End all calls" }).click()
  await shoot("console-end-all")
  await page.keyboard.press("Escape")
  const remove = page.getByRole("region", { name: "Waiting", exact: true }).getByRole("button", { name: /^Remove/ })
  if ((await remove.count()) > 0) {
    await remove.first().press("Enter")
    await shoot("console-remove")
    await page.keyboard.press("Escape")
    await shoot("console-not-removed")
  }
  await page.keyboard.press("p")
  await page.getByLabel("Until a date and time").check()
  await page.getByLabel("Date and time", { exact: true }).fill("")
  await page.getByRole("button", { name: "Pause", exact: true }).click()
  await shoot("console-pause-error")
  await page.keyboard.press("Escape")
  const first = page.getByRole("region", { name: "Addresses that ask most" }).getByRole("button", { name: /^Block/ })
  await first.first().click()
  await shoot("console-block")
  await page.keyboard.press("Escape")
  const field = page.getByLabel("Find a caller")
  await field.fill("zz")
  await field.press("Enter")
  await shoot("console-find-error")
  await field.fill("198.51.100.3")
  await field.press("Enter")
  await shoot("console-found")
  for (const range of ["24 hours", "7 days", "1 hour"]) {
    await page.getByRole("button", { name: range }).click()
    await page.waitForTimeout(1_500)
    const charts = page.locator(".charts")
    await charts.scrollIntoViewIfNeeded()
    if (range === "1 hour") await page.locator('[data-plot="outcomes"] .canvas').hover()
    await shoot(`console-charts-${range.replace(" ", "-")}`)
  }
  await page.getByRole("link", { name: "Now", exact: true }).click()
  await answeredPages(page, shoot)
  await page.getByRole("link", { name: "Now", exact: true }).click()
  await context.setOffline(true)
  await page.getByRole("heading", { level: 1, name: "Disconnected" }).waitFor()
  await shoot("console-disconnected")
  await context.close()
}

const until = (time: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, time - Date.now()))

const pagesOfConsole = async (): Promise<void> => {
  const caughtUp = caughtUpAt(Date.now())
  const here = import.meta.dirname
  const command = ["--import", join(here, "an-hour.ts"), join(here, "controlled.ts")]
  const gate = spawn(process.execPath, command, { stdio: ["ignore", "pipe", "inherit"] })
  const [line = ""] = await once(createInterface({ input: gate.stdout }), "line")
  const [, origin = "", token = ""] = line.split(" ")
  const browser = await launchBrowser()
  try {
    await until(caughtUp + 10_000)
    await Promise.all(settings.map((name) => consolePages(browser, name, origin, token)))
    gate.kill("SIGUSR2")
    // until a caller has been tried, and each check is older than its age
    await new Promise((resolve) => setTimeout(resolve, 90_000))
    await Promise.all(settings.map((name) => brokenPages(browser, name, origin, token)))
  } finally {
    await browser.close()
    gate.kill()
  }
}

const pagesOfDashboard = async (): Promise<void> => {
  const caughtUp = caughtUpAt(Date.now())
  await using program = await startProgram(true)
  const over = new AbortController()
  const calling = callAll(program.gate, caughtUp, over.signal)
  await furnish(program)
  await until(caughtUp + 10_000)
  for (const name of settings) {
    const { browser, platform } = program
    const look = (address: string) => open(folder, browser, name, SETTINGS[name] ?? WIDE, address)
    await dashboardPages(platform, look, name === "wide")
  }
  over.abort()
  await calling
}

await Promise.all([
  ...(which === "dashboard" ? [] : [pagesOfConsole()]),
  ...(which === "console" ? [] : [pagesOfDashboard()]),
])
