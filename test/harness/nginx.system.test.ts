import { assert, describe, it } from "@effect/vitest"
import { startNginx } from "./nginx.ts"
import { eventually, freePort } from "./process.ts"

describe("nginx of a test", () => {
  it("leaves no process when it is stopped: nothing holds its port", async () => {
    const port = await freePort()
    const nginx = await startNginx(() => `server { listen 127.0.0.1:${port}; return 204; }`)
    const ask = () => fetch(`http://127.0.0.1:${port}/`)
    await eventually("nginx", async () => (await ask()).status === 204)
    await nginx.dispose()
    assert.strictEqual(
      await ask().then(
        ({ status }) => status,
        () => "refused",
      ),
      "refused",
    )
  })
})
