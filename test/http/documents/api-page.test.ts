/** The API reference at `/docs`: what it says, and what it does not load. */

import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { OpenApi } from "effect/http-api"
import { Documented } from "../../../src/http/Api.ts"
import { Api as Platform } from "../../../src/platform/http/Api.ts"
import { STYLE } from "../../../src/serving/api-page/style.ts"
import { renderApiPage } from "../../../src/serving/api-page.ts"

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Where a document has a field, parameter or header without a description. A reference has a section of its own. */
const undescribed = (value: unknown, at = ""): ReadonlyArray<string> => {
  if (Array.isArray(value)) return value.flatMap((item, index) => undescribed(item, `${at}/${index}`))
  if (!isObject(value)) return []
  const fields = isObject(value.properties) ? Object.entries(value.properties) : []
  const headers = isObject(value.headers) ? Object.entries(value.headers) : []
  const parameters = Array.isArray(value.parameters)
    ? value.parameters.map((each, n) => [String(n), each] as const)
    : []
  const missing = [...fields, ...headers, ...parameters].filter(([, field]) => {
    const schema = isObject(field) && isObject(field.schema) ? field.schema : field
    return ![field, schema].some((each) => isObject(each) && (typeof each.description === "string" || "$ref" in each))
  })
  return [
    ...missing.map(([name]) => `${at}: ${name}`),
    ...Object.entries(value).flatMap(([name, inner]) => undescribed(inner, `${at}/${name}`)),
  ]
}

describe("the API reference", () => {
  it("describes every field, parameter and header of the gate", () => {
    assert.deepStrictEqual(undescribed(OpenApi.fromApi(Documented)), [])
  })

  for (const [name, { render, spec }] of [
    ["gate", { spec: OpenApi.fromApi(Documented), render: () => renderApiPage(Documented, "../openapi.json") }],
    ["platform", { spec: OpenApi.fromApi(Platform), render: () => renderApiPage(Platform, "openapi.json") }],
  ] as const) {
    it(`the API reference of the ${name} lists every operation and schema, with links that lead somewhere`, async () => {
      const { gzipped, plain } = await render()
      const page = plain.body.toString()
      const { components, paths } = spec
      for (const path of Object.keys(paths)) assert.include(page, `</span>${path}</a>`)
      for (const schema of Object.keys(components.schemas)) assert.include(page, `">${schema}</a></h3>`)
      const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
      assert.strictEqual(new Set(ids).size, ids.length, "each id is there once")
      for (const [, target] of page.matchAll(/href="#([^"]+)"/g)) assert.include(ids, target)
      assert.isBelow(gzipped.body.length, 40_000)
    })

    it(`the API reference of the ${name} has no script, and no link to another host`, async () => {
      const { plain } = await render()
      assert.notMatch(plain.body.toString(), /<script|\son\w+=|(?:src|href)="(?:\w+:)?\/\/|style="/)
      const policy = plain.headers["content-security-policy"] ?? ""
      assert.match(policy, /^default-src 'none'; style-src 'sha256-[A-Za-z0-9+/=]+'; /)
      assert.notInclude(policy, "unsafe")
    })
  }

  it("has the colours of the other pages", () => {
    const tokens = readFileSync(new URL("../../../src/web/shared/styles/tokens.css", import.meta.url), "utf8")
    for (const [, token] of STYLE.matchAll(/(--[\w-]+: #\w+)/g)) assert.include(tokens, `${token};`)
  })
})
