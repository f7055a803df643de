/** The tables of the documents list what is: every setting with its default, every metric, every code, state and path of the wire. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { OpenApi } from "effect/http-api"
import { readDocument } from "../../scripts/docs/documents.ts"
import { withSettingsTables } from "../../scripts/settings-table.ts"
import { Documented } from "../../src/http/Api.ts"
import { EndState, TicketState } from "../../src/protocol/ticket.ts"
import { settingRows } from "../../src/settings/showing/table.ts"
import { root, rows, section } from "./texts.ts"

/** The names of metrics that the source declares. */
const declaredMetrics = (): ReadonlyArray<string> =>
  readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .flatMap((file) => [
      ...readFileSync(join(root, "src", file), "utf8").matchAll(/(?:Metric\.\w+|gauge)\(\s*"(voicegate_\w+)"/g),
    ])
    .flatMap(([, name]) => name ?? [])

describe("the metrics in monitoring.md", () => {
  it("are all that there are", () => {
    const named = section(readDocument("monitoring"), "Metrics")
      .split("\n")
      .filter((line) => line.startsWith("| `voicegate_"))
      .flatMap((line) => [...(line.split("|")[1] ?? "").matchAll(/`(voicegate_\w+)`/g)])
      .flatMap(([, name]) => name ?? [])
    assert.isAbove(named.length, 15)
    assert.sameMembers(named, [...new Set(declaredMetrics())])
  })
})

const configuration = readDocument("configuration")

const defaults: ReadonlyMap<string, string> = new Map(
  rows(section(configuration, "Settings")).map(([name = "", value = ""]) => [
    name.replaceAll("`", ""),
    value.replaceAll("`", ""),
  ]),
)

describe("the settings in configuration.md", () => {
  it("are the tables that `node scripts/settings-table.ts` writes", () => {
    assert.strictEqual(withSettingsTables(configuration), configuration)
  })

  it("are every setting, and nothing else", () => {
    assert.sameMembers(
      [...defaults.keys()],
      settingRows.map(({ path }) => path),
    )
  })

  it("have the default of every setting that has a value, a list or none", () => {
    const plain = settingRows.filter(({ default: value }) =>
      /^(required|none|off|allow|plain|public|true|false|[\d.]+)$/.test(value),
    )
    assert.isAbove(plain.length, 30)
    for (const { path, default: value } of plain) assert.strictEqual(defaults.get(path), value, path)
  })
})

describe("wire.md", () => {
  it("lists every code that the OpenAPI document lists, with its status", () => {
    const table = rows(section(readDocument("wire"), "Errors")).map(([status = "", codes = ""]) => ({ status, codes }))
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

  it("lists every state of a ticket, and says which of them are over", () => {
    const [live = "", over = ""] = section(readDocument("wire"), "Tickets").split("| over as |")
    const statesIn = (text: string) => [...text.matchAll(/^\| `(\w+)` \|/gm)].map(([, state]) => state)
    assert.sameMembers([...statesIn(live), ...statesIn(over)], [...TicketState.literals])
    assert.sameMembers(statesIn(over), [...EndState.literals])
  })

  it("lists every path of the OpenAPI document", () => {
    const endpoints = section(readDocument("wire"), "Endpoints").replaceAll("{uniqueRequestId}", "{id}")
    for (const path of Object.keys(OpenApi.fromApi(Documented).paths)) assert.include(endpoints, `\`${path}\``)
  })
})
