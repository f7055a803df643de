/**
 * Sets up a clone: installs the packages of the lock file when they are missing or differ from it, makes sure that the pinned Node is
 * installed, and with `--system` the servers that the tests start, at the same time. Silent when there is nothing to do.
 *
 * Plain JavaScript without dependencies, because it runs on any Node that npm runs on.
 */
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { existsSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const readJson = (file) => JSON.parse(readFileSync(join(root, file), "utf8"))
const manifest = readJson("package.json")

const fail = (message) => {
  console.error(message)
  process.exit(1)
}

/** The npm that runs this script, or the one on the PATH. Its `prepare` leaves the build to whoever runs this script, which builds next. */
const npm = (...args) => {
  const cli = process.env.npm_execpath
  const options = { cwd: root, stdio: "inherit", env: { ...process.env, VOICEGATE_BUILDS_LATER: "1" } }
  return cli?.endsWith("npm-cli.js")
    ? spawnSync(process.execPath, [cli, ...args], options).status === 0
    : spawnSync("npm", args, { ...options, shell: process.platform === "win32" }).status === 0
}

/** Whether node_modules matches the lock file; npm writes a record when an install is complete. */
const installed = () => {
  if (!existsSync(join(root, "node_modules/.package-lock.json"))) return false
  const wanted = readJson("package-lock.json").packages
  const present = readJson("node_modules/.package-lock.json").packages
  const lock = wanted[""] ?? {}
  const listed = (from, kind) => JSON.stringify(Object.entries(from[kind] ?? {}).sort())
  if (["dependencies", "devDependencies"].some((kind) => listed(manifest, kind) !== listed(lock, kind))) return false
  return Object.entries(wanted).every(
    ([path, entry]) => path === "" || entry.optional === true || present[path]?.version === entry.version,
  )
}

const pinned = `v${manifest.devDependencies.node}`
const pinnedNode = () =>
  spawnSync(join(root, "node_modules/.bin/node"), ["-v"], {
    encoding: "utf8",
    shell: process.platform === "win32",
  }).stdout?.trim() === pinned

const newEnough = () => {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)
  return major > 22 || (major === 22 && minor >= 19)
}

/** Resolves to whether the servers are installed. */
const systemReady = async () => {
  const [code] = await once(spawn("sh", [join(root, "scripts/setup-system.sh")], { stdio: "inherit" }), "exit")
  return code === 0
}
const system = process.argv.includes("--system") ? systemReady() : Promise.resolve(true)

if (!installed()) {
  console.log("Installing the packages (npm ci) …")
  if (!npm("ci")) fail("npm ci failed: see above. Is the package registry reachable?")
}

if (!pinnedNode()) {
  console.log(`Installing Node ${pinned} into node_modules …`)
  npm("rebuild", "node", "--ignore-scripts=false")
  if (!pinnedNode() && !newEnough()) {
    fail(`Node ${pinned} could not be installed, and ${process.version} is too old: install Node 22.19 or newer.`)
  }
}

if (!(await system)) process.exit(1)
