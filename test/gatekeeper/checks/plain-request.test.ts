/** The quick check of a request against its schema: what it lets pass, the schema accepts as it is. */
import { describe, expect, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import fc from "fast-check"
import { isPlainRequest } from "../../../src/gatekeeper/checks/plain-request.ts"
import { MAX_VARIABLE_NAME, MAX_VARIABLE_VALUE, MAX_VARIABLES, SessionRequest } from "../../../src/protocol/Session.ts"

const decode = Schema.decodeUnknownResult(SessionRequest)

const odd = fc.constantFrom<unknown>(
  undefined,
  "",
  "a\u0000",
  "ü",
  "a/b",
  "a\\b",
  "a\nb",
  2,
  1.5,
  true,
  [],
  {},
  "x".repeat(257),
)
/** Mostly one of these, so that many bodies are valid. */
const mostly = (...values: ReadonlyArray<unknown>) =>
  fc.oneof({ weight: 15, arbitrary: fc.constantFrom<unknown>(null, ...values) }, { weight: 1, arbitrary: odd })
const name = fc.oneof(
  { weight: 15, arbitrary: fc.constantFrom("plan", "n".repeat(MAX_VARIABLE_NAME)) },
  { weight: 1, arbitrary: fc.constantFrom("", "__proto__", "a\nb", "ü", "n".repeat(MAX_VARIABLE_NAME + 1)) },
)
const value = fc.oneof(
  { weight: 15, arbitrary: fc.constantFrom<unknown>("pro", "a\tb\r\n", "v".repeat(MAX_VARIABLE_VALUE)) },
  { weight: 1, arbitrary: fc.constantFrom<unknown>("\u007f", "v".repeat(MAX_VARIABLE_VALUE + 1), null) },
)
const variables = fc.oneof(
  { weight: 15, arbitrary: fc.dictionary(name, value, { maxKeys: 2, noNullPrototype: true }) },
  { weight: 1, arbitrary: odd },
)
const audio = fc.oneof(
  {
    weight: 15,
    arbitrary: fc.record(
      {
        inputEncodingType: mostly(1, 8),
        inputSampleRate: fc.oneof(mostly(8_000, 96_000), fc.constantFrom<unknown>(7_999, 96_001)),
        outputBitsPerSample: mostly(8, 16, 32),
      },
      { requiredKeys: [] },
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom<unknown>({ more: 1 }, [], 1) },
)
const body = fc.record(
  {
    campaignId: mostly("default"),
    regionId: mostly("eu", ""),
    transportType: mostly(0, 1),
    clientIdentifier: mostly("shop-42"),
    dynamicVariables: variables,
    metadata: variables,
    audioConfiguration: audio,
    uniqueRequestId: mostly("AbCdEfGhIjKlMnOpQrStUv"),
  },
  { requiredKeys: [] },
)

describe("the quick check of a request", () => {
  it("lets nothing pass that the schema refuses or changes", () => {
    let passed = 0
    fc.assert(
      fc.property(body, (body) => {
        if (!isPlainRequest(body)) return
        passed++
        expect(Result.getOrThrow(decode(body))).toEqual(body)
      }),
      // about a tenth of the bodies passes
      { numRuns: 8_000 },
    )
    expect(passed).toBeGreaterThan(500)
  })

  it("lets an ordinary body pass, with as many variables as are allowed", () => {
    const dynamicVariables = Object.fromEntries(Array.from({ length: MAX_VARIABLES }, (_, n) => [`k${n}`, "v"]))
    expect(isPlainRequest({ regionId: "eu", transportType: 0, clientIdentifier: "shop-42", dynamicVariables })).toBe(
      true,
    )
    expect(isPlainRequest({ dynamicVariables: { ...dynamicVariables, more: "v" } })).toBe(false)
  })
})
