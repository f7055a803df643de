/**
 * A gate without HTTP that holds waiting callers without sockets: it sends requests into the pipeline and opens a connection of the push
 * channel for each ticket. For sizes at which a process would run out of file descriptors. The parent process orders how many.
 *
 *     node holder.ts ROOT REDIS_URL      ROOT: a checkout whose build is measured
 */
import { Effect, Layer, Logger, Schedule } from "effect"
import type { Gatekeeper, PushChannel } from "voicegate"

/** How many requests are in the pipeline at the same time. */
const AT_ONCE = 200

export interface HoldOrder {
  /** queues this many callers, the first of whom has this number */
  readonly hold: number
  readonly from: number
}
/** After an order: how many position events its connections have been sent so far. */
export interface HoldReport {
  readonly positions: number
}

const [root = "", redisUrl = ""] = process.argv.slice(2)
const gate: typeof import("voicegate") = await import(`${root}/dist/index.js`)

const OwnPlatform = Layer.succeed(gate.PlatformApi, {
  initiate: () => Effect.succeed({ webSocketUrl: "wss://agent.example/1", sessionIds: ["1"] }),
  concurrency: () => Effect.die(new Error("no campaign asks for it")),
  sessionStatus: () => Effect.succeed({ status: "running", sessionIds: ["1"] }),
  sessionsOf: () => Effect.succeed([]),
  verify: () => Effect.succeed([]),
})

const OwnIpIntel = Layer.succeed(gate.IpIntel, {
  provider: "own",
  lookup: () => Effect.succeed(gate.noFacts),
  probe: Effect.void,
})

const settings = {
  StoreConnectionString: redisUrl,
  VoiceAiPlatform: {
    ApiSecretToken: "not-used-by-this-platform",
    BaseUrl: "https://agent.example/",
    BusinessId: "business-1",
    WebCampaignId: "campaign-1",
    DefaultRegionId: "eu",
    MaxConcurrency: 1,
  },
  Security: { WebhookApiToken: "not-used-without-http" },
  Queue: { MaxLength: 10_000_000, MaxCallMinutes: 1440, DisconnectGraceSeconds: 600 },
}

const Host = gate.layerGatekeeper.pipe(
  Layer.provideMerge(gate.layerPushShared),
  Layer.provideMerge(Layer.mergeAll(OwnPlatform, OwnIpIntel, gate.layerStore)),
  Layer.provideMerge(gate.layerSettingsFrom(settings)),
)

let positions = 0
const connection = {
  send: ({ type }: { readonly type: string }) => {
    if (type === "position") positions++
  },
  backlog: () => 0,
  ping: () => true,
  close: () => {},
}

const addressOf = (n: number): string => `${11 + (n >> 24)}.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`

/** After a request that the store did not answer in time (ms). */
const AGAIN_MILLIS = 500

const hold: (n: number) => Effect.Effect<void, unknown, Gatekeeper | PushChannel> = Effect.fnUntraced(function* (
  n: number,
) {
  const gatekeeper = yield* gate.Gatekeeper
  const push = yield* gate.PushChannel
  const caller = { address: addressOf(n) }
  const ticket = yield* Effect.match(gatekeeper.request({}, caller), {
    onSuccess: () => undefined,
    onFailure: (error) => (error._tag === "Queued" ? error.uniqueRequestId : error),
  })
  // the first caller of all has the only slot
  if (ticket === undefined) return
  if (typeof ticket !== "string") {
    if (ticket._tag !== "StoreUnavailable") return yield* Effect.die(ticket)
    yield* Effect.sleep(AGAIN_MILLIS)
    return yield* hold(n)
  }
  yield* push.open(ticket, caller.address, connection)
  yield* Effect.retry(gatekeeper.attach(ticket), Schedule.spaced(AGAIN_MILLIS))
})

const follow = Effect.gen(function* () {
  const run = Effect.runPromiseWith(yield* Effect.context<Gatekeeper | PushChannel>())
  process.on("message", ({ from, hold: count }: HoldOrder) => {
    const all = Array.from({ length: count }, (_, n) => hold(from + n))
    run(Effect.all(all, { concurrency: AT_ONCE, discard: true })).then(
      () => process.send?.({ positions }),
      (error: unknown) => {
        console.error(error)
        process.exit(1)
      },
    )
  })
  process.on("disconnect", () => process.exit(0))
  process.send?.({ positions })
  return yield* Effect.never
})

await Effect.runPromise(Effect.scoped(Effect.provide(follow, Layer.provide(Host, Logger.layer([])))))
