/** The names of a campaign's keys in the store; `fifo-queue/rules/shared/keys.ts` describes their contents. */

const NAMES: ReadonlyArray<string> = [
  ...["meta", "tickets", "data", "waiting", "presence", "leases", "sessions", "endedSessions"],
  ...["forget", "settlements", "passed", "networks", "parked", "gates", "quarantine", "auditLog", "ending"],
  ...["near", "crowds", "unopened", "holders", "changes", "steps", "events", "limits", "charges", "unpaid"],
]

export interface CampaignId {
  /** the account's name in the settings; absent without an account */
  readonly account?: string | undefined
  /** names the campaign within the account, or within the store; has one slash */
  readonly campaign: string
}

/** A campaign's identity as one text. A campaign has another text with an account than without. */
export const campaignKeyOf = ({ account, campaign }: CampaignId): string =>
  account === undefined ? campaign : `${account}/${campaign}`

/** Reads the text of `campaignKeyOf`. */
export const campaignIdOf = (key: string): CampaignId => {
  const [, account, campaign] = /^([^/]*)\/([^/]*\/[^/]*)$/.exec(key) ?? []
  return account === undefined || campaign === undefined ? { campaign: key } : { account, campaign }
}

/** What names a campaign in the store, of its settings. */
interface NamedCampaign {
  readonly Account?: { readonly Name: string }
  readonly BusinessId: string
  readonly WebCampaignId: string
}

/** The key of a campaign by its settings; the same on every instance, even if their settings name it differently. */
export const keyOfCampaign = ({ Account, BusinessId, WebCampaignId }: NamedCampaign): string =>
  campaignKeyOf({ account: Account?.Name, campaign: `${BusinessId}/${WebCampaignId}` })

/** What the names of a campaign's own keys begin with, and those of its account. */
const beginningsOf = (key: string): { readonly own: string; readonly tag: string } => {
  const { account, campaign } = campaignIdOf(key)
  // the tag of a campaign has an encoded slash and no @
  const tag =
    account === undefined ? `vg:2:{${encodeURIComponent(campaign)}}:` : `vg:2:{@${encodeURIComponent(account)}}:`
  return { tag, own: account === undefined ? tag : `${tag}${encodeURIComponent(campaign)}:` }
}

/** A key of a campaign beside those of its queue, under the same hash tag. */
export const ownKeyOf = (key: string, name: string): string => beginningsOf(key).own + name

/**
 * All keys of a campaign's queue, under one hash tag; a brace in its id cannot break out of the tag. The `2` is the version of
 * the record format. The campaigns of an account share the tag, so that one step can read what all of them hold.
 */
export const keysOf = (key: string): ReadonlyArray<string> => {
  const { own, tag } = beginningsOf(key)
  return [...NAMES.map((name) => own + name), `${tag}account`]
}

/**
 * The ledgers of a campaign's budgets and of its account's (`budgets/rules/book.ts`), which a step of the queue reads where callers wait for
 * budgets.
 */
export const ledgersOf = (key: string): readonly [campaign: string, account: string] => {
  const { own, tag } = beginningsOf(key)
  return [`${own}budgets`, `${tag}accountBudgets`]
}

/** Where a campaign's invalid records are kept. */
export const quarantineKeyOf = (campaign: string): string => keysOf(campaign)[NAMES.indexOf("quarantine")] ?? ""
