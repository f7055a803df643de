/**
 * Builds the operator's console into `dist/web/console`: hashed files with relative addresses, so that it works below any
 * path, and nothing inline, so that the strict content security policy of the page allows all of it.
 */
import { fileURLToPath } from "node:url"
import { defineConfig, type UserConfig } from "vite"

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url))

const config: UserConfig = defineConfig({
  root: path("."),
  base: "./",
  build: {
    outDir: path("../../../dist/web/console"),
    emptyOutDir: true,
    target: "es2022",
    // the policy forbids data: URLs
    assetsInlineLimit: 0,
    modulePreload: false,
  },
})

export default config
