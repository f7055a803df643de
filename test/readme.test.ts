/** The README's tables say what is: every setting with its default, and every code of the wire. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { OpenApi } from "effect/http-api"
import { withSettingsTable } from "../scripts/readme-settings.ts"
import { Documented } from "../src/http/Api.ts"
import { settingRows } from "../src/settings/table.ts"

const readme = readFileSync(join(import.meta.dirname, "../README.md"), "utf8")

const section = (heading: string): string =>
  readme
    .split(/^## /m)
    .find((each) => each.startsWith(`${heading}\n`))
    ?.slice(heading.length) ?? ""

const rows = (text: string): ReadonlyArray<ReadonlyArray<string>> =>
  text
    .split("\n")
    .filter((line) => /^\| [`\d]/.test(line))
    .map((line) =>
      line
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )

/** Settings with their defaults; `.Name` continues the group of the name before, and defaults go by their place. */
const listed = (): ReadonlyMap<string, string> => {
  const found = new Map<string, string>()
  for (const [names = "", defaults = ""] of rows(section("Settings"))) {
    const paths = [...names.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name)
    const group = (paths[0] ?? "").slice(0, paths[0]?.lastIndexOf("."))
    const each = defaults.replaceAll("`", "").split(", ")
    for (const [index, name] of paths.entries()) {
      const path = name.startsWith(".") ? group + name : name
      found.set(path, (each.length === paths.length ? each[index] : defaults) ?? "")
    }
  }
  return found
}

describe("the README", () => {
  it("has the table of settings that `node scripts/readme-settings.ts` writes", () => {
    assert.strictEqual(withSettingsTable(readme), readme)
  })

  it("lists every setting, and nothing else", () => {
    assert.sameMembers(
      [...listed().keys()],
      settingRows.map(({ path }) => path),
    )
  })

  it("lists the default of every setting that has a value, a list or none", () => {
    const defaults = listed()
    const plain = settingRows.filter(
      ({ path, default: value }) =>
        /^(required|none|off|allow|plain|public|true|false|[\d.]+)$/.test(value) && defaults.has(path),
    )
    assert.isAbove(plain.length, 30)
    for (const { path, default: value } of plain)
      assert.strictEqual(defaults.get(path)?.replaceAll("`", ""), value, path)
  })

  it("lists every code that the wire's documents list, with its status", () => {
    const table = rows(section("The wire")).map(([status = "", codes = ""]) => ({ status, codes }))
    const responses = Object.values(OpenApi.fromApi(Documented).paths).flatMap((path) =>
      [path.get, path.post, path.delete].flatMap((operation) => Object.entries(operation?.responses ?? {})),
    )
    const refusals = responses.filter(([status]) => Number(status) >= 400)
    const documented = refusals.flatMap(([status, { description }]) =>
      [...description.matchAll(/`([a-z]+_[a-z_]+|blocked|draining)`/g)].map(([, code]) => ({ status, code })),
    )
    assert.isAbove(documented.length, 20)
    for (const { code, status } of documented) {
      assert.isTrue(
        table.some((row) => row.status.split(" ").includes(status) && row.codes.includes(`\`${code}\``)),
        `${status} ${code}`,
      )
    }
  })
})
