/**
 * Bundles the command line with its dependencies into `dist/cli`: loading a thousand small modules took most of the start time.
 * The library for hosts (`dist/index.js`) is not bundled, because it must share the host's `effect`.
 */
import { builtinModules } from "node:module"
import { fileURLToPath } from "node:url"
import { defineConfig, type Plugin } from "vite"

const root = fileURLToPath(new URL("..", import.meta.url))

/** The rules' Lua is imported from the library, so that the package has it once. */
const sharesLua: Plugin = {
  name: "shares-lua",
  enforce: "pre",
  resolveId: (id) => (id.endsWith("/lua.generated.ts") ? { id: "../library/lua.js", external: true } : undefined),
}

export default defineConfig({
  root,
  publicDir: false,
  plugins: [sharesLua],
  ssr: {
    noExternal: true,
    // optional dependencies of ws and pg; and jose, which is loaded only where tokens are checked or signed
    external: [...builtinModules, "bufferutil", "utf-8-validate", "pg-native", "jose"],
  },
  build: {
    ssr: "src/cli/cli.ts",
    outDir: "dist/cli",
    emptyOutDir: false,
    target: "node22",
    rolldownOptions: {
      output: {
        entryFileNames: "cli.js",
        chunkFileNames: "[name]-[hash].js",
        // smaller files load faster; names are not mangled, so that stacks are readable
        minify: { compress: true, mangle: false, codegen: true },
        // marks for a bundler, which nothing does with a program: 38 kB
        comments: { annotation: false },
      },
    },
  },
})
