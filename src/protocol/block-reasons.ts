/** The reasons for which an address may be blocked, and what the caller is told. */
import { Record } from "effect"

/**
 * The facts of an address that a setting can block: the setting's name in `Security` and in `Security.Shadow`, and the message for the
 * caller. A fact's name is also the reason of the refusal, in answers, metrics and the console's counts, in this order.
 *
 * A new reason has a row here; its two settings in `settings/groups/security.ts`; its fact in `ip-intel/facts.ts`, where a row makes one
 * that is true, false or null, and in each of `ip-intel/providers`, `"never"` where a provider does not know it; its name in
 * `web/console/panels/Charts.tsx`; and its word in the table of refusals of `docs/wire.md`. What is not a yes or no, such as a country
 * and the list of those that are blocked, has a fact of its own type in `ip-intel/facts.ts` (a field beside `relay`, reported as it is),
 * and `gatekeeper/checks/CheckAddress.ts` compares it with the setting, where the others are compared with true.
 */
export const BLOCKS = {
  vpn: { setting: "BlockVpn", message: "Calls aren't available over a VPN. Turn it off and try again." },
  /** an open or a residential proxy */
  proxy: { setting: "BlockProxy", message: "Calls aren't available through a proxy. Turn it off and try again." },
  tor: { setting: "BlockTor", message: "Calls aren't available over the Tor network." },
  datacenter: { setting: "BlockDatacenter", message: "Calls aren't available on data center networks." },
} as const

/** Whether the value of a setting that blocks is in force: a flag that is on, a limit, or a list that has something in it. */
export const isInForce = (value: boolean | number | ReadonlyArray<string>): boolean =>
  typeof value === "object" ? value.length > 0 : Boolean(value)

/** The message for the caller by what the address is blocked for. */
export const blockedMessages = {
  ...Record.map(BLOCKS, ({ message }) => message),
  ip_check_failed: "We couldn't check your network. Try again in a minute.",
  /** an operator has blocked it in the console */
  operator: "Calls aren't available from your network.",
}
