/** The settings of the gate's HTTP server. */
import { Schema } from "effect"
import { CALLER_BITS } from "../../lib/ip/address.ts"
import { optional, withDefault } from "../setting.ts"
import { allowedHost, basePath, host } from "../values/network.ts"
import { list, oneOf, wholeNumber } from "../values/values.ts"

const port = wholeNumber(0, 65_535)
const exposure = oneOf(["public", "private", "off"])

export const ServerSettings = Schema.Struct({
  Host: withDefault(host, "0.0.0.0", { description: "address to listen on" }),
  Port: withDefault(port, 8080, { description: "port to listen on; 0 is any free one" }),
  BasePath: withDefault(basePath, "/", {
    description:
      "path below which everything is served too, such as `/voice` for `https://shop.example/voice`; the addresses in answers begin with it",
    documentation:
      "For a proxy that passes `/voice/…` on with its path. In a host application `basePath` of `createGate` does the same",
  }),
  AllowedHosts: optional(
    list(allowedHost),
    "names of this machine and of `Security.AllowedOrigins` on loopback without `Security.TrustedProxies`, else `*`",
    {
      description: "names (without port) that a request's `Host` may have, or `*`; anything else is a 421",
      documentation:
        "Set the list for a gate in an internal network: otherwise a stranger's page can reach it through the stranger's own domain (DNS rebinding)",
    },
  ),
  MaxConnectionsPerAddress: withDefault(wholeNumber(0, 1_000_000), 256, {
    description: `open connections of one address (IPv6: of one /${CALLER_BITS}) in each process, trusted proxies excepted, counted on the private port apart; 0 is no limit. A network (IPv4 /24, IPv6 /48) may have 16 times as many`,
    documentation:
      "A browser opens up to 7, so an office behind one address with more than 40 callers at once needs a higher limit",
  }),
  DrainSeconds: withDefault(wholeNumber(0, 3_600), 1, {
    description:
      "at a shutdown, the time over which the waiting callers' connections are told to reconnect elsewhere; 0 is at once",
    documentation:
      "They reconnect evenly over this time, so that other instances are not asked by all in the same moment. " +
      "A shutdown takes that much longer: `TimeoutStopSec` of systemd, `stop_grace_period` of compose and `terminationGracePeriodSeconds` of Kubernetes must be at least 10 s longer. " +
      "In a host application `gate.close()` does not use it",
  }),
  TraceParent: withDefault(oneOf(["link", "proxies"]), "link", {
    description:
      "how the gate's traces use the `traceparent` of a request: as a link, or with `proxies` as the parent if the request comes straight from one of `Security.TrustedProxies`",
    documentation:
      "Anyone can send a `traceparent`. Choose `proxies` only if each of them begins the trace itself, or replaces what callers send",
  }),
  Docs: withDefault(exposure, "public", {
    description:
      "where `/docs`, the pages below it and `/openapi.json` are served: `public`, `private` (on the private port alone) or `off`",
  }),
  Metrics: withDefault(oneOf(["local", "public", "private", "off"]), "local", {
    description:
      "where `/metrics` is served: `local` (to programs on this machine, without a proxy), `public`, `private` (on the private port alone) or `off`",
  }),
  PrivateHost: withDefault(host, "127.0.0.1", { description: "address of the private port" }),
  PrivatePort: withDefault(port, 8081, {
    description: "port for what is private; it is closed while nothing is private",
  }),
})
