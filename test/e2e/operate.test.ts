/** The operator's commands at a running gate: one of each kind by the built program, the others in this process. */
import { createHash } from "node:crypto"
import { createServer } from "node:http"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { settingsFrom } from "../../src/settings/given.ts"
import { type Runs, runCommand } from "../harness/command.ts"
import { type Environment, type Gate, makeBench, runProgram, settingsFor, WEBHOOK_TOKEN } from "../harness/gate.ts"
import { field } from "../harness/http.ts"
import { freePort } from "../harness/process.ts"
import { startPlatform } from "../harness/servers.ts"
import { accessTo, CONSOLE_TOKEN, operate } from "./support/operator.ts"

const hashOf = (ticket: string): string => createHash("sha1").update(ticket).digest("hex").slice(0, 10)

/** The console's API of a gate of a version that knows no end of a pause, and what it was asked to do. */
const startOlderGate = async (paused: boolean) => {
  const asked: Array<string> = []
  const figures = {
    waiting: 0,
    present: 0,
    held: 0,
    live: 0,
    doubts: 0,
    accepted: 0,
    firstAcceptedAt: 0,
    draining: false,
    disrupted: false,
    paused,
  }
  const view = {
    version: 1,
    now: 1,
    campaigns: ["default"],
    campaign: "default",
    slots: 1,
    instance: "old",
    health: [],
    queue: { ...figures, backoffUntil: 0, probeUntil: 0, averageMillis: 0, slotPage: [], waitingPage: [] },
    instances: [],
    buckets: [],
  }
  const server = createServer((request, response) => {
    if (request.url?.includes("/console/api/view")) return response.end(JSON.stringify(view))
    let body = ""
    request.on("data", (chunk) => {
      body += String(chunk)
    })
    request.on("end", () => {
      asked.push(String(JSON.parse(body).action.type))
      response.end(JSON.stringify({ result: "done", ticket: "-" }))
    })
    return undefined
  })
  const port = await freePort()
  await new Promise<void>((listening) => server.listen(port, "127.0.0.1", listening))
  return { port: String(port), asked, dispose: async () => void server.close() }
}

describe("an operator without a browser", () => {
  const bench = makeBench()
  afterAll(() => bench.dispose())
  let gate: Gate
  let access: Environment

  beforeAll(async () => {
    const platform = bench.own(await startPlatform())
    // the callers have no connection, and a command takes seconds on a busy machine
    const given = { Security__ConsoleToken: CONSOLE_TOKEN, Queue__DisconnectGraceSeconds: "300" }
    gate = await bench.gate(settingsFor(platform, given))
    access = accessTo(gate)
  })

  const run = (command: string, environment: Environment = access, runs?: Runs) => operate(command, environment, runs)
  const runBuilt = (command: string, environment?: Environment) => run(command, environment, runProgram)
  const json = async (command: string) => {
    const { code, output } = await run(`${command} --json`)
    return { code, document: JSON.parse(output) }
  }
  const waiting = async (): Promise<string> => field(await gate.call(), "uniqueRequestId") ?? ""
  const stateOf = async (ticket: string) => (await gate.ask("GET", `/api/session/${ticket}`)).json.state

  it.each([
    ["was open", false, ["pause", "resume"], "The campaign was paused for a moment and is resumed."],
    ["was paused", true, ["pause"], "The campaign is paused until you resume it."],
  ])(
    "is told when an older gate has paused without the end that was asked for: the campaign %s",
    async (_was, paused, actions, told) => {
      const older = bench.own(await startOlderGate(paused))
      const pause = await run("campaign pause default --until 9000-01-01T00:00Z", {
        ...access,
        Server__Port: older.port,
      })
      assert.strictEqual(pause.code, 1, pause.output)
      assert.include(
        pause.output,
        `the gate that answered has an older version, in which a pause cannot end by itself. ${told}`,
      )
      assert.deepStrictEqual(older.asked, actions)
    },
  )

  it("tests the webhook: what the gate answers to each secret of the settings, and to one that it does not know", async () => {
    const own = { ...access, Security__WebhookApiToken: WEBHOOK_TOKEN }
    const accepted = await runBuilt("webhook test", own)
    assert.strictEqual(accepted.code, 0, accepted.output)
    assert.match(
      accepted.output,
      /^ok {5}Security\.WebhookApiToken: accepted\. The session is invented, so no slot was freed\.$/m,
    )
    const others = {
      Security__WebhookApiToken__0: WEBHOOK_TOKEN,
      Security__WebhookApiToken__1: "another-webhook-token-0123456789",
    }
    const refused = await run("webhook test --json", { ...access, ...others })
    assert.strictEqual(refused.code, 1, refused.output)
    const { ok, sent, url } = JSON.parse(refused.output)
    assert.deepStrictEqual([ok, url], [false, new URL("/api/webhook/session-ended", gate.url).href])
    assert.deepStrictEqual(
      sent.map((each: Readonly<Record<string, unknown>>) => [each.secret, each.ok, each.status]),
      [
        ["Security.WebhookApiToken[0]", true, 200],
        ["Security.WebhookApiToken[1]", false, 401],
      ],
    )
    assert.notInclude(refused.output, "another-webhook-token")
    const absent = await run("webhook test", { ...own, Server__Port: String(await freePort()) })
    assert.strictEqual(absent.code, 1)
    assert.include(absent.output, "failed Security.WebhookApiToken: cannot be reached (ECONNREFUSED).")
  })

  it("sees campaigns and tickets, pauses and drains, calls the next caller, removes tickets and ends a call", async () => {
    assert.strictEqual((await gate.call()).status, 200)
    const [first, second, third] = [await waiting(), await waiting(), await waiting()]

    const list = await runBuilt("campaign list")
    assert.strictEqual(list.code, 0, list.output)
    assert.match(list.output, /^default +open +3 +1 +1$/m)
    const { document: listed } = await json("campaign list")
    assert.deepInclude(listed.campaigns[0].figures, { waiting: 3, held: 1, paused: false })

    const past = await run("campaign pause default --until 2020-01-01T00:00Z")
    assert.deepStrictEqual([past.code, past.output.trim()], [1, "--until: expected a time in the future"])
    assert.strictEqual((await run("campaign pause default --until 14:00")).code, 2)
    const soon = await json("campaign pause default --until +30m")
    assert.approximately(soon.document.pausedUntil, Date.now() + 1_800_000, 60_000)
    assert.deepStrictEqual(await json("campaign pause default --until 9000-01-01T01:00+01:00"), {
      code: 0,
      document: { result: "done", ticket: "-", pausedUntil: Date.parse("9000-01-01T00:00Z") },
    })
    assert.match((await run("campaign show default")).output, /^state +paused until 9000-01-01T00:00:00\.000Z$/m)
    assert.strictEqual((await run("campaign pause default")).code, 0)
    assert.deepInclude((await json("campaign show default")).document.queue, { waiting: 3, paused: true })
    assert.match((await run("campaign show default")).output, /^state +paused$/m)
    assert.deepStrictEqual(await json("campaign pause default"), {
      code: 0,
      document: { result: "already", ticket: "-" },
    })
    assert.deepInclude(await json("campaign next default"), { code: 1, document: { result: "no_slot", ticket: "-" } })

    assert.deepStrictEqual(await json("reload"), { code: 0, document: { changed: [], kept: [] } })
    const reloaded = await runBuilt("reload")
    assert.strictEqual(reloaded.code, 0, reloaded.output)
    assert.include(reloaded.output, "No setting has changed.")

    // by hash, by the start of the hash, and by the id, which is not sent
    for (const id of [hashOf(second), hashOf(second).slice(0, 6), second]) {
      const shown = await run(`ticket show ${id}`)
      assert.strictEqual(shown.code, 0, shown.output)
      assert.match(shown.output, new RegExp(`^${hashOf(second)} +default +waiting, place 2`))
    }
    const removed = await json(`ticket remove ${hashOf(second)}`)
    assert.deepStrictEqual(removed, { code: 0, document: { result: "removed", ticket: hashOf(second) } })
    assert.strictEqual(await stateOf(second), "removed")
    const again = await runBuilt(`ticket remove ${hashOf(second)}`)
    assert.strictEqual(again.code, 1)
    assert.include(again.output, "No ticket")

    // the call that holds the only slot
    assert.strictEqual((await json("campaign show default")).document.queue.live, 1)
    assert.strictEqual((await gate.sessionEnded("conversation-1")).status, 200)
    assert.deepInclude((await json("campaign next default")).document, { result: "called", ticket: hashOf(first) })
    assert.strictEqual((await gate.ask("POST", `/api/session/${first}/start`)).status, 200)
    const refused = await run(`ticket remove ${hashOf(first)}`)
    assert.strictEqual(refused.code, 1)
    assert.include(refused.output, "--end-call")
    assert.strictEqual(await stateOf(first), "live")
    // this platform has no request that ends a session
    assert.deepStrictEqual(await json(`ticket remove ${hashOf(first)} --end-call`), {
      code: 0,
      document: { result: "freed", ticket: hashOf(first) },
    })

    assert.strictEqual((await run("campaign resume default")).code, 0)
    assert.strictEqual(await stateOf(third), "called")
    assert.strictEqual((await run(`ticket remove ${hashOf(third)}`)).code, 0)

    assert.strictEqual((await run("campaign drain default")).code, 0)
    assert.strictEqual((await gate.call()).json.code, "draining")
    assert.strictEqual((await run("campaign reopen default")).code, 0)
    assert.strictEqual((await gate.call()).status, 200)
  })

  it("is told what is wrong, on standard error and with exit code 1", async () => {
    const wrong = async (command: string, environment: Environment, message: RegExp, runs = run) => {
      const { code, output } = await runs(command, environment)
      assert.strictEqual(code, 1, output)
      assert.match(output, message)
      assert.notMatch(output, /^ +at /m)
    }
    await wrong("campaign show nobody", access, /has no such campaign: "voicegate campaign list" shows/, runBuilt)
    await wrong("campaign list", {}, /Security\.ConsoleToken: expected the token of the gate's console/)
    await wrong(
      "campaign list",
      { ...access, Security__ConsoleToken: "short" },
      /Security\.ConsoleToken: expected a token/,
    )
    await wrong("campaign list", { ...access, Security__ConsoleToken: "another-token-0123456789" }, /refuses the token/)
    await wrong(
      `campaign list --url ${gate.url}/elsewhere`,
      access,
      /has no console: .*Server\.BasePath.*without Security\.ConsoleToken/,
    )
    await wrong(
      `campaign list --url http://127.0.0.1:${await freePort()}`,
      access,
      /cannot be reached \(ECONNREFUSED\)\. Does the gate run, and is this its address \(--url/,
    )
    assert.strictEqual((await runBuilt("campaign list --url shop")).code, 2)
    for (const usage of ["ticket show", "ticket show abc", "token", "token dance", "campaign list --token x"]) {
      assert.strictEqual((await run(usage)).code, 2, usage)
    }
  })

  it("reaches a gate below a path, and sends the token nowhere else", async () => {
    const seen: Array<string | undefined> = []
    const other = createServer((request, response) => {
      seen.push(request.headers.authorization)
      response.writeHead(200).end("{}")
    })
    const moved = createServer((_request, response) => {
      const address = other.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      response.writeHead(302, { location: `http://127.0.0.1:${port}/` }).end()
    })
    const listening = (server: typeof other) =>
      new Promise<number>((resolve) => {
        server.listen(0, "127.0.0.1", () => {
          const address = server.address()
          resolve(typeof address === "object" && address !== null ? address.port : 0)
        })
      })
    try {
      await listening(other)
      const { code, output } = await run(`campaign list --url http://127.0.0.1:${await listening(moved)}/voice`)
      assert.strictEqual(code, 1)
      assert.include(output, "/voice/ answers HTTP 302")
      assert.deepStrictEqual(seen, [])
    } finally {
      other.close()
      moved.close()
    }
  })
})

describe("voicegate token", () => {
  it("prints a new secret that its setting accepts", async () => {
    const campaign = {
      ApiSecretToken: "k",
      BaseUrl: "https://p.example",
      BusinessId: "b",
      WebCampaignId: "c",
      DefaultRegionId: "eu",
    }
    for (const [kind, setting] of [
      ["operator", "Security.ConsoleToken"],
      ["webhook", "Security.WebhookApiToken"],
      ["signing", "Security.WebhookSigningSecret"],
      ["identity-secret", "Identity.Secrets"],
    ] as const) {
      const { code, output } = await runCommand(["token", kind, "--json"])
      assert.strictEqual(code, 0)
      const { bits, setting: named, token } = JSON.parse(output)
      assert.deepStrictEqual([named, bits], [setting, 256])
      const bytes = Buffer.from(token.replace("whsec_", ""), kind === "signing" ? "base64" : "base64url")
      assert.strictEqual(bytes.length * 8, bits)
      const [group = "", name = ""] = setting.split(".")
      const given = { Security: { WebhookApiToken: "w".repeat(16) } }
      const settings = { ...given, [group]: { ...(group === "Security" ? given.Security : {}), [name]: token } }
      assert.strictEqual(settingsFrom({ VoiceAiPlatform: campaign, ...settings })._tag, "Success")
      assert.notInclude((await runProgram(["token", kind])).output, token)
    }
  })
})
