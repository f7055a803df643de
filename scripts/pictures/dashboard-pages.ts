/** Each page of the dashboard, its dialogs, and what it says when something is wrong. */
import { once } from "node:events"
import { WebSocket } from "ws"
import type { Opened } from "./camera.ts"
import { tabThrough } from "./camera.ts"
import type { Program } from "./program.ts"

type Credentials = Program["platform"]
type Film = Pick<Opened, "page" | "shoot"> & {
  /** Opens the page that the address after `#` names. */
  readonly to: (hash: string) => Promise<void>
}

/** @param byKeyboard whether the pages are walked through by keyboard too */
export const dashboardPages = async (
  { email, origin, password }: Credentials,
  open: (address: string) => Promise<Opened>,
  byKeyboard: boolean,
): Promise<void> => {
  const opened = await open(`${origin}/`)
  const { context, letters, page, shoot } = opened
  await shoot("dashboard-sign-in")
  await page.getByRole("button", { name: "Sign in" }).click()
  await shoot("dashboard-sign-in-errors")
  await page.getByLabel("Email address").fill(email)
  await page.getByLabel("Password").fill(password)
  await page.getByRole("button", { name: "Sign in" }).click()
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor()
  await letters()
  // hidden behind a button on a narrow page
  const menu = page.getByRole("button", { name: "Menu", exact: true })
  if (await menu.isVisible()) {
    await menu.click()
    await shoot("dashboard-navigation")
    await menu.click()
  }
  for (const name of await page.locator("#pages a").allTextContents()) {
    if (await menu.isVisible()) await menu.click()
    await page.getByRole("link", { name, exact: true }).click()
    await page.mouse.move(0, 0)
    await page.waitForTimeout(1_000)
    await shoot(`dashboard-${name.toLowerCase().replaceAll(" ", "-")}`, true)
    if (byKeyboard) await tabThrough(opened, 80)
  }
  const to = async (hash: string): Promise<void> => {
    await page.goto(`${origin}/#/${hash}`)
    await page.waitForTimeout(1_200)
  }
  const film = { page, shoot, to }
  await conversations(film)
  await businesses(film)
  await embed(film)
  await page.locator("h1").focus()
  if (byKeyboard) await tabThrough(opened, 120)
  await keys(film)
  await webhooks(film)
  await setup(film, async () => {
    if (byKeyboard) await tabThrough(opened, 60)
  })
  await account(film)
  await failures(film)
  await context.close()
}

const conversations = async ({ page, shoot, to }: Film): Promise<void> => {
  await to("conversations?search=nobody-said-this")
  await shoot("dashboard-nothing-found", true)
  await to("conversations?search=order")
  await shoot("dashboard-found", true)
  await page.locator("tbody a").first().click()
  await page.waitForTimeout(800)
  await shoot("dashboard-transcript", true)
}

const businesses = async ({ page, shoot, to }: Film): Promise<void> => {
  await to("businesses")
  const actions = page.getByRole("button", { name: /^Actions for/ })
  await actions.nth(1).click()
  await shoot("dashboard-menu")
  await page.getByRole("menuitem", { name: /^Delete/ }).click()
  await shoot("dashboard-delete")
  await page.keyboard.press("Escape")
  await page.getByRole("button", { name: "Add web campaign to Harbour" }).click()
  await page.getByRole("checkbox", { name: /^Notify a server/ }).check()
  await page.getByRole("button", { name: "Add web campaign", exact: true }).click()
  await shoot("dashboard-campaign-errors")
  await page.keyboard.press("Escape")
}

const embed = async ({ page, shoot }: Film): Promise<void> => {
  await page
    .getByRole("link", { name: /^Embed/ })
    .first()
    .click()
  await page.waitForTimeout(3_000)
  await shoot("dashboard-embed")
  await page.getByLabel("Show", { exact: true }).selectOption("waiting")
  // a frame that is not in view is not drawn
  await page.getByTitle("Preview of the widget").scrollIntoViewIfNeeded()
  await page.waitForTimeout(1_500)
  await shoot("dashboard-embed-waiting", true)
  await page.getByLabel("Agent’s name").fill("Ada")
  await page.getByLabel("Color (optional)").fill("no color")
  await page.getByLabel("Position").selectOption("floating")
  await page.getByLabel("Ask for consent").fill("This call is recorded.")
  await page.getByLabel("Language", { exact: true }).selectOption("de")
  await page.getByLabel("Show", { exact: true }).selectOption("call")
  await page.getByTitle("Preview of the widget").scrollIntoViewIfNeeded()
  await page.waitForTimeout(1_500)
  await shoot("dashboard-embed-filled", true)
  const bar = page.getByRole("navigation", { name: "Parts of this page" })
  if (!(await bar.isVisible())) return
  await bar.getByRole("button", { name: "Call" }).click()
  await shoot("dashboard-embed-jumped")
  await bar.getByRole("button", { name: "Preview" }).click()
  await shoot("dashboard-embed-jumped-back")
}

const keys = async ({ page, shoot, to }: Film): Promise<void> => {
  await to("keys")
  await page.locator("summary").click()
  await shoot("dashboard-keys-revoked", true)
  await page.getByRole("button", { name: "Create API key" }).click()
  await page.getByRole("button", { name: "Create key" }).click()
  await shoot("dashboard-new-key")
  await page.keyboard.press("Escape")
  for (const name of ["Edit", "Rotate", "Revoke"]) {
    await page.getByRole("button", { name: "Actions for Terraform" }).click()
    await page.getByRole("menuitem", { name: `${name} Terraform` }).click()
    await shoot(`dashboard-key-${name.toLowerCase()}`)
    await page.keyboard.press("Escape")
  }
  await page.getByRole("link", { name: "Terraform" }).click()
  await page.waitForTimeout(1_000)
  await shoot("dashboard-key-unused", true)
  await to("keys")
  // the one that the gate of the demo uses
  await page.getByRole("link", { name: "gate", exact: true }).click()
  await page.waitForTimeout(1_000)
  await shoot("dashboard-key", true)
}

const webhooks = async ({ page, shoot, to }: Film): Promise<void> => {
  await to("webhooks")
  await page.getByRole("button", { name: "Resend failed…" }).click()
  await shoot("dashboard-resend")
  await page.getByLabel("Created in").selectOption("0")
  await page.getByRole("button", { name: "Resend", exact: true }).click()
  await shoot("dashboard-resend-errors")
  await page.getByLabel("Created in").selectOption("24")
  await page.getByRole("button", { name: "Resend", exact: true }).click()
  await shoot("dashboard-resent")
  await page.locator("tbody a").first().click()
  await page.waitForTimeout(1_000)
  await shoot("dashboard-delivery", true)
  await to("webhooks?state=pending")
  await shoot("dashboard-webhooks-pending", true)
  await page.locator("tbody a").first().click()
  await page.waitForTimeout(1_000)
  await shoot("dashboard-delivery-pending", true)
}

/** What exists is chosen, so that nothing is made. */
const setup = async ({ page, shoot, to }: Film, walk: () => Promise<void>): Promise<void> => {
  const next = () => page.getByRole("button", { name: "Continue", exact: true }).click()
  await to("setup")
  await walk()
  await page.getByLabel("Business", { exact: true }).selectOption("")
  await next()
  await shoot("dashboard-setup-errors", true)
  await page.getByLabel("Business", { exact: true }).selectOption({ index: 0 })
  await next()
  await page.getByRole("radio", { name: /^Send it to the gate/ }).check()
  await page.getByLabel("Gate address").fill("nonsense")
  await next()
  await walk()
  await shoot("dashboard-setup-campaign", true)
  await page.getByRole("radio", { name: /^Keep the current/ }).check()
  await next()
  await shoot("dashboard-setup-key", true)
  await walk()
  await page.getByLabel("API key", { exact: true }).selectOption({ index: 0 })
  await next()
  await shoot("dashboard-setup-settings", true)
  await walk()
  await page.getByRole("radio", { name: "Environment variables" }).check()
  await shoot("dashboard-setup-environment", true)
  await page.getByRole("button", { name: "Continue to the check" }).click()
  await page.waitForTimeout(1_000)
  await shoot("dashboard-setup-check", true)
  await walk()
}

const account = async ({ page, shoot, to }: Film): Promise<void> => {
  await to("account")
  await page.getByRole("button", { name: "Change password" }).click()
  await shoot("dashboard-account-errors", true)
  await page
    .getByRole("button", { name: /^End the sign-in/ })
    .first()
    .click()
  await shoot("dashboard-end-sign-in")
  await page.keyboard.press("Escape")
}

/** What is said while the platform does not answer, and when the session has ended. */
const failures = async ({ page, shoot, to }: Film): Promise<void> => {
  await page.route("**/dashboard/api/**", (route) => route.abort())
  await to("live")
  await shoot("dashboard-unreachable")
  await page.unroute("**/dashboard/api/**")
  await to("overview")
  await page.context().clearCookies()
  await to("audit")
  await shoot("dashboard-session-ended")
}

/** What is made through the dashboard, for a call by the platform's own API. */
interface Made {
  readonly businessId: string
  readonly campaignId: string
  readonly secret: string
}

/** A call whose end the platform cannot tell: its webhook's host does not exist. It is tried until a slot is free. */
const callInVain = async (origin: string, { businessId, campaignId, secret }: Made): Promise<void> => {
  const audio = { sampleRate: 16_000, bitsPerSample: 16, audioEncodingType: 1, audioEncodingFallbackMode: 0 }
  for (let tries = 0; tries < 200; tries++) {
    const response = await fetch(`${origin}/api/v1/business/${businessId}/websession/initiate`, {
      method: "POST",
      headers: { authorization: `Token ${secret}`, "content-type": "application/json" },
      body: JSON.stringify({
        transportType: 0,
        webCampaignId: campaignId,
        regionId: "local",
        clientIdentifier: "patient-12",
        audioInputConfiguration: audio,
        audioOutputConfiguration: { ...audio, frameDurationMs: 30 },
      }),
    })
    if (response.ok) {
      const { data }: { readonly data: { readonly sessionWebSocketURL: string } } = JSON.parse(await response.text())
      const socket = new WebSocket(data.sessionWebSocketURL)
      await once(socket, "message")
      socket.close()
      return
    }
    if (tries === 0) console.log(`A call of the clinic: ${response.status} ${await response.text()}`)
    await new Promise((resolve) => setTimeout(resolve, 300))
  }
}

/** What an account has after a while: more businesses and campaigns, keys of every kind, and a webhook that fails. */
export const furnish = async ({ browser, platform: { email, origin, password } }: Program): Promise<void> => {
  const page = await (await browser.newContext()).newPage()
  await page.goto(`${origin}/`)
  const made = await page.evaluate<Made>(`(async () => {
    const send = async (method, path, body) => {
      const answer = await fetch("/dashboard/api" + path, { method, headers: { "content-type": "application/json" }, body: body && JSON.stringify(body) })
      const text = await answer.text()
      if (!answer.ok) throw new Error(path + " " + text)
      return text === "" ? undefined : JSON.parse(text)
    }
    // while the program's clock runs fast, a busy machine answers too late by it
    for (let tries = 1; ; tries++) {
      try {
        await send("POST", "/session", ${JSON.stringify({ email, password })})
        break
      } catch (error) {
        if (tries === 10) throw error
      }
    }
    const DAY = 86_400_000
    const hook = (url, headers = []) => ({ url, headers, signing: { type: "none" } })
    const clinic = await send("POST", "/businesses", { name: "Harbour clinic, Rotterdam" })
    const campaigns = []
    for (const [name, webhook] of [
      ["Reception", hook("https://voice.harbour-clinic.example/api/webhook/session-ended", [{ name: "X-Api-Token", value: "secret" }])],
      ["Night line", hook("https://voice.harbour-clinic.example/api/webhook/session-ended")],
      ["Physiotherapy and rehabilitation", null],
    ]) campaigns.push(await send("POST", "/businesses/" + clinic.id + "/campaigns", { name, webhook }))
    await send("POST", "/businesses", { name: "Empty" })
    let secret
    for (const key of [
      { name: "Gate of the clinic", scope: { type: "Restricted", businessIds: [clinic.id] }, permissions: ["start"], expiresAt: Date.now() + 9 * DAY },
      { name: "Reports", permissions: ["read"], scope: { type: "Unrestricted" }, allowedAddresses: ["198.51.100.0/24", "2001:db8::/48"] },
      { name: "Terraform", scope: { type: "Unrestricted" }, userManagement: true, expiresAt: Date.now() + 200 * DAY },
      { name: "Old", scope: { type: "Unrestricted" } },
    ]) {
      const { key: made, ...created } = await send("POST", "/keys", key)
      secret ??= created.secret
      if (key.name === "Old") await send("POST", "/keys/" + made.id + "/revoke")
      if (key.name === "Terraform") await send("POST", "/keys/" + made.id + "/rotate", { previousUntil: Date.now() + DAY })
    }
    return { businessId: clinic.id, campaignId: campaigns[0].id, secret }
  })()`)
  await page.context().close()
  await callInVain(origin, made)
}
