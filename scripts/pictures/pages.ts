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
import { caughtUpAt } from "./pace.ts"
import { LETTERS, launchBrowser, type Program, startProgram, type Theme } from "./program.ts"

interface Setting {
  readonly width: number
  readonly height: number
  readonly theme?: Theme
  readonly forcedColors?: boolean
}

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

/** A longer page is taken in pieces of this height, because a picture that is made smaller shows less. */
const PIECE = 1_500

/** Opens a page of the gate, and takes pictures of it: of its window, or of its whole length. */
const open = async (
  browser: Browser,
  name: string,
  { forcedColors = false, height, theme = "light", width }: Setting,
  address: string,
) => {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    forcedColors: forcedColors ? "active" : "none",
    reducedMotion: "reduce",
    bypassCSP: true,
    hasTouch: width < 500,
  })
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  await page.goto(address)
  const letters = () => page.addStyleTag({ content: LETTERS })
  await letters()
  const shoot = async (what: string, fullPage = false): Promise<void> => {
    await page.waitForTimeout(800)
    const whole = await page.evaluate<number>("document.documentElement.scrollHeight")
    if (!fullPage || whole <= PIECE) {
      await page.screenshot({ path: join(folder, `${what}-${name}.png`), fullPage })
      return
    }
    for (let y = 0; y < whole; y += PIECE) {
      const clip = { x: 0, y, width, height: Math.min(PIECE, whole - y) }
      await page.screenshot({ path: join(folder, `${what}-${name}-${1 + y / PIECE}.png`), fullPage, clip })
    }
  }
  return { context, letters, page, shoot }
}
type Opened = Awaited<ReturnType<typeof open>>

/** What has the focus: its name, where it is, and whether it can be seen that it has it. */
const walk = (page: Page) =>
  page.evaluate<string>(`(() => {
    const { activeElement: at } = document
    if (at === document.body) return ""
    const { left, top, width, height } = at.getBoundingClientRect()
    const name = at.getAttribute("aria-label") ?? (at.labels?.[0] ?? at).textContent.trim().slice(0, 60)
    const drawn = [at, at.parentElement].some((each) => getComputedStyle(each).outlineStyle !== "none")
    const covered = !at.contains(document.elementFromPoint(left + width / 2, top + height / 2)) && at.type !== "range"
    const seen = (drawn ? "" : " NOT DRAWN") + (covered ? " COVERED" : "")
    return [at.localName, name, [left, top, width, height].map(Math.round).join(" ") + seen].join(" | ")
  })()`)

/** Tabs through the page to its end, or so many steps. */
const tabThrough = async ({ page }: Pick<Opened, "page">, steps: number): Promise<void> => {
  console.log(`${page.url()} by keyboard`)
  for (let step = 1; step <= steps; step++) {
    await page.keyboard.press("Tab")
    const at = await walk(page)
    if (at === "") return
    console.log(`  ${step}: ${at}`)
  }
}

const openConsole = async (browser: Browser, name: string, gate: string, token: string) => {
  const opened = await open(browser, name, SETTINGS[name] ?? WIDE, `${gate}/console`)
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
  await context.setOffline(true)
  await page.getByRole("heading", { level: 1, name: "Disconnected" }).waitFor()
  await shoot("console-disconnected")
  await context.close()
}

const dashboardPages = async (program: Program, name: string): Promise<void> => {
  const { email, origin, password } = program.platform
  const opened = await open(program.browser, name, SETTINGS[name] ?? WIDE, `${origin}/`)
  const { context, letters, page, shoot } = opened
  await shoot("dashboard-sign-in")
  await page.getByLabel("Email address").fill(email)
  await page.getByLabel("Password").fill(password)
  await page.getByRole("button", { name: "Sign in" }).click()
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor()
  await letters()
  const links = page.getByRole("navigation").getByRole("link")
  for (const link of await links.all()) {
    const of = (await link.textContent())?.toLowerCase().replaceAll(" ", "-") ?? ""
    await link.click()
    await page.waitForTimeout(1_000)
    await shoot(`dashboard-${of}`, true)
    if (name === "wide") await tabThrough(opened, 80)
  }
  const to = async (hash: string, what: string, whole = true): Promise<void> => {
    await page.goto(`${origin}/#/${hash}`)
    await page.waitForTimeout(1_200)
    await shoot(what, whole)
  }
  await to("conversations?search=nobody-said-this", "dashboard-nothing-found")
  await to("conversations?search=order", "dashboard-found")
  await page.locator("tbody a").first().click()
  await page.waitForTimeout(800)
  await shoot("dashboard-transcript", true)
  await to("businesses", "dashboard-businesses")
  await page
    .getByRole("button", { name: /^Actions for/ })
    .nth(1)
    .click()
  await shoot("dashboard-menu")
  await page.getByRole("menuitem", { name: /^Delete/ }).click()
  await shoot("dashboard-delete")
  await page.keyboard.press("Escape")
  await page.getByRole("button", { name: "Add web campaign to Harbour" }).click()
  await page.getByRole("checkbox", { name: /^Notify a server/ }).check()
  await page.getByRole("button", { name: "Add web campaign", exact: true }).click()
  await shoot("dashboard-campaign-errors")
  await page.keyboard.press("Escape")
  await page
    .getByRole("link", { name: /^Embed/ })
    .first()
    .click()
  await page.waitForTimeout(3_000)
  await shoot("dashboard-embed")
  await page.getByLabel("Show", { exact: true }).selectOption("waiting")
  await page.waitForTimeout(1_500)
  await shoot("dashboard-embed-waiting", true)
  await to("keys", "dashboard-keys")
  await page.getByRole("button", { name: "Create API key" }).click()
  await shoot("dashboard-new-key")
  await page.keyboard.press("Escape")
  await page.locator("tbody a.name").first().click()
  await page.waitForTimeout(1_000)
  await shoot("dashboard-key", true)
  await to("webhooks", "dashboard-webhooks")
  await page.getByRole("button", { name: "Resend failed…" }).click()
  await shoot("dashboard-resend")
  await page.keyboard.press("Escape")
  await page.locator("tbody a").first().click()
  await page.waitForTimeout(1_000)
  await shoot("dashboard-delivery", true)
  await context.close()
}

/** What an account has after a while: more businesses and campaigns, and keys of every kind. */
const furnish = async ({ browser, platform: { email, origin, password } }: Program): Promise<void> => {
  const page = await (await browser.newContext()).newPage()
  await page.goto(`${origin}/`)
  await page.evaluate(`(async () => {
    const send = async (method, path, body) => {
      const answer = await fetch("/dashboard/api" + path, { method, headers: { "content-type": "application/json" }, body: body && JSON.stringify(body) })
      const text = await answer.text()
      if (!answer.ok) throw new Error(path + " " + text)
      return text === "" ? undefined : JSON.parse(text)
    }
    await send("POST", "/session", ${JSON.stringify({ email, password })})
    const DAY = 86_400_000
    const hook = (url, headers = []) => ({ url, headers, signing: { type: "none" } })
    const clinic = await send("POST", "/businesses", { name: "Harbour clinic, Rotterdam" })
    for (const [name, webhook] of [
      ["Reception", hook("https://voice.harbour-clinic.example/api/webhook/session-ended", [{ name: "X-Api-Token", value: "secret" }])],
      ["Night line", hook("https://voice.harbour-clinic.example/api/webhook/session-ended")],
      ["Physiotherapy and rehabilitation", null],
    ]) await send("POST", "/businesses/" + clinic.id + "/campaigns", { name, webhook })
    await send("POST", "/businesses", { name: "Empty" })
    for (const key of [
      { name: "Gate of the clinic", scope: { type: "Restricted", businessIds: [clinic.id] }, permissions: ["start"], expiresAt: Date.now() + 9 * DAY },
      { name: "Reports", permissions: ["read"], scope: { type: "Unrestricted" }, allowedAddresses: ["198.51.100.0/24", "2001:db8::/48"] },
      { name: "Terraform", scope: { type: "Unrestricted" }, userManagement: true, expiresAt: Date.now() + 200 * DAY },
      { name: "Old", scope: { type: "Unrestricted" } },
    ]) {
      const { key: made } = await send("POST", "/keys", key)
      if (key.name === "Old") await send("POST", "/keys/" + made.id + "/revoke")
      if (key.name === "Terraform") await send("POST", "/keys/" + made.id + "/rotate", { previousUntil: Date.now() + DAY })
    }
  })()`)
  await page.context().close()
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
  for (const name of settings) await dashboardPages(program, name)
  over.abort()
  await calling
}

await Promise.all([
  ...(which === "dashboard" ? [] : [pagesOfConsole()]),
  ...(which === "console" ? [] : [pagesOfDashboard()]),
])
