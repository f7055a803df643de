import type { Credential } from "../protocol/credential.ts"
import type { FakeVendor, VendorAnswer } from "../testing/FakeVendor.ts"
import type { OpenSideband } from "./shared/sideband.ts"

/**
 * What a vendor does, and in which of its own ways: what the contract suite of the adapters, `test/platform-api/adapters/contract.ts`, needs to
 * know of it.
 */
export interface ContractFacts {
  readonly platform: string
  /** in the names of tests; the platform if absent */
  readonly name?: string
  readonly fake: (now: () => number) => FakeVendor & { readonly sideband?: OpenSideband }
  /** undefined: the platform's sessions have a `webSocketUrl` */
  readonly shape: Credential["shape"] | undefined
  /** A start is a request to the vendor; else the gate makes the credential alone. */
  readonly asksToStart: boolean
  /** the vendor's refusals at capacity, each of its ways */
  readonly atCapacity: ReadonlyArray<VendorAnswer>
  /** the credential's lifetime is chosen at the vendor and not by the gate */
  readonly unboundedLifetime?: true
  /** secrets that no answer may contain */
  readonly secrets: ReadonlyArray<string>
  /** an authentic webhook about a running call that does not end it; absent where the vendor sends none */
  readonly otherEvent?: (id: string) => unknown
  /** an authentic webhook about the end of a call that another program has started */
  readonly foreignEnd?: unknown
  /** A start only makes a credential, so one whose answer was lost has started nothing. */
  readonly startsNothing?: true
  /** Every 429 says that all calls are taken. */
  readonly limitIsCapacity?: true
  /** The page's word is taken that a call is over, because nobody else can tell: at once, or when the credential opens nothing more. */
  readonly pageEnds?: "at once" | "after expiry"
  /** Webhooks have the secret itself in place of a signature, so a changed or old one cannot be told. */
  readonly unsigned?: true
  /**
   * how long after its webhook was lost an ended call is noticed (minutes): 0 where the vendor says so on a connection; absent where it is
   * when the longest call has passed
   */
  readonly noticedAfterMinutes?: number
  /** After so many minutes a credential that nobody has used holds no slot any more; absent where the vendor ends such calls itself. */
  readonly unusedForMinutes?: number
  /** the state of such a ticket; `ended` if absent */
  readonly unusedState?: "missed"
  /** The credential opens another call until it expires, so a call that was left before is not over. */
  readonly reusable?: true
  /** Such a call is over for good once the gate has ended it: its credential opens nothing any more. */
  readonly endIsFinal?: true
  /** The settings cannot be checked without a start. */
  readonly unchecked?: true
  /** The vendor lists its calls, so that one whose start was not confirmed is found. */
  readonly lists: boolean
  /** What of the start tells the vendor a longest call of ten minutes; absent where it takes none, and the gate ends such a call. */
  readonly limit?: string
  /** how long after its time a webhook is still accepted, with some margin (minutes); an hour if absent */
  readonly acceptedLateMinutes?: number
  /** headers of a webhook without which it may be authentic too, by the vendor's settings */
  readonly optionalHeaders?: ReadonlyArray<string>
  /** A message without a signature is accepted, by its body, so every webhook is read. */
  readonly readsEveryWebhook?: true
  /** The vendor ends a call for the gate. */
  readonly ends: boolean
}
