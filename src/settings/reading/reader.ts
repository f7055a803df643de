/** What reads groups of settings, and collects problems and warnings. */
import type { Schema } from "effect"
import type { SettingProblem } from "../problems.ts"

export interface Reader {
  readonly problems: Array<SettingProblem>
  readonly warnings: Array<string>
  /** whether a value or a list is given at the path, valid or not */
  readonly has: (path: string) => boolean
  /** Decodes the settings below a path and reports every invalid value, which then counts as absent. */
  readonly group: <A extends B, B>(group: Group<A, B>) => GroupRead<A, B>
  readonly reportMissing: (path: string, expected: string) => void
  /** Reports a value that is invalid because of another setting. */
  readonly reportInvalid: (path: string, expected: string) => void
  /** Reports the required settings that a campaign inherits from a group that lacks them, unless that group has reported them. */
  readonly reportInherited: () => void
}

export interface Group<A, B> {
  /** the path of the group, with the dot at its end; empty for the root */
  readonly base: string
  readonly schema: Schema.Decoder<A>
  /** the same, requiring only what checks across settings need, or nothing */
  readonly draft: Schema.Decoder<B>
  /** the path of the group from which absent settings are inherited, with the dot at its end */
  readonly inheritFrom?: string | undefined
  /** the names of settings that are never inherited; their problems are listed first */
  readonly own?: ReadonlyArray<string>
}

export interface GroupRead<A, B> {
  /** undefined when there is any problem */
  readonly valid: A | undefined
  /** the valid values, for checks across settings; undefined when the draft's schema requires more */
  readonly draft: B | undefined
}
