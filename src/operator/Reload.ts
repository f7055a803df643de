/**
 * Changes the settings of a running gate. Connections stay open, places are kept and no request fails: requests that have begun finish with
 * the old settings, later ones use the new settings. A setting that cannot change while the gate runs keeps its value and is named.
 * When the new settings have a problem, nothing changes.
 */
import { Context, type Effect } from "effect"

/** What a reload did. Contains names of settings and messages, never a secret. */
export type ReloadOutcome =
  | {
      readonly _tag: "applied"
      /** the names of the settings that changed */
      readonly changed: ReadonlyArray<string>
      /** the names of the settings that differ and change only with the next start */
      readonly kept: ReadonlyArray<string>
    }
  | { readonly _tag: "refused"; readonly problems: ReadonlyArray<string> }

export class Reload extends Context.Service<
  Reload,
  {
    /**
     * Reads the settings again and applies them, for the operator `who`. One reload runs at a time. Requests that come meanwhile share the
     * next one, since the one that runs may have read the settings already.
     */
    readonly reload: (who: string) => Effect.Effect<ReloadOutcome>
    /** The gate begins to stop: from now on reloads are refused. One that runs is finished. */
    readonly close: Effect.Effect<void>
  }
>()("voicegate/Reload") {}
