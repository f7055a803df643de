/** The fuzzer's oracle: what it must report, and what it must accept. */
import { assert, describe, it } from "@effect/vitest"
import { wrongAnswer, wrongLine } from "../fuzz/judge.ts"
import { Reader } from "../fuzz/reader.ts"

const secrets = ["the-secret-0123456789"]
const credentials = {
  ...{ consoleToken: "", webhookToken: "", signingSecret: "", cookie: "", business: "", campaign: "" },
  keys: ["k"] as const,
  kept: [],
  secrets,
}
const JSON_TYPE = "content-type: application/problem+json"

const judged = (head: string, body: string, to: "gate" | "platform" = "gate", method = "GET") => {
  const length = `content-length: ${Buffer.byteLength(body)}`
  const answer = Buffer.from(`HTTP/1.1 ${head}\r\n${length}\r\n\r\n${body}`)
  const reader = new Reader(() => false)
  // in two pieces, as a network may give it
  const responses = [...reader.feed(answer.subarray(0, 11)), ...reader.feed(answer.subarray(11))]
  const [response] = responses
  if (response === undefined) throw new Error("not read")
  return wrongAnswer({ method, to }, response, credentials)
}

describe("an answer", () => {
  it("an answer with a server error is wrong, unless it is documented", () => {
    assert.strictEqual(judged(`500 Internal Server Error\r\n${JSON_TYPE}`, '{"code":"internal_error"}'), "status 500")
    assert.strictEqual(judged(`503 Service Unavailable\r\n${JSON_TYPE}`, '{"code":"other"}'), "status 503")
    assert.strictEqual(judged(`502 Bad Gateway\r\n${JSON_TYPE}`, '{"code":"queue_full"}'), "status 502")
    assert.strictEqual(judged(`503 Unavailable\r\n${JSON_TYPE}`, '{"code":"queue_full"}', "platform"), "status 503")
    assert.isUndefined(judged(`503 Service Unavailable\r\n${JSON_TYPE}`, '{"code":"queue_full"}'))
    assert.isUndefined(judged(`502 Bad Gateway\r\n${JSON_TYPE}`, '{"code":"platform_rejected"}'))
  })

  it("an answer with a secret, a stack, an unknown header, unbounded text or broken JSON is wrong", () => {
    assert.strictEqual(judged("400 Bad", "it is the-secret-0123456789"), "a secret")
    assert.strictEqual(judged("200 OK\r\nx: the-secret-0123456789", ""), "a secret")
    assert.strictEqual(judged("400 Bad", "Error\n    at run (/app/dist/main.js:1:2)"), "a stack")
    assert.strictEqual(judged("200 OK\r\nSet-Cookie: a=b", ""), "a header was injected")
    assert.strictEqual(judged("400 Bad", "x".repeat(20_000)), "a refusal of 20000 bytes")
    assert.strictEqual(judged(`400 Bad\r\n${JSON_TYPE}`, "{"), "JSON that is none")
    assert.isUndefined(judged(`400 Bad\r\n${JSON_TYPE}`, '{"code":"invalid_request"}'))
  })
})

describe("a line of output", () => {
  const entry =
    '{"time":"t","level":"info","message":"request","id":"a-1","method":"GET","path":"/","status":200,"outcome":"","address":"","millis":1,"campaign":"c","ticket":"0123456789","pid":1}'
  const logLine = (message: string) => `{"time":"t","level":"warn","message":"${message}","pid":1}`

  it("a line of output that is forged, of another kind, a defect or a secret is wrong", () => {
    const wrong = (line: string) => wrongLine(line, { secrets })
    assert.isUndefined(wrong(entry))
    assert.isUndefined(wrong(logLine("Let through unchecked")))
    assert.strictEqual(wrong(entry.replace('"millis"', '"more"')), "a line of the log was forged")
    assert.strictEqual(wrong('{"time":'), "a line of the log is no JSON")
    assert.strictEqual(wrong(logLine("A request failed")), "a defect was logged")
    assert.strictEqual(wrong("    at run (/app/dist/main.js:1:2)"), "a defect was logged")
    assert.strictEqual(wrong("(node:1) Warning: Unhandled rejection"), "a defect was logged")
    assert.strictEqual(wrong("hello"), "a line of another kind")
    assert.strictEqual(wrong(logLine("the-secret-0123456789")), "a secret was written")
  })
})
