/**
 * Builds the pages into `dist/web`, each by itself: hashed files with relative addresses, so that it works below any path, and
 * nothing inline, so that the page's strict content security policy holds. This file builds the demo; the dashboard's own
 * stands beside it.
 */
import { fileURLToPath } from "node:url"
import { defineConfig, type UserConfig } from "vite"

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url))

/** How the page in the directory of this name is built. */
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

export default pageConfig("demo")
