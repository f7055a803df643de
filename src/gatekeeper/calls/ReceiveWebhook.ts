/**
 * Webhooks of vendors: each is authenticated and read by the adapters of its platform's campaigns. The end of a session frees its slot
 * once, however often it is reported, and by whatever means. Webhooks about something else are ignored. A key ends only sessions of its
 * own campaigns: ids of different vendors may be equal, and one vendor must not end the calls of another.
 */
import { Clock, Context, Effect, Layer, Metric } from "effect"
import type { CallUse, IgnoredBecause, VendorWebhook } from "../../platform-api/adapter.ts"
import { PlatformApi } from "../../platform-api/PlatformApi.ts"
import type { StoreUnavailable } from "../../protocol/refusals.ts"
import { Store } from "../../store/Store.ts"
import { FollowUps } from "../FollowUps.ts"
import * as metrics from "../metrics.ts"
import { makeIsOnlyMeeting } from "./meetings.ts"
import { NoteSpeech } from "./NoteSpeech.ts"
import { type EndSource, SessionEnds } from "./SessionEnds.ts"

/**
 * Why an authentic webhook has freed no slot. The end of its call was reported before (`repeat`), no ticket has its session
 * (`unknown_session`), its credential can still open the session again (`not_yet`), it says that a call has begun or who speaks, it does not
 * have the documented shape, or it is ignored.
 */
export type NotReleased = IgnoredBecause | "repeat" | "unknown_session" | "not_yet" | "began" | "speech" | "malformed"

export type WebhookOutcome =
  /** It has freed a slot, or has not. */
  | { readonly _tag: "accepted"; readonly released: true }
  | { readonly _tag: "accepted"; readonly released: false; readonly because: NotReleased }
  /** It is not authentic; `reason` says what to change. */
  | { readonly _tag: "refused"; readonly reason: string }
  /** No campaign has this platform, or the platform sends no webhooks. */
  | { readonly _tag: "unexpected" }

const notReleased = (because: NotReleased): WebhookOutcome => ({ _tag: "accepted", released: false, because })

/** The outcome of a webhook whose body is not needed. */
export type UnreadOutcome = Exclude<WebhookOutcome, { readonly _tag: "accepted" }>

export class ReceiveWebhook extends Context.Service<
  ReceiveWebhook,
  (platform: string, webhook: VendorWebhook) => Effect.Effect<WebhookOutcome, StoreUnavailable>
>()("voicegate/gatekeeper/ReceiveWebhook") {}

export const layer: Layer.Layer<ReceiveWebhook, never, FollowUps | NoteSpeech | PlatformApi | SessionEnds | Store> =
  Layer.effect(
    ReceiveWebhook,
    Effect.gen(function* () {
      const { hasEnded, sessionEnded } = yield* SessionEnds
      const noteSpeech = yield* NoteSpeech
      const platforms = yield* PlatformApi
      const followUps = yield* FollowUps
      const isOnlyMeeting = makeIsOnlyMeeting(yield* Store)
      const warned = new Set<string>()
      /** ids of the sessions that end later */
      const closing = new Set<string>()

      /** Ends a session. What a vendor says of one of several meetings is not what the call has used: the gate's own time counts then. */
      const end = (
        ids: ReadonlyArray<string>,
        by: EndSource | undefined,
        used: Effect.Effect<CallUse | undefined, StoreUnavailable>,
      ) => Effect.flatMap(used, (known) => sessionEnded(ids, by, known))

      /**
       * Frees the slot once the credential opens nothing more, if the session does not run again by then. The audit does it too, later:
       * when this gate has stopped, or the vendor cannot be asked. A reload waits for it.
       */
      const endLater = (
        ids: ReadonlyArray<string>,
        millis: number,
        by: EndSource | undefined,
        used: Effect.Effect<CallUse | undefined, StoreUnavailable>,
      ): Effect.Effect<void> =>
        Effect.suspend(() => {
          const [id = ""] = ids
          const [campaign] = by?.campaigns ?? []
          if (campaign === undefined || closing.has(id)) return Effect.void
          closing.add(id)
          return Effect.sleep(millis).pipe(
            Effect.andThen(platforms.sessionStatus(campaign, id)),
            Effect.flatMap(({ status }) => (status === "over" ? Effect.asVoid(end(ids, by, used)) : Effect.void)),
            Effect.ignore,
            Effect.ensuring(Effect.sync(() => void closing.delete(id))),
            followUps.run,
          )
        })

      /** Logged once for each platform: every further webhook has the same problem until the gate is updated. */
      const warnOfShape = (platform: string): Effect.Effect<void> =>
        Effect.suspend(() => {
          if (warned.has(platform)) return Effect.void
          warned.add(platform)
          return Effect.logWarning(
            `An authentic webhook of ${platform} does not have the documented shape and is ignored. Further ones are ignored without a log line. Slots of ` +
              "ended calls stay held until the gate asks the vendor, or until the longest call has passed.",
          )
        })

      /** A session that runs again after its end has no slot. */
      const endAgain = (campaign: string, sessionIds: ReadonlyArray<string>): Effect.Effect<void> =>
        Effect.logInfo("A call was opened again after its end. It has no slot, and is ended.").pipe(
          Effect.andThen(platforms.end?.(campaign, { sessionIds }) ?? Effect.void),
          Effect.catch(({ message }) => Effect.logWarning(`A call without a slot could not be ended: ${message}`)),
          Effect.asVoid,
        )

      return Effect.fnUntraced(function* (platform, webhook) {
        const verdict = yield* platforms.webhook?.(platform, webhook) ?? Effect.succeed({ _tag: "unexpected" } as const)
        switch (verdict._tag) {
          case "refused":
          case "unexpected":
            return verdict
          case "ignored":
          case "malformed": {
            yield* Metric.update(metrics.webhooks(verdict._tag), 1)
            if (verdict._tag === "ignored") return notReleased(verdict.because)
            yield* warnOfShape(platform)
            return notReleased("malformed")
          }
          case "began": {
            const { campaigns, session } = verdict
            yield* Metric.update(metrics.webhooks("ignored"), 1)
            const [id = ""] = session
            const [campaign = ""] = campaigns
            if (verdict.meeting !== undefined) yield* isOnlyMeeting(platform, id, verdict.meeting)
            if (yield* hasEnded(id, { campaigns })) yield* endAgain(campaign, session)
            return notReleased("began")
          }
          case "spoke": {
            const { campaigns, session, speech } = verdict
            yield* Metric.update(metrics.webhooks("ignored"), 1)
            yield* Effect.forEach(campaigns, (campaign) => noteSpeech(campaign, session, speech), { discard: true })
            return notReleased("speech")
          }
          case "ended": {
            const { campaigns, meeting, used } = verdict
            const by = campaigns && { campaigns, platform }
            const millis = (verdict.notBefore ?? 0) - (yield* Clock.currentTimeMillis)
            const usedBy = ([id = ""]: ReadonlyArray<string>) =>
              meeting === undefined
                ? Effect.succeed(used)
                : Effect.map(isOnlyMeeting(platform, id, meeting), (isOnly) => (isOnly ? used : undefined))
            if (millis > 0) {
              for (const ids of verdict.sessions) {
                // another meeting may end while this one waits, also at another gate: each is noted at once, and what is known is read again
                yield* usedBy(ids)
                yield* endLater(ids, millis, by, usedBy(ids))
              }
              return notReleased("not_yet")
            }
            const results = yield* Effect.forEach(verdict.sessions, (ids) => end(ids, by, usedBy(ids)))
            if (results.includes("released")) return { _tag: "accepted", released: true }
            return notReleased(results.includes("repeat") ? "repeat" : "unknown_session")
          }
        }
      })
    }),
  )
