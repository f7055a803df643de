/**
 * The dev servers of bundlers over the unpacked package: they find the file of each import by themselves, and not as a build does. Next's
 * is tried by `scripts/host-installs.ts`.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { stripVTControlCharacters } from "node:util"
import { describe, expect, it } from "vitest"
import webpack from "webpack"
import { NOT_SMALL } from "./bundlers.ts"

const vite = fileURLToPath(new URL("../../node_modules/vite/bin/vite.js", import.meta.url))

/** What a page imports of the widget. */
export const PAGES: Readonly<Record<string, string>> = {
  "the widget": 'import { defaultStrings } from "voicegate/widget"; console.log(defaultStrings.label)',
  "React's hook": 'import { useVoiceAgent } from "voicegate/widget/react"; console.log(useVoiceAgent)',
  "the file for Vue": 'import "voicegate/widget/vue"',
}

/** Every script that a browser can get from a page's script on, and the answers that are not 200. */
const follow = async (origin: string, first: string) => {
  const seen = new Set([first])
  const failed: Array<string> = []
  for (const path of seen) {
    const response = await fetch(new URL(path, origin))
    const text = await response.text()
    if (response.status !== 200) failed.push(`${path}: ${response.status}`)
    // a comment of React shows an import too, of a file without an extension
    for (const [, next = ""] of text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*["']([./][^"']+\.\w+(?:\?[^"']*)?)["']/g)) {
      seen.add(new URL(next, new URL(path, origin)).href.slice(origin.length))
    }
  }
  return { failed, paths: [...seen] }
}

/** @param project the directory of a project that has the package; known when its tests run */
export const testDevServers = (project: () => string): void => {
  for (const [i, [name, page]] of Object.entries(PAGES).entries()) {
    it(`Vite's dev server serves a page with ${name}, and each part on need`, async () => {
      const root = join(project(), `vite-dev-${i}`)
      await mkdir(root)
      await writeFile(join(root, "index.html"), '<script type="module" src="/page.js"></script>')
      await writeFile(join(root, "page.js"), page)
      const args = [vite, "--host", "127.0.0.1", "--port", "0", "--logLevel", "info"]
      const server = spawn(process.execPath, args, { cwd: root, stdio: ["ignore", "pipe", "pipe"] })
      const exited = once(server, "exit")
      let said = ""
      try {
        const origin = await new Promise<string>((resolve, reject) => {
          const hear = (data: unknown): void => {
            said += stripVTControlCharacters(String(data))
            const [found] = /http:\/\/127\.0\.0\.1:\d+/.exec(said) ?? []
            if (found !== undefined) resolve(found)
          }
          server.stdout.on("data", hear)
          server.stderr.on("data", hear)
          void exited.then(() => reject(new Error(said)))
        })
        const { failed, paths } = await Promise.race([
          follow(origin, "/page.js"),
          exited.then(() => Promise.reject(new Error(`the dev server exits: ${said}`))),
        ])
        expect(failed).toEqual([])
        const parts = ["visit", "screens", "vendors", "livekit"]
        expect(parts.filter((part) => !paths.some((path) => path.includes(`/${part}-`)))).toEqual([])
        expect(said).not.toMatch(/error|warn/i)
      } finally {
        server.kill("SIGKILL")
        await exited
      }
    })
  }

  describe("webpack", () => {
    for (const mode of ["development", "production"] as const) {
      it(`bundles a page for ${mode} without a warning`, async () => {
        await writeFile(join(project(), `webpack-${mode}.mjs`), Object.values(PAGES)[1] ?? "")
        const said = await new Promise<string>((resolve, reject) => {
          webpack(
            {
              mode,
              context: project(),
              entry: `./webpack-${mode}.mjs`,
              output: { path: join(project(), `webpack-${mode}`) },
              optimization: NOT_SMALL,
              performance: false,
            },
            (error, stats) => {
              if (error !== null) reject(error)
              else resolve(stats?.toString({ all: false, errors: true, warnings: true }) ?? "")
            },
          )
        })
        expect(said).toBe("")
      })
    }
  })
}
