/** Each vendor has its folder, and nothing but its folder and the four lists names it. */
import { globSync, readFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { DEFAULT_PLATFORM, PLATFORMS, VENDORS } from "../../src/platform-api/vendors.ts"

const source = join(import.meta.dirname, "../../src")
const vendors: ReadonlyArray<string> = VENDORS.map(({ platform }) => platform)

const codeOf = (file: string): string =>
  readFileSync(join(source, file), "utf8").replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, "")

/** The platforms whose folder has a file of this name. */
const having = (file: string): ReadonlyArray<string> =>
  globSync(`*/${file}`, { cwd: join(source, "platform-api") }).map((path) => dirname(path))

describe("the folder of a vendor in src/platform-api", () => {
  it("has an adapter, a fake and the contract's facts, as that of the default platform", () => {
    for (const file of ["adapter.ts", "fake.ts", "contract.ts"])
      assert.sameMembers([...having(file)], [...PLATFORMS], file)
  })

  it("has settings, rows and a section of the documents", () => {
    for (const file of ["settings.ts", "rows.ts", "section.md"])
      assert.sameMembers([...having(file)], [...vendors], file)
  })

  it("has the check of its webhooks in a file of that name, where its adapter reads webhooks", () => {
    const reading = having("adapter.ts").filter((platform) =>
      codeOf(`platform-api/${platform}/adapter.ts`).includes("webhooks: "),
    )
    // the default platform's webhooks have an address and secrets of the whole gate
    assert.sameMembers([...having("webhooks.ts")], [...reading, DEFAULT_PLATFORM])
  })

  it("has a part for pages where the list of those parts names it", () => {
    const list = readFileSync(join(source, "web/widget/vendors/pages.ts"), "utf8")
    const named = [...list.matchAll(/platform-api\/(\w+)\/page\.ts/g)].map(([, vendor = ""]) => vendor)
    assert.sameMembers([...having("page.ts")], named)
  })

  it("is all that names the vendor, but for the lists of settings, adapters, fakes and pages", () => {
    const LISTS = [
      "platform-api/vendors.ts",
      "platform-api/adapters.ts",
      "testing/fakes.ts",
      "web/widget/vendors/pages.ts",
    ]
    /** Another meaning of the word, or a header that a vendor's SDK sends. */
    const OTHER = /\bdaily\b|\bDaily\b|\bgeneric\b|\bGeneric\b|x-openai-agents-sdk/g
    const groups = VENDORS.flatMap(({ group, platform }) => [group, platform])
    const names = new RegExp(groups.map((name) => `["'/.]${name}\\b`).join("|"))
    const files = globSync("**/*.{ts,tsx}", { cwd: source }).filter(
      (file) => !LISTS.includes(file) && !vendors.includes(basename(dirname(file))) && !file.endsWith(".generated.ts"),
    )
    assert.isAbove(files.length, 500)
    const naming = files.filter((file) => names.test(codeOf(file).replaceAll(OTHER, "")))
    assert.deepStrictEqual(naming, [])
    assert.notInclude(vendors, DEFAULT_PLATFORM)
  })
})
