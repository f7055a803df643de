/**
 * The built gate as a process of its own, with settings from its environment alone, on a free port of 127.0.0.1. It dies
 * with the test process. Stopping it checks that it wrote no secret and no ticket anywhere.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { program, whenBuilt } from "./build.ts"
import { type Answer, type Ask, ask, field, judgeByItsDocument } from "./http.ts"
import { eventually } from "./process.ts"

export const PLATFORM_KEY = "vgp_e2e_this_is_the_platform_key"
export const WEBHOOK_TOKEN = "e2e-webhook-token-0123456789"
export const SIGNING_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
export const PROVIDER_KEY = "e2e-ip-provider-key"

const SECRETS = [PLATFORM_KEY, WEBHOOK_TOKEN, SIGNING_SECRET, PROVIDER_KEY]

/** Settings as environment variables, such as `Queue__MaxLength`. */
export type Environment = Readonly<Record<string, string>>

/** Complete settings for one campaign; no limits, no address checks, the embedded store. */
export const settingsFor = (platform: { readonly baseUrl: string }, more: Environment = {}): Environment => ({
  StoreConnectionString: "memory:",
  VoiceAiPlatform__ApiSecretToken: PLATFORM_KEY,
  VoiceAiPlatform__BaseUrl: platform.baseUrl,
  VoiceAiPlatform__BusinessId: "business-1",
  VoiceAiPlatform__WebCampaignId: "campaign-1",
  VoiceAiPlatform__DefaultRegionId: "eu",
  VoiceAiPlatform__MaxConcurrency: "1",
  Security__WebhookApiToken: WEBHOOK_TOKEN,
  Security__RateLimitHourly: "0",
  Security__RateLimitDaily: "0",
  Security__RateLimitConcurrency: "0",
  Security__StatusPerMinute: "0",
  Server__Host: "127.0.0.1",
  Server__Port: "0",
  ...more,
})

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface Running {
  readonly pid: number
  /** everything it wrote so far, to both outputs */
  readonly output: () => string
  readonly exit: Promise<Exit>
  readonly exited: () => boolean
  readonly kill: (signal: NodeJS.Signals) => void
  /** ends it at once if it still runs */
  readonly dispose: () => Promise<void>
}

/** Another checkout, whose build gates run from instead of this one's. */
const otherCheckout = (): string | undefined => process.env.GATES_FROM

/** This checkout's program is brought up to date first. */
const programToRun = async (): Promise<string> => {
  const other = otherCheckout()
  if (other !== undefined) return join(other, "dist/main.js")
  await whenBuilt()
  return program
}

/** Starts the program in an empty directory with nothing but these variables. */
const launch = async (args: ReadonlyArray<string>, environment: Environment, other?: string): Promise<Running> => {
  const main = other ?? (await programToRun())
  const cwd = mkdtempSync(join(tmpdir(), "voicegate-e2e-"))
  const child = spawn(process.execPath, [main, ...args], {
    cwd,
    env: { PATH: process.env.PATH ?? "", ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  })
  let output = ""
  const keep = (chunk: Buffer) => {
    output += chunk.toString()
  }
  child.stdout.on("data", keep)
  child.stderr.on("data", keep)
  const exit = new Promise<Exit>((resolve) => child.on("close", (code, signal) => resolve({ code, signal })))
  await once(child, "spawn")
  const { pid } = child
  if (pid === undefined) throw new Error("the program did not start")
  // its standard input ends with this process, however that ends
  const watchdog = spawn("sh", ["-c", `read -r _; kill -9 ${pid}`], { stdio: ["pipe", "ignore", "ignore"] })
  const exited = () => child.exitCode !== null || child.signalCode !== null
  return {
    pid,
    output: () => output,
    exit,
    exited,
    kill: (signal) => {
      child.kill(signal)
    },
    dispose: async () => {
      watchdog.kill("SIGKILL")
      if (!exited()) child.kill("SIGKILL")
      await exit
      rmSync(cwd, { recursive: true, force: true })
    },
  }
}

/** Throws if the text has one of the secrets of `settingsFor`, or another one. */
export const assertSilent = (output: string, what: ReadonlyArray<string> = SECRETS): void => {
  for (const secret of what) {
    if (output.includes(secret)) throw new Error(`a secret or a ticket was written: ${secret}\n${output}`)
  }
}

/** Runs the program to its end, and answers its exit code and all that it wrote. */
export const runProgram = async (
  args: ReadonlyArray<string>,
  environment: Environment = {},
): Promise<Exit & { readonly output: string }> => {
  const running = await launch(args, environment)
  try {
    const exit = await running.exit
    assertSilent(running.output())
    return { ...exit, output: running.output() }
  } finally {
    await running.dispose()
  }
}

export interface Gate extends Running {
  readonly url: string
  /** one request to a path of the gate; no answer may contain a secret */
  readonly ask: (method: string, path: string, options?: Ask) => Promise<Answer>
  /** requests a session as the caller with this address, if the gate trusts its proxy */
  readonly call: (address?: string, body?: unknown) => Promise<Answer>
  /** the platform's webhook */
  readonly sessionEnded: (sessionId: string) => Promise<Answer>
}

/** Generous, because a machine that starts many processes at once is slow. */
const LISTENS_WITHIN_MILLIS = 45_000

const start = async (environment: Environment, args: ReadonlyArray<string>, other?: string): Promise<Gate> => {
  const running = await launch(["serve", ...args], environment, other)
  const handedOut: Array<string> = []
  let url = ""
  try {
    await eventually(
      "the gate listens",
      () => {
        if (running.exited()) throw new Error(running.output())
        url = /listens at (http:\S+)/.exec(running.output())?.[1] ?? ""
        return url !== ""
      },
      LISTENS_WITHIN_MILLIS,
    )
    // an older one's answers are not all as its document says
    if ((other ?? otherCheckout()) === undefined) await judgeByItsDocument(url)
  } catch (error) {
    await running.dispose()
    throw error
  }
  const asked: Gate["ask"] = async (method, path, options) => {
    const answer = await ask(method, url + path, options)
    assertSilent(`${answer.text}${JSON.stringify(answer.headers)}`)
    const ticket = field(answer, "uniqueRequestId")
    if (ticket !== undefined) handedOut.push(ticket)
    return answer
  }
  return {
    ...running,
    url,
    ask: asked,
    call: (address, body = {}) =>
      asked("POST", "/api/session/request", {
        body,
        ...(address === undefined ? {} : { headers: { "x-forwarded-for": address } }),
      }),
    sessionEnded: (sessionId) =>
      asked("POST", "/api/webhook/session-ended", {
        headers: { "x-api-token": WEBHOOK_TOKEN },
        body: { ConversationSessionId: sessionId },
      }),
    dispose: async () => {
      await running.dispose()
      assertSilent(running.output(), [...SECRETS, ...handedOut])
    },
  }
}

/** Everything that a test starts, to be ended in the opposite order, whatever happens. */
export const makeBench = () => {
  const owned: Array<{ readonly dispose: () => Promise<void> }> = []
  const own = <A extends { readonly dispose: () => Promise<void> }>(thing: A): A => {
    owned.push(thing)
    return thing
  }
  return {
    own,
    /** @param other the `main` of another version, instead of this checkout's program */
    gate: async (environment: Environment, args: ReadonlyArray<string> = [], other?: string): Promise<Gate> =>
      own(await start(environment, args, other)),
    dispose: async (): Promise<void> => {
      const failures: Array<unknown> = []
      for (const thing of owned.reverse()) await thing.dispose().catch((error: unknown) => failures.push(error))
      if (failures.length > 0) throw failures[0]
    },
  }
}
export type Bench = ReturnType<typeof makeBench>

/** Runs a test with a bench of its own. */
export const withBench =
  (test: (bench: Bench) => Promise<void>): (() => Promise<void>) =>
  async () => {
    const bench = makeBench()
    try {
      await test(bench)
    } finally {
      await bench.dispose()
    }
  }
