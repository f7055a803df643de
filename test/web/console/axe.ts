/** What axe finds wrong with a page. */
import { readFile } from "node:fs/promises"
import { createRequire } from "node:module"
import type { Page } from "playwright-core"

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js")

export const violations = async (tab: Page): Promise<ReadonlyArray<string>> => {
  // the page's policy forbids scripts in it, so axe is evaluated from outside
  await tab.evaluate(await readFile(AXE, "utf8"))
  const found: ReadonlyArray<{ id: string; nodes: ReadonlyArray<string> }> = await tab.evaluate(
    "axe.run().then(({ violations }) => violations.map(({ id, nodes }) => ({ id, nodes: nodes.map((n) => n.html + n.failureSummary) })))",
  )
  return found.map(({ id, nodes }) => `${id}: ${nodes.join(" | ")}`)
}
