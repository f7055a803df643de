/**
 * A host on Effect that uses the gate without HTTP, with its own layers: the agent is in this process, the store counts its rules,
 * and events are printed instead of sent to browsers. One slot, two callers. Build first:
 *
 *     npm run build && node scripts/examples/effect-host.ts
 */
import { randomUUID } from "node:crypto"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Console, Context, Effect, Layer } from "effect"
import {
  AtCapacity,
  type Connection,
  Gatekeeper,
  IpIntel,
  initiateWebSession,
  layerGatekeeper,
  layerSettingsFrom,
  layerStoreMemory,
  noFacts,
  PlatformApi,
  PlatformError,
  PushChannel,
  type PushEvent,
  Store,
} from "voicegate"

/** Instead of the platform over HTTP: an agent with one line. */
class Agent extends Context.Service<Agent, { readonly talksTo: Set<string> }>()("example/Agent") {
  static readonly layer = Layer.sync(Agent, () => ({ talksTo: new Set<string>() }))
}
const OwnPlatform = Layer.effect(
  PlatformApi,
  Effect.map(Agent, ({ talksTo }) => {
    let sessions = 0
    return PlatformApi.of({
      initiate: ({ dynamicVariables }) =>
        Effect.suspend(() => {
          if (talksTo.size > 0) {
            return Effect.fail(new PlatformError({ reason: new AtCapacity({ message: "the line is busy" }) }))
          }
          const id = `session-${++sessions}-${dynamicVariables.name}`
          talksTo.add(id)
          return Effect.succeed({ sessionIds: [id], webSocketUrl: `wss://agent.example/${id}` })
        }),
      concurrency: () => Effect.sync(() => ({ limit: 1, inUse: talksTo.size })),
      sessionStatus: (_campaign, id) =>
        Effect.sync(() => ({ status: talksTo.has(id) ? "running" : "over", sessionIds: [id] })),
      // every start is answered, so none is ever in doubt
      sessionsOf: () => Effect.undefined,
      verify: () => Effect.succeed([{ subject: "platform", state: "ok", detail: "the agent is in this process" }]),
    })
  }),
)

/** A store over another one, which counts the rules of limits and queue. */
class Steps extends Context.Service<Steps, Map<string, number>>()("example/Steps") {
  static readonly layer = Layer.sync(Steps, () => new Map<string, number>())
}
const OwnStore = Layer.effect(
  Store,
  Effect.gen(function* () {
    const steps = yield* Steps
    const inner = yield* Store
    return Store.of({
      ...inner,
      run: (rule, ask) => {
        steps.set(rule.name, (steps.get(rule.name) ?? 0) + 1)
        return inner.run(rule, ask)
      },
    })
  }),
).pipe(Layer.provide(layerStoreMemory))

/** It reaches every ticket, so its address is empty; every ticket has one connection here. */
const OwnPush = Layer.sync(PushChannel, () => {
  const connections = new Map<string, Connection>()
  const deliver = (connection: Connection, event: PushEvent): void => connection.send(event, JSON.stringify(event))
  return PushChannel.of({
    address: "",
    send: (ticket, event) =>
      Effect.sync(() => {
        const connection = connections.get(ticket)
        if (connection !== undefined) deliver(connection, event)
      }),
    tickets: Effect.sync(() => [...connections.keys()]),
    open: (ticket, _caller, connection) =>
      Effect.sync(() => {
        connections.set(ticket, connection)
        return {
          send: (event) => deliver(connection, event),
          close: () => {
            connections.delete(ticket)
          },
        }
      }),
    drain: Effect.sync(() => connections.clear()),
  })
})

/** Addresses are not looked up; the gate's own `IpIntel.layer` would ask the provider from the settings. */
const OwnIpIntel = Layer.succeed(IpIntel, {
  provider: "none",
  lookup: () => Effect.succeed(noFacts),
  probe: Effect.void,
})

const OwnSettings = layerSettingsFrom({
  StoreConnectionString: "memory:",
  VoiceAiPlatform: {
    ApiSecretToken: "not-used-by-this-platform",
    BaseUrl: "https://agent.example/",
    BusinessId: "example-business",
    WebCampaignId: "example-campaign",
    DefaultRegionId: "here",
    MaxConcurrency: 1,
  },
  // not used here, since the gate is not reached over HTTP; otherwise it authenticates the platform's webhook
  Security: { WebhookApiToken: randomUUID(), BlockVpn: false, BlockProxy: false, BlockTor: false },
})

const Host = layerGatekeeper.pipe(
  Layer.provideMerge(Layer.mergeAll(OwnPlatform, OwnStore, OwnPush, OwnIpIntel)),
  Layer.provideMerge(Layer.mergeAll(OwnSettings, Agent.layer, Steps.layer)),
)

const program = Effect.gen(function* () {
  const gatekeeper = yield* Gatekeeper
  const push = yield* PushChannel
  const { talksTo } = yield* Agent

  const ada = { address: "192.0.2.1" }
  const url = yield* initiateWebSession({ RegionId: "here", DynamicVariables: { name: "ada" } }, ada)
  yield* Console.log(`ada    talks at ${url}`)

  // the type contains every outcome: here the caller waits
  const bob = { address: "192.0.2.2" }
  const ticket = yield* initiateWebSession({ DynamicVariables: { name: "bob" } }, bob).pipe(
    Effect.flatMap(() => Effect.die("the slot is taken, so bob cannot be started")),
    Effect.catchTag("Queued", ({ queuePosition, uniqueRequestId }) =>
      Effect.as(Console.log(`bob    waits at position ${queuePosition}`), uniqueRequestId),
    ),
  )

  const connection = yield* push.open(ticket, bob.address, {
    send: (event) => console.log(`bob    receives: ${event.type}`),
    backlog: () => 0,
    ping: () => true,
    close: () => {},
  })
  const missed = yield* gatekeeper.attach(ticket)
  if (missed !== undefined) connection.send(missed)

  const [session = ""] = talksTo
  talksTo.delete(session)
  yield* Console.log("ada    hangs up")
  yield* gatekeeper.sessionEnded([session])

  const started = yield* gatekeeper.start(ticket)
  yield* Console.log(`bob    talks at ${started.webSocketUrl}`)

  talksTo.clear()
  yield* gatekeeper.sessionEnded([started.sessionId])
  yield* Console.log(`bob    hangs up; the ticket is ${(yield* gatekeeper.status(ticket)).state}`)

  const steps = yield* Steps
  yield* Console.log(`store  ran ${[...steps].map(([name, times]) => `${name} ${times}x`).join(", ")}`)
})

program.pipe(Effect.provide(Host), NodeRuntime.runMain)
