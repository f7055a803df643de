/** The widget in React, Vue and Svelte: the examples as Vite builds them, in a browser, and the types as each framework's compiler sees them. */
import { execFile } from "node:child_process"
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import type { Browser } from "playwright-core"
import { compile } from "svelte/compiler"
import { build, type Plugin, transformWithOxc } from "vite"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { compileScript, parse } from "vue/compiler-sfc"
import { sharedBrowser } from "../support/browser.ts"
import { type Built, startRig, whenWebBuilt } from "../web/rig.ts"
import { click, screen, visit } from "../web/visitor.ts"

const run = promisify(execFile)
const root = fileURLToPath(new URL("../..", import.meta.url))
const examples = join(root, "scripts/examples/web")
const bin = (name: string): string => join(root, "node_modules/.bin", name)

let built: Built
let work = ""
beforeAll(async () => {
  built = await whenWebBuilt()
  work = await mkdtemp(join(tmpdir(), "voicegate-frameworks-"))
})
afterAll(() => rm(work, { recursive: true, force: true }))

/** What the plugins of Vue and Svelte do for one file. */
const components: Plugin = {
  name: "components",
  transform: async (source, id) => {
    if (id.endsWith(".svelte")) return { code: compile(source, { filename: id }).js.code, map: null }
    if (!id.endsWith(".vue")) return null
    const { content } = compileScript(parse(source, { filename: id }).descriptor, {
      id: "support",
      inlineTemplate: true,
      templateOptions: { compilerOptions: { isCustomElement: (tag) => tag === "voice-agent" } },
    })
    return { code: (await transformWithOxc(content, `${id}.ts`)).code, map: null }
  },
}

const pages = new Map<string, Promise<string>>()
/** The folder of an example, built as a page. */
const pageOf = (name: string): Promise<string> => {
  const page = pages.get(name) ?? buildPage(name)
  pages.set(name, page)
  return page
}

const buildPage = async (name: string): Promise<string> => {
  const outDir = join(work, name)
  await build({
    configFile: false,
    root: join(examples, name),
    base: "./",
    logLevel: "error",
    plugins: [components],
    resolve: { alias: { "voicegate/widget": join(root, "dist/web/widget/frameworks") } },
    build: { outDir, emptyOutDir: true, target: "es2022", modulePreload: false },
  })
  return outDir
}

describe("the examples for frameworks", () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await sharedBrowser()
  })

  for (const name of ["react", "vue", "svelte"]) {
    it(`calls from ${name}, which sets properties and hears events`, async () => {
      const rig = await startRig({ ...built, demo: await pageOf(name) })
      const visitor = await visit(browser)
      try {
        const tab = await visitor.open(rig.url)
        const request = tab.waitForRequest((each) => each.url().endsWith("/request") && each.method() === "POST")
        await click(tab, "Start a call")
        expect((await request).postDataJSON()).toMatchObject({ metadata: { page: "/cart" } })
        await screen(tab, "In call")
        await tab.locator("output", { hasText: /^in-call$/ }).waitFor()
        await click(tab, "Hang up")
        await tab.locator("output", { hasText: /^ended$/ }).waitFor()
        expect(visitor.complaints).toEqual([])
      } finally {
        await visitor.context.close()
        await rig.stop()
      }
    })
  }

  it("keep the place of React's hook over a reload, also in strict mode, and leave it with the component", async () => {
    const rig = await startRig({ ...built, demo: await pageOf("react") })
    const visitor = await visit(browser)
    try {
      const hangUp = await rig.hold()
      const tab = await visitor.open(rig.url)
      await click(tab, "Talk")
      await tab.getByRole("button", { name: "Leave: number 1" }).waitFor()
      const other = await visitor.open(rig.url)
      await click(other, "Talk")
      await other.getByRole("button", { name: "Leave: number 2" }).waitFor()
      await tab.reload()
      await tab.getByRole("button", { name: "Leave: number 1" }).waitFor()
      await click(tab, "Leave: number 1")
      await tab.getByRole("button", { name: "Talk", exact: true }).waitFor()
      await other.getByRole("button", { name: "Leave: number 1" }).waitFor()
      hangUp()
      await other.getByRole("button", { name: "Start the call" }).click()
      await other.getByRole("button", { name: "Leave: in-call" }).waitFor()
      expect(visitor.complaints).toEqual([])
    } finally {
      await visitor.context.close()
      await rig.stop()
    }
  })
})

/** Every way of writing a listener in Vue's templates; the last has no types. */
const LISTENERS = [
  '@statechange="(event) => log(event.detail.name)"',
  '@statechange="({ detail }) => { log(detail.name) }"',
  '@statechange="log($event.detail.name)"',
  '@statechange="log($event.detail.name); log(1)"',
  ':onStatechange="(event) => log(event.detail.name)"',
  'v-on="{ statechange: handler }"',
]

describe("the package's types for frameworks", () => {
  /** What a compiler says of a project; empty if nothing. */
  const check = async (command: string, ...args: ReadonlyArray<string>): Promise<string> =>
    run(command, args, { cwd: work }).then(
      () => "",
      ({ stdout }: { readonly stdout: string }) => stdout,
    )

  const project = async (name: string, files: Readonly<Record<string, string>>, jsx: string): Promise<string> => {
    const directory = join(work, `types-${name}`)
    await mkdir(join(directory, "node_modules"), { recursive: true })
    await symlink(root, join(directory, "node_modules/voicegate"))
    for (const used of ["react", "preact", "vue", "@vue", "svelte", "@types", "csstype", "typescript"])
      await symlink(join(root, "node_modules", used), join(directory, "node_modules", used))
    for (const [file, text] of Object.entries(files)) await writeFile(join(directory, file), text)
    await writeFile(join(directory, "package.json"), '{"type":"module"}')
    await writeFile(
      join(directory, "tsconfig.json"),
      JSON.stringify({
        compilerOptions: {
          target: "es2022",
          lib: ["es2023", "dom", "dom.iterable"],
          module: "esnext",
          moduleResolution: "bundler",
          jsx: "react-jsx",
          jsxImportSource: jsx,
          types: [],
          strict: true,
          noEmit: true,
          skipLibCheck: true,
        },
        include: ["."],
      }),
    )
    return directory
  }

  const events = `
      import type { VoiceAgentElement } from "voicegate/widget"
      declare const agent: VoiceAgentElement
      agent.addEventListener("statechange", ({ detail }) => detail.name === "in-call" && detail.muted)
      agent.addEventListener("message", (event) => event.detail.toUpperCase(), { once: true })
      agent.addEventListener("click", (event) => event.clientX)
      document.querySelector("voice-agent")?.removeEventListener("statechange", (event) => event.detail)
      // @ts-expect-error: a message is a text
      agent.addEventListener("message", (event) => event.detail.name)
    `

  for (const name of ["react", "preact"]) {
    it(`declare the element for ${name}, and type its events`, async () => {
      const used = `
        import "voicegate/widget/${name}"
        export const right = (
          <voice-agent id="agent" gate="/" auto-start theme="dark" languages="en de" strings={{ "idle.begin": "Go" }}
            dynamicVariables={{ name: "Ada" }} onstatechange={({ detail, target }) => detail.name === "waiting" && detail.place}
            onmessage={(event) => event.detail.length} ref={(element) => element?.agent.begin()} />
        )
        // @ts-expect-error: no such attribute value
        export const wrongTheme = <voice-agent theme="blue" />
        // @ts-expect-error: no such attribute
        export const wrongName = <voice-agent gates="/" />
        // @ts-expect-error: no such state
        export const wrongState = <voice-agent onstatechange={({ detail }) => detail.name === "talking"} />
      `
      const directory = await project(name, { "used.tsx": used, "events.ts": events }, name)
      for (const compiler of ["typescript/bin/tsc", "@typescript/native/bin/tsc"]) {
        const said = await check(process.execPath, join(root, "node_modules", compiler), "-p", directory)
        expect(said).toBe("")
      }
    })
  }

  describe("for Vue's templates", () => {
    const component = (way: string): string => `
      <script setup lang="ts">
      import "voicegate/widget/vue"
      const log = (told: unknown) => console.log(told)
      const handler = log
      </script>
      <template><voice-agent gate="/" ${way} /></template>`
    /** What Vue's compiler says of all files, which it checks at once: a run of it takes seconds. */
    let said = ""
    beforeAll(async () => {
      const right = await readFile(join(examples, "vue/Support.vue"), "utf8")
      const wrong = right.replace("detail.name", "detail.nam").replace('gate="/"', 'gate="/" theme="blue"')
      const listeners = LISTENERS.flatMap((way, i) => [
        [`RightWay${i}.vue`, component(way)],
        [`WrongWay${i}.vue`, component(way.replace("detail.name", "detail.nam"))],
      ])
      const files = { ...Object.fromEntries(listeners), "Right.vue": right, "Wrong.vue": wrong }
      const directory = await project("vue", files, "vue")
      said = await check(bin("vue-tsc"), "--noEmit", "-p", join(directory, "tsconfig.json"))
    })

    it("type every way of writing a listener", () => {
      expect(said).not.toContain("RightWay")
      const wrong = new Set([...said.matchAll(/WrongWay\d/g)].map(([name]) => name))
      expect([...wrong]).toEqual(["WrongWay0", "WrongWay1", "WrongWay2", "WrongWay3", "WrongWay4"])
    })

    it("declare the element", () => {
      expect(said).not.toContain("Right.vue")
      const errors = said.split("\n").filter((line) => line.includes("Wrong.vue("))
      expect(errors).toHaveLength(2)
      expect(errors.join()).toContain("'nam'")
      expect(errors.join()).toContain('"blue"')
    })
  })

  it("declare the element for Svelte's templates", async () => {
    const right = await readFile(join(examples, "svelte/Support.svelte"), "utf8")
    const wrong = right.replace("detail.name", "detail.nam").replace('gate="/"', 'gate="/" theme="blue"')
    const directory = await project("svelte", { "Right.svelte": right, "Wrong.svelte": wrong }, "react")
    const args = ["--workspace", directory, "--tsconfig", join(directory, "tsconfig.json"), "--output", "human"]
    const said = await check(bin("svelte-check"), ...args)
    expect(said).not.toContain("Right.svelte")
    expect(said).toContain("'nam'")
    expect(said).toContain('"blue"')
    expect(said).toContain("2 errors")
  })
})
