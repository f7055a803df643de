/**
 * A gate with all of control on, and with callers: several campaigns, of which some are closed, paused, without budget, or waiting for one; identity with
 * public keys, events, overflow, and longest calls. After SIGUSR2 the vendor of one campaign fails. `pages.ts` runs it, with the clock of `an-hour.ts`, and
 * looks at its console. It says one line when it listens: its address and the console's token.
 */
import { generateKeyPairSync } from "node:crypto"
import { once } from "node:events"
import { createServer, type RequestListener } from "node:http"
import { join } from "node:path"
import { makeChance } from "./callers.ts"

const dist = join(import.meta.dirname, "../../dist")
const { createGate }: typeof import("../../src/index.ts") = await import(`${dist}/index.js`)
const { makeFakeVapi }: typeof import("../../src/testing/index.ts") = await import(`${dist}/testing/index.js`)

const TOKEN = "console-token-of-the-pictures"
const MINUTE = 60_000
const started = Date.now()

const listen = async (listener: RequestListener): Promise<{ readonly origin: string; readonly close: () => void }> => {
  const server = createServer(listener).listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("a TCP server has a port")
  return { origin: `http://127.0.0.1:${address.port}`, close: () => server.close() }
}

const vendor = makeFakeVapi(() => Date.now())
/** Whether what the vendor has for one campaign is down: from this signal on. */
let isDown = false
process.once("SIGUSR2", () => {
  isDown = true
})
const { fetch } = globalThis
globalThis.fetch = (input, init) => {
  const { url } = new Request(input, init)
  if (!/^https:\/\/\w+\.vapi\.ai\//.test(url)) return fetch(input, init)
  const isOfSupport = `${url} ${String(init?.body)}`.includes("assistant-support")
  if (isOfSupport && isDown) return Promise.resolve(new Response("upstream is down", { status: 503 }))
  // the fake has one assistant
  return vendor.fetch(url.replace(/\/assistant\/.*/, "/assistant/assistant-fake"), init)
}

/** Single sign-on, which fails from minute 40 to 52. */
const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
const keys = await listen((_, response) => {
  const passed = Date.now() - started
  const works = passed < 40 * MINUTE || passed > 52 * MINUTE
  response.writeHead(works ? 200 : 503, { "content-type": "application/json" })
  response.end(JSON.stringify({ keys: [{ ...publicKey.export({ format: "jwk" }), kid: "sso-1", alg: "ES256" }] }))
})

/** The host's CRM, which is down now and then. */
const crm = await listen((request, response) => {
  request.resume()
  response.writeHead(Math.floor(Date.now() / MINUTE) % 9 < 2 ? 502 : 204).end()
})

/** All of the day that begins so many days from now. */
const dayIn = (days: number): string => {
  const day = new Date(started + days * 24 * 60 * MINUTE).toLocaleDateString("en", {
    weekday: "short",
    timeZone: "UTC",
  })
  return `${day} 00:00-24:00`
}

/** How long a call takes is between these, in minutes; how many callers come in ten minutes. */
const CAMPAIGNS = [
  { name: "default", perTenMinutes: 19, slots: 4, anonymous: 0.4 },
  { name: "sales", perTenMinutes: 6, slots: 2, anonymous: 1 },
  { name: "returns", perTenMinutes: 2, slots: 2, anonymous: 1 },
  { name: "night-desk", perTenMinutes: 1, slots: 1, anonymous: 1 },
  { name: "trial-of-the-spanish-agent", perTenMinutes: 3, slots: 1, anonymous: 0.1 },
  { name: "support", perTenMinutes: 8, slots: 2, anonymous: 0.7 },
] as const

const further = (assistant: string, slots: number) => ({
  Vapi: { AssistantId: `assistant-${assistant}` },
  Account: { Name: "shop" },
  MaxConcurrency: slots,
})
const whsec = `whsec_${Buffer.alloc(24, 7).toString("base64")}`
const gate = await createGate(
  {
    StoreConnectionString: "memory:",
    VoiceAiPlatform: {
      ...vendor.settings,
      MaxConcurrency: 4,
      MaxCallSeconds: 600,
      Account: { Name: "shop", MaxConcurrency: 11 },
      Events: { Url: crm.origin, Secrets: [whsec] },
      Price: { PerMinute: 0.12, Currency: "EUR", RoundUpSeconds: 6 },
      Budgets: [
        { Name: "month", Of: "account", Unit: "money", Per: "month", Cap: 300, AlertAt: [0.5, 0.8] },
        { Name: "day", Of: "campaign", Unit: "minutes", Per: "day", Cap: 290, AlertAt: [0.8] },
        { Name: "customer", Of: "caller", Unit: "minutes", Per: "day", Cap: 25 },
        { Name: "customer-hour", Of: "caller", Unit: "minutes", Per: "hour", Cap: 14, OnLimit: "wait" },
      ],
      Overflow: {
        AfterSeconds: 180,
        Offers: ["Call the shop tel:+49301234567", "Write to us https://shop.example/contact"],
      },
      Campaigns: {
        sales: {
          ...further("sales", 2),
          Budgets: [
            { Name: "sales-hour", Of: "campaign", Unit: "money", Per: "hour", Cap: 1, AlertAt: [0.8], OnLimit: "wait" },
            { Name: "month", Of: "account", Unit: "money", Per: "month", Cap: 300 },
          ],
        },
        returns: further("returns", 2),
        support: further("support", 2),
        "night-desk": { ...further("night-desk", 1), Hours: { Zone: "UTC", Open: [dayIn(2)] } },
        "trial-of-the-spanish-agent": {
          ...further("trial", 1),
          IdentityRequired: true,
          Hours: { Zone: "UTC", Open: [dayIn(0), dayIn(1)] },
          Budgets: [
            { Name: "trial-hour", Of: "campaign", Unit: "minutes", Per: "hour", Cap: 8, OnLimit: "refuse" },
            { Name: "month", Of: "account", Unit: "money", Per: "month", Cap: 300 },
          ],
        },
      },
    },
    Identity: { JwksUrl: `${keys.origin}/keys`, Audience: "voice" },
    Security: {
      ConsoleToken: TOKEN,
      BlockVpn: false,
      BlockProxy: false,
      BlockTor: false,
      AllowedOrigins: ["https://shop.example"],
      RateLimitHourly: 6,
      RateLimitDaily: 40,
    },
    Queue: { MaxLength: 30 },
  },
  { log: process.env.LOG === undefined ? () => {} : (entry) => console.error(entry.level, entry.message) },
)
vendor.setLimit(11)
const site = await listen(gate.handler)

const chance = makeChance()
const minutes = (least: number, most: number): number => MINUTE * (least + (most - least) * chance())
const wait = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis))

const NAMES = [
  "ana.lopez",
  "b-4471",
  "customer-7",
  "j.smith@example.com",
  "müller",
  "o-hara",
  "customer-1024",
  "li.wei",
]
/** An address of one of a few networks, a few of which ask often. */
const address = (): string => {
  if (chance() < 0.12) return "203.0.113.66"
  return chance() < 0.2
    ? `2001:db8:${Math.floor(chance() * 9)}::1`
    : `198.51.100.${1 + Math.floor(chance() * chance() * 200)}`
}

const talk = async (result: { readonly status: string; readonly session?: unknown }): Promise<void> => {
  const id = vendor.join(Object(result).credential)
  if (id === undefined) return
  await wait(minutes(1.2, 4.5))
  const webhook = vendor.hangUp(id)
  // one in twenty is lost
  if (webhook === undefined || chance() < 0.05) return
  const { headers, rawBody } = webhook
  await fetch(`${site.origin}/api/webhook/vapi`, { method: "POST", headers: { ...headers }, body: rawBody })
}

const call = async ({ anonymous, name }: (typeof CAMPAIGNS)[number]): Promise<void> => {
  const subject = NAMES[Math.floor(chance() * NAMES.length)] ?? ""
  const result = await gate.request(
    { campaignId: name, clientIdentifier: `page-${Math.floor(chance() * 9_000)}` },
    { address: address(), ...(chance() < anonymous ? {} : { identity: { subject, limits: { hour: 60 } } }) },
  )
  if (result.status === "started") return talk(result)
  if (result.status !== "queued") return
  const ticket = result.uniqueRequestId
  const patience = setTimeout(() => void gate.leave(ticket), minutes(3, 14))
  for await (const event of gate.events(ticket)) {
    // some do not come back in time
    if (event.type !== "start_call" || chance() < 0.06) continue
    const begun = await gate.start(ticket)
    if (begun.status === "started") void talk(begun)
    break
  }
  clearTimeout(patience)
}

for (const campaign of CAMPAIGNS)
  void (async () => {
    for (;;) {
      void call(campaign).catch((error: unknown) => console.error(error))
      await wait(minutes(0.4, 1.6) * (10 / campaign.perTenMinutes))
    }
  })()

const pause = { type: "pause", until: started + 65 * MINUTE } as const
setTimeout(() => void gate.operator.act({ campaign: "returns", who: "ada", action: pause }), 48 * MINUTE)
setTimeout(() => void gate.operator.block({ who: "ada", address: "203.0.113.66" }), 50 * MINUTE)

console.log(`listens ${site.origin} ${TOKEN}`)
