/**
 * The package as it is published: the tarball of `npm pack`, unpacked into an empty project that has only the packages that it declares,
 * linked from here, so that no registry is needed.
 */
import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { promisify } from "node:util"
import { build as viteBuild } from "vite"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type * as Voicegate from "../../src/index.ts"
import { whenBuilt } from "../harness/build.ts"
import { testBundlers } from "./bundlers.ts"
import { testDevServers } from "./dev-servers.ts"
import { testHosts } from "./hosts-table.ts"
import { testWidgetPackage } from "./widget-package.ts"

const run = promisify(execFile)
const root = fileURLToPath(new URL("../..", import.meta.url))

interface Packed {
  readonly filename: string
  readonly size: number
  readonly unpackedSize: number
  readonly files: ReadonlyArray<{ readonly path: string }>
}

interface Manifest {
  readonly version: string
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>
  readonly dependencies: Readonly<Record<string, string>>
  readonly peerDependencies: Readonly<Record<string, string>>
}

let project = ""
let packed: Packed
let manifest: Manifest

const installed = (...path: ReadonlyArray<string>): string => join(project, "node_modules/voicegate", ...path)

/** Links a package of this project into the other one, and what it needs with it: packages are looked up beside its real path. */
const link = async (name: string): Promise<void> => {
  const to = join(project, "node_modules", name)
  await mkdir(dirname(to), { recursive: true })
  await symlink(join(root, "node_modules", name), to)
}

beforeAll(async () => {
  await whenBuilt()
  project = await mkdtemp(join(tmpdir(), "voicegate-package-"))
  await mkdir(installed(), { recursive: true })
  const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", project]
  const { stdout } = await run("npm", args, { cwd: root, maxBuffer: 2 ** 26 })
  const [first] = JSON.parse(stdout)
  packed = first
  await run("tar", ["-xzf", join(project, packed.filename), "-C", installed(), "--strip-components=1"])
  manifest = JSON.parse(await readFile(installed("package.json"), "utf8"))
  const needed = [...Object.keys(manifest.dependencies), ...Object.keys(manifest.peerDependencies)]
  for (const name of [...needed, "@types"]) await link(name)
  await mkdir(join(project, "node_modules/.bin"))
  await symlink("../voicegate/dist/main.js", join(project, "node_modules/.bin/voicegate"))
  await writeFile(join(project, "package.json"), '{ "name": "host", "private": true }')
})

afterAll(() => rm(project, { recursive: true, force: true }))

/** Runs a program of the project, and answers what it prints. */
const host = async (file: string, text: string, ...flags: ReadonlyArray<string>): Promise<string> => {
  await writeFile(join(project, file), text)
  const { stdout } = await run(process.execPath, [...flags, file], { cwd: project })
  return stdout.trim()
}

const USE = `
  const problem = await createGate({}).catch((error) => error)
  console.log(problem.name ?? problem._tag, /VoiceAiPlatform/.test(problem.message))`

describe("the package", () => {
  it("holds what it exports, and no more than it needs", () => {
    console.log(`      ${packed.size} bytes packed, ${packed.unpackedSize} unpacked, ${packed.files.length} files`)
    const paths = packed.files.map(({ path }) => path)
    for (const [name, target] of Object.entries(manifest.exports)) {
      for (const file of typeof target === "string" ? [target] : Object.values(target)) {
        const [before = "", after = ""] = file.replace("./", "").split("*")
        const found = paths.some((path) => path.startsWith(before) && path.endsWith(after))
        expect(found, `${name}: ${file}`).toBe(true)
      }
    }
    const source = paths.filter((path) => /^(?:src|test|scripts)\/|\.tsx?$/.test(path) && !path.endsWith(".d.ts"))
    expect(
      source.filter(
        (path) =>
          !/^src\/docs\/(?:[\w-]+\.md|pictures\/\w+\.svg)$|^scripts\/(?:deploy\/|examples\/|prepare\.mjs$)/.test(path),
      ),
    ).toEqual([])
    // the names in its code are not mangled, so stacks are readable without maps
    expect(paths.filter((path) => path.endsWith(".map"))).toEqual([])
    expect(packed.unpackedSize).toBeLessThan(8_000_000)
    expect(manifest.dependencies).not.toHaveProperty("effect")
    expect(manifest.peerDependencies).toHaveProperty("effect")
  })

  it("keeps the directive by which Next knows the hook for React as one for the browser", async () => {
    expect(await readFile(installed("dist/web/widget/frameworks/react.js"), "utf8")).toMatch(/^"use client"/)
  })

  it("has every file that its README and its documents name", async () => {
    const documents = packed.files
      .map(({ path }) => path)
      .filter((path) => /^(?:README|src\/docs\/[\w-]+)\.md$/.test(path))
    expect(documents.length).toBeGreaterThan(5)
    const paths = new Set(packed.files.map(({ path }) => path))
    const missing: Array<string> = []
    for (const document of documents) {
      const text = await readFile(installed(document), "utf8")
      const linked = [...text.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, to = ""]) => join(dirname(document), to))
      const named = [...text.matchAll(/\bscripts\/(?:deploy\/[\w.-]+|examples\/[\w-]+\.ts)/g)].map(([path]) => path)
      missing.push(...[...linked, ...named].filter((path) => !paths.has(path)).map((path) => `${document}: ${path}`))
    }
    expect(missing).toEqual([])
  })

  it("runs no script that it does not have when its packages are installed in it", async () => {
    await run("npm", ["run", "prepare"], { cwd: installed() })
  })

  it("is imported by an ES module", async () => {
    expect(await host("host.mjs", `import { createGate } from "voicegate"${USE}`)).toBe("SettingsInvalid true")
  })

  it("loads at import what a host can use at once, and the rest when a gate is made", async () => {
    const text = `
      import { registerHooks } from "node:module"
      const urls = []
      registerHooks({ load: (url, context, next) => (urls.push(url), next(url, context)) })
      const { createGate } = await import("voicegate")
      const count = () => ({
        own: urls.filter((url) => url.includes("/node_modules/voicegate/")).length,
        all: urls.length,
        late: ["effect/dist/http-api/", "/@effect/platform-node/", "/ioredis/", "/maxmind/"].filter((part) =>
          urls.some((url) => url.includes(part))),
        inside: ["effect/dist/http/HttpClient.js", "effect/dist/persistence/", "effect/dist/Logger.js", "effect/dist/Stream.js", "/ws/"].filter(
          (part) => urls.some((url) => url.includes(part))),
      })
      const imported = count()
      await createGate({}).catch(() => {})
      console.log(JSON.stringify([imported, count()]))`
    const [imported, made] = JSON.parse(await host("loaded.mjs", text))
    expect(imported.late).toEqual([])
    expect(imported.inside).toEqual([])
    // 142 of them are effect/Schema and what it needs, which is most of the time and memory of an import
    expect(imported.all).toBeLessThan(170)
    expect(imported.own).toBeLessThan(20)
    expect(made.late).toEqual(["effect/dist/http-api/", "/@effect/platform-node/"])
  })

  it("is required by a CommonJS module", async () => {
    const text = `const { createGate } = require("voicegate"); (async () => {${USE}})()`
    expect(await host("host.cjs", text)).toBe("SettingsInvalid true")
  })

  it("shares the host's effect", async () => {
    const text = `
      import { Context } from "effect"
      import { Gatekeeper, Settings } from "voicegate"
      import * as http from "voicegate/http"
      import * as root from "voicegate"
      console.log(Context.isKey(Gatekeeper), Context.isKey(Settings), http.Listeners === root.Listeners)`
    expect(await host("effect.mjs", text)).toBe("true true true")
  })

  it("brings a local platform for the host's tests", async () => {
    const text = `
      import { startLocalPlatform } from "voicegate/platform"
      const platform = await startLocalPlatform({ slots: 1, webhook: { url: "http://127.0.0.1:1/", token: "token" } })
      const headers = { authorization: "Token " + platform.settings.ApiSecretToken }
      const answer = await fetch(platform.settings.BaseUrl + (platform.settings.BaseUrl.endsWith("/") ? "" : "/") + "user/billing/usage", { headers })
      console.log(typeof answer.status, platform.settings.MaxConcurrency)
      await platform.close()`
    expect(await host("platform.mjs", text)).toBe("number 1")
  })

  it("has the fakes of vendors in what hosts' tests import and in the demo alone, and loads adapters when a gate needs them", async () => {
    /** The files that a file imports at once, and with them those that it may import later. */
    const reached = async (entry: string, later: boolean): Promise<string> => {
      const found = new Map<string, string>()
      const visit = async (file: string): Promise<void> => {
        // the text of a page may have what looks like an import
        if (found.has(file) || !existsSync(file)) return
        const text = await readFile(file, "utf8")
        found.set(file, text)
        const imports = later
          ? /(?:from|import|import\()\s*["'`](\.{1,2}\/[^"'`]+\.js)["'`]/g
          : /(?:from|import)\s*["'`](\.{1,2}\/[^"'`]+\.js)["'`]/g
        for (const [, to = ""] of text.matchAll(imports)) await visit(join(dirname(file), to))
      }
      await visit(installed("dist", entry))
      return [...found.values()].join("\n")
    }
    const FAKE = "key-of-the-fake-deepgram"
    const ADAPTER = "v1/auth/grant"
    const all = await Promise.all(
      ["index.js", "http/index.js", "platform/index.js"].map((entry) => reached(entry, true)),
    )
    expect(all.filter((text) => text.includes(FAKE))).toEqual([])
    expect(all[0]).toContain(ADAPTER)
    expect(await reached("index.js", false)).not.toContain(ADAPTER)
    expect(await reached("cli/cli.js", false)).not.toContain(FAKE)
    expect(await reached("cli/cli.js", true)).toContain(FAKE)
    expect(await reached("testing/index.js", false)).toContain(FAKE)
  })

  it("brings a gate with a fake platform for the host's tests", async () => {
    const text = `
      import { Effect } from "effect"
      import { Gatekeeper } from "voicegate"
      import { connect, hangUp, layerTest } from "voicegate/testing"
      const test = Effect.gen(function* () {
        const gate = yield* Gatekeeper
        const talking = yield* gate.request({}, { address: "203.0.113.1" })
        const queued = yield* Effect.flip(gate.request({}, { address: "203.0.113.2" }))
        const page = yield* connect(queued.uniqueRequestId)
        yield* hangUp(talking)
        return (yield* page.events).map(({ type }) => type).join()
      })
      console.log(await Effect.runPromise(Effect.scoped(Effect.provide(test, layerTest()))))`
    // before it, Effect's logger writes what the gate logs of each ticket
    expect((await host("testing.mjs", text)).split("\n").at(-1)).toBe("position,start_call")
  })

  it("has a command line", async () => {
    const { stdout } = await run("npx", ["--no-install", "voicegate", "--version"], { cwd: project })
    expect(stdout).toContain(manifest.version)
  })

  it("says in one sentence that Node is too old, imported and as a command", async () => {
    await writeFile(join(project, "old.mjs"), 'Object.defineProperty(process.versions, "node", { value: "20.19.0" })')
    const old = ["--import", "./old.mjs"]
    const failed = (error: { readonly stderr: string }) => error
    await writeFile(join(project, "on-old.mjs"), 'import "voicegate"')
    const imported = await run(process.execPath, [...old, "on-old.mjs"], { cwd: project }).catch(failed)
    expect(imported.stderr).toContain("Error: voicegate needs Node 22.19 or newer; this is Node 20.19.0.")
    expect(imported.stderr).not.toContain("SyntaxError")
    const command = await run(process.execPath, [...old, installed("dist/main.js")], { cwd: project }).catch(failed)
    expect(command.stderr).toMatch(/^voicegate needs Node 22\.19 or newer; this is 20\.19\.0\./)
    // a signal to npx would not reach the program
    expect(command.stderr).not.toContain("npx")
    expect(command.stderr).toContain('export PATH="$PWD/node_modules/node/bin:$PATH"')
  })

  describe("mounted in", () => {
    let voicegate: typeof Voicegate
    beforeAll(async () => {
      voicegate = await import(pathToFileURL(installed("dist/index.js")).href)
    })
    testHosts(() => voicegate.createGate)
  })

  it("has its widget and its documents where a gate serves them from", async () => {
    const text = `
      import { createServer } from "node:http"
      import { createGate } from "voicegate"
      const gate = await createGate(
        { VoiceAiPlatform: { BusinessId: "b", WebCampaignId: "c", DefaultRegionId: "r", MaxConcurrency: 1 }, Security: { WebhookApiToken: "t".repeat(32) } },
        { log() {}, platform: { initiate: async () => ({ sessionIds: ["s"], webSocketUrl: "wss://agent.example/s" }) } },
      )
      const server = createServer(gate.handler).listen(0, "127.0.0.1", async () => {
        const { port } = server.address()
        for (const path of ["widget.js", "widget/audio.js", "docs/embedding", "openapi.json"]) {
          const response = await fetch("http://127.0.0.1:" + port + "/" + path)
          console.log(path, response.status, (await response.text()).length > 1000)
        }
        server.close()
        await gate.close()
      })`
    expect((await host("files.mjs", text)).split("\n")).toEqual([
      "widget.js 200 true",
      "widget/audio.js 200 true",
      "docs/embedding 200 true",
      "openapi.json 200 true",
    ])
  })

  it("has no address of a directory that a bundler takes for a file", async () => {
    const scripts = packed.files.filter(({ path }) => /^dist\/(?!web\/|cli\/|docs\/).*\.js$/.test(path))
    expect(scripts.length).toBeGreaterThan(10)
    const texts = await Promise.all(
      scripts.map(async ({ path }) => [path, await readFile(installed(path), "utf8")] as const),
    )
    expect(texts.filter(([, text]) => /new URL\([^)]*import\.meta\.url/.test(text)).map(([path]) => path)).toEqual([])
  })

  describe("and", () => {
    testBundlers(() => project)
    testDevServers(() => project)
  })

  describe("types", () => {
    const text = `
      import { createGate, type GateSettings } from "voicegate"
      import type { AccountCapacity, Doubt, Failed, Heartbeat, HeartbeatEntry, Newcomer, Offered, OperatorQueue, QueuedSession, StartFailure, Waiting, Withdrawals } from "voicegate"
      import { layerListeners } from "voicegate/http"
      import { startLocalPlatform } from "voicegate/platform"
      import { layerTest } from "voicegate/testing"
      const settings: GateSettings = { VoiceAiPlatform: { MaxConcurrency: 2 } }
      export const used = [createGate(settings), layerListeners({ basePath: "/voice" }), startLocalPlatform, layerTest(settings)]
      // @ts-expect-error: no such setting
      export const wrong: GateSettings = { VoiceAi: {} }
      // @ts-expect-error: no such provider
      export const provider: GateSettings = { VoiceAiPlatform: {}, IpIntel: { Provider: "ipapi" } }
      // @ts-expect-error: a number, not a text
      export const limit: GateSettings = { VoiceAiPlatform: {}, Security: { RateLimitHourly: "20" } }
      export const host = async () => {
        await using gate = await createGate(settings)
        await gate.request({ campaignId: "sales" }, { address: "192.0.2.1" })
        // @ts-expect-error: no such field
        await gate.request({ WebCampaignId: "sales" }, { address: "192.0.2.1" })
      }
      export type Queue = readonly [AccountCapacity, Doubt, Failed, Heartbeat, HeartbeatEntry, Newcomer, Offered, OperatorQueue, QueuedSession, StartFailure, Waiting, Withdrawals]`
    /** resolvers that know no `exports` find `.` by the top-level `types` */
    const rootAlone = `
      import { createGate, type GateSettings } from "voicegate"
      const settings: GateSettings = { VoiceAiPlatform: { MaxConcurrency: 2 } }
      export const used = createGate(settings)
      // @ts-expect-error: no such setting
      export const wrong: GateSettings = { VoiceAi: {} }`
    /** `node16` lets CommonJS import an ES module in this way alone, as Node 16 does */
    const dynamic = `
      export const used = import("voicegate").then(({ createGate }) => createGate({ VoiceAiPlatform: { MaxConcurrency: 2 } }))
      // @ts-expect-error: no such setting
      export const wrong = import("voicegate").then(({ createGate }) => createGate({ VoiceAi: {} }))`
    // TypeScript 7, and 6 for what 7 has no more, and for one way that both know
    for (const [compiler, module, moduleResolution, file, source = text, ...more] of [
      ["@typescript/native", "nodenext", "nodenext", "types.mts"],
      ["typescript", "nodenext", "nodenext", "types.cts"],
      ["@typescript/native", "node20", "node16", "types16.mts"],
      ["@typescript/native", "node16", "node16", "types16.cts", dynamic],
      ["@typescript/native", "esnext", "bundler", "types.ts"],
      ["@typescript/native", "commonjs", "bundler", "types-commonjs.ts"],
      ["typescript", "commonjs", "node10", "types10.ts", rootAlone, "--ignoreDeprecations", "6.0"],
    ] as const) {
      it(`has types for ${moduleResolution}, ${module}, ${file}`, async () => {
        await writeFile(join(project, file), source)
        const options = [
          "--strict",
          "--noEmit",
          "--target",
          "es2024",
          "--types",
          "node",
          "--skipLibCheck",
          "--ignoreConfig",
        ]
        const args = [...options, "--module", module, "--moduleResolution", moduleResolution, ...more, file]
        const tsc = join(root, "node_modules", compiler, "bin/tsc")
        const said = await run(process.execPath, [tsc, ...args], { cwd: project }).then(
          () => "",
          ({ stdout }: { readonly stdout: string }) => stdout,
        )
        expect(said).toBe("")
      })
    }
  })

  it("shows each setting's description where an editor shows the type", async () => {
    const types = await readFile(installed("dist/embedded/settings.d.ts"), "utf8")
    const names = [...types.matchAll(/^([\t ]+)readonly \w+\??: (?!\{)/gm)]
    const described = [...types.matchAll(/\*\/\n[\t ]+readonly \w+\??: (?!\{)/g)]
    expect(names.length).toBeGreaterThan(150)
    expect(described).toHaveLength(names.length)
    expect(types).toContain("/** refuse VPN addresses. Default: true */")
  })

  it("is bundled with the widget by Vite, into parts that are loaded on need", async () => {
    await writeFile(
      join(project, "page.js"),
      'import { defaultStrings } from "voicegate/widget"; console.log(defaultStrings.label)',
    )
    await viteBuild({
      configFile: false,
      root: project,
      logLevel: "error",
      build: { outDir: "page", rolldownOptions: { input: join(project, "page.js") }, modulePreload: false },
    })
    const names = await readdir(join(project, "page/assets"))
    expect(names.filter((name) => /^(?:visit|screens)-/.test(name))).toHaveLength(2)
  })

  it("is bundled as a server by Vite", async () => {
    await writeFile(join(project, "server.js"), `import { createGate } from "voicegate"${USE}`)
    await viteBuild({
      configFile: false,
      root: project,
      logLevel: "error",
      ssr: { noExternal: ["voicegate"] },
      build: { outDir: "server", ssr: "server.js", target: "node22" },
    })
    const [entry = ""] = (await readdir(join(project, "server"))).filter((name) => name.startsWith("server."))
    const { stdout } = await run(process.execPath, [join("server", entry)], { cwd: project })
    expect(stdout.trim()).toBe("SettingsInvalid true")
    expect(existsSync(join(project, "server", entry))).toBe(true)
  })
})

describe("the widget alone", testWidgetPackage)
