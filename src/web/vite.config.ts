/**
 * Builds what runs in a browser, each target into its directory of `dist/web`:
 *
 * - `widget`: `widget.js` (ES module), `widget.classic.js` (script), `audio.js` (the audio worklet) and the types;
 * - `demo`: the pages of the demo, hashed files with relative addresses, and nothing inline, so that the pages' strict
 *   content security policy holds.
 */
import { execFileSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { build, defineConfig, type InlineConfig, type Plugin, type UserConfig } from "vite"

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url))

/** How the page in the directory of this name is built; the dashboard's own file uses it too. */
export const pageConfig = (name: string): UserConfig =>
  defineConfig({
    root: path(`./${name}`),
    base: "./",
    build: {
      outDir: path(`../../dist/web/${name}`),
      emptyOutDir: true,
      target: "es2022",
      // a data: address would break the policy
      assetsInlineLimit: 0,
      modulePreload: false,
    },
    worker: { format: "es" },
  })

/** One script of the widget, bundled alone. */
const script = (entry: string, fileName: string, format: "es" | "iife"): InlineConfig => ({
  configFile: false,
  root: path("./widget"),
  publicDir: false,
  logLevel: "warn",
  build: {
    target: "es2022",
    emptyOutDir: false,
    lib: { entry: path(`./widget/${entry}`), name: "voicegate", formats: [format], fileName: () => fileName },
    // what a library build leaves as it is
    minify: true,
    rolldownOptions: { output: { minify: true } },
  },
})

const audio = script("worklet.ts", "audio.js", "iife")

/** `virtual:worklet`: the built audio worklet as text, for pages that cannot load it from the gate. */
const worklet: Plugin = {
  name: "voicegate-worklet",
  resolveId: (id) => (id === "virtual:worklet" ? `\0${id}` : null),
  load: async (id) => {
    if (id !== "\0virtual:worklet") return null
    const built = await build({ ...audio, build: { ...audio.build, write: false } })
    const [first] = [built].flat()
    const chunk = first !== undefined && "output" in first ? first.output[0] : undefined
    return `export default ${JSON.stringify(chunk?.code.trim())}`
  },
}

const WIDGET = [audio, script("index.ts", "widget.js", "es"), script("index.ts", "widget.classic.js", "iife")]

/** Builds the widget's scripts into a directory. */
export const buildWidget = async (outDir: string): Promise<void> => {
  for (const each of WIDGET) await build({ ...each, plugins: [worklet], build: { ...each.build, outDir } })
}

/** What a TypeScript project sees of `voicegate/widget`. */
const declareWidget = (outDir: string): void => {
  const tsc = path("../../node_modules/typescript/bin/tsc")
  const options = ["--noEmit", "false", "--declaration", "--emitDeclarationOnly", "--rootDir", path("./widget")]
  execFileSync(process.execPath, [tsc, "-p", path("./tsconfig.widget.json"), ...options, "--outDir", outDir], {
    stdio: "inherit",
  })
}

/** Beside the pages: the widget, which is no page. */
const widget: Plugin = {
  name: "voicegate-widget",
  apply: "build",
  closeBundle: async () => {
    const outDir = path("../../dist/web/widget")
    await buildWidget(outDir)
    declareWidget(outDir)
  },
}

/** The demo's pages; the second one, in plain JavaScript, is copied as it is. */
export const pages: UserConfig = { ...pageConfig("demo"), publicDir: path("./example-headless") }

const config: UserConfig = defineConfig({ ...pages, plugins: [widget] })

export default config
