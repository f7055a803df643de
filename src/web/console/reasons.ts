/** The reasons of refusals, as texts and with their colours in the charts. */

const REASONS: ReadonlyArray<{ readonly reason: string; readonly label: string; readonly color: number }> = [
  { reason: "rate_limited", label: "Rate limited", color: 2 },
  { reason: "queue_full", label: "Queue full", color: 3 },
  { reason: "closed", label: "Closed", color: 5 },
  { reason: "budget_exhausted", label: "Budget used up", color: 8 },
  { reason: "draining", label: "Draining", color: 4 },
  { reason: "operator", label: "Blocked by an operator", color: 6 },
  { reason: "vpn", label: "VPN", color: 5 },
  { reason: "proxy", label: "Proxy", color: 7 },
  { reason: "tor", label: "Tor", color: 8 },
  { reason: "datacenter", label: "Datacenter", color: 9 },
  { reason: "ip_check_failed", label: "Address not checked", color: 11 },
  { reason: "platform_unavailable", label: "Platform unavailable", color: 9 },
  { reason: "store_unavailable", label: "Store unavailable", color: 10 },
  { reason: "invalid", label: "Invalid request", color: 1 },
  { reason: "identity_required", label: "No identity", color: 4 },
  { reason: "identity_refused", label: "Identity refused", color: 5 },
  { reason: "identity_unavailable", label: "Identity not checked", color: 6 },
]

const SERIES_COLORS = 11

/** The reason of a refusal as text: `queue_full` is "Queue full". */
export const reasonText = (reason: string): string => {
  const known = REASONS.find((each) => each.reason === reason)
  if (known !== undefined) return known.label
  const words = reason.replaceAll("_", " ")
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** These reasons in the order of the charts, each with its colour. Those that this page does not know come last, in order of their names. */
export const reasonOrder = (
  reasons: ReadonlyArray<string>,
): ReadonlyArray<{ readonly reason: string; readonly color: number }> => {
  const place = (reason: string): number => {
    const at = REASONS.findIndex((each) => each.reason === reason)
    return at === -1 ? REASONS.length : at
  }
  return reasons
    .toSorted((a, b) => place(a) - place(b) || (a < b ? -1 : 1))
    .map((reason, i) => ({ reason, color: REASONS[place(reason)]?.color ?? 1 + (i % SERIES_COLORS) }))
}
