/**
 * esbuild and webpack over the unpacked package: a server that leaves it out, as the documents say, or has it inside, and a page with the
 * widget. Each server answers a request, and what the gate serves from the package's files if it has them.
 */
import { execFile } from "node:child_process"
import { readdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { type BuildOptions, build as esbuild } from "esbuild"
import { beforeAll, describe, expect, it } from "vitest"
import webpack, { type Configuration } from "webpack"

const run = promisify(execFile)

const SERVER = `
  import { createServer } from "node:http"
  import { createGate } from "voicegate"
  const main = async () => {
    const gate = await createGate(
      { VoiceAiPlatform: { BusinessId: "b", WebCampaignId: "c", DefaultRegionId: "r", MaxConcurrency: 1 }, Security: { WebhookApiToken: "t".repeat(32) } },
      { log() {}, platform: { initiate: async () => ({ sessionIds: ["s"], webSocketUrl: "wss://agent.example/s" }) } },
    )
    const server = createServer(gate.handler).listen(0, "127.0.0.1", async () => {
      const origin = "http://127.0.0.1:" + server.address().port
      const init = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" }
      const started = await fetch(origin + "/api/session/request", init)
      const files = await Promise.all(["/widget.js", "/openapi.json"].map((path) => fetch(origin + path)))
      console.log(started.status, ...files.map(({ status }) => status))
      server.close()
      await gate.close()
    })
  }
  main()`

const PAGE = 'import { defaultStrings } from "voicegate/widget"; console.log(defaultStrings.label)'

/** Defines `require` for packages in a module: esbuild leaves its calls as they are. */
const REQUIRE = 'import { createRequire as requireOf } from "node:module"; const require = requireOf(import.meta.url);'

/** Everything is answered. */
const ALL = "200 200 200"
/** The bundle has the code and not the package's files. */
const WITHOUT_FILES = "200 404 200"

const esbuildServers: Readonly<Record<string, readonly [options: BuildOptions, answers: string]>> = {
  "leaves it out": [{ format: "esm", external: ["voicegate"] }, ALL],
  "leaves all packages out": [{ format: "esm", packages: "external" }, ALL],
  "has it inside, as a module": [{ format: "esm", banner: { js: REQUIRE } }, WITHOUT_FILES],
  "has it inside, as CommonJS": [{ format: "cjs", logOverride: { "empty-import-meta": "silent" } }, WITHOUT_FILES],
}

const webpackServers: Readonly<Record<string, Configuration>> = {
  "leaves it out": { externals: { voicegate: "node-commonjs voicegate" } },
  "leaves it out, as a module": { externals: { voicegate: "module voicegate" }, experiments: { outputModule: true } },
  // webpack writes the address that a module had into the bundle
  "has it inside": {},
  "has it inside, as a module": { experiments: { outputModule: true } },
}

/** Making a bundle small takes most of the time, and is webpack's own matter. */
export const NOT_SMALL = { minimize: false }

const webpackBuild = (configuration: Configuration): Promise<void> =>
  new Promise((resolve, reject) => {
    webpack(configuration, (error, stats) => {
      if (error !== null) reject(error)
      else if (stats?.hasErrors() === true) reject(new Error(stats.toString({ all: false, errors: true })))
      else resolve()
    })
  })

/** @param project the directory of an empty project that has the package; known when its tests run */
export const testBundlers = (project: () => string): void => {
  beforeAll(async () => {
    await writeFile(join(project(), "bundled-server.mjs"), SERVER)
    await writeFile(join(project(), "bundled-page.mjs"), PAGE)
  })
  const answersOf = async (file: string): Promise<string> => {
    const { stdout } = await run(process.execPath, [file], { cwd: project() })
    return stdout.trim()
  }

  describe("esbuild", () => {
    for (const [i, [name, [options, answers]]] of Object.entries(esbuildServers).entries()) {
      it(`bundles a server that ${name}`, async () => {
        const file = `esbuild-${i}.${options.format === "cjs" ? "cjs" : "mjs"}`
        await esbuild({
          absWorkingDir: project(),
          entryPoints: ["bundled-server.mjs"],
          outfile: file,
          bundle: true,
          platform: "node",
          target: "node22",
          logLevel: "error",
          ...options,
        })
        expect(await answersOf(file)).toBe(answers)
      })
    }

    it("bundles a page with the widget, in parts that are loaded on need", async () => {
      await esbuild({
        absWorkingDir: project(),
        entryPoints: ["bundled-page.mjs"],
        outdir: "esbuild-page",
        bundle: true,
        splitting: true,
        format: "esm",
        logLevel: "error",
      })
      const names = await readdir(join(project(), "esbuild-page"))
      expect(names.filter((name) => /^(?:visit|screens)-/.test(name))).toHaveLength(2)
    })
  })

  describe("webpack", () => {
    for (const [i, [name, more]] of Object.entries(webpackServers).entries()) {
      it(`bundles a server that ${name}`, async () => {
        const isModule = more.experiments?.outputModule === true
        const filename = `webpack-${i}.${isModule ? "mjs" : "cjs"}`
        await webpackBuild({
          mode: "production",
          context: project(),
          entry: "./bundled-server.mjs",
          target: "node22",
          optimization: NOT_SMALL,
          output: { path: project(), filename, module: isModule },
          ...more,
        })
        expect(await answersOf(filename)).toBe(ALL)
      })
    }

    it("bundles a page with the widget, in parts that are loaded on need", async () => {
      const path = join(project(), "webpack-page")
      await webpackBuild({
        mode: "production",
        context: project(),
        entry: "./bundled-page.mjs",
        optimization: NOT_SMALL,
        output: { path },
      })
      expect((await readdir(path)).length).toBeGreaterThan(2)
    })
  })
}
