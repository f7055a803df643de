/**
 * Builds what runs in a browser, each target into its directory of `dist/web`:
 *
 * - `widget`: `widget.js` (ES module), `widget.classic.js` (script), `visit.js`, `screens.js` and `extras.js` (the parts that these
 *   load when a visit begins), `preview.js` (of the page that previews the widget), `audio.js` (the audio worklet and the worker), the texts in other languages (`languages`);
 *   for bundlers `index.js`, `frameworks`, `parts` and the types. The directory is a package of its own, `voicegate-widget`;
 * - `demo`: the pages of the demo, hashed files with relative addresses, and nothing inline, so that the pages' strict
 *   content security policy holds.
 */
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { copyFileSync, cpSync, globSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { basename, dirname, join, resolve } from "node:path"
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

/** For older browsers, `light-dark()` is built as two properties of the widget's dock. Short names take fewer bytes. */
const SHORT_NAMES: Plugin = {
  name: "voicegate-short-names",
  generateBundle: (_, bundle) => {
    for (const each of Object.values(bundle))
      if (each.type === "chunk") each.code = each.code.replaceAll(/--lightningcss-(l|d)\w+/g, "--$1")
  },
}

/** One script of the widget, bundled alone. */
const script = (
  entry: string,
  fileName: string,
  format: "es" | "iife",
  { minify = true, plugins = [] }: { readonly minify?: boolean; readonly plugins?: Array<Plugin> } = {},
): InlineConfig => ({
  configFile: false,
  root: path("./widget"),
  publicDir: false,
  logLevel: "warn",
  plugins: [...plugins, SHORT_NAMES],
  build: {
    target: "es2022",
    emptyOutDir: false,
    lib: { entry: path(`./widget/${entry}`), name: "voicegate", formats: [format], fileName: () => fileName },
    // what a library build leaves as it is
    minify,
    rolldownOptions: {
      // a name takes more bytes than the number that it stands for
      optimization: { inlineConst: { mode: "all", pass: 3 } },
      // what a page loads has no annotations for bundlers, and no property that names a namespace `Module`
      output: { minify, generatedCode: { symbols: false }, comments: { annotation: !minify } },
      // "use client" stays on the first line, which a test checks
      onLog: (level, log, handle) => {
        if (log.code !== "MODULE_LEVEL_DIRECTIVE") handle(level, log)
      },
    },
  },
})

/** The parts that the widget loads when they are needed, each with its entry; each is bundled with all that it uses. */
const PARTS = {
  visit: "visit/visit.ts",
  screens: "screens/screens.ts",
  extras: "extras/extras.ts",
  vendors: "vendors.ts",
}
/** How `vendors.js` calls with each vendor's SDK; loaded by it. */
const VENDORS = Object.fromEntries(
  globSync("*/page.ts", { cwd: path("../platform-api") })
    .toSorted()
    .map((file) => [`vendors/${dirname(file)}`, `../../platform-api/${file}`]),
)

/** What `visit.js` loads for some calls only. */
const CALLS = { "calls/watch": "call/watch.ts" }

/** All of them, from those that load none of the others. */
const loaded: ReadonlyArray<readonly [name: string, entry: string]> = Object.entries({ ...VENDORS, ...CALLS, ...PARTS })

/** The name of the part whose entry this file is; undefined of any other. */
const partOf = (file: string | null): string | undefined =>
  loaded.find(([, entry]) => path(`./widget/${entry}`) === file)?.[0]

/** Leaves the imports of the parts to the browser; `address` is where it finds a part, from the script that imports it. */
const partsAt = (address: (part: string) => string): Plugin => ({
  name: "voicegate-parts",
  enforce: "pre",
  resolveDynamicImport: (specifier, importer) => {
    const part = typeof specifier === "string" ? partOf(resolve(dirname(importer), specifier)) : undefined
    return part === undefined ? null : { id: address(part), external: true }
  },
})

/** The page that previews the widget has the widget as any page. */
const WIDGET_BESIDE: Plugin = {
  name: "voicegate-widget-beside",
  enforce: "pre",
  resolveId: (specifier) => (specifier === "../index.ts" ? { id: "../widget.js", external: true } : null),
}

/** A file each, with the types of `<voice-agent>` and what else there is for it. */
const FRAMEWORKS = ["react", "preact", "vue", "svelte"]

/**
 * The widget for bundlers: `index.js`, a file for each framework, and in `parts` what they import, with plain addresses. A dev server
 * looks for the file of each import, so none may have a query.
 */
const bundled = (outDir: string): InlineConfig => {
  const names = ["index", ...FRAMEWORKS.map((name) => `frameworks/${name}`)]
  const { build: common, ...config } = script("index.ts", "index.js", "es")
  return {
    ...config,
    build: {
      ...common,
      outDir,
      lib: {
        entry: Object.fromEntries(names.map((name) => [name, path(`./widget/${name}.ts`)])),
        formats: ["es"],
        fileName: (_, name) => `${name}.js`,
      },
      rolldownOptions: {
        ...common?.rolldownOptions,
        // the page has the framework
        external: ["react"],
        output: {
          minify: { compress: true, mangle: false, codegen: false },
          generatedCode: { symbols: false },
          // bundlers read in a comment what they are told about an import
          comments: { annotation: true, jsdoc: false, legal: false },
          // what several parts share is not one that is loaded on need
          chunkFileNames: ({ facadeModuleId, isDynamicEntry }) =>
            isDynamicEntry ? `parts/${basename(partOf(facadeModuleId) ?? "[name]")}.js` : "parts/shared-[name].js",
        },
      },
    },
  }
}

export const buildWidget = async (outDir: string): Promise<void> => {
  const write = (each: InlineConfig) => build({ ...each, build: { ...each.build, outDir } })
  await write(script("audio/audio-entry.ts", "audio.js", "iife"))
  const digest = createHash("sha256")
  for (const [part, entry] of loaded) {
    // an address changes with the content
    const besides = { plugins: [partsAt((other) => `./${other}.js?v=${digest.copy().digest("hex").slice(0, 8)}`)] }
    await write(script(entry, `${part}.js`, "es", besides))
    digest.update(readFileSync(join(outDir, `${part}.js`)))
  }
  // A browser that has an earlier part in its cache must not use it with this widget.
  const version = digest.digest("hex").slice(0, 8)
  const served = { plugins: [partsAt((part) => `./widget/${part}.js?v=${version}`)] }
  await write(script("index.ts", "widget.js", "es", served))
  await write(script("index.ts", "widget.classic.js", "iife", served))
  await write(script("preview/preview.ts", "preview.js", "es", { plugins: [WIDGET_BESIDE] }))
  await build(bundled(outDir))
}

/** The widget's texts, without white space. */
const copyLanguages = (outDir: string): void => {
  mkdirSync(outDir, { recursive: true })
  for (const name of readdirSync(path("./widget/languages")).filter((file) => file.endsWith(".json"))) {
    const texts: unknown = JSON.parse(readFileSync(path(`./widget/languages/${name}`), "utf8"))
    writeFileSync(join(outDir, name), JSON.stringify(texts))
  }
}

/** What a TypeScript project sees of `voicegate/widget`. */
const declareWidget = (outDir: string): void => {
  const tsc = path("../../node_modules/@typescript/native/bin/tsc")
  // with the vendors' parts, which are elsewhere in `src`, and which nothing that a project sees mentions
  const all = join(outDir, "declared")
  const options = [
    "--noEmit",
    "false",
    "--declaration",
    "--emitDeclarationOnly",
    "--rootDir",
    path(".."),
    "--outDir",
    all,
  ]
  execFileSync(process.execPath, [tsc, "-p", path("./tsconfig.widget.json"), ...options], { stdio: "inherit" })
  cpSync(join(all, "web/widget"), outDir, { recursive: true })
  rmSync(all, { recursive: true })
}

/** The manifest that makes the directory of the widget a package of its own, for pages: it needs nothing of the gate. */
const declarePackage = (outDir: string): void => {
  const manifestOfAll: Manifest = JSON.parse(readFileSync(path("../../package.json"), "utf8"))
  const { license, peerDependencies, peerDependenciesMeta, version } = manifestOfAll
  const entry = (name: string) => ({ types: `./${name}.d.ts`, default: `./${name}.js` })
  const manifest = {
    name: "voicegate-widget",
    version,
    description: "The browser widget of voicegate: <voice-agent> for a voice agent that has a queue",
    license,
    type: "module",
    main: "./index.js",
    types: "./index.d.ts",
    exports: {
      ".": entry("index"),
      ...Object.fromEntries(FRAMEWORKS.map((name) => [`./${name}`, entry(`frameworks/${name}`)])),
      "./languages/*.json": "./languages/*.json",
      "./audio.js": "./audio.js",
      "./package.json": "./package.json",
    },
    peerDependencies: { react: peerDependencies.react },
    peerDependenciesMeta: { react: peerDependenciesMeta.react },
  }
  writeFileSync(join(outDir, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`)
  copyFileSync(path("./widget/README.md"), join(outDir, "README.md"))
  copyFileSync(path("../../LICENSE"), join(outDir, "LICENSE"))
}

/** What the widget's manifest has of the package's. */
interface Manifest {
  readonly version: string
  readonly license: string
  readonly peerDependencies: { readonly react: string }
  readonly peerDependenciesMeta: { readonly react: object }
}

/** The widget, in a directory beside the pages. */
const widget: Plugin = {
  name: "voicegate-widget",
  apply: "build",
  closeBundle: async () => {
    const outDir = path("../../dist/web/widget")
    await buildWidget(outDir)
    copyLanguages(join(outDir, "languages"))
    declareWidget(outDir)
    declarePackage(outDir)
  },
}

/** The demo's pages; the second one, in plain JavaScript, is copied as it is. */
export const pages: UserConfig = { ...pageConfig("demo"), publicDir: path("./example-headless") }

const config: UserConfig = defineConfig({ ...pages, plugins: [widget] })

export default config
