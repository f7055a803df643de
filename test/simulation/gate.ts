/**
 * One life of one gate: the real gatekeeper, queue, limiter, push channel and background loops, on a simulated process
 * and a simulated path to the store. When killed, it leaves everything as it is; a new life starts from the store
 * alone.
 */
import { Context, Effect, Exit, Layer, Logger, Random, Scope } from "effect"
import * as Admission from "../../src/admission/layer.ts"
import * as DeliverEvents from "../../src/events/deliver.ts"
import * as EventLog from "../../src/events/EventLog.ts"
import * as FifoQueue from "../../src/fifo-queue/layer.ts"
import { STALLED_AFTER_MILLIS } from "../../src/fifo-queue/reach.ts"
import { Secrets } from "../../src/gatekeeper/Campaigns.ts"
import { Gatekeeper } from "../../src/gatekeeper/Gatekeeper.ts"
import { layerOverTokens } from "../../src/gatekeeper/layer.ts"
import { CLOSE_MILLIS, RESERVED_MILLIS } from "../../src/gatekeeper/Shutdown.ts"
import { noFacts } from "../../src/ip-intel/facts.ts"
import { IpIntel } from "../../src/ip-intel/IpIntel.ts"
import { PlatformApi } from "../../src/platform-api/PlatformApi.ts"
import * as PushChannelLayer from "../../src/push-channel/layer.ts"
import { PushChannel } from "../../src/push-channel/PushChannel.ts"
import * as RateLimiter from "../../src/rate-limiter/layer.ts"
import { Settings, type SettingsTree } from "../../src/settings/Settings.ts"
import { MEASURE_EVERY_MILLIS } from "../../src/store/redis/server-clock.ts"
import { Store } from "../../src/store/Store.ts"
import { Chance } from "../harness/chance.ts"
import type { Hindrance } from "./hindrances.ts"
import { Process } from "./kernel.ts"
import { makeStore } from "./network.ts"
import type { Action, BudgetRule, LookRule } from "./plan.ts"
import { makePlatformApi } from "./platform.ts"
import { clientOf } from "./receiver.ts"
import { CAMPAIGN, type CampaignName, sendingSettings, settingsOf } from "./settings.ts"
import * as Tokens from "./tokens.ts"
import type { World } from "./world.ts"

type Freeze = Pick<Extract<Action, { kind: "freeze" }>, "millis" | "clocks">

export type Services = Gatekeeper | PushChannel

/** How long a gate that could not start waits before it retries (ms). */
const RESTART_MILLIS = 1_000
/** When a stopping gate exits that does not wait for its starts (ms). */
const HASTY_MILLIS = 1_000
/** How long a gate waits for a start at which it is to freeze or to stop (ms). */
export const AT_PLATFORM_WITHIN_MILLIS = 15_000
/** A gate that is to die after one of these dies when it has found something. */
const LOOKS: ReadonlySet<string> = new Set<LookRule>(["budgets.due", "queue.findUnpaid"])
/** The maximum latency between a client and a gate, each way (ms). */
const CLIENT_LATENCY = 20

const intel = Layer.succeed(IpIntel, {
  provider: "none",
  lookup: () => Effect.succeed(noFacts),
  probe: Effect.void,
})

/** The gate with tokens that need no cryptography, and with a way to the host's server where events are sent. */
const gateLayer = (world: World, gate: Gate, settings: SettingsTree) => {
  // limits and queue are two steps all the same
  const stepping = Layer.effect(
    Store,
    Effect.map(Store, (store) => ({ ...store, crossSlot: world.plan.control.budgets?.oneStep === true })),
  )
  const queued = layerOverTokens.pipe(
    Layer.provide(Tokens.layer),
    Layer.provide(stepping),
    Layer.provideMerge(Admission.layerAtomic),
    Layer.provideMerge(RateLimiter.layer),
    Layer.provideMerge(FifoQueue.layer),
  )
  if (world.plan.control.events === undefined) return queued
  const sending = Layer.mergeAll(
    EventLog.layer,
    clientOf(world, gate),
    Layer.succeed(Settings, sendingSettings(settings)),
  )
  return Layer.merge(queued, DeliverEvents.layer.pipe(Layer.provide(sending)))
}

export class Gate {
  readonly world: World
  readonly index: number
  readonly name: string
  readonly process: Process
  private readonly serves: boolean
  /** it knows the campaign's hours, if there are any */
  readonly hasHours: boolean
  /** since when nothing has stalled its loops; in the future while something does */
  cleanSince = Number.POSITIVE_INFINITY
  /** until when it may not know that it was stalled, because all its clocks were */
  unawareUntil = 0
  /** when it could not reach the store or was stalled, in order */
  readonly hindrances: Array<Hindrance> = []
  /** from when on it no longer waits for the platform, because it is stopping */
  givesUpAt = Number.POSITIVE_INFINITY
  private crash:
    | { when: "before" | "after" | "platform"; downMillis: number; rule: BudgetRule | LookRule | undefined }
    | undefined
  private atRule: { readonly rule: BudgetRule; readonly act: () => void } | undefined
  private atPlatform: { readonly act: () => void; readonly until: number } | undefined
  private services: Context.Context<Services> | undefined
  private readonly waiting = new Set<() => void>()

  constructor(world: World, index: number, life: number) {
    this.world = world
    this.index = index
    this.name = `gate${index}.${life}`
    this.process = new Process(world.kernel)
    this.serves = world.serves
    this.hasHours = world.hasHours
    const chance = new Chance(world.chance(this.name, 2 ** 31))
    const random: Random.Random = {
      nextDoubleUnsafe: () => chance.below(2 ** 30) / 2 ** 30,
      nextIntUnsafe: () => chance.below(2 ** 30),
    }
    let secrets = 0
    const logger = Logger.make<unknown, void>(({ cause, logLevel, message }) => {
      const text = Array.isArray(message) ? message.map(String).join(" ") : String(message)
      world.note(`${this.name} logs ${logLevel}: ${text}`)
      if (cause.reasons.some((reason) => reason._tag === "Die")) world.fail(`a defect was logged: ${text} ${cause}`)
    })
    const context = this.process.context.pipe(
      Context.add(Random.Random, random),
      Context.add(Logger.CurrentLoggers, new Set([logger])),
      Context.add(Secrets, () => `${this.name.replace(".", "-")}-${String(secrets++).padStart(16, "0")}`),
    )
    const settings = settingsOf(world.plan, this.serves, this.hasHours)
    const layer = gateLayer(world, this, settings).pipe(
      Layer.provideMerge(
        Layer.mergeAll(intel, Layer.succeed(PlatformApi, makePlatformApi(world, this)), PushChannelLayer.layerShared),
      ),
      Layer.provideMerge(
        Layer.mergeAll(Layer.effect(Store, makeStore(world, this)), Layer.succeed(Settings, settings)),
      ),
    )
    const scope = Scope.makeUnsafe()
    Effect.runForkWith(context)(Layer.buildWithScope(layer, scope)).addObserver((exit) => {
      if (Exit.isSuccess(exit)) {
        const gatekeeper = Context.get(exit.value, Gatekeeper)
        this.services = Context.merge(context, exit.value).pipe(
          Context.add(Gatekeeper, world.planted?.gatekeeper?.(gatekeeper) ?? gatekeeper),
        )
        this.cleanSince = Math.max(world.kernel.now, this.troubled)
        world.note(`${this.name} is up`)
        return
      }
      world.note(`${this.name} does not start`)
      this.kill(RESTART_MILLIS)
    })
  }

  /** A campaign is in its settings. */
  servesCampaign(name: CampaignName): boolean {
    return this.serves || name !== CAMPAIGN
  }

  private troubled = 0

  get up(): boolean {
    return this.process.alive && this.services !== undefined
  }

  /** Its loops are stalled until then. */
  trouble(until: number): void {
    this.world.isDisturbed = true
    this.troubled = Math.max(this.troubled, until)
    if (this.services !== undefined) this.cleanSince = Math.max(this.cleanSince, until)
  }

  freeze({ clocks, millis }: Freeze): void {
    const { kernel } = this.world
    const { behind } = this.process
    const longer = kernel.now + millis - Math.max(this.process.frozenUntil, kernel.now)
    if (longer <= 0) return
    this.process.frozenUntil = kernel.now + millis
    // a shorter stall is only a slow gate
    if (millis > STALLED_AFTER_MILLIS) this.hindered(kernel.now, kernel.now + millis)
    this.trouble(this.process.frozenUntil)
    if (clocks !== "none") behind.steady += longer
    if (clocks === "both") behind.wall += longer
    if (clocks === "both") this.unawareUntil = this.process.frozenUntil + MEASURE_EVERY_MILLIS
    this.world.note(`${this.name} freezes for ${millis} ms, with ${clocks} of its clocks`)
  }

  /** @param campaign whose step did not reach the store; all were stalled if absent */
  hindered(from: number, to: number, campaign?: CampaignName): void {
    this.hindrances.push(campaign === undefined ? { from, to } : { from, to, campaign })
  }

  /** Freezes at its next request to the platform, if that comes within `AT_PLATFORM_WITHIN_MILLIS`. */
  freezeAtPlatform(freeze: Freeze): void {
    this.whenAsking(() => this.freeze(freeze))
  }

  /** Freezes as soon as it has asked the store for a rule. */
  freezeAtRule(rule: BudgetRule, freeze: Freeze): void {
    this.atRule = { rule, act: () => this.freeze(freeze) }
  }

  /** A rule was asked for. */
  askedStore(rule: string): void {
    if (this.atRule?.rule !== rule) return
    const { act } = this.atRule
    this.atRule = undefined
    act()
  }

  /** Stops in the same way. */
  stopAtPlatform(downMillis: number): void {
    this.whenAsking(() => this.stop(downMillis))
  }

  private whenAsking(act: () => void): void {
    this.atPlatform = { act, until: this.world.kernel.now + AT_PLATFORM_WITHIN_MILLIS }
  }

  /** A request to the platform was sent. */
  asked(): void {
    const { atPlatform } = this
    this.atPlatform = undefined
    if (atPlatform !== undefined && this.world.kernel.now <= atPlatform.until) atPlatform.act()
  }

  /** Stops: sends its connections away, finishes starts in flight, and exits. */
  stop(downMillis: number): void {
    const { kernel, planted, watch } = this.world
    const drain = PushChannel.use((channel) => channel.drain)
    const close = Gatekeeper.use((gatekeeper) => gatekeeper.close)
    this.givesUpAt = Math.min(this.givesUpAt, kernel.now + CLOSE_MILLIS - RESERVED_MILLIS)
    const gone = (): void => {
      if (!this.process.alive) return
      watch.stopped(this)
      this.kill(downMillis)
    }
    if (planted?.hasty === true) {
      this.ask(`stop ${this.name}`, drain, () => kernel.after(HASTY_MILLIS, gone))
    } else {
      this.ask(`stop ${this.name}`, Effect.all([close, drain], { concurrency: "unbounded", discard: true }), gone)
    }
  }

  /** Dies around its next call. */
  doom(when: "before" | "after" | "platform", downMillis: number, rule?: BudgetRule | LookRule): void {
    this.crash = { when, downMillis, rule }
  }

  /** Whether it dies now, at the point chosen for it. */
  dies(where: "before" | "after" | "platform", rule = "", found = !LOOKS.has(rule)): boolean {
    if (this.crash?.when !== where || (this.crash.rule ?? rule) !== rule) return false
    if (where === "after" && this.crash.rule !== undefined && !found) return false
    this.kill(this.crash.downMillis)
    return true
  }

  kill(downMillis: number): void {
    if (!this.process.alive) return
    this.world.note(`${this.name} dies`)
    this.world.watch.ledger.gone(this)
    this.world.diedAt = this.world.kernel.now
    this.world.isDisturbed = true
    this.process.kill()
    this.cleanSince = Number.POSITIVE_INFINITY
    // connected callers see a reset
    for (const reset of this.waiting) this.world.kernel.after(1, reset)
    this.waiting.clear()
    this.world.kernel.after(downMillis, () => this.world.startGate(this.index))
  }

  /** Calls `reset` when the gate dies, until it is stopped. */
  watched(reset: () => void): () => void {
    this.waiting.add(reset)
    return () => this.waiting.delete(reset)
  }

  /**
   * A client's request: the effect runs on the gate, and the answer is lost when the gate dies. Returns how to hang up.
   */
  ask<A, E>(
    key: string,
    effect: Effect.Effect<A, E, Services>,
    answer: (exit: Exit.Exit<A, E>) => void,
    reset: () => void = () => {},
  ): () => void {
    const { kernel } = this.world
    const latency = (way: string): number =>
      1 + this.world.chance(`${key} ${this.world.millis()} ${way}`, CLIENT_LATENCY)
    const ready = this.services
    if (ready === undefined) {
      kernel.after(1, reset)
      return () => {}
    }
    const stop = this.watched(reset)
    let hangUp: () => void = () => {}
    let hungUp = false
    kernel.after(
      latency("there"),
      () => {
        if (hungUp) return
        const fiber = Effect.runForkWith(ready)(effect)
        hangUp = () => fiber.interruptUnsafe()
        fiber.addObserver((exit) => {
          stop()
          if (Exit.isFailure(exit) && exit.cause.reasons.some((reason) => reason._tag === "Die")) {
            this.world.fail(`${key} ended in a defect: ${exit.cause}`)
          }
          kernel.after(latency("back"), () => {
            if (!hungUp) answer(exit)
          })
        })
      },
      this.process,
    )
    return () => {
      hungUp = true
      stop()
      kernel.after(latency("hang up"), () => hangUp(), this.process)
    }
  }
}

/** The expected failure with which a request to a gate has ended. */
export const errorOf = <A, E>(exit: Exit.Exit<A, E>): E | undefined => {
  if (Exit.isSuccess(exit)) return undefined
  for (const reason of exit.cause.reasons) if (reason._tag === "Fail") return reason.error
  return undefined
}
