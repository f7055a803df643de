/** The demo with an agent of each vendor, asked what its page asks. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { vendorDemo } from "../../../src/cli/demo/vendor.ts"
import { VENDORS } from "../../../src/platform-api/vendors.ts"
import { eventually, freePort } from "../../harness/process.ts"

/** Its page joins through the gate, which `test/web/vendors/demo-vendor.test.ts` shows. */
const RELAYED = "openai"
/** Their slots stay held until the credential has expired, because nobody else tells that it opens nothing more. */
const HELD = ["livekit", "deepgram", "assemblyai"]

const directory = new URL("../../../src/web/demo", import.meta.url)
const asJson = { "content-type": "application/json" }
const post = (url: string, body: unknown) => fetch(url, { method: "POST", body: JSON.stringify(body) })

interface Asked {
  readonly status: string
  readonly uniqueRequestId: string
  readonly credential?: { readonly platform: string }
}

const isUp = async (url: string): Promise<boolean> => {
  try {
    return (await fetch(`${url}/health/ready`)).ok
  } catch {
    return false
  }
}

describe.concurrent("the demo of a vendor", () => {
  for (const vendor of VENDORS.filter(({ platform }) => platform !== RELAYED)) {
    it(`lets two pages join and leave the fake of ${vendor.platform}, and queues the third`, async () => {
      const port = await freePort()
      const url = `http://127.0.0.1:${port}`
      const demo = Effect.runFork(vendorDemo(vendor, port, [], directory))
      try {
        await eventually("the gate", () => isUp(url))
        const ask = async (): Promise<Asked> => {
          const answer = await fetch(`${url}/api/session/request`, { method: "POST", headers: asJson, body: "{}" })
          return (await answer.json()) as Asked
        }
        const [first, second, third] = [await ask(), await ask(), await ask()]
        assert.strictEqual(first.credential?.platform, vendor.platform)
        const joined = await Promise.all([first, second].map(({ credential }) => post(`${url}/demo/join`, credential)))
        assert.deepStrictEqual(
          joined.map(({ status }) => status),
          [200, 200],
        )
        assert.strictEqual(third.status, "queued")
        const call: unknown = await joined[0]?.json()
        assert.strictEqual((await post(`${url}/demo/leave`, call)).status, 204)
        await fetch(`${url}/api/session/${first.uniqueRequestId}`, { method: "DELETE" })
        const ofThird = async (): Promise<string> => {
          const answer = await fetch(`${url}/api/session/${third.uniqueRequestId}`)
          return ((await answer.json()) as { readonly state: string }).state
        }
        if (HELD.includes(vendor.platform)) assert.strictEqual(await ofThird(), "waiting")
        else await eventually("the call", async () => (await ofThird()) === "called")
      } finally {
        await Effect.runPromise(Fiber.interrupt(demo))
      }
    })
  }
})
