/** `voicegate check`: what it reports, and its exit codes. The built program reports what is good and what Redis refuses; the rest runs in this process. */
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { type Effect, ManagedRuntime, Redacted } from "effect"
import { mintSecret } from "../../src/platform/keys/KeySecret.ts"
import * as Platform from "../../src/platform/Platform.ts"
import { type Runs, runCommand } from "../harness/command.ts"
import { type Environment, makeBench, PROVIDER_KEY, runProgram as run, settingsFor } from "../harness/gate.ts"
import { eventually, freePort } from "../harness/process.ts"
import { startRedis } from "../harness/redis.ts"
import { startProvider } from "../harness/servers.ts"
import { prepare } from "../platform/support.ts"

describe("voicegate check", () => {
  const bench = makeBench()
  const platform = ManagedRuntime.make(Platform.layer())
  afterAll(async () => {
    await platform.dispose()
    await bench.dispose()
  })
  let good: Environment
  let keys: Effect.Success<ReturnType<typeof prepare>>["keys"]

  beforeAll(async () => {
    keys = (await platform.runPromise(prepare())).keys
    const { baseUrl } = await platform.runPromise(Platform.Platform)
    const redis = bench.own(await startRedis({ password: "redis-pass-word" }))
    const provider = bench.own(await startProvider())
    good = settingsFor(
      { baseUrl },
      {
        StoreConnectionString: redis.url,
        VoiceAiPlatform__ApiSecretToken: Redacted.value(keys.gate),
        VoiceAiPlatform__BusinessId: "b1",
        VoiceAiPlatform__WebCampaignId: "c1",
        IpIntel__BaseUrl: provider.origin,
        IpIntel__ApiKey: PROVIDER_KEY,
      },
    )
  })

  const check = async (environment: Environment, runs: Runs = runCommand) => {
    const result = await runs(["check"], environment)
    for (const secret of ["redis-pass-word", ...Object.values(keys).map(Redacted.value)]) {
      assert.notInclude(result.output, secret)
    }
    return result
  }
  const failures = (output: string) => output.split("\n").flatMap((line) => /^FAIL {2}([^:,]+)/.exec(line)?.[1] ?? [])

  it.concurrent("names all of three wrong settings at once, and exits with 1", async () => {
    const { code, output } = await check({
      ...good,
      VoiceAiPlatform__MaxConcurrency: "many",
      Security__TrustedProxies__0: "not-an-address",
      Queue__StartWindowSeconds: "0",
    })
    assert.strictEqual(code, 1)
    assert.include(output, "3 problems")
    for (const path of ["VoiceAiPlatform.MaxConcurrency", "Security.TrustedProxies", "Queue.StartWindowSeconds"]) {
      assert.include(output, path)
    }
  })

  it.concurrent("exits with 0 when everything works", async () => {
    const { code, output } = await check(good, run)
    assert.strictEqual(code, 0, output)
    assert.deepStrictEqual(failures(output), [])
    assert.notInclude(output, "WARN")
    for (const what of ["settings", "store", "platform", "web campaign", "region", "slots", "addresses"]) {
      assert.match(output, new RegExp(`^ok +${what}`, "m"))
    }
    assert.match(
      output,
      /^\? +webhook: not checked: .* it needs the header X-Api-Token with a token of Security\.WebhookApiToken$/m,
    )
  })

  it.concurrent("reports for a gate on loopback who may send webhooks, and that addresses are not looked up", async () => {
    const { Security__WebhookApiToken: _, IpIntel__BaseUrl: __, IpIntel__ApiKey: ___, ...rest } = good
    const { code, output } = await check({ ...rest, Server__Host: "127.0.0.1" })
    assert.strictEqual(code, 0, output)
    assert.match(output, /^\? +webhook: not checked: .* it is accepted from this machine only$/m)
    assert.match(
      output,
      /^\? +addresses: not checked: IpIntel\.Provider is none, so no caller's address is looked up$/m,
    )
  })

  it.concurrent("says whose address counts as the caller's behind a proxy", async () => {
    const { output } = await check({ ...good, Security__TrustedProxies__0: "loopback" })
    assert.match(
      output,
      /^ok +callers: your proxies are the addresses in 127\.0\.0\.0\/8, .*"x-forwarded-for: 198\.51\.100\.7", the caller's address is 198\.51\.100\.7\. From all other addresses /m,
    )
  })

  it.concurrent("takes --config before its name as well as after it", async () => {
    const missing = join(tmpdir(), "no-such-settings.json")
    for (const args of [
      ["--config", missing, "check"],
      ["check", "--config", missing],
    ]) {
      const { code, output } = await runCommand(args)
      assert.strictEqual(code, 1)
      assert.include(output, `${missing}: expected a file that can be read; there is none at ${missing}`)
    }
    const { code, output } = await runCommand(["settings", "--config", missing])
    assert.strictEqual(code, 2)
    assert.include(output, "--config: This command reads no settings of the gate.")
  })

  it.concurrent("names a store that does not answer", async () => {
    const { code, output } = await check({
      ...good,
      StoreConnectionString: `redis://:redis-pass-word@127.0.0.1:${await freePort()}`,
    })
    assert.strictEqual(code, 1)
    assert.deepStrictEqual(failures(output), ["store"])
    assert.include(output, "StoreConnectionString")
  })

  it.concurrent("names what Redis refuses, such as a wrong password, with the cause", async () => {
    const port = new URL(good.StoreConnectionString ?? "").port
    const at = (access: string, path = "") => ({ StoreConnectionString: `redis://${access}127.0.0.1:${port}${path}` })
    for (const [store, cause] of [
      [at(":not-the-pass-word@"), /WRONGPASS/],
      [at(""), /NOAUTH/],
      [at(":redis-pass-word@", "/99"), /SELECT/],
    ] as const) {
      for (const [command, runs] of [
        ["check", runCommand],
        ["serve", run],
      ] as const) {
        const { code, output } = await runs([command], { ...good, ...store })
        assert.strictEqual(code, 1, output)
        assert.match(output, cause)
        assert.notInclude(output, "pass-word")
      }
    }
    const tail = await runCommand(["check"], {
      ...good,
      StoreConnectionString: `127.0.0.1:${port},password=abc,not-the-tail`,
    })
    assert.strictEqual(tail.code, 1)
    assert.match(tail.output, /StoreConnectionString: expected .*comma/)
    assert.notInclude(tail.output, "not-the-tail")
  })

  it.concurrent("names a wrong campaign, a wrong region, and an address that is not the platform's API", async () => {
    const base = good.VoiceAiPlatform__BaseUrl ?? ""
    for (const [wrong, setting] of [
      [{ VoiceAiPlatform__WebCampaignId: "no-such-campaign" }, "WebCampaignId"],
      [{ VoiceAiPlatform__DefaultRegionId: "mars" }, "DefaultRegionId"],
      [{ VoiceAiPlatform__BaseUrl: base.replace("/v1", "/v2") }, "BaseUrl"],
      [{ VoiceAiPlatform__BaseUrl: base.replace("/api/v1", "/docs") }, "BaseUrl"],
      // A key that is restricted to other businesses learns nothing about this one.
      [
        { VoiceAiPlatform__BusinessId: "no-such-business", VoiceAiPlatform__ApiSecretToken: Redacted.value(keys.all) },
        "BusinessId",
      ],
    ] as const) {
      const { code, output } = await check({ ...good, ...wrong })
      assert.strictEqual(code, 1, output)
      assert.match(output, new RegExp(`^FAIL .*VoiceAiPlatform\\.${setting}: `, "m"))
    }
  })

  it.concurrent("writes one JSON document for machines, with the same exit codes", async () => {
    const machine = async (environment: Environment, runs: Runs = runCommand) => {
      const { code, output } = await runs(["check", "--json"], environment)
      return { code, report: JSON.parse(output) }
    }
    const works = await machine(good, run)
    assert.strictEqual(works.code, 0)
    assert.isTrue(works.report.ok)
    assert.includeDeepMembers(
      works.report.checks.map(({ message: _, ...rest }: { message: string }) => rest),
      [
        { name: "store", status: "ok" },
        { name: "web campaign", campaign: "default", status: "ok" },
        { name: "webhook", status: "not_checked" },
      ],
    )
    const wrong = await machine({
      ...good,
      VoiceAiPlatform__WebCampaignId: "no-such-campaign",
      StoreConnectionString: `redis://127.0.0.1:${await freePort()}`,
    })
    assert.strictEqual(wrong.code, 1)
    const failed = wrong.report.checks.filter(({ status }: { status: string }) => status === "failed")
    assert.sameMembers(
      failed.map(({ name }: { name: string }) => name),
      ["store", "web campaign"],
    )
    assert.match(
      JSON.stringify(failed),
      /could not be used within 8 s: 127\.0\.0\.1:\d+ refused the connection \(ECONNREFUSED\): check the address/,
    )
    const invalid = await machine({ ...good, Queue__StartWindowSeconds: "0" })
    assert.strictEqual(invalid.code, 1)
    assert.strictEqual(invalid.report.checks[0].problems[0].path, "Queue.StartWindowSeconds")
  })

  it.concurrent("reports only what the starting gate logs too", async () => {
    const gate = await bench.gate({ ...good, VoiceAiPlatform__WebCampaignId: "no-such-campaign" })
    await eventually("the campaign's failure is logged", () =>
      /WebCampaignId: no such web campaign/.test(gate.output()),
    )
  })

  it.concurrent("names a key that the platform refuses, or that may not use the business", async () => {
    for (const secret of [mintSecret(), keys.none]) {
      const { code, output } = await check({ ...good, VoiceAiPlatform__ApiSecretToken: Redacted.value(secret) })
      assert.notInclude(output, Redacted.value(secret))
      assert.strictEqual(code, 1)
      assert.deepStrictEqual(failures(output), ["platform"])
    }
  })

  it.concurrent("says what the limit is when the slots are unknown, and reads them with a key that may", async () => {
    const { VoiceAiPlatform__MaxConcurrency: _, ...unknown } = good
    const refused = await check(unknown)
    assert.strictEqual(refused.code, 0, refused.output)
    assert.match(
      refused.output,
      /^\? +slots, campaign default: not checked: .* The platform's own refusal at capacity is the limit\. For a known number, set VoiceAiPlatform\.MaxConcurrency/m,
    )
    const told = await check({ ...unknown, VoiceAiPlatform__ApiSecretToken: Redacted.value(keys.users) })
    assert.strictEqual(told.code, 0, told.output)
    assert.include(told.output, "2 from the platform")
  })

  it.concurrent("names a provider that fails", async () => {
    const provider = bench.own(await startProvider())
    provider.script = () => ({ status: 429, body: "" })
    const { code, output } = await check({ ...good, IpIntel__BaseUrl: provider.origin })
    assert.strictEqual(code, 1)
    assert.deepStrictEqual(failures(output), ["addresses"])
    assert.match(output, /ipapi\.is answered HTTP 429/)
  })
})
