/** The command line: its output and exit codes. What does not depend on the process runs in this one. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import packageJson from "../../package.json" with { type: "json" }
import { settingsFrom } from "../../src/settings/given.ts"
import { jsonSchema } from "../../src/settings/showing/json-schema.ts"
import { settingRows } from "../../src/settings/showing/table.ts"
import { program, whenBuilt } from "../harness/build.ts"
import { runCommand } from "../harness/command.ts"
import { makeBench, runProgram as run, settingsFor } from "../harness/gate.ts"
import { eventually, start } from "../harness/process.ts"

describe("voicegate", () => {
  it("prints its version and its help", async () => {
    const version = await run(["--version"])
    assert.strictEqual(version.code, 0)
    assert.include(version.output, packageJson.version)
    const help = await run(["--help"])
    assert.strictEqual(help.code, 0)
    for (const word of ["serve", "demo", "check", "--config"]) assert.include(help.output, word)
    assert.strictEqual((await run(["dance"])).code, 2)
    for (const wrong of [["--no-such-flag"], ["campaign"], ["campaign", "pause"]]) {
      assert.strictEqual((await runCommand(wrong)).code, 2, wrong.join(" "))
    }
  })

  it("prints an example settings file that is valid once it is filled in, its JSON Schema, and a list of all", async () => {
    const example = await run(["settings"])
    assert.strictEqual(example.code, 0)
    const written = JSON.parse(example.output)
    const { VoiceAiPlatform: platform } = written
    const filledIn = Object.entries(platform).map(([name, value]) => [
      name,
      value === "<required>" ? "some-value" : value,
    ])
    assert.isTrue(Result.isFailure(settingsFrom(written)))
    const BaseUrl = "https://platform.example/api/v1"
    assert.isTrue(
      Result.isSuccess(settingsFrom({ ...written, VoiceAiPlatform: { ...Object.fromEntries(filledIn), BaseUrl } })),
    )
    // each example has its own token
    assert.notStrictEqual(
      JSON.parse((await runCommand(["settings"])).output).Security.WebhookApiToken,
      written.Security.WebhookApiToken,
    )
    const schema = await runCommand(["settings", "--schema"])
    assert.deepStrictEqual(JSON.parse(schema.output), jsonSchema())
    const packed = readFileSync(join(import.meta.dirname, "../../dist/settings.schema.json"), "utf8")
    assert.deepStrictEqual(JSON.parse(packed), jsonSchema())
    assert.strictEqual((await runCommand(["schema"])).output, schema.output)
    const help = await runCommand(["settings", "--help"])
    for (const { path } of settingRows) assert.include(help.output, path)
  })

  it("prints the settings in force with where they are from, secrets masked, and then their problems", async () => {
    const directory = mkdtempSync(join(tmpdir(), "voicegate-cli-"))
    try {
      const [file, secret] = [join(directory, "gate.env"), join(directory, "key")]
      writeFileSync(file, "Server__Host=127.0.0.1\nVoiceAiPlatform__BusinessId=b1\n")
      writeFileSync(secret, "the-key-in-a-file\n")
      const args = ["--env-file", file, "--print-config"]
      const { code, output } = await run(args, { VoiceAiPlatform__ApiSecretToken__File: secret })
      assert.strictEqual(code, 1)
      assert.match(output, /^VoiceAiPlatform\.BusinessId +"b1" +in .*gate\.env as VoiceAiPlatform__BusinessId$/m)
      assert.match(
        output,
        /^VoiceAiPlatform\.ApiSecretToken +\*\*\* +in the file of VoiceAiPlatform__ApiSecretToken__File$/m,
      )
      assert.match(output, /^Security\.RateLimitDaily +100 +default$/m)
      assert.match(output, /^VoiceAiPlatform\.BaseUrl +not set +required$/m)
      assert.match(output, /^VoiceAiPlatform\.MaxConcurrency +not set +default: from the platform$/m)
      assert.include(output, "VoiceAiPlatform.BaseUrl: expected")
      assert.notInclude(output, "the-key-in-a-file")
    } finally {
      rmSync(directory, { recursive: true })
    }
  })

  it("names the required Node version when it is started with an older one", async () => {
    for (const [version, code] of [
      ["20.20.2", 1],
      ["22.18.9", 1],
      ["22.19.0", 0],
    ] as const) {
      const older = `Object.defineProperty(process,"versions",{value:{...process.versions,node:"${version}"}})`
      const result = await run(["--version"], {
        NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(older)}`,
      })
      assert.strictEqual(result.code, code, result.output)
      if (code === 0) continue
      assert.include(result.output, packageJson.engines.node.replace(">=", "Node "))
      assert.include(result.output, version)
      assert.notInclude(result.output, " at ")
    }
  })

  it("lists the missing settings when it is started without any, and mentions the demo", async () => {
    for (const args of [["serve"], []]) {
      const { code, output } = await run(args)
      assert.strictEqual(code, 1)
      for (const name of ["ApiSecretToken", "BaseUrl", "BusinessId", "WebCampaignId", "DefaultRegionId"]) {
        assert.include(output, `VoiceAiPlatform.${name}`)
      }
      assert.include(output, "voicegate demo")
    }
  })

  it("runs a demo that its dashboard and a page of an allowed origin may use, and no other", async () => {
    await whenBuilt()
    const page = "http://shop.example"
    const demo = await start(process.execPath, [program, "demo", "--port", "0", "--allow-origin", page], process.cwd())
    try {
      const address = /voicegate demo +(http\S+)/
      await eventually("the demo's address", () => address.test(demo.output()))
      const request = async (origin: string): Promise<readonly [status: number, allowed: string | null]> => {
        const response = await fetch(new URL("api/session/request", address.exec(demo.output())?.[1]), {
          method: "POST",
          headers: { origin, "content-type": "application/json" },
          body: "{}",
        })
        return [response.status, response.headers.get("access-control-allow-origin")]
      }
      assert.deepStrictEqual(await request(page), [200, page])
      const dashboard = new URL(/Local platform +(http\S+)/.exec(demo.output())?.[1] ?? "").origin
      assert.deepStrictEqual(await request(dashboard), [200, dashboard])
      assert.deepStrictEqual(await request("http://other.example"), [403, null])
    } finally {
      await demo.stop()
    }
    const { code, output } = await runCommand(["demo", "--allow-origin", "shop"])
    assert.strictEqual(code, 2)
    assert.include(output, 'Invalid value for flag --allow-origin: "shop". Expected an origin such as')
  })

  it("names the port that is in use", async () => {
    const bench = makeBench()
    try {
      const gate = await bench.gate(settingsFor({ baseUrl: "http://127.0.0.1:9/api/v1" }))
      const port = new URL(gate.url).port
      const { code, output } = await run(
        ["serve"],
        settingsFor({ baseUrl: "http://127.0.0.1:9/api/v1" }, { Server__Port: port }),
      )
      assert.strictEqual(code, 1)
      assert.match(output, /Server\.Port.*EADDRINUSE/)
    } finally {
      await bench.dispose()
    }
  })
})
