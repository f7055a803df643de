/** What `check` says of a vendor's own settings. */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { makeFakeCartesia } from "../../../src/platform-api/cartesia/fake.ts"
import { makeFakeDaily } from "../../../src/platform-api/daily/fake.ts"
import { makeFakeDeepgram } from "../../../src/platform-api/deepgram/fake.ts"
import { makeFakeElevenLabs } from "../../../src/platform-api/elevenlabs/fake.ts"
import { PlatformApi } from "../../../src/platform-api/PlatformApi.ts"
import { makeFakePipecat } from "../../../src/platform-api/pipecat/fake.ts"
import { makeFakeRetell } from "../../../src/platform-api/retell/fake.ts"
import { makeFakeUltravox } from "../../../src/platform-api/ultravox/fake.ts"
import { makeFakeVapi } from "../../../src/platform-api/vapi/fake.ts"
import { ask, subjectOf, vendorTest, waits } from "./rig.ts"

const cartesia = subjectOf("cartesia", makeFakeCartesia)
const deepgram = subjectOf("deepgram", makeFakeDeepgram)
const pipecat = subjectOf("pipecat", makeFakePipecat)
const elevenlabs = subjectOf("elevenlabs", makeFakeElevenLabs)
const daily = subjectOf("daily", makeFakeDaily)
const retell = subjectOf("retell", makeFakeRetell)
const ultravox = subjectOf("ultravox", makeFakeUltravox)
const vapi = subjectOf("vapi", makeFakeVapi)

/** What `check` finds in the vendor's settings. */
const broken = Effect.map(
  PlatformApi.use((api) => api.verify("default")),
  (findings) => findings.filter(({ subject }) => subject === "vendor's settings"),
)

describe("the check of a vendor's own settings", () => {
  vendorTest("finds nothing in settings that break no promise", elevenlabs, (world) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* broken, [])
      const platform_settings = { queueing_config: { enabled: false }, call_limits: { agent_concurrency_limit: -1 } }
      world.fake.failNext({ status: 200, body: { agent_id: "agent_fake", platform_settings } })
      assert.deepStrictEqual(yield* broken, [])
    }),
  )

  for (const subject of [retell, vapi, pipecat, deepgram, cartesia])
    vendorTest(`finds nothing in those of ${subject.platform} as its fake has them`, subject, () =>
      Effect.map(broken, (found) => assert.deepStrictEqual(found, [])),
    )

  /** What `check` says when the first read, of the agent, is answered with this. */
  const saysOf = (
    subject: typeof retell,
    name: string,
    agent: Readonly<Record<string, unknown>>,
    said: ReadonlyArray<string>,
    queue: Readonly<Record<string, unknown>> = {},
  ): void =>
    vendorTest(
      name,
      subject,
      (world) =>
        Effect.gen(function* () {
          world.fake.failNext({ status: 200, body: agent })
          const found = yield* broken
          assert.lengthOf(found, said.length)
          for (const [index, each] of said.entries()) assert.include(found[index]?.detail, each)
          for (const { state } of found) assert.strictEqual(state, "failed")
        }),
      {},
      queue,
    )

  vendorTest(
    "reads them for an operator, and not with each look of the watch of a platform whose slots are taken",
    daily,
    (world) =>
      Effect.gen(function* () {
        const looks = (path: string) => world.fake.requests.filter((request) => request.path === path).length
        assert.deepStrictEqual(yield* broken, [])
        assert.strictEqual(looks("/v1/webhooks"), 1)
        const before = looks("/v1/")
        yield* ask(1)
        yield* waits(2)
        yield* world.pass(1)
        assert.isAbove(looks("/v1/"), before)
        assert.strictEqual(looks("/v1/webhooks"), 1)
      }),
  )

  for (const [name, webhooks, said] of [
    [
      "where none goes to a gate",
      [["https://other.example/hook", ["call.ended"], null]],
      "goes to /api/webhook/ultravox",
    ],
    ["where there is none", [], "goes to /api/webhook/ultravox"],
    [
      "of another agent",
      [["https://gate.example/api/webhook/ultravox", ["call.ended"], "other"]],
      "goes to /api/webhook/ultravox",
    ],
    [
      "that do not report ends",
      [["https://gate.example/api/webhook/ultravox", ["call.started"], null]],
      "add call.ended",
    ],
    ["that report ends", [["https://gate.example/api/webhook/ultravox", ["call.ended"], null]], undefined],
    ["of the agent alone", [["https://gate.example/api/webhook/ultravox", ["call.ended"], "agent-fake"]], undefined],
  ] as const) {
    vendorTest(
      `reads the webhooks of Ultravox's account, without GateUrl: ${name}`,
      ultravox,
      (world) =>
        Effect.gen(function* () {
          const results = webhooks.map(([url, events, agentId]) => ({ url, events, agentId, status: "normal" }))
          world.fake.failNext(
            { status: 200, body: { agentId: "agent-fake" } },
            { status: 200, body: { results, next: null } },
          )
          const found = yield* broken
          assert.lengthOf(found, said === undefined ? 0 : 1)
          if (said !== undefined) assert.include(found[0]?.detail, said)
        }),
      {
        Ultravox: {
          ApiKey: "key-of-the-fake-ultravox",
          AgentId: "agent-fake",
          WebhookSecret: "webhook-secret-of-the-fake-ultravox",
        },
      },
    )
  }

  vendorTest(
    "the check of Ultravox's own settings, where each call names its webhook, does not read the account's",
    ultravox,
    (world) =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* broken, [])
        assert.notInclude(
          world.fake.requests.map(({ path }) => path),
          "/api/webhooks",
        )
      }),
  )

  saysOf(
    retell,
    "says that the webhook of Retell's agent goes elsewhere and does not report the end",
    {
      agent_id: "agent_fake",
      webhook_url: "https://other.example/hook",
      webhook_events: ["call_analyzed"],
    },
    ["(webhook_url) does not go to /api/webhook/retell", "add call_ended to webhook_events"],
  )

  saysOf(
    retell,
    "accepts the webhook of Retell's agent where it goes to a gate, also below a path",
    {
      agent_id: "agent_fake",
      webhook_url: "https://shop.example/voice/api/webhook/retell",
      webhook_events: ["call_ended", "call_analyzed"],
    },
    [],
  )

  saysOf(
    retell,
    "says that Retell waits for a caller for less time than the start window",
    { agent_id: "agent_fake" },
    ["Queue.StartWindowSeconds: Retell ends a call that nobody has joined within 30 s"],
    { StartWindowSeconds: 31 },
  )

  saysOf(
    vapi,
    "says that the webhook of Vapi's assistant goes elsewhere and does not report the end",
    {
      id: "assistant-fake",
      server: { url: "https://other.example/vapi" },
      serverMessages: ["tool-calls"],
    },
    ["(server.url) does not go to /api/webhook/vapi", "add status-update to serverMessages"],
  )

  saysOf(
    vapi,
    "says that Vapi waits for a caller for less time than the start window",
    { id: "assistant-fake" },
    ["Queue.StartWindowSeconds: Vapi ends a call that nobody has joined within 60 s"],
    { StartWindowSeconds: 61 },
  )

  saysOf(cartesia, "says that Cartesia's agent has no webhook", { id: "agent_fake", webhook_id: null }, [
    "The agent has no webhook (webhook_id)",
  ])

  saysOf(
    pipecat,
    "says that an agent at Pipecat Cloud starts cold",
    {
      activeSessionCount: 0,
      autoScaling: { minReplicas: 0, maxReplicas: 10 },
    },
    ["autoScaling.minReplicas is 0"],
  )

  saysOf(
    elevenlabs,
    "says that a conversation at ElevenLabs may outlast its slot",
    {
      agent_id: "agent_fake",
      conversation_config: { conversation: { max_duration_seconds: 3_600 } },
    },
    ["Queue.MaxCallMinutes: A call may last 3600 s"],
  )

  vendorTest("says that no webhook of ElevenLabs reports the end, or which agent's does not", elevenlabs, (world) =>
    Effect.gen(function* () {
      const workspace = (webhooks: unknown) => ({ status: 200, body: { webhooks } })
      const agent = { status: 200, body: { agent_id: "agent_fake" } }
      world.fake.failNext(agent, workspace({ post_call_webhook_id: null }))
      assert.include((yield* broken)[0]?.detail, "The workspace has no post-call webhook")
      world.fake.failNext(agent, workspace({ post_call_webhook_id: "hook_1", events: ["audio"] }))
      assert.include((yield* broken)[0]?.detail, "add transcript to webhooks.events")
      const webhooks = { post_call_webhook_id: "hook_2", events: ["transcript"] }
      const own = { agent_id: "agent_fake", platform_settings: { workspace_overrides: { webhooks } } }
      world.fake.failNext({ status: 200, body: own }, workspace({ post_call_webhook_id: null }))
      assert.deepStrictEqual(yield* broken, [])
    }),
  )

  vendorTest(
    "takes an agent of another shape for one whose settings are not known, and the vendor for one that answers",
    retell,
    (world) =>
      Effect.gen(function* () {
        world.fake.failNext({ status: 200, body: { agent_id: "agent_fake", webhook_events: "all" } })
        const findings = yield* PlatformApi.use((api) => api.verify("default"))
        assert.deepInclude(findings[0], { subject: "platform", state: "ok" })
        assert.deepInclude(findings.at(-1), { subject: "vendor's settings", state: "not_checked" })
      }),
  )

  vendorTest("says what one key may not read, and the rest", elevenlabs, (world) =>
    Effect.gen(function* () {
      const platform_settings = { queueing_config: { enabled: true } }
      world.fake.failNext({ status: 200, body: { platform_settings } }, { status: 403, body: { detail: "no" } })
      const [queue, unread] = yield* broken
      assert.include(queue?.detail, "queueing_config.enabled")
      assert.deepInclude(unread, { state: "not_checked" })
    }),
  )

  for (const [Url, BaseUrl, isSame] of [
    ["wss://api.eu.deepgram.com", "https://api.eu.deepgram.com/", true],
    ["wss://agent.deepgram.com", "https://api.deepgram.com/", true],
    ["wss://agent.deepgram.com", "https://api.in.deepgram.com/", false],
    ["wss://api.eu.deepgram.com", "https://api.deepgram.com/", false],
    ["wss://proxy.example", "https://api.au.deepgram.com/", true],
  ] as const)
    vendorTest(
      `says ${isSame ? "nothing" : "that the regions differ"} of Deepgram's ${Url} with tokens of ${BaseUrl}`,
      deepgram,
      () =>
        Effect.map(broken, (found) => {
          assert.lengthOf(found, isSame ? 0 : 1)
          if (!isSame) assert.include(found[0]?.detail, "Deepgram.Url: Its region is")
        }),
      { Deepgram: { ApiKey: "key-of-the-fake-deepgram", AgentId: "agent-fake", Url, BaseUrl } },
    )

  vendorTest(
    "says that Deepgram closes a session sooner than the longest call",
    deepgram,
    () =>
      Effect.map(broken, (found) => assert.include(found[0]?.detail, "Deepgram closes a session after 120 minutes")),
    {},
    { MaxCallMinutes: 121 },
  )

  vendorTest(
    "says that ElevenLabs queues callers itself, and takes fewer than the campaign has slots",
    elevenlabs,
    (world) =>
      Effect.gen(function* () {
        const platform_settings = { queueing_config: { enabled: true }, call_limits: { agent_concurrency_limit: 2 } }
        world.fake.failNext({ status: 200, body: { agent_id: "agent_fake", platform_settings } })
        const [queue, limit, ...others] = yield* broken
        assert.deepInclude(queue, { state: "failed" })
        assert.include(queue?.detail, "queueing_config.enabled")
        assert.include(limit?.detail, "MaxConcurrency: The agent takes 2 conversations at once")
        assert.lengthOf(others, 0)
      }),
    { MaxConcurrency: 5 },
  )

  vendorTest("says that Daily has switched the webhook off, or has none", daily, (world) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* broken, [])
      const url = "https://gate.example/api/webhook/daily"
      for (const [webhooks, said] of [
        [[{ url, state: "FAILED", eventTypes: ["meeting.started", "meeting.ended"] }], "has switched the webhook"],
        [[{ url, state: "ACTIVE", eventTypes: ["meeting.started"] }], "does not report meeting.ended"],
        [[{ url: "https://other.example/hook", state: "ACTIVE" }], "has no webhook that goes to"],
        [[], "has no webhook that goes to"],
      ] as const) {
        world.fake.failNext({ status: 200, body: {} }, { status: 200, body: webhooks })
        const [found] = yield* broken
        assert.include(found?.detail, said)
      }
    }),
  )

  vendorTest("shows neither secrets of Daily's webhook nor what a terminal would carry out", daily, (world) =>
    Effect.gen(function* () {
      const url = "https://shop:password@gate.example/\u001b[2J/api/webhook/daily?token=secret"
      const webhooks = [{ url, state: "FAILED", eventTypes: ["meeting.started"] }]
      world.fake.failNext({ status: 200, body: {} }, { status: 200, body: webhooks })
      const found = yield* broken
      assert.lengthOf(found, 2)
      for (const { detail } of found) {
        assert.include(detail, "/api/webhook/daily")
        for (const hidden of ["password", "secret", "\u001b"]) assert.notInclude(detail, hidden)
      }
    }),
  )

  vendorTest("says what it could not read", daily, (world) =>
    Effect.gen(function* () {
      world.fake.failNext({ status: 200, body: {} }, { status: 403, body: { info: "no" } })
      assert.deepInclude((yield* broken)[0], { state: "not_checked" })
    }),
  )
})
