/**
 * Prepares a release in `--out` (default: a new directory below the system's temporary one): the packed tarballs of the gate and of its
 * widget, an SBOM in CycloneDX, and SHA-256 checksums. Prints what to publish, and publishes nothing itself. The tree must be clean and `npm test` must pass, with the
 * upgrade from the last release, whose commit `test/harness/last-release.json` names.
 * `--dry-run` skips both conditions and says so: for trying out, not for publishing.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const { values } = parseArgs({ options: { "dry-run": { type: "boolean", default: false }, out: { type: "string" } } })
const dryRun = values["dry-run"]

const fail = (message) => {
  console.error(message)
  process.exit(1)
}
const output = (command, ...args) => execFileSync(command, args, { cwd: root, encoding: "utf8", maxBuffer: 2 ** 26 })

const { name, version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
if (!readFileSync(join(root, ".github/CHANGELOG.md"), "utf8").includes(version)) {
  fail(`.github/CHANGELOG.md does not name version ${version}.`)
}
const last = JSON.parse(readFileSync(join(root, "test/harness/last-release.json"), "utf8"))
if (last.version === version) fail(`test/harness/last-release.json names ${version}, which is not released yet.`)
if (dryRun) {
  console.log("Dry run: the tree may have changes, and no test was run.")
} else {
  if (output("git", "status", "--porcelain") !== "") fail("The tree has changes that are not committed.")
  if (spawnSync("git", ["cat-file", "-e", `${last.commit}^{commit}`], { cwd: root }).status !== 0) {
    fail(`This clone does not have ${last.version}, so its upgrade cannot be tested: run git fetch --unshallow.`)
  }
  if (spawnSync("npm", ["test"], { cwd: root, stdio: "inherit" }).status !== 0) fail("npm test failed.")
}

/**
 * The SBOM of what an installation gets. `npm sbom --omit dev` leaves out packages that a development package needs too, so npm reads a
 * manifest and a lock file without development packages instead.
 */
const productionSbom = () => {
  const directory = join(mkdtempSync(join(tmpdir(), "voicegate-sbom-")), name)
  mkdirSync(directory)
  const { devDependencies: _, ...manifest } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"))
  const packages = Object.fromEntries(
    Object.entries(lock.packages).filter(([, { dev, devOptional }]) => dev !== true && devOptional !== true),
  )
  delete packages[""].devDependencies
  writeFileSync(join(directory, "package.json"), JSON.stringify(manifest))
  writeFileSync(join(directory, "package-lock.json"), JSON.stringify({ ...lock, packages }))
  const args = ["sbom", "--package-lock-only", "--sbom-format", "cyclonedx"]
  const text = execFileSync("npm", args, { cwd: directory, encoding: "utf8", maxBuffer: 2 ** 26 })
  rmSync(dirname(directory), { recursive: true })
  return text
}

const out = values.out === undefined ? mkdtempSync(join(tmpdir(), "voicegate-release-")) : resolve(values.out)
mkdirSync(out, { recursive: true })
execFileSync("node", ["scripts/build.mjs", "--if-needed"], { cwd: root, stdio: "inherit" })
const [{ filename }] = JSON.parse(output("npm", "pack", "--json", "--ignore-scripts", "--pack-destination", out))
const widgetArgs = ["pack", "./dist/web/widget", "--json", "--ignore-scripts", "--pack-destination", out]
const [{ filename: widget }] = JSON.parse(output("npm", ...widgetArgs))
const sbom = `${name}-${version}.cdx.json`
writeFileSync(join(out, sbom), productionSbom())
const checksums = [filename, widget, sbom].map(
  (file) =>
    `${createHash("sha256")
      .update(readFileSync(join(out, file)))
      .digest("hex")}  ${file}\n`,
)
writeFileSync(join(out, "SHA256SUMS"), checksums.join(""))

console.log(`${name} ${version} is in ${out}:\n${checksums.join("")}
To publish:
  npm publish ${join(out, filename)} --provenance   # provenance: from a CI that the registry trusts
  npm publish ${join(out, widget)} --provenance
  git tag v${version} && git push origin v${version}
  docker buildx build --sbom=true --provenance=true -f scripts/deploy/Dockerfile -t ${name}:${version} .
Attach the tarballs, ${sbom} and SHA256SUMS to the release. Then name the released commit in
test/harness/last-release.json: {"version":"${version}","commit":"${output("git", "rev-parse", "HEAD").trim()}"}`)
