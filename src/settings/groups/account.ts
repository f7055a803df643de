/** The settings of the account that a campaign shares with others, below `Account`. */
import { Schema } from "effect"
import { optional, withDefault } from "../setting.ts"
import { pattern, type Text, wholeNumber } from "../values/values.ts"

const accountName: Text<string> = pattern(/^[A-Za-z0-9_-]{1,64}$/u).annotate({
  expected: "a name of 1 to 64 letters, digits, - and _",
})

export const AccountSettings = Schema.Struct({
  Name: optional(accountName, "none", {
    own: true,
    description:
      "a name of your own for the account at the platform; campaigns that name the same one share its limit of calls",
    documentation:
      "The campaigns must be of one `Platform`. See [Campaigns of one account](vendors.md#campaigns-of-one-account)",
  }),
  MaxConcurrency: optional(wholeNumber(1, 1_000_000), "from the platform", {
    own: true,
    description: "how many calls the account may have; set it in one of its campaigns",
  }),
  ReservedSlots: withDefault(wholeNumber(0, 1_000_000), 0, {
    own: true,
    description: "how many of the account's calls only this campaign may have",
  }),
})

/** The account of a campaign. */
export interface CampaignAccount {
  readonly Name: string
  /** the same in all campaigns of the account; undefined if the platform is asked */
  readonly MaxConcurrency: number | undefined
  readonly ReservedSlots: number
}
