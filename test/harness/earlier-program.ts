/**
 * Earlier programs, for tests of an upgrade: that of the last release, whose commit `last-release.json` names and each release changes, and
 * those of other commits. Their sources come from git, run with the packages of this checkout, and are bundled once: a gate that strips the
 * types of a thousand modules takes seconds of CPU to start. The bundles stay in `node_modules/.cache/earlier`.
 */
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { build, type Plugin } from "esbuild"
import release from "./last-release.json" with { type: "json" }

const root = fileURLToPath(new URL("../..", import.meta.url))
const git = (...args: ReadonlyArray<string>): Buffer =>
  execFileSync("git", args, { cwd: root, stdio: ["ignore", "pipe", "pipe"], maxBuffer: 2 ** 28 })

export interface Commit {
  /** what it is, for who reads why a test was skipped */
  readonly version: string
  readonly commit: string
}

export const LAST_RELEASE: Commit = release

export interface EarlierProgram {
  readonly version: string
  /** what `bench.gate` starts */
  readonly main: string
}

/** Why the program of this commit is not here, such as in a shallow clone; undefined if it is. */
export const whyAbsent = ({ commit, version }: Commit): string | undefined => {
  try {
    git("cat-file", "-e", `${commit}^{commit}`)
    return undefined
  } catch {
    return `this clone does not have ${version}, commit ${commit.slice(0, 9)}: run git fetch --unshallow`
  }
}

/** The program finds its other files beside its sources: each module keeps the address that it had there, below `home`. */
const addressesBelow = (directory: string, home: string): Plugin => ({
  name: "addresses-of-sources",
  setup: ({ onLoad }) => {
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      if (!path.startsWith(join(directory, "src"))) return undefined
      const { href } = pathToFileURL(home + path.slice(directory.length))
      return { loader: "ts", contents: readFileSync(path, "utf8").replaceAll("import.meta.url", JSON.stringify(href)) }
    })
  },
})

/** Packages that are CommonJS ask for Node's modules by `require`. */
const REQUIRE =
  'import { createRequire as requireBeside } from "node:module"; const require = requireBeside(import.meta.url)'

/** Takes the sources out of git into a new directory, and bundles them there for `home`. */
const prepare = async (commit: string, directory: string, home: string): Promise<void> => {
  execFileSync("tar", ["-x", "-C", directory], { input: git("archive", commit, "src", "package.json") })
  symlinkSync(join(root, "node_modules"), join(directory, "node_modules"))
  await build({
    absWorkingDir: directory,
    entryPoints: { main: "src/main.ts" },
    outdir: "bundle",
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node22",
    external: ["bufferutil", "utf-8-validate", "pg-native"],
    banner: { js: REQUIRE },
    plugins: [addressesBelow(directory, home)],
    logLevel: "error",
  })
}

/** The program of this commit, bundled by the first who asks; several processes may ask at once. */
export const programAt = async ({ commit, version }: Commit): Promise<EarlierProgram> => {
  const made = createHash("sha256")
    .update(readFileSync(join(root, "package-lock.json")))
    .update(readFileSync(fileURLToPath(import.meta.url)))
  const home = join(root, "node_modules/.cache/earlier", `${commit}-${made.digest("hex").slice(0, 16)}`)
  if (!existsSync(home)) {
    mkdirSync(dirname(home), { recursive: true })
    const directory = mkdtempSync(join(dirname(home), "new-"))
    try {
      await prepare(commit, directory, home)
      renameSync(directory, home)
    } catch (error) {
      rmSync(directory, { recursive: true, force: true })
      // another process was faster
      if (!existsSync(home)) throw error
    }
  }
  return { version, main: join(home, "bundle/main.mjs") }
}
