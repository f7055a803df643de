/** Starts the measured servers, each as a separate process that prints its address. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { eventually } from "../../../test/harness/process.ts"
import { limits } from "./limits.ts"

/** The child processes of a process. */
const childrenOf = (pid: number): ReadonlyArray<number> =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number)

const here = resolve(import.meta.dirname, "../../..")

export interface Server {
  readonly url: string
  /** all its processes */
  readonly pids: ReadonlyArray<number>
  readonly output: () => string
  readonly stop: () => Promise<void>
}

export type Environment = Readonly<Record<string, string>>

/** Starts a server and waits until each of its processes has printed `listens at http://…`. */
export const startServer = async (
  args: ReadonlyArray<string>,
  environment: Environment = {},
  nodeArgs: ReadonlyArray<string> = [],
  processes = 1,
): Promise<Server> => {
  const cwd = mkdtempSync(join(tmpdir(), "voicegate-bench-"))
  const child: ChildProcess = spawn(process.execPath, [...nodeArgs, ...args], {
    cwd,
    env: { PATH: process.env.PATH ?? "", NODE_ENV: "production", ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  })
  let output = ""
  const keep = (chunk: Buffer) => {
    if (output.length < 65_536) output += chunk.toString()
  }
  child.stdout?.on("data", keep)
  child.stderr?.on("data", keep)
  const stop = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) {
      const gone = once(child, "exit")
      child.kill("SIGTERM")
      await gone
    }
    rmSync(cwd, { recursive: true, force: true })
  }
  try {
    let url = ""
    await eventually("the server listens", () => {
      if (child.exitCode !== null) throw new Error(output)
      url = /listens at (http:\S+)/.exec(output)?.[1] ?? ""
      return output.split("listens at").length > processes
    })
    const pid = child.pid ?? 0
    return { url, pids: [pid, ...childrenOf(pid)], output: () => output, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** A realistic list of 20,000 address ranges, none of which contains a caller of the benchmark. */
const writeList = (directory: string): string => {
  const file = join(directory, "vpn.txt")
  const lines = Array.from({ length: 20_000 }, (_, i) => `${100 + (i >> 14)}.${(i >> 6) & 255}.${(i << 2) & 255}.0/24`)
  writeFileSync(file, lines.join("\n"))
  return file
}

export const WEBHOOK_TOKEN = "bench-webhook-token-0123456789"

/** Production-like settings of the gate: every check, an origin, a proxy, limits, both webhook credentials. */
export const gateSettings = (redisUrl: string, platformUrl: string, list: string): Environment => ({
  StoreConnectionString: redisUrl,
  VoiceAiPlatform__ApiSecretToken: "bench-platform-key",
  VoiceAiPlatform__BaseUrl: platformUrl,
  VoiceAiPlatform__BusinessId: "business-1",
  VoiceAiPlatform__WebCampaignId: "campaign-1",
  VoiceAiPlatform__DefaultRegionId: "eu",
  VoiceAiPlatform__MaxConcurrency: "1",
  IpIntel__Provider: "lists",
  IpIntel__Lists__Vpn__0: list,
  Security__WebhookApiToken: WEBHOOK_TOKEN,
  Security__AllowedOrigins__0: "https://shop.example",
  Security__TrustedProxies__0: "loopback",
  Security__RateLimitHourly: String(limits.hourly),
  Security__RateLimitDaily: String(limits.daily),
  Security__RateLimitConcurrency: String(limits.open),
  Queue__MaxLength: "10000000",
  // callers do not connect after the answer: a long grace keeps them from being abandoned during the run
  Queue__DisconnectGraceSeconds: "3600",
  Server__Host: "127.0.0.1",
  Server__Port: "0",
})

export interface GateOptions {
  readonly nodeArgs?: ReadonlyArray<string>
  readonly processes?: number
  /** the checkout whose build is started; this one if absent */
  readonly root?: string
}

/** The built gate over this Redis and this platform. */
export const startGate = async (
  redisUrl: string,
  platformUrl: string,
  more: Environment = {},
  { nodeArgs = [], processes = 1, root = here }: GateOptions = {},
): Promise<Server> => {
  const directory = mkdtempSync(join(tmpdir(), "voicegate-bench-"))
  const settings = { ...gateSettings(redisUrl, platformUrl, writeList(directory)), ...more }
  const server = await startServer(
    [join(root, "dist/main.js"), "serve", ...(processes > 1 ? ["--processes", String(processes)] : [])],
    settings,
    nodeArgs,
    processes,
  )
  return {
    ...server,
    stop: async () => {
      await server.stop()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

/** A reference server of `servers/`; `PROCESSES` in its environment is its number of processes. */
export const startYardstick = (
  name: "tuned" | "fastify" | "express" | "ws" | "node",
  redisUrl: string,
  environment: Environment = {},
  nodeArgs: ReadonlyArray<string> = [],
): Promise<Server> =>
  startServer(
    [join(here, `scripts/bench/servers/${name}.ts`), redisUrl],
    environment,
    nodeArgs,
    Number(environment.PROCESSES ?? 1),
  )
