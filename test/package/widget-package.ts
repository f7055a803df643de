/** The widget as a package of its own, unpacked into an empty project: what a page needs, and nothing of the gate. */
import { execFile } from "node:child_process"
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { build as viteBuild } from "vite"
import { afterAll, beforeAll, expect, it } from "vitest"

const run = promisify(execFile)
const root = fileURLToPath(new URL("../..", import.meta.url))

const TYPES = `
  import { createVoiceAgent, type VoiceAgentState } from "voicegate-widget"
  import { useVoiceAgent } from "voicegate-widget/react"
  import "voicegate-widget/vue"
  const agent = createVoiceAgent({ gate: "https://gate.example" })
  export const state: VoiceAgentState = agent.state
  export const used = useVoiceAgent
  // @ts-expect-error: no such option
  createVoiceAgent({ gates: "https://gate.example" })`

export const testWidgetPackage = (): void => {
  let project = ""
  let unpackedSize = 0
  const installed = (...path: ReadonlyArray<string>): string => join(project, "node_modules/voicegate-widget", ...path)

  beforeAll(async () => {
    project = await mkdtemp(join(tmpdir(), "voicegate-widget-"))
    await mkdir(installed(), { recursive: true })
    const args = ["pack", "--json", "--pack-destination", project]
    const { stdout } = await run("npm", args, { cwd: join(root, "dist/web/widget"), maxBuffer: 2 ** 26 })
    const [packed] = JSON.parse(stdout)
    unpackedSize = packed.unpackedSize
    await run("tar", ["-xzf", join(project, packed.filename), "-C", installed(), "--strip-components=1"])
    await writeFile(join(project, "package.json"), '{ "name": "page", "private": true, "type": "module" }')
  })
  afterAll(() => rm(project, { recursive: true, force: true }))

  it("brings no other package, and has the version of the gate", async () => {
    console.log(`      ${unpackedSize} bytes unpacked`)
    const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8"))
    const manifest = JSON.parse(await readFile(installed("package.json"), "utf8"))
    expect(manifest.version).toBe(version)
    expect(manifest.dependencies).toBeUndefined()
    expect(manifest.peerDependenciesMeta).toEqual({ react: { optional: true } })
    expect(unpackedSize).toBeLessThan(1_000_000)
    expect(await readdir(installed())).toEqual(expect.arrayContaining(["LICENSE", "README.md", "widget.js", "parts"]))
  })

  it("is bundled by Vite, into parts that are loaded on need", async () => {
    await writeFile(
      join(project, "page.js"),
      'import { defaultStrings } from "voicegate-widget"; console.log(defaultStrings.label)',
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

  for (const [module, moduleResolution] of [
    ["nodenext", "nodenext"],
    ["esnext", "bundler"],
  ]) {
    it(`has types, also for frameworks: ${moduleResolution}`, async () => {
      // the page's own
      for (const name of ["react", "vue", "@vue", "@types"]) {
        await symlink(join(root, "node_modules", name), join(project, "node_modules", name)).catch(() => {})
      }
      const file = `types-${moduleResolution}.ts`
      await writeFile(join(project, file), TYPES)
      const options = [
        "--strict",
        "--noEmit",
        "--target",
        "es2024",
        "--lib",
        "es2024,dom,dom.iterable",
        "--types",
        "react",
      ]
      const args = [...options, "--skipLibCheck", "--ignoreConfig", "--module", `${module}`, file]
      const tsc = join(root, "node_modules/@typescript/native/bin/tsc")
      const said = await run(process.execPath, [tsc, "--moduleResolution", `${moduleResolution}`, ...args], {
        cwd: project,
      }).then(
        () => "",
        ({ stdout }: { readonly stdout: string }) => stdout,
      )
      expect(said).toBe("")
    })
  }
}
