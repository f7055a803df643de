/** What an address may be blocked for, and what the caller is told. */
import { Record } from "effect"

/**
 * The facts of an address that a setting can block: the setting's name in `Security` and in `Security.Shadow`, and the message for the
 * caller. A fact's name is also the reason of the refusal, in answers, metrics and the console's counts, in this order. To add one, add
 * a row here, declare its two settings in `settings/groups/security.ts`, report it in each of `ip-intel/providers`, and give it a name in
 * `web/console/panels/Charts.tsx`.
 */
export const BLOCKS = {
  vpn: { setting: "BlockVpn", message: "Calls aren't available over a VPN. Turn it off and try again." },
  /** an open or a residential proxy */
  proxy: { setting: "BlockProxy", message: "Calls aren't available through a proxy. Turn it off and try again." },
  tor: { setting: "BlockTor", message: "Calls aren't available over the Tor network." },
  datacenter: { setting: "BlockDatacenter", message: "Calls aren't available on data center networks." },
} as const

/** The message for the caller by what the address is blocked for. */
export const blockedMessages = {
  ...Record.map(BLOCKS, ({ message }) => message),
  ip_check_failed: "We couldn't check your network. Try again in a minute.",
}
