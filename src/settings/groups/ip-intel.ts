/** The settings of what is known of callers' addresses. */
import { Schema } from "effect"
import { providerKey } from "../secret-values.ts"
import { listWithDefault, optional, withDefault } from "../setting.ts"
import { domain, list, oneOf, text, wholeNumber } from "../values.ts"

export const IP_PROVIDERS = [
  "ipapi.is",
  "proxycheck.io",
  "vpnapi.io",
  "ip2location.io",
  "ipinfo.io",
  "maxmind",
  "lists",
  "none",
] as const
export type IpProvider = (typeof IP_PROVIDERS)[number]

const ranges = (description: string) => listWithDefault(list(text), [], "none", { description })

export const IpIntelSettings = Schema.Struct({
  Provider: optional(
    domain(IP_PROVIDERS),
    "`ipapi.is` with a key or address, else `lists` when there are any, else `none`",
    {
      description: `who says what an address is: ${IP_PROVIDERS.map((name) => `\`${name}\``).join(", ")}`,
    },
  ),
  ApiKey: optional(providerKey, "none", { description: "the provider's key" }),
  BaseUrl: optional(text, "the provider's own", {
    description: "another address of the provider; for maxmind the path of the `.mmdb` file",
  }),
  OnError: withDefault(oneOf(["allow", "block"]), "allow", {
    description:
      "`allow` or `block` callers when the provider fails, or does not say whether an address is what `Security.Block…` refuses",
    documentation:
      "A missing or null fact is not a clean one. What a provider never tells (datacenters: vpnapi.io; proxies: `lists`; kinds without a list) counts as no",
  }),
  CacheDays: withDefault(wholeNumber(1, 365), 14, {
    description: "how long an answer is kept, of IPv6 for the whole /64",
  }),
  TimeoutMillis: withDefault(wholeNumber(50, 60_000), 2000, { description: "how long one lookup may take" }),
  LookupsPerMinute: withDefault(wholeNumber(1, 1_000_000), 600, {
    description: "lookups of one instance; beyond it `OnError` decides",
  }),
  NetworkLookupsPerMinute: optional(wholeNumber(1, 1_000_000), "a tenth of `LookupsPerMinute`, at least 5", {
    description: "lookups for one network (IPv4 /24, IPv6 /48); beyond it `OnError` decides for that network alone",
    documentation:
      "So no network spends them all; a range (/16, IPv6 /32) has half. Its price: of an office or mobile network with more new addresses a minute, the rest are not checked",
  }),
  /** The offline lists: files (or http addresses, refreshed on a schedule) of CIDRs and addresses, one a line. */
  Lists: Schema.Struct({
    Vpn: ranges("files or http addresses of VPN ranges, a CIDR a line"),
    Datacenter: ranges("files or http addresses of datacenter ranges, a CIDR a line"),
    Tor: ranges("files or http addresses of Tor exits, an address a line"),
    Relay: ranges("files or http addresses of privacy relays (Apple Private Relay), which are no VPN, a CIDR a line"),
    RefreshHours: withDefault(wholeNumber(1, 8760), 24, { description: "how often lists are read again" }),
  }),
})
