/** The examples as a reader runs them, and the package's types as a reader's compiler sees them; all from `dist`. */
import { execFile } from "node:child_process"
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { eventually, freePort, start } from "../harness/process.ts"

const run = promisify(execFile)
const root = fileURLToPath(new URL("../..", import.meta.url))
const node = process.execPath

beforeAll(async () => {
  await run(node, ["scripts/build.mjs", "--if-needed"], { cwd: root })
})

/** Runs an example to its end; fails when it does not exit with 0. */
const example = async (...args: ReadonlyArray<string>): Promise<ReadonlyArray<string>> => {
  const { stderr, stdout } = await run(node, args, { cwd: root, timeout: 30_000 })
  assert.notMatch(stderr, /error/i)
  // without what the gate logs of each ticket
  return stdout
    .trimEnd()
    .split("\n")
    .filter((line) => !line.startsWith("["))
}

describe("the example on Effect", () => {
  it("calls the second caller when the first hangs up, on layers of its own and without HTTP", async () => {
    const lines = await example("scripts/examples/effect-host.ts")
    const steps = lines.at(-1) ?? ""
    assert.deepEqual(lines.slice(0, -1), [
      "ada    talks at wss://agent.example/session-1-ada",
      "bob    waits at position 1",
      "bob    receives: position",
      "ada    hangs up",
      "bob    receives: start_call",
      "bob    talks at wss://agent.example/session-2-bob",
      "bob    receives: ended",
      "bob    hangs up; the ticket is ended",
    ])
    assert.match(steps, /^store {2}ran (?:.*, )?takeAndAdmit 2x, /)
  })
})

/** What the self-check of a host over HTTP prints. */
const PASSED = [
  "host   answers at its own route",
  "ada    talks, started by the host's own route",
  "bob    waits at position 1",
  "bob    receives: position",
  "ada    hangs up",
  "bob    receives: start_call",
  "bob    talks",
  "bob    receives: ended",
  "self-check passed",
]

describe("the example on Effect's HttpRouter", () => {
  it("serves two callers on one slot beside its own routes, and exits", async () => {
    const args = [`PORT=${await freePort()}`, node, "scripts/examples/effect-http-host.ts", "--once"]
    const { stdout } = await run("env", args, { cwd: root, timeout: 30_000 })
    assert.deepEqual(
      stdout
        .trimEnd()
        .split("\n")
        .filter((line) => PASSED.includes(line)),
      PASSED,
    )
  })
})

describe("the example on Express", () => {
  it("serves two callers on one slot beside its own routes", async () => {
    assert.deepEqual(await example("scripts/examples/express-host.ts", "--once"), PASSED)
  })

  it("prints its address, serves until it is told to stop, and then exits", async () => {
    const port = await freePort()
    const host = await start("env", [`PORT=${port}`, node, "scripts/examples/express-host.ts"], root)
    try {
      const listens = `Express listens at http://127.0.0.1:${port}, the gate at http://127.0.0.1:${port}/voice`
      // it loads Express, the gate and a platform, which takes two seconds alone, and many on a busy machine
      await eventually("the host says where it is", () => host.output().includes(listens) || host.exited(), 60_000)
      assert.include(host.output(), listens)
      assert.match(await (await fetch(`http://127.0.0.1:${port}/`)).text(), /host's own page/)
      assert.equal((await fetch(`http://127.0.0.1:${port}/voice/health/ready`)).status, 200)
      host.kill("SIGTERM")
      await eventually("the host exits", host.exited)
    } finally {
      await host.stop()
    }
  })
})

describe("the package's types", () => {
  const consumer = `
    import { Effect, Layer } from "effect"
    import {
      createGate, type Gate, type GateSettings, Gatekeeper, initiateWebSession, layerGate, layerGatekeeper,
      layerListeners, layerPushLocal, layerPushShared, layerServer, layerSettingsFrom, layerStoreMemory, layerStoreRedis,
      type RequestError, type RequestResult, type Rule, Settings, Store,
    } from "voicegate"

    const settings: GateSettings = { VoiceAiPlatform: { ApiSecretToken: process.env.KEY, MaxConcurrency: 2 } }
    export const gate: Promise<Gate> = createGate(settings, { basePath: "/voice" })

    export const tell = (result: RequestResult): string => {
      switch (result.status) {
        case "started": return result.webSocketUrl ?? result.credential?.shape ?? ""
        case "queued": return String(result.queuePosition)
        case "refused": return result.code === "blocked" ? String(result.reason) : result.message
      }
    }

    export const rule: Rule<object, { readonly name: string }, string> = {
      name: "host.greet",
      run: (db, [key = ""], now, _context, calls) =>
        calls.map(({ name }) => {
          db.hset(key, name, String(now))
          return name
        }),
      lua: "return ARGV[3]",
      decode: String,
      batch: false,
    }
    export const layers = [layerGatekeeper, layerListeners(), layerPushLocal, layerPushShared, layerServer, layerStoreMemory, layerStoreRedis]
    export const session: Effect.Effect<string, RequestError, Gatekeeper> =
      initiateWebSession({ RegionId: "eu", DynamicVariables: { name: "Ada" } }, { address: "192.0.2.1" })
    // everything that can happen is in the type, and nothing else
    export const handled: Effect.Effect<string, never, Gatekeeper> = session.pipe(
      Effect.catchTags({
        Queued: ({ queuePosition }) => Effect.succeed(String(queuePosition)),
        InvalidRequest: ({ message }) => Effect.succeed(message),
        IdentityRequired: ({ message }) => Effect.succeed(message),
        IdentityRefused: ({ reason }) => Effect.succeed(reason),
        IdentityUnavailable: ({ message }) => Effect.succeed(message),
        Closed: ({ message }) => Effect.succeed(message),
        Blocked: ({ reason }) => Effect.succeed(reason),
        RateLimited: ({ limit }) => Effect.succeed(limit),
        BudgetExhausted: ({ budget }) => Effect.succeed(budget),
        QueueFull: ({ message }) => Effect.succeed(message),
        Draining: ({ message }) => Effect.succeed(message),
        PlatformUnavailable: ({ kind }) => Effect.succeed(kind),
        StoreUnavailable: ({ message }) => Effect.succeed(message),
      }),
    )
    export const app = Layer.provide(layerGate, layerSettingsFrom({}))
    export const store: Effect.Effect<void, unknown, Store | Settings> = Settings.use(() => Store.use((store) => store.ping))
  `
  const misuse = `
    import { createGate, Gatekeeper, initiateWebSession } from "voicegate"
    import { Effect } from "effect"

    // @ts-expect-error: no such setting
    createGate({ VoiceAiPlatform: { ApiKey: "key" } })
    // @ts-expect-error: a caller has an address
    createGate({ VoiceAiPlatform: {} }).then((gate) => gate.request({}))
    // @ts-expect-error: refusals are in the type
    export const session: Effect.Effect<string, never, Gatekeeper> = initiateWebSession({}, { address: "192.0.2.1" })
  `
  let project = ""
  beforeAll(async () => {
    project = await mkdtemp(join(tmpdir(), "voicegate-consumer-"))
    await mkdir(join(project, "node_modules"))
    await symlink(root, join(project, "node_modules/voicegate"))
    await symlink(join(root, "node_modules/effect"), join(project, "node_modules/effect"))
    await symlink(join(root, "node_modules/@types"), join(project, "node_modules/@types"))
    await writeFile(join(project, "package.json"), '{"type":"module"}')
    await writeFile(join(project, "consumer.ts"), consumer)
    await writeFile(join(project, "misuse.ts"), misuse)
    await writeFile(
      join(project, "tsconfig.json"),
      JSON.stringify({
        compilerOptions: {
          target: "es2024",
          module: "nodenext",
          types: ["node"],
          strict: true,
          exactOptionalPropertyTypes: true,
          skipLibCheck: false,
          noEmit: true,
        },
        files: ["consumer.ts", "misuse.ts"],
      }),
    )
  })
  afterAll(() => rm(project, { recursive: true, force: true }))

  for (const [version, compiler] of [
    ["6", "typescript/bin/tsc"],
    ["7", "@typescript/native/bin/tsc"],
  ] as const) {
    it(`hold in a strict project of somebody else on TypeScript ${version}, libraries checked too`, async () => {
      const { stdout } = await run(process.execPath, [join(root, "node_modules", compiler), "-p", project]).catch(
        (error: { readonly stdout: string }) => error,
      )
      assert.equal(stdout, "")
    })
  }
})
