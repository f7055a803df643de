/** The built dashboard in a real browser, against an API with nothing behind it: businesses, conversations, sessions and webhook deliveries. */
import axe from "axe-core"
import { describe, expect, it } from "vitest"
import type { DeliveryDetail, Transcript } from "../../../src/platform/http/dashboard/shapes.ts"
import { eventually } from "../../harness/process.ts"
import { announced, BAKERY, choose, click, copied, dialog, heading, holds, later, useDashboard, visit } from "./rig.ts"

const dashboard = useDashboard()

describe("businesses and web campaigns", () => {
  it("are added, copied, edited without showing what is secret, and deleted", async () => {
    const tab = await dashboard.signIn("#/businesses")
    await click(tab, "Copy the ID of Bakery")
    await announced(tab, "Copied the ID of Bakery.")
    await copied(tab, "business-1")

    await click(tab, "Add web campaign to Bakery")
    await tab.getByRole("textbox", { name: "Name", exact: true }).fill("Widget")
    await tab.getByLabel("Maximum call length (minutes)").fill("1441")
    await tab.getByRole("checkbox", { name: /Notify a server/ }).check()
    await tab.getByLabel("Endpoint URL").fill("gate.example/hook")
    await tab.getByRole("radio", { name: "Sign with a secret" }).check()
    await click(tab, "Add header")
    await tab.getByLabel("Header 1 name").fill("X-Api-Token")
    await tab.getByLabel("Header 1 value").fill("hook-token")
    await click(tab, "Add web campaign")
    await tab.getByText("Enter a URL that starts with https:// or http://.").waitFor()
    await tab.getByText("Enter a whole number from 1 to 1440.").waitFor()
    await tab.getByLabel("Maximum call length (minutes)").fill("45")
    await tab.getByLabel("Endpoint URL").fill("https://gate.example/hook")
    await click(tab, "Add web campaign")
    await announced(tab, "Widget added.")
    const id = dashboard.platform.state.businesses[0]?.campaigns[0]?.id ?? ""
    expect(dashboard.platform.state.campaignInputs.get(id)?.webhook).toMatchObject({
      url: "https://gate.example/hook",
      headers: [{ name: "X-Api-Token", value: "hook-token" }],
      signing: { type: "set", secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/) },
    })

    await choose(tab, "Edit Widget")
    await dialog(tab, "Edit web campaign").waitFor()
    await holds(tab.getByLabel("Header 1 value"), "")
    await tab.getByRole("textbox", { name: "Name", exact: true }).fill("Website")
    await click(tab, "Save")
    await announced(tab, "Website saved.")
    expect(dashboard.platform.state.campaignInputs.get(id)).toEqual({
      name: "Website",
      maxCallMinutes: 45,
      webhook: {
        url: "https://gate.example/hook",
        headers: [{ name: "X-Api-Token", value: null }],
        signing: { type: "keep" },
      },
    })

    await choose(tab, "Delete Website")
    await click(tab, "Delete")
    await announced(tab, "Website deleted.")
    await choose(tab, "Delete Dentist")
    await click(tab, "Delete")
    await announced(tab, "Dentist deleted.")
    expect(dashboard.platform.state.businesses.map(({ name }) => name)).toEqual(["Bakery"])
  })

  it("warn of a webhook that a gate rejects, and add the token that it needs", async () => {
    dashboard.platform.state.businesses[0] = {
      ...BAKERY,
      campaigns: [
        {
          id: "campaign-1",
          name: "Widget",
          maxCallMinutes: 120,
          createdAt: 1_700_000_000_000,
          webhook: { url: "https://gate.example/hook", headerNames: ["X-Other"], signed: false },
        },
      ],
    }
    const tab = await dashboard.signIn("#/businesses")
    await tab.getByText("This webhook has no token and no signature.").waitFor()
    await choose(tab, "Edit Widget")
    await click(tab, "Add X-Api-Token with a new token")
    await tab.getByText(/A gate rejects this webhook/).waitFor({ state: "detached" })
    await click(tab, "Cancel")
    await click(tab, "Add a token to Widget")
    const token = await tab.getByLabel("Header 2 value").inputValue()
    expect(token).toMatch(/^[\w-]{43}$/)
    await click(tab, "Copy the webhook token")
    await copied(tab, token)
    await click(tab, "Save")
    await announced(tab, "Widget saved.")
    expect(dashboard.platform.state.campaignInputs.get("campaign-1")?.webhook?.headers).toEqual([
      { name: "X-Other", value: null },
      { name: "X-Api-Token", value: token },
    ])
    await tab.getByText("This webhook has no token and no signature.").waitFor({ state: "detached" })
  })

  it("show markup as text", async () => {
    const tab = await dashboard.signIn("#/businesses")
    await click(tab, "Add business")
    await tab.getByRole("textbox", { name: "Name" }).fill('<img src="x" onerror="document.title=1">')
    await tab.keyboard.press("Enter")
    await tab.getByRole("heading", { name: '<img src="x" onerror="document.title=1">' }).waitFor()
  })
})

describe("conversations and sessions", () => {
  const started = 1_790_000_000_000
  const conversation = (number: number): Transcript => ({
    id: `conversation-${number}`,
    businessId: number % 2 === 0 ? "business-1" : "business-2",
    kind: "web",
    clientIdentifier: `visitor-${number}`,
    startedAt: started - number * 60_000,
    endedAt: started - number * 60_000 + 30_000,
    turns: [{ role: "agent", text: `Hello ${number}.`, at: started - number * 60_000 }],
  })

  it("are paginated and filtered, and open a transcript", async () => {
    dashboard.platform.state.conversations.push(...Array.from({ length: 25 }, (_, number) => conversation(number)))
    const tab = await dashboard.signIn("#/conversations")
    await tab.getByText("visitor-19").waitFor()
    expect(await tab.getByText("visitor-20").count()).toBe(0)
    await visit(tab, "Older")
    await tab.getByText("visitor-20").waitFor()
    await tab.reload()
    await tab.getByText("visitor-24").waitFor()
    await tab.goBack()
    await tab.getByText("visitor-19").waitFor()
    await tab.getByLabel("Business").selectOption("Dentist")
    await tab.getByText("visitor-0").waitFor({ state: "detached" })
    await tab.locator("tbody a").first().click()
    await heading(tab, "Conversation")
    await tab.getByText("Hello 1.").waitFor()
    await tab.goBack()
    await tab.getByText("visitor-1", { exact: true }).waitFor()
    await holds(tab.getByLabel("Business"), "business-2")
  })

  it("have the agent on the left and the caller on the right", async () => {
    const turns = [
      { role: "agent", text: "Hello.", at: started },
      { role: "caller", text: "Hi.", at: started + 1_000 },
    ] as const
    dashboard.platform.state.conversations.push({ ...conversation(0), turns })
    const tab = await dashboard.signIn("#/conversations/conversation-0?business=business-1")
    const [all, agent, caller] = [
      await tab.locator(".turns").boundingBox(),
      await tab.locator(".turns li").filter({ hasText: "Hello." }).boundingBox(),
      await tab.locator(".turns li").filter({ hasText: "Hi." }).boundingBox(),
    ]
    if (all === null || agent === null || caller === null) throw new Error("both turns are to be seen")
    expect(agent.x - all.x).toBeCloseTo(0, 0)
    expect(caller.x + caller.width - all.x - all.width).toBeCloseTo(0, 0)
  })

  it("are cards on a phone, of two lines each, and a tap anywhere on one opens it", async () => {
    dashboard.platform.state.conversations.push(conversation(0), conversation(2))
    const tab = await dashboard.signIn("#/conversations")
    await tab.setViewportSize({ width: 360, height: 740 })
    const row = tab.getByRole("row").filter({ hasText: "visitor-2" })
    expect((await row.boundingBox())?.height).toBeLessThan(80)
    // the link of the card is over its text
    await row.getByText("visitor-2").click({ force: true })
    await tab.getByText("Hello 2.").waitFor()
  })

  it("show what is said while they run, and are not asked for any more when they have ended", async () => {
    const { state } = dashboard.platform
    const running = { ...conversation(0), endedAt: null }
    state.conversations.push(running)
    const tab = await dashboard.signIn("#/conversations/conversation-0?business=business-1")
    await tab.getByText("Hello 0.").waitFor()
    await tab.getByText("In progress").waitFor()
    const turns = [...running.turns, { role: "caller", text: "Where is my bread?", at: started + 2_000 }] as const
    state.conversations[0] = { ...running, turns }
    await later(tab)
    await tab.getByText("Where is my bread?").waitFor()
    state.conversations[0] = { ...running, endedAt: started + 30_000, turns }
    await later(tab)
    await tab.getByText("In progress").waitFor({ state: "detached" })
    let asked = 0
    tab.on("request", () => asked++)
    await later(tab)
    await later(tab)
    expect(asked).toBe(0)
  })

  it("are found by their caller and by what was said, and the search is in the address", async () => {
    dashboard.platform.state.conversations.push(...Array.from({ length: 25 }, (_, number) => conversation(number)))
    const tab = await dashboard.signIn("#/conversations")
    await tab.getByText("visitor-19").waitFor()
    await tab.getByRole("searchbox").fill("Hello 24")
    await tab.keyboard.press("Enter")
    await tab.getByText("visitor-24").waitFor()
    await tab.getByText("visitor-19").waitFor({ state: "detached" })
    // what was said is shown, with what was searched for marked, and who said it when
    expect(await tab.getByRole("row").last().locator("mark").textContent()).toBe("Hello 24")
    await tab.getByText(/^(Agent|Caller), after /).waitFor()
    await tab.reload()
    await tab.getByText("visitor-24").waitFor()
    await holds(tab.getByRole("searchbox"), "Hello 24")
    // a filter keeps the search
    await tab.getByLabel("Business").selectOption("Dentist")
    await tab.getByText("Nothing found.").waitFor()
    await tab.goBack()
    await tab.getByText("visitor-24").waitFor()
    await click(tab, "Clear")
    await tab.getByText("visitor-19").waitFor()
    await holds(tab.getByRole("searchbox"), "")
  })

  it("show a session as soon as it exists, without a reload", async () => {
    const tab = await dashboard.signIn("#/live")
    await tab.getByText("No live calls.").waitFor()
    dashboard.platform.state.live.push({
      id: "web-1",
      kind: "web",
      conversationId: "conversation-1",
      businessId: "business-1",
      campaignId: "gone",
      regionId: "local",
      clientIdentifier: "visitor-9",
      state: "talking",
      createdAt: Date.now(),
      joinedAt: Date.now(),
    })
    await later(tab)
    await tab.getByText("visitor-9").waitFor()
    await tab.getByText("1 of 5 concurrent calls in use").waitFor()
  })
})

describe("webhook deliveries", () => {
  const delivery = (number: number, createdAt: number): DeliveryDetail => ({
    id: `msg_${number}`,
    businessId: "business-1",
    campaignId: "campaign-1",
    sessionId: "web-1",
    state: "given_up",
    attempts: 36,
    nextAttemptAt: null,
    lastOutcome: "HTTP 503",
    createdAt,
    settledAt: createdAt,
    body: '{"ConversationSessionId":"conversation-1"}',
    log: [
      {
        number: 36,
        at: createdAt + 86_000_000,
        durationMillis: 41,
        url: "https://gate.example/api/webhook/session-ended",
        headers: [
          ["X-Api-Token", "••••••••"],
          ["webhook-id", `msg_${number}`],
        ],
        status: 503,
        error: null,
        answer: '{"message":"the store is down"}',
        truncated: true,
      },
      {
        number: 35,
        at: createdAt + 82_000_000,
        durationMillis: 5_000,
        url: "https://gate.example/api/webhook/session-ended",
        headers: [],
        status: null,
        error: "no response within 5 s",
        answer: null,
        truncated: false,
      },
      {
        number: 34,
        at: createdAt + 78_000_000,
        durationMillis: 3,
        url: "https://gate.example/api/webhook/session-ended",
        headers: [],
        status: null,
        error: "ECONNREFUSED",
        answer: null,
        truncated: false,
      },
    ],
  })

  it("send a webhook again that was given up", async () => {
    dashboard.platform.state.deliveries.push(delivery(1, Date.now()))
    const tab = await dashboard.signIn("#/webhooks")
    await tab.getByText("HTTP 503").waitFor()
    // a row is one line of text high
    const row = tab.getByRole("row").filter({ hasText: "HTTP 503" })
    expect((await row.boundingBox())?.height).toBeLessThan(56)
    await row.getByRole("button").click()
    await tab.getByRole("menuitem", { name: "Resend msg_1" }).click()
    await announced(tab, "Message resent.")
    await tab.getByText("HTTP 200").waitFor()
  })

  it("are cards of two lines on a phone, whose menu can be pressed", async () => {
    dashboard.platform.state.deliveries.push(delivery(1, Date.now()))
    const tab = await dashboard.signIn("#/webhooks")
    await tab.setViewportSize({ width: 360, height: 740 })
    const row = tab.getByRole("row").filter({ hasText: "HTTP 503" })
    expect((await row.boundingBox())?.height).toBeLessThan(90)
    await row.getByText("HTTP 503").click({ force: true })
    await heading(tab, "Webhook delivery")
    await tab.goBack()
    await row.getByRole("button").click()
    await tab.getByRole("menuitem", { name: "Resend msg_1" }).click()
    await announced(tab, "Message resent.")
  })

  it("show the payload of a webhook, what its attempts sent, and what was answered", async () => {
    dashboard.platform.state.deliveries.push(delivery(1, Date.now()))
    const tab = await dashboard.signIn("#/webhooks")
    await tab.getByRole("row").getByRole("button").click()
    await tab.getByRole("menuitem", { name: "Details of msg_1" }).click()
    await heading(tab, "Webhook delivery")
    await tab
      .getByRole("region", { name: "Payload" })
      .getByText(/"ConversationSessionId": "conversation-1"/)
      .waitFor()
    const last = tab.getByRole("region", { name: "Attempt 36", exact: true })
    await last.getByText("the store is down").waitFor()
    await last.getByText("Only its first 4 kB are shown").waitFor()
    await last.getByText("Request headers").click()
    await last.getByText(/X-Api-Token: ••••••••/).waitFor()
    const before = tab.getByRole("region", { name: "Attempt 35", exact: true })
    await before.getByText("no response within 5 s").waitFor()
    await tab.getByText("The connection was refused (ECONNREFUSED)").waitFor()
    await tab.getByText("The last 3 are shown.").waitFor()
    // an earlier attempt is one line until it is opened
    expect((await before.boundingBox())?.height).toBeLessThan(60)
    await before.getByRole("heading", { name: "Attempt 35" }).click()
    await before.getByText("https://gate.example/api/webhook/session-ended").waitFor()
    await tab.evaluate(axe.source)
    expect(await tab.evaluate("axe.run(document).then(({ violations }) => violations)")).toEqual([])
    await tab.setViewportSize({ width: 360, height: 780 })
    expect(await tab.evaluate("document.documentElement.scrollWidth - innerWidth")).toBeLessThanOrEqual(0)
    await click(tab, "Resend")
    await announced(tab, "Message resent.")
  })

  it("send failed webhooks again, those since a time", async () => {
    const now = Date.now()
    dashboard.platform.state.deliveries.push(delivery(1, now - 60_000), delivery(2, now - 3 * 86_400_000))
    const tab = await dashboard.signIn("#/webhooks")
    const states = (): ReadonlyArray<string> => dashboard.platform.state.deliveries.map(({ state }) => state)
    await click(tab, "Resend failed…")
    await tab.getByLabel("Created in").selectOption("A time you choose")
    await click(tab, "Resend")
    await tab.getByText("Choose a time in the past.").waitFor()
    await tab.getByLabel("Created in").selectOption("The last 24 hours")
    await click(tab, "Resend")
    await announced(tab, "1 delivery is being sent again.")
    expect(states()).toEqual(["pending", "given_up"])
    await tab.getByText("Retrying", { exact: true }).waitFor()
    await click(tab, "Resend failed…")
    await dialog(tab, "Resend failed deliveries").waitFor()
    await click(tab, "Resend")
    await announced(tab, "Nothing to resend in that time.")
    await click(tab, "Resend failed…")
    await tab.getByLabel("Created in").selectOption("A time you choose")
    await tab.getByLabel("Since").fill("2020-01-01T00:00")
    await click(tab, "Resend")
    // announced in the same words as before
    await eventually("the other is resent", () => states().join() === "pending,pending")
    await announced(tab, "1 delivery is being sent again.")
    // to be seen too, and gone after some seconds
    await tab.getByText("1 delivery is being sent again.").waitFor({ state: "visible" })
    expect((await tab.getByText("1 delivery is being sent again.").boundingBox())?.height).toBeGreaterThan(20)
    await later(tab)
    await later(tab)
    await tab.getByText("1 delivery is being sent again.").waitFor({ state: "detached" })
  })
})

describe("the audit log", () => {
  it("has names instead of ids, which lead to what they name while it exists", async () => {
    const entry = (action: string, subjectId: string, detail: string) => ({
      id: `${action} ${subjectId}`,
      action,
      subjectId,
      detail,
      at: Date.now(),
    })
    dashboard.platform.state.audit.push(
      entry("business.created", "business-1", "Backery"),
      entry("business.deleted", "business-9", "Butcher"),
      entry("webhooks.resent", "business-2", "2 failed"),
      entry("api_key.changed", "key-9", "Gate (vgp_…abcd), restricted to business-1, may start"),
    )
    const tab = await dashboard.signIn("#/audit")
    const row = (event: string) => tab.getByRole("row").filter({ hasText: event })
    // the name that it has now, and the one that it had
    await row("Business created").getByText("Bakery: Backery").waitFor()
    await row("Business created").getByRole("link", { name: "Bakery" }).waitFor()
    await row("Business deleted").getByText("Butcher").waitFor()
    expect(await row("Business deleted").getByRole("link").count()).toBe(0)
    await row("Webhooks resent").getByText("Dentist: 2 failed").waitFor()
    await row("API key changed").getByText("Gate (vgp_…abcd), restricted to Bakery, may start").waitFor()
    expect(await tab.locator("main").textContent()).not.toMatch(/business-|key-/)
    // those about one kind of subject
    await tab.getByLabel("About").selectOption("API keys")
    await row("Business created").waitFor({ state: "detached" })
    await row("API key changed").waitFor()
    await tab.getByLabel("About").selectOption("Account")
    await tab.getByText("Nothing found.").waitFor()
    await tab.goBack()
    await row("API key changed").waitFor()
    await holds(tab.getByLabel("About"), "api_key")
  })
})
