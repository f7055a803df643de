/**
 * Provokes every kind of answer that `/openapi.json` lists at a running gate, and validates it against that document: an answer whose
 * status, headers or body are not described fails, and so does a listed kind that cannot be provoked. The answers are in the folder
 * `answers`, by subject.
 */

import { assert, describe, it } from "@effect/vitest"
import type { Answered } from "../../harness/wire-document.ts"
import { NOBODY } from "./answers/endpoints.ts"
import { failures } from "./answers/failures.ts"
import { host } from "./answers/host.ts"
import { offers } from "./answers/offers.ts"
import { refusals } from "./answers/refusals.ts"
import { tickets } from "./answers/tickets.ts"
import { webhooks } from "./answers/webhooks.ts"
import { makeOpenApiCheck } from "./openapi-check.ts"

const openapi = makeOpenApiCheck()

describe("the document says all of", () => {
  for (const answers of [tickets, host, webhooks, offers, refusals, failures]) answers(openapi)
})

it("an answer that the document does not describe completely is detected", () => {
  const [document] = openapi.documents
  const json = "application/json; charset=utf-8"
  const body = { uniqueRequestId: NOBODY, state: "live" }
  const answered = { method: "GET", path: `/api/session/${NOBODY}`, status: 200, headers: { "content-type": json } }
  const objection = (more: Partial<Answered>) =>
    document?.objection({ ...answered, text: JSON.stringify(body), ...more }) ?? ""
  assert.strictEqual(objection({}), "")
  assert.include(objection({ status: 418 }), "418 is not documented")
  assert.include(objection({ headers: { ...answered.headers, "x-new": "1" } }), "x-new is not documented")
  assert.include(objection({ headers: { ...answered.headers, "cache-control": "public" } }), "cache-control")
  assert.include(objection({ headers: { "content-type": "text/html" } }), "text/html is not documented")
  assert.include(objection({ text: JSON.stringify({ ...body, more: 1 }) }), "additional properties")
  assert.include(objection({ status: 429 }), "retry-after is missing")
  assert.include(objection({ method: "PUT" }), "a method that is not documented")
})

it("the document lists nothing that no gate answers", () => {
  const [document] = openapi.documents
  assert.isDefined(document)
  assert.deepStrictEqual(
    [...(document?.kinds ?? [])].filter((kind) => !openapi.seen.has(kind)),
    [],
  )
})
