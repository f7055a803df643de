/**
 * Builds the operator's console into `dist/web/console`: hashed files with relative addresses, so that it works below any
 * path, and nothing inline, so that the page's strict content security policy holds.
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
    // a data: address would break the policy
    assetsInlineLimit: 0,
    modulePreload: false,
  },
})

export default config
