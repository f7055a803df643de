/** The built dashboard on the real platform, in a real browser: the life of a key, and the records of its calls. */
import { createServer } from "node:http"
import { dirname, join } from "node:path"
import { Context, Effect, Exit, Layer, Redacted, Scope } from "effect"
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, expect, it } from "vitest"
import { WebSocket } from "ws"
import { Businesses } from "../../../src/platform/businesses/Businesses.ts"
import * as Platform from "../../../src/platform/Platform.ts"
import { Users } from "../../../src/platform/users/Users.ts"
import { program, whenBuilt } from "../../harness/build.ts"
import { eventually } from "../../harness/process.ts"
import { sharedBrowser } from "../../support/browser.ts"
import { cheapPasswords } from "../../support/passwords.ts"

const EMAIL = "ada@example.test"
const PASSWORD = "correct horse battery"

const page = join(dirname(program), "web/dashboard")
let browser: Browser
let origin: string
const scope = Scope.makeUnsafe()

beforeAll(async () => {
  const platform = Effect.gen(function* () {
    const context = yield* Layer.buildWithScope(
      Platform.layer({ privateWebhooks: true, dashboardPage: page }).pipe(Layer.provide(cheapPasswords)),
      scope,
    )
    const ada = { id: "ada", name: "Ada", email: EMAIL, password: Redacted.make(PASSWORD), callConcurrency: 2 }
    yield* Context.get(context, Users).create(ada)
    yield* Context.get(context, Businesses).create("ada", { id: "other", name: "Other" })
    yield* Context.get(context, Businesses).putRegion({ id: "eu", name: "Europe" })
    return Context.get(context, Platform.Platform).origin
  })
  await whenBuilt()
  origin = await Effect.runPromise(platform)
  browser = await sharedBrowser()
})

afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const click = (tab: Page, name: string): Promise<void> => tab.getByRole("button", { name, exact: true }).click()
const choose = async (tab: Page, name: string): Promise<void> => {
  await click(tab, `Actions for ${name.replace(/^\w+ /, "")}`)
  await tab.getByRole("menuitem", { name, exact: true }).click()
}
const visit = (tab: Page, name: string): Promise<void> => tab.getByRole("link", { name, exact: true }).click()

/** Copies something, and reads it once the page has said that it is copied. */
const copy = async (tab: Page, what: string): Promise<string> => {
  await click(tab, `Copy ${what}`)
  await tab.locator("#said").getByText(`Copied ${what}.`).waitFor({ state: "attached" })
  return String(await tab.evaluate("navigator.clipboard.readText()"))
}

interface Answer {
  readonly status: number
  readonly code: unknown
  readonly data: unknown
}

/** A request of the REST API with a key. */
const ask = async (secret: string, path: string, body?: unknown): Promise<Answer> => {
  const response = await fetch(`${origin}/api/v1/${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { authorization: `Token ${secret}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const answer: unknown = await response.json()
  return { status: response.status, code: field(answer, "code"), data: field(answer, "data") }
}

const field = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? new Map(Object.entries(value)).get(name) : undefined

const audio = { sampleRate: 16_000, bitsPerSample: 16, audioEncodingType: 1, audioEncodingFallbackMode: 0 }

it("makes a business, a campaign and a restricted key, which works within its business until it is revoked", async () => {
  const complaints: Array<string> = []
  const received: Array<string> = []
  const receiver = createServer((request, response) => {
    received.push(String(request.headers["webhook-id"]))
    response.writeHead(received.length === 1 ? 503 : 200).end()
  })
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve))
  const address = receiver.address()
  const port = typeof address === "object" && address !== null ? address.port : 0

  const context = await browser.newContext({ viewport: { width: 1200, height: 800 }, reducedMotion: "reduce" })
  await context.grantPermissions(["clipboard-read", "clipboard-write"])
  context.setDefaultTimeout(60_000)
  const tab = await context.newPage()
  tab.on("pageerror", (error) => complaints.push(String(error)))
  tab.on("console", (message) => {
    if (message.type() === "error" && !message.text().includes("Failed to load resource"))
      complaints.push(message.text())
  })
  try {
    await tab.goto(`${origin}/#/businesses`)
    await tab.getByLabel("Email address").fill(EMAIL)
    await tab.getByLabel("Password").fill(PASSWORD)
    await click(tab, "Sign in")
    await click(tab, "Add business")
    await tab.getByRole("textbox", { name: "Name" }).fill("Bakery")
    await tab.keyboard.press("Enter")
    const businessId = await copy(tab, "the ID of Bakery")

    await click(tab, "Add web campaign to Bakery")
    await tab.getByRole("textbox", { name: "Name", exact: true }).fill("Widget")
    await tab.getByRole("checkbox", { name: /Notify a server/ }).check()
    await tab.getByLabel("Endpoint URL").fill(`http://127.0.0.1:${port}/hook`)
    await tab.keyboard.press("Enter")
    const webCampaignId = await copy(tab, "the ID of Widget")

    await visit(tab, "API keys")
    await click(tab, "Create API key")
    await tab.getByRole("textbox", { name: "Name" }).fill("Gate")
    await tab.getByRole("checkbox", { name: "Bakery" }).check()
    for (const permission of [/^Read/, /^Manage/]) await tab.getByRole("checkbox", { name: permission }).uncheck()
    await click(tab, "Create key")
    const secret = await copy(tab, "the secret")
    await click(tab, "Done")
    const row = tab.getByRole("row", { name: /Gate/ })
    await row.getByText(secret.slice(-4)).waitFor()
    await row.getByText("Never").first().waitFor()

    expect(await ask(secret, `business/${businessId}`)).toMatchObject({ status: 200, data: { name: "Bakery" } })
    expect(await ask(secret, "business/other")).toMatchObject({ status: 403 })
    expect(await ask(secret, `business/${businessId}/webcampaigns`)).toMatchObject({
      status: 403,
      code: "ListWebCampaigns:PERMISSION_MISSING",
    })
    const user = await ask(secret, "user/billing/usage")
    expect(user.status).toBe(403)
    expect(user.code).toMatch(/API_ACCESS_MANAGEMENT_RESTRICTION$/)

    const started = await ask(secret, `business/${businessId}/websession/initiate`, {
      transportType: 0,
      webCampaignId,
      regionId: "eu",
      clientIdentifier: "visitor-1",
      audioInputConfiguration: audio,
      audioOutputConfiguration: { ...audio, frameDurationMs: 30 },
    })
    expect(started.status).toBe(200)
    const socketUrl = String(field(started.data, "sessionWebSocketURL"))
    await visit(tab, "Live")
    await tab.getByText("1 of 2 concurrent calls in use").waitFor()
    await tab.getByText("Waiting to connect").waitFor()
    const socket = new WebSocket(socketUrl)
    await new Promise((resolve, reject) => socket.once("message", resolve).once("error", reject))
    await tab.getByText("In call").waitFor()
    await visit(tab, "Transcript")
    await tab.getByText("visitor-1").waitFor()
    await tab.locator(".turns li").first().waitFor()
    socket.close()

    await visit(tab, "Webhooks")
    await tab.getByText("Delivered", { exact: true }).and(tab.locator(".mark")).waitFor()
    await eventually("both tries", () => received.length === 2)
    expect(received[0]).toBe(received[1])

    await visit(tab, "API keys")
    await row.getByText(/just now|seconds ago/).waitFor()
    await choose(tab, "Revoke Gate")
    await click(tab, "Revoke key")
    await tab.getByText("Revoked and expired (1)").waitFor()
    expect(await ask(secret, `business/${businessId}`)).toMatchObject({ status: 401, code: "API_KEY_INVALID" })

    await visit(tab, "Audit log")
    await tab.getByText("API key revoked").waitFor()
    await tab.getByText("API key created").waitFor()
    expect(await tab.content()).not.toContain(secret)
    await click(tab, "Sign out")
    await tab.getByRole("heading", { name: "Sign in" }).waitFor()
    expect(complaints).toEqual([])
  } finally {
    await context.close()
    receiver.close()
    receiver.closeAllConnections()
  }
})
