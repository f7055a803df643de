/**
 * Reports of a session's end that this gate could not answer although the store may have carried them out. The platform sends such a
 * report again, to any gate, and is then told whether the first one freed the slot: the store knows which attempt freed it, and an attempt
 * that names it as lost takes its place (`fifo-queue/rules/end.ts`). Only this gate knows which of its attempts are lost, so one that every gate
 * can name takes their place as soon as the store answers. The slot of an end that was not carried out stays held until the platform's repeat.
 */

import { createHash, randomBytes } from "node:crypto"
import { Cause, Context, Effect, Exit, Layer, Option } from "effect"
import type { EndAttempt } from "../../fifo-queue/inputs.ts"
import { boundedCache } from "../../lib/bounded-cache.ts"
import type { StoreUnavailable } from "../../protocol/refusals.ts"

/** How many reports are remembered; beyond it the oldest are forgotten. */
const MAX_REMEMBERED = 1_000
/** Maximum attempts of one report. */
const MAX_ATTEMPTS = 16
export const RETRY_MILLIS = 1_000
const MAX_CONCURRENT_RETRIES = 16
/** Characters of a hash (base64url): two reports with the same one would be taken for one. */
const HASH_LENGTH = 11

/** Has an attempt carried out wherever these sessions may be. Without any, it only takes the place of a lost one. */
type End<A> = (attempt: EndAttempt, sessionIds: ReadonlyArray<string>) => Effect.Effect<A, StoreUnavailable>

interface Lost {
  readonly attempts: ReadonlyArray<string>
  readonly end: End<unknown>
}

export class LostEnds extends Context.Service<
  LostEnds,
  {
    /**
     * Carries out a report of the end of a session. `several` if that needs several commands to the store: then the failure of one tells
     * nothing of the others.
     */
    readonly carryOut: <A>(
      sessionIds: ReadonlyArray<string>,
      several: boolean,
      end: End<A>,
    ) => Effect.Effect<A, StoreUnavailable>
  }
>()("voicegate/gatekeeper/LostEnds") {}

/** The attempt that every gate can name: reports that name the same sessions have the same. */
export const commonAttempt = (sessionIds: ReadonlyArray<string>): string =>
  `~${createHash("sha256").update(JSON.stringify(sessionIds.toSorted())).digest("base64url").slice(0, HASH_LENGTH)}`

const wasUnasked = (cause: Cause.Cause<StoreUnavailable>): boolean =>
  Option.exists(Cause.findErrorOption(cause), ({ unasked }) => unasked === true)

export const layer: Layer.Layer<LostEnds> = Layer.effect(
  LostEnds,
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    /** by their common attempt */
    const lost = boundedCache<Lost>(MAX_REMEMBERED)
    /** those which no other gate knows of yet */
    const unpublished = new Set<string>()
    let isRetrying = false
    const prefix = randomBytes(6).toString("base64url")
    let attempts = 0

    /** Nobody needs these attempts of a report any more. */
    const forget = (common: string, known: ReadonlyArray<string>): void => {
      const entry = lost.get(common)
      if (entry === undefined) return
      const left = entry.attempts.filter((attempt) => !known.includes(attempt))
      if (left.length > 0) lost.set(common, { ...entry, attempts: left })
      else {
        lost.delete(common)
        unpublished.delete(common)
      }
    }

    const publish = (common: string): Effect.Effect<void> =>
      Effect.suspend(() => {
        const entry = lost.get(common)
        if (entry === undefined) return Effect.sync(() => void unpublished.delete(common))
        return Effect.matchEffect(entry.end({ attempt: common, lost: entry.attempts }, []), {
          onFailure: () => Effect.void,
          // a late attempt may still be carried out, so this gate remembers them
          onSuccess: () => Effect.sync(() => void (lost.get(common) === entry && unpublished.delete(common))),
        })
      })
    const retryLoop = Effect.gen(function* () {
      while (unpublished.size > 0) {
        yield* Effect.sleep(RETRY_MILLIS)
        yield* Effect.forEach([...unpublished], publish, { concurrency: MAX_CONCURRENT_RETRIES, discard: true })
      }
      isRetrying = false
    }).pipe(
      Effect.catchDefect((defect) => {
        // a bug, which a retry would repeat
        unpublished.clear()
        isRetrying = false
        return Effect.logError(
          "Ends of sessions whose answers were lost could not be told to other gates",
          Cause.die(defect),
        )
      }),
    )
    const note = (common: string, attempt: string, end: End<unknown>): Effect.Effect<void> =>
      Effect.suspend(() => {
        const known = lost.get(common)?.attempts ?? []
        lost.set(common, { attempts: [attempt, ...known].slice(0, MAX_ATTEMPTS), end })
        unpublished.add(common)
        if (isRetrying) return Effect.void
        isRetrying = true
        return Effect.asVoid(Effect.forkIn(retryLoop, scope))
      })

    return {
      carryOut: (sessionIds, several, end) =>
        Effect.suspend(() => {
          const common = commonAttempt(sessionIds)
          const known = lost.get(common)?.attempts ?? []
          const attempt = `${prefix}${++attempts}`
          return Effect.onExit(end({ attempt, lost: [common, ...known] }, sessionIds), (exit) => {
            if (Exit.isSuccess(exit)) return Effect.sync(() => forget(common, known))
            return wasUnasked(exit.cause) && !several ? Effect.void : note(common, attempt, end)
          })
        }),
    }
  }),
)
