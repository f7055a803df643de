/**
 * Bundles the library for hosts into few files: loading hundreds of small modules took half of the time of an import. Packages stay
 * outside, `effect` above all, because the gate must share the host's.
 */
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { defineConfig } from "vite"

const root = fileURLToPath(new URL("..", import.meta.url))

/** The modules that package.json exports, by their paths below `dist`. */
const { exports } = JSON.parse(readFileSync(`${root}package.json`, "utf8"))
const entries = Object.values<{ readonly default?: string }>(exports).flatMap(
  ({ default: file = "" }) => /^\.\/dist\/(?!web\/)(.+)\.js$/.exec(file)?.[1] ?? [],
)

export default defineConfig({
  root,
  publicDir: false,
  ssr: { external: true },
  build: {
    ssr: true,
    outDir: "dist",
    emptyOutDir: false,
    target: "node22",
    rolldownOptions: {
      input: {
        ...Object.fromEntries(entries.map((name) => [name, `src/${name}.ts`])),
        // the command line imports it by this name
        "library/lua": "src/store/rules/lua.generated.ts",
      },
      output: {
        entryFileNames: "[name].js",
        // one directory below `dist`: see `src/serving/package-files.ts`
        chunkFileNames: "library/[name]-[hash].js",
        // smaller files load faster; names are not mangled, so that stacks are readable
        minify: { compress: true, mangle: false, codegen: true },
      },
    },
  },
})
