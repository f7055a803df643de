/** The frame for a gate's preview: its policy names the gate's origin, and nothing else can be put into it. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Platform from "../../../src/platform/Platform.ts"

/** Asks as a frame of the dashboard does. */
const preview = Effect.fnUntraced(function* (url: string) {
  const { origin } = yield* Platform.Platform
  const headers = { "sec-fetch-dest": "iframe", "sec-fetch-site": "same-origin" }
  const { headers: answered, status } = yield* Effect.promise(() =>
    fetch(`${origin}/preview?${new URLSearchParams({ url })}`, { headers }),
  )
  return { status, policy: answered.get("content-security-policy") ?? "" }
})

describe("the frame of the preview", () => {
  it.effect("names the gate's origin in its policy", () =>
    Effect.gen(function* () {
      for (const origin of [
        "https://gate.example",
        "http://127.0.0.1:8080",
        "http://[::1]:8080",
        "https://xn--bcher-kva.example",
      ]) {
        const { policy, status } = yield* preview(`${origin}/widget/preview`)
        assert.strictEqual(status, 200)
        assert.include(policy.split("; "), `frame-src ${origin}`)
      }
    }).pipe(Effect.provide(Platform.layer())),
  )

  it.effect("is not given for a host that would change the policy", () =>
    Effect.gen(function* () {
      for (const host of ["*", "*.example", "x;sandbox;y", "x,y", "x'y"]) {
        assert.deepStrictEqual(yield* preview(`https://${host}/widget/preview`), { status: 404, policy: "" }, host)
      }
    }).pipe(Effect.provide(Platform.layer())),
  )
})
