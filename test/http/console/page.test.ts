/** The page of the console: where it is, and what it allows. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { ask, gateTest, operating, problemOf, withToken } from "./asking.ts"
import { type GateUnderTest, type Options, startGate, TOKEN } from "./support.ts"

describe("without Security.ConsoleToken", () => {
  gateTest("there is no console", { token: undefined }, (gate) =>
    Effect.gen(function* () {
      for (const path of [
        "/console",
        "/console/",
        "/console/assets/a.js",
        "/console/api/view",
        "/console/api/audit-log",
      ]) {
        const answer = yield* ask(gate.url + path, withToken(TOKEN))
        assert.strictEqual(answer.status, 404, path)
        assert.strictEqual(problemOf(answer).code, "not_found", path)
      }
      assert.strictEqual((yield* operating(gate).post({ action: { type: "pause" } })).status, 404)
    }),
  )
})

describe("the console's page", () => {
  const pageTest = (name: string, options: Options, body: (gate: GateUnderTest) => Effect.Effect<void, unknown>) =>
    it.effect(name, () =>
      Effect.gen(function* () {
        const pageRoot = yield* Effect.acquireRelease(
          Effect.promise(async () => {
            const root = await mkdtemp(join(tmpdir(), "voicegate-page-"))
            await mkdir(join(root, "console/assets"), { recursive: true })
            await writeFile(join(root, "console/index.html"), "<!doctype html><title>console</title>")
            await writeFile(join(root, "console/assets/a-1.js"), "1")
            await writeFile(join(root, "other.txt"), "of somebody else")
            return root
          }),
          (root) => Effect.promise(() => rm(root, { recursive: true, force: true })),
        )
        yield* body(yield* startGate({ ...options, pageRoot }))
      }),
    )

  pageTest("is served below its folder with a policy that allows its own files alone", {}, (gate) =>
    Effect.gen(function* () {
      const bare = yield* ask(`${gate.url}/console?x=1`)
      assert.deepStrictEqual([bare.status, bare.headers.get("location")], [308, "console/?x=1"])
      const page = yield* ask(`${gate.url}/console/`)
      assert.strictEqual(page.status, 200)
      assert.include(page.text, "<title>console</title>")
      const policy = page.headers.get("content-security-policy") ?? ""
      assert.include(policy, "default-src 'none'")
      assert.include(policy, "frame-ancestors 'none'")
      assert.notInclude(policy, "unsafe")
      assert.strictEqual(page.headers.get("cache-control"), "no-cache")
      assert.strictEqual(page.headers.get("x-content-type-options"), "nosniff")
      const asset = yield* ask(`${gate.url}/console/assets/a-1.js`)
      assert.include(asset.headers.get("cache-control") ?? "", "immutable")
    }),
  )

  pageTest("is sent compressed to a client that takes it, and once to a client that keeps it", {}, (gate) =>
    Effect.gen(function* () {
      for (const path of ["/console/", "/console/assets/a-1.js"]) {
        const packed = yield* ask(gate.url + path, { headers: { "accept-encoding": "gzip" } })
        assert.deepStrictEqual([packed.status, packed.headers.get("content-encoding")], [200, "gzip"], path)
        assert.strictEqual(packed.headers.get("vary"), "Accept-Encoding", path)
        const plain = yield* ask(gate.url + path, { headers: { "accept-encoding": "identity" } })
        assert.deepStrictEqual([plain.headers.get("content-encoding"), plain.text], [null, packed.text], path)
        const known = { "accept-encoding": "gzip", "if-none-match": packed.headers.get("etag") ?? "" }
        assert.strictEqual((yield* ask(gate.url + path, { headers: known })).status, 304, path)
      }
      const script = yield* ask(`${gate.url}/console/assets/a-1.js`)
      assert.strictEqual(script.headers.get("content-type"), "text/javascript; charset=utf-8")
    }),
  )

  pageTest("is all there is below it", {}, (gate) =>
    Effect.gen(function* () {
      for (const path of [
        "assets/none.js",
        "assets/%2e%2e/%2e%2e/other.txt",
        "assets/..%2f..%2fother.txt",
        "index.txt",
      ]) {
        const answer = yield* ask(`${gate.url}/console/${path}`)
        assert.strictEqual(answer.status, 404, path)
        assert.notInclude(answer.text, "somebody else", path)
      }
    }),
  )

  pageTest("is found below a host's mount path too", { basePath: "/voice" }, (gate) =>
    Effect.gen(function* () {
      assert.strictEqual((yield* ask(`${gate.url}/console`)).headers.get("location"), "console/")
      assert.strictEqual((yield* ask(`${gate.url}/console/`)).status, 200)
      assert.strictEqual((yield* operating(gate).view()).campaign, "default")
    }),
  )
})
