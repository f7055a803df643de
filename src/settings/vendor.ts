/**
 * How a vendor declares its settings, in `settings.ts` of its folder. A vendor's campaign has no business and no web campaign, so what
 * identifies it, in the store and to callers, is the vendor's agent at that vendor's address.
 */
import { Record, type Redacted, Schema } from "effect"
import { toLowerCase } from "effect/String"
import type { Reader } from "./reading/reader.ts"
import { ownNames, requiredWith, withDefault } from "./setting.ts"
import { baseUrl } from "./values/network.ts"
import { providerKey } from "./values/secret.ts"
import { identifier } from "./values/values.ts"

/** The key and the address of a vendor's API. */
export const api = (platform: string, name: string, address: string) => ({
  ApiKey: requiredWith(platform, providerKey, { description: `the API key of ${name}` }),
  BaseUrl: withDefault(baseUrl, address, { description: `address of the API of ${name}` }),
})

export const agentId = (platform: string, name: string) =>
  requiredWith(platform, identifier, { own: true, description: `the agent at ${name}` })

/** What takes the place of the default platform's settings in a vendor's campaign. */
export interface Identified {
  /** where the vendor's API is, with a slash at its end; campaigns with the same one share a circuit breaker */
  readonly BaseUrl: string
  readonly ApiSecretToken: Redacted.Redacted<string>
  /** the agent, without spaces and slashes; two campaigns must not have the same one */
  readonly agent: string
}

/** Of a vendor whose agents have ids, and whose API has one key. */
export const byAgent = ({
  AgentId,
  ApiKey,
  BaseUrl,
}: {
  readonly AgentId: string
  readonly ApiKey: Redacted.Redacted<string>
  readonly BaseUrl: string
}): Identified => ({ BaseUrl, ApiSecretToken: ApiKey, agent: AgentId })

/** A setting that contradicts others of the vendor, or that they need. */
export interface Contradiction {
  readonly setting: string
  readonly expected: string
  /** the setting is not given */
  readonly missing: boolean
}

interface Facts<A> {
  readonly identify: (settings: A) => Identified
  /** Whether the vendor tells how many calls may run; otherwise a campaign must say it. */
  readonly tellsLimit: boolean
  /** Whether the gate can end a call at the vendor; the name of a setting where it can if that is given. */
  readonly endsCalls: boolean | string
  /** The settings that a failure at the vendor blames: a refused key, an unknown agent, and an address where something else answers. */
  readonly blames: { readonly key: string; readonly agent: string; readonly address?: string }
  /** @param isGiven whether a setting has a value of its own, and not the default */
  readonly contradictions?: (settings: A, isGiven: (setting: string) => boolean) => ReadonlyArray<Contradiction>
}

/** The address at which a vendor's API is unless the settings name another; undefined where they must name one. */
const ownAddress = ({ BaseUrl }: Schema.Struct.Fields): string | undefined => {
  const fallback = BaseUrl === undefined ? undefined : Schema.resolveAnnotationsKey(BaseUrl)?.voicegate?.fallback
  return typeof fallback === "string" ? fallback : undefined
}

type VendorSchema = Schema.Decoder<unknown> & { readonly fields: Schema.Struct.Fields }

/** @param group the key of the vendor's settings in a campaign, of which `Platform` is the lower case */
export const vendor = <const Group extends string, S extends VendorSchema>(
  group: Group,
  settings: S,
  { blames, contradictions, endsCalls, identify, tellsLimit }: Facts<S["Type"]>,
) => ({
  group,
  platform: toLowerCase(group),
  settings,
  ownAddress: ownAddress(settings.fields),
  tellsLimit,
  endsCalls: typeof endsCalls === "string" ? `${group}.${endsCalls}` : endsCalls,
  blames: {
    key: `${group}.${blames.key}`,
    agent: `${group}.${blames.agent}`,
    address: `${group}.${blames.address ?? "BaseUrl"}`,
  },
  /** Reads the vendor's settings of the campaign at `base`; undefined when one has a problem, which is then in the reader's list. */
  read: (read: Reader, base: string, inheritFrom: string | undefined) => {
    const { valid }: { readonly valid: S["Type"] | undefined } = read.group<S["Type"], S["Type"]>({
      base: `${base}.${group}.`,
      schema: settings,
      draft: settings,
      own: ownNames(settings.fields),
      inheritFrom: inheritFrom === undefined ? undefined : `${inheritFrom}.${group}.`,
    })
    if (valid === undefined) return undefined
    const isGiven = (name: string): boolean =>
      read.has(`${base}.${group}.${name}`) || (inheritFrom !== undefined && read.has(`${inheritFrom}.${group}.${name}`))
    for (const { expected, missing, setting } of contradictions?.(valid, isGiven) ?? []) {
      const report = missing ? read.reportMissing : read.reportInvalid
      report(`${base}.${group}.${setting}`, expected)
    }
    return { settings: Record.singleton(group, valid), ...identify(valid) }
  },
})
