/** A running gate that reads its settings again: on SIGHUP, alone and with several processes, and through the operator's console. */
import { assert, describe, it } from "@effect/vitest"
import { type Gate, WEBHOOK_TOKEN, withBench } from "../harness/gate.ts"
import type { Answer } from "../harness/http.ts"
import { eventually } from "../harness/process.ts"
import { startRedis } from "../harness/redis.ts"
import { startPlatform } from "../harness/servers.ts"
import { consoleAsks, reload, reloads, settings, settingsFile } from "./support/reload.ts"

const NEW_WEBHOOK_TOKEN = "e2e-new-webhook-token-0123"

const webhook = (gate: Gate, sessionId: string, token: string): Promise<Answer> =>
  gate.ask("POST", "/api/webhook/session-ended", {
    headers: { "x-api-token": token },
    body: { ConversationSessionId: sessionId },
  })

describe.concurrent("a running gate", { timeout: 120_000 }, () => {
  it(
    "finishes the start that was in progress at the reload, and starts the next with the new settings",
    withBench(async (bench) => {
      const platform = bench.own(await startPlatform())
      const elsewhere = bench.own(await startPlatform())
      const given = { store: "memory:", slots: 2 }
      const file = settingsFile(bench)
      file.write(settings({ ...given, platform }))
      const gate = await bench.gate({}, ["--config", file.path])
      platform.script = () => "hang"
      const first = gate.call()
      await eventually("the start", () => platform.starts.length === 1)
      file.write(settings({ ...given, platform: elsewhere }))
      await reload(gate)
      assert.strictEqual((await gate.call()).status, 200)
      assert.lengthOf(elsewhere.starts, 1)
      platform.starts[0]?.release()
      assert.strictEqual((await first).status, 200)
      assert.strictEqual((await gate.call()).status, 202)
    }),
  )

  it(
    "keeps its settings when the new ones have problems, and names them all",
    withBench(async (bench) => {
      const platform = bench.own(await startPlatform())
      const given = { store: "memory:", platform }
      const file = settingsFile(bench)
      file.write(settings(given))
      const gate = await bench.gate({}, ["--config", file.path])
      assert.strictEqual((await gate.call()).status, 200)
      file.write({ ...settings({ ...given, slots: 2 }), Queue: { MaxLength: -1, Unknown: 1 } })
      gate.kill("SIGHUP")
      await eventually("the problems", () => gate.output().includes("The settings were not changed (SIGHUP)"))
      assert.include(gate.output(), "Queue.MaxLength")
      assert.include(gate.output(), "Queue.Unknown")
      assert.strictEqual((await gate.call()).status, 202)
      const refused = await consoleAsks(gate, "POST", "reload")
      assert.deepInclude(refused.json, { status: 422, code: "settings_refused" })
      assert.include(refused.text, "Queue.MaxLength")
      file.write("{")
      assert.include((await consoleAsks(gate, "POST", "reload")).text, "valid JSON")
    }),
  )

  it(
    "accepts a rotated secret of the webhook, and names what changes only with the next start",
    withBench(async (bench) => {
      const redis = bench.own(await startRedis())
      const platform = bench.own(await startPlatform())
      const given = { store: redis.url, platform, slots: 2 }
      const file = settingsFile(bench)
      file.write(settings(given))
      const gate = await bench.gate({}, ["--config", file.path, "--processes", "2"])
      await eventually("all listen", () => gate.output().split("listens at").length === 3)
      for (let n = 0; n < 2; n++) assert.strictEqual((await gate.call()).status, 200)

      file.write(settings({ ...given, port: 9, webhookToken: [NEW_WEBHOOK_TOKEN] }))
      const outcome = await consoleAsks(gate, "POST", "reload")
      assert.strictEqual(outcome.status, 200)
      assert.deepStrictEqual(outcome.json, { changed: ["Security.WebhookApiToken"], kept: ["Server.Port"] })
      await eventually("the other process", () => reloads(gate) === 1)
      assert.include(
        gate.output(),
        "These settings cannot change while the gate runs and keep their values: Server.Port.",
      )

      // separate connections reach both processes
      for (let n = 0; n < 6; n++) {
        assert.strictEqual((await webhook(gate, "conversation-1", WEBHOOK_TOKEN)).status, 401)
      }
      assert.deepStrictEqual((await webhook(gate, "conversation-1", NEW_WEBHOOK_TOKEN)).json, { released: true })
      assert.notInclude(gate.output(), NEW_WEBHOOK_TOKEN)
      const auditLog = await consoleAsks(gate, "GET", "audit-log?count=10")
      assert.include(auditLog.text, '{"setting":"Security.WebhookApiToken","before":"[***]","after":"[***]"}')
      assert.notInclude(auditLog.text, NEW_WEBHOOK_TOKEN)
    }),
  )
})
