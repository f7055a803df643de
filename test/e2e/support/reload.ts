/** Gates whose settings are a file, which is written anew before a reload. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Bench, type Gate, settingsFor, WEBHOOK_TOKEN } from "../../harness/gate.ts"
import type { Answer } from "../../harness/http.ts"
import { eventually } from "../../harness/process.ts"
import type { FakePlatform } from "../../harness/servers.ts"

const CONSOLE_TOKEN = "e2e-console-token-0123456789"

type Json = Readonly<Record<string, unknown>>

/** A settings file that gates are started with, and that is written anew before a reload. */
export const settingsFile = ({ own }: Bench) => {
  const directory = mkdtempSync(join(tmpdir(), "voicegate-reload-"))
  own({ dispose: async () => rmSync(directory, { recursive: true, force: true }) })
  const path = join(directory, "settings.json")
  return {
    path,
    write: (text: string | Json) => writeFileSync(path, typeof text === "string" ? text : JSON.stringify(text)),
  }
}

export interface Given {
  readonly store: string
  readonly platform: Pick<FakePlatform, "baseUrl">
  readonly slots?: number
  readonly port?: number
  readonly webhookToken?: ReadonlyArray<string>
  readonly hourly?: number
  readonly drainSeconds?: number
  readonly campaigns?: Json
}

export const settings = ({
  campaigns = {},
  drainSeconds,
  hourly = 0,
  platform,
  port = 0,
  slots = 1,
  store,
  webhookToken,
}: Given): Json => ({
  StoreConnectionString: store,
  VoiceAiPlatform: {
    ApiSecretToken: settingsFor(platform).VoiceAiPlatform__ApiSecretToken,
    BaseUrl: platform.baseUrl,
    BusinessId: "business-1",
    WebCampaignId: "campaign-1",
    DefaultRegionId: "eu",
    MaxConcurrency: slots,
    Campaigns: campaigns,
  },
  Queue: { DisconnectGraceSeconds: 120 },
  Security: {
    WebhookApiToken: webhookToken ?? [WEBHOOK_TOKEN],
    ConsoleToken: CONSOLE_TOKEN,
    RateLimitHourly: hourly,
    RateLimitDaily: 0,
    RateLimitConcurrency: 0,
    StatusPerMinute: 0,
    TrustedProxies: ["loopback"],
  },
  Server: { Host: "127.0.0.1", Port: port, MaxConnectionsPerAddress: 0, DrainSeconds: drainSeconds },
})

export const reloads = (gate: Gate): number => gate.output().split("Settings were reloaded (SIGHUP)").length - 1
/** Sends SIGHUP and waits until every process of the gate has applied the settings. */
export const reload = async (gate: Gate, processes = 1): Promise<void> => {
  const before = reloads(gate)
  gate.kill("SIGHUP")
  await eventually("the reload", () => reloads(gate) === before + processes)
}

export const consoleAsks = (gate: Gate, method: string, path: string, body?: unknown): Promise<Answer> =>
  gate.ask(method, `/console/api/${path}`, { headers: { authorization: `Bearer ${CONSOLE_TOKEN}` }, body })
