/** What is fuzzed: the built gate in front of a platform that answers by script, and the built local platform. */
import { execFile } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { program, whenBuilt } from "../harness/build.ts"
import { ask, field, textOf } from "../harness/http.ts"
import { startRedis } from "../harness/redis.ts"
import { clean, startPlatform, startProvider } from "../harness/servers.ts"
import { type Inspected, startInspected } from "./inspected.ts"
import type { Credentials } from "./known.ts"

const PLATFORM_KEY = "vgp_fuzz_this_is_the_platform_key"
const WEBHOOK_TOKEN = "fuzz-webhook-token-0123456789"
const SIGNING_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
const CONSOLE_TOKEN = "fuzz-console-token-0123456789"
const PROVIDER_KEY = "fuzz-ip-provider-key"
const PASSWORD = "fuzz correct horse battery"

export interface Target {
  readonly process: Inspected
  readonly port: number
}

export interface Targets {
  readonly gate: Target
  readonly platform: Target
  readonly credentials: Credentials
  readonly dispose: () => Promise<void>
}

export interface TargetOptions {
  readonly store: "redis" | "memory"
  readonly onLine: (from: "gate" | "platform", line: string) => void
}

interface Owned {
  readonly own: <A extends { readonly dispose: () => Promise<void> }>(thing: A) => A
}

const portOf = (url: string): number => Number(new URL(url).port)

const startGate = async ({ own }: Owned, { onLine, store }: TargetOptions): Promise<Target> => {
  const platform = own(await startPlatform())
  let starts = 0
  platform.script = () => {
    starts++
    if (starts % 50 === 0) return { status: 429, body: { detail: "too many concurrency" } }
    if (starts % 53 === 0) return { status: 500, body: "<html>broken</html>" }
    if (starts % 59 === 0)
      return { status: 401, body: { success: false, code: "API_KEY_INVALID", message: PLATFORM_KEY } }
    return starts % 61 === 0 ? { status: 200, body: "{" } : undefined
  }
  const provider = own(await startProvider())
  provider.script = (address) => {
    if (address.endsWith("7")) return { status: 200, body: { is_vpn: true } }
    return address.endsWith("9") ? { status: 200, body: "[" } : clean
  }
  const redis = store === "redis" ? own(await startRedis()) : undefined
  const process = own(
    await startInspected(
      ["serve"],
      {
        StoreConnectionString: redis?.url ?? "memory:",
        VoiceAiPlatform__ApiSecretToken: PLATFORM_KEY,
        VoiceAiPlatform__BaseUrl: platform.baseUrl,
        VoiceAiPlatform__BusinessId: "business-1",
        VoiceAiPlatform__WebCampaignId: "campaign-1",
        VoiceAiPlatform__DefaultRegionId: "eu",
        VoiceAiPlatform__AllowedRegionIds: "eu",
        VoiceAiPlatform__MaxConcurrency: "20",
        IpIntel__Provider: "ipapi.is",
        IpIntel__ApiKey: PROVIDER_KEY,
        IpIntel__BaseUrl: provider.origin,
        Security__WebhookApiToken: WEBHOOK_TOKEN,
        Security__WebhookSigningSecret: SIGNING_SECRET,
        Security__ConsoleToken: CONSOLE_TOKEN,
        Security__AllowedOrigins__0: "https://shop.example",
        Security__TrustedProxies__0: "loopback",
        Security__RateLimitHourly: "5000",
        Security__RateLimitDaily: "20000",
        Security__RateLimitConcurrency: "0",
        Security__StatusPerMinute: "0",
        Queue__MaxLength: "300",
        Queue__DisconnectGraceSeconds: "2",
        Queue__StartWindowSeconds: "2",
        Queue__MaxCallMinutes: "1",
        Server__Host: "127.0.0.1",
        Server__Port: "0",
      },
      (line) => onLine("gate", line),
    ),
  )
  return { process, port: portOf(await process.said(/listens at (http:\S+)/)) }
}

const run = promisify(execFile)

/** The platform with one account, made and signed in to as its owner would. */
const startLocal = async ({ own }: Owned, { onLine }: TargetOptions) => {
  await whenBuilt()
  const directory = mkdtempSync(join(tmpdir(), "voicegate-fuzz-platform-"))
  own({ dispose: async () => rmSync(directory, { recursive: true, force: true }) })
  const environment = {
    PATH: process.env.PATH ?? "",
    VOICEGATE_PLATFORM_DATABASE: `sqlite:${join(directory, "platform.db")}`,
    VOICEGATE_PLATFORM_PASSWORD: PASSWORD,
  }
  const account = [program, "platform", "user", "add", "--email", "fuzz@example.test", "--concurrency", "50"]
  await run(process.execPath, account, { cwd: directory, env: environment })
  const limits = ["--requests-per-minute", "0", "--starts-per-minute", "0", "--trusted-proxy", "127.0.0.0/8"]
  const local = own(
    await startInspected(["platform", "--port", "0", "--region", "eu", ...limits], environment, (line) =>
      onLine("platform", line),
    ),
  )
  const origin = await local.said(/listens at (http:\/\/[^/\s]+)/)

  const signedIn = await ask("POST", `${origin}/dashboard/api/session`, {
    headers: { "sec-fetch-site": "same-origin" },
    body: { email: "fuzz@example.test", password: PASSWORD },
  })
  const cookie = /=([^;]+)/.exec(signedIn.headers["set-cookie"]?.[0] ?? "")?.[1] ?? ""
  const make = async (path: string, body: object) => {
    const headers = { "sec-fetch-site": "same-origin", cookie: `voicegate_session=${cookie}` }
    return ask("POST", `${origin}/dashboard/api/${path}`, { headers, body })
  }
  const business = textOf(await make("businesses", { name: "Fuzz" }), "id")
  const campaign = textOf(await make(`businesses/${business}/campaigns`, { name: "Fuzz" }), "id")
  const kept: Array<string> = [business, campaign]
  const key = async (scope: object, userManagement: boolean) => {
    const made = await make("keys", { name: "fuzz", scope, userManagement, permissions: ["start", "read", "manage"] })
    kept.push(/"id":"([^"]+)"/.exec(made.text)?.[1] ?? "")
    return textOf(made, "secret")
  }
  const all = await key({ type: "Unrestricted" }, true)
  const restricted = await key({ type: "Restricted", businessIds: [business] }, false)
  return { target: { process: local, port: portOf(origin) }, cookie, business, campaign, kept, all, restricted }
}

/** Starts both; `dispose` ends all that was started, also when a start fails. */
export const startTargets = async (options: TargetOptions): Promise<Targets> => {
  const owned: Array<{ readonly dispose: () => Promise<void> }> = []
  const own: Owned["own"] = (thing) => {
    owned.push(thing)
    return thing
  }
  const dispose = async (): Promise<void> => {
    for (const thing of owned.reverse()) await thing.dispose()
  }
  try {
    const gate = await startGate({ own }, options)
    const local = await startLocal({ own }, options)
    const { all, business, campaign, cookie, kept, restricted } = local
    return {
      gate,
      platform: local.target,
      dispose,
      credentials: {
        consoleToken: CONSOLE_TOKEN,
        webhookToken: WEBHOOK_TOKEN,
        signingSecret: SIGNING_SECRET,
        keys: [all, restricted],
        cookie,
        business,
        campaign,
        kept,
        secrets: [
          PLATFORM_KEY,
          WEBHOOK_TOKEN,
          SIGNING_SECRET,
          CONSOLE_TOKEN,
          PROVIDER_KEY,
          PASSWORD,
          all,
          restricted,
          cookie,
        ],
      },
    }
  } catch (error) {
    await dispose()
    throw error
  }
}

/** Whether a target still answers. */
export const isWell = async ({ port }: Target, path: string): Promise<boolean> => {
  const answer = await ask("GET", `http://127.0.0.1:${port}${path}`)
  return answer.status === 200 || field(answer, "code") === "INVALID_FORMAT"
}
