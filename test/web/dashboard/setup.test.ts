/** The setup of a gate in the built dashboard: by keyboard, on a phone, resumed, and with a real gate on the settings that it gives. */
import { once } from "node:events"
import { createServer } from "node:http"
import { dirname, join } from "node:path"
import axe from "axe-core"
import { Context, Effect, Exit, Layer, Logger, Redacted, Scope } from "effect"
import { describe, expect, it } from "vitest"
import { WebSocket } from "ws"
import * as Gate from "../../../src/embedded/as-configured.ts"
import { Listeners } from "../../../src/http/Listeners.ts"
import * as ListenersLayer from "../../../src/http/server/listeners.ts"
import { Businesses } from "../../../src/platform/businesses/Businesses.ts"
import type { ApiKey } from "../../../src/platform/keys/ApiKey.ts"
import * as Platform from "../../../src/platform/Platform.ts"
import { Users } from "../../../src/platform/users/Users.ts"
import { layerFrom } from "../../../src/settings/given.ts"
import { program } from "../../harness/build.ts"
import { sharedBrowser } from "../../support/browser.ts"
import { cheapPasswords } from "../../support/passwords.ts"
import { focusOn, tabTo } from "../focus.ts"
import { visit } from "../visitor.ts"
import { announced, click, copied, heading, useDashboard } from "./rig.ts"

describe("the setup of a gate", () => {
  const dashboard = useDashboard()

  it("is done by keyboard alone, and the focus is on each step as it opens", async () => {
    dashboard.platform.state.businesses.splice(0)
    const tab = await dashboard.signIn("#/setup")
    await heading(tab, "Set up a gate")
    await tabTo(tab, "Business name")
    await tab.keyboard.type("Florist")
    await tab.keyboard.press("Enter")
    await focusOn(tab, "2. Web campaign")
    await tabTo(tab, "Campaign name")
    await tab.keyboard.type("Orders")
    await tabTo(tab, "Gate address")
    await tab.keyboard.type("gate.example")
    await tab.getByText("Session-ended webhooks go to https://gate.example/api/webhook/session-ended.").waitFor()
    await tab.keyboard.press("Enter")
    await focusOn(tab, "3. API key")
    await tabTo(tab, "Key name")
    await tab.keyboard.press("Enter")
    await focusOn(tab, "4. Gate settings")
    const { state } = dashboard.platform
    const [business] = state.businesses
    const campaign = business?.campaigns[0]
    const [header] = state.campaignInputs.get(campaign?.id ?? "")?.webhook?.headers ?? []
    expect(header).toEqual({ name: "X-Api-Token", value: expect.stringMatching(/^[\w-]{43}$/) })
    const box = tab.getByRole("region", { name: "Gate settings" })
    // nothing of it is cut, in either direction
    const cut = `[...document.querySelectorAll(".code")].flatMap((box) =>
      [box.scrollHeight - box.clientHeight, box.scrollWidth - box.clientWidth])`
    await box.waitFor()
    expect(await tab.evaluate(cut)).toEqual([0, 0])
    const text = (await box.textContent()) ?? ""
    expect(JSON.parse(text)).toEqual({
      StoreConnectionString: "memory:",
      VoiceAiPlatform: {
        ApiSecretToken: state.secrets[0],
        BaseUrl: `${dashboard.platform.url}api/v1/`,
        BusinessId: business?.id,
        WebCampaignId: campaign?.id,
        DefaultRegionId: "local",
        MaxConcurrency: 5,
      },
      Security: { WebhookApiToken: header?.value, AllowedOrigins: [] },
      Server: { Host: "0.0.0.0", Port: 8080 },
    })
    expect(state.keys[0]).toMatchObject({
      scope: { type: "Restricted", businessIds: [business?.id] },
      permissions: ["start"],
      userManagement: false,
    })
    await tabTo(tab, "Continue to the check")
    await tab.keyboard.press("Enter")
    await focusOn(tab, "5. Check")
    await tab.getByText(/Waiting for the first request/).waitFor()
    await click(tab, "Copy the command")
    await announced(tab, "Copied the command.")
    await copied(tab, "node dist/main.js check")
  })

  it("goes on after a reload, and offers new secrets in place of those that are gone", async () => {
    const tab = await dashboard.signIn("#/setup")
    await tab.getByLabel("Business", { exact: true }).selectOption({ label: "Bakery" })
    await click(tab, "Continue")
    await tab.getByLabel("Campaign name").fill("Orders")
    await tab.getByLabel("Gate address").fill("nonsense")
    await click(tab, "Continue")
    await tab.getByText("Enter the address, such as https://gate.example.").waitFor()
    await tab.getByLabel("Gate address").fill("https://gate.example")
    await click(tab, "Continue")
    await click(tab, "Create key")
    await tab.getByRole("region", { name: "Gate settings" }).waitFor()
    const [secret = ""] = dashboard.platform.state.secrets
    expect(await tab.evaluate("JSON.stringify(localStorage)")).not.toContain(secret)

    await tab.reload()
    await tab.getByText("<secret of the API key>").waitFor()
    await click(tab, "Get a new secret")
    await announced(tab, "New secret created.")
    await click(tab, "Set a new token")
    await announced(tab, "New token set.")
    const settings = tab.getByRole("region", { name: "Gate settings" })
    await settings.getByText(dashboard.platform.state.secrets[1] ?? "no second secret").waitFor()
    const [campaign] = dashboard.platform.state.businesses[0]?.campaigns ?? []
    const input = dashboard.platform.state.campaignInputs.get(campaign?.id ?? "")
    expect(input?.webhook?.url).toBe("https://gate.example/api/webhook/session-ended")
    await settings.getByText(input?.webhook?.headers[0]?.value ?? "no token").waitFor()

    await tab.getByRole("radio", { name: "Environment variables" }).check()
    await settings.getByText(/export VoiceAiPlatform__BusinessId='business-1'/).waitFor()
    await tab.getByLabel("Website (optional)").fill("https://shop.example/page")
    await settings.getByText(/export Security__AllowedOrigins__0='https:\/\/shop.example'/).waitFor()

    await click(tab, "Change API key")
    await click(tab, "Cancel")
    await tab.getByRole("link", { name: "Skip for now" }).click()
    await heading(tab, "API keys")
  })

  it("lets a gate on this machine listen on the port of its address", async () => {
    const tab = await dashboard.signIn("#/setup")
    await click(tab, "Continue")
    await tab.getByLabel("Campaign name").fill("Orders")
    await tab.getByLabel("Gate address").fill("http://127.0.0.1:8190")
    await click(tab, "Continue")
    await click(tab, "Create key")
    await tab.getByRole("region", { name: "Gate settings" }).getByText('"Port": 8190').waitFor()
  })

  it("says of a key that can do more than start calls that a new one is safer", async () => {
    const key: ApiKey = {
      id: "key-1",
      name: "Start",
      display: "vgp_…abcd",
      scope: { type: "Unrestricted" },
      permissions: ["start"],
      userManagement: false,
      allowedAddresses: [],
      createdAt: 0,
      expiresAt: null,
      lastUsedAt: null,
      revokedAt: null,
      previousSecretUntil: null,
    }
    dashboard.platform.state.keys.push(
      key,
      { ...key, id: "key-2", name: "Users", userManagement: true },
      { ...key, id: "key-3", name: "Read", permissions: ["start", "read"] },
    )
    const tab = await dashboard.signIn("#/setup")
    await click(tab, "Continue")
    await tab.getByLabel("Campaign name").fill("Orders")
    await click(tab, "Set the webhook later")
    const choice = tab.getByLabel("API key", { exact: true })
    const safer = tab.getByText("This key can do more than a gate needs. A new key that can only start calls is safer.")
    for (const [id, warned] of [
      ["key-1", 0],
      ["key-2", 1],
      ["key-3", 1],
      ["", 0],
    ] as const) {
      await choice.selectOption(id)
      expect([id, await safer.count()]).toEqual([id, warned])
    }
  })

  it("lets the webhook wait, and says so", async () => {
    const tab = await dashboard.signIn("#/setup")
    await click(tab, "Continue")
    await click(tab, "Set the webhook later")
    await tab.getByText("Enter a name.").waitFor()
    await tab.getByLabel("Campaign name").fill("Orders")
    await click(tab, "Set the webhook later")
    await click(tab, "Create key")
    await tab.getByText(/The campaign has no webhook to a gate yet/).waitFor()
  })

  it("says why no webhook was delivered, and when one was", async () => {
    const tab = await dashboard.signIn("#/setup")
    await click(tab, "Continue")
    await tab.getByLabel("Campaign name").fill("Orders")
    await tab.getByLabel("Gate address").fill("https://gate.example")
    await click(tab, "Continue")
    await click(tab, "Create key")
    await click(tab, "Continue to the check")
    await tab.getByText(/Waiting for the first webhook/).waitFor()
    const now = Date.now()
    dashboard.platform.state.setup = {
      firstRequestAt: now,
      lastRequestAt: now,
      firstDeliveryAt: null,
      lastDelivery: { state: "pending", outcome: "HTTP 401", createdAt: now },
    }
    await tab.clock.fastForward(5_000)
    await announced(tab, "The gate’s first request has arrived.")
    await tab.getByText(/The gate rejected the token/).waitFor()
    dashboard.platform.state.setup = {
      ...dashboard.platform.state.setup,
      firstDeliveryAt: now,
      lastDelivery: { state: "delivered", outcome: "HTTP 200", createdAt: now },
    }
    await tab.clock.fastForward(5_000)
    await tab.getByText("The gate is connected.").waitFor()
  })

  it.each([
    ["light", 360],
    ["dark", 360],
    ["light", 1200],
    ["dark", 1200],
  ] as const)("is accessible and fits, %s at %i px", async (colorScheme, width) => {
    const tab = await dashboard.signIn("#/setup")
    await tab.setViewportSize({ width, height: 780 })
    await tab.emulateMedia({ colorScheme })
    const check = async (): Promise<void> => {
      await tab.evaluate(axe.source)
      expect(await tab.evaluate("axe.run(document).then(({ violations }) => violations)")).toEqual([])
      expect(await tab.evaluate("document.documentElement.scrollWidth - innerWidth")).toBeLessThanOrEqual(0)
    }
    await click(tab, "Continue")
    await tab.getByLabel("Campaign name").fill("Orders")
    await check()
    await tab.getByLabel("Gate address").fill("https://gate.example")
    await click(tab, "Continue")
    await click(tab, "Create key")
    await tab.getByRole("region", { name: "Gate settings" }).waitFor()
    await check()
    await click(tab, "Continue to the check")
    await tab.getByText(/Waiting for the first request/).waitFor()
    // the command does not break
    expect((await tab.getByText("node dist/main.js check").boundingBox())?.height).toBeLessThan(30)
    await check()
  })
})

it("gives settings with which a gate runs, and sees its first request and its first webhook", async () => {
  const scope = Scope.makeUnsafe()
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  const gate = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
  const built = Platform.layer({ privateWebhooks: true, dashboardPage: join(dirname(program), "web/dashboard") }).pipe(
    Layer.provide(cheapPasswords),
  )
  const platform = await Effect.runPromise(
    Effect.gen(function* () {
      const context = yield* Layer.buildWithScope(built.pipe(Layer.provide(Logger.layer([]))), scope)
      const password = Redacted.make("correct horse battery")
      const ada = { id: "ada", name: "Ada", email: "ada@example.test", password, callConcurrency: 2 }
      yield* Context.get(context, Users).create(ada)
      yield* Context.get(context, Businesses).putRegion({ id: "eu", name: "Europe" })
      return Context.get(context, Platform.Platform)
    }),
  )
  const visitor = await visit(await sharedBrowser())
  try {
    const tab = await visitor.open(`${platform.origin}/#/setup`)
    await tab.getByLabel("Email address").fill("ada@example.test")
    await tab.getByLabel("Password").fill("correct horse battery")
    await click(tab, "Sign in")
    await tab.getByLabel("Business name").fill("Florist")
    await click(tab, "Continue")
    await tab.getByLabel("Campaign name").fill("Orders")
    await tab.getByLabel("Gate address").fill(gate)
    await click(tab, "Continue")
    await click(tab, "Create key")
    const text = (await tab.getByRole("region", { name: "Gate settings" }).textContent()) ?? ""
    await click(tab, "Continue to the check")
    await tab.getByText(/Waiting for the first request/).waitFor()

    const parsed: Record<string, unknown> = JSON.parse(text)
    const listeners = await Effect.runPromise(
      Layer.buildWithScope(
        ListenersLayer.layer({}).pipe(
          Layer.provide(Gate.layer),
          Layer.provide(layerFrom(parsed)),
          Layer.provide(Logger.layer([])),
        ),
        scope,
      ).pipe(Effect.map((context) => Context.get(context, Listeners))),
    )
    server.on("request", listeners.request)
    const started = await fetch(`${gate}/api/session/request`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    })
    const session: { readonly webSocketUrl?: unknown } = JSON.parse(await started.text())
    await tab.getByText("The first request arrived").waitFor()
    const socket = new WebSocket(String(session.webSocketUrl))
    await once(socket, "open")
    socket.close()
    await tab.getByText("The gate is connected.").waitFor()
    expect(visitor.complaints).toEqual([])
  } finally {
    await visitor.context.close()
    await Effect.runPromise(Scope.close(scope, Exit.void))
    server.close()
    server.closeAllConnections()
  }
})
