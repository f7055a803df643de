/**
 * Earlier programs, for tests of an upgrade: that of the last release, whose commit `last-release.json` names and each release changes, and
 * those of other commits. Their sources come from git and run as they are, since Node strips their types: nothing is built. They run with
 * the packages of this checkout.
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
  readonly dispose: () => Promise<void>
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

/** Takes the sources out of git, into a directory of their own. */
export const programAt = ({ commit, version }: Commit): EarlierProgram => {
  const directory = mkdtempSync(join(tmpdir(), "voicegate-earlier-"))
  const tar = git("archive", commit, "src", "package.json")
  execFileSync("tar", ["-x", "-C", directory], { input: tar })
  symlinkSync(join(root, "node_modules"), join(directory, "node_modules"))
  return {
    version,
    main: join(directory, "src/main.ts"),
    dispose: async () => rmSync(directory, { recursive: true, force: true }),
  }
}
