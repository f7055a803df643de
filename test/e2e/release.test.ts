/** The release script makes what it says, and publishes nothing. */
import { execFile } from "node:child_process"
import { createHash } from "node:crypto"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { assert, beforeAll, it } from "@effect/vitest"
import packageJson from "../../package.json" with { type: "json" }
import { whenBuilt } from "../harness/build.ts"

beforeAll(whenBuilt, 180_000)

it("the dry run of a release makes the tarballs of gate and widget, an SBOM of production packages, and checksums", async () => {
  const out = mkdtempSync(join(tmpdir(), "voicegate-release-"))
  try {
    const script = join(import.meta.dirname, "../../scripts/release.mjs")
    const { stdout } = await promisify(execFile)(process.execPath, [script, "--dry-run", "--out", out])
    const base = `voicegate-${packageJson.version}`
    const widget = `voicegate-widget-${packageJson.version}.tgz`
    assert.sameMembers(readdirSync(out), [`${base}.tgz`, widget, `${base}.cdx.json`, "SHA256SUMS"])
    for (const file of [`${base}.tgz`, widget]) assert.include(stdout, `npm publish ${join(out, file)}`)
    for (const line of readFileSync(join(out, "SHA256SUMS"), "utf8").trim().split("\n")) {
      const [sum, file = ""] = line.split("  ")
      assert.strictEqual(
        createHash("sha256")
          .update(readFileSync(join(out, file)))
          .digest("hex"),
        sum,
      )
    }
    const { bomFormat, components } = JSON.parse(readFileSync(join(out, `${base}.cdx.json`), "utf8"))
    const names = components.map(({ name }: { readonly name: string }) => name)
    assert.strictEqual(bomFormat, "CycloneDX")
    for (const name of [...Object.keys(packageJson.dependencies), "effect"]) {
      assert.isTrue(names.includes(name) || names.includes(name.split("/").at(-1)), name)
    }
    assert.notInclude(names, "vitest")
  } finally {
    rmSync(out, { recursive: true, force: true })
  }
})
