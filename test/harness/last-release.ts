/**
 * The program of the last release, for tests of an upgrade. `last-release.json` names its commit, and is changed with each release. Its
 * sources come from git and run as they are, since Node strips their types: nothing is built. It runs with the packages of this
 * checkout.
 */
import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import release from "./last-release.json" with { type: "json" }

const root = fileURLToPath(new URL("../..", import.meta.url))
const git = (...args: ReadonlyArray<string>): Buffer =>
  execFileSync("git", args, { cwd: root, stdio: ["ignore", "pipe", "pipe"], maxBuffer: 2 ** 28 })

export interface LastRelease {
  readonly version: string
  /** what `bench.gate` starts */
  readonly main: string
  readonly dispose: () => Promise<void>
}

/** Why there is no last release here, such as in a shallow clone; undefined if there is one. */
export const noLastRelease = (): string | undefined => {
  try {
    git("cat-file", "-e", `${release.commit}^{commit}`)
    return undefined
  } catch {
    return `this clone does not have ${release.version}, commit ${release.commit.slice(0, 9)}: run git fetch --unshallow`
  }
}

/** Takes the sources out of git, into a directory of their own. */
export const lastRelease = (): LastRelease => {
  const directory = mkdtempSync(join(tmpdir(), "voicegate-last-release-"))
  const tar = git("archive", release.commit, "src", "package.json")
  execFileSync("tar", ["-x", "-C", directory], { input: tar })
  symlinkSync(join(root, "node_modules"), join(directory, "node_modules"))
  return {
    version: release.version,
    main: join(directory, "src/main.ts"),
    dispose: async () => rmSync(directory, { recursive: true, force: true }),
  }
}
