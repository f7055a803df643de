/**
 * Bundles the command line into `dist/commands`, with all that it is made of: reading a thousand small modules was most of the
 * time that it took to start. What a host imports (`dist/index.js`) stays as it is, since it must share the host's effect.
 */
import { builtinModules } from "node:module"
import { fileURLToPath } from "node:url"
import { defineConfig } from "vite"

const root = fileURLToPath(new URL("..", import.meta.url))

export default defineConfig({
  root,
  publicDir: false,
  ssr: {
    noExternal: true,
    // what ws and pg use when an application brings it
    external: [...builtinModules, "bufferutil", "utf-8-validate", "pg-native"],
  },
  build: {
    ssr: "src/commands/cli.ts",
    outDir: "dist/commands",
    emptyOutDir: false,
    target: "node22",

    sourcemap: true,
    rolldownOptions: {
      output: {
        entryFileNames: "cli.js",
        chunkFileNames: "[name]-[hash].js",
        // smaller files are read sooner; names stay as they are, for those who read a stack
        minify: { compress: true, mangle: false, codegen: true },
      },
    },
  },
})
