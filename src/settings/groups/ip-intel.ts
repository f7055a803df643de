/** The settings of IP intelligence. */
import { Schema } from "effect"
import { IP_PROVIDERS } from "../../ip-intel/provider-kinds.ts"
import { CALLER_BITS, NETWORK_BITS } from "../../lib/ip/address.ts"
import { listWithDefault, optional, withDefault } from "../setting.ts"
import { providerKey } from "../values/secret.ts"
import { domain, list, oneOf, text, wholeNumber } from "../values/values.ts"

const ranges = (description: string) => listWithDefault(list(text), [], "none", { description })

export const IpIntelSettings = Schema.Struct({
  Provider: optional(
    domain(IP_PROVIDERS),
    "`ipapi.is` with a key or address, else `lists` when there are any, else `none`",
    {
      description: `who classifies addresses: ${IP_PROVIDERS.map((name) => `\`${name}\``).join(", ")}`,
    },
  ),
  ApiKey: optional(providerKey, "none", { description: "the provider's key" }),
  BaseUrl: optional(text, "the provider's own", {
    description: "an address that replaces the provider's own; for maxmind the path of the `.mmdb` file",
  }),
  OnError: withDefault(oneOf(["allow", "block"]), "allow", {
    description:
      "`allow` or `block`: what happens to a caller when the provider fails or leaves out a fact that `Security.Block…` needs",
    documentation:
      "A missing or null fact does not count as clean. A fact that the provider never reports counts as no: datacenters at vpnapi.io, proxies in `lists`, and kinds without a list",
  }),
  CacheDays: withDefault(wholeNumber(1, 365), 14, {
    description: `how many days an answer is kept; an IPv6 answer applies to the whole /${CALLER_BITS}`,
  }),
  TimeoutMillis: withDefault(wholeNumber(50, 60_000), 2000, { description: "timeout of one lookup, in ms" }),
  LookupsPerMinute: withDefault(wholeNumber(1, 1_000_000), 600, {
    description: "lookups of one instance per minute; beyond that, `OnError` decides",
  }),
  NetworkLookupsPerMinute: optional(wholeNumber(1, 1_000_000), "a tenth of `LookupsPerMinute`, at least 5", {
    description: `lookups for one network (IPv4 /24, IPv6 /${NETWORK_BITS}) per minute, and ten times as many (at least 256) per day; beyond that, \`OnError\` decides for that network alone`,
    documentation:
      "So one network cannot use up all lookups. A larger range (IPv4 /16, IPv6 /32) may use half of them. Cost: when an office or mobile network has more new addresses in a minute, the rest are not checked",
  }),
  /** The offline lists: files or http URLs with one CIDR or address per line. */
  Lists: Schema.Struct({
    Vpn: ranges("files or http addresses of VPN ranges, one CIDR per line"),
    Datacenter: ranges("files or http addresses of datacenter ranges, one CIDR per line"),
    Tor: ranges("files or http addresses of Tor exits, one address per line"),
    Relay: ranges(
      "files or http addresses of privacy relays, which count neither as VPN nor as proxy, whoever the provider is; one CIDR per line, such as Apple's list for iCloud Private Relay, `https://mask-api.icloud.com/egress-ip-ranges.csv`",
    ),
    RefreshHours: withDefault(wholeNumber(1, 8760), 24, { description: "how often lists are read again" }),
  }),
})
