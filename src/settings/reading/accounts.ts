/** Reads the accounts that campaigns share, and checks that their campaigns agree. */

import { vendorOf } from "../../platform-api/vendors.ts"
import { AccountSettings, type CampaignAccount } from "../groups/account.ts"
import type { Campaign } from "../Settings.ts"
import { ownNames } from "../setting.ts"
import type { Reader } from "./reader.ts"

/** Undefined without an account. Its `MaxConcurrency` is that of this campaign. */
export const readAccount = (read: Reader, base: string): CampaignAccount | undefined => {
  const { draft, valid } = read.group({
    base: `${base}.Account.`,
    schema: AccountSettings,
    draft: AccountSettings,
    own: ownNames(AccountSettings.fields),
  })
  if (draft === undefined) return undefined
  const { MaxConcurrency, Name, ReservedSlots } = draft
  if (Name !== undefined) return valid && { Name, MaxConcurrency, ReservedSlots }
  // a name that is wrong is reported already
  if (read.has(`${base}.Account.Name`)) return undefined
  const setting = MaxConcurrency !== undefined ? "MaxConcurrency" : ReservedSlots > 0 ? "ReservedSlots" : undefined
  if (setting !== undefined) read.reportMissing(`${base}.Account.Name`, `the account's name, with Account.${setting}`)
  return undefined
}

type Member = Campaign & { readonly Account: CampaignAccount }

const isMember = (campaign: Campaign): campaign is Member => campaign.Account !== undefined

const baseOf = ({ name }: Campaign): string =>
  name === "default" ? "VoiceAiPlatform" : `VoiceAiPlatform.Campaigns.${name}`

/** The limit that the campaigns of an account state; reports one that differs. */
const limitOf = (read: Reader, members: ReadonlyArray<Member>): number | undefined => {
  const [first, ...others] = members.filter(({ Account }) => Account.MaxConcurrency !== undefined)
  const limit = first?.Account.MaxConcurrency
  for (const other of others) {
    if (other.Account.MaxConcurrency !== limit) {
      const expected = `${limit}, as for the same account in ${first === undefined ? "" : baseOf(first)}, or nothing`
      read.reportInvalid(`${baseOf(other)}.Account.MaxConcurrency`, expected)
    }
  }
  return limit
}

const checkMembers = (read: Reader, members: ReadonlyArray<Member>, limit: number | undefined): void => {
  const [first] = members
  let reserved = 0
  for (const member of members) {
    const { Account, MaxConcurrency, Platform } = member
    const base = baseOf(member)
    reserved += Account.ReservedSlots
    if (first !== undefined && Platform !== first.Platform) {
      const expected = `another account: ${Account.Name} is of the Platform ${first.Platform}, in ${baseOf(first)}`
      read.reportInvalid(`${base}.Account.Name`, expected)
    }
    if (MaxConcurrency !== undefined && Account.ReservedSlots > MaxConcurrency) {
      read.reportInvalid(`${base}.Account.ReservedSlots`, `at most ${base}.MaxConcurrency, which is ${MaxConcurrency}`)
    } else if (limit !== undefined && reserved > limit) {
      const expected = `so few that the campaigns of ${Account.Name} reserve at most ${limit} together`
      read.reportInvalid(`${base}.Account.ReservedSlots`, expected)
    }
  }
}

/** Reports the settings in which the campaigns of an account contradict each other. */
export const resolveAccounts = (read: Reader, campaigns: ReadonlyArray<Campaign>): ReadonlyArray<Campaign> => {
  const accounts = Map.groupBy(campaigns.filter(isMember), ({ Account }) => Account.Name)
  const limits = new Map<string, number | undefined>()
  for (const [name, members] of accounts) {
    const limit = limitOf(read, members)
    limits.set(name, limit)
    checkMembers(read, members, limit)
    const [first] = members
    if (limit === undefined && first !== undefined && vendorOf(first.Platform)?.tellsLimit === false) {
      const path = `${baseOf(first)}.Account.MaxConcurrency`
      read.reportMissing(path, `how many calls the account may have, which ${first.Platform} does not tell`)
    }
  }
  return campaigns.map((campaign) =>
    isMember(campaign)
      ? { ...campaign, Account: { ...campaign.Account, MaxConcurrency: limits.get(campaign.Account.Name) } }
      : campaign,
  )
}
