/** The folders of src import one way: each only those below it. Circles between files are found by Biome (`noImportCycles`). */
import { globSync, readFileSync } from "node:fs"
import { dirname, join, normalize } from "node:path"
import { assert, describe, it } from "@effect/vitest"

const source = join(import.meta.dirname, "../src")

/** From the top to the bottom. Folders of one line do not import each other. */
const LAYERS: ReadonlyArray<ReadonlyArray<string>> = [
  ["main.ts", "index.ts"],
  ["cli", "testing"],
  ["reload"],
  ["embedded"],
  ["http"],
  ["operator"],
  ["gatekeeper"],
  ["admission", "budgets", "events"],
  ["rate-limiter", "fifo-queue", "ip-intel", "platform-api", "push-channel", "identity-tokens"],
  ["caller-names"],
  ["store"],
  ["settings"],
  ["protocol"],
  ["serving"],
  ["lib"],
]

/** Folders beside the gate. */
const BESIDE: { readonly [Folder in "platform" | "web"]: ReadonlyArray<string> } = {
  // it knows the gate only over the wire
  platform: ["serving", "lib"],
  // the pages' types are those of the APIs that they call
  web: ["operator", "fifo-queue", "platform", "platform-api"],
}

/** What of a folder others may import against the order, and who. */
const EXCEPTIONS: ReadonlyArray<{ readonly from: RegExp; readonly to: RegExp }> = [
  // the names of IP providers, which are the values of a setting
  { from: /^settings\//, to: /^ip-intel\/provider-kinds\.ts$/ },
  // the forms of a store's address, which is the value of a setting
  { from: /^settings\//, to: /^store\/connection-string\.ts$/ },
  // the list of vendors, whose settings are a part of a campaign's
  { from: /^settings\//, to: /^platform-api\/vendors\.ts$/ },
  // a vendor's folder has its fake, which only tests, hosts' tests and the demo load
  { from: /^platform-api\/([a-z]+\/fake|contract)\.ts$/, to: /^testing\/FakeVendor\.ts$/ },
  { from: /^cli\/demo\//, to: /^testing\// },
  // … and its part of the widget
  { from: /^platform-api\/[a-z]+\/page\.ts$/, to: /^web\/widget\// },
  // the local platform has a command
  { from: /^cli\//, to: /^platform\// },
]

const IMPORT = /(?:\bfrom|\bimport\(|^import)\s*"(\.[^"]+)"/gm

const imports = globSync("**/*.{ts,tsx}", { cwd: source }).flatMap((from) =>
  [...readFileSync(join(source, from), "utf8").matchAll(IMPORT)].map(([, path = ""]) => ({
    from,
    to: normalize(join(dirname(from), path)),
  })),
)

const folderOf = (path: string): string => path.split("/")[0] ?? path
const heightOf = (folder: string): number => -LAYERS.findIndex((layer) => layer.includes(folder))
const besides = new Map<string, ReadonlyArray<string>>(Object.entries(BESIDE))

const isAllowed = (from: string, to: string): boolean => {
  const [upper, lower] = [folderOf(from), folderOf(to)]
  if (upper === lower || EXCEPTIONS.some((each) => each.from.test(from) && each.to.test(to))) return true
  const own = besides.get(upper)
  return own === undefined ? !besides.has(lower) && heightOf(upper) > heightOf(lower) : own.includes(lower)
}

describe("the imports of src", () => {
  it("lead from each folder only to those below it", () => {
    assert.isAbove(imports.length, 2_000)
    const wrong = imports.filter(({ from, to }) => !isAllowed(from, to)).map(({ from, to }) => `${from} imports ${to}`)
    assert.deepStrictEqual(wrong, [])
  })

  it("are in an order that has every folder", () => {
    const folders = new Set(imports.flatMap(({ from, to }) => [folderOf(from), folderOf(to)]))
    const known = [...LAYERS.flat(), ...besides.keys()]
    assert.sameMembers([...folders], known)
  })
})
